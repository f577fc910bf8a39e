package onnxpos

import (
	"math"
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/axes"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position/onnxpos/origin"
	"github.com/modelpatch/modelpatch/position/onnxpos/rows"
)

// sheet is a known value that meets the data as places by columns: a row of numbers for
// each place along the axes of positions.
type sheet struct {
	value   *eval.Value
	covers  []int // axes of the value that lie along positions
	places  []int // the first element of each place
	columns []int // elements of a row, from the first on
}

// newSheet reads a value along its axes of positions. An axis along which neither the
// numbers nor their origins differ (a batch) is no column; nil where nothing is left.
func newSheet(v *eval.Value, covers []int, of *origin.Map) *sheet {
	s := &sheet{value: v, covers: covers, places: []int{0}, columns: []int{0}}
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
		list := &s.columns
		switch {
		case slices.Contains(covers, d):
			list = &s.places
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

// matrix is the sheet's numbers.
func (s *sheet) matrix() rows.Matrix {
	out := make(rows.Matrix, len(s.places))
	for p, at := range s.places {
		out[p] = make([]float64, len(s.columns))
		for c, next := range s.columns {
			out[p][c] = s.value.Number(at + next)
		}
	}
	return out
}

// coordinates reports whether rows are points or boxes on a grid: four numbers at most,
// each of which follows one axis of the grid alone, or none.
func (s *sheet) coordinates(grid []int) bool {
	if len(s.columns) > fewColumns || len(s.places) != gridSize(grid) {
		return false
	}
	for _, c := range s.columns {
		follows, inner := 0, len(s.places)
		for _, n := range grid {
			inner /= n
			for p := range s.places {
				if p/inner%n > 0 && s.value.Number(s.places[p]+c) != s.value.Number(s.places[p-inner]+c) {
					follows++
					break
				}
			}
		}
		if follows > 1 {
			return false
		}
	}
	return true
}

// share is what a sheet takes from one constant: a row for each place, or for some.
type share struct {
	table   rows.Table
	row     []int // by place: the row of the table; −1: none of it
	columns int   // how many of the sheet's columns
	first   int   // the row of the first place that has one
	stores  bool  // whether the table can be given other rows through the map
}

// places are how many places of the sheet have a row of the share.
func (s *share) places() int {
	n := 0
	for _, r := range s.row {
		if r >= 0 {
			n++
		}
	}
	return n
}

// share reads rows off a map: nil where places do not select rows of the constant.
func (s *sheet) share(o *origin.Origin) *share {
	at := func(p, c int) int { return o.At[s.places[p]+s.columns[c]] }
	var columns, places []int
	for c := range s.columns {
		if slices.ContainsFunc(s.places, func(p int) bool { return o.At[p+s.columns[c]] >= 0 }) {
			columns = append(columns, c)
		}
	}
	if len(columns) == 0 {
		return nil
	}
	for p := range s.places {
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
	out := &share{row: make([]int, len(s.places)), columns: len(columns), stores: true}
	dims := o.Tensor.Dims
	byPlace := differing(dims, places, func(p int) int { return at(p, c0) })
	byColumn := differing(dims, columns, func(c int) int { return at(p0, c) })
	if slices.ContainsFunc(byPlace, func(d int) bool { return slices.Contains(byColumn, d) }) || len(byPlace) == 0 && len(places) > 1 {
		return nil
	}
	out.table = tableAlong(o, byPlace, byColumn)
	out.stores = len(byPlace) < 2 || len(byPlace) == 2 && byPlace[1] == byPlace[0]+1
	for p := range s.places {
		out.row[p] = -1
	}
	for _, p := range places {
		out.row[p] = rowOf(dims, byPlace, at(p, c0))
	}
	out.first = out.row[p0]
	return out
}

// shareByRow is share of a constant whose rows are made into those of the sheet.
func (s *sheet) shareByRow(o *origin.Origin) *share {
	out := &share{row: make([]int, len(s.places)), columns: len(s.columns), first: -1, stores: true, table: rows.Table{Tensor: o.Tensor, Axis: o.Axis}}
	differ := false
	for p, at := range s.places {
		out.row[p] = -1
		for _, c := range s.columns {
			switch row := o.At[at+c]; {
			case row < 0:
			case out.row[p] >= 0 && out.row[p] != row:
				return nil
			default:
				out.row[p] = row
			}
		}
		if out.first < 0 {
			out.first = out.row[p]
		}
		differ = differ || p > 0 && out.row[p] != out.row[p-1]
	}
	if !differ {
		return nil
	}
	return out
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
	if o.Tensor.Type.IsInteger() && o.Scale != nil {
		i := slices.IndexFunc(o.At, func(k int) bool { return k >= 0 })
		t.Scale = o.Scale[i]
		t.Zero = math.Round(-o.Zero[i] / o.Scale[i])
	}
	return t
}

// runsAlong are the runs of a sheet's places: those of its only axis, or each axis as one.
func runsAlong(x axes.Meeting, s *sheet) []axes.Run {
	if len(s.covers) == 1 {
		return axes.Runs(x.Along[0])
	}
	whole := axes.Run{Size: len(s.places)}
	for i := range s.covers {
		runs := axes.Runs(x.Along[i])
		if len(runs) > 1 || runs[0].Grid != nil || runs[0].Mixed || runs[0].Size != s.value.Shape[s.covers[i]] {
			return []axes.Run{{Size: len(s.places)}}
		}
		whole.Grid = append(whole.Grid, runs[0].Size)
	}
	return []axes.Run{whole}
}

// otherInput is the first input of a node beside the known numbers.
func otherInput(n *onnx.Node, known int) string {
	for i, name := range n.Inputs {
		if i != known && name != "" {
			return name
		}
	}
	return ""
}
