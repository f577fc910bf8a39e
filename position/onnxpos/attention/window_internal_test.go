package attention

import (
	"testing"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
)

// TestEmptyMask has masks whose first axis is 0: no element, though the last two axes look like a matrix.
func TestEmptyMask(t *testing.T) {
	empty := eval.Shaped(onnx.Float, 0, 4, 4)
	full := eval.Shaped(onnx.Float, 4, 4)
	full.Floats = make([]float64, 16)
	if !empty.Known() || !full.Known() {
		t.Fatal("a value is not known")
	}
	if got := banded(empty); got.Positions != 0 {
		t.Errorf("banded: %v, want none", got)
	}
	for _, pair := range [][2]*eval.Value{{empty, full}, {full, empty}} {
		if got := comparedDistance(pair[0], pair[1], "Less"); got != 0 {
			t.Errorf("comparedDistance: %d, want 0", got)
		}
	}
}
