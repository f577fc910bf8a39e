package length

import (
	"testing"

	"github.com/modelpatch/modelpatch/onnx"
)

// TestOffers: constants that can be sizes or indices are offered the new length; a zero point that equals the old one is not.
func TestOffers(t *testing.T) {
	for kind, want := range map[onnx.DataType]bool{onnx.Int64: true, onnx.Int32: true, onnx.Int8: false, onnx.Uint8: false, onnx.Int16: false, onnx.Float: false, onnx.Bool: false} {
		if got := countsPlaces(&onnx.Tensor{Type: kind}); got != want {
			t.Errorf("%s: %v", kind, got)
		}
	}
}
