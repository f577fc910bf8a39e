package onnx_test

import (
	"slices"
	"testing"

	"github.com/modelpatch/modelpatch/onnx"
)

// TestCopies puts a copy of a node between two others: the graph as it is read has it until it is restored, the file that is
// written in any case, with its attributes.
func TestCopies(t *testing.T) {
	one := []int64{1}
	old := write(t, onnx.NewModel{Opset: 17,
		Nodes: []onnx.NewNode{
			{Op: "LeakyRelu", Inputs: []string{"x"}, Outputs: []string{"a"}, Attributes: []onnx.NewAttribute{{Name: "alpha", Value: float32(0.25)}}},
			{Op: "Sum", Inputs: []string{"a", "x"}, Outputs: []string{"y"}},
			{Op: "Split", Inputs: []string{"y"}, Outputs: []string{"z"}, Attributes: []onnx.NewAttribute{{Name: "num_outputs", Value: int64(1)}}},
		},
		Inputs:  []onnx.NewValue{{Name: "x", Type: onnx.Float, Dims: one}},
		Outputs: []onnx.NewValue{{Name: "z", Type: onnx.Float, Dims: one}}})
	f, err := onnx.Open(old, onnx.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	e, first, sum, split := onnx.NewEditor(f), f.Graph.Nodes[0], f.Graph.Nodes[1], f.Graph.Nodes[2]
	copied := e.Copy(first, []string{"a"})
	e.InsertCopies([]*onnx.Node{copied}, []*onnx.Node{sum}, "test")
	e.Rewire(sum, 0, copied.Outputs[0], "test")
	e.Rewire(sum, 2, copied.Outputs[0], "test")
	e.RenameInput(copied, 0, "x", "test")
	e.AddOutputs(split, []string{"more"}, "test")
	e.SetIntNow(split, "num_outputs", 2, "test")
	w := f.Graph.Wiring()
	number, _ := w.Number(copied.Outputs[0])
	if w.Producer(number) != copied || !slices.Equal(w.Readers(number), []*onnx.Node{sum}) || !slices.Equal(f.Graph.InOrder(), []*onnx.Node{first, copied, sum, split}) || copied.Index() != 3 {
		t.Errorf("the graph as it is read: %v made by %v, read by %v", f.Graph.InOrder(), w.Producer(number), w.Readers(number))
	}
	if split.Int("num_outputs", 0) != 2 || !slices.Equal(split.Outputs, []string{"z", "more"}) || !slices.Equal(sum.Inputs, []string{copied.Outputs[0], "x", copied.Outputs[0]}) {
		t.Errorf("as it is read: %v gives %v of %d, %v reads %v", split, split.Outputs, split.Int("num_outputs", 0), sum, sum.Inputs)
	}
	e.Restore()
	if len(f.Graph.InOrder()) != 3 || len(w.Readers(number)) != 0 || split.Int("num_outputs", 0) != 1 || !slices.Equal(split.Outputs, []string{"z"}) || !slices.Equal(sum.Inputs, []string{"a", "x"}) {
		t.Errorf("restored: %v, %v reads %v, %v gives %v", f.Graph.Nodes, sum, sum.Inputs, split, split.Outputs)
	}
	got := written(t, e, old)
	defer got.Close()
	nodes := got.Graph.Nodes
	if len(nodes) != 4 || nodes[1].Op != "LeakyRelu" || nodes[1].Attribute("alpha") == nil || nodes[1].Attribute("alpha").F != 0.25 || !slices.Equal(nodes[1].Inputs, []string{"x"}) {
		t.Fatalf("written: %v, the copy reads %v", nodes, nodes[1].Inputs)
	}
	if out := nodes[1].Output(0); !slices.Equal(nodes[2].Inputs, []string{out, "x", out}) || !slices.Equal(nodes[3].Outputs, []string{"z", "more"}) || nodes[3].Int("num_outputs", 0) != 2 {
		t.Errorf("written: %v reads %v, %v gives %v", nodes[2], nodes[2].Inputs, nodes[3], nodes[3].Outputs)
	}
}
