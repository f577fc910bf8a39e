package turning

import (
	"testing"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
)

// TestRowsAreBounded: rows of which there may be any number are as many as a text has tokens, and none where these would be too many numbers.
func TestRowsAreBounded(t *testing.T) {
	for _, c := range []struct {
		columns, rows int
		known         bool
	}{{4, 7, true}, {500_000, 2, false}} {
		v := Turn{Kind: Cosines, Rows: true, Any: true}.Values(eval.Shaped(onnx.Float, 2, c.columns), 7, 0, 1<<20)
		if v.Shape[0] != c.rows || v.Known() != c.known {
			t.Errorf("%d columns: shape %v, known %v", c.columns, v.Shape, v.Known())
		}
	}
}
