package trace

import (
	"slices"
	"testing"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
)

// TestRowsOf reads rows along an axis, whichever axes of one place stand behind.
func TestRowsOf(t *testing.T) {
	for _, c := range []struct {
		shape []int
		axis  int
		want  [][]float64
	}{
		{[]int{2, 3}, 0, [][]float64{{0, 1, 2}, {3, 4, 5}}},
		{[]int{1, 2, 1, 3}, 1, [][]float64{{0, 1, 2}, {3, 4, 5}}},
		{[]int{2, 3, 1}, 0, [][]float64{{0, 1, 2}, {3, 4, 5}}}, // columns by positions, turned before they are transposed
		{[]int{2, 3, 1, 1}, 0, [][]float64{{0, 1, 2}, {3, 4, 5}}},
		{[]int{3, 1}, 0, [][]float64{{0}, {1}, {2}}},
		{[]int{2, 3, 1}, 1, [][]float64{{0}, {1}, {2}}},
	} {
		numbers := make([]float64, 6)
		for i := range numbers {
			numbers[i] = float64(i)
		}
		n := 1
		for _, d := range c.shape {
			n *= d
		}
		got := RowsOf(eval.FloatValue(onnx.Float, c.shape, numbers[:n]), c.axis)
		if !slices.EqualFunc(got, c.want, slices.Equal) {
			t.Errorf("%v along %d: %v, want %v", c.shape, c.axis, got, c.want)
		}
	}
}
