package eval

import (
	"bytes"
	"slices"
	"testing"

	"github.com/modelpatch/modelpatch/onnx"
)

// TestQuantisedParts reads numbers that have a scale for each part of a constant, as ONNX Runtime 1.31 does.
func TestQuantisedParts(t *testing.T) {
	scales := func(dims ...int64) onnx.NewTensor {
		n := int64(1)
		x := []float64{}
		for _, d := range dims {
			n *= d
		}
		for i := range n {
			x = append(x, float64(i+1)/4)
		}
		b, _ := onnx.EncodeFloats(onnx.Float, x, nil)
		return onnx.NewTensor{Name: "s", Type: onnx.Float, Dims: dims, Raw: b}
	}
	one := func(name string, x float64) onnx.NewTensor {
		b, _ := onnx.EncodeFloats(onnx.Float, []float64{x}, nil)
		return onnx.NewTensor{Name: name, Type: onnx.Float, Raw: b}
	}
	whole := func(name string, t onnx.DataType, dims []int64, raw ...byte) onnx.NewTensor {
		return onnx.NewTensor{Name: name, Type: t, Dims: dims, Raw: raw}
	}
	node := func(op, domain string, attributes map[string]int64, in ...string) onnx.NewNode {
		n := onnx.NewNode{Op: op, Domain: domain, Inputs: in, Outputs: []string{"y"}}
		for _, name := range []string{"axis", "block_size", "gather_axis", "quantize_axis", "bits"} {
			if v, ok := attributes[name]; ok {
				n.Attributes = append(n.Attributes, onnx.NewAttribute{Name: name, Value: v})
			}
		}
		return n
	}
	index := whole("i", onnx.Int64, []int64{2}, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
	for _, c := range []struct {
		name   string
		node   onnx.NewNode
		inputs []onnx.NewTensor
		want   []float64
	}{
		{"a scale for each column", node("DequantizeLinear", "", map[string]int64{"axis": 1}, "d", "s", "z"),
			[]onnx.NewTensor{whole("d", onnx.Uint8, []int64{2, 3}, 1, 2, 3, 4, 5, 6), scales(3), whole("z", onnx.Uint8, []int64{3}, 1, 0, 2)}, []float64{0, 1, 0.75, 0.75, 2.5, 3}},
		{"a scale for each row", node("DequantizeLinear", "", map[string]int64{"axis": -2}, "d", "s"),
			[]onnx.NewTensor{whole("d", onnx.Int8, []int64{2, 2}, 4, 0xff, 2, 1), scales(2)}, []float64{1, -0.25, 1, 0.5}},
		{"a scale for each block", node("DequantizeLinear", "", map[string]int64{"axis": 1, "block_size": 2}, "d", "s"),
			[]onnx.NewTensor{whole("d", onnx.Int4, []int64{2, 3}, 0x21, 0xf4, 0x78), scales(2, 2)}, []float64{0.25, 0.5, 2, -0.75, -6, 7}},
		{"a sum of two, quantised again", onnx.NewNode{Op: "QLinearAdd", Domain: "com.microsoft", Inputs: []string{"d", "half", "three", "e", "quarter", "none", "half", "none"}, Outputs: []string{"q"}},
			[]onnx.NewTensor{whole("d", onnx.Uint8, []int64{4}, 3, 4, 5, 0), whole("three", onnx.Uint8, nil, 3), whole("e", onnx.Uint8, []int64{4}, 0, 2, 4, 6), whole("none", onnx.Uint8, nil, 0), one("half", 0.5), one("quarter", 0.25)},
			[]float64{0, 2, 4, 0}},
		{"two joined, quantised again", onnx.NewNode{Op: "QLinearConcat", Domain: "com.microsoft", Inputs: []string{"half", "none", "d", "half", "three", "e", "quarter", "none"}, Outputs: []string{"q"}, Attributes: []onnx.NewAttribute{{Name: "axis", Value: int64(0)}}},
			[]onnx.NewTensor{whole("d", onnx.Uint8, []int64{1}, 5), whole("three", onnx.Uint8, nil, 3), whole("e", onnx.Uint8, []int64{2}, 2, 6), whole("none", onnx.Uint8, nil, 0), one("half", 0.5), one("quarter", 0.25)},
			[]float64{2, 1, 3}},
		{"scales of another shape", node("DequantizeLinear", "", map[string]int64{"axis": 1}, "d", "s"),
			[]onnx.NewTensor{whole("d", onnx.Uint8, []int64{2, 3}, 1, 2, 3, 4, 5, 6), scales(2)}, nil},
		{"rows in blocks", node("GatherBlockQuantized", "com.microsoft", map[string]int64{"gather_axis": 0, "quantize_axis": 1, "block_size": 2}, "d", "i", "s"),
			[]onnx.NewTensor{whole("d", onnx.Int4, []int64{2, 4}, 0x21, 0xf4, 0x78, 0x13), index, scales(2, 2)}, []float64{-6, 5.25, 3, 1, 0.25, 0.5, 2, -0.5}},
		{"rows in blocks, two numbers a byte", node("GatherBlockQuantized", "com.microsoft", map[string]int64{"quantize_axis": 1, "block_size": 2, "bits": 4}, "d", "i", "s"),
			[]onnx.NewTensor{whole("d", onnx.Uint8, []int64{2, 2}, 0x98, 0x7a, 0x88, 0x89), index, scales(2, 2)}, []float64{0, 0, 1, 0, 0, 0.25, 1, -0.5}},
		{"rows in blocks, with zero points two a byte", node("GatherBlockQuantized", "com.microsoft", map[string]int64{"quantize_axis": 1, "block_size": 2, "bits": 4}, "d", "i", "s", "z"),
			[]onnx.NewTensor{whole("d", onnx.Uint8, []int64{2, 2}, 0x98, 0x7a, 0x88, 0x89), index, scales(2, 2), whole("z", onnx.Uint8, []int64{2, 1}, 0x78, 0x98)}, []float64{0, 0, 0, -1, 0, 0.25, 1.5, 0}},
	} {
		model := onnx.NewModel{Opset: 21, Nodes: []onnx.NewNode{c.node}, Initializers: c.inputs, Outputs: []onnx.NewValue{{Name: c.node.Outputs[0], Type: onnx.Float, Dims: []int64{-1, -1}}}}.Build()
		f, err := onnx.NewFile(bytes.NewReader(model), int64(len(model)))
		if err != nil {
			t.Fatal(err)
		}
		y := New(f, nil).Main.Value(c.node.Outputs[0])
		var got []float64
		for i := range y.Len() {
			if y.Known() {
				got = append(got, y.Number(i))
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v of shape %v, want %v", c.name, got, y.Shape, c.want)
		}
	}
}

// TestUnquantized: where a graph is read unquantised, numbers that are moved between quantisation and its end are what they were, and data of
// which nothing is known are of floating point.
func TestUnquantized(t *testing.T) {
	one := func(name string, x float64) onnx.NewTensor {
		b, _ := onnx.EncodeFloats(onnx.Float, []float64{x}, nil)
		return onnx.NewTensor{Name: name, Type: onnx.Float, Raw: b}
	}
	b, _ := onnx.EncodeFloats(onnx.Float, []float64{0.1, 0.2, 0.3, 40}, nil)
	node := func(op, out string, in ...string) onnx.NewNode {
		return onnx.NewNode{Op: op, Inputs: in, Outputs: []string{out}}
	}
	model := onnx.NewModel{Opset: 21, Inputs: []onnx.NewValue{{Name: "data", Type: onnx.Float, Dims: []int64{2, 2}}},
		Initializers: []onnx.NewTensor{one("scale", 0.5), {Name: "zero", Type: onnx.Uint8, Raw: []byte{3}}, {Name: "x", Type: onnx.Float, Dims: []int64{2, 2}, Raw: b}},
		Nodes: []onnx.NewNode{node("QuantizeLinear", "q", "x", "scale", "zero"), node("Transpose", "turned", "q"), node("DequantizeLinear", "y", "turned", "scale", "zero"),
			node("QuantizeLinear", "d", "data", "scale", "zero"), node("DynamicQuantizeLinear", "dynamic", "x")},
		Outputs: []onnx.NewValue{{Name: "y", Type: onnx.Float, Dims: []int64{2, 2}}}}
	model.Nodes[4].Outputs = []string{"dynamic", "its scale", "its zero"}
	raw := model.Build()
	f, err := onnx.NewFile(bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		t.Fatal(err)
	}
	e := New(f, map[string]*Value{"data": Shaped(onnx.Float, 2, 2)})
	e.Unquantized = true
	f32 := func(x float64) float64 { return float64(float32(x)) }
	want := []float64{f32(0.1), f32(0.3), f32(0.2), 40}
	for _, name := range []string{"y", "turned"} {
		if v := e.Main.Value(name); !v.Known() || !slices.Equal(v.Floats, want) {
			t.Errorf("%s: %v", name, v.Floats)
		}
	}
	if v := e.Main.Value("dynamic"); !v.Known() || v.Floats == nil || v.Number(3) != 40 {
		t.Errorf("dynamic: %v", v)
	}
	if v := e.Main.Value("d"); v.Known() || v.Type != onnx.Float || !slices.Equal(v.Shape, []int{2, 2}) {
		t.Errorf("data: %v", v)
	}
	if v := e.Main.Given("d", Numbered(e.Main.Value("d"))).Value("d"); v.Number(3) != 4 {
		t.Errorf("numbered data: %v", v)
	}
	if plain := New(f, nil).Main; plain.Value("turned").Ints == nil || plain.Value("y").Number(0) != 0 {
		t.Errorf("as it runs: %v, %v", plain.Value("turned"), plain.Value("y"))
	}
}
