package onnxpos

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position"
)

// patchRows are the 16 patches of a fixed picture, a learned row added to each.
func patchRows(m *onnx.NewModel) {
	picture(m)
	m.Initializers = append(m.Initializers, noise("pos", 1, 16, 4))
	m.Nodes = append(m.Nodes, node("Add", "h", "x", "pos"))
}

// TestLeftOver plants what was made for 4×4 patches of 32 pixels into a model that is to take 6×6: it becomes
// what those need, or the change is refused and names the node that reads it.
func TestLeftOver(t *testing.T) {
	type dims = []int64
	ends := func(m *onnx.NewModel, v ...onnx.NewValue) { m.Outputs = append(m.Outputs, v...) }
	out := func(name string, dims ...int64) onnx.NewValue {
		return onnx.NewValue{Name: name, Type: onnx.Float, Dims: dims}
	}
	window := func(m *onnx.NewModel) { // 2×2 places each
		m.Initializers = append(m.Initializers, integers("cut", 1, 2, 2, 2, 2, 4), integers("windows", 4, 4, 4))
		m.Nodes = append(m.Nodes, node("Reshape", "c", "h", "cut"), withInts(node("Transpose", "ct", "c"), "perm", dims{0, 1, 3, 2, 4, 5}), node("Reshape", "w", "ct", "windows"),
			withInts(node("Transpose", "wt", "w"), "perm", dims{0, 2, 1}), node("MatMul", "scores", "w", "wt"))
	}
	for _, c := range []struct {
		name   string
		plant  func(*onnx.NewModel)
		output string // whose shape is told after the change
		want   string // its shape, or what the refusal says
	}{
		{"shift mask", func(m *onnx.NewModel) {
			window(m)
			m.Initializers = append(m.Initializers, floats("mask", dims{4, 4, 4}, func(i int) float64 { return float64(-100 * (i / 16 & (i/4&1 ^ i&1))) }))
			m.Nodes = append(m.Nodes, node("Add", "planted", "scores", "mask"), node("Softmax", "p", "planted"))
			ends(m, out("p", 4, 4, 4))
		}, "p", "windows that are not shifted"},
		{"Resize sizes", func(m *onnx.NewModel) {
			m.Initializers = append(m.Initializers, integers("sizes", 1, 4, 32, 32))
			m.Nodes = append(m.Nodes, withInts(node("Resize", "planted", "patches", "", "", "sizes"), "mode", "linear"))
			ends(m, out("planted", 1, 4, 32, 32))
		}, "planted", "[1 4 48 48]"},
		{"Resize scales of one size", func(m *onnx.NewModel) { // a table of 3×3 to the 4×4 patches
			m.Initializers = append(m.Initializers, noise("table", 1, 4, 3, 3), floats("scales", dims{4}, func(i int) float64 { return []float64{1, 1, 4. / 3, 4. / 3}[i] }))
			m.Nodes = append(m.Nodes, withInts(node("Resize", "r", "table", "", "scales"), "mode", "linear"), node("Mul", "planted", "patches", "r"))
			ends(m, out("planted", 1, 4, 4, 4))
		}, "planted", "Mul planted"},
		{"anchor grid", func(m *onnx.NewModel) {
			m.Initializers = append(m.Initializers, noise("boxes", 4, 2), floats("anchors", dims{1, 16, 2}, func(i int) float64 { return []float64{float64(i/2%4) + .5, float64(i/8) + .5}[i%2] / 4 }))
			m.Nodes = append(m.Nodes, node("MatMul", "b", "h", "boxes"), node("Add", "planted", "b", "anchors"))
			ends(m, out("planted", 1, 16, 2))
		}, "planted", "[1 36 2]"},
		{"anchors of no formula", func(m *onnx.NewModel) {
			m.Initializers = append(m.Initializers, noise("boxes", 4, 2), noise("anchors", 1, 16, 2))
			m.Nodes = append(m.Nodes, node("MatMul", "b", "h", "boxes"), node("Add", "planted", "b", "anchors"))
			ends(m, out("planted", 1, 16, 2))
		}, "planted", "Add planted"},
		{"sizes of anchors", func(m *onnx.NewModel) { // the side of a patch, as a part of the picture
			m.Initializers = append(m.Initializers, noise("boxes", 4, 2), floats("anchors", dims{1, 16, 2}, func(int) float64 { return .25 }))
			m.Nodes = append(m.Nodes, node("MatMul", "b", "h", "boxes"), node("Mul", "planted", "b", "anchors"))
			ends(m, out("planted", 1, 16, 2))
		}, "planted", "[1 36 2]"},
		{"Reshape target", func(m *onnx.NewModel) {
			m.Initializers = append(m.Initializers, integers("target", 1, 4, 4, 4))
			m.Nodes = append(m.Nodes, node("Reshape", "planted", "h", "target"))
			ends(m, out("planted", 1, 4, 4, 4))
		}, "planted", "[1 6 6 4]"},
		{"Slice end", func(m *onnx.NewModel) { // what stands behind the patches goes
			m.Initializers = append(m.Initializers, noise("behind", 1, 1, 4), integers("from", 0), integers("end", 16), integers("axis", 1))
			m.Nodes = append(m.Nodes, withInts(node("Concat", "all", "h", "behind"), "axis", int64(1)), node("Slice", "planted", "all", "from", "end", "axis"))
			ends(m, out("planted", 1, 16, 4))
		}, "planted", "Slice planted"},
		{"Slice end of a part", func(m *onnx.NewModel) {
			m.Initializers = append(m.Initializers, integers("from", 0), integers("end", 12), integers("axis", 1))
			m.Nodes = append(m.Nodes, node("Slice", "planted", "h", "from", "end", "axis"))
			ends(m, out("planted", 1, 12, 4))
		}, "planted", "Slice planted"},
		{"a few of the patches", func(m *onnx.NewModel) { // as a masked autoencoder keeps them
			m.Initializers = append(m.Initializers, integers("from", 0), integers("end", 4), integers("axis", 1))
			m.Nodes = append(m.Nodes, node("Slice", "planted", "h", "from", "end", "axis"))
			ends(m, out("planted", 1, 4, 4))
		}, "planted", "Slice planted"},
		{"a sort", func(m *onnx.NewModel) {
			m.Initializers = append(m.Initializers, integers("all", 16))
			m.Nodes = append(m.Nodes, withInts(onnx.NewNode{Op: "TopK", Inputs: []string{"h", "all"}, Outputs: []string{"planted", "order"}}, "axis", int64(1)))
			ends(m, out("planted", 1, 16, 4))
		}, "planted", "[1 36 4]"},
		{"the best of all", func(m *onnx.NewModel) {
			m.Initializers = append(m.Initializers, integers("five", 5))
			m.Nodes = append(m.Nodes, withInts(onnx.NewNode{Op: "TopK", Inputs: []string{"h", "five"}, Outputs: []string{"planted", "order"}}, "axis", int64(1)))
			ends(m, out("planted", 1, 5, 4))
		}, "planted", "[1 5 4]"},
		{"places that a scatter writes", func(m *onnx.NewModel) {
			m.Initializers = append(m.Initializers, floats("blank", dims{1, 16, 1}, func(int) float64 { return 0 }), noise("written", 1, 16, 1),
				integers("order", 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0), integers("stand", 1, 16, 1))
			m.Nodes = append(m.Nodes, node("Reshape", "at", "order", "stand"), withInts(node("ScatterElements", "rows", "blank", "at", "written"), "axis", int64(1)), node("Add", "planted", "h", "rows"))
			ends(m, out("planted", 1, 16, 4))
		}, "planted", "ScatterElements rows"},
		{"Expand shape", func(m *onnx.NewModel) {
			m.Initializers = append(m.Initializers, noise("one", 1, 1, 4), integers("shape", 1, 16, 4))
			m.Nodes = append(m.Nodes, node("Expand", "planted", "one", "shape"), node("Add", "y", "h", "planted"))
			ends(m, out("y", 1, 16, 4))
		}, "y", "[1 36 4]"},
		{"Pad", func(m *onnx.NewModel) { // to a window of 7, which then need not be padded as much
			m.Initializers = append(m.Initializers, integers("pads", 0, 0, 0, 0, 0, 0, 3, 3), integers("cut", 1, 4, 1, 7, 1, 7))
			m.Nodes = append(m.Nodes, node("Pad", "padded", "patches", "pads"), node("Reshape", "planted", "padded", "cut"))
			ends(m, out("planted", 1, 4, 1, 7, 1, 7))
		}, "planted", "[1 4 1 7 1 7]"},
		{"Pad to windows", func(m *onnx.NewModel) { // of one window four
			m.Initializers = append(m.Initializers, integers("pads", 0, 0, 0, 0, 0, 0, 1, 1), integers("cut", 1, 4, 1, 5, 1, 5))
			m.Nodes = append(m.Nodes, node("Pad", "padded", "patches", "pads"), node("Reshape", "planted", "padded", "cut"), withInts(node("Transpose", "windows", "planted"), "perm", dims{0, 1, 2, 4, 3, 5}))
			ends(m, out("planted", 1, 4, 1, 5, 1, 5))
		}, "planted", "[1 4 2 5 2 5]"},
		{"Pad to a table", func(m *onnx.NewModel) {
			m.Initializers = append(m.Initializers, integers("pads", 0, 0, 0, 0, 0, 0, 1, 1), noise("five", 1, 4, 5, 5))
			m.Nodes = append(m.Nodes, node("Pad", "padded", "patches", "pads"), node("Add", "planted", "padded", "five"))
			ends(m, out("planted", 1, 4, 5, 5))
		}, "planted", "Add planted"},
		{"grid of GridSample", func(m *onnx.NewModel) {
			m.Initializers = append(m.Initializers, floats("grid", dims{1, 4, 4, 2}, func(i int) float64 { return []float64{float64(i / 2 % 4), float64(i / 8)}[i%2]/1.5 - 1 }))
			m.Nodes = append(m.Nodes, node("GridSample", "planted", "patches", "grid"))
			ends(m, out("planted", 1, 4, 4, 4))
		}, "planted", "GridSample planted"},
		{"places that Gather picks", func(m *onnx.NewModel) {
			m.Initializers = append(m.Initializers, integers("order", 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0))
			m.Nodes = append(m.Nodes, withInts(node("Gather", "planted", "h", "order"), "axis", int64(1)))
			ends(m, out("planted", 1, 16, 4))
		}, "planted", "Gather planted"},
		{"mask of ConstantOfShape", func(m *onnx.NewModel) {
			m.Initializers = append(m.Initializers, integers("shape", 1, 16, 16))
			m.Nodes = append(m.Nodes, withInts(node("Transpose", "t", "h"), "perm", dims{0, 2, 1}), node("MatMul", "s", "h", "t"), node("ConstantOfShape", "planted", "shape"), node("Add", "y", "s", "planted"))
			ends(m, out("y", 1, 16, 16))
		}, "y", "[1 36 36]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var before []byte
			m := built(t, func(m *onnx.NewModel) {
				patchRows(m)
				c.plant(m)
				before = m.Build()
			})
			if got := fmt.Sprint(shapeAfter(t, m, before, c.output)); !strings.Contains(got, c.want) {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

// shapeAfter is the shape of an output of a model that was given 6×6 patches, or the refusal.
func shapeAfter(t *testing.T, m *Model, before []byte, output string) any {
	t.Helper()
	_, err := position.ResizeGrid(m, position.GridOptions{Height: 6, Width: 6})
	if refusal, ok := errors.AsType[*position.Refusal](err); ok {
		return refusal
	}
	if err != nil {
		t.Fatal(err)
	}
	return evaluated(t, m, before).Main.Value(output).Shape
}

// evaluated evaluates the changed model with a picture of 6×6 patches.
func evaluated(t *testing.T, m *Model, before []byte) *eval.Evaluator {
	t.Helper()
	plan, err := m.Edits()
	if err != nil {
		t.Fatal(err)
	}
	after, err := io.ReadAll(plan.NewReader(0, bytes.NewReader(before)))
	if err != nil {
		t.Fatal(err)
	}
	f, err := onnx.NewFile(bytes.NewReader(after), int64(len(after)))
	if err != nil {
		t.Fatal(err)
	}
	e := eval.New(f, map[string]*eval.Value{"pixel_values": eval.Shaped(onnx.Float, 1, 3, 48, 48)})
	e.Run()
	for _, failure := range e.Failures {
		t.Errorf("%s: %v", failure.Node.Title(), failure.Err)
	}
	return e
}
