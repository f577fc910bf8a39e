package fit

import (
	"math"
	"slices"
	"testing"

	"github.com/modelpatch/modelpatch/schemes"
)

func TestGridTables(t *testing.T) {
	for _, p := range []Precision{Float32, Float16, BFloat16} {
		for _, grid := range [][]int{{14, 14}, {7, 12}, {12, 7}} {
			for prefix := range 3 {
				for _, widthFirst := range []bool{false, true} {
					want := schemes.Sinusoid{Dim: 64, Base: 10000, Layout: schemes.LayoutSinCos, Denominator: schemes.DenominatorHalf,
						Rows: prefix + grid[0]*grid[1], Grid: grid, WidthFirst: widthFirst, Prefix: prefix}
					got, ok := GridTable(tableOf(want.Rows, 64, p, want.Table().Row), p)
					same := want.Equal(got.Sinusoid) || want.ColumnStep != 0 && want.String() == got.Sinusoid.String() // a part of a turn is no round number
					if !ok || !same || got.Different != 0 {
						t.Errorf("%s %v prefix %d: %v, %d differ", p, grid, prefix, got.Sinusoid, got.Different)
					}
				}
			}
		}
	}
	for name, want := range map[string]schemes.Sinusoid{
		"SimpleViT":          {Layout: schemes.LayoutSinCos, Denominator: schemes.DenominatorHalfMinusOne, WidthFirst: true},
		"in turns":           {Layout: schemes.LayoutInterleaved, Denominator: schemes.DenominatorHalf},
		"in turns from 1":    {Layout: schemes.LayoutInterleaved, Denominator: schemes.DenominatorHalf, Start: 1},
		"cosines first":      {Layout: schemes.LayoutCosSin, Denominator: schemes.DenominatorHalf, WidthFirst: true},
		"a cut out quarter":  {Layout: schemes.LayoutSinCos, Denominator: schemes.DenominatorHalf, WidthFirst: true, Step: 0.5, Start: 24},
		"a third apart":      {Layout: schemes.LayoutSinCos, Denominator: schemes.DenominatorHalf, Step: 1.0 / 3},
		"further apart":      {Layout: schemes.LayoutInterleavedCosSin, Denominator: schemes.DenominatorHalf, Step: 2, Start: -7},
		"a turn an axis":     {Layout: schemes.LayoutInterleaved, Denominator: schemes.DenominatorHalf, Step: math.Pi / 2, Start: math.Pi / 2, ColumnStep: math.Pi / 8, ColumnStart: math.Pi / 8},
		"a turn, x first":    {Layout: schemes.LayoutSinCos, Denominator: schemes.DenominatorHalf, Step: math.Pi / 2, Start: math.Pi / 2, ColumnStep: math.Pi / 8, ColumnStart: math.Pi / 8, WidthFirst: true},
		"base 100, less one": {Layout: schemes.LayoutSinCos, Denominator: schemes.DenominatorHalfMinusOne, Base: 100},
	} {
		want.Dim, want.Grid, want.Rows = 64, []int{8, 8}, 64
		if want.ColumnStep != 0 {
			want.Grid = []int{4, 16}
		}
		if want.Base == 0 {
			want.Base = 10000
		}
		got, ok := GridTable(tableOf(64, 64, Float32, want.Table().Row), Float32)
		same := want.Equal(got.Sinusoid) || want.ColumnStep != 0 && want.String() == got.Sinusoid.String() // a part of a turn is no round number
		if !ok || !same || got.Sinusoid.Base != want.Base || got.Sinusoid.Denominator != want.Denominator || math.Abs(got.Sinusoid.Start-want.Start) > 1e-6 {
			t.Errorf("%s: %v, %v", name, got.Sinusoid, ok)
		}
	}
	plain := schemes.Sinusoid{Dim: 64, Base: 10000, Layout: schemes.LayoutSinCos, Denominator: schemes.DenominatorHalf}
	if got, ok := GridTable(tableOf(64, 64, Float32, plain.Table().Row), Float32); ok {
		t.Errorf("a table of one axis passes as %v", got.Sinusoid)
	}
	learned := tableOf(50, 64, Float32, func(r int, dst []float64) {
		for c := range dst {
			dst[c] = float64((r*7919+c*104729)%1009-504) / 512
		}
	})
	if _, ok := GridTable(learned, Float32); ok || !slices.Equal(grids(12)[0], []int{3, 4}) {
		t.Error("a learned table passes")
	}
}
