package onnxpos

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position"
)

// regridded gives a model of 4×4 patches 6×6 and evaluates it.
func regridded(t *testing.T, o position.GridOptions, change func(*onnx.NewModel)) (*eval.Evaluator, error) {
	t.Helper()
	var before []byte
	m := built(t, func(m *onnx.NewModel) {
		patchRows(m)
		change(m)
		before = m.Build()
	})
	o.Height, o.Width = 6, 6
	if _, err := position.ResizeGrid(m, o); err != nil {
		return nil, err
	}
	return evaluated(t, m, before), nil
}

// TestPlacesFollow: numbers of a picture's places, and what stands for how many there are, become those of the new picture.
func TestPlacesFollow(t *testing.T) {
	type dims = []int64
	pad := func(m *onnx.NewModel) { // a mask of all patches, by the graph
		m.Initializers = append(m.Initializers, floats("zero", dims{}, func(int) float64 { return 0 }), floats("one", dims{}, func(int) float64 { return 1 }), integers("columns", 2))
		m.Nodes = append(m.Nodes, node("Shape", "size", "h"), node("Gather", "places", "size", "at1"), withInts(node("Cast", "count", "places"), "to", int64(onnx.Float)))
		m.Initializers = append(m.Initializers, integers("at1", 1))
	}
	root := func(x float64) func(m *onnx.NewModel) { // 6 channels attend to each other
		return func(m *onnx.NewModel) {
			m.Initializers = append(m.Initializers, floats("factor", dims{}, func(int) float64 { return x }), noise("to6", 4, 6))
			m.Nodes = append(m.Nodes, node("MatMul", "h6", "h", "to6"), node("Mul", "scaled", "h6", "factor"), withInts(node("Transpose", "channels", "scaled"), "perm", dims{0, 2, 1}), node("MatMul", "scores", "channels", "h6"), withInts(node("Softmax", "y", "scores"), "axis", int64(-1)))
			m.Outputs = append(m.Outputs, onnx.NewValue{Name: "y", Type: onnx.Float, Dims: dims{1, 6, 6}})
		}
	}
	input := func(e *eval.Evaluator, output string, i int) *eval.Value {
		n, s := e.Main.Find(output)
		return s.Input(n, i)
	}
	for _, c := range []struct {
		name   string
		change func(m *onnx.NewModel)
		output string // of the node whose input is asked for
		input  int
		want   []float64 // its first numbers
	}{
		{"a divisor that the graph counts", func(m *onnx.NewModel) {
			pad(m)
			m.Initializers = append(m.Initializers, floats("sixteen", dims{}, func(int) float64 { return 16 }))
			m.Nodes = append(m.Nodes, node("Div", "ratio", "count", "sixteen"), node("Mul", "y", "h", "ratio"))
			m.Outputs = append(m.Outputs, onnx.NewValue{Name: "y", Type: onnx.Float, Dims: dims{1, 16, 4}})
		}, "ratio", 1, []float64{36}},
		{"the root of the places", root(0.25), "scaled", 1, []float64{1. / 6}},
		{"the fourth root", root(0.5), "scaled", 1, []float64{math.Pow(36, -0.25)}},
		{"another factor", root(0.3), "scaled", 1, []float64{0.3}},
		{"anchors", func(m *onnx.NewModel) {
			m.Initializers = append(m.Initializers, noise("boxes", 4, 2), floats("anchors", dims{1, 16, 2}, func(i int) float64 { return []float64{float64(i/2%4) + .5, float64(i/8) + .5}[i%2] / 4 }))
			m.Nodes = append(m.Nodes, node("MatMul", "b", "h", "boxes"), node("Add", "y", "b", "anchors"))
			m.Outputs = append(m.Outputs, onnx.NewValue{Name: "y", Type: onnx.Float, Dims: dims{1, 16, 2}})
		}, "y", 1, []float64{.5 / 6, .5 / 6, 1.5 / 6, .5 / 6}},
		{"anchors of the best", func(m *onnx.NewModel) {
			m.Initializers = append(m.Initializers, noise("score", 4, 1), integers("five", 5), integers("flatten", 1, -1), integers("list", -1), floats("anchors", dims{1, 16, 2}, func(i int) float64 { return []float64{float64(i/2%4) + .5, float64(i/8) + .5}[i%2] }))
			m.Nodes = append(m.Nodes, node("MatMul", "s", "h", "score"), node("Reshape", "flat2", "s", "flatten"),
				withInts(onnx.NewNode{Op: "TopK", Inputs: []string{"flat2", "five"}, Outputs: []string{"best", "which"}}, "axis", int64(1)), node("Reshape", "index", "which", "list"), withInts(node("Gather", "y", "anchors", "index"), "axis", int64(1)))
			m.Outputs = append(m.Outputs, onnx.NewValue{Name: "y", Type: onnx.Float, Dims: dims{1, 5, 2}})
		}, "y", 0, []float64{.5, .5, 1.5, .5, 2.5, .5, 3.5, .5, 4.5, .5, 5.5, .5, .5, 1.5}},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, err := regridded(t, position.GridOptions{}, c.change)
			if err != nil {
				t.Fatal(err)
			}
			got := input(e, c.output, c.input)
			for i, want := range c.want {
				if !got.Known() || math.Abs(got.Number(i)-want) > 1e-6 {
					t.Fatalf("number %d of %v: not %g", i, got.Shape, want)
				}
			}
		})
	}
}

// TestRootsOfEither: a factor that is the root of one over the columns, and the fourth root of one over the places, may be either.
func TestRootsOfEither(t *testing.T) {
	_, err := regridded(t, position.GridOptions{}, func(m *onnx.NewModel) {
		m.Initializers = append(m.Initializers, floats("factor", []int64{}, func(int) float64 { return 0.5 }))
		m.Nodes = append(m.Nodes, node("Mul", "scaled", "h", "factor"), withInts(node("Transpose", "channels", "scaled"), "perm", []int64{0, 2, 1}), node("MatMul", "y", "channels", "h"))
		m.Outputs = append(m.Outputs, onnx.NewValue{Name: "y", Type: onnx.Float, Dims: []int64{1, 4, 4}})
	})
	if refusal, ok := errors.AsType[*position.Refusal](err); !ok || !strings.Contains(refusal.Why, "which of the two is not in the file") {
		t.Errorf("%v", err)
	}
}

// TestUntiedWindows: windows of whose side nothing in the file speaks keep it, or their number, as the caller says.
func TestUntiedWindows(t *testing.T) {
	type dims = []int64
	byDistance := floats("bias", dims{1, 4, 4}, func(i int) float64 { return math.Sin(float64(1 + 3*((i%4)/2-i/8) + i%2 - i/4%2)) })
	ofPairs := noise("bias", 1, 4, 4)
	windows := func(bias *onnx.NewTensor) func(m *onnx.NewModel) {
		return func(m *onnx.NewModel) { // 2×2 windows of 2×2 places
			m.Initializers = append(m.Initializers, integers("cut", 1, 2, 2, 2, 2, 4), integers("apart", 4, 4, 4), integers("grid", 1, 2, 2, 2, 2, 4), integers("back", 1, 16, 4))
			scores, nodes := "scores", []onnx.NewNode{node("Reshape", "c", "h", "cut"), withInts(node("Transpose", "ct", "c"), "perm", dims{0, 1, 3, 2, 4, 5}), node("Reshape", "w", "ct", "apart"),
				withInts(node("Transpose", "wt", "w"), "perm", dims{0, 2, 1}), node("MatMul", "scores", "w", "wt")}
			if bias != nil {
				m.Initializers = append(m.Initializers, *bias)
				scores, nodes = "biased", append(nodes, node("Add", "biased", "scores", "bias"))
			}
			m.Nodes = append(m.Nodes, nodes...)
			m.Nodes = append(m.Nodes, withInts(node("Softmax", "p", scores), "axis", int64(-1)), node("MatMul", "o", "p", "w"), node("Reshape", "g", "o", "grid"), withInts(node("Transpose", "gt", "g"), "perm", dims{0, 1, 3, 2, 4, 5}), node("Reshape", "y", "gt", "back"))
			m.Outputs = append(m.Outputs, onnx.NewValue{Name: "y", Type: onnx.Float, Dims: dims{1, 16, 4}})
		}
	}
	_, err := regridded(t, position.GridOptions{}, windows(nil))
	if refusal, ok := errors.AsType[*position.Refusal](err); !ok || !strings.Contains(refusal.Why, "whether windows stay of 2×2 places, or their number of 2×2") || len(refusal.Remedies) != 2 {
		t.Errorf("%+v", err)
	}
	for side, want := range map[int][]int{2: {1, 3, 2, 3, 2, 4}, 3: {1, 2, 3, 2, 3, 4}} {
		e, err := regridded(t, position.GridOptions{Window: [2]int{side, side}}, windows(nil))
		if err != nil {
			t.Fatal(err)
		}
		if got := e.Main.Value("c").Shape; len(got) != 6 || [6]int(got) != [6]int(want) {
			t.Errorf("windows of %d: %v, want %v", side, got, want)
		}
	}
	_, err = regridded(t, position.GridOptions{Window: [2]int{2, 2}}, func(*onnx.NewModel) {})
	if usage, ok := errors.AsType[*position.UsageError](err); !ok || !strings.Contains(usage.What, "cuts no picture into windows") {
		t.Errorf("%v of a model without windows", err)
	}
	if _, err := regridded(t, position.GridOptions{}, windows(&byDistance)); err != nil && strings.Contains(err.Error(), "whether windows stay") {
		t.Errorf("a bias says which: %v", err)
	}
	if _, err := regridded(t, position.GridOptions{Window: [2]int{3, 3}}, windows(&byDistance)); err != nil {
		t.Errorf("%v of windows with a bias by distance", err)
	}
	if _, err := regridded(t, position.GridOptions{Window: [2]int{3, 3}}, windows(&ofPairs)); err == nil || !strings.Contains(err.Error(), "those of 81 others cannot be told") {
		t.Errorf("%v of windows with a bias for each pair", err)
	}
}

// TestOverlappingPatches: patches of 8 pixels that are 6 apart are counted by their steps.
func TestOverlappingPatches(t *testing.T) {
	overlapping := func(m *onnx.NewModel) {
		picture(m)
		m.Outputs[0].Dims = []int64{1, 25, 4}
		m.Initializers = append(m.Initializers, noise("pos", 1, 25, 4))
		m.Initializers[2] = integers("flat", 1, 4, 25)
		m.Nodes[0] = withInts(node("Conv", "patches", "pixel_values", "patch"), "strides", []int64{6, 6})
		m.Nodes = append(m.Nodes, node("Add", "h", "x", "pos"))
	}
	m := built(t, overlapping)
	if _, err := position.ResizeGrid(m, position.GridOptions{Image: 44}); err != nil {
		t.Fatal(err)
	}
	after := result(t, m, saved(t, overlapping))
	if got := after.PatchGrid(); got.Sides() != [2]int{7, 7} || len(after.graph.Eval.Failures) > 0 {
		t.Errorf("%v, %v", got, after.graph.Eval.Failures)
	}
	_, err := position.ResizeGrid(built(t, overlapping), position.GridOptions{Image: 48})
	if usage, ok := errors.AsType[*position.UsageError](err); !ok || !strings.Contains(usage.Hint, "44 and 50") {
		t.Errorf("48 pixels: %v", err)
	}
}
