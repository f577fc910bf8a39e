package onnxpos

import (
	"fmt"
	"testing"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/position"
)

// TestWidthAsTheLength makes a graph longer whose heads are as wide as it is long, or a multiple: a free entry of a shape would take
// what belongs to the tokens.
func TestWidthAsTheLength(t *testing.T) {
	for _, width := range []int64{6, 12} {
		change := func(m *onnx.NewModel) {
			m.Outputs[0].Dims = []int64{1, 2, 6, 6}
			m.Initializers = []onnx.NewTensor{noise("wte", 32, 2*width), integers("heads", 1, 6, 2, -1)}
			m.Nodes = []onnx.NewNode{node("Gather", "te", "wte", "ids"), node("Reshape", "q4", "te", "heads"), withInts(node("Transpose", "q", "q4"), "perm", []int64{0, 2, 1, 3}),
				withInts(node("Transpose", "k", "q4"), "perm", []int64{0, 2, 3, 1}), node("MatMul", "s", "q", "k"), node("Softmax", "h", "s")}
		}
		m := built(t, change)
		if _, err := position.Extend(m, position.ExtendOptions{Length: 9}); err != nil {
			t.Fatal(err)
		}
		after := result(t, m, saved(t, change))
		if got := after.graph.Eval.Main.Value("q4").Shape; fmt.Sprint(got) != fmt.Sprint([]int64{1, 9, 2, width}) {
			t.Errorf("heads of %d: %v", width, got)
		}
	}
}
