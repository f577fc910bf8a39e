package onnxpos

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/position"
)

// TestScored finds the table behind products of queries, or keys, with vectors of distances, whatever operators bring to each pair that of
// its distance, and nothing where each query has a score of its own for each key.
func TestScored(t *testing.T) {
	const n = 6
	clip := func(most int) func(query, key int) int {
		return func(query, key int) int { return min(max(key-query, -most), most) + most }
	}
	all := func(name string, of func(query, key int) int, dims ...int64) onnx.NewTensor {
		var v []int64
		for i := range n * n {
			v = append(v, int64(of(i/n, i%n)))
		}
		out := integers(name, v...)
		out.Dims = dims
		return out
	}
	shape := func(name string, v ...int64) onnx.NewTensor { return integers(name, v...) }
	elements := func(m *onnx.NewModel, of func(query, key int) int) {
		m.Initializers = append(m.Initializers, all("index", of, 1, n, n))
		m.Nodes = append(m.Nodes, withInts(node("GatherElements", "picked", "by", "index"), "axis", int64(2)))
	}
	for _, c := range []struct {
		name  string
		rows  int
		bring func(m *onnx.NewModel, rows int) // makes picked of by
		found string
	}{
		{"GatherElements", 5, func(m *onnx.NewModel, _ int) { elements(m, clip(2)) }, "relative-table, rows 5, max distance 2 ×6"},
		{"a table that is turned round", 11, func(m *onnx.NewModel, _ int) { elements(m, func(query, key int) int { return 5 + query - key }) }, "relative-table, rows 11 ×6"},
		{"GatherND", 5, func(m *onnx.NewModel, _ int) {
			m.Initializers = append(m.Initializers, all("index", clip(2), 1, n, n, 1))
			m.Nodes = append(m.Nodes, withInts(node("GatherND", "picked", "by", "index"), "batch_dims", int64(2)))
		}, "relative-table, rows 5, max distance 2 ×6"},
		{"a Gather along queries and vectors as one axis", 5, func(m *onnx.NewModel, rows int) {
			m.Initializers = append(m.Initializers, all("index", func(query, key int) int { return query*rows + clip(2)(query, key) }, n*n), shape("line", 1, -1), shape("square", 1, n, n))
			m.Nodes = append(m.Nodes, node("Reshape", "flat", "by", "line"), withInts(node("Gather", "each", "flat", "index"), "axis", int64(1)), node("Reshape", "picked", "each", "square"))
		}, "relative-table, rows 5, max distance 2 ×6"},
		{"one-hot vectors", 5, func(m *onnx.NewModel, rows int) {
			m.Initializers = append(m.Initializers, floats("hot", []int64{n, n, int64(rows)}, func(i int) float64 {
				if clip(2)(i/rows/n, i/rows%n) == i%rows {
					return 1
				}
				return 0
			}))
			m.Nodes = append(m.Nodes, einsum("picked", "bqr,qkr->bqk", "by", "hot"))
		}, "relative-table, rows 5, max distance 2 ×6"},
		{"a Reshape that swaps two sizes", 11, func(m *onnx.NewModel, _ int) {
			m.Initializers = append(m.Initializers, floats("zeros", []int64{1, n, 1}, func(int) float64 { return 0 }), shape("swapped", 1, 2*n, n), shape("back", 1, n, 2*n-1), shape("0", 0), shape("1", 1), shape("2", 2), shape("12", 2*n), shape("6", n))
			m.Nodes = append(m.Nodes, withInts(node("Concat", "padded", "zeros", "by"), "axis", int64(2)), node("Reshape", "turned round", "padded", "swapped"), node("Slice", "without", "turned round", "1", "12", "1"),
				node("Reshape", "shifted", "without", "back"), node("Slice", "picked", "shifted", "0", "6", "2"))
		}, "relative-table, rows 11 ×6"},
		{"products of keys", 5, func(m *onnx.NewModel, _ int) {
			elements(m, clip(2))
			m.Nodes[len(m.Nodes)-1].Outputs[0] = "by key"
			m.Nodes = append(m.Nodes, withInts(node("Transpose", "picked", "by key"), "perm", []int64{0, 2, 1}))
		}, "relative-table, rows 5, max distance 2 ×6"},
		{"a score for each key", n, func(m *onnx.NewModel, _ int) { m.Nodes = append(m.Nodes, node("Identity", "picked", "by")) }, "unknown"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := built(t, func(m *onnx.NewModel) {
				m.Outputs[0].Dims = []int64{1, n, n}
				m.Initializers = append(m.Initializers[:1:1], noise("R", int64(c.rows), 4))
				m.Nodes = []onnx.NewNode{node("Gather", "te", "wte", "ids"), withInts(node("Transpose", "keys", "te"), "perm", []int64{0, 2, 1}), node("MatMul", "content", "te", "keys"),
					withInts(node("Transpose", "vectors", "R"), "perm", []int64{1, 0}), node("MatMul", "by", "te", "vectors")}
				c.bring(m, c.rows)
				m.Nodes = append(m.Nodes, node("Add", "scores", "content", "picked"), node("Softmax", "h", "scores"))
			})
			if got := found(m); got != c.found {
				t.Errorf("found %q, want %q", got, c.found)
			}
		})
	}
}

// TestApart: what an axis of one size holds, and a table that begins anew beside another, bound no length and do not change with it.
func TestApart(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*onnx.NewModel)
	}{
		{"features of one size", func(m *onnx.NewModel) {
			m.Inputs = append(m.Inputs, onnx.NewValue{Name: "features", Type: onnx.Float, Dims: []int64{1, 8, 4}})
			m.Initializers = append(m.Initializers, noise("frames", 8, 4), noise("W", 4, 4), noise("V", 4, 4))
			m.Nodes = append(m.Nodes[:5:5], node("Add", "x", "te", "pe"), node("MatMul", "projected", "features", "V"), node("Add", "states", "projected", "frames"), node("MatMul", "seen", "states", "W"),
				withInts(node("Transpose", "keys", "seen"), "perm", []int64{0, 2, 1}), node("MatMul", "queries", "x", "W"), node("MatMul", "h", "queries", "keys"))
			m.Outputs[0].Dims[2] = 8
		}},
		{"places within a bar", func(m *onnx.NewModel) {
			m.Initializers = append(m.Initializers, noise("bar", 4, 4), integers("four", 4))
			m.Initializers[len(m.Initializers)-1].Dims = nil
			m.Nodes = append(slices.Clone(m.Nodes[:5]), node("Mod", "beat", m.Nodes[3].Inputs[1], "four"), node("Gather", "be", "bar", "beat"), node("Add", "x", "te", "pe"), node("Add", "h", "x", "be"))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			change := func(m *onnx.NewModel) { free(m); c.change(m) }
			m := built(t, change)
			if r := position.Inspect(m); r.Length.Capacity == nil || *r.Length.Capacity != 16 || len(r.Encodings) != 2 {
				t.Fatalf("%+v of %s", r.Length, found(m))
			}
			if _, err := position.Extend(m, position.ExtendOptions{Length: 24}); err != nil {
				t.Fatal(err)
			}
			if r := position.Inspect(result(t, m, saved(t, change))); *r.Length.Capacity != 24 {
				t.Errorf("%d positions", *r.Length.Capacity)
			}
		})
	}
}

// TestKeepsVectors refuses to make sines of distances longer that are multiplied by weights whole, where the graph counts their rows from a
// constant.
func TestKeepsVectors(t *testing.T) {
	const most = 7
	m := built(t, func(m *onnx.NewModel) {
		free(m)
		m.Outputs[0].Dims = []int64{1, -1, -1}
		scalar := integers("zero row", most)
		scalar.Dims = nil
		m.Initializers = []onnx.NewTensor{noise("wte", 32, 8), floats("S", []int64{2*most + 1, 8}, func(i int) float64 {
			angle := float64(most-i/8) * math.Pow(10000, -float64(i%8/2)/4)
			return []float64{math.Sin(angle), math.Cos(angle)}[i%2]
		}), noise("V", 8, 8), m.Initializers[2], m.Initializers[3], scalar, integers("0", 0), integers("1", 1)}
		m.Nodes = []onnx.NewNode{m.Nodes[0], m.Nodes[1], m.Nodes[2], node("Gather", "te", "wte", "ids"), withInts(node("Transpose", "keys", "te"), "perm", []int64{0, 2, 1}), node("MatMul", "content", "te", "keys"),
			node("MatMul", "weighed", "S", "V"), withInts(node("Transpose", "vectors", "weighed"), "perm", []int64{1, 0}), node("MatMul", "by", "te", "vectors"),
			node("Unsqueeze", "column", "p", "1"), node("Sub", "apart", "column", "p"), node("Add", "row", "apart", "zero row"), node("Unsqueeze", "index", "row", "0"),
			withInts(node("GatherElements", "picked", "by", "index"), "axis", int64(2)), node("Add", "scores", "content", "picked"), node("Softmax", "h", "scores")}
	})
	if got := found(m); got != "relative-sinusoid, dim 8, base 10000 ×8" {
		t.Fatal(got)
	}
	if _, err := position.Extend(m, position.ExtendOptions{Length: 12}); err == nil || !strings.Contains(err.Error(), "would take others than it took") {
		t.Error(err)
	}
}
