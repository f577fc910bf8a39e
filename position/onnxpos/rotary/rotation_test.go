package rotary

import (
	"testing"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
)

// TestDoubling tells how columns repeat, whatever the signs of the sines of a pair.
func TestDoubling(t *testing.T) {
	for _, c := range []struct {
		name        string
		row         []float64
		half, pairs bool
	}{
		{"two halves", []float64{0.1, 0.2, 0.1, 0.2}, true, false},
		{"two halves, the first with the other sign", []float64{-0.1, -0.2, 0.1, 0.2}, true, false},
		{"pairs", []float64{0.1, 0.1, 0.2, 0.2}, false, true},
		{"pairs, the first of each with the other sign", []float64{-0.1, 0.1, -0.2, 0.2}, false, true},
		{"no column twice", []float64{0.1, 0.2, 0.3, 0.4}, false, false},
	} {
		v := eval.FloatValue(onnx.Float, []int{2, 4}, append([]float64{0, 0, 0, 0}, c.row...))
		if d := doublingOf(v); d.half != c.half || d.pairs != c.pairs {
			t.Errorf("%s: halves %v, pairs %v", c.name, d.half, d.pairs)
		}
	}
}
