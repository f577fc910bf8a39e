package onnxpos

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// attend is an attention of y to itself, y made of the rows te of tokens by nodes.
func attend(m *onnx.NewModel, nodes ...onnx.NewNode) {
	type dims = []int64
	m.Inputs[0].Dims = dims{-1, -1}
	m.Initializers = append(m.Initializers, noise("wte", 32, 4), noise("Q", 4, 4))
	m.Nodes = append(append([]onnx.NewNode{node("Gather", "te", "wte", "ids")}, nodes...), node("MatMul", "q", "y", "Q"), withInts(node("Transpose", "kt", "y"), "perm", dims{0, 2, 1}), node("MatMul", "scores", "q", "kt"),
		withInts(node("Softmax", "weights", "scores"), "axis", int64(-1)), node("MatMul", "h", "weights", "y"))
}

// beside puts a recording of so many samples, −1 for any, beside a text: a convolution makes frames of it, with a table of positions of
// their own, of which each attends to all.
func beside(m *onnx.NewModel, samples int64) {
	type dims = []int64
	m.Inputs = append(m.Inputs, onnx.NewValue{Name: "samples", Type: onnx.Float, Dims: dims{-1, samples}})
	m.Initializers = []onnx.NewTensor{noise("frames of positions", 30, 4), integers("zero", 0), integers("one", 1), noise("kernel", 4, 1, 10), noise("R", 4, 4), noise("wpe", 20, 4)}
	attend(m, node("Shape", "text", "ids"), node("Gather", "n", "text", "one"), node("Slice", "pe", "wpe", "zero", "n", "zero"), node("Add", "y", "te", "pe"))
	m.Nodes = append(m.Nodes, node("Unsqueeze", "channel", "samples", "one"), withInts(node("Conv", "convolved", "channel", "kernel"), "strides", dims{5}), withInts(node("Transpose", "frames", "convolved"), "perm", dims{0, 2, 1}),
		node("Shape", "sizes", "frames"), node("Gather", "length", "sizes", "one"), node("Slice", "fe", "frames of positions", "zero", "length", "zero"), node("Add", "f", "frames", "fe"),
		node("MatMul", "fq", "f", "R"), withInts(node("Transpose", "fk", "f"), "perm", dims{0, 2, 1}), node("MatMul", "fs", "fq", "fk"), withInts(node("Softmax", "fw", "fs"), "axis", int64(-1)), node("MatMul", "heard", "fw", "f"))
	m.Outputs = append(m.Outputs, onnx.NewValue{Name: "heard", Type: onnx.Float, Dims: dims{-1, -1, 4}})
}

// TestTableBesideATextOfOneSize: where a recording has one size, its table is not tried at more tokens of the text.
func TestTableBesideATextOfOneSize(t *testing.T) {
	m := built(t, func(m *onnx.NewModel) { beside(m, 60) })
	if len(m.sites) != 2 {
		t.Fatalf("%d encodings", len(m.sites))
	}
	for _, s := range m.sites {
		if e := s.Encoding(); e.Beyond != report.BeyondError {
			t.Errorf("%v: %s beyond %d positions", e.Scheme, e.Beyond, e.Capacity)
		}
	}
}

// TestWhatInputsHold: numbers and masks whose names do not say it are given what the graph does with them asks for, and an axis that
// no name tells is the one of positions where these act along it.
func TestWhatInputsHold(t *testing.T) {
	type dims = []int64
	table := "position table of 20 rows of 4 ×20"
	scalar := func(name string, v int64) onnx.NewTensor {
		t := integers(name, v)
		t.Dims = nil
		return t
	}
	counted := func(m *onnx.NewModel, count ...onnx.NewNode) {
		m.Initializers = []onnx.NewTensor{noise("wpe", 20, 4), scalar("zero", 0), scalar("one", 1)}
		attend(m, append(count, node("Gather", "pe", "wpe", "at"), node("Add", "y", "te", "pe"))...)
	}
	columns := func(m *onnx.NewModel, kinds int64) { // rows of a table for each of two columns ahead of content
		cast := func(to, from string) onnx.NewNode { return withInts(node("Cast", to, from), "to", int64(onnx.Int64)) }
		m.Inputs = []onnx.NewValue{{Name: "patches", Type: onnx.Float, Dims: dims{-1, -1, 8}}}
		m.Initializers = []onnx.NewTensor{noise("rows", 20, 4), noise("columns", kinds, 4), scalar("0", 0), scalar("1", 1), integers("two", 2), integers("end", 8), noise("W", 6, 4), noise("Q", 4, 4)}
		m.Nodes = []onnx.NewNode{withInts(node("Gather", "first", "patches", "0"), "axis", int64(2)), cast("row", "first"), withInts(node("Gather", "second", "patches", "1"), "axis", int64(2)), cast("column", "second"),
			node("Slice", "pixels", "patches", "two", "end", "two"), node("MatMul", "content", "pixels", "W"), node("Gather", "re", "rows", "row"), node("Gather", "ce", "columns", "column"), node("Add", "x", "content", "re"), node("Add", "y", "x", "ce"),
			node("MatMul", "q", "y", "Q"), withInts(node("Transpose", "kt", "y"), "perm", dims{0, 2, 1}), node("MatMul", "scores", "q", "kt"), withInts(node("Softmax", "weights", "scores"), "axis", int64(-1)), node("MatMul", "h", "weights", "y")}
	}
	for _, c := range []struct {
		name   string
		change func(m *onnx.NewModel)
		want   string
	}{
		{"as many positions as the longest of several sequences", func(m *onnx.NewModel) {
			m.Inputs = append(m.Inputs, onnx.NewValue{Name: "n", Type: onnx.Int64, Dims: dims{-1}})
			counted(m, withInts(node("ReduceMax", "most", "n"), "keepdims", int64(0)), node("Range", "at", "zero", "most", "one"))
		}, table},
		{"counted where a mask is false", func(m *onnx.NewModel) {
			m.Inputs = append(m.Inputs, onnx.NewValue{Name: "padding", Type: onnx.Bool, Dims: dims{-1, -1}})
			counted(m, node("Not", "tokens", "padding"), withInts(node("Cast", "marks", "tokens"), "to", int64(onnx.Int64)), node("CumSum", "count", "marks", "one"), node("Sub", "at", "count", "one"))
		}, table},
		{"counted over one minus a mask, and again", func(m *onnx.NewModel) {
			m.Inputs = append(m.Inputs, onnx.NewValue{Name: "mask", Type: onnx.Int64, Dims: dims{-1, -1}})
			counted(m, node("Sub", "marks", "one", "mask"), node("CumSum", "count", "marks", "one"), node("CumSum", "again", "marks", "one"), node("Max", "largest", "count", "again"), node("Sub", "at", "largest", "one"))
		}, table},
		{"counted over an input without a name", func(m *onnx.NewModel) {
			m.Inputs = append(m.Inputs, onnx.NewValue{Name: "input_1", Type: onnx.Int64, Dims: dims{-1, -1}})
			counted(m, node("CumSum", "count", "input_1", "one"), node("Sub", "at", "count", "one"))
		}, table},
		{"rows behind two of padding, by an input without a name", func(m *onnx.NewModel) {
			m.Inputs = append(m.Inputs, onnx.NewValue{Name: "input_1", Type: onnx.Int64, Dims: dims{-1, -1}})
			m.Initializers = []onnx.NewTensor{noise("wpe", 20, 4), scalar("two", 2)}
			attend(m, node("Add", "at", "input_1", "two"), node("Gather", "pe", "wpe", "at"), node("Add", "y", "te", "pe"))
		}, "position table of 20 rows of 4, position 0 at row 2 ×18"},
		{"where a single number says", func(m *onnx.NewModel) {
			m.Inputs = append(m.Inputs, onnx.NewValue{Name: "offset", Type: onnx.Int64, Dims: dims{1}})
			m.Initializers = []onnx.NewTensor{noise("wpe", 20, 4), scalar("zero", 0), scalar("one", 1)}
			attend(m, node("Shape", "sizes", "ids"), node("Gather", "length", "sizes", "one"), node("Range", "p", "zero", "length", "one"), node("Add", "at", "p", "offset"), node("Gather", "pe", "wpe", "at"), node("Add", "y", "te", "pe"))
		}, table},
		{"sequence first", func(m *onnx.NewModel) {
			m.Initializers = []onnx.NewTensor{noise("wpe", 20, 1, 4), integers("zero", 0)}
			attend(m, node("Shape", "sizes", "ids"), node("Gather", "length", "sizes", "zero"), node("Slice", "pe", "wpe", "zero", "length", "zero"), node("Add", "x", "te", "pe"),
				withInts(node("Transpose", "y", "x"), "perm", dims{1, 0, 2}))
		}, table},
		{"tokens of four codebooks, which begin at rows of their own", func(m *onnx.NewModel) {
			m.Initializers = append([]onnx.NewTensor{noise("wpe", 20, 4), integers("zero", 0), integers("one", 1), integers("two", 2)}, onnx.NewTensor{Name: "begin", Type: onnx.Int64, Dims: dims{4, 1}, Raw: integers("", 0, 8, 16, 24).Raw})
			attend(m, node("Shape", "sizes", "ids"), node("Gather", "length", "sizes", "two"), node("Slice", "pe", "wpe", "zero", "length", "zero"), withInts(node("ReduceSum", "sum", "te", "one"), "keepdims", int64(0)), node("Add", "y", "sum", "pe"))
			m.Inputs[0].Dims = dims{-1, 4, -1}
			m.Nodes = append([]onnx.NewNode{node("Add", "rows", "ids", "begin")}, m.Nodes...)
			m.Nodes[1].Inputs[1] = "rows"
		}, table},
		{"a row and a column for each patch of a pack", func(m *onnx.NewModel) {
			m.Inputs = []onnx.NewValue{{Name: "patches", Type: onnx.Float, Dims: dims{-1, 4}}, {Name: "positions", Type: onnx.Int64, Dims: dims{-1, 2}}}
			m.Initializers = []onnx.NewTensor{noise("rows", 20, 4), noise("columns", 12, 4), scalar("0", 0), scalar("1", 1), noise("Q", 4, 4), integers("lead", 0)}
			m.Nodes = []onnx.NewNode{withInts(node("Gather", "row", "positions", "0"), "axis", int64(1)), withInts(node("Gather", "column", "positions", "1"), "axis", int64(1)),
				node("Gather", "re", "rows", "row"), node("Gather", "ce", "columns", "column"), node("Add", "x", "patches", "re"), node("Add", "packed", "x", "ce"), node("Unsqueeze", "y", "packed", "lead"),
				node("MatMul", "q", "y", "Q"), withInts(node("Transpose", "kt", "y"), "perm", dims{0, 2, 1}), node("MatMul", "scores", "q", "kt"), withInts(node("Softmax", "weights", "scores"), "axis", int64(-1)), node("MatMul", "h", "weights", "y")}
		}, "position table of 20 rows of 4 ×20; position table of 12 rows of 4 ×12"},
		{"a row and a column ahead of the pixels of a patch", func(m *onnx.NewModel) { columns(m, 20) }, "position table of 20 rows of 4 ×20; position table of 20 rows of 4 ×20"},
		{"two categories ahead of numbers", func(m *onnx.NewModel) { columns(m, 12) }, "none"},
		{"a recording of which convolutions leave nothing at the length of a text", func(m *onnx.NewModel) { beside(m, -1) }, table + "; position table of 30 rows of 4 ×30"},
		{"a step for each picture, of which no name tells that it is one", func(m *onnx.NewModel) {
			m.Inputs = []onnx.NewValue{{Name: "picture", Type: onnx.Float, Dims: dims{-1, 3, 8, 8}}, {Name: "step", Type: onnx.Float, Dims: dims{-1}}}
			m.Initializers = []onnx.NewTensor{noise("kernel", 4, 3, 2, 2), noise("wpe", 1, 16, 4), integers("flat", 0, 4, -1), integers("axes", 1, 2), noise("Q", 4, 4)}
			m.Nodes = []onnx.NewNode{withInts(node("Conv", "patches", "picture", "kernel"), "strides", dims{2, 2}), node("Reshape", "rows", "patches", "flat"), withInts(node("Transpose", "x", "rows"), "perm", dims{0, 2, 1}),
				node("Add", "placed", "x", "wpe"), node("Unsqueeze", "steps", "step", "axes"), node("Add", "y", "placed", "steps"), node("MatMul", "q", "y", "Q"), withInts(node("Transpose", "kt", "y"), "perm", dims{0, 2, 1}),
				node("MatMul", "scores", "q", "kt"), withInts(node("Softmax", "weights", "scores"), "axis", int64(-1)), node("MatMul", "seen", "weights", "y"), withInts(node("Concat", "h", "seen", "x"), "axis", int64(2))}
			m.Outputs = []onnx.NewValue{{Name: "h", Type: onnx.Float, Dims: dims{-1, 16, 8}}}
		}, "position table of 16 rows of 4, grid 4×4 ×16"},
		{"a text of which the state at its end is read", func(m *onnx.NewModel) {
			m.Initializers = []onnx.NewTensor{noise("wpe", 20, 4), integers("zero", 0), integers("one", 1), scalar("end", 2), scalar("first", 0)}
			attend(m, node("Shape", "sizes", "ids"), node("Gather", "length", "sizes", "one"), node("Slice", "pe", "wpe", "zero", "length", "zero"), node("Add", "y", "te", "pe"))
			m.Nodes = append(m.Nodes, node("Equal", "ends", "ids", "end"), node("NonZero", "where", "ends"), node("Transpose", "places", "where"), node("GatherND", "states", "h", "places"), node("Gather", "state", "states", "first"))
			m.Outputs = []onnx.NewValue{{Name: "state", Type: onnx.Float, Dims: dims{4}}}
		}, table},
		{"two codebooks in columns", func(m *onnx.NewModel) {
			m.Initializers = []onnx.NewTensor{noise("second", 32, 4), noise("wpe", 20, 4), scalar("0", 0), scalar("1", 1), integers("zero", 0), integers("one", 1)}
			attend(m, withInts(node("Gather", "code0", "ids", "0"), "axis", int64(2)), withInts(node("Gather", "code1", "ids", "1"), "axis", int64(2)), node("Gather", "e0", "wte", "code0"), node("Gather", "e1", "second", "code1"), node("Add", "x", "e0", "e1"),
				node("Shape", "sizes", "ids"), node("Gather", "length", "sizes", "one"), node("Slice", "pe", "wpe", "zero", "length", "zero"), node("Add", "y", "x", "pe"))
			m.Inputs[0].Dims, m.Nodes = dims{-1, -1, 2}, m.Nodes[1:]
		}, table},
		{"a row for each pair of a position and a token", func(m *onnx.NewModel) {
			m.Initializers = []onnx.NewTensor{noise("by position", 20, 32, 4), scalar("zero", 0), scalar("one", 1), integers("last", -1), integers("columns", 1, -1, 1)}
			attend(m, node("Shape", "sizes", "ids"), node("Gather", "n", "sizes", "one"), node("Range", "p", "zero", "n", "one"), node("Reshape", "at", "p", "columns"), node("Unsqueeze", "token", "ids", "last"),
				withInts(node("Concat", "pairs", "at", "token"), "axis", int64(2)), node("GatherND", "y", "by position", "pairs"))
		}, "unknown"},
		{"distances of an input from itself", func(m *onnx.NewModel) {
			m.Inputs = append(m.Inputs, onnx.NewValue{Name: "onnx::Cast_1", Type: onnx.Int64, Dims: dims{-1, -1}})
			m.Initializers = []onnx.NewTensor{noise("by distance", 9, 1), scalar("low", -4), scalar("high", 4), scalar("four", 4), integers("one", 1), integers("two", 2), integers("last", -1)}
			attend(m, node("Identity", "y", "te"))
			m.Nodes = append(m.Nodes[:len(m.Nodes)-2], node("Unsqueeze", "across", "onnx::Cast_1", "one"), node("Unsqueeze", "down", "onnx::Cast_1", "two"), node("Sub", "apart", "across", "down"), node("Clip", "near", "apart", "low", "high"),
				node("Add", "at", "near", "four"), node("Gather", "picked", "by distance", "at"), node("Squeeze", "bias", "picked", "last"), node("Add", "biased", "scores", "bias"), withInts(node("Softmax", "weights", "biased"), "axis", int64(-1)), node("MatMul", "h", "weights", "y"))
		}, "relative-table, rows 9, heads 1, max distance 4"},
		{"rows beside states that weights are multiplied with", func(m *onnx.NewModel) {
			m.Inputs = []onnx.NewValue{{Name: "states", Type: onnx.Float, Dims: dims{-1, -1, 6}}, {Name: "timesteps", Type: onnx.Int64, Dims: dims{-1, -1}}}
			m.Initializers = []onnx.NewTensor{noise("wpe", 20, 4), noise("S", 6, 4), noise("Q", 4, 4)}
			m.Nodes = []onnx.NewNode{node("MatMul", "te", "states", "S"), node("Gather", "pe", "wpe", "timesteps"), node("Add", "y", "te", "pe"), node("MatMul", "q", "y", "Q"), withInts(node("Transpose", "kt", "y"), "perm", dims{0, 2, 1}), node("MatMul", "scores", "q", "kt"),
				withInts(node("Softmax", "weights", "scores"), "axis", int64(-1)), node("MatMul", "h", "weights", "y")}
		}, table},
		{"rows of waves by an index of one coordinate", func(m *onnx.NewModel) {
			m.Inputs = append(m.Inputs, onnx.NewValue{Name: "a", Type: onnx.Int64, Dims: dims{-1, -1, 1}})
			m.Initializers = []onnx.NewTensor{floats("waves", dims{20, 4}, func(i int) float64 {
				return math.Sin(float64(i/4)/math.Pow(100, float64(i%4/2)/2) + float64(i%2)*math.Pi/2)
			})}
			attend(m, node("GatherND", "pe", "waves", "a"), node("Add", "y", "te", "pe"))
		}, "sinusoids of base 100, dim 4, interleaved, denominator d/2, 20 rows ×20"},
		{"rows of waves of which some are cut", func(m *onnx.NewModel) {
			m.Inputs = append(m.Inputs, onnx.NewValue{Name: "a", Type: onnx.Int64, Dims: dims{-1, -1}})
			m.Initializers = []onnx.NewTensor{floats("waves", dims{1, 20, 4}, func(i int) float64 {
				return math.Sin(float64(i/4)/math.Pow(100, float64(i%4/2)/2) + float64(i%2)*math.Pi/2)
			}), integers("zero", 0), integers("one", 1)}
			attend(m, node("Shape", "sizes", "ids"), node("Gather", "length", "sizes", "one"), node("Slice", "some", "waves", "zero", "length", "one"), node("Squeeze", "cut", "some", "zero"), node("Gather", "pe", "cut", "a"), node("Add", "y", "te", "pe"))
		}, "sinusoids of base 100, dim 4, interleaved, denominator d/2, 20 rows ×20"},
		{"rows beside embeddings as they come in", func(m *onnx.NewModel) {
			m.Inputs = []onnx.NewValue{{Name: "states", Type: onnx.Float, Dims: dims{-1, -1, 4}}, {Name: "timesteps", Type: onnx.Int64, Dims: dims{-1, -1}}}
			m.Initializers = []onnx.NewTensor{noise("wpe", 20, 4), noise("Q", 4, 4)}
			m.Nodes = []onnx.NewNode{node("Gather", "pe", "wpe", "timesteps"), node("Add", "y", "states", "pe"), node("MatMul", "q", "y", "Q"), withInts(node("Transpose", "kt", "y"), "perm", dims{0, 2, 1}), node("MatMul", "scores", "q", "kt"),
				withInts(node("Softmax", "weights", "scores"), "axis", int64(-1)), node("MatMul", "h", "weights", "y")}
		}, table},
		{"rows beside tokens of one axis", func(m *onnx.NewModel) {
			of := []string{"total"}
			m.Inputs = []onnx.NewValue{{Name: "in_0", Type: onnx.Int64, Dims: dims{-1}, Params: of}, {Name: "in_1", Type: onnx.Int64, Dims: dims{-1}, Params: of}}
			m.Outputs[0].Dims = dims{-1, 4}
			m.Initializers = []onnx.NewTensor{noise("wte", 32, 4), noise("wpe", 20, 4), noise("Q", 4, 4)}
			m.Nodes = []onnx.NewNode{node("Gather", "te", "wte", "in_0"), node("Gather", "pe", "wpe", "in_1"), node("Add", "y", "te", "pe"), node("MatMul", "q", "y", "Q"), withInts(node("Transpose", "kt", "y"), "perm", dims{1, 0}), node("MatMul", "scores", "q", "kt"),
				withInts(node("Softmax", "weights", "scores"), "axis", int64(-1)), node("MatMul", "h", "weights", "y")}
		}, table},
		{"rows of waves taken element by element", func(m *onnx.NewModel) {
			m.Inputs = append(m.Inputs, onnx.NewValue{Name: "a", Type: onnx.Int64, Dims: dims{-1, -1}})
			m.Initializers = []onnx.NewTensor{floats("waves", dims{1, 20, 4}, func(i int) float64 {
				return math.Sin(float64(i/4)/math.Pow(100, float64(i%4/2)/2) + float64(i%2)*math.Pi/2)
			}), integers("last", -1), integers("four", 1, 1, 4), integers("batch", 2, 1, 1)}
			m.Inputs[0].Dims[0], m.Inputs[1].Dims[0], m.Outputs[0].Dims[0] = 2, 2, 2
			attend(m, node("Unsqueeze", "column", "a", "last"), node("Tile", "index", "column", "four"), node("Tile", "all", "waves", "batch"), withInts(node("GatherElements", "pe", "all", "index"), "axis", int64(1)), node("Add", "y", "te", "pe"))
		}, "sinusoids of base 100, dim 4, interleaved, denominator d/2, 20 rows ×20"},
		{"hours and days", func(m *onnx.NewModel) {
			m.Inputs = append(m.Inputs, onnx.NewValue{Name: "x_mark", Type: onnx.Int64, Dims: dims{-1, -1, 2}})
			waves := func(i int) float64 { return math.Sin(float64(i/4) / math.Pow(10, float64(i%4))) }
			m.Initializers = []onnx.NewTensor{floats("hours", dims{24, 4}, waves), floats("days", dims{7, 4}, waves), scalar("zero", 0), scalar("one", 1)}
			attend(m, withInts(node("Gather", "hour", "x_mark", "zero"), "axis", int64(2)), withInts(node("Gather", "day", "x_mark", "one"), "axis", int64(2)),
				node("Gather", "he", "hours", "hour"), node("Gather", "de", "days", "day"), node("Add", "x", "te", "he"), node("Add", "y", "x", "de"))
		}, "none"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := built(t, c.change)
			if got := found(m); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
			if c.want == "unknown" {
				return
			}
			for _, f := range m.Findings() {
				if f.Rule != "onnx-positions-assumed" {
					t.Errorf("%+v", f)
				}
			}
		})
	}
}

// TestTokensWithoutABatch: a list of tokens carries a sequence as a matrix of them does, of any length or of one; none is a list that
// takes no rows of a table, or has one number for each sequence of a batch.
func TestTokensWithoutABatch(t *testing.T) {
	type dims = []int64
	list := func(length int64, wide bool) func(m *onnx.NewModel) {
		return func(m *onnx.NewModel) {
			m.Inputs[0].Dims, m.Outputs[0].Dims = dims{length}, dims{length, 4}
			m.Initializers = []onnx.NewTensor{noise("wte", 32, 4), noise("wpe", 6, 4), noise("Q", 4, 4)}
			m.Nodes = []onnx.NewNode{node("Gather", "te", "wte", "ids"), node("Add", "y", "te", "wpe"), node("MatMul", "q", "y", "Q"), withInts(node("Transpose", "kt", "y"), "perm", dims{1, 0}), node("MatMul", "scores", "q", "kt"),
				withInts(node("Softmax", "weights", "scores"), "axis", int64(-1)), node("MatMul", "h", "weights", "y")}
			if !wide {
				m.Initializers = m.Initializers[1:]
				m.Nodes[0] = withInts(node("Cast", "te", "ids"), "to", int64(onnx.Float))
				m.Nodes[1] = node("Mul", "y", "te", "wpe")
			}
		}
	}
	for _, c := range []struct {
		name   string
		change func(m *onnx.NewModel)
		tokens bool
		fixed  int
		length int // at which the graph is looked at
	}{
		{"of one length", list(6, true), true, 6, 6},
		{"of the length that the graph was traced with", list(-1, true), true, 0, 6},
		{"numbers that take no rows", list(6, false), false, 0, 0},
		{"a single number", list(1, true), false, 0, 0},
		{"users of a batch beside items", func(m *onnx.NewModel) {
			list(6, true)(m)
			m.Inputs[0].Name = "user"
			m.Nodes[0].Inputs[1] = "user"
			m.Inputs = append(m.Inputs, onnx.NewValue{Name: "item", Type: onnx.Int64, Dims: dims{6}})
			m.Outputs = append(m.Outputs, onnx.NewValue{Name: "i", Type: onnx.Float, Dims: dims{6, 4}})
			m.Nodes = append(m.Nodes, node("Gather", "i", "wte", "item"))
		}, false, 0, 0},
	} {
		m := built(t, c.change)
		in := m.graph.TokenInput()
		if (in != nil) != c.tokens || m.graph.FixedLength() != c.fixed {
			t.Errorf("%s: tokens %v, length %d", c.name, in, m.graph.FixedLength())
		}
		if c.length > 0 && (m.graph.Sizes.Length != c.length || found(m) != "position table of 6 rows of 4 ×6") {
			t.Errorf("%s: %s, looked at with %d", c.name, found(m), m.graph.Sizes.Length)
		}
	}
}

// TestSequenceAheadOfABatch: where the second axis is one of sequences by its name, the first one is the length, and the graph takes no other.
func TestSequenceAheadOfABatch(t *testing.T) {
	m := built(t, func(m *onnx.NewModel) {
		m.Inputs[0].Dims, m.Inputs[0].Params = []int64{6, -1}, []string{"", "batch"}
		m.Outputs[0].Dims = []int64{6, -1, 4}
		m.Initializers = []onnx.NewTensor{noise("wte", 32, 4), noise("wpe", 20, 1, 4), integers("zero", 0), integers("one", 1)}
		m.Nodes = []onnx.NewNode{node("Gather", "te", "wte", "ids"), node("Shape", "shape", "ids"), node("Slice", "n", "shape", "zero", "one"), node("Slice", "pe", "wpe", "zero", "n", "zero"), node("Add", "h", "te", "pe")}
	})
	if n := m.graph.FixedLength(); n != 6 || found(m) != "position table of 20 rows of 4 ×20" {
		t.Errorf("%d tokens, %s", n, found(m))
	}
}

// TestLengthOfAReshape: a graph that runs at the one length at which all numbers of a value are as many as a Reshape wants is looked at there.
func TestLengthOfAReshape(t *testing.T) {
	m := built(t, func(m *onnx.NewModel) {
		m.Inputs[0].Dims[1], m.Outputs[0].Dims = -1, []int64{-1, 4, 6, 4}
		m.Initializers = []onnx.NewTensor{noise("wte", 32, 4), noise("wpe", 40, 4), integers("zero", 0), integers("one", 1), integers("two", 2), integers("blocks", -1, 4, 6, 4)}
		m.Nodes = []onnx.NewNode{node("Gather", "te", "wte", "ids"), node("Shape", "shape", "ids"), node("Slice", "n", "shape", "one", "two"), node("Slice", "pe", "wpe", "zero", "n", "zero"), node("Add", "x", "te", "pe"), node("Reshape", "h", "x", "blocks")}
	})
	if n := m.graph.Sizes.Length; n != 24 || found(m) != "position table of 40 rows of 4 ×40" {
		t.Errorf("%d tokens, %s", n, found(m))
	}
}

// TestOtherSequenceOfOneLength: a table for fewer places than the text of one length has bounds another sequence, and not the text.
func TestOtherSequenceOfOneLength(t *testing.T) {
	m := built(t, func(m *onnx.NewModel) {
		m.Inputs = append(m.Inputs, onnx.NewValue{Name: "condition", Type: onnx.Float, Dims: []int64{1, 3, 4}})
		m.Outputs = append(m.Outputs, onnx.NewValue{Name: "c", Type: onnx.Float, Dims: []int64{1, 3, 4}})
		m.Initializers = []onnx.NewTensor{noise("wte", 32, 4), noise("wpe", 6, 4), noise("few", 3, 4), noise("W", 4, 4)}
		m.Nodes = []onnx.NewNode{node("Gather", "te", "wte", "ids"), node("Add", "x", "te", "wpe"), node("MatMul", "h", "x", "W"), node("Add", "y", "condition", "few"), node("MatMul", "q", "y", "W"),
			withInts(node("Transpose", "kt", "y"), "perm", []int64{0, 2, 1}), node("MatMul", "scores", "q", "kt"), withInts(node("Softmax", "weights", "scores"), "axis", int64(-1)), node("MatMul", "c", "weights", "y")}
	})
	length := position.Length(m, m.Describe())
	if found(m) != "position table of 6 rows of 4 ×6; position table of 3 rows of 4 ×3" || length.Capacity == nil || *length.Capacity != 6 {
		t.Errorf("%s, %v", found(m), length)
	}
}

// TestKindsOfSeries: a column of kinds beside numbers of any length is none of tokens, also where inputs are named as those of a past.
func TestKindsOfSeries(t *testing.T) {
	m := built(t, func(m *onnx.NewModel) {
		m.Inputs = []onnx.NewValue{{Name: "past_values", Type: onnx.Float, Dims: []int64{-1, -1}}, {Name: "past_time_features", Type: onnx.Float, Dims: []int64{-1, -1, 2}}, {Name: "static", Type: onnx.Int64, Dims: []int64{-1, 1}}}
		m.Outputs[0].Dims = []int64{-1, -1, 4}
		m.Initializers = append(m.Initializers, noise("W", 1, 4), noise("V", 2, 4), integers("two", 2))
		m.Nodes = []onnx.NewNode{node("Shape", "shape", "past_values"), node("Gather", "n", "shape", "one"), node("Range", "p", "zero", "n", "one"), node("Gather", "pe", "wpe", "p"), node("Unsqueeze", "column", "past_values", "two"),
			node("MatMul", "x", "column", "W"), node("MatMul", "f", "past_time_features", "V"), node("Gather", "kind", "wte", "static"), node("Add", "xf", "x", "f"), node("Add", "te", "xf", "kind"), node("Add", "h", "te", "pe")}
	})
	if found(m) != "position table of 16 rows of 4 ×16" {
		t.Error(found(m))
	}
}

// TestFoldedIntoTheBatch: of codebooks that are folded into the batch there are as many as the graph takes apart.
func TestFoldedIntoTheBatch(t *testing.T) {
	m := built(t, func(m *onnx.NewModel) {
		m.Inputs[0].Dims, m.Inputs[0].Params, m.Outputs[0].Dims = []int64{-1, -1}, []string{"rows", "steps"}, []int64{-1, -1, 4}
		m.Initializers = append(m.Initializers, integers("ends", 1), integers("beyond", 2), integers("apart", -1, 3))
		sum := node("ReduceSum", "te", "each", "ends")
		sum.Attributes = []onnx.NewAttribute{{Name: "keepdims", Value: int64(0)}}
		m.Nodes = append(m.Nodes[:4], node("Slice", "steps", "shape", "ends", "beyond"), withInts(node("Concat", "books", "apart", "steps"), "axis", int64(0)), node("Reshape", "codes", "ids", "books"),
			node("Gather", "each", "wte", "codes"), sum, node("Add", "h", "te", "pe"))
	})
	if found(m) != "position table of 16 rows of 4 ×16" || m.graph.Eval.Main.Value("ids").Shape[0] != 3 {
		t.Error(found(m), m.graph.Eval.Failures)
	}
}

// TestNodesOfAGraph: a graph of any number of nodes, each of as many numbers, is of no fixed size; records of as many numbers are.
func TestNodesOfAGraph(t *testing.T) {
	for _, c := range []struct {
		second onnx.NewNode
		beyond string
	}{{node("MatMul", "h", "adjacency", "x"), report.BeyondContinues}, {node("Identity", "h", "x"), report.BeyondError}} {
		m := built(t, func(m *onnx.NewModel) {
			m.Inputs = []onnx.NewValue{{Name: "features", Type: onnx.Float, Dims: []int64{-1, 9}, Params: []string{"nodes", ""}}, {Name: "adjacency", Type: onnx.Float, Dims: []int64{-1, -1}, Params: []string{"nodes", "nodes"}}}
			m.Outputs[0].Dims = []int64{-1, 4}
			m.Initializers = []onnx.NewTensor{noise("W", 9, 4)}
			m.Nodes = []onnx.NewNode{node("MatMul", "x", "features", "W"), c.second}
		})
		if l := position.Length(m, m.Describe()); found(m) != "none" || l.Beyond != c.beyond {
			t.Errorf("%s: %s, %+v", c.second.Op, found(m), l)
		}
	}
}

// TestSharedInputs: numbers of a caller that turn queries and keys are none of content, whatever
// the names of their axes; a column of positions that shares the name of an axis of tokens is one of positions.
func TestSharedInputs(t *testing.T) {
	rotated := func(m *onnx.NewModel, batch int64, cosines []int64, of ...string) {
		m.Inputs = []onnx.NewValue{{Name: "ids", Type: onnx.Int64, Dims: []int64{batch, -1}, Params: []string{"batch", "sequence"}}, {Name: "c", Type: onnx.Float, Dims: cosines, Params: of}, {Name: "s", Type: onnx.Float, Dims: cosines, Params: of}}
		if batch > 0 {
			m.Inputs[0].Params[0] = ""
		}
		m.Outputs[0].Dims = []int64{batch, -1, 4}
		m.Initializers = append(m.Initializers, noise("W", 4, 4), noise("K", 4, 4))
		turned := func(of string) []onnx.NewNode {
			halves := node("Split", of+"a", of)
			halves.Outputs, halves.Attributes = []string{of + "a", of + "b"}, []onnx.NewAttribute{{Name: "axis", Value: int64(-1)}, {Name: "num_outputs", Value: int64(2)}}
			return []onnx.NewNode{halves, node("Neg", of+"n", of+"b"), withInts(node("Concat", of+"r", of+"n", of+"a"), "axis", int64(-1)), node("Mul", of+"c", of, "c"), node("Mul", of+"s", of+"r", "s"), node("Add", of+" turned", of+"c", of+"s")}
		}
		m.Opset = 18
		m.Nodes = slices.Concat([]onnx.NewNode{node("Gather", "te", "wte", "ids"), node("MatMul", "q", "te", "W"), node("MatMul", "k", "te", "K")}, turned("q"), turned("k"), []onnx.NewNode{
			withInts(node("Transpose", "kt", "k turned"), "perm", []int64{0, 2, 1}), node("MatMul", "scores", "q turned", "kt"), node("Softmax", "weights", "scores"), node("MatMul", "h", "weights", "te")})
	}
	for name, change := range map[string]func(m *onnx.NewModel){
		"a batch of one":      func(m *onnx.NewModel) { rotated(m, 1, []int64{-1, 4}, "sequence", "") },
		"a name of their own": func(m *onnx.NewModel) { rotated(m, -1, []int64{-1, 4}, "rows", "") },
		"both":                func(m *onnx.NewModel) { rotated(m, 1, []int64{-1, 4}, "rows", "") },
		"for each sequence":   func(m *onnx.NewModel) { rotated(m, -1, []int64{-1, -1, 4}, "batch", "sequence", "") },
	} {
		m := built(t, change)
		if shape := m.graph.Eval.Main.Value("c").Shape; !strings.HasPrefix(found(m), "RoPE of unknown base, rotary dim 4, half") || shape[len(shape)-2] != m.graph.Sizes.Length {
			t.Errorf("%s: %s, %v, %v", name, found(m), shape, m.graph.Eval.Failures)
		}
	}
	m := built(t, func(m *onnx.NewModel) {
		m.Inputs = []onnx.NewValue{{Name: "ids", Type: onnx.Int64, Dims: []int64{1, -1}, Params: []string{"", "sequence"}}, {Name: "stamps", Type: onnx.Float, Dims: []int64{-1}, Params: []string{"sequence"}}}
		m.Outputs[0].Dims = []int64{1, -1, 4}
		m.Initializers = append(m.Initializers, floats("frequencies", []int64{2}, func(k int) float64 { return []float64{1, 0.01}[k] }), integers("last", 1), noise("W", 4, 4))
		m.Nodes = []onnx.NewNode{node("Gather", "te", "wte", "ids"), node("Unsqueeze", "column", "stamps", "last"), node("Mul", "angle", "column", "frequencies"), node("Sin", "sin", "angle"), node("Cos", "cos", "angle"),
			withInts(node("Concat", "pe", "sin", "cos"), "axis", int64(-1)), node("Add", "x", "te", "pe"), node("MatMul", "h", "x", "W")}
	})
	if got := found(m); !strings.HasPrefix(got, "sinusoids of base 10000") {
		t.Error(got)
	}
}

// TestGivenToOperators: cosines and sines that a caller gives to an operator which turns pairs itself, for each token or in rows that it picks, are
// those of a rotation of no base that the file tells; a fixed number of rows ends it, and nothing in the file can be stored otherwise.
func TestGivenToOperators(t *testing.T) {
	for name, c := range map[string]struct {
		domain   string
		rows     int64
		capacity int
	}{"for each token": {"", 0, 0}, "rows": {"com.microsoft", -1, 0}, "so many rows": {"com.microsoft", 32, 32}} {
		m := built(t, func(m *onnx.NewModel) {
			cosines := onnx.NewValue{Type: onnx.Float, Dims: []int64{-1, -1, 2}, Params: []string{"batch", "sequence", ""}}
			if c.rows != 0 {
				cosines.Dims, cosines.Params = []int64{c.rows, 2}, []string{"rows", ""}
			}
			if c.rows > 0 {
				cosines.Params[0] = ""
			}
			ids := onnx.NewValue{Name: "ids", Type: onnx.Int64, Dims: []int64{-1, -1}, Params: []string{"batch", "sequence"}}
			m.Inputs = []onnx.NewValue{ids, cosines, cosines, ids}
			m.Inputs[1].Name, m.Inputs[2].Name, m.Inputs[3].Name = "c", "s", "position_ids"
			m.Opset, m.Outputs[0].Dims = 23, []int64{-1, -1, 4}
			m.Initializers = append(m.Initializers, noise("W", 4, 4), noise("K", 4, 4), integers("heads", 0, 0, 1, 4), integers("back", 0, 0, 4), integers("ends", 1))
			m.Nodes = []onnx.NewNode{node("Gather", "te", "wte", "ids")}
			for of, weights := range map[string]string{"q": "W", "k": "K"} {
				turn := node("RotaryEmbedding", of+"t", of+"h", "c", "s")
				if turn.Domain = c.domain; c.domain != "" {
					turn.Inputs = []string{of + "h", "position_ids", "c", "s"}
				}
				m.Nodes = append(m.Nodes, node("MatMul", of, "te", weights), node("Reshape", of+"r", of, "heads"), withInts(node("Transpose", of+"h", of+"r"), "perm", []int64{0, 2, 1, 3}), turn)
			}
			m.Nodes = append(m.Nodes, withInts(node("Transpose", "keys", "kt"), "perm", []int64{0, 1, 3, 2}), node("MatMul", "scores", "qt", "keys"), node("Softmax", "weights", "scores"),
				node("Unsqueeze", "v", "te", "ends"), node("MatMul", "o", "weights", "v"), withInts(node("Transpose", "p", "o"), "perm", []int64{0, 2, 1, 3}), node("Reshape", "h", "p", "back"))
		})
		e := m.Sites()[0].Encoding()
		scheme, _ := e.Scheme.(schemes.Rotary)
		if !scheme.Given || scheme.Dim != 4 || scheme.HeadDim != 4 || e.Capacity != c.capacity || len(m.Findings()) > 0 {
			t.Errorf("%s: %s, %d positions, %v, %v", name, found(m), e.Capacity, m.Findings(), m.graph.Eval.Failures)
		}
		if _, err := position.Rescale(m, position.RescaleOptions{Base: 20000}); err == nil || !strings.Contains(err.Error(), "the caller gives cosines and sines") {
			t.Errorf("%s, rope: %v", name, err)
		}
		if _, err := position.Bake(m, position.BakeOptions{Length: 64}); err == nil || !strings.Contains(err.Error(), "the caller gives cosines and sines") {
			t.Errorf("%s, bake: %v", name, err)
		}
		if err := m.sites[0].Store(position.Want{Scheme: scheme, Positions: 64}); (err == nil) != (c.capacity == 0) {
			t.Errorf("%s, longer: %v", name, err)
		}
	}
}

// TestOperatorAlone: an operator whose data are an input, as the standard's own tests have it, is no model that turns.
func TestOperatorAlone(t *testing.T) {
	m := built(t, func(m *onnx.NewModel) {
		cosines := []int64{-1, -1, 2}
		m.Opset, m.Outputs[0].Dims = 23, []int64{-1, 2, -1, 4}
		m.Inputs = []onnx.NewValue{{Name: "x", Type: onnx.Float, Dims: []int64{-1, 2, -1, 4}}, {Name: "c", Type: onnx.Float, Dims: cosines}, {Name: "s", Type: onnx.Float, Dims: cosines}}
		m.Nodes = []onnx.NewNode{node("RotaryEmbedding", "h", "x", "c", "s")}
	})
	if got := found(m); got != report.SchemeUnknown {
		t.Error(got)
	}
}

// TestWordsBehindEntities: a few entities, as many as a graph was made for, are not the text that its words are (LUKE).
func TestWordsBehindEntities(t *testing.T) {
	type dims = []int64
	scalar := func(name string, x int64) onnx.NewTensor {
		number := integers(name, x)
		number.Dims = nil
		return number
	}
	m := built(t, func(m *onnx.NewModel) {
		m.Inputs = []onnx.NewValue{{Name: "in_0", Type: onnx.Int64, Dims: dims{1, 2}}, {Name: "in_1", Type: onnx.Int64, Dims: dims{1, -1}}}
		m.Outputs[0].Dims = dims{1, -1, 4}
		m.Initializers = []onnx.NewTensor{noise("entities", 12, 4), noise("wte", 32, 4), noise("wpe", 20, 4), noise("Q", 4, 4), scalar("zero", 0), scalar("one", 1)}
		m.Nodes = []onnx.NewNode{node("Gather", "ee", "entities", "in_0"), node("Gather", "te", "wte", "in_1"), node("Shape", "sizes", "in_1"), node("Gather", "length", "sizes", "one"), node("Range", "at", "zero", "length", "one"),
			node("Gather", "pe", "wpe", "at"), node("Add", "x", "te", "pe"), withInts(node("Concat", "y", "x", "ee"), "axis", int64(1)), node("MatMul", "q", "y", "Q"), withInts(node("Transpose", "kt", "y"), "perm", dims{0, 2, 1}), node("MatMul", "scores", "q", "kt"),
			withInts(node("Softmax", "weights", "scores"), "axis", int64(-1)), node("MatMul", "h", "weights", "y")}
	})
	if l := position.Length(m, m.Describe()); found(m) != "position table of 20 rows of 4 ×20" || l.Stated != nil || l.Capacity == nil || *l.Capacity != 20 {
		t.Errorf("%s, %+v", found(m), l)
	}
}

// TestTextOfOneLength: a second text, of which the graph takes one length alone whatever it declares, does not end the first one.
func TestTextOfOneLength(t *testing.T) {
	type dims = []int64
	m := built(t, func(m *onnx.NewModel) {
		m.Inputs = []onnx.NewValue{{Name: "ids", Type: onnx.Int64, Dims: dims{1, -1}, Params: []string{"", "length"}}, {Name: "other", Type: onnx.Int64, Dims: dims{1, -1}, Params: []string{"", "other_length"}}}
		m.Outputs[0].Dims = dims{1, -1, 4}
		zero, one := integers("zero", 0), integers("one", 1)
		zero.Dims, one.Dims = nil, nil
		m.Initializers = []onnx.NewTensor{noise("wte", 32, 4), noise("wpe", 20, 4), noise("Q", 4, 4), integers("seven", 7, 4), zero, one}
		m.Nodes = []onnx.NewNode{node("Gather", "te", "wte", "ids"), node("Shape", "sizes", "ids"), node("Gather", "length", "sizes", "one"), node("Range", "at", "zero", "length", "one"), node("Gather", "pe", "wpe", "at"), node("Add", "x", "te", "pe"),
			node("Gather", "oe", "wte", "other"), node("Reshape", "states", "oe", "seven"), node("MatMul", "q", "x", "Q"), withInts(node("Transpose", "kt", "states"), "perm", dims{1, 0}), node("MatMul", "scores", "q", "kt"),
			withInts(node("Softmax", "weights", "scores"), "axis", int64(-1)), node("MatMul", "h", "weights", "states")}
	})
	if l := position.Length(m, m.Describe()); found(m) != "position table of 20 rows of 4 ×20" || l.Capacity == nil || *l.Capacity != 20 {
		t.Errorf("%s, %+v", found(m), l)
	}
}
