package onnxpos

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/onnxpos/rotary"
)

// rewrites are other ways to write what nodes do, by the operator that they replace: as optimisers, quantisers and other frameworks leave it.
var rewrites = map[string]func(n onnx.NewNode) []onnx.NewNode{
	"a Softmax written out": func(n onnx.NewNode) []onnx.NewNode {
		if n.Op != "Softmax" {
			return nil
		}
		o := n.Outputs[0]
		return []onnx.NewNode{withInts(node("ReduceMax", o+" largest", n.Inputs[0]), "axes", []int64{-1}), node("Sub", o+" less", n.Inputs[0], o+" largest"), node("Exp", o+" powers", o+" less"),
			node("ReduceSum", o+" sum", o+" powers", "last"), node("Div", o, o+" powers", o+" sum")}
	},
	"a Softmax by the inverse of a sum": func(n onnx.NewNode) []onnx.NewNode {
		if n.Op != "Softmax" {
			return nil
		}
		o := n.Outputs[0]
		return []onnx.NewNode{node("Exp", o+" powers", n.Inputs[0]), node("ReduceSum", o+" sum", o+" powers", "last"), node("Reciprocal", o+" inverse", o+" sum"), node("Mul", o, o+" inverse", o+" powers")}
	},
	"cosines as sines of a quarter turn more": func(n onnx.NewNode) []onnx.NewNode {
		if n.Op != "Cos" {
			return nil
		}
		return []onnx.NewNode{node("Add", n.Outputs[0]+" angle", n.Inputs[0], "quarter turn"), node("Sin", n.Outputs[0], n.Outputs[0]+" angle")}
	},
	"sums of quantised products": func(n onnx.NewNode) []onnx.NewNode {
		if n.Op != "Add" || len(n.Outputs[0]) < 2 || n.Outputs[0][len(n.Outputs[0])-2:] != " q" {
			return nil
		}
		o := n.Outputs[0]
		return []onnx.NewNode{node("QuantizeLinear", o+" a", n.Inputs[0], "scale", "zp"), node("QuantizeLinear", o+" b", n.Inputs[1], "scale", "zp"),
			{Op: "QLinearAdd", Domain: "com.microsoft", Inputs: []string{o + " a", "scale", "zp", o + " b", "scale", "zp", "scale", "zp"}, Outputs: []string{o + " sum"}}, node("DequantizeLinear", o, o+" sum", "scale", "zp")}
	},
	"products of quantised numbers": func(n onnx.NewNode) []onnx.NewNode {
		if n.Op != "Mul" {
			return nil
		}
		o := n.Outputs[0]
		return []onnx.NewNode{node("QuantizeLinear", o+" a", n.Inputs[0], "scale", "zp"), node("QuantizeLinear", o+" b", n.Inputs[1], "scale", "zp"), // laid out as they are, and back
			withInts(node("Transpose", o+" c", o+" b"), "perm", []int64{1, 0}), withInts(node("Transpose", o+" d", o+" c"), "perm", []int64{1, 0}),
			{Op: "QLinearMul", Domain: "com.microsoft", Inputs: []string{o + " a", "scale", "zp", o + " d", "scale", "zp", "scale", "zp"}, Outputs: []string{o + " product"}}, node("DequantizeLinear", o, o+" product", "scale", "zp")}
	},
	"scores whose sizes are asked for": func(n onnx.NewNode) []onnx.NewNode {
		if n.Op != "MatMul" || n.Outputs[0][len(n.Outputs[0])-1] != 't' || n.Inputs[1][len(n.Inputs[1])-1] != 'k' {
			return nil
		}
		o := n.Outputs[0]
		return []onnx.NewNode{node("MatMul", o+" product", n.Inputs...), node("QuantizeLinear", o+" steps", o+" product", "scale", "zp"), node("DequantizeLinear", o, o+" steps", "scale", "zp"),
			node("DequantizeLinear", o+" again", o+" steps", "scale", "zp"), node("Shape", o+" sizes", o+" again")}
	},
	"a mask in the shape of another": func(n onnx.NewNode) []onnx.NewNode {
		if n.Op != "LessOrEqual" || n.Outputs[0] != "layer 1 allowed" {
			return nil
		}
		return []onnx.NewNode{node("Shape", "its shape", "layer 0 allowed"), node("LessOrEqual", "allowed", n.Inputs...), node("Expand", n.Outputs[0], "allowed", "its shape")}
	},
}

// TestRewritten: two layers, of other bases and windows, are read alike however their nodes are written.
func TestRewritten(t *testing.T) {
	said := func(rewrite func(n onnx.NewNode) []onnx.NewNode) string {
		done := false
		m := built(t, func(m *onnx.NewModel) {
			attending(m, []float64{10000, 50000}, []string{"sliding", "causal"})
			m.Initializers = append(m.Initializers, floats("quarter turn", nil, func(int) float64 { return math.Pi / 2 }), floats("scale", nil, func(int) float64 { return 1.0 / 64 }), onnx.NewTensor{Name: "zp", Type: onnx.Uint8, Raw: []byte{128}})
			for i := 0; i < len(m.Nodes); i++ {
				if instead := rewrite(m.Nodes[i]); instead != nil {
					m.Nodes, done = slices.Replace(m.Nodes, i, i+1, instead...), true
					i += len(instead) - 1
				}
			}
		})
		says := found(m)
		for _, a := range m.Attentions() {
			says += fmt.Sprintf("; layer %d by %v, window %d, causal %v", a.Layer, a.Encodings, a.Window().Positions, a.Causal)
		}
		for _, f := range m.Findings() {
			says += "; " + f.Message
		}
		if !done {
			says += "; nothing was rewritten"
		}
		return says
	}
	want := said(func(n onnx.NewNode) []onnx.NewNode {
		if n.Op == "Softmax" {
			return []onnx.NewNode{n}
		}
		return nil
	})
	for name, rewrite := range rewrites {
		if got := said(rewrite); got != want {
			t.Errorf("%s:\n%s, want\n%s", name, got, want)
		}
	}
}

// TestSoftmaxOfTheState: rows that are added to patches or tokens stay a table where a Softmax of what comes out is taken in the end, with no
// product between.
func TestSoftmaxOfTheState(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(m *onnx.NewModel)
		want   string
	}{
		{"patches", func(m *onnx.NewModel) {
			picture(m)
			m.Initializers = append(m.Initializers, noise("pos", 1, 16, 4))
			m.Nodes = append(m.Nodes, node("Add", "sum", "x", "pos"), node("Softmax", "h", "sum"))
		}, "position table of 16 rows of 4, grid 4×4 ×16"},
		{"tokens", func(m *onnx.NewModel) {
			text(m, 6, 4)
			m.Nodes = append(m.Nodes[:1], node("Add", "h0", "te", "wpe"), node("Softmax", "h", "h0"))
		}, "position table of 6 rows of 4 ×6"},
	} {
		if got := found(built(t, c.change)); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestAnglesOf16Bits: angles that go through 16 bits on their way to cosines say so, wherever the graph casts them back.
func TestAnglesOf16Bits(t *testing.T) {
	for _, c := range []struct {
		name string
		to   onnx.DataType
		want string
	}{{"float16", onnx.Float16, "float16"}, {"bfloat16", onnx.BFloat16, "bfloat16"}, {"float32", onnx.Float, ""}} {
		m := built(t, func(m *onnx.NewModel) {
			attending(m, []float64{10000}, []string{"causal"})
			i := slices.IndexFunc(m.Nodes, func(n onnx.NewNode) bool { return n.Outputs[0] == "layer 0 both" })
			m.Nodes[i].Outputs[0] = "doubled"
			m.Nodes = slices.Insert(m.Nodes, i+1, withInts(node("Cast", "narrow", "doubled"), "to", int64(c.to)), withInts(node("Cast", "layer 0 both", "narrow"), "to", int64(onnx.Float)))
		})
		if got := m.sites[0].(*rotary.Site).AnglePrecision(); got != c.want {
			t.Errorf("%s: %q", c.name, got)
		}
	}
}

// TestZeroPointsAreNoLengths: a longer graph of one length keeps zero points that equal its last position, and what is written is of the old scale.
func TestZeroPointsAreNoLengths(t *testing.T) {
	path := saved(t, func(m *onnx.NewModel) {
		text(m, 11, 4)
		m.Initializers = append(m.Initializers, floats("scale", nil, func(int) float64 { return 1.0 / 64 }), onnx.NewTensor{Name: "zero", Type: onnx.Int8, Raw: []byte{10}}, integers("flat", 11, 4), integers("back", 1, 11, 4))
		m.Nodes = []onnx.NewNode{m.Nodes[0], node("Add", "x", "te", "wpe"), node("QuantizeLinear", "q", "x", "scale", "zero"), node("Reshape", "rows", "q", "flat"), node("DequantizeLinear", "d", "rows", "scale", "zero"),
			node("MatMul", "y", "d", "W"), node("Reshape", "h", "y", "back")}
	})
	_, after := changed(t, path, func(m position.Model) (position.Outcome, error) {
		return position.Extend(m, position.ExtendOptions{Length: 30, Method: "tile"})
	})
	if zero, err := after.graph.Eval.Main.Tensor("zero").Ints(0, 1); err != nil || zero[0] != 10 {
		t.Errorf("the zero point became %v, %v", zero, err)
	}
	if flat, err := after.graph.Eval.Main.Tensor("flat").Ints(0, 2); err != nil || flat[0] != 30 {
		t.Errorf("the shape became %v, %v", flat, err)
	}
}

// TestPlacesBehindOneAnother: an index of places of two sequences that lie behind one another counts by the new length.
func TestPlacesBehindOneAnother(t *testing.T) {
	path := saved(t, func(m *onnx.NewModel) {
		text(m, 11, 4)
		m.Inputs[0].Dims, m.Outputs[0].Dims = []int64{2, 11}, []int64{2, 11, 4}
		places := make([]int64, 22)
		for i := range places {
			places[i] = int64(i)
		}
		index := integers("index", places...)
		index.Dims = []int64{2, 11}
		m.Initializers = append(m.Initializers, index, integers("flat", 22, 4))
		m.Nodes = []onnx.NewNode{m.Nodes[0], node("Reshape", "rows", "te", "flat"), node("Gather", "picked", "rows", "index"), node("Add", "x", "picked", "wpe"), node("MatMul", "h", "x", "W")}
	})
	_, after := changed(t, path, func(m position.Model) (position.Outcome, error) {
		return position.Extend(m, position.ExtendOptions{Length: 15, Method: "tile"})
	})
	index, err := after.graph.Eval.Main.Tensor("index").Ints(0, 30)
	if err != nil || index[14] != 14 || index[15] != 15 || index[29] != 29 {
		t.Errorf("%v, %v", index, err)
	}
}
