package trace

import (
	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
)

// PositionAxis is the axis of a known value along which positions run: not
// the last, with a size of its own, and different from row to row.
func PositionAxis(v *eval.Value) int {
	for axis := 0; axis < len(v.Shape)-1; axis++ {
		if v.Shape[axis] > 1 && v.Varies(axis) {
			return axis
		}
	}
	return -1
}

// ColumnsOf reads the columns of a known value's last two axes as rows, other axes at 0.
func ColumnsOf(v *eval.Value) [][]float64 {
	k := len(v.Shape)
	rows := make([][]float64, v.Shape[k-1])
	for r := range rows {
		for c := range v.Shape[k-2] {
			rows[r] = append(rows[r], v.Number(c*len(rows)+r))
		}
	}
	return rows
}

// Columns is how many columns a value of rows along an axis has: they are the last axis behind it of more than one place.
func Columns(v *eval.Value, axis int) int {
	last := len(v.Shape) - 1
	for last > axis+1 && v.Shape[last] == 1 {
		last--
	}
	return v.Shape[last]
}

// RowsOf reads a known value as rows along an axis, other axes than those of its Columns at 0.
func RowsOf(v *eval.Value, axis int) [][]float64 {
	columns := Columns(v, axis)
	stride := onnx.Size(v.Shape[axis+1:])
	rows := make([][]float64, v.Shape[axis])
	for r := range rows {
		rows[r] = make([]float64, columns)
		for c := range columns {
			rows[r][c] = v.Number(r*stride + c)
		}
	}
	return rows
}
