// Package sheet reads a value that meets the data as rows of numbers by place: which of its
// elements stand for a place along the axes of positions, which for a column, and which rows
// of a stored constant the places get.
package sheet

import (
	"slices"

	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position/onnxpos/origin"
	"github.com/modelpatch/modelpatch/position/onnxpos/rows"
)

// Sheet is a known value that meets the data as places by columns: a row of numbers for
// each place along the axes of positions.
type Sheet struct {
	Value   *eval.Value
	Covers  []int // axes of the value that lie along positions
	Places  []int // the first element of each place
	Columns []int // elements of a row, from the first on
}

// New reads a value along its axes of positions. An axis along which neither the
// numbers nor their origins differ (a batch) is no column; nil where nothing is left.
func New(v *eval.Value, covers []int, of *origin.Map) *Sheet {
	s := &Sheet{Value: v, Covers: covers, Places: []int{0}, Columns: []int{0}}
	stride := make([]int, len(v.Shape))
	n := 1
	for d := len(v.Shape) - 1; d >= 0; d-- {
		stride[d] = n
		n *= v.Shape[d]
	}
	if n == 0 {
		return nil
	}
	for d, size := range v.Shape {
		list := &s.Columns
		switch {
		case slices.Contains(covers, d):
			list = &s.Places
		case size < 2 || !v.Varies(d) && !slices.ContainsFunc(of.Of, func(o *origin.Origin) bool { return o.Varies(v.Shape, d) }):
			continue
		}
		*list = product(*list, size, stride[d])
	}
	return s
}

// product are offsets along one axis more.
func product(offsets []int, size, stride int) []int {
	out := make([]int, 0, len(offsets)*size)
	for _, at := range offsets {
		for i := range size {
			out = append(out, at+i*stride)
		}
	}
	return out
}

// Matrix is the sheet's numbers.
func (s *Sheet) Matrix() rows.Matrix {
	out := make(rows.Matrix, len(s.Places))
	for p, at := range s.Places {
		out[p] = make([]float64, len(s.Columns))
		for c, next := range s.Columns {
			out[p][c] = s.Value.Number(at + next)
		}
	}
	return out
}

// Share is what a sheet takes from one constant: a row for each place, or for some.
type Share struct {
	Table   rows.Table
	Row     []int // by place: the row of the table; −1: none of it
	Columns int   // how many of the sheet's columns
	From    int   // the first of them
	First   int   // the row of the first place that has one
	Stores  bool  // whether the table can be given other rows through the map
	Scaled  bool  // a constant beside it has a number for each row, by which the graph scales it
}

// Tile is the height and width of a table that is laid out again and again over a grid of places behind a prefix; nil where it is not.
func (s *Share) Tile(prefix int, grid [2]int) []int {
	row, n := s.Row[prefix:], s.Table.Len()
	for width := 1; width <= min(grid[1], n); width++ {
		height := n / width
		if height*width != n || n == grid[0]*grid[1] || grid[1]%width != 0 || grid[0]%height != 0 {
			continue
		}
		tiled := len(row) >= grid[0]*grid[1]
		for p := range grid[0] * grid[1] {
			tiled = tiled && row[p] == p/grid[1]%height*width+p%grid[1]%width
		}
		if tiled {
			return []int{height, width}
		}
	}
	return nil
}

// Places are how many places of the sheet have a row of the share.
func (s *Share) Places() int {
	n := 0
	for _, r := range s.Row {
		if r >= 0 {
			n++
		}
	}
	return n
}

// Every is how many places behind one another take each row: 1 where every place has the one behind that of the place ahead.
func (s *Share) Every() int {
	row := s.Row
	n := 1
	for n < len(row) && row[n] == row[0] {
		n++
	}
	for p := range row {
		if row[p] < 0 || row[p] != row[0]+p/n {
			return 1
		}
	}
	if n == len(row) {
		return 1
	}
	return n
}

// Falls reports whether each place has the row before that of the one ahead of it.
func (s *Share) Falls() bool {
	for p, row := range s.Row {
		if row != s.Row[0]-p || row < 0 {
			return false
		}
	}
	return len(s.Row) > 1
}

// Starts reports whether places take all rows of the table, and then those from the first one on again.
func (s *Share) Starts(row []int) bool {
	n := s.Table.Len()
	for p := range row {
		if row[p] < 0 || row[p] != (row[0]+p)%n {
			return false
		}
	}
	return len(row) > n
}

// Share reads rows off a map: nil where places do not select rows of the constant.
func (s *Sheet) Share(o *origin.Origin) *Share {
	at := func(p, c int) int { return o.At[s.Places[p]+s.Columns[c]] }
	var columns, places []int
	for c := range s.Columns {
		if slices.ContainsFunc(s.Places, func(p int) bool { return o.At[p+s.Columns[c]] >= 0 }) {
			columns = append(columns, c)
		}
	}
	if len(columns) == 0 {
		return nil
	}
	for p := range s.Places {
		if at(p, columns[0]) >= 0 {
			places = append(places, p)
		}
	}
	if len(places) == 0 {
		return nil
	}
	p0, c0 := places[0], columns[0]
	base := at(p0, c0)
	for _, p := range places {
		for _, c := range columns {
			if at(p, c) < 0 || at(p, c)-at(p, c0) != at(p0, c)-base {
				return nil
			}
		}
	}
	out := &Share{Row: make([]int, len(s.Places)), Columns: len(columns), From: columns[0], Stores: true}
	dims := o.Tensor.Dims
	byPlace := differing(dims, places, func(p int) int { return at(p, c0) })
	byColumn := differing(dims, columns, func(c int) int { return at(p0, c) })
	if slices.ContainsFunc(byPlace, func(d int) bool { return slices.Contains(byColumn, d) }) || len(byPlace) == 0 && len(places) > 1 {
		return nil
	}
	out.Table = tableAlong(o, byPlace, byColumn)
	out.Stores = len(byPlace) < 2 || len(byPlace) == 2 && byPlace[1] == byPlace[0]+1
	for p := range s.Places {
		out.Row[p] = -1
	}
	for _, p := range places {
		out.Row[p] = rowOf(dims, byPlace, at(p, c0))
	}
	out.First = out.Row[p0]
	return out
}

// ShareByRow is Share of a constant whose rows are made into those of the sheet.
func (s *Sheet) ShareByRow(o *origin.Origin) *Share {
	out := &Share{Row: make([]int, len(s.Places)), Columns: len(s.Columns), First: -1, Stores: true, Table: rows.Table{Tensor: o.Tensor, Axis: o.Axis}}
	differ := false
	for p, at := range s.Places {
		out.Row[p] = -1
		for _, c := range s.Columns {
			switch row := o.At[at+c]; {
			case row < 0:
			case out.Row[p] >= 0 && out.Row[p] != row:
				return nil
			default:
				out.Row[p] = row
			}
		}
		if out.First < 0 {
			out.First = out.Row[p]
		}
		differ = differ || p > 0 && out.Row[p] != out.Row[p-1]
	}
	if !differ {
		return nil
	}
	return out
}

// ShareBetween is Share of a constant between whose rows those of the sheet lie, each column between numbers of one column: of a table of rows, or of
// the places of a grid. nil where that is not so.
func (s *Sheet) ShareBetween(o *origin.Origin) *Share {
	dims, k := o.Tensor.Dims, len(o.Tensor.Dims)
	if !o.Between || dims[o.Axis] != int64(len(s.Columns)) || k < 2 {
		return nil
	}
	for _, at := range s.Places {
		for c, next := range s.Columns {
			if o.At[at+next] != c {
				return nil
			}
		}
	}
	table := rows.Table{Tensor: o.Tensor, Axis: k - 2}
	if k > 2 && dims[k-3] > 1 || o.Axis != k-1 {
		grid := [2]int{int(dims[max(k-3, 0)]), int(dims[k-2])}
		if o.Axis == k-3 {
			grid = [2]int{int(dims[k-2]), int(dims[k-1])}
		}
		var ok bool
		if table, ok = rows.OfGrid(o.Tensor, len(s.Columns), grid); !ok {
			return nil
		}
	}
	return &Share{Table: table, Columns: len(s.Columns)}
}

// differing are the dimensions of a constant along which the elements that are selected
// lie apart.
func differing(dims []int64, of []int, at func(int) int) []int {
	var out []int
	stride := 1
	for d := len(dims) - 1; d >= 0; d-- {
		n := int(dims[d])
		if n > 1 {
			place := func(i int) int { return at(i) / stride % n }
			if first := place(of[0]); slices.ContainsFunc(of, func(i int) bool { return place(i) != first }) {
				out = append([]int{d}, out...)
			}
		}
		stride *= max(n, 1)
	}
	return out
}

// rowOf is the row of an element along dimensions of a constant.
func rowOf(dims []int64, along []int, element int) int {
	row, scale, stride := 0, 1, 1
	for d := len(dims) - 1; d >= 0; d-- {
		n := max(int(dims[d]), 1)
		if slices.Contains(along, d) {
			row += element / stride % n * scale
			scale *= n
		}
		stride *= n
	}
	return row
}

// tableAlong reads a constant as rows along dimensions: those of a single row are all that
// are not its columns.
func tableAlong(o *origin.Origin, along, columns []int) rows.Table {
	t := rows.Table{Tensor: o.Tensor}
	switch {
	case len(along) > 0:
		t.Axis = along[0]
	default:
		for d := range o.Tensor.Dims {
			if !slices.Contains(columns, d) {
				t.Axis = d
				break
			}
		}
	}
	if len(along) == 2 && along[1] == along[0]+1 {
		t.Planar, t.Grid = true, [2]int{int(o.Tensor.Dims[along[0]]), int(o.Tensor.Dims[along[1]])}
	}
	t.Scale, t.Zero, t.Uneven = o.Quantised()
	return t
}

// size is the number of places of a grid.
func size(grid []int) int {
	n := 1
	for _, d := range grid {
		n *= d
	}
	return n
}

// Few are the columns that differ from each other, as a matrix; nil where there are more than FewColumns.
func (s *Sheet) Few() rows.Matrix {
	var columns []int
	for _, c := range s.Columns {
		if slices.ContainsFunc(columns, func(other int) bool {
			return !slices.ContainsFunc(s.Places, func(at int) bool { return s.Value.Number(at+c) != s.Value.Number(at+other) })
		}) {
			continue
		}
		if columns = append(columns, c); len(columns) > FewColumns {
			return nil
		}
	}
	few := *s
	few.Columns = columns
	return few.Matrix()
}

// FewColumns is how many columns rows have at least that encode positions: fewer are
// coordinates of points, or weights.
const FewColumns = 4
