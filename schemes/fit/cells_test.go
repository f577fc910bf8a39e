package fit

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestCellsOf gives tables of places in several orders, and holds that each row is found at its place.
func TestCellsOf(t *testing.T) {
	rowAfterRow := func(grid []int) (out [][]int) {
		place := make([]int, len(grid))
		for {
			out = append(out, slices.Clone(place))
			axis := len(grid) - 1
			for ; axis >= 0; axis-- {
				if place[axis]++; place[axis] < grid[axis] {
					break
				}
				place[axis] = 0
			}
			if axis < 0 {
				return out
			}
		}
	}
	merged := func(height, width, by int) (out [][]int) { // the order of patches that are merged by squares
		for y := 0; y < height; y += by {
			for x := 0; x < width; x += by {
				for i := range by * by {
					out = append(out, []int{y + i/by, x + i%by})
				}
			}
		}
		return out
	}
	random := rand.New(rand.NewPCG(1, 2))
	shuffled := rowAfterRow([]int{5, 7})
	random.Shuffle(len(shuffled)-1, func(i, j int) { shuffled[i+1], shuffled[j+1] = shuffled[j+1], shuffled[i+1] })
	for _, c := range []struct {
		name   string
		places [][]int
		grid   []int // nil: none
	}{
		{"row after row", rowAfterRow([]int{4, 6}), []int{4, 6}},
		{"two by two", merged(4, 6, 2), []int{4, 6}},
		{"two by two, as many rows as columns", merged(64, 64, 2), []int{64, 64}},
		{"four by four", merged(16, 8, 4), []int{16, 8}},
		{"frames", rowAfterRow([]int{3, 4, 6}), []int{3, 4, 6}},
		{"any order, from the first place on", shuffled, []int{5, 7}},
		{"one axis", rowAfterRow([]int{24}), nil},
		{"a place twice", append(rowAfterRow([]int{4, 6})[:23], []int{0, 0}), nil},
		{"a place too few", rowAfterRow([]int{4, 6})[:23], nil},
		{"text behind a picture", append(rowAfterRow([]int{4, 4}), []int{4, 4}, []int{5, 5}, []int{6, 6}, []int{7, 7}), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			columns := 10*len(c.places[0]) + 1
			angle := func(r, k int) float64 {
				if k == columns-1 { // turns more than once round, to as many places
					return float64(c.places[r][len(c.places[r])-1]) * 4 * math.Pi / 5
				}
				return float64(c.places[r][k/10]) * math.Pow(10000, -float64(k%10)/10)
			}
			grid, order, ok := CellsOf(Func(len(c.places), columns, func(r, k int) float64 { return float64(float32(math.Cos(angle(r, k)))) }),
				Func(len(c.places), columns, func(r, k int) float64 { return float64(float32(math.Sin(angle(r, k)))) }), Float32)
			if ok != (c.grid != nil) || ok && !slices.Equal(grid, c.grid) {
				t.Fatalf("%v, %v, want %v", grid, ok, c.grid)
			}
			if !ok {
				return
			}
			for cell, want := range rowAfterRow(grid) {
				if got := c.places[order[cell]]; !slices.Equal(got, want) {
					t.Fatalf("place %v is told to be in row %d, which is of %v", want, order[cell], got)
				}
			}
		})
	}
}
