package onnxpos

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/schemes"
)

// TestDistancesOfOneLength changes the length of graphs of 12 tokens into which vectors by distance were folded: the rows of each
// pair, or the index by which a table's are looked up, made by one constant or by several.
func TestDistancesOfOneLength(t *testing.T) {
	const n = 12
	number := func(distance, column int) float64 { return math.Sin(float64((distance+40)*(distance+40) + 7*column)) }
	square := func(name string, at func(distance int) int) onnx.NewTensor {
		var v []int64
		for i := range n * n {
			v = append(v, int64(at(i/n-i%n)))
		}
		out := integers(name, v...)
		out.Dims = []int64{n, n}
		return out
	}
	table := func(before, after int) onnx.NewTensor {
		return floats("rows", []int64{int64(before + after + 1), 4}, func(i int) float64 { return number(i/4-before, i%4) })
	}
	clip := func(d, before, after int) int { return min(max(d, -before), after) }
	attend := func(m *onnx.NewModel, more []onnx.NewTensor, nodes ...onnx.NewNode) {
		text(m, n, 4)
		m.Initializers = append(m.Initializers, more...)
		m.Outputs[0].Dims = []int64{1, n, n}
		m.Nodes = append([]onnx.NewNode{m.Nodes[0], node("MatMul", "q", "te", "W"), withInts(node("Transpose", "kt", "te"), "perm", []int64{0, 2, 1}), node("MatMul", "s", "q", "kt")}, nodes...)
		m.Nodes = append(m.Nodes, einsum("pair", "bqd,qkd->bqk", "q", "v"), node("Add", "b", "s", "pair"), node("Softmax", "h", "b"))
	}
	looked := func(before, after int, index func(d int) int, more ...onnx.NewNode) func(m *onnx.NewModel) {
		return func(m *onnx.NewModel) {
			attend(m, []onnx.NewTensor{table(before, after), square("index", index)}, append(more, node("Gather", "v", "rows", "index"))...)
		}
	}
	vectors := func(at func(d, column int) float64) func(m *onnx.NewModel) {
		return func(m *onnx.NewModel) {
			attend(m, []onnx.NewTensor{floats("pairs", []int64{n, n, 4}, func(i int) float64 { return at(i/4/n-i/4%n, i%4) })}, node("Identity", "v", "pairs"))
		}
	}
	for _, c := range []struct {
		name          string
		change        func(m *onnx.NewModel)
		length        int
		before, after int    // the distances at which what is there is clipped
		want          string // the scheme then, or what the refusal says
	}{
		{"an index that ends with the table", looked(11, 11, func(d int) int { return d + 11 }), 20, 11, 11, "relative-table, rows 39"},
		{"the same, shorter", looked(11, 11, func(d int) int { return d + 11 }), 8, 11, 11, "relative-table, rows 23"},
		{"an index that ends ahead of the table", looked(15, 15, func(d int) int { return d + 15 }), 16, 15, 15, "relative-table, rows 31"},
		{"an index that falls, clipped", looked(3, 3, func(d int) int { return 3 - clip(d, 3, 3) }), 20, 3, 3, "relative-table, rows 7, max distance 3"},
		{"a clip that is not seen any more", looked(3, 3, func(d int) int { return clip(d, 3, 3) + 3 }), 4, 3, 3, "relative-table, rows 7"},
		{"more rows to one side", looked(5, 2, func(d int) int { return clip(d, 5, 2) + 5 }), 20, 5, 2, "relative-table, rows 8, max distance 5"},
		{"an index that ends with a table of more rows to one side", looked(11, 12, func(d int) int { return d + 11 }), 20, 11, 12, "relative-table, rows 24, max distance 12"},
		{"an index of several constants", func(m *onnx.NewModel) {
			attend(m, []onnx.NewTensor{table(4, 3), square("distance", func(d int) int { return d }), square("near", func(d int) int { return max(d, -4) }), {Name: "four", Type: onnx.Int64, Raw: []byte{4, 0, 0, 0, 0, 0, 0, 0}}, {Name: "three", Type: onnx.Int64, Raw: []byte{3, 0, 0, 0, 0, 0, 0, 0}}},
				node("GreaterOrEqual", "far", "distance", "four"), node("Where", "within", "far", "three", "near"), node("Add", "index", "within", "four"), node("Gather", "v", "rows", "index"))
		}, 20, 4, 3, "relative-table, rows 8, max distance 4"},
		{"rows in another order", looked(11, 11, func(d int) int {
			return map[int]int{3: 4, 4: 3, 11: 11}[d+11] + map[bool]int{true: d + 11}[d != -8 && d != -7 && d != 0]
		}), 20, 0, 0, "are not those of distances"},
		{"an index that others read", func(m *onnx.NewModel) {
			looked(11, 11, func(d int) int { return d + 11 })(m)
			m.Nodes = append(m.Nodes, node("Cast", "too", "index"))
			m.Nodes[len(m.Nodes)-1].Attributes = []onnx.NewAttribute{{Name: "to", Value: int64(1)}}
			m.Outputs = append(m.Outputs, onnx.NewValue{Name: "too", Type: onnx.Float, Dims: []int64{n, n}})
		}, 20, 0, 0, "are read by other nodes"},
		{"vectors, each distance with its own", vectors(number), 20, 11, 11, "relative-table, rows 23, dim 4, max distance 11"},
		{"the same, shorter", vectors(number), 8, 11, 11, "relative-table, rows 15, dim 4"},
		{"vectors that are clipped", vectors(func(d, column int) float64 { return number(clip(d, 5, 2), column) }), 20, 5, 2, "relative-table, rows 8, dim 4, max distance 5"},
		{"vectors of which one side is clipped", vectors(func(d, column int) float64 { return number(clip(d, 20, 2), column) }), 20, 0, 0, "where those of the other are is not in the file"},
		{"sines of distances", vectors(func(d, column int) float64 {
			return []func(float64) float64{math.Sin, math.Cos}[column%2](float64(d) * math.Pow(10000, -float64(column/2)/2))
		}), 20, 0, 0, "they are sines of the distance"},
	} {
		m := built(t, c.change)
		_, err := position.Extend(m, position.ExtendOptions{Length: c.length, Shorter: c.length < n})
		if err != nil {
			if c.before > 0 || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		after := result(t, m, saved(t, c.change))
		if got := after.Sites()[0].Encoding(); fmt.Sprint(got.Scheme) != c.want || len(after.Sites()) != 1 || got.Capacity != c.length {
			t.Errorf("%s: %s of %d positions, want %s of %d", c.name, got.Scheme, got.Capacity, c.want, c.length)
		}
		v := after.graph.Eval.Main.Value(after.graph.File.Graph.Nodes[len(after.graph.File.Graph.Nodes)-3].Input(1))
		if len(v.Shape) != 3 || v.Shape[0] != c.length || v.Shape[1] != c.length {
			t.Errorf("%s: vectors of %v", c.name, v.Shape)
			continue
		}
		for i, x := range v.Floats {
			d := clip(i/4/c.length-i/4%c.length, c.before, c.after)
			if strings.Contains(c.name, "falls") {
				d = -d
			}
			if want := number(d, i%4); math.Abs(x-want) > 1e-6 {
				t.Errorf("%s: element %d is %g, want %g", c.name, i, x, want)
				break
			}
		}
	}
}

// TestReachOfOneLength gives such graphs another largest distance: an index follows, vectors of pairs may be clipped nearer.
func TestReachOfOneLength(t *testing.T) {
	change := func(m *onnx.NewModel) {
		text(m, 6, 4)
		m.Outputs[0].Dims = []int64{1, 6, 6}
		m.Initializers = append(m.Initializers, floats("pairs", []int64{6, 6, 4}, func(i int) float64 { return math.Sin(float64((i/4/6-i/4%6)*30 + i%4)) }))
		m.Nodes = []onnx.NewNode{m.Nodes[0], node("MatMul", "q", "te", "W"), withInts(node("Transpose", "kt", "te"), "perm", []int64{0, 2, 1}), node("MatMul", "s", "q", "kt"),
			einsum("pair", "bqd,qkd->bqk", "q", "pairs"), node("Add", "b", "s", "pair"), node("Softmax", "h", "b")}
	}
	for _, c := range []struct {
		most int
		want string
	}{{2, "relative-table, rows 5, dim 4, max distance 2"}, {9, "are as the farthest already"}} {
		m := built(t, change)
		_, err := position.Relative(m, position.RelativeOptions{MaxDistance: c.most})
		if err != nil {
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("%d: %v", c.most, err)
			}
			continue
		}
		if got := result(t, m, saved(t, change)).Sites()[0].Encoding().Scheme; fmt.Sprint(got) != c.want {
			t.Errorf("%d: %s, want %s", c.most, got, c.want)
		}
	}
}

// TestDisentangledOfOneLength changes the length of graphs whose scores are picked from those against a table by an index of one
// length: that is clipped at the table's ends, or made of buckets, as far as all largest distances that explain them agree.
func TestDisentangledOfOneLength(t *testing.T) {
	clip := func(x, rows int) int { return min(max(x, 0), rows-1) }
	for _, c := range []struct {
		name            string
		rows, n, length int
		column          func(d int) int
		says            string // the refusal
	}{
		{"clipped where it was seen", 16, 11, 20, func(d int) int { return clip(d+8, 16) }, ""},
		{"clipped at the end of what was seen", 22, 11, 20, func(d int) int { return clip(11-d, 22) }, ""},
		{"not yet clipped", 30, 11, 13, func(d int) int { return d + 15 }, ""},
		{"shorter", 22, 11, 8, func(d int) int { return d + 11 }, ""},
		{"buckets", 16, 40, 60, func(d int) int { return clip(schemes.DebertaBucket(d, 8, 32)+8, 16) }, ""},
		{"buckets of several readings", 32, 40, 100, func(d int) int { return clip(schemes.DebertaBucket(-d, 16, 128)+16, 32) }, "does not say which column a distance of"},
		{"neither", 32, 11, 20, func(d int) int { return (d*d + 5*d + 40) % 31 }, "does not say which column a distance of"},
	} {
		change := func(m *onnx.NewModel) {
			byBuckets(m, int64(c.rows), 32)
			n := int64(c.n)
			m.Inputs[0].Dims[1], m.Outputs[0].Dims = n, []int64{1, n, n}
			var v []int64
			for i := range c.n * c.n {
				v = append(v, int64(c.column(i/c.n-i%c.n)))
			}
			m.Initializers[2] = integers("buckets", v...)
			m.Initializers[2].Dims = []int64{1, n, n}
		}
		m := built(t, change)
		if _, err := position.Extend(m, position.ExtendOptions{Length: c.length, Shorter: c.length < c.n}); err != nil {
			if c.says == "" || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		if c.says != "" {
			t.Errorf("%s: not refused", c.name)
			continue
		}
		after := result(t, m, saved(t, change))
		graph := after.graph.File.Graph
		v := after.graph.Eval.Main.Value(graph.Nodes[len(graph.Nodes)-3].Input(1))
		if fmt.Sprint(v.Shape) != fmt.Sprint([]int{1, c.length, c.length}) {
			t.Errorf("%s: an index of %v", c.name, v.Shape)
			continue
		}
		for i, x := range v.Ints {
			if want := c.column(i/c.length - i%c.length); int(x) != want {
				t.Errorf("%s: element %d is %d, want %d", c.name, i, x, want)
				break
			}
		}
	}
}

// TestDisentangledCutFromTheMiddle gives a graph with a free length more positions that cuts as many rows in both directions out of
// the middle of its table as there are positions: the table gets more rows, and what the cut is counted from follows.
func TestDisentangledCutFromTheMiddle(t *testing.T) {
	scalar := func(name string, v int64) onnx.NewTensor {
		out := integers(name, v)
		out.Dims = nil
		return out
	}
	const k = 9
	change := func(m *onnx.NewModel) {
		m.Inputs[0].Dims[1] = -1
		m.Outputs[0].Dims = []int64{1, -1, -1}
		m.Initializers = append(m.Initializers[:1:1], noise("R", 2*k, 4), scalar("k", k), scalar("k too", k), scalar("zero", 0), scalar("step", 1), integers("0", 0), integers("1", 1), integers("column", 1))
		m.Nodes = []onnx.NewNode{node("Gather", "te", "wte", "ids"), withInts(node("Transpose", "keys", "te"), "perm", []int64{0, 2, 1}), node("MatMul", "content", "te", "keys"),
			node("Shape", "shape", "ids"), node("Gather", "n", "shape", "step"), node("Sub", "from", "k", "n"), node("Add", "to", "k too", "n"),
			node("Unsqueeze", "from1", "from", "0"), node("Unsqueeze", "to1", "to", "0"), node("Slice", "rows", "R", "from1", "to1", "0"),
			withInts(node("Transpose", "turned", "rows"), "perm", []int64{1, 0}), node("MatMul", "by", "te", "turned"),
			node("Range", "p", "zero", "n", "step"), node("Unsqueeze", "q", "p", "column"), node("Sub", "d", "q", "p"), node("Add", "moved", "d", "n"), node("Add", "twice", "n", "n"), node("Sub", "last", "twice", "step"),
			node("Clip", "clipped", "moved", "zero", "last"), node("Unsqueeze", "index", "clipped", "0"),
			withInts(node("GatherElements", "picked", "by", "index"), "axis", int64(2)), node("Add", "scores", "content", "picked"), node("Softmax", "h", "scores")}
	}
	m := built(t, change)
	if got := m.Sites()[0].Encoding(); fmt.Sprint(got.Scheme) != "relative-table, rows 18" || got.Capacity != k {
		t.Fatalf("%s of %d positions", got.Scheme, got.Capacity)
	}
	if _, err := position.Extend(m, position.ExtendOptions{Length: 14}); err != nil {
		t.Fatal(err)
	}
	after := result(t, m, saved(t, change))
	if got := after.Sites()[0].Encoding(); fmt.Sprint(got.Scheme) != "relative-table, rows 28" || got.Capacity != 14 {
		t.Errorf("%s of %d positions", got.Scheme, got.Capacity)
	}
	after.graph.File.Tensors(func(x *onnx.Tensor, _ *onnx.Graph) {
		switch x.Name {
		case "k", "k too":
			if got, err := x.Ints(0, 1); err != nil || got[0] != 14 {
				t.Errorf("%s is %v, %v", x.Name, got, err)
			}
		case "R":
			rows, err := x.Floats(0, x.Len())
			for i := range rows {
				old := 4*min(max(i/4-14+k, 0), 2*k-1) + i%4
				if want := math.Sin(float64(old*old + 1)); err != nil || math.Abs(rows[i]-want) > 1e-6 {
					t.Fatalf("element %d is %g, want %g (%v)", i, rows[i], want, err)
				}
			}
		}
	})
}

// TestTablesOfLayers: a table a layer is one encoding, of which each layer keeps its own.
func TestTablesOfLayers(t *testing.T) {
	m := built(t, func(m *onnx.NewModel) {
		freeText(m, 8)
		m.Initializers = append(m.Initializers, integers("last", 1), integers("lead", 0), integers("least", -3), integers("most", 3), noise("a rows", 7, 1), noise("b rows", 7, 1))
		for i := range m.Initializers[len(m.Initializers)-4 : len(m.Initializers)-2] {
			m.Initializers[len(m.Initializers)-4+i].Dims = nil
		}
		nodes := slices.Concat(m.Nodes[:4], []onnx.NewNode{node("Unsqueeze", "query", "p", "last"), node("Sub", "apart", "p", "query"), node("Max", "far", "apart", "least"), node("Min", "near", "far", "most"), node("Add", "index", "near", "most")})
		for _, layer := range []struct{ name, state string }{{"a", "te"}, {"b", "aseen"}} {
			head := oneHead(layer.name, layer.state, layer.state)
			head[4].Inputs[0] = layer.name + " biased"
			nodes = slices.Concat(nodes, head[:4], []onnx.NewNode{node("Gather", layer.name+" picked", layer.name+" rows", "index"), withInts(node("Transpose", layer.name+" bias", layer.name+" picked"), "perm", []int64{2, 0, 1}),
				node("Add", layer.name+" biased", layer.name+"scores", layer.name+" bias")}, head[4:])
		}
		m.Nodes = append(nodes, node("MatMul", "h", "bseen", "W"))
	})
	if len(m.Sites()) != 1 || len(m.sites[0].Owned()) != 2 || len(m.sites[0].Encoding().Where) != 2 {
		t.Fatalf("%s, %d constants", found(m), len(m.sites[0].Owned()))
	}
}
