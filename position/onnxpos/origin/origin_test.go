package origin

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
)

func node(op, out string, in ...string) onnx.NewNode {
	return onnx.NewNode{Op: op, Inputs: in, Outputs: []string{out}}
}

func with(n onnx.NewNode, name string, v any) onnx.NewNode {
	n.Attributes = append(n.Attributes, onnx.NewAttribute{Name: name, Value: v})
	return n
}

func floats(name string, dims []int64, at func(i int) float64) onnx.NewTensor {
	n := int64(1)
	for _, d := range dims {
		n *= d
	}
	x := make([]float64, n)
	for i := range x {
		x[i] = at(i)
	}
	b, _ := onnx.EncodeFloats(onnx.Float, x, nil)
	return onnx.NewTensor{Name: name, Type: onnx.Float, Dims: dims, Raw: b}
}

func integers(name string, t onnx.DataType, dims []int64, v ...int64) onnx.NewTensor {
	b, _ := onnx.EncodeInts(t, v, nil)
	return onnx.NewTensor{Name: name, Type: t, Dims: dims, Raw: b}
}

// TestOf asks where the value v comes from in small graphs: of table T, six rows of four, by
// whatever nodes lie between.
func TestOf(t *testing.T) {
	for _, c := range []struct {
		name  string
		more  []onnx.NewTensor
		nodes []onnx.NewNode
		found string
	}{
		{"itself", nil, []onnx.NewNode{node("Identity", "v", "T")}, "copies [0 1 2 3] … [20 21 22 23]"},
		{"rows by an index", []onnx.NewTensor{integers("i", onnx.Int64, []int64{2}, 3, 1)}, []onnx.NewNode{node("Gather", "v", "T", "i")}, "copies [12 13 14 15] … [4 5 6 7]"},
		{"a run of rows", []onnx.NewTensor{integers("from", onnx.Int64, []int64{1}, 2), integers("to", onnx.Int64, []int64{1}, 4)},
			[]onnx.NewNode{node("Slice", "v", "T", "from", "to")}, "copies [8 9 10 11] … [12 13 14 15]"},
		{"a product with rows of one number", []onnx.NewTensor{floats("hot", []int64{2, 6}, func(i int) float64 { return map[int]float64{5: 1, 6: 1}[i] })},
			[]onnx.NewNode{node("MatMul", "v", "hot", "T")}, "copies [20 21 22 23] … [0 1 2 3]"},
		{"scaled, and other numbers added", []onnx.NewTensor{floats("s", []int64{4}, func(i int) float64 { return 0.5 }), floats("b", []int64{4}, func(i int) float64 { return float64(i) })},
			[]onnx.NewNode{node("Mul", "m", "T", "s"), node("Add", "v", "m", "b")}, "copies [0 1 2 3] … [20 21 22 23] ×0.5"},
		{"rows that were filled up with zeros", []onnx.NewTensor{integers("pads", onnx.Int64, []int64{4}, 1, 0, 0, 0)},
			[]onnx.NewNode{node("Pad", "v", "T", "pads")}, "copies [-1 -1 -1 -1] … [20 21 22 23]"},
		{"columns first", nil, []onnx.NewNode{with(node("Transpose", "v", "T"), "perm", []int64{1, 0})}, "copies [0 4 8 12 16 20] … [3 7 11 15 19 23]"},
		{"of half the precision", nil, []onnx.NewNode{with(node("Cast", "half", "T"), "to", int64(onnx.Float16)), with(node("Cast", "v", "half"), "to", int64(onnx.Float))},
			"copies [0 1 2 3] … [20 21 22 23]"},
		{"a normalisation of each row", nil, []onnx.NewNode{with(with(node("ReduceL2", "n", "T"), "axes", []int64{1}), "keepdims", int64(1)), node("Div", "v", "T", "n")},
			"rows [0 0 0 0] … [5 5 5 5]"},
		{"a product with weights", []onnx.NewTensor{floats("W", []int64{4, 3}, func(i int) float64 { return math.Sin(float64(i * i)) })},
			[]onnx.NewNode{node("MatMul", "v", "T", "W")}, "rows [0 0 0] … [5 5 5]"},
		{"sums of rows", []onnx.NewTensor{floats("A", []int64{2, 6}, func(i int) float64 { return math.Cos(float64(i)) })},
			[]onnx.NewNode{node("MatMul", "v", "A", "T")}, "rows [0 1 2 3] … [0 1 2 3] along axis 1"},
		{"nothing of it but its shape", nil, []onnx.NewNode{node("Shape", "n", "T"), with(node("Cast", "v", "n"), "to", int64(onnx.Float))}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := evaluated(t, c.more, c.nodes)
			m := New(e)
			m.Expect(e.Main, "v")
			of := m.Of(e.Main, "v")
			if got := summary(of); got != c.found {
				t.Errorf("found %q, want %q", got, c.found)
			}
		})
	}
}

// evaluated is a graph of a table T of six rows of four, other constants and some nodes.
func evaluated(t *testing.T, more []onnx.NewTensor, nodes []onnx.NewNode) *eval.Evaluator {
	t.Helper()
	model := onnx.NewModel{Opset: 17, Nodes: nodes,
		Initializers: append([]onnx.NewTensor{floats("T", []int64{6, 4}, func(i int) float64 { return float64(i*i%7) + 0.25 })}, more...),
		Outputs:      []onnx.NewValue{{Name: "v", Type: onnx.Float, Dims: []int64{-1, -1}}},
	}.Build()
	f, err := onnx.NewFile(bytes.NewReader(model), int64(len(model)))
	if err != nil {
		t.Fatal(err)
	}
	e := eval.New(f, nil)
	e.Run()
	return e
}

// summary returns the origins over T in a line: the first and the last row of the map.
func summary(of *Map) string {
	if of == nil {
		return "nothing"
	}
	say := func(o *Origin, kind string) string {
		width := of.Value.Shape[len(of.Value.Shape)-1]
		out := fmt.Sprintf("%s %v … %v", kind, o.At[:width], o.At[len(o.At)-width:])
		if o.Scale != nil && kind == "copies" {
			if i := slices.IndexFunc(o.At, func(k int) bool { return k >= 0 }); o.Scale[i] != 1 {
				out += fmt.Sprintf(" ×%g", o.Scale[i])
			}
		}
		if o.Axis > 0 {
			out += fmt.Sprintf(" along axis %d", o.Axis)
		}
		return out
	}
	for _, o := range of.Of {
		if o.Tensor.Name == "T" {
			return say(o, "copies")
		}
	}
	for _, o := range of.ByRow {
		if o.Tensor.Name == "T" {
			return say(o, "rows")
		}
	}
	for _, m := range of.Mixed {
		if m.Name == "T" {
			return "mixed"
		}
	}
	return ""
}
