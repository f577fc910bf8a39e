package rows

import (
	"slices"
	"testing"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/schemes/fit"
)

// TestSpread puts the cosines and sines of two pairs into the columns of a row, in one table or in two,
// each once or twice.
func TestSpread(t *testing.T) {
	one, other := &onnx.Tensor{}, &onnx.Tensor{}
	for _, c := range []struct {
		packed, columns string
		want            []float64
	}{
		{"", fit.ColumnsHalf, []float64{1, 2}},
		{"", fit.ColumnsHalfDuplicated, []float64{1, 2, 1, 2}},
		{"", fit.ColumnsInterleavedDuplicated, []float64{1, 1, 2, 2}},
		{fit.PackedCosSin, fit.ColumnsHalf, []float64{1, 2, 3, 4}},
		{fit.PackedSinCos, fit.ColumnsHalf, []float64{3, 4, 1, 2}},
		{fit.PackedCosSinTurns, fit.ColumnsHalf, []float64{1, 3, 2, 4}},
		{fit.PackedCosSin, fit.ColumnsHalfDuplicated, []float64{1, 2, 1, 2, 3, 4, 3, 4}},
		{fit.PackedSinCos, fit.ColumnsInterleavedDuplicated, []float64{3, 3, 4, 4, 1, 1, 2, 2}},
	} {
		cache := Cache{Cos: Table{Tensor: one}, Sin: Table{Tensor: other}}
		if c.packed != "" {
			cache.Sin.Tensor = one
		}
		cache.Result.Packed, cache.Result.Columns = c.packed, c.columns
		got := make([]float64, len(c.want))
		cache.Spread([]float64{1, 2}, []float64{3, 4}, false, got)
		if !slices.Equal(got, c.want) {
			t.Errorf("%q, %q: %v, want %v", c.packed, c.columns, got, c.want)
		}
	}
}
