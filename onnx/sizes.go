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

// Dimension brings a possibly negative axis into range, −1 when it is outside.
func Dimension(axis int64, rank int) int {
	if axis < 0 {
		axis += int64(rank)
	}
	if axis < 0 || axis >= int64(rank) {
		return -1
	}
	return int(axis)
}

// Axis is the dimension that the attribute "axis" names, or another one where it is absent; −1 for none of the rank.
func (n *Node) Axis(otherwise int64, rank int) int { return Dimension(n.Int("axis", otherwise), rank) }
