package rotary

import (
	"math"
	"testing"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/schemes"
)

// TestTurnsOf reads matrices of 4×4 that turn pairs of neighbours, or of elements half the width apart, by their place.
func TestTurnsOf(t *testing.T) {
	for layout, pair := range map[string][2][2]int{schemes.LayoutInterleaved: {{0, 1}, {2, 3}}, schemes.LayoutHalf: {{0, 2}, {1, 3}}} {
		x := make([]float64, 3*16)
		for p := range 3 {
			for i, at := range pair {
				s, c := math.Sincos(float64(p) / float64(1+9*i))
				a, b := at[0], at[1]
				x[16*p+5*a], x[16*p+5*b], x[16*p+4*a+b], x[16*p+4*b+a] = c, c, s, -s
			}
		}
		turns, ok := TurnsOf(eval.FloatValue(onnx.Float, []int{3, 4, 4}, x), 0)
		if !ok || turns.Layout != layout || turns.Cos.Rows() != 3 || math.Abs(turns.Sin.At(2, 1)-math.Sin(0.2)) > 1e-9 {
			t.Errorf("%s: %+v, %t", layout, turns, ok)
		}
		x[16] = 3
		if _, ok := TurnsOf(eval.FloatValue(onnx.Float, []int{3, 4, 4}, x), 0); ok {
			t.Errorf("%s: no rotation is read as one", layout)
		}
	}
}
