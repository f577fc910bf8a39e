// Package relative holds the encodings of distance in GGUF files: ALiBi's slopes,
// which an engine computes from a key or by itself, and T5's trained buckets.
package relative

import (
	"fmt"
	"math"

	"github.com/modelpatch/modelpatch/gguf"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/ggufpos/arch"
	"github.com/modelpatch/modelpatch/position/ggufpos/hparams"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// HardCodedBias is ALiBi's largest bias where no key changes it.
const HardCodedBias = 8

// ALiBi is the linear bias that an engine computes from a key or by itself.
type ALiBi struct {
	m      *hparams.Model
	scheme schemes.ALiBi
	fixed  bool // the bias is hard-coded
}

// FindALiBi is the bias of an ALiBi architecture, nil where its key switches it off.
func FindALiBi(m *hparams.Model) position.Site {
	fixed := !m.Arch.Uses(arch.KeyMaxBias)
	bias := m.RealOr(arch.KeyMaxBias, 0)
	if fixed {
		bias = HardCodedBias
	}
	if !(bias > 0) {
		return nil
	}
	return NewALiBi(m, bias, fixed)
}

// NewALiBi is the bias of all heads of a model with a largest value; fixed: no key
// changes it.
func NewALiBi(m *hparams.Model, largest float64, fixed bool) *ALiBi {
	return &ALiBi{m: m, fixed: fixed, scheme: schemes.ALiBi{Heads: m.Heads(), MaxBias: largest}}
}

// Encoding says what the engine computes.
func (a *ALiBi) Encoding() position.Encoding {
	e := position.Encoding{
		Scheme: a.scheme, Form: report.FormKeys, Beyond: report.BeyondContinues,
		Evidence: []report.Evidence{{Kind: "architecture", Says: "llama.cpp's " + a.m.Family() + " adds ALiBi's bias to the scores"}},
	}
	for _, k := range []string{arch.KeyMaxBias, arch.KeyHeads} {
		if p := a.m.Pair(k); p != nil && !(a.fixed && k == arch.KeyMaxBias) {
			e.Where = append(e.Where, report.Where{Key: report.Name(p.Key), Range: &[2]int64{p.ValueAt, p.End}})
		}
	}
	return e
}

// Store stores another largest bias; errors are those of StoreBias.
func (a *ALiBi) Store(want position.Want) error {
	w, ok := want.Scheme.(schemes.ALiBi)
	switch {
	case !ok:
		return &position.Refusal{Why: "ALiBi cannot become another scheme by keys"}
	case w.Equal(a.scheme):
		return nil
	}
	return StoreBias(a.m, w)
}

// Bias is −slope·distance, as the engine masks it: what is added to the score of
// a query and a key. The error names a head that is not there.
func (a *ALiBi) Bias(head, query, key, _ int) (float64, error) {
	if head < 0 || head >= a.scheme.Heads {
		return 0, fmt.Errorf("head %d of %d", head, a.scheme.Heads)
	}
	return a.scheme.Bias(head, query, key), nil
}

// ActsIn reports that the bias acts in every attention.
func (a *ALiBi) ActsIn(string, int) bool { return true }

// Neutralize switches the bias off. The error is a *position.Refusal where it is
// hard-coded.
func (a *ALiBi) Neutralize() error {
	if a.fixed {
		return &position.Refusal{Why: fmt.Sprintf("llama.cpp's %s has its bias hard-coded", a.m.Family())}
	}
	a.m.Edit.Set(a.m.Key(arch.KeyMaxBias), gguf.Float32(0), "no ALiBi")
	return nil
}

// StoreBias writes attention.max_alibi_bias where an engine reads it. The error is a
// *position.Refusal where it reads none or computes other slopes, and a
// *position.UsageError for a bias that is none.
func StoreBias(m *hparams.Model, w schemes.ALiBi) error {
	switch {
	case m.Arch == nil || !m.Arch.Uses(arch.KeyMaxBias):
		return &position.Refusal{
			Why:     fmt.Sprintf("llama.cpp reads %s in mpt and jais only; in %s no key can add or change a bias", arch.KeyMaxBias, report.Printable(m.Family())),
			Instead: "export the model to ONNX and use alibi there, or convert it as an mpt model"}
	case w.Slopes != nil && w.MaxBias == 0:
		return &position.Refusal{Why: "engines compute the slopes from the number of heads; others cannot be stored", Remedies: []report.Remedy{report.Do("", "has them computed", "max-bias", "8")}}
	case w.MaxBias <= 0 || math.IsNaN(w.MaxBias) || math.IsInf(float64(float32(w.MaxBias)), 0):
		return &position.UsageError{What: fmt.Sprintf("a largest bias of %g", w.MaxBias)}
	}
	if !w.Equal(schemes.ALiBi{Heads: m.Heads(), MaxBias: w.MaxBias}) {
		return &position.Refusal{Why: "engines compute the slopes from the number of heads; others cannot be stored"}
	}
	m.Edit.Set(m.Key(arch.KeyMaxBias), gguf.Float32(float32(w.MaxBias)), "largest bias of ALiBi")
	return nil
}
