package rows

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/patch"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
)

// Editor records other content for constants. What it cannot do is a
// [position.Refusal].
type Editor struct {
	*onnx.Editor
	name func(*onnx.Tensor) string
}

// NewEditor begins the edits of a file; name says what a constant is called in refusals.
func NewEditor(f *onnx.File, name func(*onnx.Tensor) string) *Editor {
	return &Editor{onnx.NewEditor(f), name}
}

// Replace gives a constant other content; a constant that cannot be given any
// refuses the change.
func (e *Editor) Replace(t *onnx.Tensor, dims []int64, data patch.Source, why string) error {
	return Refused(e.ReplaceTensor(t, dims, data, why))
}

// ReplaceFloats is Replace by numbers; a type that cannot hold them refuses the change.
func (e *Editor) ReplaceFloats(t *onnx.Tensor, dims []int64, values []float64, why string) error {
	data, err := onnx.EncodeFloats(t.Type, values, nil)
	if err != nil {
		return &position.Refusal{Why: fmt.Sprintf("%q is stored as %s, which other numbers cannot be", e.name(t), t.Type)}
	}
	return e.Replace(t, dims, patch.Bytes(data), why)
}

// Refused is the error of the editor for what it cannot do, as a refusal.
func Refused(err error) error {
	if u, ok := errors.AsType[*onnx.UnsupportedError](err); ok {
		return &position.Refusal{Why: u.Error(), Instead: "have the model exported again"}
	}
	return err
}

// RowFunc computes row i of a table that is to be stored, one float64 a column.
type RowFunc func(i int, dst []float64) error

// Resize records that a table becomes newRows rows along its axis: the first
// kept rows are copied as bytes, the others computed when they are written.
func (e *Editor) Resize(t Table, newRows, kept int, row RowFunc, why string) error {
	if t.Dim() > MaxColumns {
		return &position.Refusal{Why: fmt.Sprintf("%q has rows of %d columns, and no model has more than %d", e.name(t.Tensor), t.Dim(), MaxColumns),
			Instead: "have the model exported again"}
	}
	if t.Uneven {
		return &position.Refusal{Why: fmt.Sprintf("parts of %q are quantised apart, and what they are made of is not in the file", e.name(t.Tensor)), Instead: "change the model before it is quantised"}
	}
	if t.InParts() {
		return ErrInParts()
	}
	if t.Columns != nil {
		return &position.Refusal{Why: fmt.Sprintf("the rows of %q hold other numbers beside those of the encoding", e.name(t.Tensor)), Instead: "export the model again with the wanted configuration"}
	}
	if err := t.fits(kept, newRows, row); err != nil {
		return err
	}
	dims := slices.Clone(t.Tensor.Dims)
	dims[t.Axis] = int64(newRows)
	if t.Planar {
		if t.Grid[0]*t.Grid[1] != newRows {
			return &position.Refusal{Why: fmt.Sprintf("the rows of %q stand along two axes, %d by %d", e.name(t.Tensor), t.Grid[0], t.Grid[1]), Instead: "export the model for the wanted size"}
		}
		dims[t.Axis], dims[t.Axis+1] = int64(t.Grid[0]), int64(t.Grid[1])
	}
	inner := int64(t.Inner())
	var parts []patch.Source
	for o := range t.Outer() {
		if kept > 0 {
			old, err := t.Tensor.Source(int64(o*t.Len())*inner, int64(kept)*inner)
			if err != nil {
				return err
			}
			parts = append(parts, old)
		}
		if newRows > kept {
			parts = append(parts, t.newRows(o, kept, newRows, row))
		}
	}
	return e.Replace(t.Tensor, dims, patch.Concat(parts...), why)
}

// ErrInParts is the refusal to store rows that stand in several constants.
func ErrInParts() error {
	return &position.Refusal{Why: "its rows stand in several constants, which the graph joins", Instead: "export the model with constant folding, which makes one of them"}
}

// fits computes rows for a storage type of narrow range ahead of writing: a
// value that does not fit refuses the change instead of failing half-way
// (facts/BAD-INPUTS C04). Of very many rows the rest is found out while writing, which
// is then given up.
func (t Table) fits(from, to int, row RowFunc) error {
	if t.Scale == 0 && t.Tensor.Type != onnx.Float16 {
		return nil
	}
	dst := make([]float64, t.Dim())
	for i := from; i < min(to, from+maxTriedRows); i++ {
		if err := row(i, dst); err != nil {
			return err
		}
		if _, err := t.encode(dst); err != nil {
			return &position.Refusal{Why: fmt.Sprintf("row %d: %v", i, err), Range: true,
				Remedies: []report.Remedy{report.Do("", "makes rows of values that the table has", "method", "repeat-last|tile")}}
		}
	}
	return nil
}

// maxTriedRows bounds the rows that are computed ahead of writing.
const maxTriedRows = 1 << 16

// newRows is a stream of rows [from, to) of outer block o.
func (t Table) newRows(o, from, to int, row RowFunc) patch.Source {
	inner := t.Inner()
	size := t.Tensor.Type.Size(int64((to - from) * inner))
	return patch.Func(size, func() io.Reader {
		return &rowReader{t: t, outer: o, next: from, end: to, row: row, dst: make([]float64, t.Dim())}
	})
}

// rowReader encodes rows as they are read.
type rowReader struct {
	t         Table
	outer     int
	next, end int
	row       RowFunc
	dst       []float64
	pending   bytes.Reader
}

// Read gives the encoded rows, each made when the one before has been read.
func (r *rowReader) Read(p []byte) (int, error) {
	for r.pending.Len() == 0 {
		if r.next == r.end {
			return 0, io.EOF
		}
		if err := r.row(r.next, r.dst); err != nil {
			return 0, err
		}
		inner := r.t.Inner()
		b, err := r.t.encode(r.dst[r.outer*inner : (r.outer+1)*inner])
		if err != nil {
			return 0, fmt.Errorf("row %d: %w", r.next, err)
		}
		r.pending.Reset(b)
		r.next++
	}
	return r.pending.Read(p)
}

// encode rounds values once to the table's storage type, with the scale that
// the table has where it is quantised.
func (t Table) encode(values []float64) ([]byte, error) {
	if t.Scale == 0 {
		return onnx.EncodeFloats(t.Tensor.Type, values, nil)
	}
	low, high := 0.0, math.Exp2(float64(t.Tensor.Type.Bits()))-1
	if t.Tensor.Type.IsSigned() {
		high = math.Floor(high / 2)
		low = -high - 1
	}
	q := make([]int64, len(values))
	for i, v := range values {
		x := math.RoundToEven(v/t.Scale) + t.Zero
		if x < low-1 || x > high+1 { // quantisers saturate by a step, too
			return nil, fmt.Errorf("value %g does not fit the scale %g of the quantised table", v, t.Scale)
		}
		q[i] = int64(math.Min(math.Max(x, low), high))
	}
	return onnx.EncodeInts(t.Tensor.Type, q, nil)
}
