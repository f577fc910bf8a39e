package ranks

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
)

func node(op, out, attribute string, value any, in ...string) onnx.NewNode {
	n := onnx.NewNode{Op: op, Inputs: in, Outputs: []string{out}}
	if attribute != "" {
		n.Attributes = []onnx.NewAttribute{{Name: attribute, Value: value}}
	}
	return n
}

func weights(name string, dims ...int64) onnx.NewTensor {
	x := make([]float64, onnx.Size(dims))
	for i := range x {
		x[i] = float64(i%7) - 3
	}
	raw, _ := onnx.EncodeFloats(onnx.Float, x, nil)
	return onnx.NewTensor{Name: name, Type: onnx.Float, Dims: dims, Raw: raw}
}

func sizes(name string, content ...int64) onnx.NewTensor {
	var raw []byte
	for _, n := range content {
		for range 8 {
			raw, n = append(raw, byte(n)), n>>8
		}
	}
	return onnx.NewTensor{Name: name, Type: onnx.Int64, Dims: []int64{int64(len(content))}, Raw: raw}
}

// Inputs that declare no shape get the axes that nodes tell, or the first with which the graph runs; all stay without where none does.
func TestAssume(t *testing.T) {
	x, ids := onnx.NewValue{Name: "x", Type: onnx.Float}, onnx.NewValue{Name: "ids", Type: onnx.Int64}
	for _, c := range []struct {
		name   string
		inputs []onnx.NewValue
		nodes  []onnx.NewNode
		stored []onnx.NewTensor
		want   string // axes of the inputs, and whether they are told
	}{
		{"tokens", []onnx.NewValue{ids}, []onnx.NewNode{node("Gather", "y", "", nil, "E", "ids")}, []onnx.NewTensor{weights("E", 9, 4)}, "ids[? ?]"},
		{"a picture", []onnx.NewValue{x}, []onnx.NewNode{node("Conv", "y", "", nil, "x", "W")}, []onnx.NewTensor{weights("W", 4, 3, 2, 2)}, "x[? 3 ? ?] told"},
		{"frames that are exchanged", []onnx.NewValue{x}, []onnx.NewNode{node("Transpose", "t", "perm", []int64{0, 2, 1}, "x"), node("Conv", "y", "", nil, "t", "W")},
			[]onnx.NewTensor{weights("W", 4, 5, 2)}, "x[? ? 5] told"},
		{"states", []onnx.NewValue{x}, []onnx.NewNode{node("MatMul", "y", "", nil, "x", "W")}, []onnx.NewTensor{weights("W", 6, 4)}, "x[? ? 6]"},
		{"keys of earlier tokens", []onnx.NewValue{{Name: "h", Type: onnx.Float, Dims: []int64{1, 5, 8}}, x},
			[]onnx.NewNode{node("Reshape", "r", "", nil, "h", "S"), node("Transpose", "k", "perm", []int64{0, 2, 1, 3}, "r"), node("Concat", "y", "axis", int64(2), "x", "k")},
			[]onnx.NewTensor{sizes("S", 1, 5, 2, 4)}, "x[? 2 ? 4] told"},
		{"what no node takes", []onnx.NewValue{x, ids}, nil, nil, "x[? ? ?] ids[? ?]"},
		{"of two ranks at once", []onnx.NewValue{x}, []onnx.NewNode{node("Transpose", "y", "perm", []int64{1, 0}, "x"), node("Transpose", "z", "perm", []int64{0, 2, 1}, "x")}, nil, ""},
	} {
		last := c.inputs[0].Name
		if len(c.nodes) > 0 {
			last = c.nodes[len(c.nodes)-1].Outputs[0]
		}
		content := onnx.NewModel{Opset: 17, Inputs: c.inputs, Nodes: c.nodes, Initializers: c.stored, Outputs: []onnx.NewValue{{Name: last, Type: onnx.Float}}}.Build()
		f, err := onnx.NewFile(bytes.NewReader(content), int64(len(content)))
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		for _, in := range f.Graph.Inputs {
			if in.Name == "x" || in.Name == "ids" {
				in.Ranked, in.Dims = false, nil
			}
		}
		var got []string
		for _, g := range Assume(f, eval.NewBudget(t.Context(), 1<<30)) {
			var axes []string
			for _, d := range g.Input.Dims {
				switch {
				case d.Value >= 0:
					axes = append(axes, fmt.Sprint(d.Value))
				default:
					axes = append(axes, "?")
				}
			}
			text := fmt.Sprintf("%s[%s]", g.Input.Name, strings.Join(axes, " "))
			if g.Told {
				text += " told"
			}
			got = append(got, text)
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%s: %q, want %q", c.name, text, c.want)
		}
		for _, in := range f.Graph.Inputs {
			if c.want == "" && in.Ranked {
				t.Errorf("%s: %s has a shape", c.name, in.Name)
			}
		}
	}
}
