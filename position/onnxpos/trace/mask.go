package trace

import "github.com/modelpatch/modelpatch/onnx"

// MaskedBelow separates a mask's large negative numbers from a bias: no trained
// or linear bias of a short probe reaches it.
const MaskedBelow = -5e3

// MaxReaders bounds the readers of values that one question looks at.
const MaxReaders = 1 << 10

// IsStoredMask reports whether a constant of queries by keys holds two numbers.
func IsStoredMask(t *onnx.Tensor) bool {
	k := len(t.Dims)
	if !t.Type.IsFloat() || k < 2 || t.Dims[k-1] != t.Dims[k-2] || t.Dims[k-1] < 2 {
		return false
	}
	n := min(t.Len(), 1<<14)
	x, err := t.Floats(0, n)
	if err != nil || n == 0 {
		return false
	}
	a, b := x[0], x[0]
	for _, v := range x {
		if v != a && b == a {
			b = v
		}
		if v != a && v != b {
			return false
		}
	}
	return a != b
}
