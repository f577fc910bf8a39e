package onnx

import (
	"math"
	"slices"
)

// Size is the number of elements of dimensions, at most half of what an int holds.
func Size[T int | int64](dims []T) int {
	n := 1
	if slices.Contains(dims, 0) {
		return 0
	}
	for _, d := range dims {
		if d > 0 && n > math.MaxInt/2/int(d) {
			return math.MaxInt / 2
		}
		n *= int(d)
	}
	return n
}

// Strides are how many elements lie between neighbours on each axis.
func Strides[T int | int64](dims []T) []int {
	out := make([]int, len(dims))
	for i := range out {
		out[i] = Size(dims[i+1:])
	}
	return out
}

// Axis is the attribute that names one of the axes of a value, counted from the first one on; otherwise where it is absent. It may lie outside of
// the axes.
func (n *Node) Axis(name string, otherwise int64, rank int) int {
	axis := n.Int(name, otherwise)
	if axis < 0 {
		axis += int64(rank)
	}
	return int(axis)
}
