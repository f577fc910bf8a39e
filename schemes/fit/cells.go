package fit

import (
	"math"
	"slices"
	"sort"
)

// CellsOf finds the place of a grid that each row of tables of cosines and sines belongs to, by their numbers alone: some columns turn by equal
// angles along each axis, and each place has one row. The rows may stand in any order, as those of patches that are merged
// two by two do (Qwen2-VL). order gives the row of each place, row of the grid after row; the axis whose place changes last from the first row on
// is the first. False where no rows and columns, or more axes, explain the numbers.
func CellsOf(cos, sin Matrix, p Precision) (grid, order []int, ok bool) {
	if cos == nil || sin == nil || cos.Rows() != sin.Rows() || cos.Cols() != sin.Cols() || cos.Rows() < 4 || cos.Rows() > maxCells {
		return nil, nil, false
	}
	if distinct(cos, sin, 0) > cos.Rows()/2+cos.Rows()/4 {
		return nil, nil, false // of a text
	}
	var axes [][]int // of each axis, the place of each row along it
	for k := range cos.Cols() {
		along := alongOf(cos, sin, p, k)
		if along != nil && !slices.ContainsFunc(axes, func(known []int) bool { return slices.Equal(known, along) }) {
			if axes = append(axes, along); len(axes) > mostAxes {
				return nil, nil, false
			}
		}
	}
	if len(axes) < 2 {
		return nil, nil, false
	}
	slices.SortStableFunc(axes, func(a, b []int) int { return firstMove(b) - firstMove(a) })
	places := 1
	for _, along := range axes {
		grid = append(grid, slices.Max(along)+1)
		places *= grid[len(grid)-1]
		if places > cos.Rows() {
			return nil, nil, false
		}
	}
	if places != cos.Rows() {
		return nil, nil, false
	}
	order = slices.Repeat([]int{-1}, places)
	for row := range places {
		cell := 0
		for axis, along := range axes {
			cell = cell*grid[axis] + along[row]
		}
		if order[cell] >= 0 {
			return nil, nil, false
		}
		order[cell] = row
	}
	return grid, order, true
}

// maxCells bounds the places whose order is looked for, 256 × 256: tables of more are those of texts.
const maxCells = 1 << 16

// mostAxes are time, rows and columns.
const mostAxes = 3

// distinct is how many rows of a column differ by more than the last digits of float32: of a grid at most one for two.
func distinct(cos, sin Matrix, k int) int {
	seen := map[[2]float64]bool{}
	for r := range cos.Rows() {
		seen[[2]float64{math.Round(cos.At(r, k) * 1e6), math.Round(sin.At(r, k) * 1e6)}] = true
	}
	return len(seen)
}

// firstMove is the first row that lies elsewhere along an axis than the first one.
func firstMove(along []int) int {
	return slices.IndexFunc(along, func(at int) bool { return at != along[0] })
}

// alongOf numbers the angles of a column, from the one nearest to that of the first row, where they are equally spaced over less than half a turn; nil
// where they are not.
func alongOf(cos, sin Matrix, p Precision, k int) []int {
	n, limit := cos.Rows(), axialError+2*entrySteps*p.Step()
	first := math.Atan2(sin.At(0, k), cos.At(0, k))
	angles, rows := make([]float64, n), make([]int, n)
	for r := range n {
		angles[r], rows[r] = wrap(math.Atan2(sin.At(r, k), cos.At(r, k))-first), r
		if math.IsNaN(angles[r]) {
			return nil
		}
	}
	sort.Slice(rows, func(i, j int) bool { return angles[rows[i]] < angles[rows[j]] })
	step := math.Inf(1)
	for i := 1; i < n; i++ {
		if d := angles[rows[i]] - angles[rows[i-1]]; d > limit {
			step = min(step, d)
		}
	}
	least, most := angles[rows[0]], angles[rows[n-1]]
	if math.IsInf(step, 1) {
		return nil
	}
	last := int(math.Round((most - least) / step))
	if most-least >= math.Pi || last > n/2 { // a column that may turn more than once round; one of a single axis
		return nil
	}
	step = (most - least) / float64(last)
	along := make([]int, n)
	backward := math.Abs(most) < math.Abs(least) // the column turns against the places
	for r := range n {
		at := (angles[r] - least) / step
		along[r] = int(math.Round(at))
		if math.Abs(at-math.Round(at))*step > limit {
			return nil
		}
		if backward {
			along[r] = last - along[r]
		}
	}
	return along
}
