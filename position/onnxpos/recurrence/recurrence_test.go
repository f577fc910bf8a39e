package recurrence_test

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position/onnxpos/probe"
	"github.com/modelpatch/modelpatch/position/onnxpos/recurrence"
	"github.com/modelpatch/modelpatch/position/onnxpos/rows"
	"github.com/modelpatch/modelpatch/position/onnxpos/site"
)

const width = 2

// loop writes a recurrence over the rows of x out, as an exporter does.
type loop struct {
	nodes  []onnx.NewNode
	tables []onnx.NewTensor
}

func (l *loop) node(op string, attributes []onnx.NewAttribute, out string, in ...string) string {
	l.nodes = append(l.nodes, onnx.NewNode{Op: op, Inputs: in, Outputs: []string{out}, Attributes: attributes})
	return out
}

func (l *loop) ints(dims []int64, values ...int64) string {
	raw, _ := onnx.EncodeInts(onnx.Int64, values, nil)
	name := fmt.Sprintf("ints%d", len(l.tables))
	l.tables = append(l.tables, onnx.NewTensor{Name: name, Type: onnx.Int64, Dims: dims, Raw: raw})
	return name
}

func (l *loop) floats(name string, dims []int64, values ...float64) string {
	raw, _ := onnx.EncodeFloats(onnx.Float, values, nil)
	l.tables = append(l.tables, onnx.NewTensor{Name: name, Type: onnx.Float, Dims: dims, Raw: raw})
	return name
}

func (l *loop) pick(t int) string {
	return l.node("Gather", []onnx.NewAttribute{{Name: "axis", Value: int64(1)}}, fmt.Sprint("x", t), "x", l.ints(nil, int64(t)))
}

// step is tanh(x·w + state).
func (l *loop) step(t int, x, state string) string {
	product := l.node("MatMul", nil, fmt.Sprint("product", t), x, "w")
	return l.node("Tanh", nil, fmt.Sprint("state", t), l.node("Add", nil, fmt.Sprint("sum", t), product, state))
}

// join makes a row of every state.
func (l *loop) join(states []string) {
	for i, s := range states {
		states[i] = l.node("Unsqueeze", nil, fmt.Sprint("row", i), s, l.ints([]int64{1}, 1))
	}
	l.nodes = append(l.nodes, onnx.NewNode{Op: "Concat", Inputs: states, Outputs: []string{"y"}, Attributes: []onnx.NewAttribute{{Name: "axis", Value: int64(1)}}})
}

// kinds are ways in which loops are written, for a length.
var kinds = map[string]func(l *loop, n int){
	"from the beginning": func(l *loop, n int) {
		state, states := "zeros", []string(nil)
		for t := range n {
			state = l.step(t, l.pick(t), state)
			states = append(states, state)
		}
		l.join(states)
	},
	"from the end": func(l *loop, n int) {
		state, states := "zeros", make([]string, n)
		for t := n - 1; t >= 0; t-- {
			state = l.step(t, l.pick(t), state)
			states[t] = state
		}
		l.join(states)
	},
	"of the parts of a Split": func(l *loop, n int) {
		parts := make([]string, n)
		for t := range parts {
			parts[t] = fmt.Sprint("part", t)
		}
		l.nodes = append(l.nodes, onnx.NewNode{Op: "Split", Inputs: []string{"x", l.ints([]int64{int64(n)}, slices.Repeat([]int64{1}, n)...)}, Outputs: parts, Attributes: []onnx.NewAttribute{{Name: "axis", Value: int64(1)}}})
		state, states := "zeros", []string(nil)
		for t := range n {
			x := l.node("Squeeze", nil, fmt.Sprint("x", t), parts[t], l.ints([]int64{1}, 1))
			state = l.step(t, x, state)
			states = append(states, state)
		}
		l.join(states)
	},
	"whose last state all get": func(l *loop, n int) {
		state, states := "zeros", []string(nil)
		for t := range n {
			state = l.step(t, l.pick(t), state)
			states = append(states, state)
		}
		l.join(states)
		l.nodes[len(l.nodes)-1].Outputs[0] = "rows"
		l.node("Add", nil, "y", "rows", state)
	},
	"divided by how many there are": func(l *loop, n int) {
		state, states := "zeros", []string(nil)
		for t := range n {
			state = l.node("Add", nil, fmt.Sprint("total", t), state, l.pick(t))
			states = append(states, l.node("Div", nil, fmt.Sprint("mean", t), state, l.floats(fmt.Sprint("count", t), nil, float64(t+1))))
		}
		l.join(states)
	},
	"with a row for each step": func(l *loop, n int) {
		state, states := "zeros", []string(nil)
		for t := range n {
			row := l.floats(fmt.Sprint("learned", t), []int64{1, width}, math.Sin(float64(7*t)), math.Cos(float64(t*t)))
			state = l.step(t, l.node("Add", nil, fmt.Sprint("moved", t), l.pick(t), row), state)
			states = append(states, state)
		}
		l.join(states)
	},
	"that reads all before": func(l *loop, n int) {
		states := []string{l.pick(0)}
		for t := 1; t < n; t++ {
			before := l.node("Sum", nil, fmt.Sprint("before", t), states...)
			states = append(states, l.step(t, l.pick(t), before))
		}
		l.join(states)
	},
}

// file writes a loop into a model of tokens and opens it.
func file(t *testing.T, kind string, n int) *onnx.File {
	l := &loop{}
	l.floats("embed", []int64{5, width}, 0.1, -0.2, 0.3, 0.5, -0.7, 0.2, 0.4, 0.9, -0.3, -0.6)
	l.floats("w", []int64{width, width}, 0.5, -0.4, 0.3, 0.8)
	l.floats("zeros", []int64{1, width}, 0, 0)
	l.node("Gather", nil, "x", "embed", "input_ids")
	kinds[kind](l, n)
	return opened(t, onnx.NewModel{Opset: 17, Nodes: l.nodes, Initializers: l.tables,
		Inputs:  []onnx.NewValue{{Name: "input_ids", Type: onnx.Int64, Dims: []int64{1, int64(n)}}},
		Outputs: []onnx.NewValue{{Name: "y", Type: onnx.Float, Dims: []int64{1, int64(n), width}}}}.Build())
}

func opened(t *testing.T, data []byte) *onnx.File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "m.onnx")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := onnx.Open(path, onnx.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// output is what a model gives for tokens.
func output(f *onnx.File, n int) []float64 {
	ids := make([]int64, n)
	for i := range ids {
		ids[i] = int64(i*i+3*i) % 5
	}
	e := eval.New(f, map[string]*eval.Value{"input_ids": eval.IntValue(onnx.Int64, []int{1, n}, ids)})
	e.Run()
	v := e.Main.Value("y")
	if !v.Known() {
		return nil
	}
	return v.Floats
}

// TestUnroll has steps go on, and compares what the new file gives with the loop written out for the new length.
func TestUnroll(t *testing.T) {
	const old = 6
	refused := map[string]string{"with a row for each step": "reads what belongs to position", "that reads all before": "reads what belongs to position"}
	for kind := range kinds {
		for _, length := range []int{old + 1, 11} {
			f := file(t, kind, old)
			p := probe.New(f, eval.NewBudget(context.Background(), 1<<30))
			p.Run()
			g := &site.Graph{Probe: p, Editor: rows.NewEditor(f, p.TensorName)}
			groups := recurrence.Find(g)
			if groups == nil {
				t.Errorf("%s: no recurrence is found", kind)
				continue
			}
			made, why := recurrence.Unroll(g, groups, length)
			if want := refused[kind]; want != "" {
				if !strings.Contains(why, want) {
					t.Errorf("%s to %d: %q, want one that says %q", kind, length, why, want)
				}
				continue
			}
			if why != "" || len(made.Nodes) == 0 {
				t.Errorf("%s to %d: refused: %s", kind, length, why)
				continue
			}
			inMemory := output(f, length)
			if g.Added != nil { // constants that stand in no file yet
				inMemory = nil
			}
			g.Restore()
			if got := output(f, old); !slices.Equal(got, output(file(t, kind, old), old)) || len(f.Graph.InOrder()) != len(f.Graph.Nodes) {
				t.Errorf("%s to %d: restored, the graph gives %v", kind, length, got)
			}
			plan, err := g.Plan()
			if err != nil {
				t.Fatal(err)
			}
			data, err := io.ReadAll(plan.NewReader(0, io.NewSectionReader(reader(t, f.Path), 0, f.Size)))
			if err != nil {
				t.Fatal(err)
			}
			got, want := output(opened(t, data), length), output(file(t, kind, length), length)
			if want == nil || !slices.Equal(got, want) || inMemory != nil && !slices.Equal(inMemory, want) {
				t.Errorf("%s to %d: gives\n%v (in memory %v), want\n%v", kind, length, got, inMemory, want)
			}
		}
	}
}

func reader(t *testing.T, path string) io.ReaderAt {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// TestShorter is refused: steps are not taken away.
func TestShorter(t *testing.T) {
	f := file(t, "from the beginning", 6)
	p := probe.New(f, eval.NewBudget(context.Background(), 1<<30))
	p.Run()
	g := &site.Graph{Probe: p, Editor: rows.NewEditor(f, p.TensorName)}
	if _, why := recurrence.Unroll(g, recurrence.Find(g), 5); why != "they are not taken away" {
		t.Errorf("%q", why)
	}
}
