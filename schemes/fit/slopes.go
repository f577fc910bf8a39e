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

// Forms of a bias that is linear in the key's position.
const (
	BiasRelative = "relative" // −slope·|query − key|
	BiasDistance = "distance" // −slope·(query − key), both ways
	BiasKey      = "key"      // slope·key + a constant
)

// LinearBiasResult is an explanation of one head's bias.
type LinearBiasResult struct {
	Slope    float64 // positive where nearer keys score higher
	Form     string
	Constant float64 // BiasKey: of key 0
	// Masked is how many elements hold a mask's value instead of a bias.
	Masked   int
	Residual float64 // largest difference, relative to the largest bias
}

// maskValue is where a bias ends and a mask begins: no slope reaches it.
const maskValue = -1e4

// LinearBias explains a bias matrix [queries, keys] of one head, or one row of
// it, as linear in the key's position (facts/NUMERICS §7). Elements that a mask
// overwrote are left out. Queries are aligned with the last keys, as in a cache.
func LinearBias(m Matrix, p Precision) (LinearBiasResult, bool) {
	if m.Rows() < 1 || m.Cols() < 3 {
		return LinearBiasResult{}, false
	}
	shift := m.Cols() - m.Rows()
	relative := func(q, k int) float64 { return float64(k - q - shift) }
	forms := []biasForm{
		{BiasRelative, func(q, k int) float64 { return -math.Abs(relative(q, k)) }},
		{BiasDistance, relative},
		{BiasKey, func(_, k int) float64 { return float64(k) }},
	}
	if m.Rows() == 1 {
		forms = forms[2:] // one row is linear in all of them
	}
	for _, f := range forms {
		if r, ok := linearIn(m, p, f.x, f.name == BiasKey); ok {
			r.Form = f.name
			return r, true
		}
	}
	return LinearBiasResult{}, false
}

// biasForm is what a bias is a multiple of.
type biasForm struct {
	name string
	x    func(q, k int) float64
}

func linearIn(m Matrix, p Precision, x func(q, k int) float64, constant bool) (r LinearBiasResult, ok bool) {
	rows := someRows(m)
	var n, sx, sxx, sy, sxy, largest float64
	each := func(see func(x, y float64)) {
		for _, q := range rows {
			for k := range m.Cols() {
				if y := m.At(q, k); y > maskValue {
					see(x(q, k), y)
				}
			}
		}
	}
	each(func(x, y float64) {
		n, sx, sxx, sy, sxy = n+1, sx+x, sxx+x*x, sy+y, sxy+x*y
		largest = max(largest, math.Abs(y))
	})
	if n < 3 || largest == 0 {
		return r, false
	}
	if constant {
		r.Slope = (n*sxy - sx*sy) / (n*sxx - sx*sx)
		r.Constant = (sy - r.Slope*sx) / n
	} else {
		r.Slope = sxy / sxx
	}
	each(func(x, y float64) {
		r.Residual = max(r.Residual, math.Abs(r.Constant+r.Slope*x-y)/largest)
	})
	r.Masked = len(rows)*m.Cols() - int(n)
	return r, r.Slope != 0 && r.Residual <= slopeError+2*p.Step()
}
