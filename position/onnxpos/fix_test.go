package onnxpos

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/position"
)

// TestFixKnows: of what depends on numbers in the inputs, and on axes that stay free, no size is declared.
func TestFixKnows(t *testing.T) {
	change := func(m *onnx.NewModel) {
		m.Inputs[0].Dims, m.Outputs[0].Dims = []int64{-1, -1}, []int64{-1, -1, 4}
		m.Inputs = append(m.Inputs, onnx.NewValue{Name: "k", Type: onnx.Int64, Dims: []int64{1}})
		m.Initializers = append(m.Initializers, integers("begin", 0), integers("step", 1))
		m.Nodes = append(m.Nodes, node("NonZero", "found", "ids"), node("Slice", "cut", "ids", "begin", "k", "step"), node("ReduceMax", "most", "ids"),
			node("Shape", "of found", "found"), node("ConstantOfShape", "filled", "of found"), node("Expand", "spread", "ids", "k"), node("Add", "twice", "ids", "ids"), node("Shape", "of ids", "ids"))
	}
	for _, c := range []struct {
		name string
		axes []position.Axis
		want map[string][]int64 // of values that must be declared
		not  []string
	}{
		{"both", []position.Axis{{Name: "ids:0", Size: 2}, {Name: "ids:1", Size: 8}}, map[string][]int64{"twice": {2, 8}, "of ids": {2}}, []string{"found", "cut", "filled", "spread"}},
		{"one", []position.Axis{{Name: "ids:1", Size: 8}}, map[string][]int64{"of ids": {2}}, []string{"twice", "found", "cut", "filled", "spread"}},
	} {
		m := built(t, change)
		out, err := position.Extend(m, position.ExtendOptions{Fix: c.axes})
		if err != nil || out.Nothing != "" {
			t.Errorf("%s: %v, %q", c.name, err, out.Nothing)
			continue
		}
		after := result(t, m, saved(t, change))
		declared := map[string][]int64{}
		for _, v := range after.graph.File.Graph.ValueInfos {
			for _, d := range v.Dims {
				declared[v.Name] = append(declared[v.Name], d.Value)
			}
		}
		for name, want := range c.want {
			if !slices.Equal(declared[name], want) {
				t.Errorf("%s: %s is declared %v, want %v", c.name, name, declared[name], want)
			}
		}
		for _, name := range c.not {
			if declared[name] != nil {
				t.Errorf("%s: %s is declared %v, and nobody can know", c.name, name, declared[name])
			}
		}
		if free := after.FreeAxes(); len(free) != 2-len(c.axes) {
			t.Errorf("%s: %v stay free", c.name, free)
		}
		if outputs := after.graph.File.Graph.Outputs[0].Dims; outputs[1].Value != 8 {
			t.Errorf("%s: the output is declared %v; values %v", c.name, outputs, slices.Sorted(maps.Keys(declared)))
		}
	}
}

// TestFixStates: what is declared where only some axes become numbers, of texts of a fixed length, of pictures in patches, of axes that hang together, and
// of numbers in 8 bits, which are declared as they are stored.
func TestFixStates(t *testing.T) {
	patches := func(m *onnx.NewModel) {
		picture(m)
		m.Inputs[0].Dims, m.Outputs[0].Dims = []int64{1, 3, -1, -1}, []int64{1, -1, 4}
		m.Initializers[2] = integers("flat", 1, 4, -1)
		m.Initializers = append(m.Initializers, integers("zeroth", 0), integers("third", 3), integers("one", 1), integers("none", 0))
		for i := range m.Initializers[len(m.Initializers)-4:] {
			m.Initializers[len(m.Initializers)-4+i].Dims = nil
		}
		m.Nodes = append(m.Nodes, node("Shape", "sides", "patches"), node("Gather", "columns", "sides", "third"), node("Range", "counted", "none", "columns", "one"), node("MatMul", "h", "x", "W"))
	}
	for _, c := range []struct {
		name   string
		change func(m *onnx.NewModel)
		axes   []position.Axis
		want   map[string][]int64
		not    []string
	}{
		{"a text of fixed length", func(m *onnx.NewModel) {
			m.Inputs[0].Dims, m.Outputs[0].Dims = []int64{-1, 6}, []int64{-1, 6, 4}
		}, []position.Axis{{Name: "ids:0", Size: 2}}, map[string][]int64{"p": {6}, "pe": {6, 4}, "te": {2, 6, 4}}, nil},
		{"one side of a picture", patches, []position.Axis{{Name: "pixel_values:2", Size: 32}}, nil, []string{"counted", "x"}},
		{"both sides", patches, []position.Axis{{Name: "pixel_values:2", Size: 32}, {Name: "pixel_values:3", Size: 48}}, map[string][]int64{"counted": {6}, "x": {1, 24, 4}}, nil},
		{"a mask that is as long", func(m *onnx.NewModel) {
			m.Inputs[0].Dims, m.Outputs[0].Dims = []int64{-1, -1}, []int64{-1, -1, 4}
			m.Inputs = append(m.Inputs, onnx.NewValue{Name: "mask", Type: onnx.Int64, Dims: []int64{-1, -1}})
			m.Nodes = append(m.Nodes, node("Mul", "seen", "ids", "mask"), node("Shape", "sizes", "seen"), node("ConstantOfShape", "zeros", "sizes"))
		}, []position.Axis{{Name: "ids:0", Size: 1}, {Name: "mask:0", Size: 1}}, nil, []string{"seen", "zeros", "p"}},
		{"the lesser of two that stay free", func(m *onnx.NewModel) {
			m.Inputs[0].Dims, m.Outputs[0].Dims = []int64{-1, -1}, []int64{-1, -1, 4}
			m.Inputs = append(m.Inputs, onnx.NewValue{Name: "other", Type: onnx.Float, Dims: []int64{-1, 4}})
			m.Initializers = append(m.Initializers, integers("from", 0), integers("n shape", 1))
			m.Nodes = append(m.Nodes, node("Shape", "both", "other"), node("Slice", "rows", "both", "from", "n shape"), node("Reshape", "n1", "n", "n shape"), node("Min", "less", "n1", "rows"), node("Slice", "kept", "other", "from", "less"))
		}, []position.Axis{{Name: "ids:0", Size: 1}}, nil, []string{"kept", "p"}},
		{"blocks of 64", func(m *onnx.NewModel) {
			m.Inputs[0].Dims, m.Outputs[0].Dims = []int64{-1, -1}, []int64{-1, -1, 4}
			m.Nodes[3], m.Nodes[5] = node("Identity", "unused", "one"), node("Identity", "h", "te") // no table ends it
			m.Initializers = append(m.Initializers, integers("64", 64), integers("n shape", 1))
			m.Nodes = append(m.Nodes, node("Reshape", "n1", "n", "n shape"), node("Div", "blocks", "n1", "64"), node("ConstantOfShape", "filled", "blocks"))
		}, []position.Axis{{Name: "ids:0", Size: 1}}, map[string][]int64{"blocks": {1}}, []string{"filled"}},
		{"what follows from an operator that is known by its name alone", func(m *onnx.NewModel) {
			m.Inputs[0].Dims, m.Outputs[0].Dims = []int64{-1, 6}, []int64{-1, 6, 4}
			m.Nodes[5] = node("Add", "h0", "te", "pe")
			m.Nodes = append(m.Nodes, onnx.NewNode{Op: "FakeQuantize", Domain: "acme", Inputs: []string{"h0"}, Outputs: []string{"q"}}, node("Identity", "h", "q"))
		}, []position.Axis{{Name: "ids:0", Size: 1}}, map[string][]int64{"h0": {1, 6, 4}}, []string{"q"}},
		{"numbers in 8 bits", func(m *onnx.NewModel) {
			m.Inputs[0].Dims, m.Outputs[0].Dims = []int64{-1, 6}, []int64{-1, 6, 4}
			m.Initializers = append(m.Initializers, floats("scale", nil, func(int) float64 { return 0.1 }), onnx.NewTensor{Name: "zero8", Type: onnx.Uint8, Raw: []byte{128}})
			m.Nodes[5] = node("Add", "h0", "te", "pe")
			m.Nodes = append(m.Nodes, node("QuantizeLinear", "q", "h0", "scale", "zero8"), node("DequantizeLinear", "h", "q", "scale", "zero8"))
		}, []position.Axis{{Name: "ids:0", Size: 1}}, map[string][]int64{"q": {1, 6, 4}}, nil},
	} {
		m := built(t, c.change)
		if _, err := position.Extend(m, position.ExtendOptions{Fix: c.axes}); err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		declared := map[string][]int64{}
		for _, v := range result(t, m, saved(t, c.change)).graph.File.Graph.ValueInfos {
			for _, d := range v.Dims {
				declared[v.Name] = append(declared[v.Name], d.Value)
			}
			if v.Name == "q" && v.Type != onnx.Uint8 { // as it is stored
				t.Errorf("%s: %s is declared to hold %v", c.name, v.Name, v.Type)
			}
		}
		for name, want := range c.want {
			if !slices.Equal(declared[name], want) {
				t.Errorf("%s: %s is declared %v, want %v", c.name, name, declared[name], want)
			}
		}
		for _, name := range c.not {
			if declared[name] != nil {
				t.Errorf("%s: %s is declared %v, and is as large as callers choose", c.name, name, declared[name])
			}
		}
	}
}

// TestFixPast: rows are counted from the first token of keys and values that are given, when their number is in the file as when it is not.
func TestFixPast(t *testing.T) {
	change := func(m *onnx.NewModel) {
		step(m, -1, 3, -1, node("Shape", "shape", "past"), node("Slice", "before", "shape", "two", "three"), node("Add", "at", "before", "counted"))
	}
	m := built(t, change)
	if _, err := position.Extend(m, position.ExtendOptions{Fix: []position.Axis{{Name: "past:2", Size: 5}}}); err != nil {
		t.Fatal(err)
	}
	if after := result(t, m, saved(t, change)); found(after) != found(built(t, change)) {
		t.Errorf("%s became %s", found(built(t, change)), found(after))
	}
}

// TestFixRefuses: more tokens than positions, names that are not there, two numbers for one axis.
func TestFixRefuses(t *testing.T) {
	for _, c := range []struct {
		length int
		axes   []position.Axis
		want   string
	}{
		{0, []position.Axis{{Name: "ids:1", Size: 17}}, "inputs of 17 tokens, and the model has 16 positions"},
		{32, []position.Axis{{Name: "ids:1", Size: 17}}, "inputs of 17 tokens with a length of 32"},
		{0, []position.Axis{{Name: "ids:2", Size: 17}}, `no free axis of an input is called "ids:2"`},
		{0, []position.Axis{{Name: "ids:1", Size: 8}, {Name: "ids:1", Size: 9}}, "the axis ids:1 gets two numbers"},
		{0, []position.Axis{{Name: "ids:1", Size: -1}}, "a size must be between 1"},
	} {
		_, err := position.Extend(built(t, free), position.ExtendOptions{Length: c.length, Fix: c.axes})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %s", c.axes, err, c.want)
		}
	}
	var u *position.UsageError
	if _, err := position.Extend(built(t, free), position.ExtendOptions{}); !errors.As(err, &u) {
		t.Errorf("no length and no axis: %v", err)
	}
}
