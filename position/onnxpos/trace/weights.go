package trace

import (
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
)

// BeforeWeights is the value of sines and cosines that the last product behind a value multiplies by weights; "" where there is none.
func BeforeWeights(s *eval.Scope, name string) string {
	waves := func(name string) bool {
		return slices.ContainsFunc(Sources(s, name), func(src Source) bool { return src.Trig != nil })
	}
	last := ""
	for range maxBeforeWeights {
		n, at := s.Find(name)
		if n == nil || at != s {
			break
		}
		of := slices.IndexFunc(n.Inputs, waves)
		if of < 0 {
			break
		}
		name = n.Input(of)
		if (eval.Is(n, eval.Product) || n.IsConvolution()) && len(s.Value(name).Shape) > 1 {
			last = name
		}
	}
	return last
}

// GridBeforeWeights are the rows that BeforeWeights names, one for each of so many places on a grid; nil where they are not known.
func GridBeforeWeights(s *eval.Scope, name string, places int) [][]float64 {
	v := s.Value(BeforeWeights(s, name))
	if places == 0 || v.Len()%places != 0 {
		return nil
	}
	return rowsByPlace(v, v.Len()/places)
}

// rowsByPlace are the rows of so many columns of which a value consists, wherever its axis of columns stands; nil where it has none, or is not known.
func rowsByPlace(v *eval.Value, columns int) [][]float64 {
	for axis := len(v.Shape) - 1; axis >= 0; axis-- {
		if v.Shape[axis] == columns {
			return rowsAlong(v, axis)
		}
	}
	return nil
}

// rowsAlong are the rows of a value whose columns stand along an axis; nil where it is not known.
func rowsAlong(v *eval.Value, axis int) [][]float64 {
	columns, inner := v.Shape[axis], onnx.Size(v.Shape[axis+1:])
	if !v.Known() || v.Floats == nil || columns == 0 {
		return nil
	}
	out := make([][]float64, v.Len()/columns)
	for p := range out {
		for c := range columns {
			out[p] = append(out[p], v.Floats[(p/inner*columns+c)*inner+p%inner])
		}
	}
	return out
}

// Level is one of several grids of sines and cosines.
type Level struct {
	Rows [][]float64
	Grid []int // its sizes, nil where they do not show
}

// Levels are the grids of sines and cosines that stand behind one another in a value, each without what is added to all of its places alike (Deformable
// DETR, Zhu et al. 2021, §A.2: a row for each level); nil where one is not known, or there is but one. row is where the elements of a place stand.
func Levels(s *eval.Scope, name string, row []int) (out []Level) {
	columns := len(row)
	if columns < 2 {
		return nil
	}
	waves := func(name string) bool {
		return slices.ContainsFunc(Sources(s, name), func(src Source) bool { return src.Trig != nil })
	}
	var walk func(name string, stride, left int) bool
	walk = func(name string, stride, left int) bool {
		n, at := s.Find(name)
		if n == nil || at != s || left == 0 || len(out) > maxLevels {
			return false
		}
		v := s.Value(name)
		axis := columnAxis(v.Shape, columns, stride)
		switch {
		case axis < 0:
			return false
		case n.Op == "Transpose":
			from := s.Input(n, 0).Shape
			if order := n.Ints("perm"); len(order) == len(from) && len(from) > axis {
				return walk(n.Input(0), onnx.Size(from[order[axis]+1:]), left-1)
			}
		case eval.Is(n, eval.Layout):
			if columnAxis(s.Input(n, 0).Shape, columns, stride) >= 0 {
				return walk(n.Input(0), stride, left-1)
			}
		case eval.Is(n, eval.Addition):
			of := slices.IndexFunc(n.Inputs, waves)
			return of >= 0 && walk(n.Input(of), stride, left-1)
		case eval.Is(n, eval.Joining) && n.Axis(0, len(v.Shape)) != axis:
			return !slices.ContainsFunc(n.Inputs, func(in string) bool {
				shape := s.Value(in).Shape
				return len(shape) <= axis || !walk(in, onnx.Size(shape[axis+1:]), left-1)
			})
		}
		level := Level{Rows: rowsAlong(v, axis)}
		for d, size := range v.Shape {
			if size > 1 && d != axis {
				level.Grid = append(level.Grid, size)
			}
		}
		if len(level.Grid) != 2 {
			level.Grid = nil
		}
		out = append(out, level)
		return level.Rows != nil
	}
	if !walk(name, row[1]-row[0], maxBeforeWeights) || len(out) < 2 {
		return nil
	}
	return out
}

// columnAxis is the axis of so many columns that are a stride apart; −1 where there is none.
func columnAxis(shape []int, columns, stride int) int {
	for axis, size := range shape {
		if size == columns && onnx.Size(shape[axis+1:]) == stride {
			return axis
		}
	}
	return -1
}

// maxLevels bounds the grids behind one another.
const maxLevels = 8

// maxBeforeWeights bounds the nodes between a value and sines and cosines that it is made of.
const maxBeforeWeights = 32
