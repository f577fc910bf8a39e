package fit

import (
	"math"
	"testing"
)

// TestProjectedSinusoid multiplies sinusoids of distances by weights, in float32.
func TestProjectedSinusoid(t *testing.T) {
	for _, c := range []struct {
		rows, dim, cols int
		base            float64
	}{{22, 16, 16, 1e4}, {24, 32, 32, 1e4}, {22, 768, 64, 1e4}, {64, 64, 8, 1e4}, {400, 64, 8, 1e3}} {
		weight := func(i, j int) float64 { return math.Sin(float64(i*i*7 + j*j*3 + i*j)) }
		product := func(turns func(angle float64) float64) Matrix {
			values := make([]float64, 0, c.rows*c.cols)
			for r := range c.rows {
				p := float64(c.rows/2 - r)
				for k := range c.cols {
					sum := float32(0)
					for i := range c.dim / 2 {
						angle := p * math.Pow(c.base, -2*float64(i)/float64(c.dim))
						sum += float32(turns(angle)*weight(i, k)) + float32(math.Cos(angle)*weight(i+c.dim/2, k))
					}
					values = append(values, float64(sum))
				}
			}
			return Dense(c.rows, c.cols, values)
		}
		got, ok := ProjectedSinusoid(product(math.Sin), nil)
		if !ok || got.Dim != 0 {
			t.Errorf("%+v: %+v", c, got)
		}
		got, ok = ProjectedSinusoid(product(math.Sin), []int{2 * c.dim, 6, c.dim})
		if want := (Projected{Dim: c.dim, Base: 1e4, Residual: got.Residual}); !ok || got != want && c.base == 1e4 || got.Dim != 0 && c.base != 1e4 {
			t.Errorf("%+v: %+v", c, got)
		}
		if got, ok := ProjectedSinusoid(product(func(x float64) float64 { return math.Sin(3 * x) }), []int{c.dim}); ok {
			t.Errorf("%+v: turns of three radians are taken for a sinusoid: %+v", c, got)
		}
	}
	if _, ok := ProjectedSinusoid(Dense(8, 4, make([]float64, 32)), []int{4}); ok {
		t.Error("zeros are taken for a sinusoid")
	}
	if _, ok := ProjectedSinusoid(Dense(9, 1, []float64{1, 2, 3, 4, 5, 6, 7, 8, 9}), nil); ok {
		t.Error("few rows are taken for a sinusoid")
	}
}
