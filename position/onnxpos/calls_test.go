package onnxpos

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/onnxpos/probe"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
	"github.com/modelpatch/modelpatch/verify"
)

// branches is an If between two graphs of nodes, each of which makes a value of the given name.
func branches(condition, out string, dims []int64, then, other []onnx.NewNode) onnx.NewNode {
	graph := func(nodes []onnx.NewNode) onnx.NewModel {
		return onnx.NewModel{Nodes: nodes, Outputs: []onnx.NewValue{{Name: nodes[len(nodes)-1].Outputs[0], Type: onnx.Float, Dims: dims}}}
	}
	return onnx.NewNode{Op: "If", Inputs: []string{condition}, Outputs: []string{out}, Attributes: []onnx.NewAttribute{{Name: "then_branch", Value: graph(then)}, {Name: "else_branch", Value: graph(other)}}}
}

// oneHead is an attention of one head of a state, whose values have the given prefix: scores, weights and what they take.
func oneHead(prefix, queries, keys string) []onnx.NewNode {
	return []onnx.NewNode{node("MatMul", prefix+"q", queries, "W"), node("MatMul", prefix+"k", keys, "W"), withInts(node("Transpose", prefix+"t", prefix+"k"), "perm", []int64{0, 2, 1}),
		node("MatMul", prefix+"scores", prefix+"q", prefix+"t"), node("Softmax", prefix+"weights", prefix+"scores"), node("MatMul", prefix+"seen", prefix+"weights", keys)}
}

// TestOtherCalls: a graph that tells its calls by a truth value ends where the first of its branches does, and is made longer in both.
func TestOtherCalls(t *testing.T) {
	path := saved(t, func(m *onnx.NewModel) {
		freeText(m, 8)
		m.Inputs = append(m.Inputs, onnx.NewValue{Name: "use_cache_branch", Type: onnx.Bool, Dims: []int64{1}})
		masks := func(name string) []onnx.NewNode {
			return []onnx.NewNode{node("Slice", name+" cut", name, "zero1", "n1", "last"), node("Slice", name+" square", name+" cut", "zero1", "n1", "first"), node("Add", name+" scores", "scores", name+" square")}
		}
		triangle := func(name string) onnx.NewTensor {
			return floats(name, []int64{16, 16}, func(i int) float64 {
				if i%16 > i/16 {
					return -1e9
				}
				return 0
			})
		}
		m.Initializers = append(m.Initializers, noise("wpe", 16, 8), triangle("cached"), triangle("whole"), integers("zero1", 0), integers("last", 1), integers("first", 0), integers("n shape", 1))
		m.Nodes = slices.Concat(m.Nodes[:4], []onnx.NewNode{node("Gather", "pe", "wpe", "p"), node("Add", "h0", "te", "pe"), node("Reshape", "n1", "n", "n shape")}, oneHead("", "h0", "h0")[:4],
			[]onnx.NewNode{branches("use_cache_branch", "masked", []int64{1, -1, -1}, masks("cached"), masks("whole")), node("Softmax", "weights", "masked"), node("MatMul", "h", "weights", "h0")})
	})
	m := opened(t, path)
	if _, err := position.Extend(m, position.ExtendOptions{Length: 32}); err != nil {
		t.Fatal(err)
	}
	grown := edits(t, m)
	after := result(t, m, path)
	for _, name := range []string{"cached", "whole"} {
		if c := after.graph.File.Graph.Initializer(name); c == nil || c.Dims[0] != 32 {
			t.Errorf("%s: %v, by %q", name, c, grown)
		}
	}
	// A file of which one branch alone was made longer, as it was written before.
	half := opened(t, saved(t, func(m *onnx.NewModel) {
		freeText(m, 8)
		m.Inputs = append(m.Inputs, onnx.NewValue{Name: "first", Type: onnx.Bool, Dims: []int64{1}})
		m.Initializers = append(m.Initializers, noise("long", 64, 8), noise("short", 16, 8))
		row := func(table string) []onnx.NewNode { return []onnx.NewNode{node("Gather", "of "+table, table, "p")} }
		m.Nodes = append(m.Nodes, branches("first", "pe", []int64{-1, 8}, row("long"), row("short")), node("Add", "h0", "te", "pe"))
	}))
	if n := position.Length(half, half.Describe()).Capacity; n == nil || *n != 16 {
		t.Errorf("a graph of which the other branch ends at 16 positions: %v", n)
	}
}

// TestOrderOfTheFile: that nodes stand in no order in which they run is a difference between files, though they are read alike.
func TestOrderOfTheFile(t *testing.T) {
	for late, want := range map[bool]string{false: "every node stands behind those that it reads", true: "a node stands before one that it reads"} {
		all, err := opened(t, saved(t, func(m *onnx.NewModel) {
			if late {
				slices.Reverse(m.Nodes)
			}
		})).Parts()
		if err != nil {
			t.Fatal(err)
		}
		if i := slices.IndexFunc(all, func(p position.Part) bool { return p.Kind == "order" }); i < 0 || all[i].Head != want {
			t.Errorf("late: %v: %+v", late, all[max(i, 0)])
		}
	}
}

// TestDecidedBranches: of an If that is decided by a constant one branch counts, and what it gives back as it came is followed to where it was made.
func TestDecidedBranches(t *testing.T) {
	m := opened(t, saved(t, func(m *onnx.NewModel) {
		freeText(m, 8)
		m.Initializers = append(m.Initializers, noise("wpe", 16, 8), onnx.NewTensor{Name: "never", Type: onnx.Bool, Raw: []byte{0}})
		m.Nodes = slices.Concat(m.Nodes[:4], []onnx.NewNode{
			branches("never", "same", []int64{1, -1, 8}, []onnx.NewNode{node("Unique", "sorted", "te")}, []onnx.NewNode{node("Identity", "as it came", "te")}),
			node("Gather", "pe", "wpe", "p"), node("Add", "h0", "same", "pe"), node("MatMul", "h", "h0", "W")})
	}))
	if e := m.Sites()[0].Encoding(); len(m.Sites()) != 1 || fmt.Sprint(e.Scheme) != fmt.Sprint(schemes.Learned{Rows: 16, Dim: 8}) {
		t.Errorf("%v: %v", e.Scheme, e.Evidence)
	}
}

// TestTwoSequences: what is added to scores is computed for each sequence, since their lengths agree in no call but that of a test.
func TestTwoSequences(t *testing.T) {
	path := saved(t, func(m *onnx.NewModel) {
		freeText(m, 8)
		m.Inputs = append(m.Inputs, onnx.NewValue{Name: "decoder_ids", Type: onnx.Int64, Dims: []int64{1, -1}})
		m.Nodes = slices.Concat(m.Nodes[3:4], []onnx.NewNode{node("Gather", "other", "wte", "decoder_ids")}, oneHead("e", "te", "te"), oneHead("d", "other", "other"), oneHead("c", "dseen", "eseen"), []onnx.NewNode{node("MatMul", "h", "cseen", "W")})
	})
	for what, add := range map[string]func(m position.Model) error{
		"a bias": func(m position.Model) error { _, err := position.AddALiBi(m, position.ALiBiOptions{}); return err },
		"a window": func(m position.Model) error {
			_, err := position.AddWindow(m, position.WindowOptions{Positions: 3})
			return err
		},
	} {
		m := opened(t, path)
		if err := add(m); err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		after := result(t, m, path)
		if e, ok := after.graph.Apart(); !ok || e == nil || len(e.Failures) > 0 {
			t.Errorf("%s: the new graph does not run with sequences of two lengths", what)
		}
		crossing := 0
		for _, a := range after.Attentions() {
			if a.Crosses {
				crossing++
			}
		}
		if crossing != 1 {
			t.Errorf("%s: %d cross-attentions", what, crossing)
		}
	}
}

// TestCrossingQuantised: a sequence is followed through whole numbers, so that an attention across two is told.
func TestCrossingQuantised(t *testing.T) {
	m := built(t, func(m *onnx.NewModel) {
		freeText(m, 8)
		raw, _ := onnx.EncodeInts(onnx.Uint8, slices.Repeat([]int64{3, 200, 77, 12}, 64), nil)
		m.Inputs = append(m.Inputs, onnx.NewValue{Name: "encoder_hidden_states", Type: onnx.Float, Dims: []int64{1, -1, 8}})
		m.Initializers = append(m.Initializers, onnx.NewTensor{Name: "wte8", Type: onnx.Uint8, Dims: []int64{32, 8}, Raw: raw}, floats("scale", nil, func(int) float64 { return 0.02 }))
		m.Nodes = slices.Concat([]onnx.NewNode{node("Gather", "rows", "wte8", "ids"), node("DequantizeLinear", "te", "rows", "scale")}, oneHead("", "te", "encoder_hidden_states"), []onnx.NewNode{node("MatMul", "h", "seen", "W")})
	})
	if a := m.Attentions(); len(a) != 1 || !a[0].Crosses {
		t.Errorf("%d attentions, %+v", len(a), a)
	}
}

// TestStepByPlace: a graph of one token and its place is looked at in several calls, with caches or without.
func TestStepByPlace(t *testing.T) {
	for name, place := range map[string]struct {
		of    onnx.NewValue
		nodes []onnx.NewNode
	}{
		"one of one text":  {onnx.NewValue{Name: "position_ids", Type: onnx.Int64, Dims: []int64{1, 1}}, []onnx.NewNode{node("Gather", "row", "wpe", "position_ids")}},
		"a number":         {onnx.NewValue{Name: "step", Type: onnx.Int64, Dims: []int64{1}}, []onnx.NewNode{node("Add", "end", "step", "next"), node("Slice", "row", "wpe", "step", "end", "rows")}},
		"one of each text": {onnx.NewValue{Name: "position_ids", Type: onnx.Int64, Dims: []int64{-1, 1}}, []onnx.NewNode{node("Gather", "row", "wpe", "position_ids")}},
	} {
		m := built(t, func(m *onnx.NewModel) {
			m.Inputs = []onnx.NewValue{{Name: "ids", Type: onnx.Int64, Dims: []int64{place.of.Dims[0], 1}}, place.of}
			m.Outputs[0].Dims = []int64{place.of.Dims[0], 1, 4}
			m.Initializers = append(m.Initializers, noise("W", 4, 4), integers("next", 1), integers("rows", 0))
			m.Nodes = slices.Concat([]onnx.NewNode{node("Gather", "te", "wte", "ids")}, place.nodes, []onnx.NewNode{node("Add", "x", "te", "row")}, oneHead("", "x", "x"), []onnx.NewNode{node("MatMul", "h", "seen", "W")})
		})
		if got := found(m); got != "position table of 16 rows of 4 ×16" {
			t.Errorf("%s: %s", name, got)
		}
		if form := m.Sites()[0].Encoding().Form; form != report.FormTable {
			t.Errorf("%s: %s", name, form)
		}
	}
}

// TestWindowOfOneQuery: the window of a decoder that takes one token is read back, and no comparison of places from the first key on is taken for one.
func TestWindowOfOneQuery(t *testing.T) {
	ofPast := []onnx.NewNode{node("Shape", "shape", "past"), node("Slice", "at", "shape", "two", "three")}
	for _, w := range []schemes.SlidingWindow{{Positions: 3}, {Positions: 3, Sinks: 1}} {
		path := saved(t, func(m *onnx.NewModel) { step(m, -1, 1, -1, ofPast...) })
		m := opened(t, path)
		if _, err := position.AddWindow(m, position.WindowOptions{Positions: w.Positions, Sinks: w.Sinks}); err != nil {
			t.Fatal(err)
		}
		if err := verify.CheckWindow(result(t, m, path), w); err != nil {
			t.Error(err)
		}
	}
	for _, limit := range []int64{1, 2, 3} { // of five keys
		m := built(t, func(m *onnx.NewModel) {
			step(m, -1, 1, -1, ofPast...)
			m.Initializers = append(m.Initializers, integers("limit", limit), floats("nothing", nil, func(int) float64 { return 0 }), floats("hidden", nil, func(int) float64 { return -1e9 }))
			at := slices.IndexFunc(m.Nodes, func(n onnx.NewNode) bool { return n.Op == "Softmax" })
			m.Nodes[at].Inputs[0] = "chosen"
			m.Nodes = slices.Insert(m.Nodes, at, node("Shape", "sizes", "scores"), node("Gather", "keys n", "sizes", "three0"), node("Range", "places", "zero", "keys n", "one"), node("GreaterOrEqual", "later", "places", "limit"),
				node("Where", "mask", "later", "nothing", "hidden"), node("Add", "chosen", "scores", "mask"))
			three := integers("three0", 3)
			three.Dims = nil
			m.Initializers = append(m.Initializers, three)
		})
		if a := m.Attentions(); len(a) != 1 || a[0].Window().Positions != 0 {
			t.Errorf("places from %d on: %+v", limit, a[0].Window())
		}
	}
}

// TestHeadsBehindQueries: scores of queries, heads and keys get no bias, which would count heads as places.
func TestHeadsBehindQueries(t *testing.T) {
	m := built(t, func(m *onnx.NewModel) {
		freeText(m, 8)
		m.Initializers = append(m.Initializers, integers("heads", 1, -1, 2, 4), noise("K", 8, 4), integers("one head", 1, 1, -1, 4), integers("merged", 1, -1, 8))
		m.Nodes = []onnx.NewNode{m.Nodes[3], node("MatMul", "q", "te", "W"), node("Reshape", "query", "q", "heads"), node("MatMul", "k", "te", "K"), withInts(node("Transpose", "turned", "k"), "perm", []int64{0, 2, 1}),
			node("Reshape", "flat", "query", "flattened"), node("MatMul", "flat scores", "flat", "turned"), node("Shape", "length", "te"), node("Slice", "tokens", "length", "first", "second"), withInts(node("Concat", "apart", "first", "tokens", "of heads", "tokens"), "axis", int64(0)),
			node("Reshape", "scores", "flat scores", "apart"), node("Softmax", "weights", "scores"), node("Unsqueeze", "values", "k", "first"), node("MatMul", "seen", "weights", "values"), node("Reshape", "h", "seen", "merged")}
		m.Initializers = append(m.Initializers, integers("flattened", 1, -1, 4), integers("first", 1), integers("second", 2), integers("of heads", 2))
	})
	_, err := position.AddALiBi(m, position.ALiBiOptions{})
	if refusal, ok := err.(*position.Refusal); !ok || !strings.Contains(refusal.Why, "the axis ahead of the keys does not run over queries") {
		t.Errorf("%v, of scores %v", err, m.graph.Eval.Main.Value("scores").Shape)
	}
}

// TestBucketsAcross: T5's buckets are columns of a table that has heads as rows.
func TestBucketsAcross(t *testing.T) {
	buckets := schemes.Buckets{Buckets: 32, Heads: 4, MaxDistance: 128, Bidirectional: true}
	for axis, dims := range [][]int64{{32, 4}, {4, 32}} {
		path := saved(t, func(m *onnx.NewModel) {
			byBias(m, schemes.Buckets{Buckets: 32, Heads: 2, MaxDistance: 128, Bidirectional: true})
			n := m.Inputs[0].Dims[1]
			index := make([]int64, n*n)
			for i := range index {
				index[i] = int64(buckets.Bucket(i%int(n) - i/int(n)))
			}
			picked := integers("buckets", index...)
			picked.Dims = []int64{n, n}
			perm := []int64{2, 0, 1}
			if axis == 1 {
				perm = []int64{0, 1, 2}
			}
			m.Inputs[0].Dims[1] = n
			m.Outputs[0].Dims = []int64{1, 4, n, n}
			m.Initializers = []onnx.NewTensor{noise("wte", 32, 8), noise("table", dims...), picked, integers("heads", 1, n, 4, 2)}
			m.Nodes = []onnx.NewNode{node("Gather", "te", "wte", "ids"), node("Reshape", "apart", "te", "heads"), withInts(node("Transpose", "query", "apart"), "perm", []int64{0, 2, 1, 3}), withInts(node("Transpose", "key", "apart"), "perm", []int64{0, 2, 3, 1}),
				node("MatMul", "scores", "query", "key"), withInts(node("Gather", "rows", "table", "buckets"), "axis", int64(axis)), withInts(node("Transpose", "bias", "rows"), "perm", perm), node("Add", "seen", "scores", "bias"), node("Softmax", "h", "seen")}
		})
		m := opened(t, path)
		site, ok := m.Sites()[0].(interface {
			Bias(head, query, key, length int) (float64, error)
			BucketRow(int) ([]float64, error)
		})
		if got := found(m); !ok || !strings.HasPrefix(got, "t5 bias, 32 buckets to distance 128, bidirectional") {
			t.Errorf("axis %d: %s", axis, got)
			continue
		}
		bias := m.graph.Eval.Main.Value("bias")
		n := bias.Shape[1]
		for head := range 4 {
			for _, pair := range [][2]int{{0, 0}, {3, 9}, {9, 3}} {
				x, err := site.Bias(head, pair[0], pair[1], n)
				if want := bias.Number((head*n+pair[0])*n + pair[1]); err != nil || x != want {
					t.Errorf("axis %d, head %d, %v: %g, want %g (%v)", axis, head, pair, x, want, err)
				}
				if row, err := site.BucketRow(buckets.Bucket(pair[1] - pair[0])); err != nil || row[head] != x {
					t.Errorf("axis %d: row %v, want %g for head %d (%v)", axis, row, x, head, err)
				}
			}
		}
	}
}

// TestChannelsOfTokens: a normalisation whose channels are tokens is made longer with them, as engines want it.
func TestChannelsOfTokens(t *testing.T) {
	path := saved(t, func(m *onnx.NewModel) {
		all := func(name string, x float64) onnx.NewTensor {
			return floats(name, []int64{16}, func(int) float64 { return x })
		}
		m.Inputs[0].Dims[1], m.Outputs[0].Dims[1] = 16, 16
		m.Initializers = append(m.Initializers, all("scale", 1), all("bias", 0), all("mean", 0), all("variance", 1), noise("W", 4, 4))
		m.Nodes = append(m.Nodes[:5:5], node("Add", "x", "te", "pe"), node("BatchNormalization", "normal", "x", "scale", "bias", "mean", "variance"), node("MatMul", "h", "normal", "W"))
	})
	m := opened(t, path)
	if _, err := position.Extend(m, position.ExtendOptions{Length: 40}); err != nil {
		t.Fatal(err)
	}
	after := result(t, m, path)
	for _, name := range []string{"scale", "bias", "mean", "variance"} {
		if c := after.graph.File.Graph.Initializer(name); c.Dims[0] != 40 {
			t.Errorf("%s has %v numbers", name, c.Dims)
		}
	}
}

// TestSequenceOfParts: parts of a tensor that stand in a sequence are followed, so that a graph without an encoding is told to have none.
func TestSequenceOfParts(t *testing.T) {
	for axis, want := range map[int64]string{2: "none", 1: report.SchemeUnknown} {
		m := built(t, func(m *onnx.NewModel) {
			m.Inputs[0].Dims[1], m.Outputs[0].Dims[1] = 6, 6
			m.Initializers = append(m.Initializers, integers("half", 2), noise("W", 2, 4), noise("V", 4, 4))
			m.Initializers[len(m.Initializers)-3].Dims = nil
			m.Nodes = []onnx.NewNode{node("Gather", "te", "wte", "ids"), withInts(node("SplitToSequence", "parts", "te", "half"), "axis", axis), node("SequenceAt", "part", "parts", "zero"), node("MatMul", "h", "part", "W")}
			if axis == 1 { // two tokens of six, which one row then scales by place
				m.Outputs[0].Dims[1] = 2
				m.Initializers = append(m.Initializers, floats("weights", []int64{1, 2, 1}, func(i int) float64 { return float64(i + 1) }))
				m.Nodes[3] = node("MatMul", "product", "part", "V")
				m.Nodes = append(m.Nodes, node("Mul", "scaled", "product", "weights"), node("MatMul", "h", "scaled", "V"))
			}
		})
		if got := found(m); !strings.HasPrefix(got, want) {
			t.Errorf("axis %d: %s, want %s", axis, got, want)
		}
	}
}

// TestReadBack: a mask that is too large to be found again is refused ahead of the change; a bias is found by the first positions, whatever its size.
func TestReadBack(t *testing.T) {
	change := func(m *onnx.NewModel) {
		freeText(m, 8)
		m.Inputs[0].Dims[1], m.Outputs[0].Dims[1] = 4096, 4096
		m.Nodes = slices.Concat(m.Nodes[3:4], oneHead("", "te", "te"), []onnx.NewNode{node("MatMul", "h", "seen", "W")})
	}
	_, err := position.AddWindow(built(t, change), position.WindowOptions{Positions: 64})
	if refusal, ok := err.(*position.Refusal); !ok || !strings.Contains(refusal.Why, "read back") {
		t.Errorf("a window: %v", err)
	}
	m := built(t, change)
	if _, err := position.AddALiBi(m, position.ALiBiOptions{MaxBias: 6}); err != nil {
		t.Fatal(err)
	}
	if got := found(result(t, m, saved(t, change))); !strings.HasPrefix(got, "ALiBi, 1 heads, max bias 6") {
		t.Error(got)
	}
}

// TestCapturedTable: a quantised table that branches take from the graph around them grows with its scale.
func TestCapturedTable(t *testing.T) {
	path := saved(t, func(m *onnx.NewModel) {
		freeText(m, 8)
		numbers := make([]int64, 16*8)
		for i := range numbers {
			numbers[i] = int64(uint32(i*i*2654435761) >> 24)
		}
		raw, _ := onnx.EncodeInts(onnx.Uint8, numbers, nil)
		m.Inputs = append(m.Inputs, onnx.NewValue{Name: "first", Type: onnx.Bool, Dims: []int64{1}})
		m.Initializers = append(m.Initializers, onnx.NewTensor{Name: "rows", Type: onnx.Uint8, Dims: []int64{16, 8}, Raw: raw}, floats("scale", nil, func(int) float64 { return 0.00235050381 }),
			onnx.NewTensor{Name: "zp", Type: onnx.Uint8, Raw: []byte{128}})
		of := func(prefix string) []onnx.NewNode {
			return []onnx.NewNode{node("Gather", prefix+"8", "rows", "p"), node("DequantizeLinear", prefix+"pe", prefix+"8", "scale", "zp"), node("Add", prefix+"h", "te", prefix+"pe")}
		}
		m.Nodes = append(m.Nodes, branches("first", "h0", []int64{1, -1, 8}, of("a"), of("b")))
	})
	m := opened(t, path)
	if _, err := position.Extend(m, position.ExtendOptions{Length: 32}); err != nil {
		t.Fatalf("%s: %v", found(m), err)
	}
	rows := result(t, m, path).graph.File.Graph.Initializer("rows")
	if x, err := rows.Ints(0, rows.Len()); err != nil || rows.Dims[0] != 32 || !slices.Equal(x[:128], x[128:]) {
		t.Errorf("%v, %v", rows.Dims, err)
	}
}

// TestAmplitudeOfOnePlace: cosines and sines of one place are told with an amplitude, and what is of no circle, or chooses, is none.
func TestAmplitudeOfOnePlace(t *testing.T) {
	angles := []float64{2.5, 0.7, 0.2, 0.05}
	turn := func(cos, sin func(a float64) float64) string {
		table := func(of func(float64) float64) func(i int) float64 {
			return func(i int) float64 { return of(float64(i/4) * angles[i%4] / 2.5) }
		}
		m := built(t, func(m *onnx.NewModel) {
			ofPast := []onnx.NewNode{node("Shape", "shape", "past"), node("Slice", "at", "shape", "two", "three")}
			step(m, -1, 1, -1, ofPast...)
			m.Inputs[1].Dims[3] = 4
			m.Initializers = append(m.Initializers, noise("wide", 32, 8), noise("V", 8, 8), floats("cos", []int64{16, 4}, table(cos)), floats("sin", []int64{16, 4}, table(sin)), integers("two heads", -1, 1, 2, 4), integers("c0", 0), integers("c2", 2), integers("c4", 4), integers("axis3", 3), integers("whole", -1, 1, 8))
			m.Outputs[0].Dims[2] = 8
			m.Nodes = append(ofPast, node("Gather", "te", "wide", "ids"), node("MatMul", "q", "te", "V"), node("Reshape", "apart", "q", "two heads"), withInts(node("Transpose", "plain", "apart"), "perm", []int64{0, 2, 1, 3}),
				node("Gather", "c", "cos", "at"), node("Gather", "s", "sin", "at"), node("Slice", "low", "plain", "c0", "c2", "axis3"), node("Slice", "high", "plain", "c2", "c4", "axis3"), node("Neg", "negative", "high"), withInts(node("Concat", "moved", "negative", "low"), "axis", int64(3)),
				node("Mul", "by cos", "plain", "c"), node("Mul", "by sin", "moved", "s"), node("Add", "query", "by cos", "by sin"), withInts(node("Concat", "keys", "past", "query"), "axis", int64(2)),
				withInts(node("Transpose", "turned", "keys"), "perm", []int64{0, 1, 3, 2}), node("MatMul", "scores", "query", "turned"), node("Softmax", "weights", "scores"),
				node("MatMul", "seen", "weights", "keys"), withInts(node("Transpose", "back", "seen"), "perm", []int64{0, 2, 1, 3}), node("Reshape", "h", "back", "whole"))
		})
		return found(m)
	}
	if got := turn(func(a float64) float64 { return 1.25 * math.Cos(a) }, func(a float64) float64 { return 1.25 * math.Sin(a) }); !strings.HasPrefix(got, "RoPE") {
		t.Errorf("an amplitude of 1.25: %s", got)
	}
	if got := turn(func(a float64) float64 { return math.Mod(math.Round(a), 2) }, func(a float64) float64 { return 1 - math.Mod(math.Round(a), 2) }); strings.HasPrefix(got, "RoPE") {
		t.Errorf("what chooses: %s", got)
	}
}

// TestOtherwise: the calls of a switch are told by an input of one truth value alone.
func TestOtherwise(t *testing.T) {
	for _, c := range []struct {
		of   onnx.NewValue
		want bool
	}{{onnx.NewValue{Name: "use_cache_branch", Type: onnx.Bool, Dims: []int64{1}}, true}, {onnx.NewValue{Name: "attention_mask", Type: onnx.Bool, Dims: []int64{1, -1}}, false}, {onnx.NewValue{Name: "one", Type: onnx.Int64, Dims: []int64{1}}, false}} {
		m := built(t, func(m *onnx.NewModel) { free(m); m.Inputs = append(m.Inputs, c.of) })
		if s, _, ok := m.graph.Otherwise(m.graph.Sizes); ok != c.want || ok && probe.Inputs(m.graph.File, s)[c.of.Name].Number(0) != 0 {
			t.Errorf("%s: %v", c.of.Name, ok)
		}
	}
}

// TestHeadBehindOtherReaders: the head that a rotation is part of is found behind readers that lead nowhere, as those that ask for its type.
func TestHeadBehindOtherReaders(t *testing.T) {
	for _, cast := range []bool{false, true} {
		m := built(t, func(m *onnx.NewModel) {
			freeText(m, 16)
			m.Opset = 23
			wave := func(of func(float64) float64) func(i int) float64 {
				return func(i int) float64 { return of(float64(i/4) * math.Pow(10000, -float64(i%2)/2)) }
			}
			m.Initializers = append(m.Initializers, floats("cos", []int64{32, 4}, wave(math.Cos)), floats("sin", []int64{32, 4}, wave(math.Sin)), integers("heads", 1, -1, 2, 8), integers("c0", 0), integers("c2", 2), integers("c4", 4), integers("c8", 8), integers("axis3", 3),
				floats("scale", nil, func(int) float64 { return 0.5 }), integers("merged", 1, -1, 16))
			m.Nodes = []onnx.NewNode{m.Nodes[0], m.Nodes[1], m.Nodes[2], node("Gather", "te", "wte", "ids"), node("MatMul", "q", "te", "W"), node("Reshape", "apart", "q", "heads"), withInts(node("Transpose", "whole", "apart"), "perm", []int64{0, 2, 1, 3}),
				node("Slice", "part", "whole", "c0", "c4", "axis3"), node("Slice", "rest", "whole", "c4", "c8", "axis3"), node("Gather", "c", "cos", "p"), node("Gather", "s", "sin", "p"),
				node("Slice", "low", "part", "c0", "c2", "axis3"), node("Slice", "high", "part", "c2", "c4", "axis3"), node("Neg", "negative", "high"), withInts(node("Concat", "moved", "negative", "low"), "axis", int64(3)),
				node("Mul", "by cos", "part", "c"), node("Mul", "by sin", "moved", "s"), node("Add", "turned", "by cos", "by sin"), withInts(node("Concat", "query", "turned", "rest"), "axis", int64(3))}
			factor := "scale"
			if cast {
				m.Nodes = append(m.Nodes, node("CastLike", "like", "scale", "query"), node("Sqrt", "root", "like"))
				factor = "root"
			}
			m.Nodes = append(m.Nodes, node("Mul", "scaled", "query", factor), withInts(node("Transpose", "key", "query"), "perm", []int64{0, 1, 3, 2}), node("MatMul", "scores", "scaled", "key"), node("Softmax", "weights", "scores"), node("MatMul", "seen", "weights", "whole"),
				withInts(node("Transpose", "back", "seen"), "perm", []int64{0, 2, 1, 3}), node("Reshape", "h", "back", "merged"))
		})
		r, ok := m.Sites()[0].Encoding().Scheme.(schemes.Rotary)
		if !ok || r.Dim != 4 || r.HeadDim != 8 {
			t.Errorf("cast %v: %s, head %d", cast, found(m), r.HeadDim)
		}
	}
}

// TestBucketsThatEnd: buckets that stand in a matrix, of which the graph takes what a length needs, end with it.
func TestBucketsThatEnd(t *testing.T) {
	const n = 24
	buckets := schemes.Buckets{Buckets: 8, Heads: 1, MaxDistance: 16, Bidirectional: true}
	m := built(t, func(m *onnx.NewModel) {
		freeText(m, 8)
		index := make([]int64, n*n)
		for i := range index {
			index[i] = int64(buckets.Bucket(i%n - i/n))
		}
		matrix := integers("matrix", index...)
		matrix.Dims = []int64{n, n}
		m.Initializers = append(m.Initializers, matrix, noise("table", 8, 1), integers("n shape", 1), integers("begin", 0, 0), integers("both", 0, 1))
		m.Nodes = slices.Concat(m.Nodes[:2], m.Nodes[3:4], oneHead("", "te", "te")[:4], []onnx.NewNode{node("Reshape", "n1", "n", "n shape"), withInts(node("Concat", "end", "n1", "n1"), "axis", int64(0)), node("Slice", "picked", "matrix", "begin", "end", "both"),
			node("Gather", "rows", "table", "picked"), withInts(node("Transpose", "bias", "rows"), "perm", []int64{2, 0, 1}), node("Add", "biased", "scores", "bias"), node("Softmax", "weights", "biased"), node("MatMul", "h", "weights", "te")})
	})
	e := m.Sites()[0].Encoding()
	if got := found(m); !strings.HasPrefix(got, "t5 bias, 8 buckets to distance 16, bidirectional") || e.Capacity != n || e.Form != report.FormTable || e.Beyond != report.BeyondError {
		t.Errorf("%s, form %s, beyond %s", got, e.Form, e.Beyond)
	}
}

// TestCacheOfOneSize: keys of a cache of one size, into which a call writes where it is told to, have no place that tells a query's own; behind
// such a cache they have.
func TestCacheOfOneSize(t *testing.T) {
	for _, into := range []bool{true, false} {
		m := built(t, func(m *onnx.NewModel) {
			step(m, -1, 1, 6, node("Identity", "at", "place"))
			m.Inputs = append(m.Inputs, onnx.NewValue{Name: "place", Type: onnx.Int64, Dims: []int64{1}}, onnx.NewValue{Name: "here", Type: onnx.Bool, Dims: []int64{1, 1, 6, 1}})
			if into {
				at := slices.IndexFunc(m.Nodes, func(n onnx.NewNode) bool { return n.Op == "Concat" })
				m.Nodes[at] = node("Where", "keys", "here", "query", "past")
			}
		})
		_, err := position.AddWindow(m, position.WindowOptions{Positions: 2})
		if refusal, ok := err.(*position.Refusal); ok != into || ok && !strings.Contains(refusal.Why, "as many keys in every call") {
			t.Errorf("into it %v: %v", into, err)
		}
	}
}

// TestHeadsAsManyAsKeys: a cache with as many heads as the call looks at keys is of any size where its tokens are.
func TestHeadsAsManyAsKeys(t *testing.T) {
	m := built(t, func(m *onnx.NewModel) {
		step(m, -1, 1, -1, node("Shape", "shape", "past"), node("Slice", "at", "shape", "two", "three"))
		m.Inputs[1].Dims = []int64{-1, 5, -1, 2}
		m.Outputs[0].Dims[2] = 10
		for i, x := range m.Initializers {
			switch x.Name {
			case "wte":
				m.Initializers[i] = noise("wte", 32, 10)
			case "wpe":
				m.Initializers[i] = noise("wpe", 16, 10)
			case "W":
				m.Initializers[i] = noise("W", 10, 10)
			case "heads":
				m.Initializers[i] = integers("heads", -1, 1, 5, 2)
			case "merged":
				m.Initializers[i] = integers("merged", -1, 1, 10)
			}
		}
	})
	if _, err := position.AddALiBi(m, position.ALiBiOptions{}); err != nil {
		t.Error(err)
	}
}

// nodesOf counts the nodes of an operator.
func nodesOf(m *Model, op string) (n int) {
	for _, x := range m.graph.File.Graph.Nodes {
		if x.Op == op {
			n++
		}
	}
	return n
}

// TestOneSequence: what queries alone are scaled by, and what is asked for its size alone, is no other sequence; and sequences that a graph takes in
// equal lengths alone share what is added.
func TestOneSequence(t *testing.T) {
	for name, side := range map[string]struct {
		of    onnx.NewValue
		nodes []onnx.NewNode
	}{
		"a temperature": {onnx.NewValue{Name: "temperature", Type: onnx.Float, Dims: []int64{1}}, []onnx.NewNode{node("Mul", "x", "te", "temperature")}},
		"a size":        {onnx.NewValue{Name: "memory", Type: onnx.Float, Dims: []int64{1, -1, 8}}, []onnx.NewNode{node("Size", "many", "memory"), withInts(node("Cast", "number", "many"), "to", int64(onnx.Float)), node("Mul", "x", "te", "number")}},
	} {
		m := built(t, func(m *onnx.NewModel) {
			freeText(m, 8)
			m.Inputs = append(m.Inputs, side.of)
			m.Nodes = slices.Concat(m.Nodes[3:4], side.nodes, oneHead("", "x", "te"), []onnx.NewNode{node("MatMul", "h", "seen", "W")})
		})
		if a := m.Attentions(); len(a) != 1 || a[0].Crosses {
			t.Errorf("%s: %d attentions, %+v", name, len(a), a[0].Crosses)
		}
	}
	path := saved(t, func(m *onnx.NewModel) {
		freeText(m, 8)
		m.Inputs = append(m.Inputs, onnx.NewValue{Name: "attention_mask", Type: onnx.Int64, Dims: []int64{1, -1}})
		m.Initializers = append(m.Initializers, floats("large", nil, func(int) float64 { return 1e9 }), floats("all", nil, func(int) float64 { return 1 }), integers("second", 1))
		nodes := slices.Concat(m.Nodes[3:4], []onnx.NewNode{withInts(node("Cast", "shown", "attention_mask"), "to", int64(onnx.Float)), node("Sub", "hidden", "shown", "all"), node("Mul", "mask row", "hidden", "large"), node("Unsqueeze", "mask", "mask row", "second")})
		for i, state := range []string{"te", "aseen"} {
			layer := oneHead(string(rune('a'+i)), state, state)
			layer[4].Inputs[0] = layer[4].Outputs[0] + " masked"
			nodes = slices.Concat(nodes, layer[:4], []onnx.NewNode{node("Add", layer[4].Inputs[0], layer[3].Outputs[0], "mask")}, layer[4:])
		}
		m.Nodes = append(nodes, node("MatMul", "h", "bseen", "W"))
	})
	m := opened(t, path)
	if _, err := position.AddALiBi(m, position.ALiBiOptions{}); err != nil {
		t.Fatal(err)
	}
	if ranges := nodesOf(result(t, m, path), "Range"); ranges != 2 { // of keys and of queries
		t.Errorf("%d Range nodes for two layers", ranges)
	}
}

// TestTextsAsLong: of two texts that a graph takes in equal lengths alone it is not known that they are one, so that each has what is added to itself.
func TestTextsAsLong(t *testing.T) {
	path := saved(t, func(m *onnx.NewModel) {
		freeText(m, 8)
		m.Inputs = append(m.Inputs, onnx.NewValue{Name: "decoder_ids", Type: onnx.Int64, Dims: []int64{1, -1}})
		m.Nodes = slices.Concat(m.Nodes[3:4], []onnx.NewNode{node("Gather", "other", "wte", "decoder_ids")}, oneHead("e", "te", "te"), oneHead("d", "other", "other"), []onnx.NewNode{node("Add", "both", "eseen", "dseen"), node("MatMul", "h", "both", "W")})
	})
	m := opened(t, path)
	if _, err := position.AddALiBi(m, position.ALiBiOptions{}); err != nil {
		t.Fatal(err)
	}
	if ranges := nodesOf(result(t, m, path), "Range"); ranges != 4 { // of keys and of queries, each
		t.Errorf("%d Range nodes for two texts", ranges)
	}
}

// TestFactorBehindTable: sines in a table that the graph multiplies are the same when they are computed: the amplitude that is read then is the factor.
func TestFactorBehindTable(t *testing.T) {
	path := saved(t, func(m *onnx.NewModel) {
		freeText(m, 8)
		m.Initializers = append(m.Initializers, floats("waves", []int64{24, 8}, func(i int) float64 {
			a := float64(i/8) * math.Pow(10000, -float64(i%8/2)/4)
			if i%2 == 0 {
				return math.Sin(a)
			}
			return math.Cos(a)
		}), floats("alpha", nil, func(int) float64 { return 1.7 }))
		m.Nodes = slices.Concat(m.Nodes[:4], []onnx.NewNode{node("Gather", "rows", "waves", "p"), node("Mul", "pe", "rows", "alpha"), node("Add", "h0", "te", "pe"), m.Nodes[4]})
	})
	m := opened(t, path)
	if _, err := position.Unbake(m); err != nil {
		t.Fatal(err)
	}
	after := result(t, m, path)
	if !strings.Contains(found(after), "amplitude 1.7") {
		t.Error(found(after))
	}
	for _, k := range verify.Compare(opened(t, path), after, verify.Options{Expect: report.ExpectSameOnPrefix}).Checks {
		if k.Name == report.CheckTable && k.Verdict != report.CheckPass {
			t.Error(k.Why)
		}
	}
}
