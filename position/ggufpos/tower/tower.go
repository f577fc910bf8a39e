// Package tower finds the encodings of the image and audio towers of multimodal
// projectors (facts/GGUF-FACTS §c), and what pictures llama.cpp gives them (Vision). The
// table of patches can become one of another picture; what else a tower holds is told.
package tower

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/modelpatch/modelpatch/gguf"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/ggufpos/hparams"
	"github.com/modelpatch/modelpatch/position/ggufpos/site"
	"github.com/modelpatch/modelpatch/position/ggufpos/table"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// towerTables are the tables of positions of towers, by tensor (facts/GGUF-FACTS §c; TN_POS_EMBD and TN_YASA_POS_EMBD of
// tools/mtmd/clip-impl.h; the text tower's is that of clip.cpp, whose files llama.cpp's first were).
var towerTables = []struct {
	name, of string
	scheme   func(*hparams.Model, *gguf.Tensor) schemes.Scheme
	fixed    table.Fixed
}{
	{"v.position_embd.weight", "image", imageScheme, picture},
	{"v.vision_pos_embed", "image", imageScheme, picture},
	{"a.position_embd.weight", "audio", audioScheme, table.Fixed{Why: "rows of an audio tower belong to its recordings, whose length the engine fixes", Instead: "change the tower in the source model and convert it again"}},
	{"t.position_embd.weight", "text", textScheme, table.Fixed{Why: "llama.cpp runs no text tower, and what other programs make of more rows is not known", Instead: "change the tower in the source model and convert it again"}},
}

// picture is why the rows of a picture's table stay.
var picture = table.Fixed{Why: "its rows are those of places in a picture, of which no length is", Instead: "extend --image says which pictures the engine takes"}

// unplaced are the projector types whose graph has no positions: convolutions, and attention that takes places as a set
// (clip_graph_mobilenetv5 in tools/mtmd/models/mobilenetv5.cpp).
var unplaced = []string{"gemma3nv"}

// rotatedTowers are the projector types whose image tower has RoPE in its
// graph; no key says so.
var rotatedTowers = []string{
	"qwen2vl_merger", "qwen2.5vl_merger", "qwen3vl_merger", "pixtral", "lightonocr", "kimivl", "kimik25", "llama4", "glm4v", "glm5v", "paddleocr",
	"dots_ocr", "dots3note_v", "exaone4_5", "muse-glimmer", "ling3vl", "mimovl", "minimax_m3", "step3vl", "youtuvl", "deepseek4v", "gemma4v",
	"deepseekocr2",
}

// towerBases are the bases that are not 10000.
var towerBases = map[string]float64{"gemma4v": 100, "deepseekocr2": 1e6}

// relativeAudio are the projector types whose audio tower has sinusoids of
// relative distance in its scores (Conformers); rotatedAudio those with RoPE.
var (
	relativeAudio = []string{"lfm2a", "parakeet", "gemma4a"}
	rotatedAudio  = []string{"mimo_audio", "dots3note_a"}
)

// projectorKinds are the projector types that a file names: of one tower, or
// of each.
func projectorKinds(m *hparams.Model) []string {
	var out []string
	for _, key := range []string{"clip.projector_type", "clip.vision.projector_type", "clip.audio.projector_type"} {
		if kind, ok := m.File.String(key); ok {
			out = append(out, strings.ToLower(kind))
		}
	}
	return out
}

// Find are the encodings of the image and audio towers of a projector, as far as
// its tensors and projector types tell.
func Find(m *hparams.Model) (sites []position.Site) {
	for _, of := range towerTables {
		if t := m.File.Tensor(of.name); t != nil && t.Rows() > 0 {
			sites = append(sites, table.NewFixed(m, t, of.scheme(m, t), structure("position table of the "+of.of+" tower"), of.fixed))
		}
	}
	for _, kind := range projectorKinds(m) {
		switch {
		case slices.Contains(rotatedTowers, kind):
			sites = append(sites, towerRope(m, cmp.Or(towerBases[kind], 10000)))
		case kind == resampler:
			sites = append(sites, resamplerWaves(m))
		case slices.Contains(rotatedAudio, kind):
			sites = append(sites, audio(m, schemes.Rotary{Base: 10000, HeadDim: headOf(m, "audio")}, report.FormKeys, nil, "llama.cpp turns queries and keys in this projector's audio tower"))
		case slices.Contains(relativeAudio, kind):
			sites = append(sites, audio(m, schemes.Other{Kind: report.SchemeRelativeSinusoid}, report.FormRuntime, nil, "llama.cpp adds sinusoids of distance to the scores of this projector's audio tower"))
		}
	}
	if t := m.Tensor("a.blk.0.attn_rel_pos_emb"); t != nil {
		sites = append(sites, audio(m, schemes.Other{Kind: report.SchemeRelativeTable, Rows: int(t.Rows())}, report.FormTable, t, "a table of vectors by distance in the audio tower"))
	}
	if t := m.Tensor("v.sam.pos_embd.weight"); t != nil && len(t.Shape) >= 3 && t.Rows() > 0 && t.Rows() < math.MaxInt32 {
		sites = append(sites, site.NewPlain(position.Encoding{
			Scheme: schemes.Learned{Rows: int(t.Rows()), Dim: int(t.Width()), Grid: []int{int(t.Shape[2]), int(t.Shape[1])}}, Form: report.FormTable, Capacity: int(t.Rows()), Beyond: report.BeyondContinues,
			Dtype: t.Type.Dtype(), Where: []report.Where{m.WhereTensor(t)},
			Evidence: []report.Evidence{structure("position table of the SAM tower, which llama.cpp resamples to other pictures (clip_graph_deepseekocr::build_sam)")},
		}))
	}
	if t := m.Tensor("v.sam.blk.0.attn.pos_h.weight"); t != nil {
		sites = append(sites, site.NewPlain(position.Encoding{
			Scheme: schemes.Other{Kind: report.SchemeRelativeTable, Rows: int(t.Rows())}, Form: report.FormTable, Beyond: report.BeyondUnknown,
			Dtype: t.Type.Dtype(), Where: []report.Where{m.WhereTensor(t)},
			Evidence: []report.Evidence{{Kind: "structure", Says: "tables of relative rows and columns in the SAM tower"}},
		}))
	}
	return sites
}

// Without is the site of a projector in which nothing was found: proved to have no positions by llama.cpp's code for its types, or
// not known.
func Without(m *hparams.Model) position.Site {
	kinds := projectorKinds(m)
	if len(kinds) > 0 && !slices.ContainsFunc(kinds, func(kind string) bool { return !slices.Contains(unplaced, kind) }) {
		return site.NewPlain(position.Encoding{Scheme: schemes.Other{Kind: report.SchemeNone, Order: schemes.OrderOperators}, Beyond: report.BeyondContinues,
			Evidence: []report.Evidence{{Kind: "architecture", Says: "llama.cpp's graph of this projector type has convolutions, and attention without positions"}}})
	}
	said := "no projector type is stated"
	if len(kinds) > 0 {
		said = fmt.Sprintf("what llama.cpp does for the projector type %q is not known here", report.Printable(strings.Join(kinds, ", ")))
	}
	tensors := "there are no tensors"
	if n := m.File.TensorCount(); n > 0 {
		tensors = fmt.Sprintf("none of the %d tensors is named as a table of positions", n)
	}
	return site.NewPlain(position.Encoding{Scheme: schemes.Other{Kind: report.SchemeUnknown}, Beyond: report.BeyondUnknown, Evidence: []report.Evidence{structure(tensors + ", and " + said)}})
}

func structure(says string) report.Evidence { return report.Evidence{Kind: "structure", Says: says} }

// imageScheme is a grid of patches, with a row for a class token where there
// is one more than the grid has: the first, as in CLIP, but where a projector's towers have it last.
func imageScheme(m *hparams.Model, t *gguf.Tensor) schemes.Scheme {
	s := schemes.Learned{Rows: int(t.Rows()), Dim: int(t.Width())}
	if len(t.Shape) == 3 && t.Shape[2] == 2 { // a table of rows and one of columns (Gemma 4)
		s.Rows = int(t.Shape[1])
		return s
	}
	side, last := 0, false
	if v := VisionOf(m); v != nil {
		side, last = v.image/v.patch, v.projector != nil && v.projector.last
	}
	for _, g := range []int{side, int(math.Sqrt(float64(s.Rows)))} {
		if more := s.Rows - g*g; g > 0 && (more == 0 || more == 1) {
			s.Grid, s.Prefix = []int{g, g}, more
			if last {
				s.Prefix = 0
			}
			return s
		}
	}
	return s
}

// textScheme is a learned table, as CLIP's texts have.
func textScheme(_ *hparams.Model, t *gguf.Tensor) schemes.Scheme {
	return schemes.Learned{Rows: int(t.Rows()), Dim: int(t.Width())}
}

// audioScheme tells a stored sinusoid, Whisper's, from a learned table.
func audioScheme(m *hparams.Model, t *gguf.Tensor) schemes.Scheme {
	s := schemes.Sinusoid{Dim: int(t.Width()), Base: 10000, Layout: schemes.LayoutSinCos, Denominator: schemes.DenominatorHalfMinusOne, Rows: int(t.Rows())}
	if table.Follows(m, t, s) {
		return s
	}
	return schemes.Learned{Rows: int(t.Rows()), Dim: int(t.Width())}
}

// resampler is the projector type of MiniCPM-V.
const resampler = "resampler"

// resamplerWaves are the sines and cosines of columns, then of rows, of patches that MiniCPM-V's resampler adds to its keys
// (clip_graph_minicpmv::build).
func resamplerWaves(m *hparams.Model) position.Site {
	s := schemes.Sinusoid{Base: 10000, Layout: schemes.LayoutSinCos, Denominator: schemes.DenominatorHalf}
	if t := m.Tensor("resampler.query"); t != nil && t.Width() <= hparams.MaxDims {
		s.Dim = int(t.Width())
	}
	return site.NewPlain(position.Encoding{Scheme: s, Form: report.FormRuntime, Beyond: report.BeyondContinues,
		Evidence: []report.Evidence{{Kind: "architecture", Says: "llama.cpp adds sines and cosines of columns and rows of patches to the keys of this projector's resampler"}}})
}

// towerRope is the two-dimensional rotation of an image tower.
func towerRope(m *hparams.Model, base float64) position.Site {
	head := headOf(m, "vision")
	s := schemes.Rotary{Base: base, HeadDim: head, Dim: head}
	return site.NewPlain(position.Encoding{
		Scheme: s, Form: report.FormKeys, Beyond: report.BeyondContinues,
		Evidence: []report.Evidence{{Kind: "architecture", Says: fmt.Sprintf("llama.cpp turns rows and columns of patches in this projector's tower, base %g", s.Base)}},
	})
}

// headOf is the size of a head of the "vision" or "audio" tower; 0: the file does not tell.
func headOf(m *hparams.Model, tower string) int {
	width, _ := m.File.Find("clip." + tower + ".embedding_length").Uint()
	heads, _ := m.File.Find("clip." + tower + ".attention.head_count").Uint()
	if heads == 0 || width/heads > hparams.MaxDims {
		return 0
	}
	return int(width / heads)
}

// audio is a mechanism of an audio tower, with the tensor that holds it.
func audio(m *hparams.Model, s schemes.Scheme, form string, t *gguf.Tensor, says string) position.Site {
	e := position.Encoding{Scheme: s, Form: form, Beyond: report.BeyondContinues, Evidence: []report.Evidence{{Kind: "architecture", Says: says}}}
	if t != nil {
		e.Dtype, e.Where, e.Beyond = t.Type.Dtype(), []report.Where{m.WhereTensor(t)}, report.BeyondUnknown
		e.Evidence[0].Kind = "structure"
	}
	return site.NewPlain(e)
}
