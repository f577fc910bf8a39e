package fit

import (
	"math"
	"slices"
	"testing"

	"github.com/modelpatch/modelpatch/schemes"
)

func TestMask(t *testing.T) {
	for _, c := range []struct {
		divisors []float64
		turning  int
		mask     bool
	}{
		{nil, 0, false},
		{[]float64{1, 1}, 2, false},
		{[]float64{1, 1e30}, 1, true},
		{[]float64{2, 1e30}, 1, false},
		{[]float64{1e30, 1e30}, 0, true},
	} {
		if turning, mask := Mask(c.divisors); turning != c.turning || mask != c.mask {
			t.Errorf("%v: %d turn, mask %v", c.divisors, turning, mask)
		}
	}
}

// TestBases reads a base back from angles of one position, and from rows of a
// distance that counts down.
func TestBases(t *testing.T) {
	const dim, want = 32, 10000
	f := schemes.Rotary{Base: want, Dim: dim}.PlainFrequencies()
	rows := make([][]float64, 3)
	for i := range rows {
		rows[i] = make([]float64, dim)
		for k, x := range f {
			sin, cos := math.Sincos(float64(9-i) * x)
			rows[i][k], rows[i][len(f)+k] = float64(float32(sin)), float64(float32(cos))
		}
	}
	if base, ok := DistanceBase(Func(3, dim, func(r, c int) float64 { return rows[r][c] })); !ok || base != want {
		t.Errorf("rows: %v, %v", base, ok)
	}
	for _, p := range []Precision{Float16, BFloat16} { // what a pair of rows says of slow frequencies is lost; rows far apart tell
		far := Func(399, dim, func(r, c int) float64 {
			angle := float64(199-r) * f[c%len(f)]
			if c < len(f) {
				return p.Round(math.Sin(angle))
			}
			return p.Round(math.Cos(angle))
		})
		if base, ok := DistanceBase(far); !ok || base != want {
			t.Errorf("rows of %s: %v, %v", p, base, ok)
		}
	}
	if base, ok := DistanceBase(Func(9, dim, func(r, c int) float64 { return math.Sin(float64(r*r + c)) })); ok {
		t.Errorf("rows of no formula have base %v", base)
	}
	if got := Undouble([]float64{3, 1, 3, 1}); !slices.Equal(got, []float64{3, 1}) {
		t.Errorf("halves: %v", got)
	}
	if got := Undouble([]float64{3, 1, 2, 1}); len(got) != 4 {
		t.Errorf("others: %v", got)
	}
}

func TestScaledSlopes(t *testing.T) {
	slopes := schemes.ALiBiSlopes(8, 8)
	for i := range slopes {
		slopes[i] *= 0.125
	}
	if a, _, scale, ok := ScaledSlopes(slopes); !ok || a.MaxBias != 8 || math.Abs(scale-0.125) > 1e-12 {
		t.Errorf("%+v, times %v, %v", a, scale, ok)
	}
	if a, _, scale, ok := ScaledSlopes([]float64{0.5, 0.4, 0.3}); ok {
		t.Errorf("no rule: %+v, times %v", a, scale)
	}
}
