package onnxpos

import (
	"math"
	"testing"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/schemes"
)

// TestTakenFromScores: distances by a slope that are taken from scores are ALiBi, those that are added are not.
func TestTakenFromScores(t *testing.T) {
	for op, want := range map[string]bool{"Sub": true, "Add": false} {
		m := built(t, func(m *onnx.NewModel) {
			free(m)
			m.Outputs[0].Dims = []int64{1, 2, -1, 2}
			m.Initializers = append(m.Initializers, integers("heads", 0, -1, 2, 2), floats("slopes", []int64{2, 1, 1}, func(i int) float64 { return []float64{0.37, 0.09}[i] }))
			m.Nodes = append(m.Nodes[:3], m.Nodes[4], node("Reshape", "apart", "te", "heads"), withInts(node("Transpose", "q", "apart"), "perm", []int64{0, 2, 1, 3}), withInts(node("Transpose", "k", "apart"), "perm", []int64{0, 2, 3, 1}),
				node("MatMul", "scores", "q", "k"), node("Unsqueeze", "row", "p", "axis"), node("Unsqueeze", "column", "p", "zero axis"), node("Sub", "apart by", "row", "column"), node("Abs", "distance", "apart by"),
				withInts(node("Cast", "distances", "distance"), "to", int64(onnx.Float)), node("Mul", "bias", "distances", "slopes"), node(op, "biased", "scores", "bias"), node("Softmax", "weights", "biased"), node("MatMul", "h", "weights", "q"))
			m.Initializers = append(m.Initializers, integers("axis", 1), integers("zero axis", 0))
		})
		a, ok := m.Sites()[0].Encoding().Scheme.(schemes.ALiBi)
		if ok != want {
			t.Fatalf("%s: %s", op, found(m))
		}
		if ok && (math.Abs(a.Slopes[0]-0.37) > 1e-6 || math.Abs(a.Slopes[1]-0.09) > 1e-6) {
			t.Errorf("slopes %v", a.Slopes)
		}
	}
}

// TestSamples: what ai.onnx.ml's operators do with rows of features tells no positions apart.
func TestSamples(t *testing.T) {
	m := built(t, func(m *onnx.NewModel) {
		m.Inputs = []onnx.NewValue{{Name: "x", Type: onnx.Float, Dims: []int64{-1, 4}}}
		m.Outputs = []onnx.NewValue{{Name: "label", Type: onnx.Int64, Dims: []int64{-1}}, {Name: "scores", Type: onnx.Float, Dims: []int64{-1, 2}}}
		classes := withInts(onnx.NewNode{Op: "TreeEnsembleClassifier", Domain: "ai.onnx.ml", Inputs: []string{"scaled"}, Outputs: []string{"label", "scores"}}, "classlabels_int64s", []int64{0, 1})
		m.Nodes = []onnx.NewNode{{Op: "Scaler", Domain: "ai.onnx.ml", Inputs: []string{"x"}, Outputs: []string{"scaled"}}, classes}
	})
	if o, ok := m.Sites()[0].Encoding().Scheme.(schemes.Other); !ok || o.Order != schemes.OrderEquivariant {
		t.Errorf("%s, %v", found(m), o.Order)
	}
}

// TestTokensBeside: a table of which the graph gives its own tokens the first rows has to have as many more.
func TestTokensBeside(t *testing.T) {
	m := built(t, func(m *onnx.NewModel) {
		free(m)
		m.Initializers = append(m.Initializers, noise("prompt", 1, 3, 4), integers("three", 3), integers("index", 1))
		m.Nodes = []onnx.NewNode{node("Gather", "te", "wte", "ids"), withInts(node("Concat", "all", "prompt", "te"), "axis", int64(1)), node("Shape", "shape", "all"), node("Gather", "n", "shape", "one"),
			node("Range", "p", "zero", "n", "one"), node("Gather", "pe", "wpe", "p"), node("Add", "h", "all", "pe")}
	})
	if longest, beside := m.End(); longest != 13 || beside != 3 {
		t.Errorf("it runs with %d tokens beside %d", longest, beside)
	}
	if _, err := position.Extend(m, position.ExtendOptions{Length: 29}); err != nil {
		t.Fatal(err)
	}
	for _, c := range m.Sites() {
		if o, ok := c.(*tableSite); !ok || o.newRows != 32 {
			t.Errorf("%d rows, want 32", o.newRows)
		}
	}
	for _, f := range m.Findings() {
		t.Errorf("finding %s", f.Message)
	}
}
