package onnxpos

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/schemes"
)

// shifted is an attention within windows of 2×2 of 4×4 places that are shifted by one, with a bias by distance and a mask of
// shifted windows, which lets one pair of parts pass where that is asked for.
func shifted(lets bool) func(m *onnx.NewModel) {
	type dims = []int64
	return func(m *onnx.NewModel) {
		patchRows(m)
		const by = 1
		index := slices.Concat(schemes.WindowIndex(2, 2, false)...)
		m.Initializers = append(m.Initializers,
			integers("picture", 1, 4, 4, 4), integers("by", by), integers("back", 4-by), integers("rest", 4-by), integers("zero", 0), integers("end", 1<<31-1), integers("axis1", 1), integers("axis2", 2),
			integers("cut", 1, 2, 2, 2, 2, 4), integers("apart", 4, 1, 4, 4), integers("grid", 1, 2, 2, 2, 2, 4), integers("rows", 1, 16, 4),
			floats("bias", dims{1, 1, 4, 4}, func(i int) float64 { return float64(index[i]*index[i]) / 10 }),
			floats("mask", dims{4, 1, 4, 4}, func(i int) float64 {
				window, q, k := i/16, i/4%4, i%4
				apart := window/2 == 1 && q/2 != k/2 || window%2 == 1 && q%2 != k%2
				if apart && !(lets && i == 49) {
					return -100
				}
				return 0
			}))
		roll := func(from, to, by, axis string) []onnx.NewNode {
			return []onnx.NewNode{node("Slice", to+"later", from, by, "end", axis), node("Slice", to+"earlier", from, "zero", by, axis),
				withInts(node("Concat", to, to+"later", to+"earlier"), "axis", map[string]int64{"axis1": 1, "axis2": 2}[axis])}
		}
		swap := dims{0, 1, 3, 2, 4, 5}
		m.Nodes = append(m.Nodes, node("Reshape", "p", "h", "picture"))
		m.Nodes = append(m.Nodes, roll("p", "r1", "by", "axis1")...)
		m.Nodes = append(m.Nodes, roll("r1", "r2", "by", "axis2")...)
		m.Nodes = append(m.Nodes, node("Reshape", "c", "r2", "cut"), withInts(node("Transpose", "ct", "c"), "perm", swap), node("Reshape", "w", "ct", "apart"),
			withInts(node("Transpose", "wt", "w"), "perm", dims{0, 1, 3, 2}), node("MatMul", "scores", "w", "wt"), node("Add", "biased", "scores", "bias"), node("Add", "masked", "biased", "mask"),
			withInts(node("Softmax", "probabilities", "masked"), "axis", int64(-1)), node("MatMul", "o", "probabilities", "w"),
			node("Reshape", "g", "o", "grid"), withInts(node("Transpose", "gt", "g"), "perm", swap), node("Reshape", "merged", "gt", "picture"))
		m.Nodes = append(m.Nodes, roll("merged", "b1", "back", "axis1")...)
		m.Nodes = append(m.Nodes, roll("b1", "b2", "back", "axis2")...)
		m.Nodes = append(m.Nodes, node("Reshape", "y", "b2", "rows"))
		m.Outputs = append(m.Outputs, onnx.NewValue{Name: "y", Type: onnx.Float, Dims: dims{1, 16, 4}})
	}
}

// summed makes biases and masks of windows one constant, as optimisers fold them.
func summed(graph func(*onnx.NewModel)) func(*onnx.NewModel) {
	return func(m *onnx.NewModel) {
		graph(m)
		numbers := func(name string) onnx.NewTensor {
			return m.Initializers[slices.IndexFunc(m.Initializers, func(t onnx.NewTensor) bool { return t.Name == name })]
		}
		of := func(t onnx.NewTensor, i int) float64 {
			return float64(math.Float32frombits(binary.LittleEndian.Uint32(t.Raw[4*i:])))
		}
		bias, mask := numbers("bias"), numbers("mask")
		m.Initializers = append(m.Initializers, floats("sum", []int64{4, 1, 4, 4}, func(i int) float64 { return of(bias, i%16) + of(mask, i) }))
		m.Nodes = slices.DeleteFunc(m.Nodes, func(n onnx.NewNode) bool { return n.Outputs[0] == "biased" })
		for i, n := range m.Nodes {
			if n.Outputs[0] == "masked" {
				m.Nodes[i] = node("Add", "masked", "scores", "sum")
			}
		}
	}
}

// TestWindowSide: windows that are shifted by half their side, masked and biased by distance get another side, with all of these; the
// mask and the biases by themselves or as one constant.
func TestWindowSide(t *testing.T) {
	for name, graph := range map[string]func(*onnx.NewModel){"apart": shifted(false), "summed": summed(shifted(false))} {
		t.Run(name, func(t *testing.T) { windowSide(t, graph) })
	}
}

func windowSide(t *testing.T, graph func(*onnx.NewModel)) {
	m := built(t, graph)
	if _, err := position.ResizeGrid(m, position.GridOptions{Height: 8, Width: 8, Window: [2]int{4, 4}}); err != nil {
		t.Fatal(err)
	}
	e := result(t, m, saved(t, graph)).graph.Eval
	if len(e.Failures) > 0 {
		t.Fatal(e.Failures)
	}
	value := func(name string, i int) []float64 {
		n, _ := e.Main.Find(name)
		v := e.Main.Enlarge(n.Input(i))
		out := make([]float64, v.Len())
		for i := range out {
			out[i] = v.Number(i)
		}
		return out
	}
	for _, c := range []struct {
		of   string
		in   int
		want float64
	}{{"r1later", 1, 2}, {"r1earlier", 2, 2}, {"r2later", 1, 2}, {"b1later", 1, 6}, {"b1earlier", 2, 6}, {"b2later", 1, 6}} {
		if got := value(c.of, c.in); len(got) != 1 || got[0] != c.want {
			t.Errorf("input %d of %s: %v, want %g", c.in, c.of, got, c.want)
		}
	}
	if got := e.Main.Value("c").Shape; !slices.Equal(got, []int{1, 2, 4, 2, 4, 4}) {
		t.Errorf("cut into %v", got)
	}
	added := [2][]float64{value("masked", 1), nil} // one of them to what the other was added to
	if n, _ := e.Main.Find("masked"); len(e.Main.Value(n.Input(0)).Shape) == 4 {
		before, _ := e.Main.Find(n.Input(0))
		v := e.Main.Enlarge(before.Input(1))
		for i := range v.Len() {
			added[1] = append(added[1], v.Number(i))
		}
	}
	mask, bias := added[0], added[1]
	if len(mask) < len(bias) {
		mask, bias = bias, mask
	}
	if len(mask) != 4*16*16 {
		t.Fatalf("a mask of %d numbers", len(mask))
	}
	for i, x := range mask {
		window, q, k := i/256, i/16%16, i%16
		want := 0.0
		if window/2 == 1 && (q/4 < 2) != (k/4 < 2) || window%2 == 1 && (q%4 < 2) != (k%4 < 2) {
			want = -100
		}
		if x != want {
			t.Fatalf("window %d masks key %d from query %d by %g, want %g", window, k, q, x, want)
		}
	}
	index := slices.Concat(schemes.WindowIndex(4, 4, false)...)
	by := map[int]float64{}
	for i, x := range bias {
		if old, seen := by[index[i]]; seen && old != x {
			t.Fatalf("pair %d of one distance has %g and %g", i, old, x)
		}
		by[index[i]] = x
	}
	if len(bias) != 256 || len(by) != 49 {
		t.Errorf("%d biases of %d distances", len(bias), len(by))
	}
}

// TestWindowSideRefused: what of windows of another side the file does not say, is said.
func TestWindowSideRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*onnx.NewModel)
		window int
		why    string
	}{
		"another mask": {shifted(true), 4, "is not the mask of shifted windows"},
		"another mask with biases in its numbers": {summed(shifted(true)), 4, "is not the mask of shifted windows"},
		"biases of a network that was folded": {func(m *onnx.NewModel) {
			shifted(false)(m)
			index := slices.Concat(schemes.WindowIndex(2, 2, false)...)
			for i := range m.Initializers {
				if m.Initializers[i].Name == "bias" {
					m.Initializers[i] = floats("bias", []int64{1, 1, 4, 4}, func(i int) float64 { return 16 / (1 + math.Exp(float64(index[i]-4))) })
				}
			}
		}, 4, "all between 0 and 16"},
		"not divisible": {shifted(false), 3, "cannot be cut into windows of 3×3"},
	} {
		_, err := position.ResizeGrid(built(t, c.change), position.GridOptions{Height: 8, Width: 8, Window: [2]int{c.window, c.window}})
		if refusal, ok := errors.AsType[*position.Refusal](err); !ok || !strings.Contains(refusal.Why, c.why) {
			t.Errorf("%s: %v, want %q", name, err, c.why)
		}
	}
}

// TestSquashedLayer: a layer whose biases are all between 0 and 16 is not made by a network where those of another layer are not.
func TestSquashedLayer(t *testing.T) {
	graph := func(m *onnx.NewModel) {
		shifted(false)(m)
		index := slices.Concat(schemes.WindowIndex(2, 2, false)...)
		at := slices.IndexFunc(m.Initializers, func(t onnx.NewTensor) bool { return t.Name == "bias" })
		for i, name := range []string{"bias", "other"} {
			made := floats(name, []int64{1, 1, 4, 4}, func(k int) float64 { return float64(index[k]+1) * float64(1-2*i) })
			if i == 0 {
				m.Initializers[at] = made
			} else {
				m.Initializers = append(m.Initializers, made)
			}
		}
		for i, n := range m.Nodes {
			if n.Outputs[0] == "biased" {
				m.Nodes = slices.Insert(m.Nodes, i+1, node("Add", "again", "biased", "other"))
			} else if n.Outputs[0] == "masked" {
				m.Nodes[i].Inputs[0] = "again"
			}
		}
	}
	if _, err := position.ResizeGrid(built(t, graph), position.GridOptions{Height: 8, Width: 8, Window: [2]int{4, 4}}); err != nil {
		t.Error(err)
	}
}

// TestSingleWindow: shifted windows that become a single one are not rolled any more, and nothing of it is masked; biases stay.
func TestSingleWindow(t *testing.T) {
	for name, graph := range map[string]func(*onnx.NewModel){"apart": shifted(false), "summed": summed(shifted(false))} {
		t.Run(name, func(t *testing.T) {
			m := built(t, graph)
			if _, err := position.ResizeGrid(m, position.GridOptions{Height: 2, Width: 2}); err != nil {
				t.Fatal(err)
			}
			e := result(t, m, saved(t, graph)).graph.Eval
			rolled, mask := e.Main.Value("r1earlier").Shape, (*eval.Value)(nil)
			if n, _ := e.Main.Find("masked"); n != nil {
				mask = e.Main.Enlarge(n.Input(1))
			}
			if len(e.Failures) > 0 || !slices.Equal(rolled, []int{1, 0, 2, 4}) || mask == nil || mask.Len() != 16 {
				t.Fatalf("%v, rolled by %v, masked by %v", e.Failures, rolled, mask)
			}
			for i := range mask.Len() {
				if mask.Number(i) < -1 {
					t.Errorf("pair %d is masked", i)
				}
			}
		})
	}
}
