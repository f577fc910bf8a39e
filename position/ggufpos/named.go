package ggufpos

import (
	"regexp"
	"sync"

	"github.com/modelpatch/modelpatch/gguf"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/ggufpos/site"
	"github.com/modelpatch/modelpatch/position/ggufpos/table"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// Names that checkpoints of PyTorch give to tables of positions, as transformers, diffusers,
// timm and OpenAI's models have them. Programs that store such tensors in GGUF keep them.
var (
	positionTable = lazily(`(?i)(^|[._])(embed_positions|wpe|pos(ition)?(al)?_?(emb|embd|embed|embedding|embeddings|encoding|embed_1d))([._]|$)`)
	bucketTable   = lazily(`(?i)(^|[._])(relative_attention_bias|attn_rel_b)([._]|$)`)
	distanceTable = lazily(`(?i)(^|[._])(relative_position_bias_table|rel_pos_[hw])([._]|$)`)
)

// lazily compiles an expression when it is first asked for: few files are of such programs.
func lazily(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}

// findNamed reads tables of positions in a file of a program that is not llama.cpp (an image
// generator, candle): no architecture says what they are, their names and shapes do. A file
// of weights in which nothing is named so has an encoding that is unknown.
func (m *model) findNamed() {
	m.sites = m.allNamed()
	if len(m.sites) == 0 && m.File.TensorCount() > 0 {
		m.sites = []position.Site{site.NewPlain(position.Encoding{
			Scheme: schemes.Other{Kind: report.SchemeUnknown}, Beyond: report.BeyondUnknown,
			Evidence: []report.Evidence{{Kind: "structure", Says: "no tensor is named as a table of positions, and no architecture that is known here says what the program computes"}},
		})}
	}
}

// allNamed are the sites of all tensors that are named as tables of positions are.
func (m *model) allNamed() (sites []position.Site) {
	for _, p := range m.File.Parts {
		for i := range p.Tensors {
			if s := m.named(&p.Tensors[i]); s != nil {
				sites = append(sites, s)
			}
		}
	}
	return sites
}

// named is the site of a tensor that is named as a table of positions is; nil for others.
func (m *model) named(t *gguf.Tensor) position.Site {
	shape := make([]int64, 0, 2)
	for _, n := range t.Shape {
		if n != 1 {
			shape = append(shape, n)
		}
	}
	if len(shape) != 2 {
		return nil
	}
	says := report.Evidence{Kind: "structure", Says: "by its name and shape: no architecture that is known here says how the program uses it"}
	switch {
	case positionTable().MatchString(t.Name):
		return table.NewFixed(m.Model, t, m.rows(t, shape), says, table.Fixed{Why: "the program that reads it is not known, and with it what would become of other rows", Instead: "change the model in the format of that program, and convert it again"})
	case bucketTable().MatchString(t.Name):
		return m.bias(t, schemes.Other{Kind: report.SchemeT5Bias, Buckets: int(shape[1]), Heads: int(shape[0])}, says)
	case distanceTable().MatchString(t.Name):
		return m.bias(t, schemes.Other{Kind: report.SchemeRelativeTable, Rows: int(shape[1])}, says)
	}
	return nil
}

// rows tells a stored sinusoid, of positions or of the places of a square, from trained rows.
func (m *model) rows(t *gguf.Tensor, shape []int64) schemes.Scheme {
	if s, ok := table.Waves(m.Model, t); ok {
		return s
	}
	if s, ok := table.GridWaves(m.Model, t); ok {
		return s
	}
	return schemes.Learned{Rows: int(shape[1]), Dim: int(shape[0])}
}

// bias is a table of distances: how far it reaches its shape does not say.
func (m *model) bias(t *gguf.Tensor, s schemes.Scheme, says report.Evidence) position.Site {
	return site.NewPlain(position.Encoding{Scheme: s, Form: report.FormTable, Beyond: report.BeyondUnknown, Dtype: t.Type.Dtype(),
		Where: []report.Where{m.WhereTensor(t)}, Evidence: []report.Evidence{says}})
}
