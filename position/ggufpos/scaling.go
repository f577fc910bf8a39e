package ggufpos

import (
	"math"

	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// The words that engines know in rope.scaling.type; any other kills the
// process (facts/GGUF-FACTS §b).
const (
	typeNone     = "none"
	typeLinear   = "linear"
	typeYaRN     = "yarn"
	typeLongRoPE = "longrope"
)

var engineTypes = []string{typeNone, typeLinear, typeYaRN, typeLongRoPE}

// scaling reads the scaling keys and factor tensors into an engine's state.
func (m *model) scaling(e *engine, sliding bool) {
	kind, stated := m.text(keyType)
	if m.ignores(keyType) {
		kind, stated = typeNone, true
	}
	if !stated {
		kind = typeLinear
	}
	switch kind {
	case typeNone:
	case typeLinear, typeYaRN, typeLongRoPE:
		e.factor = m.scaleFactor()
	default:
		e.unknown = true
	}
	if kind == typeNone && sliding && !m.ignores(keyFactor) && scaledWithNone[m.name] {
		e.factor = m.scaleFactor() // trap 2: these take 1/factor whatever the type
	}
	e.yarn = kind == typeYaRN && !m.ignores(keyType)
	if e.original, _ = m.count(keyOriginal); e.original == 0 {
		e.original, _ = m.count(keyContext)
	}
	if !m.ignores(keyAttnFactor) {
		e.attention = m.realOr(keyAttnFactor, 1)
	}
	m.betas(e)
	e.amplitude = m.amplitude(e)
	m.factorTensors(e, kind, sliding)
}

// scaledWithNone are the architectures whose sliding layers ignore type none.
var scaledWithNone = map[string]bool{
	"afmoe": true, "gemma2": true, "gpt-oss": true, "llama4": true, "maple": true, "smallthinker": true, "spark2_5": true,
}

// scaleFactor is s; 0 counts as 1.
func (m *model) scaleFactor() float64 {
	s, ok := m.real(keyFactor)
	if !ok {
		s = m.realOr(keyScaleLinear, 1)
	}
	if s == 0 || math.IsNaN(s) {
		return 1
	}
	return s
}

// betas reads YaRN's bounds in the two architectures that take them.
func (m *model) betas(e *engine) {
	if m.name == "grok" {
		e.betaFast = 8
	}
	if m.arch.reads(keyBetaFast) {
		e.betaFast = m.realOr(keyBetaFast, e.betaFast)
	}
	if m.arch.reads(keyBetaSlow) {
		e.betaSlow = m.realOr(keyBetaSlow, e.betaSlow)
	}
}

// amplitude is M, by which cos and sin are multiplied.
func (m *model) amplitude(e *engine) float64 {
	if !e.yarn {
		return e.attention
	}
	log := 0.0
	if m.arch.reads(keyLogMul) {
		log = m.realOr(keyLogMul, 0)
	}
	switch {
	case log == 0:
		return e.attention * schemes.YaRNAmplitude(e.factor, 1)
	case m.name == "mistral3":
		return e.attention * schemes.YaRNAmplitude(e.factor, 1) / schemes.YaRNAmplitude(e.factor, log)
	}
	return e.attention // deepseek2 and those that share its graph
}

// factorTensors reads the divisors that the engine would use.
func (m *model) factorTensors(e *engine, kind string, sliding bool) {
	longrope := m.arch.LongRoPE == "always" || m.arch.LongRoPE == "typed" && kind == typeLongRoPE
	if longrope {
		if e.long = m.divisors(e, nameLong); e.long != nil {
			e.tensors = append(e.tensors, nameLong)
		}
		if e.short = m.divisors(e, nameShort); e.short != nil {
			e.tensors = append(e.tensors, nameShort)
		}
		if allOnes(e.long) && allOnes(e.short) {
			e.long, e.short = nil, nil
		}
		if m.arch.LongRoPE == "typed" {
			return // rope_freqs is not loaded then
		}
	}
	if m.arch.Freqs != "read" || sliding && (m.name == "gemma4" || m.name == "gemma4-assistant" || m.name == "step35") {
		return
	}
	if e.freqs = m.divisors(e, nameFreqs); e.freqs != nil {
		e.tensors = append(e.tensors, nameFreqs)
	}
}

// idle reports whether the divisors of a tensor in use are all ones.
func (e *engine) idle(name string) bool {
	if name == nameFreqs {
		return allOnes(e.freqs)
	}
	return e.long == nil && e.short == nil
}

// Factor tensors, one of each in a file.
const (
	nameFreqs = "rope_freqs.weight"
	nameLong  = "rope_factors_long.weight"
	nameShort = "rope_factors_short.weight"
)

// divisors reads a factor tensor, nil when it is absent or not as engines
// want it: n_rot/2 numbers in F32.
func (m *model) divisors(e *engine, name string) []float64 {
	t := m.file.Tensor(name)
	if t == nil || !t.Readable() || t.Rows() != 1 || t.Width() != int64(e.dims/2) {
		return nil
	}
	values := make([]float64, t.Width())
	if m.file.ReadRows(t, 0, 1, values) != nil {
		return nil
	}
	return values
}

// rotary is the engine's state as a scheme.
func (e *engine) rotary(m *model) schemes.Rotary {
	r := schemes.Rotary{Base: e.base, Dim: e.dims, HeadDim: e.headDim, Scaling: e.scheme()}
	if !r.Scaling.Kind().IsBase() {
		r.Base = e.effectiveBase()
	}
	switch e.pairing {
	case "norm":
		r.Layout = schemes.LayoutInterleaved
	case "neox", "mrope", "imrope":
		r.Layout = schemes.LayoutHalf
	}
	if e.sections != nil {
		r.InterleavedSections = e.pairing == "imrope"
		r.Sections = append(r.Sections, e.sections...)
		for len(r.Sections) > 3 && r.Sections[len(r.Sections)-1] == 0 {
			r.Sections = r.Sections[:len(r.Sections)-1]
		}
	}
	return r
}

// scheme names the scaling.
func (e *engine) scheme() schemes.Scaling {
	plain := schemes.Scaling{Type: schemes.ScalingNone}
	if e.attention != 1 {
		plain.AttentionFactor = e.attention
	}
	switch {
	case e.long != nil || e.short != nil:
		return e.longRoPE()
	case e.freqs != nil && !allOnes(e.freqs):
		return e.fromFreqs()
	case e.factor == 1 && e.alpha > 0 && e.alpha != 1 && e.headDim == e.dims: // other scalings come on top of the base
		plain.Type, plain.Factor = schemes.ScalingNTK, e.alpha
	case e.factor == 1:
	case e.yarn:
		return schemes.Scaling{Type: schemes.ScalingYaRN, Factor: e.factor, OriginalLength: e.original, AttentionFactor: e.amplitude, BetaFast: e.betaFast, BetaSlow: e.betaSlow}
	default:
		plain.Type, plain.Factor = schemes.ScalingLinear, e.factor
	}
	return plain
}

// longRoPE is the scaling by two lists of factors.
func (e *engine) longRoPE() schemes.Scaling {
	s := schemes.Scaling{Type: schemes.ScalingLongRoPE, OriginalLength: e.original, AttentionFactor: e.amplitude, ShortFactor: e.short, LongFactor: e.long}
	if e.factor != 1 {
		s.Factor = e.factor
	}
	return s
}

func (e *engine) say(kind, says string) {
	e.evidence = append(e.evidence, report.Evidence{Kind: kind, Says: says})
}
