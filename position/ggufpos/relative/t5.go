package relative

import (
	"fmt"

	"github.com/modelpatch/modelpatch/gguf"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/ggufpos/arch"
	"github.com/modelpatch/modelpatch/position/ggufpos/hparams"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// t5Distance is the distance beyond which llama.cpp's buckets saturate,
// whatever the source model had (facts/GGUF-FACTS trap 12).
const t5Distance = 128

// T5 is the learned bias by buckets of one stack, encoder or decoder.
type T5 struct {
	m       *hparams.Model
	scheme  schemes.Buckets
	tensors []*gguf.Tensor
	stack   string
}

// FindT5 is the bias of the encoder and, when there is one, of the decoder.
func FindT5(m *hparams.Model) (sites []position.Site) {
	stacks := []string{"enc", "dec"}
	if m.Family() == "t5encoder" {
		stacks = stacks[:1]
	}
	for _, stack := range stacks {
		s := &T5{m: m, stack: stack}
		for i := range hparams.MaxLayers {
			if t := m.Tensor("%s.blk.%d.attn_rel_b.weight", stack, i); t != nil {
				s.tensors = append(s.tensors, t)
			} else if i > 0 {
				break
			}
		}
		if len(s.tensors) == 0 && m.Kind != report.KindVocabulary {
			continue
		}
		s.scheme = schemes.Buckets{MaxDistance: t5Distance, Bidirectional: stack == "enc", Heads: m.Heads()}
		s.scheme.Buckets, _ = m.Count(arch.KeyBuckets)
		if len(s.tensors) > 0 {
			s.scheme.Heads, s.scheme.Buckets = int(s.tensors[0].Width()), int(s.tensors[0].Rows())
		}
		sites = append(sites, s)
	}
	if len(sites) == 0 {
		m.Report("gguf-table-missing", report.LevelError, "architecture "+m.Family()+" needs enc.blk.0.attn_rel_b.weight, which is missing", "engines refuse the file", nil)
	}
	return sites
}

// Encoding says what the tables hold.
func (s *T5) Encoding() position.Encoding {
	e := position.Encoding{
		Scheme: s.scheme, Form: report.FormTable, Beyond: report.BeyondContinues,
		Evidence: []report.Evidence{{Kind: "architecture", Says: "llama.cpp's " + s.m.Family() + " adds a bias by bucket of distance, saturating at 128"}},
	}
	for _, t := range s.tensors {
		e.Where = append(e.Where, s.m.WhereTensor(t))
		e.Dtype = t.Type.Dtype()
	}
	return e
}

// Store accepts what is there: the tables do not depend on the length.
func (s *T5) Store(want position.Want) error {
	if want.Scheme == nil || want.Scheme.Equal(s.scheme) {
		return nil
	}
	return &position.Refusal{Why: "T5's bias has 128 as its largest distance in llama.cpp, and its rows are trained",
		Instead: "longer inputs need no change: the buckets saturate"}
}

// ActsIn reports whether an attention is in the bias's stack.
func (s *T5) ActsIn(stack string, _ int) bool { return s.stack == stack }

// Bias is the trained bias of the bucket of a distance, of the first layer. Errors: a head
// that is not there, and those of reading.
func (s *T5) Bias(head, query, key, length int) (float64, error) {
	return s.Of(0).Bias(head, query, key, length)
}

// Of is the bias of one layer of the stack: its own table, or the first layer's where it
// has none.
func (s *T5) Of(layer int) position.Biaser {
	b := &layerBias{s: s, table: s.m.Tensor("%s.blk.%d.attn_rel_b.weight", s.stack, layer)}
	if b.table == nil && len(s.tensors) > 0 {
		b.table = s.tensors[0]
	}
	return b
}

// layerBias is the bias of one layer.
type layerBias struct {
	s     *T5
	table *gguf.Tensor
	rows  []float64 // once read
}

// Bias is the trained bias of the bucket of a distance.
func (b *layerBias) Bias(head, query, key, _ int) (float64, error) {
	n := b.s.scheme.Heads
	if b.table == nil || head < 0 || head >= n || int(b.table.Width()) != n || b.table.Rows() != int64(b.s.scheme.Buckets) || n > maxBias/max(b.s.scheme.Buckets, 1) {
		return 0, fmt.Errorf("%s: no bias of head %d", b.s.stack, head)
	}
	if b.rows == nil {
		rows := make([]float64, n*b.s.scheme.Buckets)
		if err := b.s.m.File.ReadRows(b.table, 0, int64(b.s.scheme.Buckets), rows); err != nil {
			return 0, err
		}
		b.rows = rows
	}
	return b.rows[b.s.scheme.Bucket(key-query)*n+head], nil
}

// maxBias bounds the numbers of a table of biases that is read.
const maxBias = 1 << 22
