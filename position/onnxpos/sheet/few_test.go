package sheet

import (
	"testing"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
)

// TestFew: columns that come again are one; more than a few that differ are none.
func TestFew(t *testing.T) {
	for name, c := range map[string]struct {
		row  func(place, column int) float64
		want int
	}{
		"coordinates for each level": {func(p, c int) float64 { return float64(p*p*(c%2) + p) }, 2},
		"all alike":                  {func(p, c int) float64 { return float64(p) }, 1},
		"rows":                       {func(p, c int) float64 { return float64(p * c) }, 0},
	} {
		s := &Sheet{Places: []int{0, 8, 16}, Columns: []int{0, 1, 2, 3, 4, 5, 6, 7}}
		numbers := make([]float64, 24)
		for i := range numbers {
			numbers[i] = c.row(i/8, i%8)
		}
		s.Value = eval.FloatValue(onnx.Float, []int{3, 8}, numbers)
		if m := s.Few(); m == nil && c.want != 0 || m != nil && m.Cols() != c.want {
			t.Errorf("%s: %v", name, m)
		}
	}
}
