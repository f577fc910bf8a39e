package ggufpos

import (
	"fmt"

	"github.com/modelpatch/modelpatch/gguf"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// t5Distance is the distance beyond which llama.cpp's buckets saturate,
// whatever the source model had (facts/GGUF-FACTS trap 12).
const t5Distance = 128

// t5 is the learned bias by buckets of one stack, encoder or decoder.
type t5 struct {
	m       *model
	scheme  schemes.Buckets
	tensors []*gguf.Tensor
	stack   string
}

// findT5 adds the bias of the encoder and, when there is one, of the decoder.
func (m *model) findT5() {
	stacks := []string{"enc", "dec"}
	if m.name == "t5encoder" {
		stacks = stacks[:1]
	}
	for _, stack := range stacks {
		s := &t5{m: m, stack: stack}
		for i := range maxLayers {
			if t := m.tensor("%s.blk.%d.attn_rel_b.weight", stack, i); t != nil {
				s.tensors = append(s.tensors, t)
			} else if i > 0 {
				break
			}
		}
		if len(s.tensors) == 0 && m.kind != report.KindVocabulary {
			continue
		}
		s.scheme = schemes.Buckets{MaxDistance: t5Distance, Bidirectional: stack == "enc", Heads: m.heads()}
		s.scheme.Buckets, _ = m.count(keyBuckets)
		if len(s.tensors) > 0 {
			s.scheme.Heads, s.scheme.Buckets = int(s.tensors[0].Width()), int(s.tensors[0].Rows())
		}
		m.sites = append(m.sites, s)
	}
	if len(m.sites) == 0 {
		m.addFinding("gguf-table-missing", report.LevelError, "architecture "+m.name+" needs enc.blk.0.attn_rel_b.weight, which is missing", "engines refuse the file", nil)
	}
}

// Encoding says what the tables hold.
func (s *t5) Encoding() position.Encoding {
	e := position.Encoding{
		Scheme: s.scheme, Form: report.FormTable, Beyond: report.BeyondContinues,
		Evidence: []report.Evidence{{Kind: "architecture", Says: "llama.cpp's " + s.m.name + " adds a bias by bucket of distance, saturating at 128"}},
	}
	for _, t := range s.tensors {
		e.Where = append(e.Where, s.m.whereTensor(t))
		e.Dtype = t.Type.Dtype()
	}
	return e
}

// Hold accepts what is there: the tables do not depend on the length.
func (s *t5) Hold(want position.Want) error {
	if want.Scheme == nil || want.Scheme.Equal(s.scheme) {
		return nil
	}
	return &position.Refusal{Why: "T5's bias has 128 as its largest distance in llama.cpp, and its rows are trained",
		Instead: "longer inputs need no change: the buckets saturate"}
}

// Bias is the trained bias of the bucket of a distance.
func (s *t5) Bias(head, query, key, _ int) (float64, error) {
	if len(s.tensors) == 0 || head < 0 || head >= s.scheme.Heads {
		return 0, fmt.Errorf("%s: no bias of head %d", s.stack, head)
	}
	row := make([]float64, s.scheme.Heads)
	if err := s.m.file.ReadRows(s.tensors[0], int64(s.scheme.Bucket(key-query)), 1, row); err != nil {
		return 0, err
	}
	return row[head], nil
}
