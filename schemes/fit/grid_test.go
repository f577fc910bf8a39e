package fit

import (
	"math"
	"slices"
	"testing"

	"github.com/modelpatch/modelpatch/schemes"
)

// axesInOrder are halves of columns for rows and columns of a grid, the last axis first or not.
func axesInOrder(dim int, widthFirst bool) [][]int {
	out := make([][]int, 2)
	for c := range dim {
		axis := c / (dim / 2)
		if widthFirst {
			axis = 1 - axis
		}
		out[axis] = append(out[axis], c)
	}
	return out
}

func TestGridTables(t *testing.T) {
	for _, p := range []Precision{Float32, Float16, BFloat16} {
		for _, grid := range [][]int{{14, 14}, {7, 12}, {12, 7}} {
			for prefix := range 3 {
				for _, widthFirst := range []bool{false, true} {
					want := schemes.Sinusoid{Dim: 64, Base: 10000, Layout: schemes.LayoutSinCos, Denominator: schemes.DenominatorHalf,
						Rows: prefix + grid[0]*grid[1], Grid: grid, AxisColumns: axesInOrder(64, widthFirst), Prefix: prefix}
					got, ok := GridTable(tableOf(want.Rows, 64, p, want.Table().Row), p, nil)
					same := want.Equal(got.Sinusoid) || want.ColumnStep != 0 && want.String() == got.Sinusoid.String() // a part of a turn is no round number
					if !ok || !same || got.Different != 0 {
						t.Errorf("%s %v prefix %d: %v, %d differ", p, grid, prefix, got.Sinusoid, got.Different)
					}
				}
			}
		}
	}
	for name, want := range map[string]schemes.Sinusoid{
		"SimpleViT":          {Layout: schemes.LayoutSinCos, Denominator: schemes.DenominatorHalfMinusOne, AxisColumns: axesInOrder(64, true)},
		"in turns":           {Layout: schemes.LayoutInterleaved, Denominator: schemes.DenominatorHalf},
		"in turns from 1":    {Layout: schemes.LayoutInterleaved, Denominator: schemes.DenominatorHalf, Start: 1},
		"cosines first":      {Layout: schemes.LayoutCosSin, Denominator: schemes.DenominatorHalf, AxisColumns: axesInOrder(64, true)},
		"a cut out quarter":  {Layout: schemes.LayoutSinCos, Denominator: schemes.DenominatorHalf, AxisColumns: axesInOrder(64, true), Step: 0.5, Start: 24},
		"a third apart":      {Layout: schemes.LayoutSinCos, Denominator: schemes.DenominatorHalf, Step: 1.0 / 3},
		"further apart":      {Layout: schemes.LayoutInterleavedCosSin, Denominator: schemes.DenominatorHalf, Step: 2, Start: -7},
		"a turn an axis":     {Layout: schemes.LayoutInterleaved, Denominator: schemes.DenominatorHalf, Step: math.Pi / 2, Start: math.Pi / 2, ColumnStep: math.Pi / 8, ColumnStart: math.Pi / 8},
		"a turn, x first":    {Layout: schemes.LayoutSinCos, Denominator: schemes.DenominatorHalf, Step: math.Pi / 2, Start: math.Pi / 2, ColumnStep: math.Pi / 8, ColumnStart: math.Pi / 8, AxisColumns: axesInOrder(64, true)},
		"base 100, less one": {Layout: schemes.LayoutSinCos, Denominator: schemes.DenominatorHalfMinusOne, Base: 100},
	} {
		want.Dim, want.Grid, want.Rows = 64, []int{8, 8}, 64
		if want.ColumnStep != 0 {
			want.Grid = []int{4, 16}
		}
		if want.Base == 0 {
			want.Base = 10000
		}
		got, ok := GridTable(tableOf(64, 64, Float32, want.Table().Row), Float32, nil)
		same := want.Equal(got.Sinusoid) || want.ColumnStep != 0 && want.String() == got.Sinusoid.String() // a part of a turn is no round number
		if !ok || !same || got.Sinusoid.Base != want.Base || got.Sinusoid.Denominator != want.Denominator || math.Abs(got.Sinusoid.Start-want.Start) > 1e-6 {
			t.Errorf("%s: %v, %v", name, got.Sinusoid, ok)
		}
	}
	cut := schemes.Sinusoid{Dim: 32, Base: 10000, Layout: schemes.LayoutSinCos, Denominator: schemes.DenominatorHalf, AxisColumns: axesInOrder(32, true), Grid: []int{4, 4}, Rows: 16, Step: 1.0 / 3, Start: 4.0 / 3}
	if got, ok := GridTable(tableOf(16, 32, Float16, cut.Table().Row), Float16, nil); !ok || math.Abs(got.Sinusoid.Start-cut.Start) > 1e-6 {
		t.Errorf("cut out, in 16 bits: %v, %v", got.Sinusoid, ok)
	}
	plain := schemes.Sinusoid{Dim: 64, Base: 10000, Layout: schemes.LayoutSinCos, Denominator: schemes.DenominatorHalf}
	if got, ok := GridTable(tableOf(64, 64, Float32, plain.Table().Row), Float32, nil); ok {
		t.Errorf("a table of one axis passes as %v", got.Sinusoid)
	}
	learned := tableOf(50, 64, Float32, func(r int, dst []float64) {
		for c := range dst {
			dst[c] = float64((r*7919+c*104729)%1009-504) / 512
		}
	})
	if _, ok := GridTable(learned, Float32, nil); ok || !slices.Equal(grids(12)[0], []int{3, 4}) {
		t.Error("a learned table passes")
	}
}

// TestAxesInAnyColumns: time and space, axes in any order, columns of axes by turns, zeros behind, a
// longer share for space.
func TestAxesInAnyColumns(t *testing.T) {
	inTurns := [][]int{nil, nil}
	for c := range 32 {
		inTurns[c/2%2] = append(inTurns[c/2%2], c)
	}
	runs := func(order []int, lengths ...int) [][]int {
		out, at := make([][]int, len(lengths)), 0
		for i, axis := range order {
			for range lengths[i] {
				out[axis] = append(out[axis], at)
				at++
			}
		}
		return out
	}
	for name, want := range map[string]schemes.Sinusoid{
		"by turns":         {Dim: 32, Grid: []int{4, 5}, AxisColumns: inTurns, Layout: schemes.LayoutInterleaved, Start: 1},
		"a volume":         {Dim: 36, Grid: []int{4, 3, 5}, AxisColumns: runs([]int{1, 0, 2}, 12, 12, 12), Layout: schemes.LayoutSinCos},
		"last first, less": {Dim: 48, Grid: []int{2, 4, 4}, AxisColumns: runs([]int{2, 1, 0}, 16, 16, 16), Layout: schemes.LayoutSinCos, Denominator: schemes.DenominatorHalfMinusOne},
		"zeros behind":     {Dim: 40, Grid: []int{3, 4, 5}, AxisColumns: runs([]int{0, 1, 2}, 12, 12, 12), Layout: schemes.LayoutSinCos},
		"time and space":   {Dim: 64, Grid: []int{3, 4, 5}, AxisColumns: runs([]int{0, 1, 2}, 16, 24, 24), Layout: schemes.LayoutSinCos, ColumnStep: 1 / 1.875},
		"a quarter":        {Dim: 64, Grid: []int{3, 4, 5}, AxisColumns: runs([]int{0, 1, 2}, 16, 24, 24), Layout: schemes.LayoutSinCos},
	} {
		want.Base, want.Rows = 10000, 1
		if name == "time and space" {
			want.Step = 1
		}
		if want.Denominator == "" {
			want.Denominator = schemes.DenominatorHalf
		}
		for _, n := range want.Grid {
			want.Rows *= n
		}
		got, ok := GridTable(tableOf(want.Rows, want.Dim, Float32, want.Table().Row), Float32, want.Grid)
		if !ok || !want.Equal(got.Sinusoid) || got.Different != 0 {
			t.Errorf("%s: %v of axes %v, %d differ", name, got.Sinusoid, got.Sinusoid.AxisColumns, got.Different)
		}
	}
}
