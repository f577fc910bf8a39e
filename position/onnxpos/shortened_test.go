package onnxpos

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/position"
)

// frames makes the model of built one of a recording of so many frames of 8 numbers (−1: any): nodes make groups of them, with 32 numbers
// each, which attend to each other; a row of a table of 20 is added to each if rows says so, of groups in the same number.
func frames(m *onnx.NewModel, count, groups int64, rows bool, nodes ...onnx.NewNode) {
	m.Inputs = []onnx.NewValue{{Name: "frames", Type: onnx.Float, Dims: []int64{1, count, 8}}}
	m.Outputs = []onnx.NewValue{{Name: "h", Type: onnx.Float, Dims: []int64{1, groups, 4}}}
	m.Initializers = append(m.Initializers, noise("wpe 20", 20, 4), noise("in", 32, 4), integers("zeros", 0), integers("ones", 1), integers("fours", 4), integers("groups", 0, -1, 32), noise("mean", 8))
	m.Nodes = append(nodes, node("MatMul", "te", "grouped", "in"))
	if rows {
		m.Nodes = append(m.Nodes, node("Shape", "sizes", "te"), node("Gather", "length", "sizes", "ones"), node("Slice", "pe", "wpe 20", "zeros", "length", "zeros"), node("Add", "y", "te", "pe"))
	} else {
		m.Nodes = append(m.Nodes, node("Identity", "y", "te"))
	}
	m.Nodes = append(m.Nodes, withInts(node("Transpose", "kt", "y"), "perm", []int64{0, 2, 1}), node("MatMul", "scores", "y", "kt"),
		withInts(node("Softmax", "weights", "scores"), "axis", int64(-1)), node("MatMul", "h", "weights", "y"))
}

// TestShortened: frames that become fewer positions, other than by convolutions, are looked at in such a number that several are left, and
// what prepares them is no encoding.
func TestShortened(t *testing.T) {
	const table = "position table of 20 rows of 4 ×20"
	whole := []onnx.NewNode{node("Shape", "all", "frames"), node("Gather", "count", "all", "ones"), node("Div", "quarter", "count", "fours"), node("Mul", "most", "quarter", "fours"),
		node("Slice", "cut", "frames", "zeros", "most", "ones"), node("Reshape", "grouped", "cut", "groups")}
	windows := func(m *onnx.NewModel) (nodes []onnx.NewNode) { // of four of 40 frames, every second
		pieces := []string{}
		for i := range int64(19) {
			first, last, piece := fmt.Sprint("from", i), fmt.Sprint("to", i), fmt.Sprint("piece", i)
			m.Initializers = append(m.Initializers, integers(first, 2*i), integers(last, 2*i+4))
			nodes = append(nodes, node("Slice", piece+"'", "frames", first, last, "ones"), node("Unsqueeze", piece, piece+"'", "ones"))
			pieces = append(pieces, piece)
		}
		return append(nodes, withInts(node("Concat", "windows", pieces...), "axis", int64(1)), node("Reshape", "grouped", "windows", "groups"))
	}
	prepared := func(nodes ...onnx.NewNode) []onnx.NewNode {
		nodes[len(nodes)-1].Outputs[0] = "grouped"
		return append([]onnx.NewNode{node("Sub", "centred", "frames", "mean")}, nodes...)
	}
	for _, c := range []struct {
		name   string
		change func(m *onnx.NewModel)
		want   string
	}{
		{"groups of four, of any number", func(m *onnx.NewModel) { frames(m, -1, -1, true, whole...) }, table},
		{"without rows", func(m *onnx.NewModel) { frames(m, -1, -1, false, whole...) }, "none"},
		{"windows that were cut out one by one", func(m *onnx.NewModel) { frames(m, 40, 19, true, windows(m)...) }, table},
		{"without rows, too", func(m *onnx.NewModel) { frames(m, 40, 19, false, windows(m)...) }, "none"},
		{"means of each feature, and convolutions over both axes", func(m *onnx.NewModel) {
			frames(m, 40, 19, false, prepared(node("Unsqueeze", "map", "centred", "ones"),
				withInts(node("Conv", "seen", "map", "kernels"), "strides", []int64{2, 1}), withInts(node("Transpose", "places", "seen"), "perm", []int64{0, 2, 1, 3}), node("Reshape", "", "places", "joined"))...)
			m.Initializers = append(m.Initializers, noise("kernels", 8, 1, 4, 5), integers("joined", 0, 19, 32))
		}, "none"},
	} {
		if got := found(built(t, c.change)); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestGivenDistances: positions that are an input, and those that a mask counts, tell queries and keys apart as those that the graph counts.
func TestGivenDistances(t *testing.T) {
	attend := func(m *onnx.NewModel, input string, positions ...onnx.NewNode) {
		m.Inputs[0].Dims = []int64{-1, -1}
		m.Inputs = append(m.Inputs, onnx.NewValue{Name: input, Type: onnx.Int64, Dims: []int64{-1, -1}})
		m.Initializers = append(m.Initializers, noise("wte", 32, 4), noise("Q", 4, 4), noise("by distance", 9, 1), integers("four", 4), integers("-four", -4), integers("twos", 2), integers("ones", 1))
		m.Nodes = append(positions, node("Unsqueeze", "query", "at", "twos"), node("Unsqueeze", "key", "at", "ones"), node("Sub", "distance", "key", "query"), node("Min", "below", "distance", "four"), node("Max", "near", "below", "-four"),
			node("Add", "index", "near", "four"), node("Gather", "rows", "by distance", "index"), node("Squeeze", "bias", "rows", "last"),
			node("Gather", "y", "wte", "ids"), node("MatMul", "q", "y", "Q"), withInts(node("Transpose", "kt", "y"), "perm", []int64{0, 2, 1}), node("MatMul", "products", "q", "kt"), node("Add", "scores", "products", "bias"),
			withInts(node("Softmax", "weights", "scores"), "axis", int64(-1)), node("MatMul", "h", "weights", "y"))
		m.Initializers = append(m.Initializers, integers("last", 3))
	}
	for _, c := range []struct {
		name   string
		change func(m *onnx.NewModel)
	}{
		{"an input", func(m *onnx.NewModel) { attend(m, "position_ids", node("Identity", "at", "position_ids")) }},
		{"an input, with an axis for each index, as torch.export writes x[index]", func(m *onnx.NewModel) {
			attend(m, "position_ids", node("Identity", "at", "position_ids"))
			m.Initializers = append(m.Initializers, integers("behind", -1))
			i := slices.IndexFunc(m.Nodes, func(n onnx.NewNode) bool { return n.Outputs[0] == "rows" })
			m.Nodes[i] = node("GatherND", "rows", "by distance", "indices")
			m.Nodes = slices.Insert(m.Nodes, i, node("Unsqueeze", "indices", "index", "behind"))
		}},
		{"counted by a mask", func(m *onnx.NewModel) {
			attend(m, "attention_mask", node("CumSum", "count", "attention_mask", "ones"), node("Sub", "at", "count", "ones"))
		}},
	} {
		if got := found(built(t, c.change)); got != "relative-table, rows 9, heads 1, max distance 4" {
			t.Errorf("%s: %q", c.name, got)
		}
	}
}

// TestSeries: a series of single numbers, and a line of text of any width, are of as many positions as a short table has rows, and of more when
// it is longer.
func TestSeries(t *testing.T) {
	attended := func(m *onnx.NewModel, input onnx.NewValue, nodes ...onnx.NewNode) { // of x
		m.Inputs, m.Outputs = []onnx.NewValue{input}, []onnx.NewValue{{Name: "h", Type: onnx.Float, Dims: []int64{1, -1, 4}}}
		m.Initializers = append(m.Initializers, noise("wpe 20", 20, 4), integers("zeros", 0), integers("ones", 1), integers("twos", 2))
		m.Nodes = append(nodes, node("Shape", "sizes", "x"), node("Gather", "length", "sizes", "ones"), node("Slice", "pe", "wpe 20", "zeros", "length", "zeros"), node("Add", "y", "x", "pe"),
			withInts(node("Transpose", "kt", "y"), "perm", []int64{0, 2, 1}), node("MatMul", "scores", "y", "kt"), withInts(node("Softmax", "weights", "scores"), "axis", int64(-1)), node("MatMul", "h", "weights", "y"))
	}
	for name, change := range map[string]func(m *onnx.NewModel){
		"a series": func(m *onnx.NewModel) {
			m.Initializers = append(m.Initializers, noise("in", 1, 4))
			attended(m, onnx.NewValue{Name: "series", Type: onnx.Float, Dims: []int64{1, -1}}, node("Unsqueeze", "column", "series", "twos"), node("MatMul", "x", "column", "in"))
		},
		"a line of text": func(m *onnx.NewModel) {
			m.Initializers = append(m.Initializers, noise("kernels", 4, 1, 8, 1))
			attended(m, onnx.NewValue{Name: "line", Type: onnx.Float, Dims: []int64{1, 1, 8, -1}}, node("Conv", "map", "line", "kernels"), node("Squeeze", "row", "map", "twos"), withInts(node("Transpose", "x", "row"), "perm", []int64{0, 2, 1}))
		},
	} {
		m := built(t, change)
		if got := found(m); got != "position table of 20 rows of 4 ×20" {
			t.Errorf("%s: %q", name, got)
			continue
		}
		if _, err := position.Extend(m, position.ExtendOptions{Length: 40}); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := found(result(t, m, saved(t, change))); got != "position table of 40 rows of 4 ×40" {
			t.Errorf("%s: extended to %q", name, got)
		}
	}
}
