package sheet

import (
	"fmt"
	"slices"
	"testing"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/position/onnxpos/rows"
)

// ofTable is a share of a table of n rows of 8.
func ofTable(n int64, row ...int) *Share {
	return &Share{Row: row, Columns: 8, Stores: true, Table: rows.Table{Tensor: &onnx.Tensor{Dims: []int64{n, 8}}}}
}

func TestJoin(t *testing.T) {
	for _, c := range []struct {
		name   string
		shares []*Share
		rows   int // 0: no table
	}{
		{"two that follow", []*Share{ofTable(3, -1, -1, 0, 1, 2), ofTable(4, 2, 3, -1, -1, -1)}, 7},
		{"the first one not to its end", []*Share{ofTable(4, 1, 2, -1, -1), ofTable(2, -1, -1, 0, 1)}, 0},
		{"the second one not from its start", []*Share{ofTable(2, 0, 1, -1, -1), ofTable(4, -1, -1, 1, 2)}, 0},
		{"a place between", []*Share{ofTable(2, 0, 1, -1, -1, -1), ofTable(4, -1, -1, -1, 0, 1)}, 0},
		{"both at once", []*Share{ofTable(2, 0, 1, -1), ofTable(4, -1, 0, 1)}, 0},
		{"one", []*Share{ofTable(2, 0, 1)}, 0},
	} {
		whole := Join(c.shares)
		switch {
		case whole == nil && c.rows > 0, whole != nil && whole.Table.Len() != c.rows:
			t.Errorf("%s: %+v, want %d rows", c.name, whole, c.rows)
		case whole != nil && (!whole.Stores || whole.Row[4] != 6 || whole.Row[0] != 2):
			t.Errorf("%s: %+v", c.name, whole)
		}
	}
}

func TestJoinColumns(t *testing.T) {
	first, second := ofTable(5, 0, 1, 2), ofTable(5, 0, 1, 2)
	second.From = 8
	if whole := JoinColumns([]*Share{second, first}, 16); whole == nil || whole.Columns != 16 || whole.Table.Dim() != 16 || len(whole.Table.Parts()) != 2 || whole.Table.Tensor != first.Table.Tensor {
		t.Errorf("%+v", whole)
	}
	second.Row = []int{0, 0, 1}
	if JoinColumns([]*Share{first, second}, 16) != nil || JoinColumns([]*Share{first}, 8) != nil {
		t.Error("other rows, or one table")
	}
}

func TestCleared(t *testing.T) {
	m := rows.Matrix{{1}, {2}, {3}, {4}}
	if got := fmt.Sprint(Cleared(m, []bool{true, false, true})); got != "[[0] [2] [3] [0]]" || m[0][0] != 1 {
		t.Errorf("%s of %v", got, m)
	}
}

func TestTurns(t *testing.T) {
	fast, slow := ofTable(3, 0, 1, 2, 0, 1, 2), ofTable(2, 0, 0, 0, 1, 1, 1)
	if n, ok := fast.Turns(slow); n != 3 || !ok {
		t.Errorf("%d, %t", n, ok)
	}
	if _, ok := slow.Turns(fast); ok {
		t.Error("the other way round")
	}
	for i, s := range []*Share{slow, fast} {
		if axes := s.Sides([]int{2, 3}); !slices.Equal(axes, []int{i}) {
			t.Errorf("axes %d, not %d", axes, i)
		}
	}
	if axes := ofTable(6, 0, 1, 2, 3, 4, 5).Sides([]int{2, 3}); len(axes) != 2 || slices.Contains(fast.Row, 4) {
		t.Error("both axes")
	}
	if axes := ofTable(4, 0, 1, 2, 3, 0, 1, 2, 3).Sides([]int{2, 2, 2}); !slices.Equal(axes, []int{1, 2}) {
		t.Errorf("places of each of two frames: axes %d", axes)
	}
}
