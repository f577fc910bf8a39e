package axes

import (
	"bytes"
	"slices"
	"testing"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
)

// TestDemands gives fused attentions caches whose heads the file leaves without a size.
func TestDemands(t *testing.T) {
	cache := func(name string, dims ...int64) onnx.NewValue {
		return onnx.NewValue{Name: name, Type: onnx.Float, Dims: dims}
	}
	for _, c := range []struct {
		name  string
		node  onnx.NewNode
		width int64 // of x
		want  []Demand
	}{
		{"grouped heads by num_heads", with(with(onnx.NewNode{Op: "GroupQueryAttention", Domain: "com.microsoft", Inputs: []string{"x", "k", "v", "pastk", "pastv", "lengths", "total"}, Outputs: []string{"y", "pk", "pv"}}, "num_heads", int64(4)), "kv_num_heads", int64(2)), 48,
			[]Demand{{"pastk", 3, 12}, {"pastv", 3, 12}}},
		{"packed", with(with(onnx.NewNode{Op: "GroupQueryAttention", Domain: "com.microsoft", Inputs: []string{"x", "", "", "pastk", "pastv", "lengths", "total"}, Outputs: []string{"y", "pk", "pv"}}, "num_heads", int64(4)), "kv_num_heads", int64(2)), 48,
			[]Demand{{"pastk", 3, 6}, {"pastv", 3, 6}}},
		{"values of another size", with(with(onnx.NewNode{Op: "Attention", Inputs: []string{"x", "k", "wide", "", "pastk", "pastv"}, Outputs: []string{"y", "pk", "pv"}}, "q_num_heads", int64(4)), "kv_num_heads", int64(2)), 48,
			[]Demand{{"pastk", 3, 12}, {"pastv", 3, 20}}},
		{"a size that the file states", with(with(onnx.NewNode{Op: "GroupQueryAttention", Domain: "com.microsoft", Inputs: []string{"x", "k", "v", "stated", "pastv", "lengths", "total"}, Outputs: []string{"y", "pk", "pv"}}, "num_heads", int64(4)), "kv_num_heads", int64(2)), 48,
			[]Demand{{"pastv", 3, 12}}},
	} {
		content := onnx.NewModel{Opset: 23, Nodes: []onnx.NewNode{c.node},
			Inputs: []onnx.NewValue{cache("x", 1, 6, c.width), cache("k", 1, 6, 24), cache("v", 1, 6, 24), cache("wide", 1, 6, 40), cache("pastk", 1, 2, -1, -1), cache("pastv", 1, 2, -1, -1), cache("stated", 1, 2, -1, 12),
				{Name: "lengths", Type: onnx.Int32, Dims: []int64{1}}, {Name: "total", Type: onnx.Int32, Dims: []int64{}}},
			Outputs: []onnx.NewValue{cache("y", 1, 6, 48)}}.Build()
		f, err := onnx.NewFile(bytes.NewReader(content), int64(len(content)))
		if err != nil {
			t.Fatal(err)
		}
		inputs := map[string]*eval.Value{"lengths": eval.IntValue(onnx.Int32, []int{1}, []int64{7}), "total": eval.IntValue(onnx.Int32, []int{}, []int64{8})}
		for _, in := range f.Graph.Inputs {
			if in.Type.IsFloat() {
				var shape []int
				for _, d := range in.Dims {
					shape = append(shape, max(int(d.Value), -2*int(d.Value))) // 2 where it is free
				}
				inputs[in.Name] = eval.Shaped(onnx.Float, shape...)
			}
		}
		e := eval.New(f, inputs)
		e.Run()
		if got := Pass(e, e.File.Graph.Inputs, func(*onnx.ValueInfo) Input { return Input{Depends: Content} }).Demands(); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
