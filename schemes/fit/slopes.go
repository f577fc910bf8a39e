package fit

import (
	"math"

	"github.com/modelpatch/modelpatch/schemes"
)

// Slopes explains a list of slopes, one a head, as ALiBi's: whatever number of
// heads, any max bias, of either sign (a file may hold the bias's factor, which
// is negative). residual is the largest relative difference. When it reports
// false the slopes are none of the formula's.
func Slopes(s []float64, p Precision) (a schemes.ALiBi, residual float64, ok bool) {
	if len(s) == 0 {
		return a, 0, false
	}
	slopes := make([]float64, len(s))
	for i, x := range s {
		if slopes[i] = math.Copysign(1, s[0]) * x; !(slopes[i] > 0) || math.IsInf(x, 0) {
			return a, 0, false
		}
	}
	powers := 1
	for 2*powers <= len(s) {
		powers *= 2
	}
	limit := slopeError + acceptance*p.Step()
	// The first slope is 2^(−max bias/powers); the last power is exact.
	bias := snap(-math.Log2(slopes[powers-1]), limit)
	if !(bias > 0) {
		return a, 0, false
	}
	for i, want := range schemes.ALiBiSlopes(len(s), bias) {
		residual = max(residual, off1(slopes[i], want))
	}
	return schemes.ALiBi{Heads: len(s), MaxBias: bias, Slopes: slopes}, residual, residual <= limit
}

// ScaledSlopes explains float32 slopes as ALiBi's rule by the usual max bias, all
// multiplied by one factor: some graphs add the bias already multiplied by
// 1/√head_dim, as the scores are (Falcon, facts/NUMERICS §7). scale is that factor,
// 1 where the slopes follow the rule as they are, by whatever max bias. residual
// is that of Slopes.
func ScaledSlopes(slopes []float64) (a schemes.ALiBi, residual, scale float64, ok bool) {
	if a, residual, ok = Slopes(slopes, Float32); ok && math.Abs(a.MaxBias-8) < 1e-3 {
		return a, residual, 1, true
	}
	usual := schemes.ALiBiSlopes(len(slopes), 8)
	scale = slopes[0] / usual[0]
	if len(slopes) == 1 || scale <= 0 { // one number follows any rule
		return a, residual, 1, ok
	}
	for i := range usual {
		if math.Abs(slopes[i]/(scale*usual[i])-1) > bfloatSlope {
			return a, residual, 1, ok
		}
	}
	return schemes.ALiBi{Heads: len(slopes), MaxBias: 8}, residual, scale, true
}
