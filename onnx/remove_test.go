package onnx_test

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/patch"
)

// TestRemoveUnread replaces a node: what only it has read goes, what others read stays.
func TestRemoveUnread(t *testing.T) {
	four := make([]byte, 4)
	one := []int64{1}
	old := write(t, onnx.NewModel{Opset: 17,
		Nodes: []onnx.NewNode{
			{Op: "Mul", Inputs: []string{"x", "shared"}, Outputs: []string{"a"}},
			{Op: "Mul", Inputs: []string{"a", "own"}, Outputs: []string{"b"}},
			{Op: "Cos", Inputs: []string{"b"}, Outputs: []string{"c"}},
			{Op: "Add", Inputs: []string{"c", "shared"}, Outputs: []string{"y"}},
		},
		Initializers: []onnx.NewTensor{{Name: "shared", Type: onnx.Float, Dims: one, Raw: four}, {Name: "own", Type: onnx.Float, Dims: one, Raw: four}},
		Inputs:       []onnx.NewValue{{Name: "x", Type: onnx.Float, Dims: one}},
		Outputs:      []onnx.NewValue{{Name: "y", Type: onnx.Float, Dims: one}}})
	f, err := onnx.Open(old, onnx.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	e := onnx.NewEditor(f)
	table, err := e.AddTable(f.Graph, "table", onnx.Float, one, patch.Zeros(4), "test")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.AddTable(f.Graph, "table", onnx.Float, []int64{2}, patch.Zeros(4), "test"); err == nil {
		t.Error("a table of two numbers took the bytes of one")
	}
	e.ReplaceNode(f.Graph.Nodes[2], []onnx.NewNode{{Op: "Abs", Inputs: []string{table}, Outputs: []string{"c"}}}, "test")
	e.RemoveUnread("test")
	e.RemoveUnread("test") // is no second change
	got := written(t, e, old)
	defer got.Close()
	var ops, constants []string
	for _, n := range got.Graph.Nodes {
		ops = append(ops, n.Op)
	}
	for _, c := range got.Graph.Initializers {
		constants = append(constants, c.Name)
	}
	if len(ops) != 2 || ops[0] != "Abs" || ops[1] != "Add" {
		t.Errorf("nodes %v are left, want Abs and Add", ops)
	}
	if len(constants) != 2 || constants[0] != "shared" || constants[1] != "table" {
		t.Errorf("constants %v are left, want shared and table", constants)
	}
}

// TestRemoveUnreadIdentity takes away what is read through a do-nothing node, and that node;
// a constant that another one hands on stays.
func TestRemoveUnreadIdentity(t *testing.T) {
	four := make([]byte, 4)
	one := []int64{1}
	constant := func(name string) onnx.NewTensor {
		return onnx.NewTensor{Name: name, Type: onnx.Float, Dims: one, Raw: four}
	}
	old := write(t, onnx.NewModel{Opset: 17,
		Nodes: []onnx.NewNode{
			{Op: "Identity", Inputs: []string{"both"}, Outputs: []string{"kept"}},
			{Op: "Identity", Inputs: []string{"own"}, Outputs: []string{"handed"}},
			{Op: "Sum", Inputs: []string{"kept", "handed", "both"}, Outputs: []string{"dead"}},
			{Op: "Mul", Inputs: []string{"x", "dead"}, Outputs: []string{"z"}},
			{Op: "Add", Inputs: []string{"z", "kept"}, Outputs: []string{"y"}},
		},
		Initializers: []onnx.NewTensor{constant("both"), constant("own"), constant("new")},
		Inputs:       []onnx.NewValue{{Name: "x", Type: onnx.Float, Dims: one}},
		Outputs:      []onnx.NewValue{{Name: "y", Type: onnx.Float, Dims: one}}})
	f, err := onnx.Open(old, onnx.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	e := onnx.NewEditor(f)
	e.RenameInput(f.Graph.Nodes[3], 1, "new", "test")
	e.RemoveUnread("test")
	got := written(t, e, old)
	defer got.Close()
	var left []string
	for _, n := range got.Graph.Nodes {
		left = append(left, n.Op)
	}
	for _, c := range got.Graph.Initializers {
		left = append(left, c.Name)
	}
	if want := []string{"Identity", "Mul", "Add", "both", "new"}; !slices.Equal(left, want) {
		t.Errorf("%v are left, want %v", left, want)
	}
}

// written is the file that an editor makes of an old one.
func written(t *testing.T, e *onnx.Editor, old string) *onnx.File {
	t.Helper()
	plan, err := e.Plan()
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "new.onnx")
	in, err := os.Open(old)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	data, err := io.ReadAll(plan.NewReader(0, in))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, data, 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := onnx.Open(to, onnx.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// write puts a model into a file.
func write(t *testing.T, m onnx.NewModel) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "m.onnx")
	if err := os.WriteFile(path, m.Build(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
