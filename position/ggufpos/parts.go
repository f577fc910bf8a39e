package ggufpos

import (
	"fmt"
	"io"
	"strings"

	"github.com/modelpatch/modelpatch/gguf"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/ggufpos/arch"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// Parts lists the keys and tensors of all shards, for comparing two files.
func (m *model) Parts() ([]position.Part, error) {
	owners := map[string][]int{} // by tensor or key
	var rotations []int
	for i, s := range m.sites {
		e := s.Encoding()
		for _, w := range e.Where {
			owners[w.Tensor+w.Key] = append(owners[w.Tensor+w.Key], i)
		}
		if _, ok := e.Scheme.(schemes.Rotary); ok {
			rotations = append(rotations, i)
		}
	}
	var out []position.Part
	for i, p := range m.File.Parts {
		shard := ""
		if i > 0 {
			shard = fmt.Sprintf("shard %d: ", i+1)
		}
		for k := range p.Pairs {
			pair := &p.Pairs[k]
			head, size := pair.Type.String(), pair.End-pair.ValueAt
			r := [2]int64{pair.At, pair.End}
			sites := owners[pair.Key]
			if suffix, ok := m.SuffixOf(pair.Key); ok && strings.HasPrefix(suffix, "rope.") { // also one that the old file did not need
				sites = rotations
			}
			var number *float64
			if x, ok := pair.Float(); ok {
				number = &x
			}
			out = append(out, position.Part{Kind: "key", Number: number, Value: valueOf(pair), Name: shard + pair.Key, Head: head, Size: size, Position: m.isPositionKey(pair.Key), Sites: sites,
				Where: report.Where{Key: report.Name(pair.Key), Range: &r}, Open: func() io.Reader { return p.Section(pair.ValueAt, size) }})
		}
		for k := range p.Tensors {
			t := &p.Tensors[k]
			r := m.File.Range(t)
			sites, dims := owners[t.Name], make([]int64, len(t.Shape))
			if strings.HasPrefix(t.Name, "rope_f") {
				sites = rotations
			}
			for d, n := range t.Shape { // ggml's first dimension is the innermost
				dims[len(dims)-1-d] = int64(n)
			}
			out = append(out, position.Part{Kind: "tensor", Name: t.Name, Head: fmt.Sprintf("%s %v", t.Type, t.Shape), Size: t.Size, Sites: sites, Dims: dims,
				Position: sites != nil || strings.HasPrefix(t.Name, "rope_f"), Where: report.Where{Tensor: report.Name(t.Name), Range: &r},
				Open: func() io.Reader { return p.Section(r[0], t.Size) }})
		}
	}
	return out, nil
}

// isPositionKey reports whether a key may follow a change of positions.
func (m *model) isPositionKey(key string) bool {
	rest, ok := m.SuffixOf(key)
	return ok && (rest == arch.KeyContext || strings.HasPrefix(rest, "rope.") || strings.HasPrefix(rest, "attention.max_alibi")) ||
		strings.HasPrefix(key, "modelpatch.") || key == "split.tensors.count"
}

// valueOf returns a key's value as position.Part has it.
func valueOf(p *gguf.Pair) any {
	if b, ok := p.Bool(); ok {
		return b
	}
	if n, ok := p.Int(); ok {
		return n
	}
	if n, ok := p.Uint(); ok {
		return n
	}
	if x, ok := p.Float(); ok {
		return report.Number(x)
	}
	if s, ok := p.ShortText(); ok {
		return report.Name(s)
	}
	if p.Type == gguf.TypeArray {
		return fmt.Sprintf("array of %d × %s", p.Count, p.Elem)
	}
	return fmt.Sprintf("string of %d bytes", p.Count)
}
