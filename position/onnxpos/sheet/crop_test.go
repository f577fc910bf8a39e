package sheet

import (
	"testing"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/position/onnxpos/rows"
)

// partOf are the rows that places get which take h×w of a table from y and x on.
func partOf(table, first, size [2]int) *Share {
	s := &Share{Table: rows.Table{Tensor: &onnx.Tensor{Dims: []int64{int64(table[0] * table[1]), 8}}}}
	for y := range size[0] {
		for x := range size[1] {
			s.Row = append(s.Row, (first[0]+y)*table[1]+first[1]+x)
		}
	}
	return s
}

func TestCrop(t *testing.T) {
	for _, c := range []struct {
		table, first, size, to, want [2]int
		fails                        bool
	}{
		{table: [2]int{8, 8}, first: [2]int{2, 2}, size: [2]int{4, 4}, to: [2]int{6, 8}, want: [2]int{1, 0}}, // the middle
		{table: [2]int{8, 8}, size: [2]int{4, 4}, to: [2]int{6, 8}},                                          // the first
		{table: [2]int{9, 6}, first: [2]int{2, 1}, size: [2]int{4, 4}, to: [2]int{3, 4}, want: [2]int{3, 1}},
		{table: [2]int{8, 8}, first: [2]int{1, 2}, size: [2]int{4, 4}, to: [2]int{6, 6}, fails: true}, // elsewhere
		{table: [2]int{5, 5}, size: [2]int{4, 4}, to: [2]int{2, 2}, fails: true},                      // the first, and the middle
	} {
		was, ok := partOf(c.table, c.first, c.size).Crop(c.size[:], 0)
		if !ok || was.Table != c.table || was.First != c.first {
			t.Errorf("%+v: read as %+v, %t", c, was, ok)
			continue
		}
		is, ok := was.To(c.to)
		if ok == c.fails || ok && is.First != c.want {
			t.Errorf("%+v: %+v, %t", c, is, ok)
		}
	}
	if _, ok := partOf([2]int{4, 4}, [2]int{}, [2]int{4, 4}).Crop([]int{4, 4}, 0); ok {
		t.Error("all of a table is a part")
	}
}
