package origin

import (
	"math/bits"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
)

// Bounds of what is asked row by row: axes of a constant that are tried, and bits of the
// numbers of their rows.
const (
	rowAxes = 4
	rowBits = 24
)

// rowPattern are scattered numbers of which those of rows along an axis are others: the
// rows whose number has a bit, or those whose number has not.
func rowPattern(t *onnx.Tensor, kind int) eval.Pattern {
	with, bit, axis := kind%2 == 1, kind/2%rowBits, kind/2/rowBits
	if axis >= len(t.Dims) {
		return scatter
	}
	inner := int64(1)
	for _, n := range t.Dims[axis+1:] {
		inner *= n
	}
	n := t.Dims[axis]
	return func(i int64) float64 {
		if inner > 0 && n > 0 && (i/inner%n>>bit&1 == 1) == with {
			return scatter(i*7+3) + 0.5
		}
		return scatter(i)
	}
}

// rows maps a value over one constant row by row: each element must change with one of the
// rows whose number has a bit and those whose has not, for every bit. It returns nil where
// elements are made of several rows along every axis.
func (m *Maps) rows(s *eval.Scope, name string, v *eval.Value, t *onnx.Tensor) *Origin {
	if len(t.Dims) < 2 {
		return nil
	}
	base := m.numbers(s, name, v, t, scattered)
	if base == nil {
		return nil
	}
	for axis := range min(len(t.Dims), rowAxes) {
		if n := t.Dims[axis]; n < 2 || n > 1<<rowBits {
			continue
		}
		if o := m.rowsAlong(s, name, v, t, axis, base); o != nil {
			return o
		}
	}
	return nil
}

func (m *Maps) rowsAlong(s *eval.Scope, name string, v *eval.Value, t *onnx.Tensor, axis int, base []float64) *Origin {
	o := &Origin{Tensor: t, At: make([]int, len(base)), Axis: axis}
	for bit := range bits.Len64(uint64(t.Dims[axis] - 1)) {
		kind := rowTrials + 2*(axis*rowBits+bit)
		without, with := m.numbers(s, name, v, t, kind), m.numbers(s, name, v, t, kind+1)
		if without == nil || with == nil {
			return nil
		}
		for i := range base {
			a, b := without[i] != base[i], with[i] != base[i]
			switch {
			case o.At[i] < 0 && (a || b), a && b, bit > 0 && o.At[i] >= 0 && !a && !b:
				return nil // of several rows
			case b:
				o.At[i] |= 1 << bit
			case !a:
				o.At[i] = -1
			}
		}
	}
	for _, row := range o.At {
		if row >= int(t.Dims[axis]) {
			return nil
		}
		if row >= 0 {
			return o
		}
	}
	return nil
}
