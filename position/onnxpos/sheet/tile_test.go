package sheet

import (
	"slices"
	"testing"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/position/onnxpos/rows"
)

// TestTile tells tables that are laid out again and again from others.
func TestTile(t *testing.T) {
	laid := func(height, width, rows, columns int) (out []int) {
		for p := range rows * columns {
			out = append(out, p/columns%height*width+p%columns%width)
		}
		return out
	}
	for _, c := range []struct {
		name   string
		row    []int
		prefix int
		rows   int64
		want   []int
	}{
		{"windows", laid(2, 3, 4, 6), 0, 6, []int{2, 3}},
		{"behind a class token", append([]int{-1}, laid(2, 3, 4, 6)...), 1, 6, []int{2, 3}},
		{"a row for each place", laid(4, 6, 4, 6), 0, 24, nil},
		{"rows that begin anew in the middle of a line", laid(1, 24, 4, 6), 0, 5, nil},
		{"too few", laid(2, 3, 2, 3), 0, 6, nil},
	} {
		s := &Share{Row: c.row, Table: rows.Table{Tensor: &onnx.Tensor{Dims: []int64{c.rows, 8}}}}
		if got := s.Tile(c.prefix, [2]int{4, 6}); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
