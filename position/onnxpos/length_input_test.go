package onnxpos

import (
	"slices"
	"testing"

	"github.com/modelpatch/modelpatch/onnx"
)

// TestLengthInputs gives an input the length that positions are counted to, or rows taken to, whatever it is called; not one that says where they begin.
func TestLengthInputs(t *testing.T) {
	for name, change := range map[string]func(m *onnx.NewModel){
		"the end of a range": func(m *onnx.NewModel) {
			m.Inputs = append(m.Inputs, onnx.NewValue{Name: "m", Type: onnx.Int64})
			m.Nodes = append(m.Nodes, node("Range", "places", "zero", "m", "one"), node("Gather", "pe", "table", "places"))
		},
		"a number in an axis of its own": func(m *onnx.NewModel) {
			m.Inputs = append(m.Inputs, onnx.NewValue{Name: "m", Type: onnx.Int32, Dims: []int64{1}})
			m.Nodes = append(m.Nodes, withInts(node("Cast", "wide", "m"), "to", int64(onnx.Int64)), node("Squeeze", "end", "wide", "begin"), node("Range", "places", "zero", "end", "one"), node("Gather", "pe", "table", "places"))
		},
		"the end of a slice": func(m *onnx.NewModel) {
			m.Inputs = append(m.Inputs, onnx.NewValue{Name: "m", Type: onnx.Int64})
			m.Nodes = append(m.Nodes, node("Unsqueeze", "end", "m", "begin"), node("Slice", "pe", "table", "begin", "end", "begin"))
		},
		"what places are less than": func(m *onnx.NewModel) {
			m.Inputs = append(m.Inputs, onnx.NewValue{Name: "m", Type: onnx.Int64, Dims: []int64{1}})
			m.Nodes = append(m.Nodes, node("Range", "places", "zero", "n", "one"), node("Less", "counts", "places", "m"), node("Where", "at", "counts", "places", "zero"), node("Gather", "pe", "table", "at"))
		},
		"what is greater than places": func(m *onnx.NewModel) {
			m.Inputs = append(m.Inputs, onnx.NewValue{Name: "m", Type: onnx.Int64})
			m.Nodes = append(m.Nodes, node("Range", "places", "zero", "n", "one"), node("Greater", "counts", "m", "places"), node("Where", "at", "counts", "places", "zero"), node("Gather", "pe", "table", "at"))
		},
		"where positions begin": func(m *onnx.NewModel) {
			m.Inputs = append(m.Inputs, onnx.NewValue{Name: "m", Type: onnx.Int64})
			m.Nodes = append(m.Nodes, node("Add", "end", "m", "n"), node("Range", "places", "m", "end", "one"), node("Gather", "pe", "table", "places"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := built(t, func(m *onnx.NewModel) {
				freeText(m, 8)
				m.Initializers = append(m.Initializers, noise("table", 24, 8), integers("begin", 0))
				change(m)
				m.Nodes = append(m.Nodes, node("Add", "h0", "te", "pe"))
			})
			if got, want := found(m), "position table of 24 rows of 8 ×24"; got != want {
				t.Errorf("found %q, want %q", got, want)
			}
			if e := m.Sites()[0].Encoding(); slices.Contains([]string{"wrong", "continues"}, e.Beyond) {
				t.Errorf("beyond %s", e.Beyond)
			}
		})
	}
}
