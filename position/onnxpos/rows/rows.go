// Package rows reads and stores constants of an ONNX file as rows: a Table has one
// row a position, a Cache is a pair of tables of cosines and sines, and an Editor
// records other content for them, computed when it is written. Rows are float64
// here and rounded once, to the storage type; a value that it does not hold
// refuses the change.
package rows

import (
	"fmt"
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/schemes/fit"
)

// Table reads a constant as rows along one axis, or along two: the rows
// and columns of an image. The axes on both sides are the columns, the outer
// ones first.
type Table struct {
	Tensor *onnx.Tensor
	Axis   int     // along which the rows stand
	Planar bool    // positions run along axis and the next
	Grid   [2]int  // of the rows to be stored, where planar
	Scale  float64 // of a quantised table; 0: not quantised
	Zero   float64 // its zero point: a value is (stored − Zero) · Scale
	// Columns are those of a row that are the table's, where others hold other numbers; nil: all.
	Columns []int
	// Stacked tells that the second half of each row stands behind the first halves of all: cosines over sines.
	Stacked bool
	// Uneven tells of a quantised table that its scale holds for some elements alone: others have their own.
	Uneven bool
	// Scales and Zeros are those of each row, of an uneven table whose rows are quantised apart.
	Scales, Zeros []float64
	// Next are tables whose rows the graph joins behind those of this one.
	Next []Table
	// Beside are tables whose columns the graph joins behind those of this one, row by row.
	Beside []Table
}

// InParts reports whether several constants hold the rows.
func (t Table) InParts() bool { return t.Next != nil || t.Beside != nil }

// Parts are the constants that hold the rows: one, or those that the graph joins.
func (t Table) Parts() []*onnx.Tensor {
	out := []*onnx.Tensor{t.Tensor}
	for _, p := range append(slices.Clip(t.Next), t.Beside...) {
		out = append(out, p.Parts()...)
	}
	return out
}

// Len is the number of rows, with those of the tables that follow.
func (t Table) Len() int {
	n := t.own()
	for _, next := range t.Next {
		n += next.Len()
	}
	return n
}

// own is the number of rows of the constant alone.
func (t Table) own() int {
	n := onnx.Size(t.Tensor.Dims[t.Axis:t.behind()])
	if t.Stacked {
		n /= 2
	}
	return n
}

// OfGrid reads a constant as the table of a grid, alone or behind rows of tokens, with its columns first or last; false where it has not
// the dimensions of one.
func OfGrid(t *onnx.Tensor, columns int, grid [2]int) (table Table, ok bool) {
	k := len(t.Dims)
	table.Tensor = t
	at := func(dims ...int) bool {
		return k >= len(dims) && slices.EqualFunc(t.Dims[k-len(dims):], dims, func(d int64, n int) bool { return int(d) == n })
	}
	switch {
	case k < 2 || t.Len() < int64(columns*grid[0]*grid[1]):
		return table, false
	case at(columns, grid[0], grid[1]):
		table.Axis, table.Planar, table.Grid = k-2, true, grid
	case at(grid[0], grid[1], columns):
		table.Axis, table.Planar, table.Grid = k-3, true, grid
	case at(columns) && t.Len() == t.Dims[k-2]*int64(columns):
		table.Axis = k - 2
	default:
		return table, false
	}
	return table, true
}

// Of reads another constant, a copy, in the same way.
func (t Table) Of(c *onnx.Tensor) Table {
	t.Tensor = c
	return t
}

// behind is the first axis after those of positions.
func (t Table) behind() int {
	if t.Planar {
		return t.Axis + 2
	}
	return t.Axis + 1
}

// Dim is the number of columns.
func (t Table) Dim() int {
	if t.Beside != nil {
		first := t
		first.Beside = nil
		n := first.Dim()
		for _, b := range t.Beside {
			n += b.Dim()
		}
		return n
	}
	if t.Columns != nil {
		return len(t.Columns)
	}
	if t.Stacked {
		return 2 * t.Outer() * t.Inner()
	}
	return t.Outer() * t.Inner()
}

// ColumnOf is the column of an element of the constant, of all that a row has.
func (t Table) ColumnOf(element int) int {
	inner := t.Inner()
	return element/(t.own()*inner)*inner + element%inner
}

// Outer and Inner are the elements of the axes ahead of those of positions, and
// of those behind them.
func (t Table) Outer() int { return onnx.Size(t.Tensor.Dims[:t.Axis]) }

// Inner is told with Outer.
func (t Table) Inner() int { return onnx.Size(t.Tensor.Dims[t.behind():]) }

// uneven is the error of rows whose parts have scales of their own: what they hold is not read.
type uneven struct{}

// Error says so.
func (uneven) Error() string { return "its parts are quantised apart" }

// Unread tells that nothing is wrong with the file.
func (uneven) Unread() bool { return true }

// Row reads row i into dst.
func (t Table) Row(i int, dst []float64) error {
	if t.Uneven && t.Scales == nil {
		return uneven{}
	}
	if i < 0 || i >= t.Len() || len(dst) < t.Dim() {
		return fmt.Errorf("row %d of %d", i, t.Len())
	}
	if t.Beside != nil {
		first := t
		first.Beside = nil
		at := 0
		for _, part := range append([]Table{first}, t.Beside...) {
			if err := part.Row(i, dst[at:]); err != nil {
				return err
			}
			at += part.Dim()
		}
		return nil
	}
	if n := t.own(); i >= n {
		behind := t.Next[0]
		behind.Next = t.Next[1:]
		return behind.Row(i-n, dst)
	}
	if t.Columns != nil {
		whole := t
		whole.Columns = nil
		all := make([]float64, whole.Dim())
		if err := whole.Row(i, all); err != nil {
			return err
		}
		for c, at := range t.Columns {
			dst[c] = all[at]
		}
		return nil
	}
	if t.Stacked {
		n, plain := t.own(), t
		plain.Stacked = false
		if err := plain.Row(i, dst); err != nil {
			return err
		}
		return plain.Row(n+i, dst[plain.Dim():])
	}
	inner := t.Inner()
	for o := range t.Outer() {
		x, err := t.Tensor.Floats(int64(o*t.own()+i)*int64(inner), int64(inner))
		if err != nil {
			return err
		}
		scale, zero := t.Scale, t.Zero
		if i < len(t.Scales) {
			scale = t.Scales[i]
		}
		if i < len(t.Zeros) {
			zero = t.Zeros[i]
		}
		for c, v := range x {
			if scale != 0 {
				v = (v - zero) * scale
			}
			dst[o*inner+c] = v
		}
	}
	return nil
}

// MaxFitRows bounds the rows that a fit reads: enough to tell neighbouring
// bases apart in every storage type (facts/NUMERICS §1).
const MaxFitRows = 1024

// Matrix reads the first rows of a table for a fit.
func (t Table) Matrix() (fit.Matrix, error) {
	return t.between(0, min(t.Len(), MaxFitRows, max(maxFitted/max(t.Dim(), 1), 2)))
}

// maxFitted bounds the elements that a fit reads, of tables of many columns, and
// MaxColumns the columns: no model is so wide.
const (
	maxFitted  = 1 << 23
	MaxColumns = 1 << 17
)

// between reads rows from first up to end.
func (t Table) between(first, end int) (fit.Matrix, error) {
	if t.Dim() > MaxColumns {
		return nil, fmt.Errorf("rows of %d columns, more than %d", t.Dim(), MaxColumns)
	}
	if int64(end-first)*int64(t.Dim()) > maxWhole {
		return nil, fmt.Errorf("%d rows of %d columns, more than %d numbers", end-first, t.Dim(), maxWhole)
	}
	if err := t.Tensor.Complete(); err != nil { // or a claim would decide what is allocated
		return nil, err
	}
	if t.InParts() || t.Uneven || t.Outer() != 1 || t.Scale != 0 || t.Columns != nil || t.Stacked {
		rows := make(Matrix, end-first)
		for i := range rows {
			rows[i] = make([]float64, t.Dim())
			if err := t.Row(first+i, rows[i]); err != nil {
				return nil, err
			}
		}
		return rows, nil
	}
	columns := t.Inner()
	at, last := int64(first)*int64(columns), int64(end)*int64(columns)
	all := make([]float64, 0, last-at)
	for ; at < last; at += readAtOnce {
		some, err := t.Tensor.Floats(at, min(readAtOnce, last-at))
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return fit.Dense(end-first, columns, all), nil
}

// readAtOnce is how many elements are in memory twice, at most, while rows are read.
const readAtOnce = 1 << 14

// maxWhole bounds the elements of a table of image patches that is read whole.
const maxWhole = 1 << 24

// Whole reads all rows, which a fit of a grid needs; nil when they are many.
func (t Table) Whole() fit.Matrix {
	if int64(t.Len())*int64(t.Dim()) > maxWhole {
		return nil
	}
	m, err := t.between(0, t.Len())
	if err != nil {
		return nil
	}
	return m
}

// Matrix is a fit.Matrix of rows in memory.
type Matrix [][]float64

// Rows is the number of rows.
func (m Matrix) Rows() int { return len(m) }

// Cols is the length of a row.
func (m Matrix) Cols() int { return len(m[0]) }

// At is an element, by row and column.
func (m Matrix) At(r, c int) float64 { return m[r][c] }

// Precision is the fit's word for how the rows are stored.
func (t Table) Precision() fit.Precision {
	if t.Scale != 0 || t.Scales != nil {
		return fit.Int8
	}
	return Precision(t.Tensor.Type)
}

// Precision is the fit's word for a storage type.
func Precision(t onnx.DataType) fit.Precision {
	switch t {
	case onnx.Float16, onnx.BFloat16, onnx.Double:
		return fit.Precision(t.String())
	}
	return fit.Precision(onnx.Float.String())
}

// Deinterleaved puts even columns before odd ones.
func (m Matrix) Deinterleaved() Matrix {
	out := make(Matrix, len(m))
	for i, row := range m {
		out[i] = make([]float64, 0, len(row))
		for first := range 2 {
			for c := first; c < len(row); c += 2 {
				out[i] = append(out[i], row[c])
			}
		}
	}
	return out
}

// NotFinite finds the first element, in file order, that is NaN or infinite,
// among the first limit ones.
func (t Table) NotFinite(limit int64) (row, column int, bad bool) {
	if !t.Tensor.Type.IsFloat() {
		return 0, 0, false
	}
	at, err := t.Tensor.NotFinite(limit)
	if err != nil || at < 0 {
		return 0, 0, false
	}
	inner := int64(t.Inner())
	row = int(at / inner % int64(t.own()))
	return row, int(at/inner/int64(t.own())*inner + at%inner), true
}
