package onnxpos

import (
	"strings"
	"testing"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/position"
)

// TestTakes holds that a picture is called taken as it is only where every output follows its
// size.
func TestTakes(t *testing.T) {
	scaled := func(factor, places string) func(m *onnx.NewModel) { // by the root of one over the 49 places of the traced picture
		return func(m *onnx.NewModel) {
			resampled(m)
			m.Initializers = append(m.Initializers, integers("flat49", 1, 4, -1), floats("factor", []int64{}, func(int) float64 { return 1. / 7 }))
			m.Outputs = append(m.Outputs, onnx.NewValue{Name: "channels", Type: onnx.Float, Dims: []int64{1, 4, 4}})
			m.Nodes = append(m.Nodes, node("Reshape", "places", "h", "flat49"), withInts(node("Transpose", "turned", "places"), "perm", []int64{0, 2, 1}),
				node("Mul", "scaled", factor, places), node("MatMul", "channels", "scaled", "turned"))
		}
	}
	for _, c := range []struct {
		name   string
		change func(*onnx.NewModel)
		left   string
		first  bool // asked of the size that was evaluated first
	}{
		{"all follows", resampled, "", false},
		{"all follows, and the size is the first", resampled, "", true},
		{"an output of the old size", func(m *onnx.NewModel) {
			resampled(m)
			m.Initializers = append(m.Initializers, integers("old", 1, 4, 32, 32))
			m.Outputs = append(m.Outputs, onnx.NewValue{Name: "depth", Type: onnx.Float, Dims: []int64{1, 4, -1, -1}})
			m.Nodes = append(m.Nodes, withInts(node("Resize", "depth", "h", "", "", "old"), "mode", "linear"))
		}, "output depth stays at [1 4 32 32]", false},
		{"a factor of the old places", scaled("places", "factor"), "the root of one over 49", false},
		{"a factor of the old places, ahead", scaled("factor", "places"), "the root of one over 49", false},
		{"an output of a size of its own", func(m *onnx.NewModel) {
			resampled(m)
			m.Initializers = append(m.Initializers, integers("old", 1, 4, 20, 20))
			m.Outputs = append(m.Outputs, onnx.NewValue{Name: "depth", Type: onnx.Float, Dims: []int64{1, 4, -1, -1}})
			m.Nodes = append(m.Nodes, withInts(node("Resize", "depth", "h", "", "", "old"), "mode", "linear"))
		}, "gives [1 4 20 20], whatever the picture", false},
		{"the size that was evaluated first, and an output of another", func(m *onnx.NewModel) {
			resampled(m)
			m.Initializers = append(m.Initializers, integers("old", 1, 4, 20, 20))
			m.Outputs = append(m.Outputs, onnx.NewValue{Name: "depth", Type: onnx.Float, Dims: []int64{1, 4, -1, -1}})
			m.Nodes = append(m.Nodes, withInts(node("Resize", "depth", "h", "", "", "old"), "mode", "linear"))
		}, "gives [1 4 20 20], whatever the picture", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := built(t, c.change)
			wanted := position.GridOptions{Height: 8, Width: 8}
			if c.first {
				wanted.Height, wanted.Width = m.PatchGrid()[1], m.PatchGrid()[2]
			}
			out, err := position.ResizeGrid(m, wanted)
			switch {
			case c.left == "" && (err != nil || !strings.Contains(out.Nothing, "patches as it is")):
				t.Errorf("%q, %v, want it taken", out.Nothing, err)
			case c.left != "" && (err == nil || !strings.Contains(err.Error(), c.left)):
				t.Errorf("%q, %v, want refused: %s", out.Nothing, err, c.left)
			}
		})
	}
}
