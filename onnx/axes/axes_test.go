package axes

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
)

func node(op, output string, inputs ...string) onnx.NewNode {
	return onnx.NewNode{Op: op, Inputs: inputs, Outputs: []string{output}}
}

func with(n onnx.NewNode, name string, value any) onnx.NewNode {
	n.Attributes = append(n.Attributes, onnx.NewAttribute{Name: name, Value: value})
	return n
}

// noise is a constant of numbers that all differ.
func noise(name string, dims ...int64) onnx.NewTensor {
	t := onnx.NewTensor{Name: name, Type: onnx.Float, Dims: dims}
	n := int64(1)
	for _, d := range dims {
		n *= d
	}
	for i := range n {
		t.Raw = binary.LittleEndian.AppendUint32(t.Raw, math.Float32bits(float32(math.Sin(float64(i)*1.7+0.3))))
	}
	return t
}

func numbers(name string, values ...float32) onnx.NewTensor {
	t := onnx.NewTensor{Name: name, Type: onnx.Float, Dims: []int64{int64(len(values))}}
	for _, v := range values {
		t.Raw = binary.LittleEndian.AppendUint32(t.Raw, math.Float32bits(v))
	}
	return t
}

func list(name string, values ...int64) onnx.NewTensor {
	t := onnx.NewTensor{Name: name, Type: onnx.Int64, Dims: []int64{int64(len(values))}}
	for _, v := range values {
		t.Raw = binary.LittleEndian.AppendUint64(t.Raw, uint64(v))
	}
	return t
}

func scalar(name string, value int64) onnx.NewTensor {
	t := list(name, value)
	t.Dims = nil
	return t
}

// passed labels a graph from x (batch 1, 6 positions, 4 features, a product with W) and a cache of 2 heads to y.
func passed(t *testing.T, constants []onnx.NewTensor, nodes []onnx.NewNode) *Labels {
	t.Helper()
	nodes = append([]onnx.NewNode{node("MatMul", "x", "in", "W")}, nodes...) // weights sum over features
	content := onnx.NewModel{Opset: 17, Nodes: nodes, Initializers: constants,
		Inputs:  []onnx.NewValue{{Name: "in", Type: onnx.Float, Dims: []int64{1, 6, 4}}, {Name: "cache", Type: onnx.Float, Dims: []int64{1, 2, 5, 2}}},
		Outputs: []onnx.NewValue{{Name: "y", Type: onnx.Float, Dims: []int64{1, 6, 4}}}}.Build()
	f, err := onnx.NewFile(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	e := eval.New(f, map[string]*eval.Value{"in": eval.Shaped(onnx.Float, 1, 6, 4), "cache": eval.Shaped(onnx.Float, 1, 2, 5, 2)})
	e.Run()
	return Pass(e, e.File.Graph.Inputs, func(*onnx.ValueInfo) Input { return Input{Depends: Content} })
}

// claim is what a pass says of such a graph: the first of a meeting, a doubt, an order, a mask, or "equivariant".
func claim(t *testing.T, constants []onnx.NewTensor, nodes []onnx.NewNode) string {
	t.Helper()
	l := passed(t, constants, nodes)
	switch {
	case len(l.Meetings) > 0:
		return "meeting at " + l.Meetings[0].Node.Op
	case len(l.Doubts) > 0:
		return "doubt at " + l.Doubts[0].Node.Op
	case len(l.Order) > 0:
		return "order by " + l.Order[0].Node.Op
	case l.Masked:
		return "mask"
	}
	return "equivariant"
}

func TestWhole(t *testing.T) {
	constants := []onnx.NewTensor{noise("W", 4, 4), noise("features", 4), list("apart", 1, 6, 2, 2), list("groups", 1, 2, 3, 4), list("1", 1), list("0", 0), noise("all of it", 4, 4, 6), noise("class", 1, 1, 4)}
	for _, test := range []struct {
		name  string
		nodes []onnx.NewNode
		whole bool
	}{
		{"element by element", []onnx.NewNode{node("Relu", "a", "x"), node("Add", "b", "a", "features"), node("MatMul", "y", "b", "W")}, true},
		{"attention", []onnx.NewNode{with(node("Transpose", "k", "x"), "perm", []int64{0, 2, 1}), node("MatMul", "s", "x", "k"), node("Softmax", "p", "s"), node("MatMul", "y", "p", "x")}, true},
		{"heads are no positions, and are cut apart all the same", []onnx.NewNode{node("Reshape", "y", "x", "apart")}, false},
		{"groups of positions", []onnx.NewNode{node("Reshape", "y", "x", "groups")}, false},
		{"a slice", []onnx.NewNode{node("Slice", "y", "x", "0", "1", "1")}, false},
		{"a convolution that leaves a single position", []onnx.NewNode{with(node("Transpose", "c", "x"), "perm", []int64{0, 2, 1}), node("Conv", "y", "c", "all of it")}, false},
		{"a size is asked for", []onnx.NewNode{node("Shape", "s", "x"), node("Cast", "f", "s"), node("ReduceMax", "m", "f"), node("Mul", "y", "x", "m")}, false},
		{"a class token", []onnx.NewNode{with(node("Concat", "y", "class", "x"), "axis", int64(1))}, false},
	} {
		if got := passed(t, constants, test.nodes).Whole; got != test.whole {
			t.Errorf("%s: whole %v, want %v", test.name, got, test.whole)
		}
	}
}

func TestPass(t *testing.T) {
	causal := numbers("causal")
	for q := range 6 {
		for k := range 6 {
			x := float32(0)
			if k > q {
				x = float32(math.Inf(-1))
			}
			causal.Raw = binary.LittleEndian.AppendUint32(causal.Raw, math.Float32bits(x))
		}
	}
	causal.Dims = []int64{6, 6}
	eye := numbers("eye")
	for i := range 36 {
		x := float32(0.5)
		if i%7 == 0 {
			x = 13
		}
		eye.Raw = binary.LittleEndian.AppendUint32(eye.Raw, math.Float32bits(x))
	}
	eye.Dims = []int64{6, 6}
	constants := []onnx.NewTensor{noise("W", 4, 4), noise("features", 4), noise("table", 6, 4), noise("rows", 6, 1), noise("columns", 1, 4), noise("bias", 6, 6), causal,
		noise("mix", 6, 6), noise("rows of pairs of positions", 6, 6, 4), noise("matrices", 6, 4, 4), noise("class", 1, 1, 4), noise("longer", 1, 7, 4), noise("queries", 1, 3, 4), list("apart", 1, 6, 2, 2), list("together", 1, 6, 4), list("groups", 1, 2, 3, 4), list("across", 1, 3, 2, 4), list("turned", 1, 4, 6), list("2", 2), list("line", 1, 24), list("longer line", 0, 0, 0, 6), list("five", 1, 6, 5),
		list("0", 0), list("1", 1), list("5", 5), list("6", 6), list("7", 7), scalar("first", 0), scalar("axis", 1), list("shift", 5, 0, 1, 2, 3, 4), list("all", 0, 1, 2, 3, 4, 5), list("ends", 0, 1, 0, 0, -1, 0), list("wider", 0, 0, 1, 0, 0, 1),
		noise("kernel", 4, 4, 3), noise("pairs", 4, 4, 2), noise("turned table", 4, 6), noise("row of queries", 1, 3), eye, numbers("twice", 1, 1, 2), numbers("even", 1, 1, 1, 1, 1, 1)}
	shifted := list("from the second", 0, 1, 0, 2, 0, 3, 0, 4, 0, 5)
	shifted.Dims = []int64{1, 5, 2}
	constants = append(constants, shifted, noise("zeros", 1, 6, 4), list("1 6 4 1", 1, 6, 4, 1), list("6 4", 6, 4), list("66", 66), list("65", 65), list("6 10", 6, 10), numbers("even numbers", 1, 1, 1, 1, 1, 1), numbers("scales", 1, 2, 1, 3, 1, 1), noise("distances", 4, 11))
	constants = append(constants, list("last", 3), list("pair", 0, 2), numbers("half", 0.5), onnx.NewTensor{Name: "yes", Type: onnx.Bool, Raw: []byte{1}}, noise("filter", 4, 1, 1, 4), noise("wide filter", 4, 3, 1, 4))
	scores := []onnx.NewNode{with(node("Transpose", "k", "x"), "perm", []int64{0, 2, 1}), node("MatMul", "s", "x", "k")}
	weighted := []onnx.NewNode{with(node("Softmax", "w", "b"), "axis", int64(-1)), node("MatMul", "y", "w", "x")}
	attention := func(between ...onnx.NewNode) []onnx.NewNode {
		return append(append(append([]onnx.NewNode{}, scores...), between...), weighted...)
	}
	ranked := []onnx.NewNode{with(with(node("ReduceMax", "largest", "x"), "axes", []int64{2}), "keepdims", int64(0)),
		with(onnx.NewNode{Op: "TopK", Inputs: []string{"largest", "6"}, Outputs: []string{"first of them", "places"}}, "axis", int64(1))}
	for _, c := range []struct {
		name  string
		nodes []onnx.NewNode
		want  string
	}{
		{"a layer of weights", []onnx.NewNode{node("MatMul", "h", "x", "W"), node("Add", "y", "h", "features")}, "equivariant"},
		{"attention", attention(node("Identity", "b", "s")), "equivariant"},
		{"heads", []onnx.NewNode{node("Reshape", "h", "x", "apart"), with(node("Transpose", "t", "h"), "perm", []int64{0, 2, 1, 3}), with(node("Transpose", "u", "t"), "perm", []int64{0, 2, 1, 3}), node("Reshape", "y", "u", "together")}, "equivariant"},
		{"a table", []onnx.NewNode{node("Add", "y", "x", "table")}, "meeting at Add"},
		{"a number for each position", []onnx.NewNode{node("Mul", "y", "x", "rows")}, "meeting at Mul"},
		{"weights of features in two axes", []onnx.NewNode{node("Mul", "y", "x", "columns")}, "equivariant"},
		{"a table behind other features", []onnx.NewNode{node("MatMul", "h", "x", "W"), with(node("Concat", "c", "h", "x"), "axis", int64(2)), with(node("Split", "", "c"), "axis", int64(2))}[:2], "equivariant"},
		{"a bias on scores", attention(node("Add", "b", "s", "bias")), "meeting at Add"},
		{"a mask", attention(node("Add", "b", "s", "causal")), "mask"},
		{"a matrix for each position", []onnx.NewNode{node("Unsqueeze", "u", "x", "1"), with(node("Transpose", "v", "u"), "perm", []int64{0, 2, 1, 3}), node("MatMul", "y", "v", "matrices")}, "meeting at MatMul"},
		{"the same by Einsum", []onnx.NewNode{with(node("Einsum", "y", "x", "matrices"), "equation", "bsd,sde->bse")}, "meeting at Einsum"},
		{"positions mixed by weights", []onnx.NewNode{node("MatMul", "m", "mix", "x"), node("Add", "y", "m", "x")}, "order by MatMul"},
		{"positions mixed by weights of an Einsum", []onnx.NewNode{with(node("Einsum", "m", "mix", "x"), "equation", "ts,bsd->btd"), node("Add", "y", "m", "x")}, "order by MatMul"},
		{"a row for each pair of positions, weighted", append(slices.Clone(scores), with(node("Softmax", "w", "s"), "axis", int64(-1)), with(node("Einsum", "y", "w", "rows of pairs of positions"), "equation", "bqk,qkd->bqd")), "meeting at Einsum"},
		{"the same by products of each query", append(slices.Clone(scores), with(node("Softmax", "w", "s"), "axis", int64(-1)), with(node("Transpose", "by query", "w"), "perm", []int64{1, 0, 2}), node("MatMul", "r", "by query", "rows of pairs of positions"), with(node("Transpose", "y", "r"), "perm", []int64{1, 0, 2})), "meeting at MatMul"},
		{"a class token", []onnx.NewNode{with(node("Concat", "c", "class", "x"), "axis", int64(1)), node("MatMul", "h", "c", "W"), with(node("Gather", "y", "h", "first"), "axis", int64(1))}, "equivariant"},
		{"a class token cut off", []onnx.NewNode{with(node("Concat", "c", "class", "x"), "axis", int64(1)), node("Slice", "y", "c", "1", "7", "1")}, "equivariant"},
		{"a table with a row for the class token", []onnx.NewNode{with(node("Concat", "c", "class", "x"), "axis", int64(1)), node("Add", "y", "c", "longer")}, "meeting at Add"},
		{"places and features in one axis, padded and cut anew", []onnx.NewNode{node("Reshape", "h", "x", "line"), node("Pad", "p", "h", "longer line"), node("Reshape", "y", "p", "five")}, "doubt at Pad"},
		{"the first token", []onnx.NewNode{with(node("Gather", "y", "x", "first"), "axis", int64(1))}, "order by Gather"},
		{"all tokens in order", []onnx.NewNode{with(node("Gather", "y", "x", "all"), "axis", int64(1))}, "equivariant"},
		{"tokens shifted", []onnx.NewNode{with(node("Gather", "y", "x", "shift"), "axis", int64(1))}, "order by Gather"},
		{"the last token dropped", []onnx.NewNode{node("Slice", "y", "x", "0", "5", "1")}, "order by Slice"},
		{"one added, one taken away", []onnx.NewNode{node("Pad", "y", "x", "ends")}, "order by Pad"},
		{"features padded", []onnx.NewNode{node("Pad", "y", "x", "wider")}, "equivariant"},
		{"groups of positions", []onnx.NewNode{node("Reshape", "y", "x", "groups")}, "order by Reshape"},
		{"groups across groups of positions", []onnx.NewNode{node("Reshape", "h", "x", "groups"), node("Reshape", "c", "h", "across"), node("Reshape", "y", "c", "together")}, "order by Reshape"},
		{"groups across positions and features", []onnx.NewNode{node("Reshape", "c", "x", "turned"), node("Reshape", "y", "c", "together")}, "doubt at Reshape"},
		{"numbers of the places that rank first", append(ranked, with(node("Gather", "n", "table", "places"), "axis", int64(0)), node("Add", "y", "x", "n")), "doubt at Gather"},
		{"the same by place and feature", append(ranked, node("Unsqueeze", "u", "places", "2"), node("Expand", "each", "u", "together"), node("Unsqueeze", "whole", "table", "0"), with(node("GatherElements", "n", "whole", "each"), "axis", int64(1)), node("Add", "y", "x", "n")), "doubt at GatherElements"},
		{"the tokens that rank first", append(ranked, with(node("Gather", "n", "x", "places"), "axis", int64(1)), node("Squeeze", "y", "n", "0")), "order by TopK"},
		{"attention to keys and values that were cached", []onnx.NewNode{node("MatMul", "q", "x", "W"), node("Reshape", "h", "q", "apart"), with(node("Transpose", "t", "h"), "perm", []int64{0, 2, 1, 3}), with(node("Transpose", "k", "cache"), "perm", []int64{0, 1, 3, 2}),
			node("MatMul", "s", "t", "k"), with(node("Softmax", "w", "s"), "axis", int64(-1)), node("MatMul", "o", "w", "cache"), with(node("Transpose", "u", "o"), "perm", []int64{0, 2, 1, 3}), node("Reshape", "y", "u", "together")}, "equivariant"},
		{"a table by rank", append(ranked, with(node("Gather", "n", "x", "places"), "axis", int64(1)), node("Squeeze", "ordered", "n", "0"), node("Add", "y", "ordered", "table")), "order by TopK"},
		{"a table on maps that are made of each other", []onnx.NewNode{with(node("Transpose", "c", "x"), "perm", []int64{0, 2, 1}), with(node("Conv", "small", "c", "pairs"), "strides", []int64{2}), node("Resize", "large", "small", "", "twice"),
			with(node("Conv", "again", "large", "pairs"), "strides", []int64{2}), node("Add", "both", "again", "small"), node("Resize", "upper", "both", "", "twice"), node("Add", "on", "large", "turned table"), node("Add", "y", "on", "upper")}, "meeting at Add"},
		{"samples at places of learned queries, with a row each", []onnx.NewNode{with(node("Transpose", "c", "x"), "perm", []int64{0, 2, 1}), node("Unsqueeze", "map", "c", "1"),
			with(node("Transpose", "k", "x"), "perm", []int64{0, 2, 1}), node("MatMul", "s", "queries", "k"), with(node("Softmax", "w", "s"), "axis", int64(-1)), node("MatMul", "h", "w", "x"), node("Slice", "two", "h", "0", "2", "2"), node("Unsqueeze", "at", "two", "1"),
			node("GridSample", "sampled", "map", "at"), node("Squeeze", "f", "sampled", "0"), node("Add", "y", "f", "row of queries")}, "order by GridSample"},
		{"an identity between places", attention(node("Sub", "b", "eye", "s")), "equivariant"},
		{"another matrix between places", attention(node("Sub", "b", "mix", "s")), "meeting at Sub"},
		{"sums with what is picked for pairs", []onnx.NewNode{node("Gather", "rows of pairs", "mix", "all"), node("MatMul", "m", "rows of pairs", "x"), node("Add", "y", "m", "x")}, "doubt at MatMul"},
		{"learned queries", []onnx.NewNode{with(node("Transpose", "k", "x"), "perm", []int64{0, 2, 1}), node("MatMul", "s", "queries", "k"), with(node("Softmax", "w", "s"), "axis", int64(-1)), node("MatMul", "h", "w", "x"), node("Add", "y", "h", "queries")}, "equivariant"},
		{"scores by learned rows", attention(node("MatMul", "r", "x", "mixed"), node("Add", "b", "s", "r")), "meeting at MatMul"},
		{"a convolution", []onnx.NewNode{with(node("Transpose", "c", "x"), "perm", []int64{0, 2, 1}), with(node("Conv", "y", "c", "kernel"), "pads", []int64{1, 1})}, "order by Conv"},
		{"a recurrence of sums", []onnx.NewNode{node("CumSum", "y", "x", "axis")}, "order by CumSum"},
		{"sums over axes of different origin", []onnx.NewNode{with(with(node("ReduceMax", "a", "cache"), "axes", []int64{1}), "keepdims", int64(0)), with(with(node("ReduceMax", "b", "cache"), "axes", []int64{3}), "keepdims", int64(0)),
			node("MatMul", "c", "a", "b"), with(node("ReduceMax", "of all", "c"), "keepdims", int64(0)), node("Add", "y", "x", "of all")}, "doubt at MatMul"},
		{"batches of different origin", []onnx.NewNode{with(node("Transpose", "a", "cache"), "perm", []int64{0, 1, 3, 2}), with(node("Transpose", "b", "cache"), "perm", []int64{0, 3, 2, 1}),
			node("MatMul", "c", "a", "b"), with(node("ReduceMax", "of all", "c"), "keepdims", int64(0)), node("Add", "y", "x", "of all")}, "doubt at MatMul"},
		{"noise", []onnx.NewNode{node("RandomNormalLike", "drawn", "x"), node("Add", "y", "x", "drawn")}, "equivariant"},
		{"noise of its own size", []onnx.NewNode{with(node("RandomUniform", "drawn"), "shape", []int64{1, 6, 4}), node("Add", "y", "x", "drawn")}, "equivariant"},
		{"a table behind tokens that were shifted into zeros", []onnx.NewNode{node("Slice", "but the last", "x", "0", "5", "1"), {Op: "ScatterND", Inputs: []string{"zeros", "from the second", "but the last"}, Outputs: []string{"behind"}},
			node("Add", "y", "behind", "table")}, "meeting at Add"},
		{"rows normalised as channels", []onnx.NewNode{node("Reshape", "rows as channels", "x", "1 6 4 1"), node("Reshape", "flat", "x", "6 4"), with(with(node("ReduceMean", "mean", "flat"), "axes", []int64{1}), "keepdims", int64(0)),
			node("Mul", "squares", "flat", "flat"), with(with(node("ReduceMean", "variance", "squares"), "axes", []int64{1}), "keepdims", int64(0)),
			{Op: "BatchNormalization", Inputs: []string{"rows as channels", "even numbers", "even numbers", "mean", "variance"}, Outputs: []string{"n"}}, node("Reshape", "y", "n", "together")}, "equivariant"},
		{"rows with scales as channels", []onnx.NewNode{node("Reshape", "rows as channels", "x", "1 6 4 1"),
			{Op: "BatchNormalization", Inputs: []string{"rows as channels", "scales", "even numbers", "even numbers", "even numbers"}, Outputs: []string{"n"}}, node("Reshape", "y", "n", "together")}, "meeting at BatchNormalization"},
		{"a run of positions and columns of weights", []onnx.NewNode{node("MatMul", "by distance", "x", "distances"), node("Reshape", "merged", "by distance", "66"), node("Slice", "run", "merged", "5", "65"), node("Reshape", "shifted", "run", "6 10"),
			with(with(node("ReduceMax", "of all", "shifted"), "axes", []int64{1}), "keepdims", int64(1)), node("Add", "y", "x", "of all")}, "doubt at Slice"},
		{"waves along positions", []onnx.NewNode{node("Unsqueeze", "u", "x", "last"), with(node("DFT", "f", "u"), "axis", int64(1)), with(node("Gather", "y", "f", "first"), "axis", int64(3))}, "order by DFT"},
		{"waves along features", []onnx.NewNode{node("Unsqueeze", "u", "x", "last"), with(node("DFT", "f", "u"), "axis", int64(2)), with(node("Gather", "y", "f", "first"), "axis", int64(3))}, "equivariant"},
		{"one of two, quantised, by position", []onnx.NewNode{node("Greater", "chosen", "rows", "half"), node("MatMul", "h", "x", "W"), {Op: "QLinearWhere", Domain: "com.microsoft", Inputs: []string{"chosen", "x", "half", "first", "h", "half", "first", "half", "first"}, Outputs: []string{"y"}}}, "order by QLinearWhere"},
		{"a picture of channels last", []onnx.NewNode{node("Reshape", "p", "x", "1 6 4 1"), with(node("Transpose", "q", "p"), "perm", []int64{0, 1, 3, 2}),
			{Op: "NhwcConv", Domain: "com.microsoft", Inputs: []string{"q", "filter"}, Outputs: []string{"r"}}, node("Reshape", "y", "r", "together")}, "equivariant"},
		{"neighbours of channels last", []onnx.NewNode{node("Reshape", "p", "x", "1 6 4 1"), with(node("Transpose", "q", "p"), "perm", []int64{0, 1, 3, 2}),
			with(onnx.NewNode{Op: "NhwcConv", Domain: "com.microsoft", Inputs: []string{"q", "wide filter"}, Outputs: []string{"r"}}, "pads", []int64{1, 0, 1, 0}), node("Reshape", "y", "r", "together")}, "order by NhwcConv"},
		{"a sum of two, normalised in groups", []onnx.NewNode{node("Reshape", "p", "x", "1 6 4 1"), with(node("Transpose", "q", "p"), "perm", []int64{0, 1, 3, 2}), node("Unsqueeze", "t", "table", "pair"),
			with(onnx.NewNode{Op: "SkipGroupNorm", Domain: "com.microsoft", Inputs: []string{"q", "features", "features", "t"}, Outputs: []string{"r"}}, "groups", int64(2)), node("Reshape", "y", "r", "together")}, "meeting at SkipGroupNorm"},
		{"a mean that nobody reads", []onnx.NewNode{{Op: "LayerNormalization", Inputs: []string{"x", "features"}, Outputs: []string{"y", "mean", "deviation"}}}, "equivariant"},
		{"a mask that nobody reads", []onnx.NewNode{{Op: "Dropout", Inputs: []string{"x", "half", "yes"}, Outputs: []string{"y", "mask"}}}, "equivariant"},
		{"a mean that is read", []onnx.NewNode{{Op: "LayerNormalization", Inputs: []string{"x", "features"}, Outputs: []string{"h", "mean", "deviation"}}, node("Mul", "y", "h", "mean")}, "equivariant"},
		{"an operator of nobody's", []onnx.NewNode{{Op: "Rotate", Domain: "acme", Inputs: []string{"x"}, Outputs: []string{"y"}}}, "doubt at Rotate"},
		{"one that no output needs", []onnx.NewNode{{Op: "Rotate", Domain: "acme", Inputs: []string{"x"}, Outputs: []string{"z"}}, node("Relu", "y", "x")}, "equivariant"},
		{"rotary embedding in a fused attention", []onnx.NewNode{with(onnx.NewNode{Op: "Attention", Domain: "com.microsoft", Inputs: []string{"x", "wide", "", ""}, Outputs: []string{"y"}}, "do_rotary", int64(1))}, "meeting at Attention"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := claim(t, append(constants, noise("mixed", 4, 6), noise("wide", 4, 12)), c.nodes); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

// TestTogether cuts axes and sizes where as many elements stand before.
func TestTogether(t *testing.T) {
	for _, c := range []struct {
		axes, shape []int
		a, s        int
	}{
		{[]int{1, 100, 48}, []int{4, 25, 48}, 2, 2},
		{[]int{1, 100, 48}, []int{4, 25, 3, 16}, 2, 2},
		{[]int{100, 48}, []int{1, 100, 48}, 1, 2},
		{[]int{6, 1}, []int{6}, 2, 1},
		{[]int{6, 4}, []int{4, 6}, 2, 2},
		{[]int{2, 3, 4}, []int{3, 2, 4}, 2, 2},
		{[]int{6}, []int{6, 1}, 1, 1},
		{nil, []int{1}, 0, 1},
		{[]int{6}, []int{5}, 1, 1},
	} {
		l := &Labels{}
		var axes []Axis
		for _, size := range c.axes {
			axes = append(axes, l.fresh(size))
		}
		if a, s := together(axes, c.shape); a != c.a || s != c.s {
			t.Errorf("%v and %v: %d and %d, want %d and %d", c.axes, c.shape, a, s, c.a, c.s)
		}
	}
}

func TestRegroup(t *testing.T) {
	for _, c := range []struct {
		axes, shape []int
		cuts        int
		ok          bool
	}{
		{[]int{1, 6, 4}, []int{6, 4}, 0, true},
		{[]int{6, 4}, []int{24}, 0, true},
		{[]int{6, 4}, []int{6, 2, 2}, 1, true},
		{[]int{6, 4}, []int{12, 2}, 1, true},
		{[]int{6, 4}, []int{2, 3, 4}, 1, true},
		{[]int{6, 4}, []int{3, 8}, 1, true},
		{[]int{6, 4}, []int{4, 6}, 0, false},
		{[]int{6, 4}, []int{6, 5}, 0, false},
		{[]int{6}, []int{0}, 0, false},
	} {
		l := &Labels{}
		var axes []Axis
		for _, size := range c.axes {
			axes = append(axes, l.fresh(size))
		}
		out, ok := l.regroup(axes, c.shape)
		if len(l.cuts) != c.cuts || ok != c.ok {
			t.Errorf("%v to %v: %d cuts, ok %v", c.axes, c.shape, len(l.cuts), ok)
		}
		for d := range out {
			if ok && out[d].size() != c.shape[d] {
				t.Errorf("%v to %v: dimension %d has %d elements", c.axes, c.shape, d, out[d].size())
			}
		}
	}
}

// TestPiecesSeeNothing: an axis that is a piece of two wholes (a batch that was merged with heads, and with heads and positions elsewhere) is none
// that a window saw.
func TestPiecesSeeNothing(t *testing.T) {
	l := &Labels{e: &eval.Evaluator{}}
	one, other := l.atom(2), l.atom(2)
	one.whole, other.whole = l.atom(8), l.atom(32)
	if !l.join(nil, one, other) || len(one.made) != 1 {
		t.Fatalf("%d derivations", len(one.made))
	}
	if seen(Factor{Atom: one}) {
		t.Error("a piece of two wholes is told to be seen")
	}
}
