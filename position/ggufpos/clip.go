package ggufpos

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/modelpatch/modelpatch/gguf"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// Tables of image and audio towers (facts/GGUF-FACTS §c).
const (
	nameImageTable = "v.position_embd.weight"
	nameAudioTable = "a.position_embd.weight"
)

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
func (m *model) projectorKinds() []string {
	var out []string
	for _, key := range []string{"clip.projector_type", "clip.vision.projector_type", "clip.audio.projector_type"} {
		if kind, ok := m.file.String(key); ok {
			out = append(out, strings.ToLower(kind))
		}
	}
	return out
}

// findProjector adds the encodings of an image or audio tower.
func (m *model) findProjector() {
	if t := m.file.Tensor(nameImageTable); t != nil && t.Rows() > 0 {
		m.addTower(t, m.imageScheme(t), "position table of the image tower")
	}
	if t := m.file.Tensor(nameAudioTable); t != nil && t.Rows() > 0 {
		m.addTower(t, m.audioScheme(t), "position table of the audio tower")
	}
	for _, kind := range m.projectorKinds() {
		switch {
		case slices.Contains(rotatedTowers, kind):
			m.addTowerRope(orElse(towerBases[kind], 10000))
		case slices.Contains(rotatedAudio, kind):
			m.addAudio(schemes.Rotary{Base: 10000}, report.FormKeys, nil, "llama.cpp turns queries and keys in this projector's audio tower")
		case slices.Contains(relativeAudio, kind):
			m.addAudio(schemes.Other{Kind: report.SchemeRelativeSinusoid}, report.FormRuntime, nil, "llama.cpp adds sinusoids of distance to the scores of this projector's audio tower")
		}
	}
	if t := m.tensor("a.blk.0.attn_rel_pos_emb"); t != nil {
		m.addAudio(schemes.Other{Kind: report.SchemeRelativeTable, Rows: int(t.Rows())}, report.FormTable, t, "a table of vectors by distance in the audio tower")
	}
	if t := m.tensor("v.sam.blk.0.attn.pos_h.weight"); t != nil {
		m.sites = append(m.sites, &plain{position.Encoding{
			Scheme: schemes.Other{Kind: report.SchemeRelativeTable, Rows: int(t.Rows())}, Form: report.FormTable, Beyond: report.BeyondUnknown,
			Dtype: t.Type.Dtype(), Where: []report.Where{m.whereTensor(t)},
			Evidence: []report.Evidence{{Kind: "structure", Says: "tables of relative rows and columns in the SAM tower"}},
		}})
	}
}

// addTower adds a tower's table. What happens beyond it depends on the
// projector's code.
func (m *model) addTower(t *gguf.Tensor, s schemes.Scheme, says string) {
	m.sites = append(m.sites, &table{m: m, tensor: t, scheme: s, beyond: report.BeyondUnknown, says: report.Evidence{Kind: "structure", Says: says}})
}

// imageScheme is a grid of patches, with a row for a class token where there
// is one more than the grid has.
func (m *model) imageScheme(t *gguf.Tensor) schemes.Scheme {
	s := schemes.Learned{Rows: int(t.Rows()), Dim: int(t.Width())}
	if len(t.Shape) == 3 && t.Shape[2] == 2 { // a table of rows and one of columns (Gemma 4)
		s.Rows = int(t.Shape[1])
		return s
	}
	image, _ := m.file.Find("clip.vision.image_size").Uint()
	patch, _ := m.file.Find("clip.vision.patch_size").Uint()
	side := 0
	if patch > 0 && image/patch < 1<<15 {
		side = int(image / patch)
	}
	for _, g := range []int{side, int(math.Sqrt(float64(s.Rows)))} {
		if more := s.Rows - g*g; g > 0 && (more == 0 || more == 1) {
			s.Grid, s.Prefix = []int{g, g}, more
			return s
		}
	}
	return s
}

// audioScheme tells a stored sinusoid, Whisper's, from a learned table.
func (m *model) audioScheme(t *gguf.Tensor) schemes.Scheme {
	s := schemes.Sinusoid{Dim: int(t.Width()), Base: 10000, Layout: schemes.LayoutSinCos, Denominator: schemes.DenominatorHalfMinusOne, Rows: int(t.Rows())}
	if m.follows(t, s) {
		return s
	}
	return schemes.Learned{Rows: int(t.Rows()), Dim: int(t.Width())}
}

// sinusoidTolerance allows for float32 programs that made the table, and for
// F16 storage.
const sinusoidTolerance = 2e-3

// follows reports whether a table holds a sinusoid, by rows from its start,
// middle and end.
func (m *model) follows(t *gguf.Tensor, s schemes.Sinusoid) bool {
	if !t.Readable() || s.Dim < 4 || s.Dim > maxDims || s.Rows < 2 {
		return false
	}
	have, want := make([]float64, s.Dim), make([]float64, s.Dim)
	for _, i := range []int{0, 1, s.Rows / 2, s.Rows - 1} {
		if m.file.ReadRows(t, int64(i), 1, have) != nil {
			return false
		}
		s.Row(i, want)
		for j := range have {
			if !(math.Abs(have[j]-want[j]) <= sinusoidTolerance) {
				return false
			}
		}
	}
	return true
}

// addTowerRope adds the two-dimensional rotation of an image tower.
func (m *model) addTowerRope(base float64) {
	width, _ := m.file.Find("clip.vision.embedding_length").Uint()
	heads, _ := m.file.Find("clip.vision.attention.head_count").Uint()
	s := schemes.Rotary{Base: base}
	if heads > 0 && width/heads <= maxDims {
		s.HeadDim = int(width / heads)
		s.Dim = s.HeadDim
	}
	m.sites = append(m.sites, &plain{position.Encoding{
		Scheme: s, Form: report.FormKeys, Beyond: report.BeyondContinues,
		Evidence: []report.Evidence{{Kind: "architecture", Says: fmt.Sprintf("llama.cpp turns rows and columns of patches in this projector's tower, base %g", s.Base)}},
	}})
}

// addAudio adds a mechanism of an audio tower, with the tensor that holds it.
func (m *model) addAudio(s schemes.Scheme, form string, t *gguf.Tensor, says string) {
	e := position.Encoding{Scheme: s, Form: form, Beyond: report.BeyondContinues, Evidence: []report.Evidence{{Kind: "architecture", Says: says}}}
	if t != nil {
		e.Dtype, e.Where, e.Beyond = t.Type.Dtype(), []report.Where{m.whereTensor(t)}, report.BeyondUnknown
		e.Evidence[0].Kind = "structure"
	}
	m.sites = append(m.sites, &plain{e})
}
