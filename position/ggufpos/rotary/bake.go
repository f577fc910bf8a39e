package rotary

import (
	"fmt"
	"math"
	"slices"

	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/ggufpos/arch"
	"github.com/modelpatch/modelpatch/position/ggufpos/operator"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes/fit"
)

// BakeDivisors stores the scaling in rope_freqs.weight, which every llama.cpp architecture
// that takes it reads alike, and its amplitude in rope.scaling.attn_factor.
func (r *Rope) BakeDivisors() (bool, error) {
	w, e := r.scheme, r.engine
	switch {
	case w.Scaling.Kind().ByLength:
		return false, refuse(fmt.Sprintf("%s is two lists of divisors already, between which the engine chooses by its context", w.Scaling.Kind().Title), "")
	case e.Factor == 1 || r.unscaled || r.sliding && r.m.Arch.Window.Unscaled():
		return false, nil // no keys scale it
	case e.Masked():
		return false, refuse(operator.FreqsTensor+" holds which pairs turn", "")
	case arch.ScalesAttention(r.m.Family()):
		return false, refuse(fmt.Sprintf("llama.cpp's %s has YaRN's amplitude in the scale of its scores, which it takes from the keys", r.m.Family()), "")
	}
	if err := r.usable(true, true); err != nil {
		return false, err
	}
	if err := r.takesDivisors("scaling of type " + w.Scaling.Type + " as divisors"); err != nil {
		return false, err
	}
	r.clear()
	r.rescaled, r.stored = true, &w
	return true, r.bake(w)
}

// UnbakeDivisors stores in keys what rope_freqs.weight scales by.
func (r *Rope) UnbakeDivisors() (bool, error) {
	w, e := r.scheme, r.engine
	s := w.Scaling
	keys := keysOf(s)
	switch {
	case e.Freqs == nil || fit.Ones(e.Freqs) || e.Masked():
		return false, nil
	case e.Factor != 1:
		return false, refuse(operator.FreqsTensor+" and the scaling keys multiply: neither alone is the scaling", "", report.Do("rope", "replaces both", "scaling", "TYPE", "factor", "S"))
	case s.IsCustom():
		return false, refuse("no formula explains the divisors in "+operator.FreqsTensor, "leave them in place")
	case keys == nil:
		return false, refuse(fmt.Sprintf("llama.cpp has no keys for %s: divisors are the form that it has", s.Kind().Title), "leave them in place")
	}
	if lacks := keys.lacks(r.m, s); lacks != "" {
		return false, refuse(lacks+" cannot be said in keys", "leave the divisors in place")
	}
	if n, ok := r.m.Count(arch.KeyOriginal); ok && s.Kind().Bounds != nil && s.OriginalLength == 0 {
		s.OriginalLength = n // bake leaves the key where it is
	}
	if s.Kind().Bounds != nil && s.OriginalLength == 0 {
		return false, refuse("the original length cannot be read back from the divisors", "", report.Do("rope", "writes keys", "scaling", s.Type, "factor", "S", "original-length", "L"))
	}
	formula := w
	formula.Scaling = s
	formula.Scaling.Frequencies = nil
	if !slices.EqualFunc(formula.InverseFrequencies(), w.InverseFrequencies(), sameFrequency) {
		return false, refuse("the formula that comes nearest does not give the divisors exactly", "leave them in place")
	}
	if err := r.usable(true, true); err != nil {
		return false, err
	}
	r.clear()
	r.rescaled, r.stored = true, &formula
	return true, keys.store(r, formula.Scaling)
}

// sameFrequency reports whether two frequencies differ by the rounding of a divisor alone.
func sameFrequency(a, b float64) bool {
	const rounding = 2e-6 // float32, twice, and ggml's own (facts/NUMERICS §1)
	return math.Abs(a-b) <= rounding*math.Abs(b)
}

var _ position.DivisorBaker = (*Rope)(nil)
