package rotary

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/modelpatch/modelpatch/gguf"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/ggufpos/arch"
	"github.com/modelpatch/modelpatch/position/ggufpos/hparams"
	"github.com/modelpatch/modelpatch/position/ggufpos/operator"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
	"github.com/modelpatch/modelpatch/schemes/fit"
)

// Check adds what is wrong or surprising about the keys and tensors of
// RoPE, where the architecture has it.
func Check(m *hparams.Model, sites []position.Site) {
	checkScaling(m)
	checkDefaults(m, sites)
	checkDims(m)
	checkFactorTensors(m, sites)
	checkSections(m)
}

// checkScaling looks at the keys of scaling.
func checkScaling(m *hparams.Model) {
	kind, stated := m.Text(arch.KeyType)
	s, hasFactor := m.Real(arch.KeyFactor)
	switch known := slices.Contains(arch.ScalingTypes, kind); {
	case stated && !known:
		m.Fault("gguf-scaling-type-unknown", arch.KeyType, fmt.Sprintf("unknown rope.scaling.type %q; llama.cpp aborts on it", report.Printable(clipped(kind))), "", report.Do("rope", "writes one that it knows", "scaling", "none|linear|yarn"))
	case kind == arch.TypeNone && hasFactor && s != 1 && s != 0 && !m.Ignores(arch.KeyFactor) && arch.ScalesWithNone(m.Family()) && m.SlidesAnywhere():
		m.Warn("gguf-factor-with-none", arch.KeyFactor, fmt.Sprintf("rope.scaling.type is none, and the sliding layers of %s are divided by the factor %g all the same", m.Family(), s), "")
	case kind == arch.TypeNone && hasFactor && s != 1 && s != 0 && !m.Ignores(arch.KeyFactor):
		m.Warn("gguf-factor-with-none", arch.KeyFactor, fmt.Sprintf("rope.scaling.type is none, so the factor %g is not used", s), "")
	case !stated && hasFactor && s != 1 && s != 0 && !m.Ignores(arch.KeyFactor):
		m.Report("gguf-factor-without-type", report.LevelNote, fmt.Sprintf("a factor of %g without rope.scaling.type counts as linear", s), "", m.WhereKey(arch.KeyFactor))
	}
	if n, ok := m.Count(arch.KeyOriginal); m.Extrapolation() != 0 && (!ok || n == 0) && m.Arch.Uses(arch.KeyOriginal) {
		m.Warn("gguf-original-length-missing", arch.KeyOriginal, "YaRN without original_context_length: context_length is taken, and raising it would change YaRN", "extend writes it down")
	} else if c, stated := m.Count(arch.KeyContext); ok && stated && n > c {
		m.Warn("gguf-original-length-value", arch.KeyOriginal, fmt.Sprintf("original_context_length %d is more than context_length %d", n, c), "")
	}
	checkNumbers(m)
}

// checkDefaults finds what is missing where the default that llama.cpp takes is known not to be
// the published models'.
func checkDefaults(m *hparams.Model, sites []position.Site) {
	kind, _ := m.Text(arch.KeyType)
	scales := (kind == arch.TypeLinear || kind == arch.TypeYaRN) && !m.Ignores(arch.KeyFactor)
	if scales && m.Pair(arch.KeyFactor) == nil && m.Pair(arch.KeyScaleLinear) == nil {
		m.Warn("gguf-factor-missing", arch.KeyFactor, fmt.Sprintf("rope.scaling.type is %s and there is no factor: llama.cpp takes 1, which scales nothing", kind), "", report.Do("set", "states it", "key", m.Key(arch.KeyFactor)+"=S"))
	}
	if factor, _ := m.Real(arch.KeyFactor); kind == arch.TypeYaRN && factor > 1 && arch.ScalesAttention(m.Family()) && m.Arch.Uses(arch.KeyLogMul) && m.Pair(arch.KeyLogMul) == nil {
		m.Warn("gguf-log-multiplier-missing", arch.KeyLogMul, fmt.Sprintf("YaRN without %s: llama.cpp's %s multiplies cos and sin by YaRN's amplitude, and the scale of the scores by its square", m.Key(arch.KeyLogMul), m.Family()),
			"it is 0.1 times mscale_all_dim of config.json", report.Do("set", "is that of mscale_all_dim 1", "key", m.Key(arch.KeyLogMul)+"=0.1"))
	}
	if p := m.Published(); p != nil && len(p.Bases) > 0 && m.Arch.Uses(arch.KeyBase) && m.Pair(arch.KeyBase) == nil {
		checkDefaultBase(m, p)
	}
	if p := m.Published(); p != nil && p.Llama3 != nil {
		checkLlama3(m, p, sites)
	}
}

// checkDefaultBase tells of a base that no published model has.
func checkDefaultBase(m *hparams.Model, p *arch.Published) {
	value, of := schemes.Text(p.Bases[0]), ""
	for _, b := range p.Bases[1:] {
		value, of = "B", of+" or "+schemes.Text(b)
	}
	of = schemes.Text(p.Bases[0]) + of
	m.Warn("gguf-base-default", arch.KeyBase, fmt.Sprintf("%s is not in the file, so llama.cpp takes 10000; published %s models have %s", m.Key(arch.KeyBase), p.Name, of),
		"", report.Do("rope", "sets "+of, "base", value))
}

// checkLlama3 tells of a model that states the length of Llama 3's scaled models, with their vocabulary
// and base, and holds no scaling.
func checkLlama3(m *hparams.Model, p *arch.Published, sites []position.Site) {
	context, _ := m.Count(arch.KeyContext)
	base, _ := m.Real(arch.KeyBase)
	unscaled := slices.ContainsFunc(sites, func(s position.Site) bool {
		r, ok := s.(*Rope)
		return ok && r.scheme.Scaling.IsNone() && len(r.engine.Tensors) == 0
	})
	if m.Kind != report.KindModel || context != p.Llama3.Context || base != p.Bases[0] || !unscaled {
		return
	}
	factor, why := p.Llama3.Factor, "has an output matrix of its own"
	if m.File.Tensor("output.weight") == nil {
		factor, why = p.Llama3.Tied, "shares the embeddings' matrix with its output"
	}
	m.Report("gguf-divisors-missing", report.LevelWarning, fmt.Sprintf("%s is missing: a vocabulary of %d, base %s and a context length of %d are those of %s models whose frequencies are scaled, by ×%s where the model %s, as this one",
		operator.FreqsTensor, p.Vocab, schemes.Text(base), context, p.Name, schemes.Text(factor), why), "",
		&report.Where{Tensor: operator.FreqsTensor}, report.Do("rope", "writes it", "scaling", schemes.ScalingLlama3, "factor", schemes.Text(factor), "original-length", fmt.Sprint(p.Llama3.Original)))
}

func clipped(s string) string {
	if len(s) > 120 {
		return s[:120] + "…"
	}
	return s
}

// checkNumbers finds bases and factors that no formula takes.
func checkNumbers(m *hparams.Model) {
	for _, suffix := range []string{arch.KeyBase, arch.KeyBaseSWA} {
		if v, ok := m.Real(suffix); ok && m.Arch.Uses(suffix) && v == 1 {
			m.Warn("gguf-base-value", suffix, fmt.Sprintf("%s is 1: all pairs turn alike", m.Key(suffix)), "", report.Do("rope", "sets another", "base", "B"))
		} else if ok && m.Arch.Uses(suffix) && (!(v > 1) || math.IsInf(v, 0)) {
			m.Fault("gguf-base-value", suffix, fmt.Sprintf("%s is %v; the output would be NaN or all frequencies alike", m.Key(suffix), v), "", report.Do("rope", "sets another", "base", "B"))
		}
	}
	for _, suffix := range []string{arch.KeyFactor, arch.KeyScaleLinear} {
		if v, ok := m.Real(suffix); ok && m.Arch.Uses(suffix) && (!(v >= 0) || math.IsInf(v, 0)) {
			m.Fault("gguf-factor-value", suffix, fmt.Sprintf("%s is %v", m.Key(suffix), v), "", report.Do("rope", "sets another", "scaling", "TYPE", "factor", "S"))
		}
	}
}

// checkDims looks at the numbers of turned elements, of layers that slide and the others.
func checkDims(m *hparams.Model) {
	for _, suffix := range []string{arch.KeyDims, arch.KeyDimsSWA} {
		n, ok := m.Pair(suffix).Uint()
		head := uint64(m.HeadDim(suffix == arch.KeyDimsSWA))
		switch {
		case !ok || !m.Arch.Uses(suffix):
		case n == 0 || n%2 != 0 || n > hparams.MaxDims || head > 0 && n > head && m.Family() != "step35":
			m.Fault("gguf-dimension-count", suffix, fmt.Sprintf("%s is %d with heads of %d", m.Key(suffix), n, head), "it must be even, above 0 and at most the head size")
		case suffix == arch.KeyDims && m.Arch.Dims == "head" && head > 0 && n != head:
			m.Fault("gguf-dimension-count", suffix, fmt.Sprintf("%s %d differs from the head size %d; llama.cpp's %s refuses that", m.Key(suffix), n, head, m.Family()), "convert the model again")
		}
	}
}

// checkFactorTensors looks at tensors of divisors.
func checkFactorTensors(m *hparams.Model, sites []position.Site) {
	for _, name := range []string{operator.FreqsTensor, operator.LongTensor, operator.ShortTensor} {
		t := m.File.Tensor(name)
		if t == nil {
			continue
		}
		w := m.WhereTensor(t)
		use := m.Arch.LongRoPE
		if name == operator.FreqsTensor {
			use = m.Arch.Freqs
		}
		switch {
		case use == "":
			m.Report("gguf-factor-tensor", report.LevelError, fmt.Sprintf("llama.cpp's %s does not take the tensor %s and refuses the file", m.Family(), name), "", &w)
		case use == "unused":
			m.Report("gguf-factor-tensor", report.LevelWarning, fmt.Sprintf("llama.cpp's %s accepts the tensor %s and does not use it", m.Family(), name), "", &w)
		case !usedTensor(sites, name):
			m.Report("gguf-factor-tensor", report.LevelError, fmt.Sprintf("%s of shape %v and type %s is not used: engines want F32, one number a pair%s", name, t.Shape, t.Type, onlyTyped(m, name)), "", &w)
		case t.Type != gguf.F32:
			m.Report("gguf-factor-tensor", report.LevelError, fmt.Sprintf("%s has type %s; engines want F32", name, t.Type), "", &w)
		case brokenDivisors(m, t):
			m.Report("gguf-factor-tensor", report.LevelError, name+" holds a divisor that is not above 0: what the engine computes is not finite", "convert the model again", &w)
		}
	}
	if a, b := m.File.Tensor(operator.LongTensor), m.File.Tensor(operator.ShortTensor); m.Arch.LongRoPE != "" && m.Arch.LongRoPE != "unused" && (a == nil) != (b == nil) {
		have, lack := operator.LongTensor, operator.ShortTensor
		if a == nil {
			have, lack = operator.ShortTensor, operator.LongTensor
		}
		w := m.WhereTensor(m.File.Tensor(have))
		m.Report("gguf-factor-pair", report.LevelWarning, fmt.Sprintf("%s is there without %s: one side of the original length is not scaled", have, lack), "convert the model again", &w)
	}
	for _, s := range sites {
		if r, ok := s.(*Rope); ok && r.engine.Freqs != nil && !fit.Ones(r.engine.Freqs) && !r.engine.Masked() && r.engine.Factor != 1 {
			m.Warn("gguf-scaling-twice", arch.KeyFactor, operator.FreqsTensor+" and the scaling keys multiply", "", report.Do("rope", "replaces both", "scaling", "TYPE", "factor", "S"))
		}
	}
}

// brokenDivisors reports whether a factor tensor holds a number that is not
// above 0.
func brokenDivisors(m *hparams.Model, t *gguf.Tensor) bool {
	values := make([]float64, t.Width())
	return m.File.ReadRows(t, 0, 1, values) == nil && slices.ContainsFunc(values, func(v float64) bool { return !(v > 0) })
}

// checkSections looks at M-RoPE's sections.
func checkSections(m *hparams.Model) {
	p := m.Pair(arch.KeySections)
	if p == nil || m.Arch.Sections == "" {
		return
	}
	values := m.Numbers(arch.KeySections)
	sum := 0.0
	for _, v := range values {
		sum += math.Max(v, 0)
	}
	switch {
	case len(values) > 0 && len(values) < arch.Sections:
		m.Fault("gguf-sections", arch.KeySections, fmt.Sprintf("%s has %d numbers; engines want 4 and refuse the file", m.Key(arch.KeySections), len(values)), "", report.Do("set", "adds the zeros that are missing", "pad-sections", ""))
	case len(values) != arch.Sections:
		m.Fault("gguf-sections", arch.KeySections, fmt.Sprintf("%s has %d numbers; engines want 4 and refuse the file", m.Key(arch.KeySections), len(values)), "convert the model again")
	case sum == 0 && m.Arch.Sections != "optional":
		m.Fault("gguf-sections", arch.KeySections, m.Key(arch.KeySections)+" are all 0; the engine aborts at the first token", "convert the model again")
	}
}

// usedTensor reports whether a site reads a factor tensor.
func usedTensor(sites []position.Site, name string) bool {
	return slices.ContainsFunc(sites, func(s position.Site) bool {
		r, ok := s.(*Rope)
		return ok && slices.Contains(r.engine.Tensors, name)
	})
}

func onlyTyped(m *hparams.Model, name string) string {
	if m.Arch.LongRoPE == "typed" && strings.Contains(name, "factors") {
		return ", and rope.scaling.type longrope"
	}
	return ""
}
