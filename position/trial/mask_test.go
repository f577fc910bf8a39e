package trial_test

import (
	"math"
	"testing"

	"github.com/modelpatch/modelpatch/position/trial"
)

// TestMaskOf: a mask is far below what it is added to, however low biases are.
func TestMaskOf(t *testing.T) {
	low := math.Inf(-1)
	var steep, masked []float64
	for d := range 8192 {
		steep = append(steep, -0.9*float64(d))
		masked = append(masked, -0.9*float64(d), -3.4e38-0.9*float64(d))
	}
	for _, c := range []struct {
		name string
		bias []float64
		want float64
	}{
		{"nothing", nil, low},
		{"no mask", []float64{0, -1, 20}, low},
		{"minus infinity", []float64{0, low, -3}, low},
		{"ten thousand", []float64{0, -1e4, -10003, -2}, -1e4},
		{"the lowest of float16", []float64{-1, -65504, low}, -65504},
		{"a steep slope", steep, low},
		{"a steep slope under a mask", masked, -3.4e38},
	} {
		if got := trial.MaskOf(c.bias); got != c.want {
			t.Errorf("%s: %g, want %g", c.name, got, c.want)
		}
	}
}
