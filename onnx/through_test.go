package onnx

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"testing"
)

// readers are the operators that read a value once do-nothing nodes are seen
// through, in file order.
func readers(g *Graph, name string) []string {
	var out []string
	if v, ok := g.Wiring().Number(name); ok {
		for _, n := range g.Wiring().Readers(v) {
			out = append(out, n.Op)
		}
	}
	return out
}

func floatTensor(name string, dims []int64, values ...float32) NewTensor {
	t := NewTensor{Name: name, Type: Float, Dims: dims}
	for _, v := range values {
		t.Raw = binary.LittleEndian.AppendUint32(t.Raw, math.Float32bits(v))
	}
	return t
}

func intTensor(name string, values ...int64) NewTensor {
	t := NewTensor{Name: name, Type: Int64, Dims: []int64{int64(len(values))}}
	for _, v := range values {
		t.Raw = binary.LittleEndian.AppendUint64(t.Raw, uint64(v))
	}
	return t
}

func node(op string, inputs []string, output string, attributes ...NewAttribute) NewNode {
	return NewNode{Op: op, Inputs: inputs, Outputs: []string{output}, Attributes: attributes}
}

func TestSeeThrough(t *testing.T) {
	perm := func(axes ...int64) NewAttribute { return NewAttribute{Name: "perm", Value: axes} }
	trained := NewTensor{Name: "yes", Type: Bool, Raw: []byte{1}}
	constants := []NewTensor{floatTensor("one", nil, 1), floatTensor("two", nil, 2), floatTensor("ones", []int64{1}, 1), intTensor("first", 0), intTensor("last", -1), trained}
	for _, c := range []struct {
		name  string
		nodes []NewNode // from x to y
		want  []string  // who reads x
	}{
		{"Identity", []NewNode{node("Identity", []string{"x"}, "y")}, []string{"Relu"}},
		{"Dropout", []NewNode{node("Dropout", []string{"x"}, "y")}, []string{"Relu"}},
		{"Dropout while training", []NewNode{node("Dropout", []string{"x", "", "yes"}, "y")}, []string{"Dropout"}},
		{"product with 1", []NewNode{node("Mul", []string{"one", "x"}, "y")}, []string{"Relu"}},
		{"product with 2", []NewNode{node("Mul", []string{"two", "x"}, "y")}, []string{"Mul"}},
		{"quotient of x and 1", []NewNode{node("Div", []string{"x", "one"}, "y")}, []string{"Relu"}},
		{"quotient of 1 and x", []NewNode{node("Div", []string{"one", "x"}, "y")}, []string{"Div"}},
		{"product with a list of one 1", []NewNode{node("Mul", []string{"x", "ones"}, "y")}, []string{"Relu"}},
		{"the same where x may be a scalar", []NewNode{node("ReduceSum", []string{"x"}, "s"), node("Mul", []string{"s", "ones"}, "y")}, []string{"ReduceSum"}},
		{"amplitude of Cos", []NewNode{node("Cos", []string{"x"}, "c"), node("Mul", []string{"c", "one"}, "y")}, []string{"Cos"}},
		{"Unsqueeze and Squeeze", []NewNode{node("Unsqueeze", []string{"x", "first"}, "a"), node("Squeeze", []string{"a", "first"}, "y")}, []string{"Relu"}},
		{"Squeeze of another axis", []NewNode{node("Unsqueeze", []string{"x", "first"}, "a"), node("Squeeze", []string{"a", "last"}, "y")}, []string{"Unsqueeze"}},
		{"pairs in pairs", []NewNode{node("Unsqueeze", []string{"x", "first"}, "a"), node("Transpose", []string{"a"}, "b"), node("Dropout", []string{"b"}, "c"), node("Transpose", []string{"c"}, "d"), node("Squeeze", []string{"d", "first"}, "y")}, []string{"Relu"}},
		{"Transpose and back", []NewNode{node("Transpose", []string{"x"}, "a", perm(1, 2, 0)), node("Transpose", []string{"a"}, "y", perm(2, 0, 1))}, []string{"Relu"}},
		{"Transpose twice the same way", []NewNode{node("Transpose", []string{"x"}, "a", perm(1, 2, 0)), node("Transpose", []string{"a"}, "y", perm(1, 2, 0))}, []string{"Transpose"}},
		{"half of a pair that is read", []NewNode{node("Transpose", []string{"x"}, "a"), node("Exp", []string{"a"}, "e"), node("Transpose", []string{"a"}, "y")}, []string{"Transpose", "Relu"}},
		{"Cast to the same type", []NewNode{node("Cast", []string{"x"}, "y", NewAttribute{Name: "to", Value: int64(Float)})}, []string{"Relu"}},
		{"Cast to another", []NewNode{node("Cast", []string{"x"}, "y", NewAttribute{Name: "to", Value: int64(Float16)})}, []string{"Cast"}},
		{"out of order", []NewNode{node("Squeeze", []string{"b", "first"}, "y"), node("Unsqueeze", []string{"a", "first"}, "b"), node("Dropout", []string{"x"}, "a")}, []string{"Relu"}},
		{"a circle", []NewNode{node("Identity", []string{"b"}, "a"), node("Identity", []string{"a"}, "b"), node("Abs", []string{"x"}, "y")}, []string{"Abs"}},
		{"Concat of one", []NewNode{node("Concat", []string{"x"}, "y", NewAttribute{Name: "axis", Value: int64(0)})}, []string{"Relu"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			content := NewModel{Opset: 17, Initializers: constants, Inputs: []NewValue{{Name: "x", Type: Float, Dims: []int64{2, 3, 4}}}, Outputs: []NewValue{{Name: "z", Type: Float, Dims: []int64{2, 3, 4}}},
				Nodes: append(slices.Clone(c.nodes), node("Relu", []string{"y"}, "z"))}.Build()
			f, err := NewFile(bytes.NewReader(content), int64(len(content)))
			if err != nil {
				t.Fatal(err)
			}
			if got := readers(f.Graph, "x"); !slices.Equal(got, c.want) {
				t.Errorf("x is read by %v, want %v", got, c.want)
			}
			last := f.Graph.Nodes[len(f.Graph.Nodes)-1]
			if last.Written(0) != "y" {
				t.Errorf("the file says that Relu reads %q, and Written says %q", "y", last.Written(0))
			}
		})
	}
}

// TestSeeThroughLongChains holds that a million do-nothing nodes, in file order or
// against it, take no stack and no more than linear time.
func TestSeeThroughLongChains(t *testing.T) {
	const n = 1 << 17
	name := func(i int) string { return string(binary.AppendUvarint([]byte("v"), uint64(i))) }
	for _, backwards := range []bool{false, true} {
		var nodes []NewNode
		for i := range n {
			op := node("Identity", []string{name(i)}, name(i+1))
			if i%2 == 1 {
				op = node("Cast", []string{name(i)}, name(i+1), NewAttribute{Name: "to", Value: int64(Float)})
			}
			nodes = append(nodes, op)
		}
		nodes = append(nodes, node("Relu", []string{name(n)}, "z"))
		if backwards {
			slices.Reverse(nodes)
		}
		content := NewModel{Opset: 17, Inputs: []NewValue{{Name: name(0), Type: Float, Dims: []int64{2}}}, Outputs: []NewValue{{Name: "z", Type: Float, Dims: []int64{2}}}, Nodes: nodes}.Build()
		f, err := NewFile(bytes.NewReader(content), int64(len(content)))
		if err != nil {
			t.Fatal(err)
		}
		if got := readers(f.Graph, name(0)); !slices.Contains(got, "Relu") && !backwards {
			t.Errorf("v0 is read by %d nodes, none of them Relu", len(got))
		}
	}
}
