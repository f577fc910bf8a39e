package trace

import (
	"github.com/modelpatch/modelpatch/onnx/eval"
)

// MaskedBelow separates a mask's large negative numbers from a bias: no trained
// or linear bias of a short probe reaches it.
const MaskedBelow = -5e3

// MaxReaders bounds the readers of values that one question looks at.
const MaxReaders = 1 << 10

// OnlySwitches reports whether numbers are zeros and ones: a mask that is
// multiplied.
func OnlySwitches(v *eval.Value) bool {
	return eval.Ask(v, "switches", func() bool {
		for i := range v.Len() {
			if x := v.Number(i); x != 0 && x != 1 {
				return false
			}
		}
		return true
	})
}
