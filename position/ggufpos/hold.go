package ggufpos

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/modelpatch/modelpatch/gguf"
	"github.com/modelpatch/modelpatch/patch"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// u32 is a length as engines want it.
func u32(n int) gguf.Value { return gguf.Uint32(uint32(n)) }

// Hold stores another base or scaling in keys and factor tensors, in the exact
// types that engines demand (facts/GGUF-FACTS §d).
func (r *rope) Hold(want position.Want) error {
	w, ok := want.Scheme.(schemes.Rotary)
	if !ok {
		return refuse("RoPE cannot become another scheme by keys", "")
	}
	if w.Equal(r.scheme) && !(want.Anew && r.Misstated()) {
		return nil
	}
	if err := r.usable(w.Base == r.scheme.Base || !validBase(w.Base), !want.Anew); err != nil {
		return err
	}
	if why := fixedRope[r.m.name]; why != "" {
		return refuse(why, "only the stated length can change", report.Do("extend", "", "method", "none"))
	}
	if w.Dim != r.scheme.Dim || w.Layout != r.scheme.Layout || !slices.Equal(w.Axes(), r.scheme.Axes()) {
		return refuse("the number of turned elements, their pairing and sections belong to the weights", "")
	}
	if err := w.Scaling.Known(); err != nil {
		return refuse(err.Error(), "")
	}
	if r.engine.alpha == 0 {
		// A new base is the only form that engines have for NTK-aware scaling.
		w = w.Rebased()
	}
	r.holds = &w
	if base := r.engine.keyBase(w); base != r.engine.base {
		if err := r.holdBase(base); err != nil {
			return err
		}
	}
	rebased := r.scheme
	rebased.Base, rebased.Scaling.Frequencies = w.Base, nil
	same := w.Equal(rebased) && w.Scaling.OriginalLength == r.scheme.Scaling.OriginalLength // which a short ramp may not show
	if same && !r.Misstated() && (r.engine.freqs == nil || allOnes(r.engine.freqs) || r.engine.masked()) {
		return nil // keys go with any base; divisors are made for one
	}
	r.held = true
	return r.holdScaling(w)
}

// Misstated reports whether keys of the scaling hold what engines refuse, or compute
// no numbers from: then the same scaling, stored again, is a change.
func (r *rope) Misstated() bool {
	m := r.m
	if m.ignores(keyFactor) {
		return false
	}
	if kind, stated := m.text(keyType); stated && !slices.Contains(engineTypes, kind) {
		return true
	}
	for _, k := range []string{keyFactor, keyScaleLinear} {
		if v, ok := m.pair(k).Float(); m.pair(k) != nil && (!ok || !(v > 0) || math.IsInf(v, 0)) {
			return true
		}
	}
	return false
}

// Held is the rotation that Hold stored, or the file's own.
func (r *rope) Held() schemes.Scheme {
	if r.holds != nil {
		return *r.holds
	}
	return r.scheme
}

// fixedRope are the architectures whose rotation no key can change.
var fixedRope = map[string]string{
	"cogvlm":        "llama.cpp's cogvlm turns with base 10000 and no scaling, whatever the keys say",
	"deepseek2-ocr": "llama.cpp's deepseek2-ocr has a fixed rotation: another base aborts, and scaling keys only distort its attention scale",
}

func refuse(why, instead string, remedies ...report.Remedy) error {
	return &position.Refusal{Why: why, Instead: instead, Remedies: remedies}
}

// usable refuses values that no edit should build on (facts/BAD-INPUTS C07–C09,
// C12, C13, C16). A base or a factor that is being replaced may be wrong.
func (r *rope) usable(base, factor bool) error {
	m := r.m
	if p := m.pair(keyBase); base && p != nil && !m.ignores(keyBase) {
		if v, ok := p.Float(); !ok || !validBase(v) {
			return refuse(fmt.Sprintf("%s is %v, which is no base", m.key(keyBase), v), "", report.Do("rope", "sets it, or what the model was trained with", "base", "10000"))
		}
	}
	for _, k := range []string{keyFactor, keyScaleLinear} {
		if p := m.pair(k); factor && p != nil && !m.ignores(keyFactor) {
			if v, ok := p.Float(); !ok || !(v > 0) || math.IsInf(v, 0) {
				return refuse(fmt.Sprintf("%s is %v, which is no factor", m.key(k), v), "", report.Do("rope", "sets it", "scaling", "TYPE", "factor", "S"), report.Do("rope", "takes the scaling away", "scaling", "none"))
			}
		}
	}
	switch d := r.engine.dims; {
	case d <= 0 || d%2 != 0 || r.engine.headDim > 0 && d > r.engine.headDim:
		return refuse(fmt.Sprintf("%s is %d with heads of %d (%s %d)", m.key(keyDims), d, r.engine.headDim, m.key(keyHeads), m.heads()), "the file's keys contradict each other: convert the model again")
	case m.file.Tensor(nameFreqs) != nil && m.arch.Freqs == "read" && !r.sliding && r.engine.freqs == nil && r.engine.long == nil:
		return refuse(nameFreqs+" does not hold one number a pair", "convert the model again")
	case slices.ContainsFunc(r.engine.freqs, func(v float64) bool { return !(v > 0) }):
		return refuse(nameFreqs+" holds a divisor that is not above 0", "convert the model again")
	}
	return nil
}

func validBase(v float64) bool { return v > 1 && v <= math.MaxFloat32 }

// holdBase writes the base where the layers of this site read it.
func (r *rope) holdBase(base float64) error {
	m, w := r.m, r.m.arch.Window
	b := gguf.Float32(float32(base))
	r.rebased = true
	switch {
	case !validBase(base):
		return &position.UsageError{What: fmt.Sprintf("a base of %g", base)}
	case m.ignores(keyBase):
		return refuse(fmt.Sprintf("llama.cpp's %s does not read %s", m.name, m.key(keyBase)), "")
	case r.baseKey != "":
		m.edit.Set(m.key(r.baseKey), b, "base of compressed attention")
		return nil
	case r.sliding && w.Base == "own":
		m.edit.Set(m.key(keyBaseSWA), b, "base of sliding layers")
		return nil
	}
	m.edit.Set(m.key(keyBase), b, "base")
	if w == nil || w.Base == "shared" {
		return nil
	}
	switch follows := r.merged || r.sliding; {
	case follows && (m.pair(keyBaseSWA) != nil || w.Base == "own"):
		m.edit.Set(m.key(keyBaseSWA), b, "base of sliding layers")
	case !follows && w.Base == "inherit" && m.pair(keyBaseSWA) == nil:
		// They would follow freq_base: pin what they have (facts/GGUF-FACTS §d).
		m.edit.Set(m.key(keyBaseSWA), gguf.Float32(float32(r.scheme.Base)), "base of sliding layers, as it was")
	}
	return nil
}

// holdScaling replaces the whole scaling.
func (r *rope) holdScaling(w schemes.Rotary) error {
	if w.Scaling.Kind().IsBase() && r.engine.alpha > 0 { // its key stays
		w.Scaling.Type = schemes.ScalingNone
	}
	m, s := r.m, w.Scaling
	if r.unscaled || r.sliding && m.arch.Window.unscaled() || m.ignores(keyFactor) {
		return refuse(fmt.Sprintf("llama.cpp's %s does not scale these layers' rotation, whatever the keys say", m.name), "only the base and the stated length can change")
	}
	if r.engine.masked() && s.Frequencies == nil {
		r.clearKeys()
		return r.holdKeys(w) // the mask stays and multiplies
	}
	baked, err := r.mustBake(w)
	if err != nil {
		return err
	}
	r.clear()
	if baked {
		return r.bake(w)
	}
	return keysOf(s).hold(r, s)
}

// mustBake reports whether a scaling has no keys and must become divisors in
// rope_freqs.weight. It fails where the architecture does not take that tensor.
func (r *rope) mustBake(w schemes.Rotary) (bool, error) {
	m, s := r.m, w.Scaling
	k, what := keysOf(s), "scaling of type "+s.Type
	if k != nil {
		if what = k.lacks(m, s); what == "" {
			return false, nil
		}
	} else if s.Kind().ByLength {
		return false, refuse(fmt.Sprintf("engines have no %s scaling at run time", s.Type), "", report.Do("rope", "freezes it at a length", "scaling", "ntk", "factor", "S"))
	}
	switch {
	case m.arch.Freqs != "read":
		return false, refuse(fmt.Sprintf("%s needs the tensor %s, which llama.cpp's %s does not take (a file with it is refused)", what, nameFreqs, m.name),
			"", report.Do("rope", "or another base", "scaling", "yarn|linear"))
	case m.arch.MLA || m.name == "gemma4" || m.name == "gemma4-assistant" || r.merged && m.arch.Window.unscaled():
		return false, refuse(what+" cannot be stored: "+nameFreqs+" has another meaning here", "", report.Do("rope", "", "scaling", "yarn|linear"))
	}
	return true, nil
}

func orElse(v, otherwise float64) float64 {
	if v == 0 {
		return otherwise
	}
	return v
}

// clear takes away the scaling that is there: keys, and divisors, which would
// multiply with the new ones. original_context_length stays: other things may
// be measured by it, and it has no effect of its own.
func (r *rope) clear() {
	m := r.m
	r.clearKeys()
	for _, name := range []string{nameFreqs, nameLong, nameShort} {
		if name == nameFreqs && r.engine.freqs != nil && allOnes(r.engine.freqs) {
			continue // they divide nothing
		}
		if t := m.file.Tensor(name); t != nil && len(t.Shape) == 1 {
			m.edit.Remove(t, nameFreqs+" no longer used")
			m.removed = append(m.removed, t)
		}
	}
}

// clearKeys takes away the keys of the scaling that is there.
func (r *rope) clearKeys() {
	for _, k := range []string{keyType, keyFactor, keyScaleLinear, keyAttnFactor} {
		r.m.edit.Delete(r.m.key(k), "scaling as it was")
	}
}

// holdKeys writes a scaling as keys, where divisors have another meaning and stay.
func (r *rope) holdKeys(w schemes.Rotary) error {
	if k := keysOf(w.Scaling); k != nil && !k.tensors {
		return k.hold(r, w.Scaling)
	}
	return refuse("scaling of type "+w.Scaling.Type+" has no keys", "")
}

// setScaling writes type and factor.
func (r *rope) setScaling(kind string, factor float64) {
	r.m.edit.Set(r.m.key(keyType), gguf.String(kind), "type of scaling")
	r.m.edit.Set(r.m.key(keyFactor), gguf.Float32(float32(factor)), "factor of scaling")
}

// holdBetas writes YaRN's bounds where they are read.
func (r *rope) holdBetas(s schemes.Scaling) {
	if m := r.m; m.arch.reads(keyBetaFast) {
		m.edit.Set(m.key(keyBetaFast), gguf.Float32(float32(orElse(s.BetaFast, schemes.DefaultBetaFast))), "YaRN's bounds")
		m.edit.Set(m.key(keyBetaSlow), gguf.Float32(float32(orElse(s.BetaSlow, schemes.DefaultBetaSlow))), "YaRN's bounds")
	}
}

// scaledAttention are the architectures that put YaRN's amplitude into the
// attention scale as well.
var scaledAttention = map[string]bool{"deepseek2": true, "deepseek2-ocr": true, "deepseek32": true, "mistral4": true, "glm-dsa": true}

// sameAmplitude is the difference below which an amplitude is the default.
const sameAmplitude = 1e-6

// holdYaRNAttention writes the amplitude where it is not the one that YaRN's
// factor gives: the engine multiplies both.
func (r *rope) holdYaRNAttention(s schemes.Scaling) error {
	m, usual := r.m, schemes.YaRNAmplitude(s.Factor, 1)
	wanted := orElse(s.AttentionFactor, usual)
	log := 0.0
	if m.arch.reads(keyLogMul) {
		log = m.realOr(keyLogMul, 0)
	}
	switch {
	case m.name == "mistral3":
		return r.holdAttention(wanted / usual * schemes.YaRNAmplitude(s.Factor, log))
	case scaledAttention[m.name] && m.arch.reads(keyLogMul) && near(wanted, usual, sameAmplitude):
		// DeepSeek's own recipe: the amplitude goes into the attention scale,
		// cos and sin keep 1 (mscale = mscale_all_dim = 1, stored as 0.1).
		r.holds.Scaling.AttentionFactor = 1
		if log != 0 {
			return r.holdAttention(1)
		}
		m.edit.Set(m.key(keyLogMul), gguf.Float32(0.1), "YaRN's amplitude in the attention scale, as DeepSeek has it")
		return r.holdAttention(1)
	case scaledAttention[m.name] && log != 0:
		return r.holdAttention(wanted)
	case scaledAttention[m.name] && !near(wanted, 1, sameAmplitude):
		return refuse(fmt.Sprintf("llama.cpp's %s applies YaRN's amplitude a second time in its attention scale", m.name), "", report.Do("rope", "", "scaling", "yarn", "attention-factor", "1"))
	}
	return r.holdAttention(wanted / usual)
}

// holdAttention writes rope.scaling.attn_factor when it is not 1.
func (r *rope) holdAttention(a float64) error {
	m := r.m
	switch {
	case near(a, 1, sameAmplitude):
		m.edit.Delete(m.key(keyAttnFactor), "scaling as it was")
		return nil
	case !(a > 0) || m.ignores(keyAttnFactor) || m.name == "talkie":
		return refuse(fmt.Sprintf("llama.cpp's %s cannot multiply cos and sin by %g", m.name, a), "leave the attention factor at its default")
	case m.arch.Window != nil && m.arch.Window.Scale == "one" && m.slidesAnywhere():
		return refuse(fmt.Sprintf("%s would act on the sliding layers as well, which this scaling leaves alone", m.key(keyAttnFactor)), "leave the attention factor at its default")
	}
	m.edit.Set(m.key(keyAttnFactor), gguf.Float32(float32(a)), "amplitude of cos and sin")
	return nil
}

// slidesAnywhere reports whether some layers attend through a window.
func (m *model) slidesAnywhere() bool {
	_, window := m.layers()
	return window > 0
}

// bake writes the frequencies of a scaling as divisors, with no scaling keys.
func (r *rope) bake(w schemes.Rotary) error {
	plain, wanted := w.PlainFrequencies(), w.InverseFrequencies()
	divisors := make([]float64, len(plain))
	for i := range divisors {
		divisors[i] = plain[i] / wanted[i]
		if !(divisors[i] > 0) || divisors[i] > math.MaxFloat32 {
			return refuse(fmt.Sprintf("pair %d has the frequency %g, which no divisor gives", i, wanted[i]), "")
		}
	}
	r.addDivisors(nameFreqs, divisors, "divisors of the frequencies: "+w.Scaling.String())
	return r.holdAttention(w.Amplitude())
}

// holdLongRoPE writes both lists of factors.
func (r *rope) holdLongRoPE(s schemes.Scaling) error {
	m, pairs := r.m, r.engine.dims/2
	switch {
	case m.arch.LongRoPE == "" || m.arch.LongRoPE == "unused":
		return refuse(fmt.Sprintf("llama.cpp's %s does not take %s", m.name, nameLong), "", report.Do("rope", "", "scaling", "yarn"))
	case len(s.ShortFactor) != pairs || len(s.LongFactor) != pairs || s.OriginalLength <= 0:
		return &position.UsageError{What: fmt.Sprintf("LongRoPE needs two lists of %d factors and the original length", pairs)}
	}
	if m.arch.LongRoPE == "typed" {
		m.edit.Set(m.key(keyType), gguf.String(typeLongRoPE), "type of scaling")
	}
	m.edit.Set(m.key(keyOriginal), u32(s.OriginalLength), "length from which the long factors are used")
	r.addDivisors(nameLong, s.LongFactor, "long factors")
	r.addDivisors(nameShort, s.ShortFactor, "short factors")
	return r.holdAttention(orElse(s.AttentionFactor, 1))
}

// addDivisors stores a factor tensor: F32, one number a pair.
func (r *rope) addDivisors(name string, values []float64, why string) {
	m := r.m
	raw := encoded(values, m.file.Parts[0].Order)
	if t := m.file.Tensor(name); t != nil && t.Type == gguf.F32 && t.Size == int64(len(raw)) {
		m.removed = slices.DeleteFunc(m.removed, func(r *gguf.Tensor) bool { return r == t })
		m.edit.Keep(t)
		m.edit.Replace(t, patch.Bytes(raw), why)
		return
	}
	m.edit.Add(name, gguf.F32, []int64{int64(len(values))}, patch.Bytes(raw), why)
}

// encoded are numbers as F32 in a file's byte order.
func encoded(values []float64, order binary.ByteOrder) []byte {
	raw := make([]byte, 4*len(values))
	for i, v := range values {
		order.PutUint32(raw[4*i:], math.Float32bits(float32(v)))
	}
	return raw
}
