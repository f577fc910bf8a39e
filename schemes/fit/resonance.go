package fit

import (
	"fmt"
	"math"

	"github.com/modelpatch/modelpatch/schemes"
)

// explainResonance is plain frequencies whose wavelengths were rounded to whole
// numbers (Wang et al. 2024): the first is 6, of 2π, and a base must round to all
// others. Each leaves a range of bases; the roundest that all allow is taken, or
// the one that is known.
func explainResonance(v vector, _ Precision, o Options) (Result, bool) {
	n := len(v.f)
	first := math.Log(schemes.ResonantFrequency(1))
	if n < 3 || v.telling() < 3 || !(math.Abs(v.y[0]+first) <= v.limit(0)) {
		return Result{}, false
	}
	low, high := 0.0, math.Inf(1) // of ln base
	for i := 1; i < n; i++ {
		if math.IsInf(v.sigma[i], 1) {
			continue
		}
		wave := 2 * math.Pi / v.f[i]
		slack := wave * v.limit(i)
		if slack < 0.5 {
			if math.Abs(wave-math.Round(wave)) > slack {
				return Result{}, false
			}
			wave, slack = math.Round(wave), 0
		}
		lever := float64(n) / float64(i)
		low = max(low, lever*math.Log((wave-0.5-slack)/(2*math.Pi)))
		high = min(high, lever*math.Log((wave+0.5+slack)/(2*math.Pi)))
	}
	if !(low <= high) || math.IsInf(high, 1) {
		return Result{}, false
	}
	middle := math.Exp((low + high) / 2)
	r := Result{Rotary: schemes.Rotary{Base: v.snap(middle, math.Expm1((high-low)/2)), Dim: 2 * n, Scaling: schemes.Scaling{Type: schemes.ScalingResonance}},
		Denominator: schemes.DenominatorHalf, Why: fmt.Sprintf("the wavelengths of %d pairs are whole numbers", n)}
	for _, base := range []float64{o.Base, r.Rotary.Base, middle} {
		if r.Rotary.Base = base; !(base > 1) {
			continue
		}
		var ok bool
		if r.Residual, ok = v.explains(r.Rotary.InverseFrequencies()); ok {
			return r, true
		}
	}
	return Result{}, false
}
