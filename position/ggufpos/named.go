package ggufpos

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/modelpatch/modelpatch/gguf"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/ggufpos/rotary"
	"github.com/modelpatch/modelpatch/position/ggufpos/site"
	"github.com/modelpatch/modelpatch/position/ggufpos/table"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// Names that checkpoints of PyTorch give to tables of positions, as transformers, diffusers,
// timm and OpenAI's models have them, and TensorFlow's with strokes (OpenAI's GPT-2). Programs that store such tensors in
// GGUF keep them.
var (
	positionTable = lazily(`(?i)(^|[._/])(embed_positions|wpe|pos(ition)?(al)?_?(emb|embd|embed|embedding|embeddings|encoding|embed_1d))(?:(?:[._/]weight)?$|[._/])`)
	bucketTable   = lazily(`(?i)(^|[._/])(relative_attention_bias|attn_rel_b)([._/]|$)`)
	distanceTable = lazily(`(?i)(^|[._/])(relative_position_bias_table|rel_pos_[hw])([._/]|$)`)
	stackOfT5     = lazily(`(?i)(^|[._/])(enc|dec)(oder)?[._/]`)
)

// Names of the vectors that stand before a picture's patches, each of which has a row of the table of its own: that of the class
// (ViT, timm, CLIP), and DeiT's of distillation.
var leadingTokens = [][]string{{"cls_token", "class_token", "class_embedding", "cls_embedding"}, {"distillation_token", "dist_token"}}

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

// allNamed are the sites of all tensors that are named as tables of positions are, or as frequencies of RoPE.
func (m *model) allNamed() (sites []position.Site) {
	for _, p := range m.File.Parts {
		for i := range p.Tensors {
			if s := m.named(&p.Tensors[i]); s != nil {
				sites = append(sites, s)
			}
		}
	}
	return append(sites, rotary.Named(m.Model)...)
}

// named is the site of a tensor that is named as a table of positions is; nil for others.
func (m *model) named(t *gguf.Tensor) position.Site {
	shape := make([]int64, 0, 3)
	for _, n := range t.Shape {
		if n != 1 {
			shape = append(shape, n)
		}
	}
	says := report.Evidence{Kind: "structure", Says: "by its name and shape: no architecture that is known here says how the program uses it"}
	place := positionTable().FindStringSubmatchIndex(t.Name)
	switch flat := len(shape) == 2; {
	case place != nil && (flat && shape[1] != coordinates || isGrid(shape) && place[1] == len(t.Name)):
		s := m.rows(t, shape, t.Name[:place[4]])
		return table.NewFixed(m.Model, t, s, says, table.Fixed{Why: "the program that reads it is not known, and with it what would become of other rows", Instead: "change the model in the format of that program, and convert it again"})
	case flat && bucketTable().MatchString(t.Name):
		return m.bias(t, schemes.Other{Kind: report.SchemeT5Bias, Buckets: int(shape[1]), Heads: int(shape[0]), Bidirectional: bothWays(t.Name)}, says)
	case flat && distanceTable().MatchString(t.Name):
		return m.bias(t, schemes.Other{Kind: report.SchemeRelativeTable, Rows: int(shape[1])}, says)
	}
	return nil
}

// coordinates is how many rows a random Fourier matrix has, which is named as a table of positions is: that of x and that of y
// (Segment Anything, PositionEmbeddingRandom of prompt_encoder.py).
const coordinates = 2

// isGrid reports whether a shape is that of a table by rows and columns of a picture, with the features innermost
// (Segment Anything's image encoder). Where they are outermost (Hiera) the first two are alike, and those are no rows.
func isGrid(shape []int64) bool {
	return len(shape) == 3 && min(shape[1], shape[2]) > coordinates && max(shape[1], shape[2]) <= maxSide && (shape[0] != shape[1] || shape[1] == shape[2])
}

// maxSide is more patches than any picture has along a side.
const maxSide = 1 << 12

// bothWays reports whether the buckets of an encoder are meant, which looks both ways, or those of a decoder (T5Stack of
// transformers' modeling_t5.py); nil where the name tells of none.
func bothWays(name string) *bool {
	all := stackOfT5().FindAllStringSubmatch(name, -1)
	if all == nil {
		return nil
	}
	return report.Pointer(strings.EqualFold(all[len(all)-1][2], "enc"))
}

// rows tells a stored sinusoid, of positions or of the places of a square, from trained rows. beside is how the names of tensors
// begin that lie where the table does.
func (m *model) rows(t *gguf.Tensor, shape []int64, beside string) schemes.Scheme {
	if s, ok := table.Waves(m.Model, t); ok {
		return s
	}
	if s, ok := table.GridWaves(m.Model, t); ok {
		return s
	}
	s := schemes.Learned{Rows: int(t.Rows()), Dim: int(shape[0])}
	if len(shape) == 3 {
		s.Grid = []int{int(shape[2]), int(shape[1])}
		return s
	}
	tokens := m.leading(beside, shape[0])
	for _, prefix := range []int{tokens, 0} { // timm's no_embed_class gives the class no row
		side := int(math.Sqrt(float64(max(s.Rows-prefix, 0))))
		if tokens > 0 && side > 1 && side*side == s.Rows-prefix {
			s.Grid, s.Prefix = []int{side, side}, prefix
			break
		}
	}
	return s
}

// leading is how many vectors of a width stand before the patches, by tensors whose names begin alike.
func (m *model) leading(beside string, width int64) (n int) {
	for _, names := range leadingTokens {
		if slices.ContainsFunc(names, func(name string) bool {
			t := m.File.Tensor(beside + name)
			return t != nil && t.Width() == width && t.Rows() == 1
		}) {
			n++
		}
	}
	return n
}

// bias is a table of distances: how far it reaches its shape does not say.
func (m *model) bias(t *gguf.Tensor, s schemes.Scheme, says report.Evidence) position.Site {
	return site.NewPlain(position.Encoding{Scheme: s, Form: report.FormTable, Beyond: report.BeyondUnknown, Dtype: t.Type.Dtype(),
		Where: []report.Where{m.WhereTensor(t)}, Evidence: []report.Evidence{says}})
}
