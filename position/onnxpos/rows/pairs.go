package rows

import (
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
)

// PairOf numbers the pairs of queries and keys by the elements of a value.
func PairOf(shape []int, query, key int) func(i int) int {
	stride := onnx.Strides(shape)
	return func(i int) int { return i/stride[query]%shape[query]*shape[key] + i/stride[key]%shape[key] }
}

// OnlyAxis is the axis of a constant along which alone elements lie apart, −1 for none.
func OnlyAxis(dims []int64, elements []int) int {
	axis, inner := -1, 1
	for d := len(dims) - 1; d >= 0; d-- {
		n := max(int(dims[d]), 1)
		if slices.ContainsFunc(elements, func(k int) bool { return k/inner%n != elements[0]/inner%n }) {
			if axis >= 0 {
				return -1
			}
			axis = d
		}
		inner *= n
	}
	return axis
}
