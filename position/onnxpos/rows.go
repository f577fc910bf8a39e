package onnxpos

import (
	"fmt"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/schemes/fit"
)

// tableRows reads a constant as rows along one axis, or along two: the rows
// and columns of an image. The axes on both sides are the columns, the outer
// ones first.
type tableRows struct {
	tensor *onnx.Tensor
	axis   int
	planar bool    // positions run along axis and the next
	grid   [2]int  // of the rows to be stored, where planar
	scale  float64 // of a quantised table; 0: not quantised
	zero   float64
}

// Len is the number of rows.
func (t tableRows) Len() int { return sizeOf(t.tensor.Dims[t.axis:t.behind()]) }

// of reads another constant, a copy, in the same way.
func (t tableRows) of(c *onnx.Tensor) tableRows {
	t.tensor = c
	return t
}

// behind is the first axis after those of positions.
func (t tableRows) behind() int {
	if t.planar {
		return t.axis + 2
	}
	return t.axis + 1
}

// Dim is the number of columns.
func (t tableRows) Dim() int { return t.outer() * t.inner() }

func (t tableRows) outer() int { return sizeOf(t.tensor.Dims[:t.axis]) }
func (t tableRows) inner() int { return sizeOf(t.tensor.Dims[t.behind():]) }

func sizeOf(dims []int64) int {
	n := 1
	for _, d := range dims {
		n *= int(d)
	}
	return n
}

// Row reads row i into dst.
func (t tableRows) Row(i int, dst []float64) error {
	if i < 0 || i >= t.Len() || len(dst) < t.Dim() {
		return fmt.Errorf("row %d of %d", i, t.Len())
	}
	inner := t.inner()
	for o := range t.outer() {
		x, err := t.tensor.Floats(int64(o*t.Len()+i)*int64(inner), int64(inner))
		if err != nil {
			return err
		}
		for c, v := range x {
			if t.scale != 0 {
				v = (v - t.zero) * t.scale
			}
			dst[o*inner+c] = v
		}
	}
	return nil
}

// maxFitRows bounds the rows that a fit reads: enough to tell neighbouring
// bases apart in every storage type (facts/NUMERICS §1).
const maxFitRows = 1024

// matrix reads the first rows of a table for a fit.
func (t tableRows) matrix() (fit.Matrix, error) {
	return t.between(0, min(t.Len(), maxFitRows, max(maxFitted/max(t.Dim(), 1), 2)))
}

// maxFitted bounds the elements that a fit reads, of tables of many columns, and
// maxColumns the columns: no model is so wide.
const (
	maxFitted  = 1 << 23
	maxColumns = 1 << 17
)

// between reads rows from first up to end.
func (t tableRows) between(first, end int) (fit.Matrix, error) {
	if t.Dim() > maxColumns {
		return nil, fmt.Errorf("rows of %d columns, more than %d", t.Dim(), maxColumns)
	}
	if int64(end-first)*int64(t.Dim()) > maxWhole {
		return nil, fmt.Errorf("%d rows of %d columns, more than %d numbers", end-first, t.Dim(), maxWhole)
	}
	if err := t.tensor.Complete(); err != nil { // or a claim would decide what is allocated
		return nil, err
	}
	if t.outer() != 1 || t.scale != 0 {
		rows := make(matrix, end-first)
		for i := range rows {
			rows[i] = make([]float64, t.Dim())
			if err := t.Row(first+i, rows[i]); err != nil {
				return nil, err
			}
		}
		return rows, nil
	}
	columns := t.inner()
	at, last := int64(first)*int64(columns), int64(end)*int64(columns)
	all := make([]float64, 0, last-at)
	for ; at < last; at += readAtOnce {
		some, err := t.tensor.Floats(at, min(readAtOnce, last-at))
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

// whole reads all rows, which a fit of a grid needs; nil when they are many.
func (t tableRows) whole() fit.Matrix {
	if int64(t.Len())*int64(t.Dim()) > maxWhole {
		return nil
	}
	m, err := t.between(0, t.Len())
	if err != nil {
		return nil
	}
	return m
}

// matrix is a fit.Matrix of rows in memory.
type matrix [][]float64

// Rows is the number of rows.
func (m matrix) Rows() int { return len(m) }

// Cols is the length of a row.
func (m matrix) Cols() int { return len(m[0]) }

// At is an element, by row and column.
func (m matrix) At(r, c int) float64 { return m[r][c] }

// precision is the fit's word for how the rows are stored.
func (t tableRows) precision() fit.Precision {
	if t.scale != 0 {
		return fit.Int8
	}
	return precision(t.tensor.Type)
}

// precision is the fit's word for a storage type.
func precision(t onnx.DataType) fit.Precision {
	switch t {
	case onnx.Float16, onnx.BFloat16, onnx.Double:
		return fit.Precision(t.String())
	}
	return fit.Precision(onnx.Float.String())
}
