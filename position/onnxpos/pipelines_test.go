package onnxpos

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/position"
)

// TestPipelines holds what is told of graphs as quantisers, optimisers and exporters of several sequences write them.
func TestPipelines(t *testing.T) {
	tokens := func(m *onnx.NewModel, steps ...onnx.NewNode) { // nodes between the tokens' vectors and what weighs them
		m.Initializers = append(m.Initializers, noise("W", 4, 4))
		m.Nodes = append(append(m.Nodes[:5:5], steps...), node("MatMul", "h", "x", "W"))
	}
	scores := func(m *onnx.NewModel, keys string, steps ...onnx.NewNode) { // the tokens' attention to some keys, without a table
		m.Initializers = append(m.Initializers[:1:1], m.Initializers[2:]...)
		m.Nodes = append(append([]onnx.NewNode{m.Nodes[4]}, steps...), withInts(node("Transpose", "turned", keys), "perm", []int64{0, 2, 1}), node("MatMul", "scores", "te", "turned"), node("Add", "biased", "scores", "bias"),
			node("Sigmoid", "weights", "biased"), node("MatMul", "h", "weights", keys))
	}
	byDistance := func(d int) float64 { return math.Sin(float64(3*d*d + d)) }
	for _, c := range []struct {
		name     string
		change   func(*onnx.NewModel)
		found    string
		capacity int
	}{
		{"a Clip that changes nothing ahead of DequantizeLinear", func(m *onnx.NewModel) {
			free(m)
			raw := make([]byte, 64)
			for i := range raw {
				raw[i] = byte(int8(100 * math.Sin(float64(i*i))))
			}
			m.Initializers[1] = onnx.NewTensor{Name: "wpe8", Type: onnx.Int8, Dims: []int64{16, 4}, Raw: raw}
			m.Initializers = append(m.Initializers, onnx.NewTensor{Name: "low", Type: onnx.Int8, Raw: []byte{129}}, onnx.NewTensor{Name: "high", Type: onnx.Int8, Raw: []byte{127}}, floats("scale", nil, func(int) float64 { return 0.01 }))
			tokens(m, node("Add", "x", "te", "pe"))
			m.Nodes = append([]onnx.NewNode{node("Clip", "clipped", "wpe8", "low", "high"), node("DequantizeLinear", "wpe", "clipped", "scale")}, m.Nodes...)
		}, "position table of 16 rows of 4 ×16", 16},
		{"a number for each row of the table", func(m *onnx.NewModel) {
			free(m)
			m.Initializers = append(m.Initializers, floats("norms", []int64{16, 1}, func(i int) float64 { return 2 + math.Sin(float64(i)) }))
			tokens(m, node("Add", "x", "te", "pe"))
			m.Nodes[3].Inputs[0] = "unit"
			m.Nodes = append([]onnx.NewNode{node("Div", "unit", "wpe", "norms")}, m.Nodes...)
		}, "position table of 16 rows of 4 ×16", 16},
		{"a table as what a product of matrices is added to", func(m *onnx.NewModel) {
			m.Inputs = []onnx.NewValue{{Name: "patches", Type: onnx.Float, Dims: []int64{6, 8}}}
			m.Outputs[0].Dims = []int64{6, 4}
			m.Initializers = []onnx.NewTensor{noise("project", 8, 4), noise("table", 6, 4), noise("W", 4, 4)}
			m.Nodes = []onnx.NewNode{node("Gemm", "x", "patches", "project", "table"), withInts(node("Transpose", "keys", "x"), "perm", []int64{1, 0}), node("MatMul", "scores", "x", "keys"), node("Softmax", "weights", "scores"),
				node("MatMul", "seen", "weights", "x"), node("MatMul", "h", "seen", "W")}
		}, "position table of 6 rows of 4 ×6", 6},
		{"two tokens a step", func(m *onnx.NewModel) {
			free(m)
			m.Initializers = append(m.Initializers, noise("kinds", 32, 4), integers("2", 2), integers("flat", 1, -1, 4), integers("twice", 2), integers("0", 0))
			m.Nodes[2].Inputs[1] = "n2"
			tokens(m, node("Gather", "other", "kinds", "ids"), node("Unsqueeze", "a", "te", "2"), node("Unsqueeze", "b", "other", "2"), withInts(node("Concat", "pairs", "a", "b"), "axis", int64(2)),
				node("Reshape", "steps", "pairs", "flat"), node("Add", "x", "steps", "pe"))
			m.Nodes = slices.Insert(m.Nodes, 2, node("Mul", "nn", "n", "twice"), node("Squeeze", "n2", "nn"))
		}, "position table of 16 rows of 4 ×16", 8},
		{"two sequences, each traced with a length of its own", func(m *onnx.NewModel) {
			free(m)
			m.Inputs = append(m.Inputs, onnx.NewValue{Name: "memory", Type: onnx.Float, Dims: []int64{1, -1, 4}})
			m.Outputs[0].Dims = []int64{1, 7, 3}
			m.Initializers = append(m.Initializers, integers("seven", 1, 7, 4), integers("three", 1, 3, 4), noise("W", 4, 4))
			m.Nodes = append(m.Nodes[:5:5], node("Add", "x", "te", "pe"), node("Reshape", "queries", "x", "seven"), node("MatMul", "projected", "memory", "W"), node("Reshape", "seen", "projected", "three"),
				withInts(node("Transpose", "keys", "seen"), "perm", []int64{0, 2, 1}), node("MatMul", "h", "queries", "keys"))
		}, "position table of 16 rows of 4 ×16", 7},
		{"a picture beside tokens of a traced length", func(m *onnx.NewModel) {
			var of onnx.NewModel
			picture(&of)
			free(m)
			m.Inputs, m.Outputs[0].Dims = append(m.Inputs, of.Inputs...), []int64{1, 7, 16}
			m.Initializers = append(append(m.Initializers, of.Initializers...), integers("seven", 1, 7, 4))
			m.Nodes = append(append(m.Nodes[:5:5], of.Nodes[:2]...), node("Add", "tokens", "te", "pe"), node("Reshape", "queries", "tokens", "seven"), node("MatMul", "projected", "queries", "W"), node("MatMul", "h", "projected", "f"))
		}, "position table of 16 rows of 4 ×16", 7},
		{"an index of one length and an axis that was freed afterwards", func(m *onnx.NewModel) {
			free(m)
			m.Initializers = append(m.Initializers, integers("index", 0, 1, 2, 3, 4, 5, 6))
			m.Nodes[3].Inputs[1] = "index"
			tokens(m, node("Add", "x", "te", "pe"))
		}, "position table of 16 rows of 4 ×16", 7},
		{"a key of no token ahead of a bias by distance", func(m *onnx.NewModel) {
			m.Initializers = append(m.Initializers, noise("none", 1, 1, 4), floats("bias", []int64{1, 6, 7}, func(i int) float64 {
				if i%7 == 0 {
					return 0
				}
				return byDistance(i/7 - i%7 + 1)
			}))
			scores(m, "keys", withInts(node("Concat", "keys", "none", "te"), "axis", int64(1)))
		}, "relative-table, rows 11, heads 1 ×6", 6},
		{"a bias by distance that meets another first", func(m *onnx.NewModel) {
			m.Initializers = append(m.Initializers, floats("relative", []int64{1, 6, 6}, func(i int) float64 { return byDistance(i/6 - i%6) }), noise("weights", 32, 1))
			scores(m, "te", node("Gather", "column", "weights", "ids"), withInts(node("Transpose", "row", "column"), "perm", []int64{0, 2, 1}), node("Sub", "apart", "column", "row"), node("Add", "bias", "apart", "relative"))
			for i, n := range m.Nodes {
				if n.Outputs[0] == "weights" {
					m.Nodes[i].Outputs[0] = "gates"
				} else if n.Outputs[0] == "h" {
					m.Nodes[i].Inputs[0] = "gates"
				}
			}
		}, "relative-table, rows 11, heads 1 ×6", 6},
		{"a Tanh of the table's rows", func(m *onnx.NewModel) {
			free(m)
			tokens(m, node("Tanh", "squashed", "pe"), node("Add", "x", "te", "squashed"))
		}, "position table of 16 rows of 4 ×16", 16},
		{"rows that fall with the position, of one length behind a free axis", func(m *onnx.NewModel) {
			free(m)
			m.Initializers = append(m.Initializers, integers("down", 6, 5, 4, 3, 2, 1, 0))
			m.Nodes[3].Inputs[1] = "down"
			tokens(m, node("Add", "x", "te", "pe"))
		}, "position table of 16 rows of 4 ×16", 7},
		{"a row for two positions each", func(m *onnx.NewModel) {
			free(m)
			m.Initializers = append(m.Initializers, integers("two", 2))
			m.Nodes[3].Inputs[1] = "halves"
			tokens(m, node("Add", "x", "te", "pe"))
			m.Nodes = slices.Insert(m.Nodes, 3, node("Div", "halves", "p", "two"))
		}, "position table of 16 rows of 4 ×32", 32},
		{"patches and the tokens behind them, of one table", func(m *onnx.NewModel) {
			var of onnx.NewModel
			picture(&of)
			free(m)
			m.Inputs, m.Outputs[0].Dims = append(m.Inputs, of.Inputs...), []int64{1, -1, 4}
			m.Initializers[1] = noise("wpe", 40, 4)
			m.Initializers = append(append(m.Initializers, of.Initializers...), integers("0", 0), integers("1", 1))
			m.Nodes = append(append([]onnx.NewNode{m.Nodes[4]}, of.Nodes...), withInts(node("Concat", "all", "x", "te"), "axis", int64(1)), node("Shape", "size", "all"), node("Gather", "length", "size", "1"),
				node("Slice", "rows", "wpe", "0", "length", "0"), node("Add", "placed", "all", "rows"), node("MatMul", "h", "placed", "W"))
		}, "position table of 40 rows of 4 ×40", 24},
		{"several tokens a step of a series", func(m *onnx.NewModel) {
			m.Inputs = []onnx.NewValue{{Name: "observations", Type: onnx.Float, Dims: []int64{1, -1, 2, 8}}}
			m.Outputs[0].Dims = []int64{1, -1, 4}
			m.Initializers = append(m.Initializers[1:], noise("V", 8, 4), noise("W", 4, 4), integers("flat", 1, -1, 4), integers("0", 0), integers("1", 1))
			m.Nodes = []onnx.NewNode{node("MatMul", "states", "observations", "V"), node("Reshape", "x", "states", "flat"), node("Shape", "size", "x"), node("Gather", "length", "size", "1"), node("Slice", "rows", "wpe", "0", "length", "0"),
				node("Add", "placed", "x", "rows"), node("MatMul", "h", "placed", "W")}
		}, "position table of 16 rows of 4 ×16", 8},
		{"a mean for each feature ahead of a convolution over time and features", func(m *onnx.NewModel) {
			m.Inputs = []onnx.NewValue{{Name: "features", Type: onnx.Float, Dims: []int64{1, -1, 8}}}
			m.Outputs[0].Dims = []int64{1, 3, -1, 4}
			m.Initializers = []onnx.NewTensor{noise("mean", 8), noise("filter", 3, 1, 2, 2), integers("1", 1)}
			m.Nodes = []onnx.NewNode{node("Sub", "centred", "features", "mean"), node("Unsqueeze", "one channel", "centred", "1"), withInts(node("Conv", "h", "one channel", "filter"), "strides", []int64{2, 2})}
		}, "none", 0},
		{"sines and cosines behind weights", func(m *onnx.NewModel) {
			freeText(m, 8)
			m.Initializers = append(m.Initializers, floats("frequencies", []int64{1, 4}, func(i int) float64 { return math.Pow(10000, -float64(i)/4) }), integers("last", -1), noise("V", 8, 8))
			m.Nodes = append(m.Nodes, withInts(node("Cast", "pf", "p"), "to", int64(onnx.Float)), node("Unsqueeze", "column", "pf", "last"), node("Mul", "angles", "column", "frequencies"), node("Sin", "sin", "angles"), node("Cos", "cos", "angles"),
				withInts(node("Concat", "waves", "sin", "cos"), "axis", int64(-1)), node("MatMul", "weighed", "waves", "V"), node("Add", "h0", "te", "weighed"))
		}, "sinusoids of base 10000, dim 8, sin-cos, denominator d/2", 0},
		{"a mask of floating-point numbers that is counted", func(m *onnx.NewModel) {
			free(m)
			m.Inputs = append(m.Inputs, onnx.NewValue{Name: "padding_mask", Type: onnx.Float, Dims: []int64{1, -1}})
			m.Initializers = append(m.Initializers, floats("all", nil, func(int) float64 { return 1 }), integers("axis", 1))
			m.Nodes[2] = node("CumSum", "counted", "there", "axis")
			m.Nodes = slices.Insert(m.Nodes, 2, node("Sub", "there", "all", "padding_mask"))
			m.Nodes = slices.Insert(m.Nodes, 4, node("Sub", "from 0", "counted", "all"), withInts(node("Cast", "p", "from 0"), "to", int64(onnx.Int64)))
			m.Nodes = append(m.Nodes[:len(m.Nodes)-1:len(m.Nodes)-1], node("Add", "x", "te", "pe"), node("MatMul", "h", "x", "W"))
			m.Initializers = append(m.Initializers, noise("W", 4, 4))
		}, "position table of 16 rows of 4 ×16", 16},
		{"frames of which two make a position, behind a node", func(m *onnx.NewModel) {
			m.Inputs = []onnx.NewValue{{Name: "features", Type: onnx.Float, Dims: []int64{1, -1, 4}}}
			m.Outputs[0].Dims = []int64{1, -1, 4}
			m.Initializers = append(m.Initializers[1:], noise("mean", 4), noise("filter", 4, 4, 2), noise("W", 4, 4), integers("0", 0), integers("1", 1))
			m.Nodes = []onnx.NewNode{node("Sub", "centred", "features", "mean"), withInts(node("Transpose", "channels", "centred"), "perm", []int64{0, 2, 1}), withInts(node("Conv", "made", "channels", "filter"), "strides", []int64{2}),
				withInts(node("Transpose", "x", "made"), "perm", []int64{0, 2, 1}), node("Shape", "size", "x"), node("Gather", "length", "size", "1"), node("Slice", "rows", "wpe", "0", "length", "0"), node("Add", "placed", "x", "rows"), node("MatMul", "h", "placed", "W")}
		}, "position table of 16 rows of 4 ×16", 16},
		{"a part of each head for the rows and one for the columns", func(m *onnx.NewModel) {
			picture(m)
			m.Outputs[0].Dims[2] = 8
			angle := func(axis int) func(i int) float64 {
				return func(i int) float64 {
					return float64([]int{i / 4 / 4, i / 4 % 4}[axis]) * math.Pow(100, -float64(i%2)/2)
				}
			}
			m.Initializers = []onnx.NewTensor{noise("patch", 8, 3, 8, 8), integers("flat", 1, 8, 16), integers("halves", 4, 4), integers("quarters", 2, 2)}
			m.Nodes = append(m.Nodes, withInts(onnx.NewNode{Op: "Split", Inputs: []string{"x", "halves"}, Outputs: []string{"part0", "part1"}}, "axis", int64(2)))
			for axis, of := range []string{"0", "1"} {
				a := angle(axis)
				m.Initializers = append(m.Initializers, floats("cos"+of, []int64{16, 4}, func(i int) float64 { return math.Cos(a(i)) }), floats("sin"+of, []int64{16, 4}, func(i int) float64 { return math.Sin(a(i)) }))
				m.Nodes = append(m.Nodes, withInts(onnx.NewNode{Op: "Split", Inputs: []string{"part" + of, "quarters"}, Outputs: []string{"a" + of, "b" + of}}, "axis", int64(2)), node("Neg", "minus"+of, "b"+of),
					withInts(node("Concat", "other"+of, "minus"+of, "a"+of), "axis", int64(2)), node("Mul", "c"+of, "part"+of, "cos"+of), node("Mul", "s"+of, "other"+of, "sin"+of), node("Add", "turned"+of, "c"+of, "s"+of))
			}
			m.Nodes = append(m.Nodes, withInts(node("Concat", "h", "turned0", "turned1"), "axis", int64(2)))
		}, "RoPE base 100, rotary dim 8, half, by row and column of 4×4 patches ×16", 16},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := built(t, c.change)
			capacity := 0
			if r := position.Inspect(m); r.Length.Capacity != nil {
				capacity = *r.Length.Capacity
			}
			if got := found(m); got != c.found || capacity != c.capacity {
				t.Errorf("found %q of %d positions, want %q of %d", got, capacity, c.found, c.capacity)
			}
		})
	}
}

// TestScaledRows: rows that the graph scales by numbers of their own cannot be added to.
func TestScaledRows(t *testing.T) {
	m := built(t, func(m *onnx.NewModel) {
		free(m)
		m.Initializers = append(m.Initializers, floats("norms", []int64{16, 1}, func(i int) float64 { return 2 + math.Sin(float64(i)) }))
		m.Nodes[3].Inputs[0] = "unit"
		m.Nodes = append([]onnx.NewNode{node("Div", "unit", "wpe", "norms")}, m.Nodes...)
	})
	if _, err := position.Extend(m, position.ExtendOptions{Length: 32}); err == nil || !strings.Contains(err.Error(), "scales each row") {
		t.Error(err)
	}
}

// TestLayersOfAnotherTower: attentions of another input than that of those which turn are none of their layers.
func TestLayersOfAnotherTower(t *testing.T) {
	for name, other := range map[string]string{"of another input": "pictures", "of the same": "ids"} {
		m := built(t, func(m *onnx.NewModel) {
			m.Inputs = append(m.Inputs, onnx.NewValue{Name: "pictures", Type: onnx.Int64, Dims: []int64{1, 8}})
			m.Outputs = append(m.Outputs, onnx.NewValue{Name: "h2", Type: onnx.Float, Dims: []int64{1, -1, -1, 4}})
			m.Outputs[0].Dims = []int64{1, 1, 6, 4}
			m.Initializers = append(m.Initializers[:1:1], integers("heads", 1), integers("halves", 2, 2),
				floats("cos", []int64{6, 4}, func(i int) float64 { return math.Cos(float64(i/4) * math.Pow(100, -float64(i%2)/2)) }), floats("sin", []int64{6, 4}, func(i int) float64 { return math.Sin(float64(i/4) * math.Pow(100, -float64(i%2)/2)) }))
			m.Nodes = []onnx.NewNode{node("Gather", "te", "wte", "ids"), node("Unsqueeze", "x", "te", "heads"), withInts(onnx.NewNode{Op: "Split", Inputs: []string{"x", "halves"}, Outputs: []string{"a", "b"}}, "axis", int64(3)),
				node("Neg", "minus", "b"), withInts(node("Concat", "swapped", "minus", "a"), "axis", int64(3)), node("Mul", "xc", "x", "cos"), node("Mul", "xs", "swapped", "sin"), node("Add", "turned", "xc", "xs"),
				node("Gather", "to", "wte", other), node("Unsqueeze", "y", "to", "heads")}
			for i, of := range []string{"turned", "y"} {
				layer := string(rune('0' + i))
				values, out := []string{"x", "y"}[i], []string{"h", "h2"}[i]
				m.Nodes = append(m.Nodes, withInts(node("Transpose", "keys"+layer, of), "perm", []int64{0, 1, 3, 2}), node("MatMul", "scores"+layer, of, "keys"+layer), node("Softmax", "weights"+layer, "scores"+layer), node("MatMul", out, "weights"+layer, values))
			}
		})
		e := position.Inspect(m).Encodings[0]
		if want := map[string]int{"of another input": 0, "of the same": 1}[name]; e.Scheme != "rope" || len(e.Layers) != 1 || len(e.Parameters.Unrotated) != want {
			t.Errorf("%s: %s in layers %v, not in %v", name, e.Scheme, e.Layers, e.Parameters.Unrotated)
		}
	}
}

// TestTracedLength: a graph whose axes are free and whose constants hold the length that it was traced with counts to that one; longer, it
// takes any up to its table's.
func TestTracedLength(t *testing.T) {
	for name, traced := range map[string]func(m *onnx.NewModel){
		"a shape joined of constants": func(m *onnx.NewModel) {
			m.Outputs[0].Dims = []int64{-1, 2, 2}
			m.Initializers = append(m.Initializers, integers("seven", 7), integers("heads", 2, 2))
			m.Nodes = append(m.Nodes, withInts(node("Transpose", "first", "x"), "perm", []int64{1, 0, 2}), withInts(node("Concat", "target", "seven", "heads"), "axis", int64(0)), node("Reshape", "h", "first", "target"))
		},
		"a new axis ahead of the length": func(m *onnx.NewModel) {
			m.Initializers = append(m.Initializers, integers("target", 1, 7))
			m.Nodes[3].Inputs[1] = "row"
			m.Nodes = slices.Insert(m.Nodes, 3, node("Reshape", "row", "p", "target"))
			m.Nodes = append(m.Nodes, node("Identity", "h", "x"))
		},
		"the same, where zeros are sizes": func(m *onnx.NewModel) {
			m.Initializers = append(m.Initializers, integers("target", 1, 7))
			m.Nodes[3].Inputs[1] = "row"
			m.Nodes = slices.Insert(m.Nodes, 3, withInts(node("Reshape", "row", "p", "target"), "allowzero", int64(1)))
			m.Nodes = append(m.Nodes, node("Identity", "h", "x"))
		},
		"a limit for each position": func(m *onnx.NewModel) {
			m.Initializers = append(m.Initializers, integers("last", 30, 30, 30, 30, 30, 30, 30))
			m.Nodes[3].Inputs[1] = "cut"
			m.Nodes = slices.Insert(m.Nodes, 3, node("Min", "cut", "p", "last"))
			m.Nodes = append(m.Nodes, node("Identity", "h", "x"))
		},
	} {
		change := func(m *onnx.NewModel) {
			free(m)
			m.Nodes[5].Outputs[0] = "x"
			traced(m)
		}
		for n, want := range map[int]string{7: "the model has 7 positions already", 12: "", 24: ""} {
			m := built(t, change)
			out, err := position.Extend(m, position.ExtendOptions{Length: n})
			if err != nil || out.Nothing != want {
				t.Fatalf("%s, %d: %q, %v", name, n, out.Nothing, err)
			}
			if want != "" {
				continue
			}
			longer := result(t, m, saved(t, change))
			for _, length := range []int{3, 7, n} {
				if f := longer.graph.FailsAt(length); f != nil {
					t.Errorf("%s, %d: at %d: %s: %v", name, n, length, f.Node.Title(), f.Err)
				}
			}
		}
	}
}

// TestPartsOfOneAxis: parts of a head that turn along one axis by different frequencies are no table of the grid.
func TestPartsOfOneAxis(t *testing.T) {
	m := built(t, func(m *onnx.NewModel) {
		picture(m)
		m.Outputs[0].Dims[2] = 16
		m.Initializers = []onnx.NewTensor{noise("patch", 16, 3, 8, 8), integers("flat", 1, 16, 16), integers("parts", 4, 4, 4, 4), integers("halves", 2, 2)}
		m.Nodes = append(m.Nodes, withInts(onnx.NewNode{Op: "Split", Inputs: []string{"x", "parts"}, Outputs: []string{"part0", "part1", "part2", "part3"}}, "axis", int64(2)))
		for i, of := range []string{"0", "1", "2", "3"} {
			angle := func(k int) float64 {
				return float64([]int{k / 4 / 4, k / 4 % 4}[i/2]) * math.Pow([]float64{100, 10}[i%2], -float64(k%2)/2)
			}
			m.Initializers = append(m.Initializers, floats("cos"+of, []int64{16, 4}, func(k int) float64 { return math.Cos(angle(k)) }), floats("sin"+of, []int64{16, 4}, func(k int) float64 { return math.Sin(angle(k)) }))
			m.Nodes = append(m.Nodes, withInts(onnx.NewNode{Op: "Split", Inputs: []string{"part" + of, "halves"}, Outputs: []string{"a" + of, "b" + of}}, "axis", int64(2)), node("Neg", "minus"+of, "b"+of),
				withInts(node("Concat", "other"+of, "minus"+of, "a"+of), "axis", int64(2)), node("Mul", "c"+of, "part"+of, "cos"+of), node("Mul", "s"+of, "other"+of, "sin"+of), node("Add", "turned"+of, "c"+of, "s"+of))
		}
		m.Nodes = append(m.Nodes, withInts(node("Concat", "h", "turned0", "turned1", "turned2", "turned3"), "axis", int64(2)))
	})
	for _, e := range position.Inspect(m).Encodings {
		if e.Parameters.Base != nil {
			t.Errorf("%+v", e.Parameters)
		}
	}
}

// TestPositionNames: an input that picks rows which are added to those of tokens holds positions where its name says so, or nothing else.
func TestPositionNames(t *testing.T) {
	for name, want := range map[string]string{"segment_pos": "position table of 16 rows of 4 ×16", "residue_index": "position table of 16 rows of 4 ×16", "frame_idx": "position table of 16 rows of 4 ×16", "ages": "none", "segment_ids": "none"} {
		m := built(t, func(m *onnx.NewModel) {
			free(m)
			m.Inputs = append(m.Inputs, onnx.NewValue{Name: name, Type: onnx.Int64, Dims: []int64{1, -1}})
			m.Initializers = append(m.Initializers, noise("W", 4, 4))
			m.Nodes = []onnx.NewNode{node("Gather", "te", "wte", "ids"), node("Gather", "pe", "wpe", name), node("Add", "x", "te", "pe"), node("MatMul", "h", "x", "W")}
		})
		if got := found(m); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// TestEndGivenUp: of a graph that was given up nothing says where it ends.
func TestEndGivenUp(t *testing.T) {
	m := built(t, func(m *onnx.NewModel) {
		free(m)
		m.Initializers = append(m.Initializers, integers("seven", 1, 7, 4))
		m.Outputs[0].Dims = []int64{1, 7, 4}
		m.Nodes = append(m.Nodes[:5:5], node("Add", "x", "te", "pe"), node("Reshape", "h", "x", "seven"))
	})
	if n, _ := m.End(); n != 7 {
		t.Errorf("it ends at %d", n)
	}
	m.giveUp("too large")
	if n, beside := m.End(); n != 0 || beside != 0 {
		t.Errorf("given up, it ends at %d beside %d", n, beside)
	}
}

// TestBranchesBehindBoxes: numbers of places that only branches without weights read are post-processing, and those that a branch weighs are not.
func TestBranchesBehindBoxes(t *testing.T) {
	for name, c := range map[string]struct {
		last onnx.NewNode
		want string
	}{"no weights": {node("Identity", "boxes", "scaled"), "none"}, "weights": {node("MatMul", "boxes", "scaled", "W"), "unknown"}} {
		m := built(t, func(m *onnx.NewModel) {
			picture(m)
			m.Outputs = []onnx.NewValue{{Name: "h", Type: onnx.Float, Dims: []int64{1, 4, 4, 4}}}
			m.Initializers = append(m.Initializers, floats("widths", []int64{1, 1, 4, 4}, func(i int) float64 { return float64(i*i + 1) }), onnx.NewTensor{Name: "any", Type: onnx.Bool, Raw: []byte{1}})
			branch := onnx.NewModel{Nodes: []onnx.NewNode{c.last}, Outputs: []onnx.NewValue{{Name: "boxes", Type: onnx.Float}}}
			m.Nodes = append(m.Nodes[:1:1], node("Mul", "scaled", "patches", "widths"), withInts(withInts(node("If", "h", "any"), "then_branch", branch), "else_branch", branch))
		})
		if got := found(m); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestColumnsFirst: a table that a recording's graph resamples to as many places as it has is no bound, also where columns stand ahead of places.
func TestColumnsFirst(t *testing.T) {
	m := built(t, func(m *onnx.NewModel) {
		m.Inputs = []onnx.NewValue{{Name: "input_features", Type: onnx.Float, Dims: []int64{1, 4, -1}}}
		m.Outputs = []onnx.NewValue{{Name: "h", Type: onnx.Float, Dims: []int64{1, -1, 4}}}
		m.Initializers = []onnx.NewTensor{noise("filter", 4, 4, 2), noise("table", 1, 4, 12), integers("ahead", 1, 4), integers("2", 2), integers("3", 3), noise("W", 4, 4)}
		m.Nodes = []onnx.NewNode{withInts(node("Conv", "heard", "input_features", "filter"), "strides", []int64{2}), node("Shape", "shape", "heard"), node("Slice", "many", "shape", "2", "3"),
			withInts(node("Concat", "sizes", "ahead", "many"), "axis", int64(0)), withInts(node("Resize", "rows", "table", "", "", "sizes"), "mode", "linear"), node("Add", "placed", "heard", "rows"),
			withInts(node("Transpose", "x", "placed"), "perm", []int64{0, 2, 1}), node("MatMul", "h", "x", "W")}
	})
	if e := position.Inspect(m).Encodings[0]; e.Scheme != "learned" || e.Beyond != "continues" {
		t.Errorf("%s, %s", e.Scheme, e.Beyond)
	}
}

// TestTracedCounts: ones for each position that are counted as well, for a mean, are not one for all; nor is a length in floating point that
// scales the data changed with the positions.
func TestTracedCounts(t *testing.T) {
	number := func(name string, x float64) onnx.NewTensor { return floats(name, nil, func(int) float64 { return x }) }
	for name, change := range map[string]func(m *onnx.NewModel){
		"a mean over a mask": func(m *onnx.NewModel) {
			free(m)
			m.Initializers = append(m.Initializers, floats("mask", []int64{1, 7, 1}, func(int) float64 { return 1 }))
			m.Nodes[5].Outputs[0] = "x"
			m.Nodes = append(m.Nodes, node("Mul", "seen", "x", "mask"), node("ReduceSum", "count", "mask", "one"), node("Div", "h", "seen", "count"))
		},
		"a scale as large as the length": func(m *onnx.NewModel) {
			m.Initializers = append(m.Initializers[:2:2], number("none", 0), number("six", 6), number("step", 1))
			m.Nodes = []onnx.NewNode{node("Range", "counted", "none", "six", "step"), withInts(node("Cast", "p", "counted"), "to", int64(onnx.Int64)), node("Gather", "pe", "wpe", "p"), node("Gather", "te", "wte", "ids"),
				node("Div", "small", "te", "six"), node("Add", "h", "small", "pe")}
		},
	} {
		var refusal *position.Refusal
		if _, err := position.Extend(built(t, change), position.ExtendOptions{Length: 12}); !errors.As(err, &refusal) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestLengthInFloats: a graph of one length whose positions are counted in floating point counts further in a longer one.
func TestLengthInFloats(t *testing.T) {
	change := func(m *onnx.NewModel) {
		number := func(name string, x float64) onnx.NewTensor { return floats(name, nil, func(int) float64 { return x }) }
		m.Initializers = append(m.Initializers[:2:2], number("none", 0), number("six", 6), number("step", 1))
		m.Nodes = []onnx.NewNode{node("Range", "counted", "none", "six", "step"), withInts(node("Cast", "p", "counted"), "to", int64(onnx.Int64)), node("Gather", "pe", "wpe", "p"), node("Gather", "te", "wte", "ids"),
			node("Add", "h", "te", "pe")}
	}
	m := built(t, change)
	if _, err := position.Extend(m, position.ExtendOptions{Length: 12}); err != nil {
		t.Fatal(err)
	}
	if got := result(t, m, saved(t, change)).graph.Eval.Main.Value("p").Ints; len(got) != 12 || got[11] != 11 {
		t.Errorf("the positions of 12 tokens are %v", got)
	}
}
