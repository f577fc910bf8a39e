package rotary

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/modelpatch/modelpatch/gguf"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/ggufpos/arch"
	"github.com/modelpatch/modelpatch/position/ggufpos/operator"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
	"github.com/modelpatch/modelpatch/schemes/fit"
)

// u32 is a length as engines want it.
func u32(n int) gguf.Value { return gguf.Uint32(uint32(n)) }

// Store stores another base or scaling in keys and factor tensors, in the exact
// types that engines demand (facts/GGUF-FACTS §d). The error is a
// *position.Refusal where the architecture has no way to hold it, and a
// *position.UsageError for numbers that are none.
func (r *Rope) Store(want position.Want) error {
	w, ok := want.Scheme.(schemes.Rotary)
	if !ok {
		return refuse("RoPE cannot become another scheme by keys", "")
	}
	if w.Equal(r.scheme) && !(want.Anew && r.Misstated()) {
		return nil
	}
	if err := r.usable(w.Base == r.scheme.Base || !operator.ValidBase(w.Base), !want.Anew); err != nil {
		return err
	}
	if why := arch.FixedRope(r.m.Family()); why != "" {
		return refuse(why, "only the stated length can change", report.Do("extend", "", "method", "none"))
	}
	if w.Dim != r.scheme.Dim || w.Layout != r.scheme.Layout || !slices.Equal(w.Axes(), r.scheme.Axes()) {
		return refuse("the number of turned elements, their pairing and sections belong to the weights", "")
	}
	if err := w.Scaling.Known(); err != nil {
		return refuse(err.Error(), "")
	}
	if r.engine.Alpha == 0 {
		// A new base is the only form that engines have for NTK-aware scaling.
		w = w.Rebased()
	}
	r.stored = &w
	if base := r.engine.KeyBase(w); base != r.engine.Base {
		if err := r.storeBase(base); err != nil {
			return err
		}
	}
	rebased := r.scheme
	rebased.Base, rebased.Scaling.Frequencies = w.Base, nil
	same := w.Equal(rebased) && w.Scaling.OriginalLength == r.scheme.Scaling.OriginalLength // which a short ramp may not show
	if ramped := r.engine.Yarn && (r.engine.Long != nil || r.engine.Short != nil); same && !ramped && !r.Misstated() && (r.engine.Freqs == nil || fit.Ones(r.engine.Freqs) || r.engine.Masked()) {
		return nil // keys go with any base; divisors are made for one
	}
	r.rescaled = true
	return r.storeScaling(w)
}

// Misstated reports whether keys of the scaling hold what engines refuse, compute
// no numbers from, or read for other layers alone: then the same scaling, stored again, is a change.
func (r *Rope) Misstated() bool {
	m := r.m
	if m.Ignores(arch.KeyFactor) {
		return false
	}
	kind, stated := m.Text(arch.KeyType)
	if stated && !slices.Contains(arch.ScalingTypes, kind) || kind == arch.TypeNone && r.twin && !r.sliding && arch.ScalesWithNone(m.Family()) {
		return true
	}
	for _, k := range []string{arch.KeyFactor, arch.KeyScaleLinear} {
		if v, ok := m.Pair(k).Float(); m.Pair(k) != nil && (!ok || !(v > 0) || math.IsInf(v, 0)) {
			return true
		}
	}
	return false
}

// Stored is the rotation that Store stored, or the file's own.
func (r *Rope) Stored() schemes.Scheme {
	if r.stored != nil {
		return *r.stored
	}
	return r.scheme
}

func refuse(why, instead string, remedies ...report.Remedy) error {
	return &position.Refusal{Why: why, Instead: instead, Remedies: remedies}
}

// usable refuses values that no edit should build on (facts/BAD-INPUTS C07–C09,
// C12, C13, C16). A base or a factor that is being replaced may be wrong.
func (r *Rope) usable(base, factor bool) error {
	m := r.m
	if p := m.Pair(arch.KeyBase); base && p != nil && !m.Ignores(arch.KeyBase) {
		if v, ok := p.Float(); !ok || !operator.ValidBase(v) {
			return refuse(fmt.Sprintf("%s is %v, which is no base", m.Key(arch.KeyBase), v), "", report.Do("rope", "sets it, or what the model was trained with", "base", "10000"))
		}
	}
	for _, k := range []string{arch.KeyFactor, arch.KeyScaleLinear} {
		if p := m.Pair(k); factor && p != nil && !m.Ignores(arch.KeyFactor) {
			if v, ok := p.Float(); !ok || !(v > 0) || math.IsInf(v, 0) {
				is := "is no factor"
				if ok && v == 0 { // llama_model::load_hparams
					is = "llama.cpp takes for the factor 1 and others divide by"
				}
				return refuse(fmt.Sprintf("%s is %v, which %s", m.Key(k), v, is), "", report.Do("rope", "sets it", "scaling", "TYPE", "factor", "S"), report.Do("rope", "takes the scaling away", "scaling", "none"))
			}
		}
	}
	switch d := r.engine.Dims; {
	case d <= 0 || d%2 != 0 || r.engine.HeadDim > 0 && d > r.engine.HeadDim:
		stated := fmt.Sprintf("%d elements of a head would turn", d)
		for _, key := range r.dimensionKeys() {
			if n, ok := m.Pair(key).Uint(); ok {
				stated = fmt.Sprintf("%s is %d", m.Key(key), n)
			}
		}
		return refuse(fmt.Sprintf("%s, with heads of %d (%s %d)", stated, r.engine.HeadDim, m.Key(arch.KeyHeads), m.Heads()), "the file's keys contradict each other: convert the model again")
	case m.File.Tensor(operator.FreqsTensor) != nil && m.Arch.Freqs == "read" && !r.sliding && r.engine.Freqs == nil && r.engine.Long == nil:
		return refuse(fmt.Sprintf("%s does not hold the %d numbers that engines want", operator.FreqsTensor, r.engine.FactorWidth), "convert the model again")
	case slices.ContainsFunc(r.engine.Freqs, func(v float64) bool { return !(v > 0) }):
		return refuse(operator.FreqsTensor+" holds a divisor that is not above 0", "convert the model again")
	}
	return nil
}

// storeBase writes the base where the layers of this site read it.
func (r *Rope) storeBase(base float64) error {
	m, w := r.m, r.m.Arch.Window
	b := gguf.Float32(float32(base))
	r.rebased = true
	switch {
	case !operator.ValidBase(base):
		return &position.UsageError{What: fmt.Sprintf("a base of %g", base)}
	case m.Ignores(arch.KeyBase):
		return refuse(fmt.Sprintf("llama.cpp's %s does not read %s", m.Family(), m.Key(arch.KeyBase)), "")
	case r.baseKey != "":
		m.Edit.Set(m.Key(r.baseKey), b, "base of compressed attention")
		return nil
	case r.sliding && (w.Base == "own" || w.Base == "inherit" && (r.twin || m.Pair(arch.KeyBaseSWA) != nil)):
		m.Edit.Set(m.Key(arch.KeyBaseSWA), b, "base of sliding layers")
		return nil
	}
	m.Edit.Set(m.Key(arch.KeyBase), b, "base")
	switch {
	case w == nil || w.Base == "shared":
	case r.merged && (m.Pair(arch.KeyBaseSWA) != nil || w.Base == "own"):
		m.Edit.Set(m.Key(arch.KeyBaseSWA), b, "base of sliding layers")
	case r.twin && w.Base == "inherit" && m.Pair(arch.KeyBaseSWA) == nil:
		// They would follow freq_base: pin what they have (facts/GGUF-FACTS §d).
		m.Edit.Set(m.Key(arch.KeyBaseSWA), gguf.Float32(float32(r.engine.Base)), "base of sliding layers, as it was")
	}
	return nil
}

// storeScaling replaces the whole scaling.
func (r *Rope) storeScaling(w schemes.Rotary) error {
	if w.Scaling.Kind().IsBase() && r.engine.Alpha > 0 { // its key stays
		w.Scaling.Type = schemes.ScalingNone
	}
	m, s := r.m, w.Scaling
	if r.unscaled || r.sliding && m.Arch.Window.Unscaled() || m.Ignores(arch.KeyFactor) {
		return refuse(fmt.Sprintf("llama.cpp's %s does not scale these layers' rotation, whatever the keys say", m.Family()), "only the base and the stated length can change")
	}
	if r.engine.Masked() && s.Frequencies == nil {
		r.clearKeys()
		return r.storeKeys(w) // the mask stays and multiplies
	}
	baked, err := r.mustBake(w)
	if err != nil {
		return err
	}
	r.clear()
	if baked {
		return r.bake(w)
	}
	return keysOf(s).store(r, s)
}

// mustBake reports whether a scaling has no keys and must become divisors in
// rope_freqs.weight. It fails where the architecture does not take that tensor.
func (r *Rope) mustBake(w schemes.Rotary) (bool, error) {
	m, s := r.m, w.Scaling
	k, what := keysOf(s), "scaling of type "+s.Type
	if k != nil {
		if what = k.lacks(m, s); what == "" {
			return false, nil
		}
	} else if s.Kind().ByLength {
		return false, refuse(fmt.Sprintf("engines have no %s scaling at run time", s.Type), "", report.Do("rope", "freezes it at a length", "scaling", "ntk", "factor", "S"))
	}
	return true, r.takesDivisors(what)
}

// takesDivisors refuses what would be stored in rope_freqs.weight where the engine does
// not take that tensor, or takes it for something else.
func (r *Rope) takesDivisors(what string) error {
	m := r.m
	switch {
	case m.Arch.Freqs != "read":
		return refuse(fmt.Sprintf("%s needs the tensor %s, which llama.cpp's %s does not take (a file with it is refused)", what, operator.FreqsTensor, m.Family()),
			"", report.Do("rope", "or another base", "scaling", "yarn|linear"))
	case m.Arch.MLA || m.Family() == "gemma4" || m.Family() == "gemma4-assistant" || r.merged && m.Arch.Window.Unscaled():
		return refuse(what+" cannot be stored: "+operator.FreqsTensor+" has another meaning here", "", report.Do("rope", "", "scaling", "yarn|linear"))
	}
	return nil
}

// clear takes away the scaling that is there: keys, and divisors, which would
// multiply with the new ones. original_context_length stays: other things may
// be measured by it, and it has no effect of its own.
func (r *Rope) clear() {
	m := r.m
	r.clearKeys()
	for _, name := range []string{operator.FreqsTensor, operator.LongTensor, operator.ShortTensor} {
		if name == operator.FreqsTensor && r.engine.Freqs != nil && fit.Ones(r.engine.Freqs) {
			continue // they divide nothing
		}
		if t := m.File.Tensor(name); t != nil && len(t.Shape) == 1 {
			m.Edit.Remove(t, operator.FreqsTensor+" no longer used")
			m.Removed = append(m.Removed, t)
		}
	}
}

// clearKeys takes away the keys of the scaling that is there.
func (r *Rope) clearKeys() {
	for _, k := range []string{arch.KeyType, arch.KeyFactor, arch.KeyScaleLinear, arch.KeyAttnFactor, arch.KeyExtFactor, arch.KeyYarnAttn} {
		if overrides := k == arch.KeyExtFactor || k == arch.KeyYarnAttn; !overrides || r.m.Arch.Uses(k) { // the type decides without them
			r.m.Edit.Delete(r.m.Key(k), "scaling as it was")
		}
	}
}

// storeKeys writes a scaling as keys, where divisors have another meaning and stay.
func (r *Rope) storeKeys(w schemes.Rotary) error {
	if k := keysOf(w.Scaling); k != nil && !k.tensors {
		return k.store(r, w.Scaling)
	}
	return refuse("scaling of type "+w.Scaling.Type+" has no keys", "")
}

// setScaling writes type and factor.
func (r *Rope) setScaling(kind string, factor float64) {
	r.m.Edit.Set(r.m.Key(arch.KeyType), gguf.String(kind), "type of scaling")
	r.m.Edit.Set(r.m.Key(arch.KeyFactor), gguf.Float32(float32(factor)), "factor of scaling")
}

// storeBetas writes YaRN's bounds where they are read.
func (r *Rope) storeBetas(s schemes.Scaling) {
	if m := r.m; m.Arch.Uses(arch.KeyBetaFast) {
		m.Edit.Set(m.Key(arch.KeyBetaFast), gguf.Float32(float32(cmp.Or(s.BetaFast, schemes.DefaultBetaFast))), "YaRN's bounds")
		m.Edit.Set(m.Key(arch.KeyBetaSlow), gguf.Float32(float32(cmp.Or(s.BetaSlow, schemes.DefaultBetaSlow))), "YaRN's bounds")
	}
}

// sameAmplitude reports whether two amplitudes are one.
func sameAmplitude(a, b float64) bool {
	return math.Abs(a-b) <= 1e-6*math.Max(math.Abs(a), math.Abs(b))
}

// storeYaRNAttention writes the amplitude where it is not the one that YaRN's
// factor gives: the engine multiplies both.
func (r *Rope) storeYaRNAttention(s schemes.Scaling) error {
	m, usual := r.m, schemes.YaRNAmplitude(s.Factor, 1)
	wanted, own := cmp.Or(s.AttentionFactor, usual), r.m.YaRNAmplitude(s.Factor)
	log, scores := 0.0, arch.ScalesAttention(m.Family())
	if m.Arch.Uses(arch.KeyLogMul) {
		log = m.RealOr(arch.KeyLogMul, 0)
	}
	recipe := sameAmplitude(wanted, usual) && (m.Family() == "deepseek4" || scores && m.Arch.Uses(arch.KeyLogMul))
	switch {
	case recipe:
		// DeepSeek's own: the amplitude goes into the attention scale, and cos and sin keep
		// 1 (mscale = mscale_all_dim = 1, stored as 0.1); version 4 has none.
		if log == 0 && m.Arch.Uses(arch.KeyLogMul) {
			m.Edit.Set(m.Key(arch.KeyLogMul), gguf.Float32(0.1), "YaRN's amplitude in the attention scale, as DeepSeek has it")
			own = 1
		}
		r.stored.Scaling.AttentionFactor = own
		return r.storeAttention(own, own)
	case scores && log == 0 && !sameAmplitude(wanted, 1):
		return refuse(fmt.Sprintf("llama.cpp's %s applies YaRN's amplitude a second time in its attention scale", m.Family()), "", report.Do("rope", "", "scaling", "yarn", "attention-factor", "1"))
	}
	return r.storeAttention(wanted, own)
}

// storeAttention writes rope.scaling.attn_factor when it is not 1: what makes the wanted amplitude of the type's
// own. Sliding layers that no scaling reaches read it as well.
func (r *Rope) storeAttention(wanted, own float64) error {
	m, a := r.m, wanted/own
	was := m.RealOr(arch.KeyAttnFactor, 1)
	switch others := m.Arch.Window != nil && m.Arch.Window.Scale == "one" && m.SlidesAnywhere() && !m.Ignores(arch.KeyAttnFactor); {
	case others && !r.sliding && !sameAmplitude(a, was) && !sameAmplitude(was, 1):
		return refuse(fmt.Sprintf("%s is %g for the sliding layers as well, which this scaling leaves alone", m.Key(arch.KeyAttnFactor), was), "", report.Do("", "keeps it", "attention-factor", schemes.Text(own*was)))
	case sameAmplitude(a, 1):
		m.Edit.Delete(m.Key(arch.KeyAttnFactor), "scaling as it was")
		return nil
	case !(a > 0) || m.Ignores(arch.KeyAttnFactor) || m.Family() == "talkie":
		return refuse(fmt.Sprintf("llama.cpp's %s cannot multiply cos and sin by %g", m.Family(), a), "leave the attention factor at its default")
	case others && !sameAmplitude(a, was):
		return refuse(fmt.Sprintf("%s would act on the sliding layers as well, which this scaling leaves alone", m.Key(arch.KeyAttnFactor)), "leave the attention factor at its default")
	}
	m.Edit.Set(m.Key(arch.KeyAttnFactor), gguf.Float32(float32(a)), "amplitude of cos and sin")
	return nil
}

// bake writes the frequencies of a scaling as divisors, with no scaling keys.
func (r *Rope) bake(w schemes.Rotary) error {
	plain, wanted := w.PlainFrequencies(), w.InverseFrequencies()
	divisors := make([]float64, len(plain))
	for i := range divisors {
		divisors[i] = plain[i] / wanted[i]
		if !(divisors[i] > 0) || divisors[i] > math.MaxFloat32 {
			return refuse(fmt.Sprintf("pair %d has the frequency %g, which no divisor gives", i, wanted[i]), "")
		}
	}
	r.addDivisors(operator.FreqsTensor, divisors, "divisors of the frequencies: "+w.Scaling.String())
	return r.storeAttention(w.Amplitude(), 1)
}

// storeLongRoPE writes both lists of factors.
func (r *Rope) storeLongRoPE(s schemes.Scaling) error {
	m, pairs := r.m, r.engine.Dims/2
	switch {
	case m.Arch.LongRoPE == "" || m.Arch.LongRoPE == "unused":
		return refuse(fmt.Sprintf("llama.cpp's %s does not take %s", m.Family(), operator.LongTensor), "", report.Do("rope", "", "scaling", "yarn"))
	case len(s.ShortFactor) != pairs || len(s.LongFactor) != pairs || s.OriginalLength <= 0:
		return &position.UsageError{What: fmt.Sprintf("LongRoPE needs two lists of %d factors and the original length", pairs)}
	}
	if m.Arch.LongRoPE == "typed" {
		m.Edit.Set(m.Key(arch.KeyType), gguf.String(arch.TypeLongRoPE), "type of scaling")
	}
	m.Edit.Set(m.Key(arch.KeyOriginal), u32(s.OriginalLength), "length from which the long factors are used")
	r.addDivisors(operator.LongTensor, s.LongFactor, "long factors")
	r.addDivisors(operator.ShortTensor, s.ShortFactor, "short factors")
	return r.storeAttention(cmp.Or(s.AttentionFactor, 1), 1)
}
