package onnxpos

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/onnxpos/rotary"
	"github.com/modelpatch/modelpatch/schemes"
)

// The graphs of these tests were made to mislead the detector, or are odd in a
// way that an exporter could be.

func node(op, out string, in ...string) onnx.NewNode {
	return onnx.NewNode{Op: op, Inputs: in, Outputs: []string{out}}
}

func withInts(n onnx.NewNode, name string, v any) onnx.NewNode {
	n.Attributes = append(n.Attributes, onnx.NewAttribute{Name: name, Value: v})
	return n
}

// floats is an initializer whose elements a function gives.
func floats(name string, dims []int64, at func(i int) float64) onnx.NewTensor {
	x := make([]float64, onnx.Size(dims))
	for i := range x {
		x[i] = at(i)
	}
	b, _ := onnx.EncodeFloats(onnx.Float, x, nil)
	return onnx.NewTensor{Name: name, Type: onnx.Float, Dims: dims, Raw: b}
}

// noise is an initializer of numbers that follow no rule.
func noise(name string, dims ...int64) onnx.NewTensor {
	return floats(name, dims, func(i int) float64 { return math.Sin(float64(i*i + len(name))) })
}

func integers(name string, v ...int64) onnx.NewTensor {
	b, _ := onnx.EncodeInts(onnx.Int64, v, nil)
	return onnx.NewTensor{Name: name, Type: onnx.Int64, Dims: []int64{int64(len(v))}, Raw: b}
}

// free gives the model of built a free length.
func free(m *onnx.NewModel) { m.Inputs[0].Dims[1], m.Outputs[0].Dims[1] = -1, -1 }

// turning leaves nothing in the model but a rotation by each pair of caches of
// the given rows, in layers of their own; the cosine of row 9 is bent.
func turning(m *onnx.NewModel, rows []int, bend []float64) {
	free(m)
	m.Nodes[3], m.Nodes[5] = node("Identity", "unused", "one"), node("Identity", "h", "te")
	m.Initializers = slices.Delete(m.Initializers, 1, 2)
	m.Outputs = nil
	for i, n := range rows {
		tensors, nodes := len(m.Initializers), len(m.Nodes)
		m.Outputs = append(m.Outputs, onnx.NewValue{Type: onnx.Float, Dims: []int64{1, -1, 4}})
		addCaches(m, n, n, bend[i])
		layer := func(name string) string { return fmt.Sprint(name, i) }
		for k := tensors; k < len(m.Initializers); k++ {
			m.Initializers[k].Name = layer(m.Initializers[k].Name)
		}
		for k := nodes; k < len(m.Nodes); k++ {
			for j, in := range m.Nodes[k].Inputs {
				if in != "p" && in != "h" {
					m.Nodes[k].Inputs[j] = layer(in)
				}
			}
			for j, out := range m.Nodes[k].Outputs {
				m.Nodes[k].Outputs[j] = layer(out)
			}
		}
		m.Outputs[0].Name, m.Outputs[i].Name = layer("turned"), layer("turned")
	}
	for i := range m.Outputs {
		m.Outputs[i].Name = fmt.Sprint("turned", i)
	}
}

// picture makes the model one of an image of 4×4 patches; patches go on as
// "x" of (1, 16, 4).
func picture(m *onnx.NewModel) {
	m.Inputs = []onnx.NewValue{{Name: "pixel_values", Type: onnx.Float, Dims: []int64{1, 3, 32, 32}}}
	m.Outputs = []onnx.NewValue{{Name: "h", Type: onnx.Float, Dims: []int64{1, 16, 4}}}
	m.Initializers = []onnx.NewTensor{noise("patch", 4, 3, 8, 8), noise("W", 4, 4), integers("flat", 1, 4, 16)}
	m.Nodes = []onnx.NewNode{withInts(node("Conv", "patches", "pixel_values", "patch"), "strides", []int64{8, 8}),
		node("Reshape", "f", "patches", "flat"), withInts(node("Transpose", "x", "f"), "perm", []int64{0, 2, 1})}
}

// resampled leaves nothing in the model but the patches of a free picture, with a table that is resampled to them.
func resampled(m *onnx.NewModel) {
	picture(m)
	m.Inputs[0].Dims = []int64{1, 3, -1, -1}
	m.Outputs[0] = onnx.NewValue{Name: "h", Type: onnx.Float, Dims: []int64{1, 4, -1, -1}}
	m.Initializers = append(m.Initializers, noise("pos", 1, 4, 4, 4), integers("ahead", 1, 4), integers("from", 2), integers("to", 4))
	m.Nodes = append(m.Nodes[:1], node("Shape", "s", "patches"), node("Slice", "hw", "s", "from", "to"), withInts(node("Concat", "sizes", "ahead", "hw"), "axis", int64(0)),
		withInts(node("Resize", "table", "pos", "", "", "sizes"), "mode", "linear"), node("Add", "h", "patches", "table"))
}

// recorded adds a recording of the given frames that a convolution halves, with
// a table of the encoder when its length is fixed.
func recorded(m *onnx.NewModel, frames int64) {
	m.Inputs = append([]onnx.NewValue{{Name: "input_features", Type: onnx.Float, Dims: []int64{1, 4, frames}}}, m.Inputs...)
	m.Initializers = append(m.Initializers, noise("filter", 4, 4, 3), noise("E", 4, 4))
	m.Nodes = append(m.Nodes, withInts(node("Conv", "heard", "input_features", "filter"), "strides", []int64{2}))
	m.Outputs = append(m.Outputs, onnx.NewValue{Name: "heard", Type: onnx.Float, Dims: []int64{1, 4, -1}})
	if frames > 0 {
		m.Initializers = append(m.Initializers, noise("positions", 31, 4))
		m.Nodes = append(m.Nodes, withInts(node("Transpose", "ht", "heard"), "perm", []int64{0, 2, 1}), node("Add", "he", "ht", "positions"), node("MatMul", "encoded", "he", "E"))
		m.Outputs[len(m.Outputs)-1] = onnx.NewValue{Name: "encoded", Type: onnx.Float, Dims: []int64{1, -1, 4}}
	}
}

// TestPlanarGrid resamples a table in rows and columns that rises by 1 a row and
// by 10 a column: inside, bilinear resampling keeps a slope (the bicubic one of PyTorch does not),
// and rows stay rows.
func TestPlanarGrid(t *testing.T) {
	rising := func(m *onnx.NewModel) {
		picture(m)
		m.Inputs[0].Dims[3] = 64
		m.Outputs[0].Dims = []int64{1, 4, 8, 4}
		m.Initializers = append(m.Initializers, floats("pos", []int64{1, 4, 8, 4}, func(i int) float64 { return float64(i/32) + 10*float64(i/4%8) + 100*float64(i%4) }))
		m.Nodes = []onnx.NewNode{m.Nodes[0], withInts(node("Transpose", "x", "patches"), "perm", []int64{0, 2, 3, 1}), node("Add", "h0", "x", "pos"), node("MatMul", "h", "h0", "W")}
	}
	m := built(t, rising)
	if _, err := position.ResizeGrid(m, position.GridOptions{Height: 8, Width: 16, Kernel: "bilinear"}); err != nil {
		t.Fatal(err)
	}
	after := result(t, m, saved(t, rising))
	table, ok := after.sites[0].(*tableSite)
	if !ok || table.Len() != 8*16 || after.graph.PatchGrid() != [2]int{8, 16} {
		t.Fatalf("%v, grid %v", after.sites[0].Encoding().Scheme, after.graph.PatchGrid())
	}
	row := make([]float64, 4)
	for _, at := range [][2]int{{3, 5}, {4, 5}, {3, 6}, {4, 10}} {
		if err := table.Row(at[0]*16+at[1], row); err != nil {
			t.Fatal(err)
		}
		y, x := (float64(at[0])+0.5)/2-0.5, (float64(at[1])+0.5)/2-0.5
		for c, got := range row {
			if want := y + 10*x + 100*float64(c); math.Abs(got-want) > 1e-4 {
				t.Errorf("row %d, column %d, channel %d: %g, want %g", at[0], at[1], c, got, want)
			}
		}
	}
}

// saved is the path of a file with the model of built.
func saved(t *testing.T, change func(*onnx.NewModel)) string {
	t.Helper()
	var parts onnx.NewModel
	built(t, func(m *onnx.NewModel) { change(m); parts = *m })
	path := filepath.Join(t.TempDir(), "built.onnx")
	if err := os.WriteFile(path, parts.Build(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// edits are the reasons of what a change does, in order and once each.
func edits(t *testing.T, m *Model) []string {
	t.Helper()
	p, err := m.Edits()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range p.Edits {
		if !strings.Contains(e.Why, "protobuf length prefix") && !slices.Contains(out, e.Why) {
			out = append(out, e.Why)
		}
	}
	return out
}

// byBuckets makes the model one of 11 tokens whose scores are picked from those
// against a table of the given rows, DeBERTa's, by a constant of buckets.
func byBuckets(m *onnx.NewModel, rows int64, far int) {
	m.Inputs[0].Dims[1] = 11
	m.Outputs[0].Dims = []int64{1, 11, 11}
	picked := make([]int64, 121)
	for i := range picked {
		picked[i] = int64(schemes.DebertaBucket(i/11-i%11, int(rows/2), far)) + rows/2
	}
	index := integers("buckets", picked...)
	index.Dims = []int64{1, 11, 11}
	m.Initializers = append(m.Initializers[:1:1], noise("R", 4, rows), index)
	m.Nodes = []onnx.NewNode{node("Gather", "te", "wte", "ids"), withInts(node("Transpose", "keys", "te"), "perm", []int64{0, 2, 1}), node("MatMul", "content", "te", "keys"),
		node("MatMul", "by", "te", "R"), withInts(node("GatherElements", "picked", "by", "buckets"), "axis", int64(2)), node("Add", "scores", "content", "picked"), node("Softmax", "h", "scores")}
}

// folded makes the model one of 6 tokens to which sines and cosines of constant
// angles are added.
func folded(m *onnx.NewModel, angle func(p, k int) float64) {
	m.Initializers = append(m.Initializers[:1:1], floats("angles", []int64{6, 2}, func(i int) float64 { return angle(i/2, i%2) }), noise("W", 4, 4))
	m.Nodes = []onnx.NewNode{node("Gather", "te", "wte", "ids"), node("Sin", "s", "angles"), node("Cos", "c", "angles"), withInts(node("Concat", "waves", "s", "c"), "axis", int64(1)),
		node("Add", "x", "te", "waves"), node("MatMul", "h", "x", "W")}
}

// sliced makes the model one of 4 tokens of 8 features that are cut in one Slice.
func sliced(m *onnx.NewModel, starts, ends, steps []int64) {
	m.Inputs[0].Dims[1] = 4
	m.Outputs[0].Dims = []int64{1, 4, 8}
	m.Initializers = []onnx.NewTensor{noise("wte", 32, 8), integers("starts", starts...), integers("ends", ends...), integers("axes", 1, 2), integers("steps", steps...), integers("last", 2)}
	m.Nodes = []onnx.NewNode{node("Gather", "te", "wte", "ids"), withInts(node("Concat", "twice", "te", "te"), "axis", int64(1)), node("Slice", "some", "twice", "starts", "ends", "axes", "steps"),
		node("ReduceMean", "mean", "some", "last"), node("Add", "h", "te", "mean")}
}

// weighted makes the model one of 6 tokens that are multiplied by numbers of
// their places.
func weighted(m *onnx.NewModel, at func(p int) float64) {
	m.Initializers = append(m.Initializers[:1:1], floats("weights", []int64{1, 6, 1}, at), noise("W", 4, 4))
	m.Nodes = []onnx.NewNode{node("Gather", "te", "wte", "ids"), node("Mul", "x", "te", "weights"), node("MatMul", "h", "x", "W")}
}

// masked makes the model one of n tokens with a mask in the file.
func masked(m *onnx.NewModel, n int64, at func(q, k int) float64) {
	m.Inputs[0].Dims[1] = n
	m.Outputs[0].Dims = []int64{1, n, n}
	m.Initializers = append(m.Initializers[:1:1], floats("mask", []int64{n, n}, func(i int) float64 { return at(i/int(n), i%int(n)) }))
	m.Nodes = []onnx.NewNode{node("Gather", "x", "wte", "ids"), withInts(node("Transpose", "keys", "x"), "perm", []int64{0, 2, 1}), node("MatMul", "scores", "x", "keys"),
		node("Add", "seen", "scores", "mask"), node("Softmax", "h", "seen")}
}

// byBias makes the model one of 16 tokens to whose scores of two heads a constant
// bias by T5's buckets is added.
func byBias(m *onnx.NewModel, b schemes.Buckets) {
	m.Inputs[0].Dims[1] = 16
	m.Outputs[0].Dims = []int64{1, 2, 16, 16}
	m.Initializers = append(m.Initializers[:1:1], noise("Wq", 2, 4, 4), floats("bias", []int64{1, 2, 16, 16}, func(i int) float64 {
		return math.Sin(float64(100*(i/256) + 7*b.Bucket(i%16-i/16%16)))
	}), integers("1", 1))
	m.Nodes = []onnx.NewNode{node("Gather", "te", "wte", "ids"), node("Unsqueeze", "x", "te", "1"), node("MatMul", "queries", "x", "Wq"), withInts(node("Transpose", "keys", "x"), "perm", []int64{0, 1, 3, 2}),
		node("MatMul", "scores", "queries", "keys"), node("Add", "biased", "scores", "bias"), node("Softmax", "h", "biased")}
}

// TestMisleadingGraphs reads graphs that look like something else, and changes
// their length.
func TestMisleadingGraphs(t *testing.T) {
	masks := func(m *onnx.NewModel, at func(i int) (x, y float64)) {
		m.Inputs[0].Dims[1] = 16
		m.Initializers = append(m.Initializers, noise("wte2", 32, 4),
			floats("m", []int64{16, 4}, func(i int) float64 { x, _ := at(i); return x }),
			floats("im", []int64{16, 4}, func(i int) float64 { _, y := at(i); return y }))
		m.Nodes = []onnx.NewNode{node("Gather", "te", "wte", "ids"), node("Gather", "te2", "wte2", "ids"),
			node("Mul", "a", "te", "m"), node("Mul", "b", "te2", "im"), node("Add", "h", "a", "b")}
	}
	for _, c := range []struct {
		name   string
		change func(m *onnx.NewModel)
		found  string // the sites, as they say themselves
		length int
		says   string // the refusal, or what the edits are for
	}{
		{"caches of two layers, one of no formula", func(m *onnx.NewModel) { turning(m, []int{16, 16}, []float64{1, 1.3}) },
			"RoPE base 100, rotary dim 4, half ×16", 40, "no formula explains"},
		{"caches of two layers, one shorter", func(m *onnx.NewModel) { turning(m, []int{32, 16}, []float64{1, 1}) },
			"RoPE base 100, rotary dim 4, half ×16", 64, "64 rows of RoPE base 100, rotary dim 4, half"},
		{"a text's fused embedding beside a picture", func(m *onnx.NewModel) {
			free(m)
			ids := m.Inputs[0]
			text := slices.Clone(m.Initializers[:1])
			picture(m)
			m.Inputs, m.Outputs[0].Dims[1] = append(m.Inputs, ids), -1
			m.Initializers = append(append(m.Initializers, text...), noise("pos_text", 64, 4), noise("gamma", 4), noise("beta", 4))
			m.Nodes = append(m.Nodes, onnx.NewNode{Op: "EmbedLayerNormalization", Domain: "com.microsoft", Inputs: []string{"ids", "", "wte", "pos_text", "", "gamma", "beta"}, Outputs: []string{"h", "mi"}})
		}, "position table of 64 rows of 4 ×64", 70, "70 rows"},
		{"kinds of tokens in the place of a fused embedding's positions", func(m *onnx.NewModel) { // as ORT's optimizer fuses models that have none
			free(m)
			m.Initializers = append(m.Initializers, noise("kinds", 2, 4), noise("gamma", 4), noise("beta", 4), integers("one more", 0))
			m.Nodes = []onnx.NewNode{node("Mul", "zeros", "ids", "one more"),
				{Op: "EmbedLayerNormalization", Domain: "com.microsoft", Inputs: []string{"ids", "", "wte", "kinds", "", "gamma", "beta", "", "zeros"}, Outputs: []string{"h", "mi"}}}
		}, "none", 0, ""},
		{"rows that are quantised twice, with other scales", func(m *onnx.NewModel) {
			free(m)
			scale := func(name string, x float64) onnx.NewTensor { return floats(name, nil, func(int) float64 { return x }) }
			raw := make([]byte, 64)
			for i := range raw {
				raw[i] = byte(37*i*i + 11)
			}
			m.Initializers = append(m.Initializers, scale("stored", 0.0005), scale("run", 0.0004), onnx.NewTensor{Name: "zp", Type: onnx.Int8, Raw: []byte{246}}, onnx.NewTensor{Name: "rows", Type: onnx.Int8, Dims: []int64{16, 4}, Raw: raw})
			m.Nodes = append(m.Nodes[:3], node("DequantizeLinear", "wide", "rows", "stored", "zp"), node("Gather", "picked", "wide", "p"), node("QuantizeLinear", "again", "picked", "run", "zp"), node("DequantizeLinear", "pe", "again", "run", "zp"),
				node("Gather", "te", "wte", "ids"), node("Add", "h", "te", "pe"))
		}, "position table of 16 rows of 4 ×16", 40, "40 rows"},
		{"quantised operators around a table", func(m *onnx.NewModel) {
			free(m)
			byte1 := func(name string, n int, dims ...int64) onnx.NewTensor {
				raw := make([]byte, n)
				for i := range raw {
					raw[i] = byte(37*i*i + 11)
				}
				return onnx.NewTensor{Name: name, Type: onnx.Uint8, Dims: dims, Raw: raw}
			}
			m.Initializers = append(m.Initializers, floats("scale", nil, func(int) float64 { return 1.0 / 64 }), onnx.NewTensor{Name: "zp", Type: onnx.Uint8, Raw: []byte{128}}, byte1("W", 32, 8, 4), byte1("W2", 16, 4, 4))
			quantised := func(op, out string, operands ...string) onnx.NewNode {
				n := onnx.NewNode{Op: op, Outputs: []string{out}}
				if op != "QLinearMatMul" {
					n.Domain = "com.microsoft"
				}
				if op == "QLinearConcat" {
					n.Inputs = []string{"scale", "zp"}
				}
				for _, x := range operands {
					n.Inputs = append(n.Inputs, x, "scale", "zp")
				}
				if op != "QLinearConcat" {
					n.Inputs = append(n.Inputs, "scale", "zp")
				}
				return n
			}
			m.Nodes = append(m.Nodes[:5], node("QuantizeLinear", "tq", "te", "scale", "zp"), withInts(quantised("QLinearConcat", "twice", "tq", "tq"), "axis", int64(2)), quantised("QLinearMatMul", "mixed", "twice", "W"),
				node("QuantizeLinear", "pq", "pe", "scale", "zp"), quantised("QLinearAdd", "placed", "mixed", "pq"), withInts(node("Transpose", "keys", "placed"), "perm", []int64{0, 2, 1}),
				quantised("QLinearMatMul", "scores", "placed", "keys"), node("DequantizeLinear", "raw", "scores", "scale", "zp"), node("Softmax", "weights", "raw"), node("QuantizeLinear", "wq", "weights", "scale", "zp"),
				quantised("QLinearMatMul", "seen", "wq", "placed"), node("DequantizeLinear", "h", "seen", "scale", "zp"))
		}, "position table of 16 rows of 4 ×16", 40, "40 rows"},
		{"a recording beside tokens with a buffer", func(m *onnx.NewModel) {
			free(m)
			m.Nodes[5].Outputs[0] = "h0"
			m.Initializers = append(m.Initializers, floats("mask", []int64{16, 4}, func(int) float64 { return 1 }), integers("from", 0))
			m.Nodes = append(m.Nodes, node("Unsqueeze", "n1", "n", "from"), node("Slice", "mk", "mask", "from", "n1"), node("Mul", "h", "h0", "mk"))
			recorded(m, -1)
		}, "position table of 16 rows of 4 ×16", 40, "40 rows; buffer of 40 positions"},
		{"a recording of fixed length beside tokens", func(m *onnx.NewModel) { free(m); recorded(m, 64) },
			"position table of 16 rows of 4 ×16; position table of 31 rows of 4 ×31", 24, "24 rows"},
		{"a recording that goes through a shape of its own length", func(m *onnx.NewModel) {
			m.Inputs = []onnx.NewValue{{Name: "input_features", Type: onnx.Float, Dims: []int64{1, 4, 64}}}
			m.Outputs = []onnx.NewValue{{Name: "encoded", Type: onnx.Float, Dims: []int64{1, 30, 4}}}
			m.Initializers = []onnx.NewTensor{noise("filter", 4, 4, 3), integers("groups", 1, 4, 62), noise("positions", 30, 4), noise("E", 4, 4)}
			m.Nodes = []onnx.NewNode{node("Conv", "waves", "input_features", "filter"), node("Reshape", "grouped", "waves", "groups"), withInts(node("Conv", "heard", "grouped", "filter"), "strides", []int64{2}),
				withInts(node("Transpose", "ht", "heard"), "perm", []int64{0, 2, 1}), node("Add", "he", "ht", "positions"), node("MatMul", "encoded", "he", "E")}
		}, "position table of 30 rows of 4 ×30", 60, "sizes of a recording of 124 frames; 60 rows; fixed length of input_features: 64 → 124; fixed length of encoded: 30 → 60"},
		{"masks that complete each other", func(m *onnx.NewModel) {
			masks(m, func(i int) (x, y float64) { x = float64((i/4 + i%4) % 3 / 2); return x, 1 - x })
		}, "none", 0, ""},
		{"signs that alternate", func(m *onnx.NewModel) {
			masks(m, func(i int) (x, y float64) { return 0, float64(1 - 2*((i/4+i%4)%2)) })
		}, "unknown", 0, ""}, // no mask, and nothing that is known
		{"a constant that shifts", func(m *onnx.NewModel) {
			free(m)
			m.Nodes[5].Outputs[0], m.Outputs[0].Dims[0] = "h0", 4
			m.Initializers = append(m.Initializers, floats("K", []int64{4, 4, 4}, func(i int) float64 {
				if i/16 == i/4%4 && i%4 == 0 {
					return 1
				}
				return 0
			}))
			m.Nodes = append(m.Nodes, node("MatMul", "h", "h0", "K"))
		}, "position table of 16 rows of 4 ×16", 40, "40 rows"},
		{"heads split in as many parts as the length", func(m *onnx.NewModel) {
			m.Inputs[0].Dims[1], m.Outputs[0].Dims[1] = 4, 4
			m.Nodes[5].Outputs[0] = "h0"
			m.Nodes = append(m.Nodes, withInts(onnx.NewNode{Op: "Split", Inputs: []string{"h0"}, Outputs: []string{"a", "b", "c", "d"}}, "axis", int64(2)),
				withInts(node("Concat", "h", "a", "b", "c", "d"), "axis", int64(2)))
		}, "position table of 16 rows of 4 ×16", 20, "20 rows; fixed length of ids: 4 → 20; fixed length of h: 4 → 20"},
		{"positions of a length padded to 32", func(m *onnx.NewModel) {
			free(m)
			m.Initializers[1] = noise("wpe", 64, 4)
			m.Initializers = append(m.Initializers, integers("more", 31), integers("block", 32), integers("nothing", 0, 0, 0), integers("axis", 1))
			m.Nodes = []onnx.NewNode{node("Shape", "shape", "ids"), node("Gather", "n0", "shape", "axis"), node("Add", "n7", "n0", "more"), node("Div", "nd", "n7", "block"),
				node("Mul", "n", "nd", "block"), node("Sub", "pad", "n", "n0"), withInts(node("Concat", "pads", "nothing", "pad"), "axis", int64(0)), node("Pad", "padded", "ids", "pads"),
				node("Squeeze", "count", "n"), node("Range", "p", "zero", "count", "one"), node("Gather", "pe", "wpe", "p"), node("Gather", "te", "wte", "padded"), node("Add", "h", "te", "pe")}
		}, "position table of 64 rows of 4 ×64", 128, "128 rows"},
		{"a decoder's positions count the ids that are no padding", func(m *onnx.NewModel) {
			free(m)
			m.Inputs = append(m.Inputs, onnx.NewValue{Name: "decoder_input_ids", Type: onnx.Int64, Dims: []int64{1, -1}})
			m.Initializers, m.Nodes = m.Initializers[3:], nil
			m.Outputs = []onnx.NewValue{{Name: "h0", Type: onnx.Float, Dims: []int64{1, -1, 4}}, {Name: "h1", Type: onnx.Float, Dims: []int64{1, -1, 4}}}
			for i, in := range []string{"ids", "decoder_input_ids"} {
				x := func(name string) string { return fmt.Sprint(name, i) }
				m.Initializers = append(m.Initializers, noise(x("tokens"), 32, 4), noise(x("positions")+strings.Repeat("_", i), 20, 4))
				m.Nodes = append(m.Nodes, node("Equal", x("pad"), in, "one"), node("Not", x("text"), x("pad")), withInts(node("Cast", x("m"), x("text")), "to", int64(onnx.Int64)),
					node("CumSum", x("counted"), x("m"), "one"), node("Mul", x("of"), x("counted"), x("m")), node("Add", x("p"), x("of"), "one"),
					node("Gather", x("pe"), x("positions")+strings.Repeat("_", i), x("p")), node("Gather", x("te"), x("tokens"), in), node("Add", x("h"), x("te"), x("pe")))
			}
		}, "position table of 20 rows of 4, position 0 at row 2 ×18; position table of 20 rows of 4, position 0 at row 2 ×18", 30, "32 rows"},
		{"a table that is added to zeros first", func(m *onnx.NewModel) {
			picture(m)
			m.Initializers = append(m.Initializers, noise("positions", 1, 16, 4))
			m.Nodes = append(m.Nodes, node("Shape", "sx", "x"), node("ConstantOfShape", "zeros", "sx"), node("Add", "pp", "zeros", "positions"), node("Add", "h0", "x", "pp"), node("MatMul", "h", "h0", "W"))
		}, "position table of 16 rows of 4, grid 4×4 ×16", 0, ""},
		{"a bias of a fixed length", func(m *onnx.NewModel) {
			m.Inputs[0].Dims[1], m.Outputs[0].Dims[1] = 16, 16
			m.Initializers = append(m.Initializers, noise("W", 4, 4), noise("C", 16, 4))
			m.Nodes[5] = node("Add", "h", "te", "pp")
			m.Nodes = slices.Insert(m.Nodes, 4, node("Gemm", "pp", "pe", "W", "C"))
		}, "position table of 16 rows of 4 ×16; position table of 16 rows of 4 ×16", 40, "40 rows; fixed length of ids: 16 → 40; fixed length of h: 16 → 40"},
		{"a mask that others read first, and distances", func(m *onnx.NewModel) {
			causal := make([]byte, 36)
			for i := range causal {
				if i%6 <= i/6 {
					causal[i] = 1
				}
			}
			far := floats("far", nil, func(int) float64 { return -1e4 })
			m.Initializers = append(m.Initializers, onnx.NewTensor{Name: "causal", Type: onnx.Bool, Dims: []int64{6, 6}, Raw: causal}, far, floats("window", nil, func(int) float64 { return 3 }),
				floats("zeros", []int64{6, 6}, func(int) float64 { return 0 }), floats("apart", []int64{6, 6}, func(i int) float64 { return float64(i/6 - i%6) }))
			m.Nodes[5].Outputs[0] = "x"
			m.Nodes = append(m.Nodes, node("Where", "mask", "causal", "zeros", "far"), withInts(node("Transpose", "keys", "x"), "perm", []int64{0, 2, 1}), node("MatMul", "scores", "x", "keys"),
				node("Where", "seen", "causal", "scores", "far"), node("Abs", "distance", "apart"), node("LessOrEqual", "near", "distance", "window"), node("Where", "windowed", "near", "seen", "far"),
				node("Add", "all", "windowed", "mask"), node("Softmax", "weights", "all"), node("MatMul", "h", "weights", "x"))
		}, "position table of 16 rows of 4 ×16", 20, "20 rows; mask of 20×20 positions, which goes on as it ended; distances of 20×20 positions; fixed length of ids: 6 → 20; fixed length of h: 6 → 20"},
		{"patches turned by their rows and columns", func(m *onnx.NewModel) {
			picture(m)
			m.Outputs[0].Dims[2] = 8
			angle := func(i int) float64 { // y, y/10, x, x/10, and again
				place := []int{i / 8 / 4, i / 8 % 4}[i%4/2]
				return float64(place) * math.Pow(100, -float64(i%2)/2)
			}
			m.Initializers = []onnx.NewTensor{noise("patch", 8, 3, 8, 8), integers("flat", 1, 8, 16), integers("halves", 4, 4),
				floats("cos", []int64{16, 8}, func(i int) float64 { return math.Cos(angle(i)) }), floats("sin", []int64{16, 8}, func(i int) float64 { return math.Sin(angle(i)) })}
			m.Nodes = append(m.Nodes, withInts(onnx.NewNode{Op: "Split", Inputs: []string{"x", "halves"}, Outputs: []string{"x1", "x2"}}, "axis", int64(2)), node("Neg", "minus", "x2"),
				withInts(node("Concat", "other", "minus", "x1"), "axis", int64(2)), node("Mul", "xc", "x", "cos"), node("Mul", "os", "other", "sin"), node("Add", "h", "xc", "os"))
		}, "RoPE base 100, rotary dim 8, half, by row and column of 4×4 patches ×16", 40, "grid of image patches"},
		{"vectors of distances, skewed to their keys", func(m *onnx.NewModel) {
			free(m)
			m.Outputs[0].Dims = []int64{1, -1, -1}
			m.Initializers = append(m.Initializers[:1:1], noise("Er", 16, 4), integers("1", 1), integers("0", 0), integers("all", 16), integers("pads", 0, 0, 1, 0, 0, 0), integers("end", math.MaxInt64), integers("negative", -1))
			m.Nodes = []onnx.NewNode{node("Gather", "te", "wte", "ids"), withInts(node("Transpose", "keys", "te"), "perm", []int64{0, 2, 1}), node("MatMul", "content", "te", "keys"),
				node("Shape", "shape", "ids"), node("Gather", "n", "shape", "1"), node("Sub", "from", "all", "n"), node("Slice", "vectors", "Er", "from", "all", "0"),
				withInts(node("Transpose", "turned", "vectors"), "perm", []int64{1, 0}), node("MatMul", "by", "te", "turned"), node("Pad", "padded", "by", "pads"),
				withInts(node("Concat", "swapped", "1", "negative", "n"), "axis", int64(0)), node("Reshape", "rows", "padded", "swapped"),
				node("Slice", "skewed", "rows", "1", "end", "1"), node("Add", "scores", "content", "skewed"), node("Softmax", "h", "scores")}
		}, "relative-table, rows 16 ×16", 40, "further ones is not in the file"},
		{"vectors of a window, each row one further on", func(m *onnx.NewModel) {
			m.Outputs[0].Dims = []int64{1, 6, 6}
			m.Initializers = append(m.Initializers[:1:1], noise("E", 1, 5, 4), integers("around", 0, 3, 0, 0, 3, 0), integers("one more", 0, 0, 0, 0, 0, 1), integers("flat", 1, 72),
				integers("rest", 0, 0, 0, 5), integers("seven", 1, 7, 11), integers("0", 0), integers("5", 5), integers("6", 6), integers("end", math.MaxInt64), integers("1", 1), integers("2", 2))
			m.Nodes = []onnx.NewNode{node("Gather", "te", "wte", "ids"), withInts(node("Transpose", "keys", "te"), "perm", []int64{0, 2, 1}), node("MatMul", "content", "te", "keys"),
				node("Pad", "padded", "E", "around"), withInts(node("Transpose", "turned", "padded"), "perm", []int64{0, 2, 1}), node("MatMul", "by", "te", "turned"),
				node("Pad", "wider", "by", "one more"), node("Reshape", "line", "wider", "flat"), node("Pad", "longer", "line", "rest"), node("Reshape", "rows", "longer", "seven"),
				node("Slice", "queries", "rows", "0", "6", "1"), node("Slice", "skewed", "queries", "5", "end", "2"), node("Add", "scores", "content", "skewed"), node("Softmax", "h", "scores")}
		}, "relative-table, rows 5, max distance 2 ×6", 0, ""},
		{"vectors of distances to more keys than queries", func(m *onnx.NewModel) {
			m.Outputs[0].Dims = []int64{1, 6, 8}
			m.Initializers = append(m.Initializers[:1:1], noise("E", 4, 15), integers("around", 0, 1, 0, 0, 1, 0), integers("one more", 0, 0, 0, 0, 0, 1), integers("flat", 1, 96),
				integers("rest", 0, 0, 0, 9), integers("seven", 1, 7, 15), integers("0", 0), integers("6", 6), integers("7", 7), integers("end", math.MaxInt64), integers("1", 1), integers("2", 2))
			m.Nodes = []onnx.NewNode{node("Gather", "te", "wte", "ids"), node("Pad", "seen", "te", "around"), withInts(node("Transpose", "keys", "seen"), "perm", []int64{0, 2, 1}), node("MatMul", "content", "te", "keys"),
				node("MatMul", "by", "te", "E"), node("Pad", "wider", "by", "one more"), node("Reshape", "line", "wider", "flat"), node("Pad", "longer", "line", "rest"), node("Reshape", "rows", "longer", "seven"),
				node("Slice", "queries", "rows", "0", "6", "1"), node("Slice", "skewed", "queries", "7", "end", "2"), node("Add", "scores", "content", "skewed"), node("Softmax", "h", "scores")}
		}, "relative-table, rows 15 ×6", 0, ""},
		{"a convolution beside what it averages", func(m *onnx.NewModel) {
			m.Inputs[0].Dims[1] = 8
			m.Outputs[0].Dims = []int64{1, 4, 4}
			m.Initializers = append(m.Initializers[:1:1], noise("filter", 4, 2, 4), noise("W", 4, 4))
			conv := withInts(withInts(withInts(node("Conv", "near", "channels", "filter"), "strides", []int64{2}), "group", int64(2)), "pads", []int64{1, 1})
			m.Nodes = []onnx.NewNode{node("Gather", "te", "wte", "ids"), withInts(node("Transpose", "channels", "te"), "perm", []int64{0, 2, 1}), conv,
				withInts(withInts(node("AveragePool", "mean", "channels"), "kernel_shape", []int64{2}), "strides", []int64{2}), node("Add", "sum", "mean", "near"),
				withInts(node("Transpose", "x", "sum"), "perm", []int64{0, 2, 1}), node("MatMul", "scores", "x", "sum"), node("Softmax", "weights", "scores"), node("MatMul", "h", "weights", "x")}
		}, "conv", 0, ""},
		{"such a convolution where nothing attends", func(m *onnx.NewModel) {
			m.Inputs[0].Dims[1] = 8
			m.Outputs[0].Dims = []int64{1, 4, 4}
			m.Initializers = append(m.Initializers[:1:1], noise("filter", 4, 2, 4), noise("W", 4, 4))
			conv := withInts(withInts(withInts(node("Conv", "near", "channels", "filter"), "strides", []int64{2}), "group", int64(2)), "pads", []int64{1, 1})
			m.Nodes = []onnx.NewNode{node("Gather", "te", "wte", "ids"), withInts(node("Transpose", "channels", "te"), "perm", []int64{0, 2, 1}), conv,
				withInts(withInts(node("AveragePool", "mean", "channels"), "kernel_shape", []int64{2}), "strides", []int64{2}), node("Add", "sum", "mean", "near"),
				withInts(node("Transpose", "x", "sum"), "perm", []int64{0, 2, 1}), node("MatMul", "h", "x", "W")}
		}, "none", 0, ""},
		{"limits of features that look like the length", func(m *onnx.NewModel) {
			sliced(m, []int64{-4, -4}, []int64{math.MaxInt64, math.MaxInt64}, []int64{1, 1})
		}, "none", 8,
			"sizes for 8 tokens; fixed length of ids: 4 → 8; fixed length of h: 4 → 8"},
		{"limits beyond all ends", func(m *onnx.NewModel) { sliced(m, []int64{0, -1}, []int64{4, math.MinInt64}, []int64{1, -1}) }, "none", 8,
			"sizes for 8 tokens; fixed length of ids: 4 → 8; fixed length of h: 4 → 8"},
		{"parts of the length", func(m *onnx.NewModel) {
			weighted(m, func(p int) float64 { return float64(float32(p) * float32(1./6)) })
		}, "unknown", 12, "how this model encodes positions is not known"},
		{"positions from 0 to 1", func(m *onnx.NewModel) { weighted(m, func(p int) float64 { return float64(float32(p) / 5) }) }, "unknown", 12, "how this model encodes positions is not known"},
		{"weights of a mean", func(m *onnx.NewModel) { weighted(m, func(int) float64 { return float64(float32(1. / 6)) }) }, "none", 12, "do not broadcast"},
		{"ones", func(m *onnx.NewModel) { weighted(m, func(int) float64 { return 1 }) }, "none", 12, "buffer of 12 positions; fixed length of ids: 6 → 12; fixed length of h: 6 → 12"},
		{"angles of parts of a circle", func(m *onnx.NewModel) {
			folded(m, func(p, k int) float64 { return float64(float32(p) * float32(2*math.Pi/6/math.Pow(7, float64(k)))) })
		},
			"sinusoids of base 49, dim 4, sin-cos, denominator d/2", 20, "do not broadcast"},
		{"a mask that comes and goes", func(m *onnx.NewModel) {
			seen := func(d int) bool { return d >= 0 && (d < 3 || d%4 == 0) }
			masked(m, 12, func(q, k int) float64 { return map[bool]float64{true: 0, false: -1e9}[seen(q-k)] })
		}, "none", 24, "do not broadcast"},
		{"a matrix of means", func(m *onnx.NewModel) {
			masked(m, 12, func(q, k int) float64 { return map[bool]float64{true: 1 - 1./12, false: -1. / 12}[q == k] })
		}, "relative-table, heads 1 ×12", 24, "further ones is not in the file"},
		{"tokens that go round", func(m *onnx.NewModel) {
			m.Initializers = append(m.Initializers[:1:1], integers("0", 0), integers("5", 5), integers("6", 6), integers("1", 1), noise("W", 4, 4))
			m.Nodes = []onnx.NewNode{node("Gather", "te", "wte", "ids"), node("Slice", "head", "te", "0", "5", "1"), node("Slice", "tail", "te", "5", "6", "1"),
				withInts(node("Concat", "round", "tail", "head"), "axis", int64(1)), node("Add", "x", "te", "round"), node("MatMul", "h", "x", "W")}
		}, "none", 12, "it cuts the tokens at 5"},
		{"the last token by its place", func(m *onnx.NewModel) {
			m.Outputs[0].Dims = []int64{1, 1, 4}
			m.Initializers = append(m.Initializers[:1:1], integers("5", 5), noise("W", 4, 4))
			m.Nodes = []onnx.NewNode{node("Gather", "te", "wte", "ids"), withInts(node("Gather", "x", "te", "5"), "axis", int64(1)), node("MatMul", "h", "x", "W")}
		}, "none", 12, "it cuts the tokens at 5"},
		{"the last token by a Slice to the end", func(m *onnx.NewModel) {
			m.Outputs[0].Dims = []int64{1, 1, 4}
			m.Initializers = append(m.Initializers[:1:1], integers("5", 5), integers("6", 6), integers("1", 1), noise("W", 4, 4))
			m.Nodes = []onnx.NewNode{node("Gather", "te", "wte", "ids"), node("Slice", "x", "te", "5", "6", "1"), node("MatMul", "h", "x", "W")}
		}, "none", 12, "it cuts the tokens at 5"},
		{"an output of a window of the whole", func(m *onnx.NewModel) {
			m.Outputs[0].Dims = []int64{1, 4, 1}
			m.Initializers = append(m.Initializers[:1:1], noise("W", 4, 4))
			m.Nodes = []onnx.NewNode{node("Gather", "te", "wte", "ids"), node("MatMul", "x", "te", "W"), withInts(node("Transpose", "xt", "x"), "perm", []int64{0, 2, 1}),
				withInts(node("MaxPool", "h", "xt"), "kernel_shape", []int64{6})}
		}, "none", 12, "does not follow the length"},
		{"waves from the middle", func(m *onnx.NewModel) {
			m.Initializers = append(m.Initializers[:1:1], noise("W", 8, 8), noise("wide", 32, 8), floats("waves", []int64{6, 8}, func(i int) float64 {
				angle := float64(i/8-3) * math.Pow(100, -float64(i%4)/4)
				return map[bool]float64{true: math.Sin(angle), false: math.Cos(angle)}[i%8 < 4]
			}))
			m.Outputs[0].Dims[2] = 8
			m.Nodes = []onnx.NewNode{node("Gather", "te", "wide", "ids"), node("Add", "x", "te", "waves"), node("MatMul", "h", "x", "W")}
		}, "sinusoids of base 100, dim 8, sin-cos, denominator d/2, 6 rows ×6", 12, "places relative to the 6 positions"},
		{"a window", func(m *onnx.NewModel) {
			masked(m, 12, func(q, k int) float64 { return map[bool]float64{true: 0, false: -1e9}[q-k >= 0 && q-k < 5] })
		}, "none", 24, "mask of 24×24 positions, which goes on as it ended; fixed length of ids: 12 → 24; fixed length of h: 12 → 24"},
		{"a network of pictures with shortcuts", func(m *onnx.NewModel) {
			m.Inputs = []onnx.NewValue{{Name: "image", Type: onnx.Float, Dims: []int64{1, 3, 32, 32}}}
			m.Outputs = []onnx.NewValue{{Name: "h", Type: onnx.Float, Dims: []int64{1, 10}}}
			m.Initializers = []onnx.NewTensor{noise("stem", 8, 3, 3, 3), noise("dw", 8, 1, 3, 3), noise("fc", 8, 10), integers("flat", 1, 8)}
			pads := []int64{1, 1, 1, 1}
			m.Nodes = []onnx.NewNode{withInts(node("Conv", "a", "image", "stem"), "pads", pads), node("Relu", "b", "a"),
				withInts(withInts(withInts(node("Conv", "c", "b", "dw"), "pads", pads), "strides", []int64{2, 2}), "group", int64(8)),
				withInts(withInts(node("AveragePool", "p", "b"), "kernel_shape", []int64{2, 2}), "strides", []int64{2, 2}),
				node("Add", "s", "c", "p"), node("GlobalAveragePool", "g", "s"), node("Reshape", "f", "g", "flat"), node("MatMul", "h", "f", "fc")}
		}, "none", 0, ""},
		{"rotations of three joints", func(m *onnx.NewModel) {
			m.Inputs = []onnx.NewValue{{Name: "x", Type: onnx.Float, Dims: []int64{1, 3, 16}}}
			m.Outputs = []onnx.NewValue{{Name: "h", Type: onnx.Float, Dims: []int64{1, 3, 2}}}
			m.Initializers = []onnx.NewTensor{noise("W", 16, 3), integers("f", 1, 9), integers("s", 1, 3, 3), integers("0", 0), integers("2", 2), integers("ax", 2)}
			m.Nodes = []onnx.NewNode{node("MatMul", "y", "x", "W"), node("Reshape", "l", "y", "f"), node("Reshape", "r", "l", "s"), node("Slice", "h", "r", "0", "2", "ax")}
		}, "none", 0, ""},
		{"a bias of an image's rows alone", func(m *onnx.NewModel) {
			picture(m)
			m.Outputs[0].Dims = []int64{1, 4, 4, 4}
			m.Initializers = append(m.Initializers, noise("bias", 1, 4, 4))
			m.Nodes = []onnx.NewNode{m.Nodes[0], withInts(node("Transpose", "x", "patches"), "perm", []int64{0, 2, 3, 1}), node("Add", "y", "x", "bias"), node("MatMul", "h", "y", "W")}
		}, "unknown", 0, ""},
		{"angles that were folded", func(m *onnx.NewModel) {
			folded(m, func(p, k int) float64 { return float64(float32(p) * float32(math.Pow(100, -float64(k)/2))) })
		},
			"sinusoids of base 100, dim 4, sin-cos, denominator d/2", 20, "buffer of 20 positions; fixed length of ids: 6 → 20; fixed length of h: 6 → 20"},
		{"angles of quotients", func(m *onnx.NewModel) {
			folded(m, func(p, k int) float64 { return float64(float32(p) / float32(math.Pow(300, float64(k)/2))) })
		},
			"sinusoids of base 300, dim 4, sin-cos, denominator d/2", 20, "buffer of 20 positions; fixed length of ids: 6 → 20; fixed length of h: 6 → 20"},
		{"angles of no rule", func(m *onnx.NewModel) { folded(m, func(p, k int) float64 { return math.Sin(float64(p*p+k)) * 9 }) },
			"unknown, dim 4", 20, "do not broadcast"},
		{"biases of all buckets", func(m *onnx.NewModel) { byBias(m, schemes.Buckets{Buckets: 8, MaxDistance: 16, Bidirectional: true}) }, "t5 bias, 8 buckets to distance 16, bidirectional ×16", 40,
			"buckets of 40×40 positions; fixed length of ids: 16 → 40; fixed length of h: 16 → 40"},
		{"biases of some buckets", func(m *onnx.NewModel) { byBias(m, schemes.Buckets{Buckets: 16, MaxDistance: 64, Bidirectional: true}) }, "t5 bias, 16 buckets to distance 64, bidirectional ×16", 40,
			"what bias the distance of 16 has is not in the file"},
		{"buckets that end in equal ones", func(m *onnx.NewModel) { byBuckets(m, 16, 32) }, "disentangled, rows 16, buckets 8, max distance 32 ×11", 22, "which column a distance of"},
		{"buckets that count as far as was seen", func(m *onnx.NewModel) { byBuckets(m, 64, 128) }, "relative-table, rows 64 ×11", 22, "which column a distance of 17 has"},
		{"buckets that count far enough", func(m *onnx.NewModel) { byBuckets(m, 128, 256) }, "relative-table, rows 128 ×11", 22,
			"distances of 22 positions; fixed length of ids: 11 → 22; fixed length of h: 11 → 22"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := built(t, c.change)
			if got := found(m); got != c.found {
				t.Fatalf("found %q, want %q", got, c.found)
			}
			if c.length == 0 {
				return
			}
			_, err := position.Extend(m, position.ExtendOptions{Length: c.length})
			switch refused := ""; {
			case err != nil:
				if refused = err.Error(); c.says == "" || !strings.Contains(refused, c.says) {
					t.Fatal(refused)
				}
			case c.says != "":
				if got := strings.Join(edits(t, m), "; "); got != c.says {
					t.Errorf("edits %q, want %q", got, c.says)
				}
			}
		})
	}
}

// TestHostileGraphs reads graphs that would keep a careless walk busy for ever.
func TestHostileGraphs(t *testing.T) {
	for name, change := range map[string]func(m *onnx.NewModel){
		"a circle behind an input": func(m *onnx.NewModel) {
			m.Inputs = []onnx.NewValue{{Name: "x", Type: onnx.Float, Dims: []int64{1, 8, 8}}}
			m.Nodes = append(m.Nodes, node("Transpose", "y", "x"), node("Transpose", "x", "y"))
		},
		"a claim of 2⁵⁰ numbers that no one holds": func(m *onnx.NewModel) {
			free(m)
			m.Outputs[0].Dims = []int64{1, -1, -1}
			m.Initializers = append(m.Initializers[:1], noise("Er", 16, 4), integers("1", 1), integers("0", 0), integers("all", 16), integers("pads", 0, 0, 1, 0, 0, 0),
				integers("end", math.MaxInt64), integers("negative", -1), onnx.NewTensor{Name: "huge", Type: onnx.Float, Dims: []int64{1024, 1 << 40}},
				onnx.NewTensor{Name: "no", Type: onnx.Bool, Dims: []int64{1}, Raw: []byte{0}})
			m.Nodes = []onnx.NewNode{node("Gather", "te", "wte", "ids"), withInts(node("Transpose", "keys", "te"), "perm", []int64{0, 2, 1}), node("MatMul", "content", "te", "keys"),
				node("Shape", "shape", "ids"), node("Gather", "n", "shape", "1"), node("Sub", "from", "all", "n"), node("Slice", "er", "Er", "from", "all", "0"),
				withInts(node("ReduceMax", "most", "huge"), "keepdims", int64(0)), node("Where", "vectors", "no", "most", "er"),
				withInts(node("Transpose", "turned", "vectors"), "perm", []int64{1, 0}), node("MatMul", "by", "te", "turned"), node("Pad", "padded", "by", "pads"),
				withInts(node("Concat", "swapped", "1", "negative", "n"), "axis", int64(0)), node("Reshape", "rows", "padded", "swapped"),
				node("Slice", "skewed", "rows", "1", "end", "1"), node("Add", "scores", "content", "skewed"), node("Softmax", "h", "scores")}
		},
		"concatenations of concatenations": func(m *onnx.NewModel) {
			picture(m)
			m.Initializers = append(m.Initializers, noise("pos", 1, 17, 4), integers("s0", 0), integers("s3", 3), integers("s1", 1))
			m.Nodes = append(m.Nodes, node("Slice", "c0", "x", "s0", "s3", "s1"))
			for level := 1; level <= 5; level++ {
				last := fmt.Sprint("c", level-1)
				m.Nodes = append(m.Nodes, withInts(node("Concat", fmt.Sprint("c", level), slices.Repeat([]string{last}, 300)...), "axis", int64(1)))
			}
			m.Nodes = append(m.Nodes, node("Add", "h0", "c5", "pos"), node("MatMul", "h", "h0", "W"))
		},
		"sums of a value with itself": func(m *onnx.NewModel) {
			free(m)
			m.Nodes[5].Outputs[0] = "h0"
			m.Initializers = append(m.Initializers, noise("k0", 4, 4))
			for i := range 60 {
				m.Nodes = append(m.Nodes, node("Add", fmt.Sprint("k", i+1), fmt.Sprint("k", i), fmt.Sprint("k", i)))
			}
			m.Nodes = append(m.Nodes, node("MatMul", "h", "h0", "k60"))
		},
		"scores of scores": func(m *onnx.NewModel) {
			free(m)
			m.Nodes[5].Outputs[0] = "k0"
			for i := range 60 {
				m.Nodes = append(m.Nodes, node("Mul", fmt.Sprint("k", i+1), fmt.Sprint("k", i), fmt.Sprint("k", i)))
			}
			m.Nodes = append(m.Nodes, node("Identity", "h", "k60"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			done := make(chan bool)
			go func() { defer close(done); built(t, change) }()
			select {
			case <-done:
			case <-time.After(time.Minute):
				t.Fatal("a minute was not enough")
			}
		})
	}
}

// TestHalfPrecisionInFloat32 extends caches whose float32 numbers are those of
// float16: new rows are rounded as the old ones were, and fit the same formula.
func TestHalfPrecisionInFloat32(t *testing.T) {
	cut := func(m *onnx.NewModel) {
		turning(m, []int{16}, []float64{1})
		for i := range m.Initializers {
			if x := &m.Initializers[i]; strings.HasPrefix(x.Name, "cos") || strings.HasPrefix(x.Name, "sin") {
				for k := 0; k < len(x.Raw); k += 4 {
					x.Raw[k], x.Raw[k+1] = 0, x.Raw[k+1]&0xE0
				}
			}
		}
	}
	m := built(t, cut)
	if _, err := position.Extend(m, position.ExtendOptions{Length: 64}); err != nil {
		t.Fatal(err)
	}
	after := result(t, m, saved(t, cut))
	if e := after.Sites()[0].Encoding(); fmt.Sprint(e.Scheme) != "RoPE base 100, rotary dim 4, half" || e.Capacity != 64 || len(after.Findings()) > 0 {
		t.Errorf("%v, %d rows, %v", e.Scheme, e.Capacity, after.Findings())
	}
}

// TestTwoListsInOneTable reads caches in which the rows of LongRoPE's long list
// follow those of the short one, and makes them longer behind the last.
func TestTwoListsInOneTable(t *testing.T) {
	const short, long = 8, 24
	angle := func(r, k int) float64 {
		f := math.Pow(100, -float64(k)/2)
		if r >= short {
			return float64(r-short) * f / []float64{1.5, 4}[k]
		}
		return float64(r) * f
	}
	lists := func(m *onnx.NewModel) {
		turning(m, []int{short + long}, []float64{1})
		for i := range m.Initializers {
			switch name := m.Initializers[i].Name; name {
			case "cos0":
				m.Initializers[i] = floats(name, []int64{short + long, 4}, func(i int) float64 { return math.Cos(angle(i/4, i%2)) })
			case "sin0":
				m.Initializers[i] = floats(name, []int64{short + long, 4}, func(i int) float64 { return math.Sin(angle(i/4, i%2)) })
			}
		}
	}
	m := built(t, lists)
	e := m.Sites()[0].Encoding()
	s, ok := e.Scheme.(schemes.Rotary)
	if !ok || s.Scaling.Type != schemes.ScalingLongRoPE || s.Scaling.OriginalLength != short || e.Capacity != long {
		t.Fatalf("%v, %d positions", e.Scheme, e.Capacity)
	}
	for k, want := range []float64{1.5, 4} {
		if got := s.Scaling.LongFactor[k]; math.Abs(got-want) > 1e-5 || math.Abs(s.Scaling.ShortFactor[k]-1) > 1e-5 {
			t.Errorf("factors %v and %v", s.Scaling.ShortFactor, s.Scaling.LongFactor)
		}
	}
	if _, err := position.Extend(m, position.ExtendOptions{Length: 40}); err != nil {
		t.Fatal(err)
	}
	after := result(t, m, saved(t, lists))
	cos, sin := make([]float64, 2), make([]float64, 2)
	turning := after.sites[0].(*rotary.Site)
	row := func(position, length int) int { // the short list stands ahead of the long one
		if length > short {
			return short + position
		}
		return position
	}
	for _, position := range []int{0, 7, 8, 23, 24, 39} {
		for _, length := range []int{short, 40} {
			if position >= length {
				continue
			}
			if err := turning.Rotation(position, length, cos, sin); err != nil {
				t.Fatal(err)
			}
			for k := range cos {
				if a := angle(row(position, length), k); math.Abs(cos[k]-math.Cos(a)) > 1e-5 || math.Abs(sin[k]-math.Sin(a)) > 1e-5 {
					t.Errorf("position %d of %d, pair %d: %g and %g, want the angle %g", position, length, k, cos[k], sin[k], a)
				}
			}
		}
	}
	if got := after.Sites()[0].Encoding().Capacity; got != 40 {
		t.Errorf("%d positions after, want 40", got)
	}
}

// TestSliceLimits makes a model longer whose limits of features look like those of
// tokens: only the latter follow.
func TestSliceLimits(t *testing.T) {
	for _, c := range []struct {
		name                string
		starts, ends, steps []int64
		changed             string
		want                []int64
	}{
		{"a width of the length", []int64{-4, -4}, []int64{math.MaxInt64, math.MaxInt64}, []int64{1, 1}, "starts", []int64{-8, -4}},
		{"before the first", []int64{0, -1}, []int64{4, math.MinInt64}, []int64{1, -1}, "ends", []int64{8, math.MinInt64}},
		{"behind the last", []int64{0, 0}, []int64{4, math.MaxInt64}, []int64{1, 1}, "ends", []int64{8, math.MaxInt64}},
	} {
		change := func(m *onnx.NewModel) { sliced(m, c.starts, c.ends, c.steps) }
		m := built(t, change)
		if _, err := position.Extend(m, position.ExtendOptions{Length: 8}); err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		after := result(t, m, saved(t, change))
		after.graph.File.Tensors(func(x *onnx.Tensor, _ *onnx.Graph) {
			if got, err := x.Ints(0, x.Len()); x.Name == c.changed && (err != nil || !slices.Equal(got, c.want)) {
				t.Errorf("%s: %s are %v, want %v (%v)", c.name, c.changed, got, c.want, err)
			}
		})
	}
}
