package fit

import (
	"math"
	"testing"

	"github.com/modelpatch/modelpatch/schemes"
)

// A number just beside a tie of the narrow type is a tie after it went through
// float32, and is then rounded to even: the wrong way half of the time.
func TestRoundOnce(t *testing.T) {
	for p, bits := range map[Precision]int{Float16: 11, BFloat16: 8} {
		unit := math.Ldexp(1, 1-bits)
		for k := range 64 {
			below := 1 + float64(k)*unit
			tie := below + unit/2
			for _, c := range []struct{ x, want float64 }{
				{tie + 1e-12, below + unit}, {tie - 1e-12, below}, {-tie - 1e-12, -below - unit}, {below, below},
			} {
				if got := p.Round(c.x); got != c.want {
					t.Errorf("%s.Round(%.17g) = %.17g, want %.17g", p, c.x, got, c.want)
				}
			}
			if even, got := below+unit*float64(k%2), p.Round(tie); got != even {
				t.Errorf("%s.Round(%.17g) = %.17g, a tie, want %.17g", p, tie, got, even)
			}
		}
	}
}

// TestPrecisionsOfStoredNumbers: what was rounded before it was stored says so, not whole numbers or those of few bits.
func TestPrecisionsOfStoredNumbers(t *testing.T) {
	list := func(x ...float64) Matrix { return Func(1, len(x), func(_, c int) float64 { return x[c] }) }
	single := func(x float64) float64 { return float64(float32(x)) }
	for _, c := range []struct {
		name string
		of   Matrix
		want int // precisions
	}{
		{"float32", list(1, single(0.1), single(0.01)), 1},
		{"float16", list(1, Float16.Round(0.1), Float16.Round(0.01)), 2},
		{"bfloat16, of which float16 holds all", list(1, BFloat16.Round(0.1), BFloat16.Round(0.01)), 3},
		{"whole numbers", list(1, 17, 33, 1025), 1},
		{"parts of two", list(1, 0.5, 0.25, 0.375), 1},
		{"one that tells, as the frequencies of two pairs have it", list(1, Float16.Round(0.1)), 2},
		{"one of float32", list(1, single(0.1)), 1},
	} {
		if got := Precisions(Float32, c.of); len(got) != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// TestEightBits: tables that were quantised keep their formula, and slow pairs that went with rounding are no standstill.
func TestEightBits(t *testing.T) {
	quantised := func(m Matrix) Matrix {
		return Func(m.Rows(), m.Cols(), func(r, c int) float64 { return math.Round(m.At(r, c)*127) / 127 })
	}
	grid := schemes.Sinusoid{Dim: 32, Base: 10000, Layout: schemes.LayoutSinCos, Denominator: schemes.DenominatorHalf, Rows: 64, Grid: []int{8, 8}, AxisColumns: axesInOrder(32, true)}
	if got, ok := GridTable(quantised(tableOf(64, 32, Float32, grid.Table().Row)), Int8, []int{8, 8}); !ok || got.Sinusoid.Base != 10000 {
		t.Errorf("a grid: %v, %v", got.Sinusoid, ok)
	}
	f := schemes.Rotary{Base: 10000, Dim: 16}.PlainFrequencies()
	wave := func(shift float64) Matrix {
		return quantised(Func(11, 16, func(r, c int) float64 { return math.Sin(float64(r)*f[c%8] + shift) }))
	}
	if got, ok := RotaryCache(wave(math.Pi/2), wave(0), Int8); !ok || !got.Rotary.Scaling.IsNone() || got.Rotary.Base != 10000 {
		t.Errorf("a cache of 11 positions: %v, %v", got.Rotary, ok)
	}
	distances := quantised(Func(199, 32, func(r, c int) float64 {
		return math.Sin(float64(99-r)*schemes.Rotary{Base: 10000, Dim: 32}.PlainFrequencies()[c%16] + float64(c/16)*math.Pi/2)
	}))
	if base, ok := DistanceBase(distances); !ok || base != 10000 {
		t.Errorf("distances: %v, %v", base, ok)
	}
}

// TestSlowPairsInSteps: of a cache in 8 bits of which slow pairs are a few steps the divisors are none that somebody chose.
func TestSlowPairsInSteps(t *testing.T) {
	for i := range 24 {
		factor, dim, rows := float64(int(4)<<(i%4)), 16<<(i/4%3), 256<<(i/12)
		want := schemes.Rotary{Base: 10000, Dim: dim}.WithScaling(schemes.Scaling{Type: schemes.ScalingYaRN, Factor: factor, OriginalLength: 64})
		cos, sin := cacheOf(want, schemes.RecipePow, rows, 0, ColumnsHalfDuplicated, Float32)
		quantised := func(m Matrix) Matrix {
			const step = 1.0 / 64 // some tools take powers of two
			return Func(m.Rows(), m.Cols(), func(r, c int) float64 { return math.Round(m.At(r, c)/step) * step })
		}
		got, ok := RotaryCache(quantised(cos), quantised(sin), Int8)
		if ok && got.Rotary.Scaling.Type == schemes.ScalingLongRoPE {
			t.Errorf("YaRN ×%g of %d, %d rows: %s", factor, dim, rows, got.Rotary)
		}
	}
}

// TestComputedInHalf: frequencies that are computed in 16 bits are those of the base that was meant, and no others are told for scaled ones.
func TestComputedInHalf(t *testing.T) {
	powers := func(base, factor float64) []float64 {
		f := make([]float64, 8)
		for k := range f {
			exponent := Float16.Round(float64(k) / 8)
			f[k] = Float16.Round(Float16.Round(1/Float16.Round(math.Exp(Float16.Round(exponent*Float16.Round(math.Log(base)))))) / factor)
		}
		return f
	}
	for _, c := range []struct {
		factor float64
		o      Options
		base   float64
		scaled bool
	}{{1, Options{Computed: true}, 10000, false}, {4, Options{Computed: true}, 0, true}} {
		r := Rounded(powers(10000, c.factor), Float16, c.o)
		if !r.OK || r.Rotary.Scaling.IsNone() == c.scaled || c.base > 0 && r.Rotary.Base != c.base {
			t.Errorf("÷%g: %+v", c.factor, r)
		}
	}
	if r := Rounded(powers(10000, 1), Float16, Options{}); r.Rotary.Scaling.IsNone() {
		t.Errorf("as stored: %+v", r)
	}
}
