package operator

import (
	"fmt"
	"math"
	"slices"

	"github.com/modelpatch/modelpatch/position/ggufpos/arch"
	"github.com/modelpatch/modelpatch/position/ggufpos/hparams"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
	"github.com/modelpatch/modelpatch/schemes/fit"
)

// scaling reads the scaling keys and factor tensors into the state.
func (e *Rope) scaling(m *hparams.Model, sliding bool) {
	kind, stated := m.Text(arch.KeyType)
	if m.Ignores(arch.KeyType) {
		kind, stated = arch.TypeNone, true
	}
	if !stated {
		kind = arch.TypeLinear
	}
	switch kind {
	case arch.TypeLinear, arch.TypeYaRN, arch.TypeLongRoPE:
		e.Factor = scaleFactor(m)
	}
	if kind == arch.TypeNone && sliding && !m.Ignores(arch.KeyFactor) && arch.ScalesWithNone(m.Family()) {
		e.Factor = scaleFactor(m) // trap 2: these take 1/factor whatever the type
	}
	e.ramped = m.Extrapolation()
	e.Yarn = e.ramped != 0
	if plain := (kind != arch.TypeYaRN && !e.Yarn) || (kind == arch.TypeYaRN && e.ramped == 1); !plain && e.Factor != 1 {
		e.say("key", fmt.Sprintf("%s is %g, and wins over the type of scaling (llama_context::llama_context)", m.Key(arch.KeyExtFactor), e.ramped))
	}
	if e.Original, _ = m.Count(arch.KeyOriginal); e.Original == 0 {
		e.Original, _ = m.Count(arch.KeyContext)
	}
	e.betas(m)
	e.amplitude = e.readAmplitude(m)
	e.factorTensors(m, kind, sliding)
}

// scaleFactor is s; 0 counts as 1.
func scaleFactor(m *hparams.Model) float64 {
	s, ok := m.Real(arch.KeyFactor)
	if !ok {
		s = m.RealOr(arch.KeyScaleLinear, 1)
	}
	if s == 0 || math.IsNaN(s) {
		return 1
	}
	return s
}

// betas reads YaRN's bounds in the two architectures that take them.
func (e *Rope) betas(m *hparams.Model) {
	if m.Family() == "grok" {
		e.betaFast = 8
	}
	if m.Arch.Uses(arch.KeyBetaFast) {
		e.betaFast = m.RealOr(arch.KeyBetaFast, e.betaFast)
	}
	if m.Arch.Uses(arch.KeyBetaSlow) {
		e.betaSlow = m.RealOr(arch.KeyBetaSlow, e.betaSlow)
	}
}

// readAmplitude is M, by which cos and sin are multiplied. YaRN puts its own in the place of
// rope.scaling.yarn_attn_factor (llama_context::llama_context).
func (e *Rope) readAmplitude(m *hparams.Model) float64 {
	a := 1.0
	if !m.Ignores(arch.KeyAttnFactor) {
		a = m.RealOr(arch.KeyAttnFactor, 1)
	}
	switch {
	case e.Yarn:
		a *= m.YaRNAmplitude(e.Factor)
	case m.Arch.Uses(arch.KeyYarnAttn):
		a *= m.RealOr(arch.KeyYarnAttn, 1)
	}
	return a
}

// factorTensors reads the divisors that the engine would use.
func (e *Rope) factorTensors(m *hparams.Model, kind string, sliding bool) {
	longrope := m.Arch.LongRoPE == "always" || m.Arch.LongRoPE == "typed" && kind == arch.TypeLongRoPE
	if longrope {
		if e.Long = e.divisors(m, LongTensor); e.Long != nil {
			e.Tensors = append(e.Tensors, LongTensor)
		}
		if e.Short = e.divisors(m, ShortTensor); e.Short != nil {
			e.Tensors = append(e.Tensors, ShortTensor)
		}
		if fit.Ones(e.Long) && fit.Ones(e.Short) {
			e.Long, e.Short = nil, nil
		}
		if m.Arch.LongRoPE == "typed" {
			return // rope_freqs is not loaded then
		}
	}
	if m.Arch.Freqs != "read" || sliding && (m.Family() == "gemma4" || m.Family() == "gemma4-assistant" || m.Family() == "step35") {
		return
	}
	if e.Freqs = e.divisors(m, FreqsTensor); e.Freqs != nil {
		e.Tensors = append(e.Tensors, FreqsTensor)
	}
}

// factorWidth is how many numbers factor tensors have: one a pair, but in step35, whose layers take the first of as many as
// the widest of them has pairs (llama_model_step35::load_arch_tensors).
func factorWidth(m *hparams.Model, dims int) int {
	if m.Family() != "step35" {
		return dims / 2
	}
	kinds, _ := m.Layers()
	full, sliding := Rope{}, Rope{}
	full.dimensions(m, false)
	sliding.dimensions(m, true)
	widest := 0
	if slices.Contains(kinds, hparams.FullRope) {
		widest = full.Dims
	}
	if slices.Contains(kinds, hparams.SlidingRope) {
		widest = max(widest, sliding.Dims)
	}
	return widest / 2
}

// Idle reports whether the divisors of a tensor in use are all ones.
func (e *Rope) Idle(name string) bool {
	if name == FreqsTensor {
		return fit.Ones(e.Freqs)
	}
	return e.Long == nil && e.Short == nil
}

// Factor tensors, one of each in a file: divisors of the angles, one a pair, of
// all positions or of LongRoPE's two lists.
const (
	FreqsTensor = "rope_freqs.weight"
	LongTensor  = "rope_factors_long.weight"
	ShortTensor = "rope_factors_short.weight"
)

// divisors reads a factor tensor, nil when it is absent or not as engines
// want it: FactorWidth numbers, of which the pairs take the first.
func (e *Rope) divisors(m *hparams.Model, name string) []float64 {
	t := m.File.Tensor(name)
	if t == nil || !t.Readable() || t.Rows() != 1 || t.Width() != int64(e.FactorWidth) {
		return nil
	}
	values := make([]float64, t.Width())
	if m.File.ReadRows(t, 0, 1, values) != nil {
		return nil
	}
	return values[:min(len(values), e.Dims/2)]
}

// Scheme is the engine's state as a scheme. It adds to Evidence what divisors
// stand for: to be called once.
func (e *Rope) Scheme() schemes.Rotary {
	r := schemes.Rotary{Base: e.Base, Dim: e.Dims, HeadDim: e.HeadDim, Scaling: e.scaled()}
	if !r.Scaling.Kind().IsBase() {
		r.Base = e.effectiveBase()
	}
	switch e.Pairing {
	case "norm":
		r.Layout = schemes.LayoutInterleaved
	case "neox", "mrope", "imrope":
		r.Layout = schemes.LayoutHalf
	}
	if e.Sections != nil {
		r.InterleavedSections = e.Pairing == "imrope"
		r.Sections = append(r.Sections, e.Sections...)
		for len(r.Sections) > 3 && r.Sections[len(r.Sections)-1] == 0 && !e.rests() {
			r.Sections = r.Sections[:len(r.Sections)-1]
		}
	}
	return r
}

// scaled names the scaling.
func (e *Rope) scaled() schemes.Scaling {
	plain := schemes.Scaling{Type: schemes.ScalingNone}.WithAttentionFactor(e.amplitude)
	switch {
	case e.Long != nil || e.Short != nil:
		return e.longRoPE()
	case e.Freqs != nil && !fit.Ones(e.Freqs):
		return e.fromFreqs()
	case e.Factor == 1 && e.Alpha > 0 && e.Alpha != 1 && e.HeadDim == e.Dims: // other scalings come on top of the base
		plain.Type, plain.Factor = schemes.ScalingNTK, e.Alpha
	case e.Factor == 1:
	case e.Yarn && e.ramped != 1:
		plain.Type, plain.Frequencies = schemes.ScalingCustom, e.frequencies()
	case e.Yarn:
		return schemes.Scaling{Type: schemes.ScalingYaRN, Factor: e.Factor, OriginalLength: e.Original, AttentionFactor: e.amplitude, BetaFast: e.betaFast, BetaSlow: e.betaSlow}
	default:
		plain.Type, plain.Factor = schemes.ScalingLinear, e.Factor
	}
	return plain
}

// longRoPE is the scaling by two lists of factors, which the keys' own factor multiplies.
func (e *Rope) longRoPE() schemes.Scaling {
	return schemes.Scaling{Type: schemes.ScalingLongRoPE, OriginalLength: e.Original, AttentionFactor: e.amplitude, ShortFactor: e.dividing(e.Short), LongFactor: e.dividing(e.Long)}
}

// dividing are the numbers that a list of factors and the keys divide frequencies by; nil where neither does.
func (e *Rope) dividing(list []float64) []float64 {
	if e.Factor == 1 {
		return list
	}
	low, high := e.ramp()
	out := schemes.Rotary{Base: e.effectiveBase(), Dim: e.Dims}.PlainFrequencies()
	for i, f := range out {
		out[i] = f / e.angle(i, 1, list, low, high)
	}
	return out
}

func (e *Rope) say(kind, says string) {
	e.Evidence = append(e.Evidence, report.Evidence{Kind: kind, Says: says})
}
