package eval

import (
	"math"

	"github.com/modelpatch/modelpatch/onnx"
)

// IsMask reports whether numbers only switch: truth values, zeros and ones, or zeros and numbers of at most so much, which no score outweighs.
func (v *Value) IsMask(hidden float64) bool {
	if !v.Known() {
		return false
	}
	for i := range v.Len() {
		if x := v.Number(i); x != 0 && x != 1 && !(x <= hidden) && !math.IsInf(x, -1) {
			return false
		}
	}
	return true
}

// Marks reports whether what known numbers hold of each of several places along an axis is nothing, or one and the same: a vector that stands for what is
// hidden, say, at some of them.
func (v *Value) Marks(axis int) bool {
	places, inner := v.Shape[axis], onnx.Size(v.Shape[axis+1:])
	marked := -1
	for p := range places {
		nothing, same := true, true
		for i := range v.Len() / places {
			at := i/inner*places*inner + i%inner
			x := v.Number(at + p*inner)
			nothing, same = nothing && x == 0, same && (marked < 0 || x == v.Number(at+marked*inner))
		}
		if marked < 0 && !nothing {
			marked = p
		}
		if !nothing && !same {
			return false
		}
	}
	return places > fewMarks
}

// fewMarks are so few places that a table of them may have one row of zeros and another.
const fewMarks = 3

// IsDiagonal reports whether known numbers are one thing where places of two axes are the same, and another where they are not, whichever
// they are: of the same places on both axes that tells none apart (the identity that self-loops of a graph or an inverse are made with).
func (v *Value) IsDiagonal(a, b int) bool {
	n := v.Shape[a]
	if v.Shape[b] != n || v.Len() == 0 || v.Len()/(n*n) > maxDiagonals {
		return false
	}
	sa, sb := onnx.Size(v.Shape[a+1:]), onnx.Size(v.Shape[b+1:])
	on, off := map[int]float64{}, map[int]float64{}
	for i := range v.Len() {
		p, q := i/sa%n, i/sb%n
		is := off
		if p == q {
			is = on
		}
		others, x := i-p*sa-q*sb, v.Number(i)
		if have, seen := is[others]; seen && have != x {
			return false
		}
		is[others] = x
	}
	return true
}

// maxDiagonals bounds the matrices of one value that are looked at for being diagonal.
const maxDiagonals = 1 << 10
