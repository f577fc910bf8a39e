package onnxpos

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position"
)

// shapes are graphs of n things of one kind each: each once took time in n² or more.
var shapes = []struct {
	name   string
	length int // that they are extended to; 0: not
	make   func(m *onnx.NewModel, n int)
}{
	{"a constant added again and again", 0, func(m *onnx.NewModel, n int) {
		states(m, false)
		m.Initializers = append(m.Initializers, noise("c", 5, 4))
		chain(m, n, func(i int, in, out string) { m.Nodes = append(m.Nodes, node("Add", out, in, "c")) })
	}},
	{"constants added through Identity", 0, func(m *onnx.NewModel, n int) {
		states(m, false)
		m.Initializers = append(m.Initializers, noise("c0", 5, 4))
		for i := range n {
			m.Nodes = append(m.Nodes, node("Identity", fmt.Sprint("c", i+1), fmt.Sprint("c", i)))
		}
		chain(m, n, func(i int, in, out string) { m.Nodes = append(m.Nodes, node("Add", out, in, fmt.Sprint("c", i))) })
	}},
	{"tables of one length", 0, func(m *onnx.NewModel, n int) {
		states(m, true)
		for i := range n {
			m.Initializers = append(m.Initializers, noise(fmt.Sprintf("c%0*d", 1+i%7, i), 5, 4))
		}
		chain(m, n, func(i int, in, out string) {
			m.Nodes = append(m.Nodes, node("Add", out, in, fmt.Sprintf("c%0*d", 1+i%7, i)))
		})
	}},
	{"tables of other numbers", 0, func(m *onnx.NewModel, n int) {
		states(m, true)
		for i := range n {
			m.Initializers = append(m.Initializers, floats(fmt.Sprint("c", i), []int64{5, 4}, func(k int) float64 { return float64(i*100 + k*k) }))
		}
		chain(m, n, func(i int, in, out string) { m.Nodes = append(m.Nodes, node("Add", out, in, fmt.Sprint("c", i))) })
	}},
	{"tables without names", 0, func(m *onnx.NewModel, n int) {
		states(m, true)
		for i := range n {
			c := node("Identity", fmt.Sprint("i", i), fmt.Sprint("c", i))
			m.Initializers = append(m.Initializers, floats(fmt.Sprint("c", i), []int64{5, 4}, func(k int) float64 { return float64(i*100 + k*k) }))
			m.Nodes = append(m.Nodes, c, node("Tile", fmt.Sprint("t", i), fmt.Sprint("i", i), "ones"))
		}
		m.Initializers = append(m.Initializers, integers("ones", 1, 1))
		chain(m, n, func(i int, in, out string) { m.Nodes = append(m.Nodes, node("Add", out, in, fmt.Sprint("t", i))) })
	}},
	{"tables that are gathered", 12, func(m *onnx.NewModel, n int) {
		counted(m)
		for i := range n {
			m.Initializers = append(m.Initializers, floats(fmt.Sprint("c", i), []int64{9, 4}, func(k int) float64 { return float64(i*100 + k*k) }))
			m.Nodes = append(m.Nodes, node("Gather", fmt.Sprint("g", i), fmt.Sprint("c", i), "p"))
		}
		chain(m, n, func(i int, in, out string) { m.Nodes = append(m.Nodes, node("Add", out, in, fmt.Sprint("g", i))) })
	}},
	{"tables of other lengths", 0, func(m *onnx.NewModel, n int) {
		counted(m)
		for i := range n {
			m.Initializers = append(m.Initializers, floats(fmt.Sprint("c", i), []int64{int64(9 + i%64), 2}, func(k int) float64 { return float64(i*100 + k*k) }))
			m.Nodes = append(m.Nodes, node("Gather", fmt.Sprint("g", i), fmt.Sprint("c", i), "p"))
		}
		m.Initializers[0] = noise("wte", 32, 2)
		m.Initializers[1] = noise("W", 2, 2)
		chain(m, n, func(i int, in, out string) { m.Nodes = append(m.Nodes, node("Add", out, in, fmt.Sprint("g", i))) })
	}},
	{"attentions with a bias", 0, func(m *onnx.NewModel, n int) {
		states(m, false)
		m.Initializers = append(m.Initializers, floats("b", []int64{1, 5, 5}, func(i int) float64 { return float64(i * i) }))
		chain(m, n, func(i int, in, out string) {
			k, s, t, p := fmt.Sprint("k", i), fmt.Sprint("s", i), fmt.Sprint("t", i), fmt.Sprint("p", i)
			m.Nodes = append(m.Nodes, withInts(node("Transpose", k, in), "perm", []int64{0, 2, 1}), node("MatMul", s, in, k), node("Add", t, s, "b"),
				withInts(node("Softmax", p, t), "axis", int64(-1)), node("MatMul", out, p, in))
		})
	}},
	{"ways from a rotation to an attention", 0, func(m *onnx.NewModel, n int) {
		states(m, false)
		m.Initializers = append(m.Initializers, floats("cos", []int64{5, 4}, func(i int) float64 { return cosine(i) }), floats("sin", []int64{5, 4}, func(i int) float64 { return sine(i) }))
		m.Nodes = append(m.Nodes, node("Mul", "a", "h0", "cos"), node("Mul", "b", "h0", "sin"), node("Add", "w0", "a", "b"))
		for i := range n {
			m.Nodes = append(m.Nodes, node("Add", fmt.Sprint("w", i+1), fmt.Sprint("w", i), fmt.Sprint("w", i)))
		}
		m.Nodes = append(m.Nodes, withInts(node("Transpose", "k", fmt.Sprint("w", n)), "perm", []int64{0, 2, 1}), node("MatMul", "s", fmt.Sprint("w", n), "k"),
			withInts(node("Softmax", "p", "s"), "axis", int64(-1)), node("MatMul", "y", "p", "h0"))
	}},
	{"rotations by the same numbers", 0, func(m *onnx.NewModel, n int) {
		states(m, false)
		m.Initializers = append(m.Initializers, floats("cos", []int64{5, 4}, func(i int) float64 { return cosine(i) }), floats("sin", []int64{5, 4}, func(i int) float64 { return sine(i) }))
		chain(m, n, func(i int, in, out string) {
			a, b := fmt.Sprint("a", i), fmt.Sprint("b", i)
			m.Nodes = append(m.Nodes, node("Mul", a, in, "cos"), node("Mul", b, in, "sin"), node("Add", out, a, b))
		})
	}},
	{"rotations by caches of their own", 0, func(m *onnx.NewModel, n int) {
		states(m, false)
		chain(m, n, func(i int, in, out string) {
			a, b, c, s := fmt.Sprint("a", i), fmt.Sprint("b", i), fmt.Sprint("cos", i), fmt.Sprint("sin", i)
			m.Initializers = append(m.Initializers, floats(c, []int64{5, 4}, func(k int) float64 { return cosine(k) }), floats(s, []int64{5, 4}, func(k int) float64 { return sine(k) }))
			m.Nodes = append(m.Nodes, node("Mul", a, in, c), node("Mul", b, in, s), node("Add", out, a, b))
		})
	}},
	{"additions that meet in one", 0, func(m *onnx.NewModel, n int) {
		states(m, false)
		m.Initializers = append(m.Initializers, noise("c", 5, 4))
		var in []string
		for i := range n {
			m.Nodes = append(m.Nodes, node("Add", fmt.Sprint("v", i), "h0", "c"))
			in = append(in, fmt.Sprint("v", i))
		}
		m.Nodes = append(m.Nodes, node("Sum", "all", in...))
		for i := range n {
			m.Nodes = append(m.Nodes, node("Tanh", fmt.Sprint("o", i), "all"))
		}
		m.Nodes = append(m.Nodes, node("Neg", "y", "all"))
	}},
	{"reshapes of a fixed length", 12, func(m *onnx.NewModel, n int) {
		m.Inputs[0].Dims = []int64{1, 8}
		m.Initializers = []onnx.NewTensor{noise("wte", 32, 4), noise("pos", 8, 4), noise("W", 4, 4), integers("r", 1, 8, 4)}
		m.Nodes = []onnx.NewNode{node("Gather", "e", "wte", "ids"), node("Add", "a", "e", "pos"), node("MatMul", "h0", "a", "W")}
		m.Outputs[0].Dims = []int64{1, 8, 4}
		chain(m, n, func(i int, in, out string) { m.Nodes = append(m.Nodes, node("Reshape", out, in, "r")) })
	}},
	{"inputs of their own", 0, func(m *onnx.NewModel, n int) {
		states(m, true)
		m.Initializers = append(m.Initializers, noise("c", 5, 4))
		chain(m, n, func(i int, in, out string) {
			x := fmt.Sprint("x", i)
			m.Inputs = append(m.Inputs, onnx.NewValue{Name: x, Type: onnx.Float, Dims: []int64{1, 5, 4}})
			m.Nodes = append(m.Nodes, node("Add", x+"c", x, "c"), node("Add", out, in, x+"c"))
		})
	}},
	{"parts of one Split", 0, func(m *onnx.NewModel, n int) {
		states(m, false)
		m.Initializers = append(m.Initializers, noise("c", 5, 4), noise("wide", 4, int64(4*n)))
		split := onnx.NewNode{Op: "Split", Inputs: []string{"all"}, Attributes: []onnx.NewAttribute{{Name: "axis", Value: int64(2)}}}
		m.Nodes = append(m.Nodes, node("MatMul", "all", "h0", "wide"))
		at := len(m.Nodes)
		m.Nodes = append(m.Nodes, split)
		for i := range n {
			split.Outputs = append(split.Outputs, fmt.Sprint("part", i))
			m.Nodes = append(m.Nodes, node("Add", fmt.Sprint("o", i), fmt.Sprint("part", i), "c"))
		}
		m.Nodes[at] = split
		m.Nodes = append(m.Nodes, node("Neg", "y", "o0"))
	}},
	{"biases by distance", 0, func(m *onnx.NewModel, n int) {
		states(m, false)
		m.Initializers = append(m.Initializers, floats("steps", []int64{5}, func(i int) float64 { return float64(i) }))
		var list []int64
		for q := range 5 {
			for k := range 5 {
				list = append(list, int64(k-q+4))
			}
		}
		distances := integers("distances", list...)
		distances.Dims = []int64{5, 5}
		m.Initializers = append(m.Initializers, distances)
		chain(m, n, func(i int, in, out string) {
			k, s, t, p, b, g, w := fmt.Sprint("k", i), fmt.Sprint("s", i), fmt.Sprint("t", i), fmt.Sprint("p", i), fmt.Sprint("b", i), fmt.Sprint("g", i), fmt.Sprint("w", i)
			m.Initializers = append(m.Initializers, noise(w, int64(9+i%3), 1))
			m.Nodes = append(m.Nodes, node("Gather", g, w, "distances"), withInts(node("Transpose", b, g), "perm", []int64{2, 0, 1}),
				withInts(node("Transpose", k, in), "perm", []int64{0, 2, 1}), node("MatMul", s, in, k), node("Add", t, s, b),
				withInts(node("Softmax", p, t), "axis", int64(-1)), node("MatMul", out, p, in))
		})
	}},
	{"nodes in the reverse order", 0, func(m *onnx.NewModel, n int) {
		states(m, false)
		m.Initializers = append(m.Initializers, noise("c", 5, 4))
		first := len(m.Nodes)
		chain(m, n, func(i int, in, out string) { m.Nodes = append(m.Nodes, node("Add", out, in, "c")) })
		for i, j := first, len(m.Nodes)-1; i < j; i, j = i+1, j-1 {
			m.Nodes[i], m.Nodes[j] = m.Nodes[j], m.Nodes[i]
		}
	}},
	{"integers of the largest that is kept", 0, func(m *onnx.NewModel, n int) {
		states(m, false)
		m.Initializers = append(m.Initializers, integers("n", 1<<12))
		m.Nodes = append(m.Nodes, withInts(node("ConstantOfShape", "v0", "n"), "unused", int64(0)))
		for i := range n {
			m.Nodes = append(m.Nodes, node("Add", fmt.Sprint("v", i+1), fmt.Sprint("v", i), "v0"))
		}
		m.Nodes = append(m.Nodes, node("Neg", "y", "h0"))
	}},
}

func cosine(i int) float64 { return []float64{1, 0.5403, -0.4161, -0.99, -0.6536}[i/4] }
func sine(i int) float64   { return []float64{0, 0.8415, 0.9093, 0.1411, -0.7568}[i/4] }

// states makes the model one whose state h0 is made of its input x by weights; of
// fixed length 5 or of any.
func states(m *onnx.NewModel, fixed bool) {
	length := int64(-1)
	if fixed {
		length = 5
	}
	m.Inputs = []onnx.NewValue{{Name: "x", Type: onnx.Float, Dims: []int64{1, length, 4}}}
	m.Outputs = []onnx.NewValue{{Name: "y", Type: onnx.Float, Dims: []int64{1, length, 4}}}
	m.Initializers = []onnx.NewTensor{noise("W", 4, 4)}
	m.Nodes = []onnx.NewNode{node("MatMul", "h0", "x", "W")}
}

// counted makes the model one of tokens of any length whose positions are p.
func counted(m *onnx.NewModel) {
	m.Inputs[0].Dims = []int64{1, -1}
	m.Outputs[0].Dims = []int64{1, -1, 4}
	m.Outputs[0].Name = "y"
	m.Initializers = []onnx.NewTensor{noise("wte", 32, 4), noise("W", 4, 4), {Name: "zero", Type: onnx.Int64, Raw: make([]byte, 8)}, {Name: "one", Type: onnx.Int64, Raw: []byte{1, 0, 0, 0, 0, 0, 0, 0}}, integers("second", 1)}
	m.Nodes = []onnx.NewNode{node("Shape", "shape", "ids"), withInts(node("Gather", "length", "shape", "one"), "axis", int64(0)),
		node("Range", "p", "zero", "length", "one"), node("Gather", "e", "wte", "ids"), node("MatMul", "h0", "e", "W")}
}

// chain adds n steps from h0 to y.
func chain(m *onnx.NewModel, n int, add func(i int, in, out string)) {
	for i := range n {
		out := fmt.Sprint("h", i+1)
		if i == n-1 {
			out = "y"
		}
		add(i, fmt.Sprint("h", i), out)
	}
}

// TestStepsGrowWithTheGraph counts the steps that graphs of doubling size take: what is
// asked of a graph must not be asked once more for each of its nodes.
func TestStepsGrowWithTheGraph(t *testing.T) {
	first := 256
	if n, err := strconv.Atoi(os.Getenv("COUNTED_NODES")); err == nil {
		first = n
	}
	for _, shape := range shapes {
		t.Run(shape.name, func(t *testing.T) {
			var before int64
			one, two := countOf(madeBy(shape.make, 1)), countOf(madeBy(shape.make, 2))
			for n := first; n <= 4*first; n *= 2 {
				start := time.Now()
				steps := stepsOf(t, madeBy(shape.make, n/(two-one)), shape.length)
				t.Logf("%7d: %d steps, %v", n, steps, time.Since(start).Round(time.Millisecond))
				if before > 0 && steps > before*5/2 {
					t.Errorf("%d steps for %d, %d for twice as many", before, n/2, steps)
				}
				before = steps
			}
		})
	}
}

// madeBy is the model of a shape with n things of its kind.
func madeBy(change func(*onnx.NewModel, int), n int) *onnx.NewModel {
	m := &onnx.NewModel{Opset: 17, Inputs: []onnx.NewValue{{Name: "ids", Type: onnx.Int64, Dims: []int64{1, 5}}},
		Outputs: []onnx.NewValue{{Name: "y", Type: onnx.Float, Dims: []int64{1, 5, 4}}}}
	change(m, n)
	return m
}

// countOf counts the nodes, constants and inputs of a model.
func countOf(m *onnx.NewModel) int { return len(m.Nodes) + len(m.Initializers) + len(m.Inputs) }

// stepsOf is how many steps it takes to find the encodings and attentions of a graph
// and to extend it.
func stepsOf(t *testing.T, model *onnx.NewModel, length int) int64 {
	t.Helper()
	path := filepath.Join(t.TempDir(), "model.onnx")
	if err := os.WriteFile(path, model.Build(), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := onnx.Open(path, onnx.Options{MostIndex: 1 << 40})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	budget := eval.NewBudget(t.Context(), 1<<40)
	m, err := find(f, budget)
	if err != nil {
		t.Fatal(err)
	}
	m.Attentions()
	if length > 0 {
		if _, err := position.Extend(m, position.ExtendOptions{Length: length, Method: "tile"}); err != nil {
			t.Log(err)
		}
	}
	return budget.Steps()
}
