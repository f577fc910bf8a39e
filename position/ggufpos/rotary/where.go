package rotary

import (
	"slices"

	"github.com/modelpatch/modelpatch/position/ggufpos/arch"
	"github.com/modelpatch/modelpatch/report"
)

// keysInUse are the keys of the file that the engine reads for this rotation
// and that have a part in what it computes: llm_load_hparams reads more of
// them than the graph of an architecture, or its type of scaling, uses
// (facts/GGUF-FACTS §b).
func (r *Rope) keysInUse() []string {
	keys := slices.Concat(r.baseKeys(), r.dimensionKeys(), r.scalingKeys())
	return slices.DeleteFunc(keys, func(k string) bool { return r.m.Pair(k) == nil })
}

// defaults are the parameters that llama.cpp takes although no key of the file states them.
func (r *Rope) defaults() (out []string) {
	states := func(keys []string) bool {
		return slices.ContainsFunc(keys, func(k string) bool { return r.m.Pair(k) != nil })
	}
	bases := slices.DeleteFunc(r.baseKeys(), func(k string) bool { return k == arch.KeyWindow || k == arch.KeyAlpha })
	if len(bases) > 0 && !states(bases) {
		out = append(out, report.DefaultBase)
	}
	if !r.m.Ignores(arch.KeyDims) && !states([]string{arch.KeyDims, arch.KeyDimsSWA}) {
		out = append(out, report.DefaultRotaryDim)
	}
	if n, _ := r.m.Count(arch.KeyOriginal); n == 0 && r.measured() && !r.m.Ignores(arch.KeyOriginal) {
		out = append(out, report.DefaultOriginalLength)
	}
	return out
}

// measured reports whether the scaling depends on the original length.
func (r *Rope) measured() bool {
	return r.engine.Yarn && r.engine.Factor != 1 || r.engine.Long != nil || r.engine.Short != nil
}

// baseKeys are those of the base, and of the window that chooses the layers.
func (r *Rope) baseKeys() []string {
	m, w := r.m, r.m.Arch.Window
	base := []string{arch.KeyBase}
	if r.baseKey != "" {
		base = []string{r.baseKey}
	}
	if m.Ignores(arch.KeyBase) {
		base = nil
	}
	own := w != nil && (w.Base == "own" || w.Base == "inherit" && m.Pair(arch.KeyBaseSWA) != nil)
	switch {
	case r.sliding && own:
		base = []string{arch.KeyBaseSWA}
	case r.merged && own:
		base = append(base, arch.KeyBaseSWA)
	}
	if r.sliding && m.Arch.Uses(arch.KeyWindow) {
		base = append(base, arch.KeyWindow)
	}
	if r.engine.Alpha > 0 {
		base = append(base, arch.KeyAlpha)
	}
	return base
}

// dimensionKeys are those of how many elements turn, and by which position.
func (r *Rope) dimensionKeys() []string {
	m := r.m
	var out []string
	if !m.Ignores(arch.KeyDims) {
		out = append(out, arch.KeyDims)
	}
	if (r.sliding || r.merged) && m.Pair(arch.KeyDimsSWA) != nil {
		if r.sliding {
			out = nil
		}
		out = append(out, arch.KeyDimsSWA)
	}
	if r.engine.Sections != nil {
		out = append(out, arch.KeySections)
	}
	return out
}

// scalingKeys are those of type, factor and amplitude.
func (r *Rope) scalingKeys() []string {
	m, e, w := r.m, r.engine, r.m.Arch.Window
	if r.unscaled || r.sliding && w.Unscaled() {
		if r.sliding && w.Scale == "one" && !m.Ignores(arch.KeyAttnFactor) {
			return []string{arch.KeyAttnFactor}
		}
		return nil
	}
	var out []string
	if !m.Ignores(arch.KeyType) {
		out = append(out, arch.KeyType)
	}
	if kind, _ := m.Text(arch.KeyType); !m.Ignores(arch.KeyFactor) && (kind != arch.TypeNone || e.Factor != 1) {
		if m.Pair(arch.KeyFactor) != nil {
			out = append(out, arch.KeyFactor)
		} else {
			out = append(out, arch.KeyScaleLinear) // read only where factor is absent
		}
	}
	if r.measured() && !m.Ignores(arch.KeyOriginal) {
		out = append(out, arch.KeyOriginal)
	}
	if !m.Ignores(arch.KeyAttnFactor) {
		out = append(out, arch.KeyAttnFactor)
	}
	if e.Factor != 1 && m.Arch.Uses(arch.KeyExtFactor) {
		out = append(out, arch.KeyExtFactor)
	}
	if !e.Yarn && m.Arch.Uses(arch.KeyYarnAttn) {
		out = append(out, arch.KeyYarnAttn)
	}
	if e.Yarn && e.Factor != 1 {
		for _, k := range []string{arch.KeyLogMul, arch.KeyBetaFast, arch.KeyBetaSlow} {
			if m.Arch.Uses(k) {
				out = append(out, k)
			}
		}
	}
	return out
}
