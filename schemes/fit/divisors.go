package fit

import (
	"math"

	"github.com/modelpatch/modelpatch/schemes"
)

// Divisors explains the numbers that divide the plain frequencies of a known
// base, one a pair, as llama.cpp's converters store a scaling in
// rope_freqs.weight: 1 where a frequency stays, the factor where it is divided,
// and a ramp between. It is InverseFrequencies for base^(−2i/d)/divisor[i]
// where the base need not be found: the same inverse of Llama 3's scaling and
// of YaRN's, and of wavelengths that were rounded. ok is false where the divisors are
// none of these.
//
// Numbers made in float32 are tried first, then coarser ones.
func Divisors(divisors []float64, base float64, o Options) (r Result, ok bool) {
	o.Base = base
	plain := schemes.Rotary{Base: base, Dim: 2 * len(divisors)}.PlainFrequencies()
	f := make([]float64, len(divisors))
	for i, d := range divisors {
		if !(d > 0) || !(base > 1) {
			return Result{}, false
		}
		f[i] = plain[i] / d
	}
	for _, p := range []Precision{Float32, Float16} {
		sigma := make([]float64, len(f)) // of the divisors, which never get too small for their type
		for i := range sigma {
			sigma[i] = p.Step() + frequencyError
		}
		v := newVector(f, sigma, o)
		if r, ok := explainResonance(v, p, o); ok && r.Rotary.Base == base {
			return r.finish(f, o), true
		}
		if !v.startsPlain() {
			continue
		}
		if readings := newRamp(v, base, 0).readings(p, o); len(readings) > 0 {
			return choose(readings).finish(f, o), true
		}
	}
	return Result{}, false
}

// Ones reports whether divisors leave every frequency as it is, as no divisors do.
func Ones(divisors []float64) bool {
	for _, d := range divisors {
		if !sameDivisor(d, 1) {
			return false
		}
	}
	return true
}

// Alike reports whether all divisors are one number: the factor of linear scaling.
func Alike(divisors []float64) bool {
	for _, d := range divisors {
		if !sameDivisor(d, divisors[0]) {
			return false
		}
	}
	return true
}

// Mask reads divisors as the number of pairs that they leave turning. It is a mask
// where they do nothing else: each is 1 or enormous, and some is enormous (Gemma 4).
func Mask(divisors []float64) (turning int, mask bool) {
	mask = true
	stopped := false
	for _, d := range divisors {
		switch {
		case d > notTurned:
			stopped = true
		case d <= notTurned:
			turning++
			mask = mask && sameDivisor(d, 1)
		}
	}
	return turning, mask && stopped
}

func sameDivisor(a, b float64) bool {
	return math.Abs(a-b) <= divisorError*math.Max(math.Abs(a), math.Abs(b))
}
