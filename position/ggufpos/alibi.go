package ggufpos

import (
	"fmt"
	"math"

	"github.com/modelpatch/modelpatch/gguf"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// hardCodedBias is ALiBi's largest bias where no key changes it.
const hardCodedBias = 8

// alibi is the linear bias that an engine computes from a key or by itself.
type alibi struct {
	m      *model
	scheme schemes.ALiBi
	fixed  bool // the bias is hard-coded
}

// findALiBi adds the bias, and the table that MPT may have besides.
func (m *model) findALiBi() {
	fixed := !m.arch.reads(keyMaxBias)
	bias := m.realOr(keyMaxBias, 0)
	if fixed {
		bias = hardCodedBias
	}
	if bias > 0 {
		m.sites = append(m.sites, &alibi{m: m, fixed: fixed, scheme: schemes.ALiBi{Heads: m.heads(), MaxBias: bias}})
	}
	if m.file.Tensor(nameTable) != nil && m.name == "mpt" {
		m.findTable()
	}
	if len(m.sites) == 0 {
		m.addNone("llama.cpp's " + m.name + " has no bias without " + m.key(keyMaxBias) + " > 0")
	}
}

// Encoding says what the engine computes.
func (a *alibi) Encoding() position.Encoding {
	e := position.Encoding{
		Scheme: a.scheme, Form: report.FormKeys, Beyond: report.BeyondContinues,
		Evidence: []report.Evidence{{Kind: "architecture", Says: "llama.cpp's " + a.m.name + " adds ALiBi's bias to the scores"}},
	}
	for _, k := range []string{keyMaxBias, keyHeads} {
		if p := a.m.pair(k); p != nil && !(a.fixed && k == keyMaxBias) {
			e.Where = append(e.Where, report.Where{Key: report.Name(p.Key), Range: &[2]int64{p.ValueAt, p.End}})
		}
	}
	return e
}

// Hold stores another largest bias.
func (a *alibi) Hold(want position.Want) error {
	w, ok := want.Scheme.(schemes.ALiBi)
	switch {
	case !ok:
		return &position.Refusal{Why: "ALiBi cannot become another scheme by keys"}
	case w.Equal(a.scheme):
		return nil
	}
	return a.m.storeBias(w)
}

// Bias is −slope·distance, as the engine masks it.
func (a *alibi) Bias(head, query, key, _ int) (float64, error) {
	if head < 0 || head >= a.scheme.Heads {
		return 0, fmt.Errorf("head %d of %d", head, a.scheme.Heads)
	}
	return a.scheme.Bias(head, query, key), nil
}

// Neutralize switches the bias off.
func (a *alibi) Neutralize() error {
	if a.fixed {
		return &position.Refusal{Why: fmt.Sprintf("llama.cpp's %s has its bias hard-coded", a.m.name)}
	}
	a.m.edit.Set(a.m.key(keyMaxBias), gguf.Float32(0), "no ALiBi")
	return nil
}

// storeBias writes attention.max_alibi_bias where an engine reads it.
func (m *model) storeBias(w schemes.ALiBi) error {
	switch {
	case m.arch == nil || !m.arch.reads(keyMaxBias):
		return &position.Refusal{
			Why:     fmt.Sprintf("llama.cpp reads %s in mpt and jais only; in %s no key can add or change a bias", keyMaxBias, report.Printable(m.name)),
			Instead: "export the model to ONNX and use alibi there, or convert it as an mpt model"}
	case w.MaxBias <= 0 || math.IsNaN(w.MaxBias) || math.IsInf(float64(float32(w.MaxBias)), 0):
		return &position.UsageError{What: fmt.Sprintf("a largest bias of %g", w.MaxBias)}
	}
	if !w.Equal(schemes.ALiBi{Heads: m.heads(), MaxBias: w.MaxBias}) {
		return &position.Refusal{Why: "engines compute the slopes from the number of heads; others cannot be stored"}
	}
	m.edit.Set(m.key(keyMaxBias), gguf.Float32(float32(w.MaxBias)), "largest bias of ALiBi")
	return nil
}
