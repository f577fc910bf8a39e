package fit

import (
	"errors"
	"math"
	"strings"
	"testing"
)

// TestAnchors holds what numbers of places of three grids, or of one, become on others, against the formulas of detectors' public code.
func TestAnchors(t *testing.T) {
	logit := func(u float64) float64 { return math.Log(u / (1 - u)) }
	kept := func(u float64) float64 { return math.Log(u+1e-4) - math.Log1p(1e-4-u) }
	inside := func(u float64) bool { return u > 0.01 && u < 0.99 }
	x := func(_, column int, g [2]int) float64 { return (float64(column) + 0.5) / float64(g[1]) }
	y := func(row, _ int, g [2]int) float64 { return (float64(row) + 0.5) / float64(g[0]) }
	box := func(row, column int, g [2]int) bool { return inside(x(row, column, g)) && inside(y(row, column, g)) }
	small, large, wide := [][2]int{{8, 8}, {4, 4}, {2, 2}}, [][2]int{{12, 10}, {6, 5}, {3, 3}}, [][2]int{{80, 80}, {40, 40}, {20, 20}}
	wider := [][2]int{{100, 120}, {50, 60}, {25, 30}}
	for _, c := range []struct {
		name     string
		from, to [][2]int
		of       func(level, row, column int, g [2]int) float64
		want     string // of the error; "": none
	}{
		{"points in pixels", small, large, func(level, row, column int, _ [2]int) float64 {
			return (float64(column) + 0.5) * float64(int(8)<<level)
		}, ""},
		{"points in places", small, large, func(_, row, column int, _ [2]int) float64 { return float64(row) + 0.5 }, ""},
		{"places of one grid", small[:1], large[:1], func(_, row, column int, _ [2]int) float64 { return float64(row) }, ""},
		{"the last grid has one place", [][2]int{{4, 4}, {2, 2}, {1, 1}}, [][2]int{{8, 8}, {4, 4}, {2, 2}}, func(level, _, column int, _ [2]int) float64 { return (float64(column) + 0.5) * float64(int(8)<<level) }, ""},
		{"parts", small, large, func(_, row, column int, g [2]int) float64 { return x(row, column, g) }, ""},
		{"parts that are counted from 1", small, large, func(_, row, column int, g [2]int) float64 { return (float64(row) + 1) / float64(g[0]) }, ""},
		{"from −1 to 1", small, large, func(_, row, column int, g [2]int) float64 { return -1 + 2*float64(column)/float64(g[1]-1) }, ""},
		{"strides", small, large, func(level, _, _ int, _ [2]int) float64 { return float64(int(8) << level) }, ""},
		{"a stride that is the side", small[:1], large[:1], func(int, int, int, [2]int) float64 { return 8 }, "may be a stride"},
		{"strides of many pixels", [][2]int{{8, 8}, {4, 4}}, [][2]int{{12, 12}, {6, 6}}, func(level, _, _ int, _ [2]int) float64 { return float64(int(16) << level) }, ""},
		{"the side", [][2]int{{8, 8}, {5, 5}}, [][2]int{{12, 12}, {7, 7}}, func(_, _, _ int, g [2]int) float64 { return float64(g[1]) }, ""},
		{"a part of the side", [][2]int{{8, 9}, {4, 5}}, large[:2], func(_, _, _ int, g [2]int) float64 { return 1 / float64(g[1]) }, ""},
		{"a side that may be the other one", [][2]int{{8, 8}, {5, 5}}, large[:2], func(_, _, _ int, g [2]int) float64 { return float64(g[1]) }, "height and width"},
		{"sizes of boxes", small, large, func(level, _, _ int, _ [2]int) float64 { return logit(0.05 * float64(int(1)<<level)) }, ""},
		{"logits", small, large, func(_, row, column int, g [2]int) float64 { return logit(y(row, column, g)) }, ""},
		{"logits that are kept finite", small[:1], large[:1], func(_, _, column int, g [2]int) float64 { return kept(float64(column+1) / float64(g[1])) }, ""},
		{"logits of sizes that are kept finite", [][2]int{{8, 8}}, [][2]int{{12, 12}}, func(_, _, _ int, g [2]int) float64 { return kept(1 / float64(g[1])) }, ""},
		{"a logit that may be of either", [][2]int{{20, 20}}, [][2]int{{30, 30}}, func(_, _, _ int, g [2]int) float64 { return logit(0.05) }, "may be that of a box"},
		{"a mask that hides nothing", small, large, func(int, int, int, [2]int) float64 { return 1 }, ""},
		{"a mask", wide, wider, func(_, row, column int, g [2]int) float64 {
			if box(row, column, g) {
				return 1
			}
			return 0
		}, ""},
		{"logits, the largest number near the border", wide, wider, func(_, row, column int, g [2]int) float64 {
			if box(row, column, g) {
				return logit(x(row, column, g))
			}
			return math.MaxFloat32
		}, ""},
		{"parts, zero near the border", wide, wider, func(_, row, column int, g [2]int) float64 {
			if box(row, column, g) {
				return x(row, column, g)
			}
			return 0
		}, ""},
		{"logits that come near the border", small, wide, func(_, row, column int, g [2]int) float64 { return logit(x(row, column, g)) }, "where detectors hide them"},
		{"another margin", wide, wider, func(_, row, column int, g [2]int) float64 {
			if m := margin(g, row, column); m < 0.03 {
				return 0
			}
			return 1
		}, "whether those are hidden"},
		{"a number that no formula gives", small, large, func(_, row, column int, g [2]int) float64 { return float64(row * row) }, "no formula"},
	} {
		t.Run(c.name, func(t *testing.T) {
			numbers := func(grids [][2]int) (out []float64) {
				for level, g := range grids {
					for row := range g[0] {
						for column := range g[1] {
							out = append(out, float64(float32(c.of(level, row, column, g))))
						}
					}
				}
				return out
			}
			a, err := AnchorsOf(numbers(c.from), c.from, Float32)
			var got []float64
			if err == nil {
				got, err = a.At(c.to)
			}
			switch want := numbers(c.to); {
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("%v, want %q", err, c.want)
			case c.want != "":
			case err != nil:
				t.Error(err)
			default:
				for i := range want {
					if math.Abs(got[i]-want[i]) > 1e-6*max(1, math.Abs(want[i])) {
						t.Fatalf("place %d: %g, want %g", i, got[i], want[i])
					}
				}
			}
		})
	}
	halves := make([]float64, 0, 64) // logits as they stand in 16 bits
	for i := range 64 {
		halves = append(halves, Float16.Round(logit((float64(i%8)+0.5)/8)))
	}
	if a, err := AnchorsOf(halves, [][2]int{{8, 8}}, Float16); err != nil {
		t.Errorf("in float16: %v", err)
	} else if got, err := a.At([][2]int{{4, 4}}); err == nil && math.Abs(got[3]-logit(7.0/8)) > 1e-12 {
		t.Errorf("in float16: %v", got)
	}
	if _, err := AnchorsOf(halves, [][2]int{{8, 8}}, Float32); !errors.Is(err, ErrAnchors) {
		t.Errorf("numbers of 16 bits are read as those of 32: %v", err)
	}
	if _, err := AnchorsOf(make([]float64, 5), small, Float32); !errors.Is(err, ErrAnchors) {
		t.Errorf("%v of too few numbers", err)
	}
}
