package ggufpos

import "slices"

// keysInUse are the keys of the file that the engine reads for this rotation
// and that have a part in what it computes: llm_load_hparams reads more of
// them than the graph of an architecture, or its type of scaling, uses
// (facts/GGUF-FACTS §b).
func (r *rope) keysInUse() []string {
	keys := slices.Concat(r.baseKeys(), r.dimensionKeys(), r.scalingKeys())
	return slices.DeleteFunc(keys, func(k string) bool { return r.m.pair(k) == nil })
}

// baseKeys are those of the base, and of the window that chooses the layers.
func (r *rope) baseKeys() []string {
	m, w := r.m, r.m.arch.Window
	base := []string{keyBase}
	if r.baseKey != "" {
		base = []string{r.baseKey}
	}
	if m.ignores(keyBase) {
		base = nil
	}
	own := w != nil && (w.Base == "own" || w.Base == "inherit" && m.pair(keyBaseSWA) != nil)
	switch {
	case r.sliding && own:
		base = []string{keyBaseSWA}
	case r.merged && own:
		base = append(base, keyBaseSWA)
	}
	if r.sliding && m.arch.reads(keyWindow) {
		base = append(base, keyWindow)
	}
	if r.engine.alpha > 0 {
		base = append(base, keyAlpha)
	}
	return base
}

// dimensionKeys are those of how many elements turn, and by which position.
func (r *rope) dimensionKeys() []string {
	m := r.m
	var out []string
	if !m.ignores(keyDims) {
		out = append(out, keyDims)
	}
	if (r.sliding || r.merged) && m.pair(keyDimsSWA) != nil {
		if r.sliding {
			out = nil
		}
		out = append(out, keyDimsSWA)
	}
	if r.engine.sections != nil {
		out = append(out, keySections)
	}
	return out
}

// scalingKeys are those of type, factor and amplitude.
func (r *rope) scalingKeys() []string {
	m, e, w := r.m, r.engine, r.m.arch.Window
	if r.unscaled || r.sliding && w.unscaled() {
		if r.sliding && w.Scale == "one" && !m.ignores(keyAttnFactor) {
			return []string{keyAttnFactor}
		}
		return nil
	}
	var out []string
	if !m.ignores(keyType) {
		out = append(out, keyType)
	}
	if kind, _ := m.text(keyType); !m.ignores(keyFactor) && (kind != typeNone || e.factor != 1) {
		if m.pair(keyFactor) != nil {
			out = append(out, keyFactor)
		} else {
			out = append(out, keyScaleLinear) // read only where factor is absent
		}
	}
	measured := e.yarn && e.factor != 1 || e.long != nil || e.short != nil
	if measured && !m.ignores(keyOriginal) {
		out = append(out, keyOriginal)
	}
	if !m.ignores(keyAttnFactor) {
		out = append(out, keyAttnFactor)
	}
	if e.yarn && e.factor != 1 {
		for _, k := range []string{keyLogMul, keyBetaFast, keyBetaSlow} {
			if m.arch.reads(k) {
				out = append(out, k)
			}
		}
	}
	return out
}
