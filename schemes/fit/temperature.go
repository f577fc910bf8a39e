package fit

import (
	"math"

	"github.com/modelpatch/modelpatch/schemes"
)

// temperatureError is how far a factor that was computed in float32 may be from the formula, relatively; numbers of 16
// bits are no further than hotError.
const temperatureError, hotError = 1e-5, 1e-3

// Temperature explains the factors of queries, one a position from 0 on, as a temperature of attention; ok is false
// where they are 1 throughout or follow no formula that is known.
func Temperature(factors []float64) (t schemes.Temperature, ok bool) {
	n := len(factors)
	first := 0 // position that is not cold
	for first < n && math.Abs(factors[first]-1) <= temperatureError {
		first++
	}
	if first == n || n < 2 {
		return t, false
	}
	last := factors[n-1]
	second := first + 1
	for second < n && math.Abs(factors[second]-factors[first]) <= temperatureError {
		second++
	}
	for _, t := range []schemes.Temperature{
		{Scale: (factors[first] - 1) / math.Ln2, Length: float64(second - first), Offset: float64(second - 2*first)},
		{Scale: 1, Length: math.Round(math.Exp(math.Log(float64(n)) / last)), Logarithm: true},
	} {
		if t.Scale = snapped(t.Scale); explains(t, factors) {
			return t, true
		}
	}
	return t, false
}

// snapped is a scale as somebody chose it, of three digits, where it is that within float32.
func snapped(x float64) float64 {
	if round := math.Round(x*1000) / 1000; math.Abs(round-x) <= hotError*math.Abs(x) {
		return round
	}
	return x
}

func explains(t schemes.Temperature, factors []float64) bool {
	for p, x := range factors {
		if !(math.Abs(t.At(p)-x) <= hotError*math.Abs(x)) {
			return false
		}
	}
	return !t.IsNone()
}
