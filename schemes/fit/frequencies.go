package fit

import (
	"fmt"
	"math"
	"slices"

	"github.com/modelpatch/modelpatch/schemes"
)

// DefaultBase is the base that per-dimension factors are told relative to when
// nothing says another.
const DefaultBase = 10000

// Options say what is known besides the numbers.
type Options struct {
	Base      float64 // of the plain encoding, from metadata; 0: not known
	Amplitude float64 // of the cos and sin that the frequencies make; 0: not known
	Step      float64 // between the numbers that were stored, of 8 bits; 0: the precision tells
	Computed  bool    // Rounded: the numbers are not stored, but computed in their precision, exponents as well

	asMeasured bool // no number is replaced by a rounder one
}

// Result is an explanation of frequencies.
type Result struct {
	// Rotary is the encoding, of Dim twice the number of frequencies. Its
	// Scaling.Frequencies are the numbers as given. Scaling.Type is custom
	// when they are frequencies that no formula explains. YaRN's factor, betas
	// and original length are 0 as far as the numbers do not tell them.
	Rotary schemes.Rotary
	// OK is false when the numbers are no frequencies; Why says so.
	OK bool
	// Residual is the largest relative difference from the formula.
	Residual float64
	// Also are other encodings that fit alike, without Scaling.Frequencies.
	Also []schemes.Rotary
	// Why says in words what speaks for the answer, or against any.
	Why string
	// Denominator is of the exponent: schemes.DenominatorHalfMinusOne means
	// that BaseUnderDenominator, not Rotary.Base, is a number that somebody
	// chose.
	Denominator          string
	BaseUnderDenominator float64
	// Axial is set when the frequencies come in the order of Pixtral: those of
	// even index, then those of odd index.
	Axial bool
	// RampLow and RampHigh are the indices between which YaRN goes over to the
	// divided frequencies; both 0 for other types. RampHigh is 0 when the ramp
	// ends outside of the vector.
	RampLow, RampHigh float64
}

// InverseFrequencies explains a vector of inverse frequencies that was stored
// in the given precision (facts/NUMERICS §8 A).
func InverseFrequencies(f []float64, p Precision, o Options) Result {
	sigma, telling := errorsOf(f, p), 0
	for i := 0; i < len(sigma) && o.Step > 0; i++ {
		if sigma[i] += o.Step / 2 / f[i]; f[i] < lostSteps*o.Step {
			sigma[i] = math.Inf(1)
		} else {
			telling++
		}
	}
	if o.Step > 0 && telling < fewTelling {
		return Result{Why: "too few frequencies are left of those that were stored in 8 bits"}
	}
	return explain(f, sigma, p, o)
}

// Rounded is InverseFrequencies of numbers that are in one precision, and may have been rounded to a coarser one on their way, or be computed in 16
// bits: powers of a base that is rounded are none of another base, and not scaled.
func Rounded(f []float64, p Precision, o Options) (r Result) {
	for _, stored := range Precisions(p, Dense(1, len(f), f)) {
		if r = InverseFrequencies(f, stored, o); !r.OK || !r.Rotary.Scaling.IsCustom() {
			break
		}
	}
	if !o.Computed || !r.OK || r.Rotary.Scaling.IsNone() || p.Step() <= Float32.Step() {
		return r
	}
	sigma := errorsOf(f, p)
	for i := range sigma {
		sigma[i] += computedSteps * p.Step() * math.Abs(math.Log(f[i]))
	}
	if computed := explain(f, sigma, p, o); computed.OK && computed.Rotary.Scaling.IsNone() {
		return computed
	}
	return r
}

func explain(f, sigma []float64, p Precision, o Options) Result {
	if why := implausible(f); why != "" {
		return Result{Why: why}
	}
	zeros := trailingZeros(f)
	if zeros == len(f) {
		return Result{Why: "all frequencies are zero"}
	}
	if zeros > 0 && lost(f[:len(f)-zeros], sigma, p, o) {
		zeros = 0 // too small for the type, not zero
	}
	head := f[:len(f)-zeros]
	if !descends(head, sigma) {
		return explainAxial(f, sigma, p, o)
	}
	if zeros > 0 {
		return explainProportional(f, sigma, len(head), o)
	}
	v := newVector(f, slices.Clone(sigma), o)
	for _, try := range []func(vector, Precision, Options) (Result, bool){explainPlain, explainLinear, explainResonance, explainRamp} {
		if r, ok := try(v, p, o); ok {
			return r.finish(f, o)
		}
	}
	return explainCustom(v, o).finish(f, o)
}

// lost reports whether zeros behind frequencies may be smaller ones that went with rounding: the next, were it as much smaller as the last,
// would be no more than what is not known of that.
func lost(f, sigma []float64, p Precision, o Options) bool {
	n := len(f)
	if last := f[n-1]; p == Float16 && last < lost16 || last < lostSteps*o.Step {
		return true
	}
	return n > 1 && math.IsInf(sigma[n], 1) && f[n-1]/f[n-2] < lostSteps*sigma[n-1]
}

// finish adds what all explanations have.
func (r Result) finish(f []float64, o Options) Result {
	r.OK = true
	r.Rotary.Scaling.Frequencies = slices.Clone(f)
	if o.Amplitude > 0 {
		r.Rotary.Scaling.AttentionFactor = o.Amplitude
	}
	return r
}

func implausible(f []float64) string {
	if len(f) == 0 {
		return "no numbers"
	}
	for i, x := range f {
		switch {
		case math.IsNaN(x) || math.IsInf(x, 0):
			return fmt.Sprintf("number %d is not finite", i)
		case x < 0:
			return fmt.Sprintf("number %d is negative", i)
		case x > greatestFrequency:
			return fmt.Sprintf("number %d, %g, is more than half a turn per position", i, x)
		}
	}
	return ""
}

func trailingZeros(f []float64) int {
	n := 0
	for n < len(f) && f[len(f)-1-n] < stillFrequency {
		n++
	}
	return n
}

// descends reports whether the numbers get smaller, as far as their precision
// can tell, and do so in all.
func descends(f, sigma []float64) bool {
	for i := 1; i < len(f); i++ {
		unclear := acceptance * (sigma[i] + sigma[i-1])
		if !(f[i] < f[i-1]*(1+unclear)) && !math.IsInf(unclear, 1) {
			return false
		}
	}
	return len(f) == 1 || f[len(f)-1] < f[0]
}

// explainAxial tries the order of even, then odd indices.
func explainAxial(f, sigma []float64, p Precision, o Options) Result {
	refused := Result{Why: "the numbers do not get smaller"}
	n := len(f)
	if n < 4 || n%2 == 1 {
		return refused
	}
	g, s := make([]float64, n), make([]float64, n)
	for i := range n / 2 {
		g[2*i], g[2*i+1] = f[i], f[n/2+i]
		s[2*i], s[2*i+1] = sigma[i], sigma[n/2+i]
	}
	if trailingZeros(g) > 0 || !descends(g, s) {
		return refused
	}
	r, ok := explainPlain(newVector(g, s, o), p, o)
	if !ok {
		return refused
	}
	r.Axial = true
	r.Why += ", in the order even, odd indices"
	r = r.finish(f, o)
	return r
}

// explainProportional is a vector whose last pairs stand still (Gemma 4).
func explainProportional(f, sigma []float64, turning int, o Options) Result {
	v := newVector(f[:turning], slices.Clone(sigma[:turning]), o)
	r := Result{Rotary: schemes.Rotary{Dim: 2 * len(f)}}
	s := &r.Rotary.Scaling
	s.Type, s.Rotated, s.Factor = schemes.ScalingProportional, turning, 1
	if turning < 2 {
		return Result{Why: "all frequencies but one are zero"}
	}
	origin := v.fitLine(0, turning, true)
	if !v.onLine(origin, 0, turning) {
		l := v.fitLine(0, turning, false)
		if turning < 3 || !v.onLine(l, 0, turning) {
			r.Rotary.Scaling.Type = schemes.ScalingCustom
			r.Rotary.Base, r.Rotary.BaseAssumed = DefaultBase, true
			r.Why = "the frequencies before the zeros follow no formula"
			return r.finish(f, o)
		}
		s.Factor = v.snap(math.Exp(l.offset), v.limit(0))
		origin = v.throughOrigin(math.Log(s.Factor), turning)
	}
	// The exponent counts the pairs that stand still too.
	pairs := float64(len(f))
	exact := math.Exp(origin.slope * pairs)
	r.Rotary.Base = v.snap(exact, v.baseError(turning)*pairs/float64(turning))
	rebuilt := r.Rotary.InverseFrequencies()[:turning]
	var ok bool
	if r.Residual, ok = v.explains(rebuilt); !ok {
		r.Rotary.Base = exact
		r.Residual, _ = v.explains(r.Rotary.InverseFrequencies()[:turning])
	}
	r.Why = fmt.Sprintf("%d of %d pairs turn, on one line", turning, len(f))
	return r.finish(f, o)
}

// throughOrigin fits the slope of y − offset.
func (v vector) throughOrigin(offset float64, end int) line {
	shifted := v
	shifted.y = slices.Clone(v.y)
	for i := range shifted.y {
		shifted.y[i] -= offset
	}
	return shifted.fitLine(0, end, true)
}

// telling is how many frequencies say anything.
func (v vector) telling() int {
	n := 0
	for _, s := range v.sigma {
		if !math.IsInf(s, 1) {
			n++
		}
	}
	return n
}

// explainPlain is a geometric row that starts with 1.
func explainPlain(v vector, _ Precision, o Options) (Result, bool) {
	n := len(v.f)
	r := Result{Rotary: schemes.Rotary{Dim: 2 * n}, Denominator: schemes.DenominatorHalf}
	if n == 1 {
		if !(math.Abs(v.y[0]) <= v.limit(0)) {
			return r, false
		}
		r.Rotary.Base = orDefault(o.Base, DefaultBase)
		r.Why = "one frequency of 1 tells no base"
		return r, true
	}
	l := v.fitLine(0, n, true)
	if v.telling() < 2 || !v.onLine(l, 0, n) || l.slope <= 0 {
		return r, false
	}
	r.Rotary.Base, r.Denominator, r.BaseUnderDenominator = v.chooseBase(l.slope)
	var ok bool
	if r.Residual, ok = v.explains(r.Rotary.InverseFrequencies()); !ok {
		r.Rotary.Base = math.Exp(l.slope * float64(n))
		r.BaseUnderDenominator = r.Rotary.Base
		r.Denominator = schemes.DenominatorHalf
		r.Residual, _ = v.explains(r.Rotary.InverseFrequencies())
	}
	r.Why = fmt.Sprintf("%d frequencies in one ratio", n)
	return r, true
}

// chooseBase decides between the denominators d/2 and d/2−1: the one under
// which the base is a number that somebody chose. base is always for d/2.
func (v vector) chooseBase(slope float64) (base float64, denominator string, under float64) {
	n := float64(len(v.f))
	relative := v.baseError(len(v.f))
	half := math.Exp(slope * n)
	less := math.Exp(slope * (n - 1))
	_, digits := roundest(half, relative)
	round, fewer := roundest(less, relative)
	usual := round == DefaultBase && digits > fewer
	if !v.asMeasured && len(v.f) > 2 && (digits >= fewer+rounderBy && fewer <= rounderBy || usual) {
		return math.Pow(round, n/(n-1)), schemes.DenominatorHalfMinusOne, round
	}
	base = v.snap(half, relative)
	return base, schemes.DenominatorHalf, base
}

// explainLinear is a geometric row that starts with 1/s.
func explainLinear(v vector, _ Precision, _ Options) (Result, bool) {
	n := len(v.f)
	if v.telling() < 2 {
		return Result{}, false
	}
	l := v.fitLine(0, n, false)
	if !v.onLine(l, 0, n) || l.slope <= 0 {
		return Result{}, false
	}
	factor := v.snap(math.Exp(l.offset), v.limit(0))
	slope := v.throughOrigin(math.Log(factor), n).slope
	r := Result{Rotary: schemes.Rotary{Dim: 2 * n}, Denominator: schemes.DenominatorHalf}
	r.Rotary.Scaling = schemes.Scaling{Type: schemes.ScalingLinear, Factor: factor}
	r.Rotary.Base = v.snap(math.Exp(slope*float64(n)), v.baseError(n))
	var ok bool
	if r.Residual, ok = v.explains(r.Rotary.InverseFrequencies()); !ok {
		r.Rotary.Base, r.Rotary.Scaling.Factor = math.Exp(l.slope*float64(n)), math.Exp(l.offset)
		r.Residual, ok = v.explains(r.Rotary.InverseFrequencies())
	}
	if whole := r.Rotary.Scaling.Factor; v.telling() == 2 && (r.Rotary.Base != DefaultBase || whole != math.Round(whole)) { // any two numbers are in one ratio
		return Result{}, false
	}
	r.Why = fmt.Sprintf("%d frequencies in one ratio, the first is 1/%g", n, factor)
	return r, ok
}

// unclearDivisor is the relative error of a divisor from which on it is no number that somebody chose: slow pairs of a cache in 8 bits.
const unclearDivisor = 0.02

// explainCustom tells frequencies that no formula explains, with LongRoPE's
// reading of them: divisors relative to a base.
func explainCustom(v vector, o Options) Result {
	n := len(v.f)
	r := Result{Rotary: schemes.Rotary{Dim: 2 * n, Base: orDefault(o.Base, DefaultBase)}}
	r.Rotary.Scaling.Type = schemes.ScalingCustom
	r.Why = "frequencies that no formula explains"
	divisors := r.Rotary.PlainFrequencies()
	stretched, told, known := true, true, r.Rotary
	r.Rotary.BaseAssumed = o.Base == 0
	for i := range divisors {
		divisors[i] /= v.f[i]
		stretched = stretched && (divisors[i] >= 1-v.limit(i))
		told = told && v.limit(i) <= unclearDivisor
	}
	if !stretched {
		return r
	}
	reading := known.WithScaling(schemes.Scaling{Type: schemes.ScalingLongRoPE, LongFactor: divisors, AttentionFactor: o.Amplitude})
	if o.Amplitude > 1 && told {
		r.Rotary = reading
		r.Why = fmt.Sprintf("divisors of base %g for each pair, and an amplitude above 1", reading.Base)
		return r
	}
	r.Also = []schemes.Rotary{reading}
	return r
}

func orDefault(x, otherwise float64) float64 {
	if x == 0 {
		return otherwise
	}
	return x
}
