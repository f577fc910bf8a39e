package fit

import (
	"math"
	"testing"
)

// TestSpacing reads the coordinates of Swin v2 (torch: sign(x)·log2(8|x| + 1)/log2(8), x = d/(window − 1)), those of log(1 + |d|), and
// even ones, as float32, and continues them.
func TestSpacing(t *testing.T) {
	for name, at := range map[string]func(d float64) float64{
		"window 7":   func(d float64) float64 { return math.Copysign(math.Log2(8*math.Abs(d)/6+1)/3, d) },
		"window 12":  func(d float64) float64 { return math.Copysign(math.Log2(8*math.Abs(d)/11+1)/3, d) },
		"plain":      func(d float64) float64 { return math.Copysign(math.Log1p(math.Abs(d)), d) },
		"descending": func(d float64) float64 { return math.Copysign(math.Log1p(math.Abs(d)), -d) },
		"even":       func(d float64) float64 { return d / 6 },
	} {
		for _, m := range []int{2, 6, 23} {
			x := make([]float64, 2*m+1)
			for i := range x {
				x[i] = float64(float32(at(float64(i - m))))
			}
			s, ok := SpacingOf(x)
			if !ok {
				t.Errorf("%s, %d: not read", name, m)
				continue
			}
			for _, d := range []int{0, -1, 2 * m, -3 * m} {
				if want := at(float64(d)); math.Abs(s.At(float64(d))-want) > 4e-6*math.Max(1, math.Abs(want)) {
					t.Errorf("%s, %d: at %d %g, want %g", name, m, d, s.At(float64(d)), want)
				}
			}
			x[1] *= 1.0001
			if _, ok := SpacingOf(x); ok {
				t.Errorf("%s, %d: read with one number off", name, m)
			}
		}
	}
	for _, x := range [][]float64{nil, {1}, {-1, 0, 1}, {-4, -1, 0, 1, 4}, {0, 0, 0, 0, 0}, {math.NaN(), 1, 0, 1, 2}, {-2, -1, 0, 1, math.Inf(1)}} {
		if s, ok := SpacingOf(x); ok {
			t.Errorf("%v is read as %v", x, s)
		}
	}
}
