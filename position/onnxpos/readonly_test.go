package onnxpos

import (
	"math"
	"testing"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
)

// einsum is an Einsum by an equation.
func einsum(out, equation string, in ...string) onnx.NewNode {
	n := node("Einsum", out, in...)
	n.Attributes = []onnx.NewAttribute{{Name: "equation", Value: equation}}
	return n
}

// TestReadOnly reads encodings where their numbers meet the data, in forms that no
// mechanism looks for: rows chosen by a product, matrices that turn pairs (as Flux
// keeps them), vectors for pairs of positions, biases of an attention without a
// Softmax. What meets the data and is not read is said.
func TestReadOnly(t *testing.T) {
	attend := func(m *onnx.NewModel, query, key string, between ...onnx.NewNode) {
		m.Nodes = append(m.Nodes, withInts(node("Transpose", "kt", key), "perm", []int64{0, 2, 1}), node("MatMul", "s", query, "kt"))
		m.Nodes = append(m.Nodes, between...)
		m.Nodes = append(m.Nodes, node("Sigmoid", "w", "b"), node("MatMul", "h", "w", "q"))
	}
	start := func(m *onnx.NewModel, length, width int64) {
		text(m, length, width)
		m.Nodes = []onnx.NewNode{m.Nodes[0], node("MatMul", "q", "te", "W")}
	}
	turn := func(i int) float64 { // position, pair, row, column
		angle := float64(i/16) * math.Pow(10000, -float64(i/4%4)/4)
		return []float64{math.Cos(angle), -math.Sin(angle), math.Sin(angle), math.Cos(angle)}[i%4]
	}
	pairwise := func(m *onnx.NewModel) { // apart: how far each place stands behind each
		m.Initializers = append(m.Initializers, integers("one", 1), integers("zero", 0), onnx.NewTensor{Name: "none", Type: onnx.Int64, Raw: make([]byte, 8)},
			onnx.NewTensor{Name: "step", Type: onnx.Int64, Raw: []byte{1, 0, 0, 0, 0, 0, 0, 0}})
		m.Nodes = append(m.Nodes, node("Shape", "size", "ids"), node("Gather", "n", "size", "step"), node("Range", "p", "none", "n", "step"),
			node("Unsqueeze", "down", "p", "one"), node("Unsqueeze", "across", "p", "zero"), node("Sub", "apart", "down", "across"))
	}
	for _, c := range []struct {
		name   string
		change func(m *onnx.NewModel)
		found  string
		unread int
	}{
		{"rows that are chosen by a product", func(m *onnx.NewModel) {
			text(m, 6, 4)
			m.Inputs[0].Dims[1] = -1
			m.Initializers = append(m.Initializers, noise("rows", 40, 4), integers("depth", 40), floats("switch", []int64{2}, func(i int) float64 { return float64(i) }))
			m.Initializers = append(m.Initializers, onnx.NewTensor{Name: "zero", Type: onnx.Int64, Raw: make([]byte, 8)}, onnx.NewTensor{Name: "step", Type: onnx.Int64, Raw: []byte{1, 0, 0, 0, 0, 0, 0, 0}})
			m.Nodes = []onnx.NewNode{m.Nodes[0], node("Shape", "s", "ids"), node("Gather", "n", "s", "step"), node("Range", "p", "zero", "n", "step"),
				node("OneHot", "hot", "p", "depth", "switch"), node("MatMul", "pe", "hot", "rows"), node("Add", "sum", "te", "pe"), node("MatMul", "h", "sum", "W")}
		}, "position table of 40 rows of 4 ×40", 0},
		{"rotations kept as matrices of pairs", func(m *onnx.NewModel) {
			start(m, 6, 8)
			m.Initializers = append(m.Initializers, floats("R", []int64{1, 6, 4, 2, 2}, turn), integers("pairs", 1, 6, 4, 2), integers("back", 1, 6, 8))
			m.Nodes = append(m.Nodes, node("Reshape", "qp", "q", "pairs"), einsum("rp", "bsie,zside->bsid", "qp", "R"), node("Reshape", "r", "rp", "back"))
			attend(m, "r", "r", node("Identity", "b", "s"))
		}, "RoPE base 10000, rotary dim 8, interleaved ×6", 0},
		{"a vector for each pair of positions", func(m *onnx.NewModel) {
			start(m, 6, 4)
			m.Initializers = append(m.Initializers, noise("pairs", 6, 6, 4))
			m.Nodes = append(m.Nodes, einsum("pair", "bqd,qkd->bqk", "q", "pairs"))
			attend(m, "q", "q", node("Add", "b", "s", "pair"))
		}, "relative-table, rows 6, dim 4 ×6", 0},
		{"which row each pair has, and all rows, in one product", func(m *onnx.NewModel) {
			start(m, 6, 4)
			m.Inputs[0].Dims[1], m.Outputs[0].Dims[1] = -1, -1
			pairwise(m)
			m.Initializers = append(m.Initializers, noise("rows", 7, 4), integers("near", -3), integers("far", 3), integers("depth", 7), floats("switch", []int64{2}, func(i int) float64 { return float64(i) }))
			m.Nodes = append(m.Nodes, node("Max", "a", "apart", "near"), node("Min", "c", "a", "far"), node("Sub", "r", "c", "near"), node("OneHot", "hot", "r", "depth", "switch"),
				einsum("pair", "bqd,rd,qkr->bqk", "q", "rows", "hot"))
			attend(m, "q", "q", node("Add", "b", "s", "pair"))
		}, "relative-table, rows 7, max distance 3", 0},
		{"sines of each pair's distance times weights, in two layers", func(m *onnx.NewModel) {
			start(m, 6, 4)
			m.Inputs[0].Dims[1], m.Outputs[0].Dims[1] = -1, -1
			pairwise(m)
			m.Initializers = append(m.Initializers, noise("R", 16, 4), integers("last", 2), floats("f", []int64{8}, func(i int) float64 { return math.Pow(10000, -float64(i)/8) }))
			m.Nodes = append(m.Nodes, withInts(node("Cast", "x", "apart"), "to", int64(onnx.Float)), node("Unsqueeze", "x3", "x", "last"), node("Mul", "angles", "x3", "f"),
				node("Sin", "sin", "angles"), node("Cos", "cos", "angles"), withInts(node("Concat", "waves", "sin", "cos"), "axis", int64(-1)),
				node("MatMul", "R1", "waves", "R"), einsum("p1", "bqd,qkd->bqk", "q", "R1"), node("MatMul", "R2", "waves", "R"), einsum("p2", "bqd,qkd->bqk", "q", "R2"))
			attend(m, "q", "q", node("Add", "b1", "s", "p1"), node("Add", "b", "b1", "p2"))
		}, "relative-sinusoid, dim 16, base 10000", 0},
		{"the same, of one length", func(m *onnx.NewModel) {
			start(m, 6, 4)
			pairwise(m)
			m.Initializers = append(m.Initializers, noise("R", 16, 4), integers("last", 2), floats("f", []int64{8}, func(i int) float64 { return math.Pow(10000, -float64(i)/8) }))
			m.Nodes = append(m.Nodes, withInts(node("Cast", "x", "apart"), "to", int64(onnx.Float)), node("Unsqueeze", "x3", "x", "last"), node("Mul", "angles", "x3", "f"),
				node("Sin", "sin", "angles"), node("Cos", "cos", "angles"), withInts(node("Concat", "waves", "sin", "cos"), "axis", int64(-1)), node("MatMul", "R1", "waves", "R"), einsum("p1", "bqd,qkd->bqk", "q", "R1"))
			attend(m, "q", "q", node("Add", "b", "s", "p1"))
		}, "relative-sinusoid, dim 16, base 10000", 0},
		{"vectors of pairs that queries and values share, in products for each query", func(m *onnx.NewModel) {
			start(m, 6, 4)
			m.Inputs[0].Dims[1], m.Outputs[0].Dims[1] = -1, -1
			pairwise(m)
			m.Initializers = append(m.Initializers, floats("pairs", []int64{12, 12, 4}, func(i int) float64 { return math.Sin(float64(7*min(max(i/48-i/4%12, -2), 2) + 3*(i%4))) }), integers("lead", 0, 1), integers("count", 1))
			m.Nodes = append(m.Nodes, node("Unsqueeze", "end", "n", "zero"), node("Slice", "some", "pairs", "zero", "end", "zero"), node("Slice", "v", "some", "zero", "end", "one"),
				withInts(node("Transpose", "vt", "v"), "perm", []int64{0, 2, 1}), withInts(node("Transpose", "each", "q"), "perm", []int64{1, 0, 2}), node("MatMul", "byquery", "each", "vt"), withInts(node("Transpose", "pair", "byquery"), "perm", []int64{1, 0, 2}),
				withInts(node("Transpose", "kt", "q"), "perm", []int64{0, 2, 1}), node("MatMul", "s", "q", "kt"), node("Add", "b", "s", "pair"), withInts(node("Softmax", "w", "b"), "axis", int64(-1)), node("MatMul", "context", "w", "te"),
				withInts(node("Transpose", "weights", "w"), "perm", []int64{1, 0, 2}), node("MatMul", "placed", "weights", "v"), withInts(node("Transpose", "more", "placed"), "perm", []int64{1, 0, 2}), node("Add", "h", "context", "more"))
		}, "relative-table, rows 5, dim 4, max distance 2", 0},
		{"a bias of scores that go into no Softmax", func(m *onnx.NewModel) {
			start(m, 6, 4)
			m.Initializers = append(m.Initializers, floats("bias", []int64{1, 6, 6}, func(i int) float64 { return -0.5 * math.Abs(float64(i/6-i%6)) }))
			attend(m, "q", "q", node("Add", "b", "s", "bias"))
		}, "ALiBi, 1 heads, max bias 1 ×6", 0},
		{"a bias whose heads stand behind its keys", func(m *onnx.NewModel) {
			start(m, 6, 4)
			m.Outputs[0].Dims = []int64{1, 6, 2, 2}
			m.Initializers = append(m.Initializers, integers("heads", 1, 6, 2, 2), floats("bias", []int64{6, 6, 1, 2}, func(i int) float64 { return -math.Abs(float64(i/12-i/2%6)) / float64(2+i%2) }))
			m.Nodes = append(m.Nodes, node("Reshape", "qh", "q", "heads"), einsum("s", "bihd,bjhd->ijbh", "qh", "qh"), node("Add", "b", "s", "bias"), withInts(node("Softmax", "w", "b"), "axis", int64(1)), einsum("h", "ijbh,bjhd->bihd", "w", "qh"))
		}, "unknown", 0},
		{"T5's biases in an operator of ONNX Runtime", func(m *onnx.NewModel) {
			start(m, 6, 4)
			m.Inputs[0].Dims[1] = -1
			m.Outputs[0].Dims[1] = -1
			m.Initializers = append(m.Initializers, noise("biases", 8, 1), onnx.NewTensor{Name: "one", Type: onnx.Int64, Raw: []byte{1, 0, 0, 0, 0, 0, 0, 0}})
			fused := onnx.NewNode{Op: "RelativePositionBias", Domain: "com.microsoft", Inputs: []string{"biases", "n", "n"}, Outputs: []string{"bias"},
				Attributes: []onnx.NewAttribute{{Name: "max_distance", Value: int64(16)}, {Name: "is_bidirectional", Value: int64(1)}}}
			m.Nodes = append(m.Nodes, node("Shape", "size", "ids"), node("Gather", "n", "size", "one"), fused)
			attend(m, "q", "q", node("Add", "b", "s", "bias"))
		}, "t5 bias, 8 buckets to distance 16, bidirectional", 0},
		{"a gate by position beside a table", func(m *onnx.NewModel) {
			text(m, 6, 4)
			m.Initializers = append(m.Initializers, noise("gate", 6, 1))
			m.Nodes = []onnx.NewNode{m.Nodes[0], node("Add", "h0", "te", "wpe"), node("MatMul", "a", "h0", "W"), node("Mul", "g", "a", "gate"), node("MatMul", "h", "g", "W")}
		}, "position table of 6 rows of 4 ×6", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := built(t, c.change)
			if got := found(m); got != c.found {
				t.Errorf("found %q, want %q", got, c.found)
			}
			unread := 0
			for _, f := range m.Findings() {
				if f.Rule == ruleUnreadMeeting.ID {
					unread++
				}
			}
			if unread != c.unread {
				t.Errorf("%d places are said not to be read, want %d", unread, c.unread)
			}
			if _, readOnly := m.sites[0].(*readOnlySite); readOnly {
				if err := m.sites[0].Store(position.Want{}); err == nil {
					t.Error("it is changed though it is only read")
				}
			}
		})
	}
}

// TestSinesBehindPackedWeights: sines and cosines of distances that weights are multiplied with, of 32 bits or of four
// (MatMulNBits), are one encoding.
func TestSinesBehindPackedWeights(t *testing.T) {
	for _, packed := range []bool{false, true} {
		m := built(t, func(m *onnx.NewModel) {
			free(m)
			const dim, rows = 16, 63
			m.Outputs[0].Dims[2] = -1
			m.Initializers = append(m.Initializers[:1], integers("one", 1), integers("zero", 0), integers("middle", 31), integers("ahead", 32), noise("W", dim, 4),
				onnx.NewTensor{Name: "W4", Type: onnx.Uint8, Dims: []int64{4, 1, dim / 2}, Raw: make([]byte, 4*dim/2)}, floats("scales", []int64{4}, func(int) float64 { return 0.1 }),
				floats("pe", []int64{1, rows, dim}, func(i int) float64 {
					angle := float64(31-i/dim) * math.Pow(10000, -float64(i%(dim/2))/(dim/2))
					if i%dim < dim/2 {
						return math.Sin(angle)
					}
					return math.Cos(angle)
				}))
			product := node("MatMul", "by", "far", "W")
			if packed {
				product = onnx.NewNode{Op: "MatMulNBits", Domain: "com.microsoft", Inputs: []string{"far", "W4", "scales"}, Outputs: []string{"by"}}
				for name, v := range map[string]int64{"K": dim, "N": 4, "bits": 4, "block_size": dim} {
					product = withInts(product, name, v)
				}
			}
			m.Nodes = []onnx.NewNode{node("Gather", "te", "wte", "ids"), node("Shape", "shape", "ids"), node("Slice", "n", "shape", "one", "end"), node("Sub", "from", "ahead", "n"),
				node("Add", "to", "middle", "n"), node("Slice", "far", "pe", "from", "to", "one"), product, withInts(node("Transpose", "turned", "by"), "perm", []int64{0, 2, 1}),
				node("MatMul", "scores", "te", "turned"), node("Softmax", "h", "scores")}
			m.Initializers = append(m.Initializers, integers("end", 2))
		})
		if len(m.sites) != 1 || m.sites[0].Encoding().Scheme.Name() != report.SchemeRelativeSinusoid {
			t.Errorf("packed %v: %s", packed, found(m))
		}
	}
}

// TestClipOfAGraphThatEnds: where a table of positions ends the graph ahead of twice the distance to which vectors are told apart, it shows all the
// same that farther ones are clipped.
func TestClipOfAGraphThatEnds(t *testing.T) {
	m := built(t, func(m *onnx.NewModel) {
		type dims = []int64
		m.Inputs[0].Dims[1], m.Outputs[0].Dims = -1, dims{1, -1, 4}
		scalar := func(name string, v int64) onnx.NewTensor {
			t := integers(name, v)
			t.Dims = nil
			return t
		}
		m.Initializers = []onnx.NewTensor{noise("wte", 32, 4), noise("wpe", 10, 4), noise("W", 4, 4), noise("rows", 13, 4), integers("one", 1), integers("zero", 0), integers("near", -6), integers("far", 6), scalar("none", 0), scalar("step", 1)}
		m.Nodes = []onnx.NewNode{node("Gather", "te", "wte", "ids"), node("Shape", "size", "ids"), node("Gather", "n", "size", "step"), node("Range", "p", "none", "n", "step"), node("Gather", "pe", "wpe", "p"), node("Add", "x", "te", "pe"),
			node("Shape", "placed", "x"), node("Gather", "m", "placed", "step"), node("Range", "i", "none", "m", "step"),
			node("Unsqueeze", "down", "i", "one"), node("Unsqueeze", "across", "i", "zero"), node("Sub", "apart", "down", "across"), node("Max", "a", "apart", "near"), node("Min", "c", "a", "far"), node("Sub", "r", "c", "near"),
			node("Gather", "v", "rows", "r"), node("MatMul", "q", "x", "W"), withInts(node("Transpose", "kt", "q"), "perm", dims{0, 2, 1}), node("MatMul", "s", "q", "kt"), einsum("pair", "bqd,qkd->bqk", "q", "v"), node("Add", "b", "s", "pair"),
			withInts(node("Softmax", "w", "b"), "axis", int64(-1)), node("MatMul", "h", "w", "x")}
	})
	if got, want := found(m), "position table of 10 rows of 4 ×10; relative-table, rows 13, max distance 6"; got != want {
		t.Errorf("found %q, want %q", got, want)
	}
}

// TestWidthOfAnEinsum: a query is as wide as the axis that its product with keys sums over, wherever that stands.
func TestWidthOfAnEinsum(t *testing.T) {
	m := built(t, func(m *onnx.NewModel) {
		text(m, 6, 8)
		m.Initializers = append(m.Initializers, integers("heads", 1, 6, 4, 2), integers("back", 1, 6, 8))
		m.Nodes = []onnx.NewNode{node("Gather", "te", "wte", "ids"), node("MatMul", "q", "te", "W"), node("Reshape", "parts", "q", "heads"), withInts(node("Transpose", "x", "parts"), "perm", []int64{0, 2, 3, 1}),
			einsum("s", "bdhn,bdhm->bhnm", "x", "x"), withInts(node("Softmax", "w", "s"), "axis", int64(-1)), einsum("y", "bhnm,bdhm->bdhn", "w", "x"), withInts(node("Transpose", "z", "y"), "perm", []int64{0, 3, 1, 2}), node("Reshape", "h", "z", "back")}
	})
	if a := m.Attentions(); len(a) != 1 || a[0].Heads != 2 || a[0].HeadDim != 4 {
		t.Errorf("%+v", a)
	}
}
