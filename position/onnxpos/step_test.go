package onnxpos

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
)

// step makes the model of built one that takes so many tokens, and keys and values of as many as past says (−1: any): position are the
// nodes that make indices of the rows that are added, from the shape of the past or an input.
func step(m *onnx.NewModel, batch, tokens, past int64, position ...onnx.NewNode) {
	m.Inputs = []onnx.NewValue{{Name: "ids", Type: onnx.Int64, Dims: []int64{batch, tokens}}, {Name: "past", Type: onnx.Float, Dims: []int64{batch, 2, past, 2}}}
	m.Outputs = []onnx.NewValue{{Name: "h", Type: onnx.Float, Dims: []int64{batch, tokens, 4}}}
	m.Initializers = append(m.Initializers, integers("two", 2), integers("three", 3), integers("heads", -1, tokens, 2, 2), integers("merged", -1, tokens, 4), integers("counted", 0, 1, 2), noise("W", 4, 4))
	m.Nodes = append(position, node("Gather", "te", "wte", "ids"), node("Gather", "row", "wpe", "at"), node("Add", "x", "te", "row"), node("MatMul", "q", "x", "W"),
		node("Reshape", "apart", "q", "heads"), withInts(node("Transpose", "query", "apart"), "perm", []int64{0, 2, 1, 3}), withInts(node("Concat", "keys", "past", "query"), "axis", int64(2)),
		withInts(node("Transpose", "turned", "keys"), "perm", []int64{0, 1, 3, 2}), node("MatMul", "scores", "query", "turned"), node("Softmax", "weights", "scores"),
		node("MatMul", "seen", "weights", "keys"), withInts(node("Transpose", "back", "seen"), "perm", []int64{0, 2, 1, 3}), node("Reshape", "h", "back", "merged"))
}

// TestStep: decoders that take one token at a time differ from call to call, and those that take several end where their tables do.
func TestStep(t *testing.T) {
	ofPast := []onnx.NewNode{node("Shape", "shape", "past"), node("Slice", "at", "shape", "two", "three")}
	const table = "position table of 16 rows of 4 ×16"
	for _, c := range []struct {
		name   string
		change func(m *onnx.NewModel)
		want   string
	}{
		{"positions by the shape of the past", func(m *onnx.NewModel) { step(m, -1, 1, -1, ofPast...) }, table},
		{"in a batch of one", func(m *onnx.NewModel) { step(m, 1, 1, -1, ofPast...) }, table},
		{"positions as an input", func(m *onnx.NewModel) {
			step(m, -1, 1, -1, node("Identity", "at", "position_ids"))
			m.Inputs = append(m.Inputs, onnx.NewValue{Name: "position_ids", Type: onnx.Int64, Dims: []int64{-1, 1}})
		}, table},
		{"three tokens in each call", func(m *onnx.NewModel) {
			step(m, 1, 3, -1, node("Shape", "shape", "past"), node("Slice", "before", "shape", "two", "three"), node("Add", "at", "before", "counted"))
		}, table},
		{"three tokens in each call, what is before them as an input", func(m *onnx.NewModel) {
			step(m, 1, 3, -1, node("Add", "at", "past_length", "counted"))
			m.Inputs = append(m.Inputs, onnx.NewValue{Name: "past_length", Type: onnx.Int64, Dims: []int64{1}})
		}, table},
		{"positions counted over tokens that are none of padding", func(m *onnx.NewModel) {
			cast := withInts(node("Cast", "ones", "real"), "to", int64(onnx.Int64))
			step(m, -1, 1, -1, node("Equal", "padding", "ids", "pad"), node("Not", "real", "padding"), cast, node("CumSum", "count", "ones", "one"), node("Shape", "shape", "past"), node("Slice", "before", "shape", "two", "three"),
				node("Add", "reached", "count", "before"), node("Mul", "numbered", "reached", "ones"), node("Sub", "at", "numbered", "one"))
			m.Initializers = append(m.Initializers, integers("pad", 1))
		}, table},
		{"no past but one", func(m *onnx.NewModel) { step(m, -1, 1, 3, ofPast...) }, report.SchemeUnknown},
		{"a row for every call", func(m *onnx.NewModel) { step(m, -1, 1, -1, node("Identity", "at", "two")) }, "none"},
	} {
		m := built(t, c.change)
		if got := found(m); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		if c.want != table {
			continue
		}
		if e := m.Sites()[0].Encoding(); e.Beyond != report.BeyondError {
			t.Errorf("%s: beyond it %s", c.name, e.Beyond)
		}
		tokens := int(m.graph.File.Graph.Inputs[0].Dims[1].Value)
		if a := m.Attentions(); len(a) != 1 || a[0].Run == nil {
			t.Errorf("%s: attentions %v", c.name, a)
		} else if run, err := a[0].Run(12, nil); tokens == 1 && (err != nil || run.Queries != 1 || run.Past != 11) {
			t.Errorf("%s: run with %+v, %v", c.name, run, err)
		}
		if _, err := position.Extend(m, position.ExtendOptions{Length: 24}); err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		after := result(t, m, saved(t, c.change))
		if got := found(after); got != "position table of 24 rows of 4 ×24" || after.graph.File.Graph.Inputs[0].Dims[1].Value != m.graph.File.Graph.Inputs[0].Dims[1].Value {
			t.Errorf("%s: extended to %s, %v", c.name, got, after.graph.File.Graph.Inputs[0].Dims)
		}
	}
}

// TestBakedStep: a table in the place of what a decoder of one token computes has the rows that were asked for.
func TestBakedStep(t *testing.T) {
	change := func(m *onnx.NewModel) {
		step(m, -1, 1, -1, node("Shape", "shape", "past"), node("Slice", "at", "shape", "two", "three"))
		m.Initializers = append(m.Initializers, floats("frequencies", []int64{2}, func(k int) float64 { return []float64{1, 0.01}[k] }))
		i := slices.IndexFunc(m.Nodes, func(n onnx.NewNode) bool { return n.Outputs[0] == "row" })
		m.Nodes = slices.Concat(m.Nodes[:i], []onnx.NewNode{withInts(node("Cast", "number", "at"), "to", int64(onnx.Float)), node("Unsqueeze", "column", "number", "one"), node("Mul", "angle", "column", "frequencies"),
			node("Sin", "sin", "angle"), node("Cos", "cos", "angle"), withInts(node("Concat", "row", "sin", "cos"), "axis", int64(-1))}, m.Nodes[i+1:])
		m.Initializers[3] = integers("one", 1)
	}
	m := built(t, change)
	if _, err := position.Bake(m, position.BakeOptions{Length: 24}); err != nil {
		t.Fatal(err)
	}
	if e := result(t, m, saved(t, change)).Sites()[0].Encoding(); e.Capacity != 24 {
		t.Errorf("%+v", e)
	}
}

// TestStaticCaches: keys and values of a fixed number of tokens, which a call writes its own among, become longer with the table, whatever
// their names; masks over them do, too.
func TestStaticCaches(t *testing.T) {
	for _, name := range []string{"past", "ck"} {
		staticCache(t, name)
	}
}

func staticCache(t *testing.T, cache string) {
	change := func(m *onnx.NewModel) {
		step(m, 1, 1, 16, node("Identity", "at", "cache_position"))
		m.Inputs = append(m.Inputs, onnx.NewValue{Name: "cache_position", Type: onnx.Int64, Dims: []int64{1}}, onnx.NewValue{Name: "attention_mask", Type: onnx.Float, Dims: []int64{1, 16}})
		m.Outputs = append(m.Outputs, onnx.NewValue{Name: "keys", Type: onnx.Float, Dims: []int64{1, 2, 16, 2}})
		m.Initializers = append(m.Initializers, integers("single", 1, 1, 1, 1), integers("all", 1, 2, 1, 2), integers("lead", 1, 2))
		for i, n := range m.Nodes {
			switch n.Outputs[0] {
			case "keys":
				m.Inputs[1].Name = cache
				m.Nodes[i] = withInts(node("ScatterElements", "keys", cache, "index", "query"), "axis", int64(2))
			case "weights":
				m.Nodes[i].Inputs[0] = "seen scores"
			}
		}
		m.Nodes = append([]onnx.NewNode{node("Reshape", "single index", "cache_position", "single"), node("Expand", "index", "single index", "all"), node("Unsqueeze", "mask", "attention_mask", "lead")}, m.Nodes...)
		at := slices.IndexFunc(m.Nodes, func(n onnx.NewNode) bool { return n.Outputs[0] == "weights" })
		m.Nodes = slices.Insert(m.Nodes, at, node("Add", "seen scores", "scores", "mask"))
	}
	t.Helper()
	m := built(t, change)
	if got := found(m); got != "position table of 16 rows of 4 ×16" {
		t.Fatal(got)
	}
	if _, err := position.Extend(m, position.ExtendOptions{Length: 24}); err != nil {
		t.Fatal(err)
	}
	after := result(t, m, saved(t, change))
	if got := found(after); got != "position table of 24 rows of 4 ×24" {
		t.Error(got)
	}
	g := after.graph.File.Graph
	for name, dims := range map[string][]onnx.Dim{"past": g.Inputs[1].Dims, "attention_mask": g.Inputs[3].Dims, "keys": g.Outputs[1].Dims} {
		if !slices.ContainsFunc(dims, func(d onnx.Dim) bool { return d.Value == 24 }) || slices.ContainsFunc(dims, func(d onnx.Dim) bool { return d.Value == 16 }) {
			t.Errorf("%s: %v", name, dims)
		}
	}
	if g.Inputs[0].Dims[1].Value != 1 {
		t.Errorf("tokens: %v", g.Inputs[0].Dims)
	}
}

// TestStepAcross: keys and values of an encoder are of as many places as the encoder has, of which a call tells nothing: what they meet is no encoding.
func TestStepAcross(t *testing.T) {
	for name, places := range map[string]string{"past_given": "encoder_sequence", "past_other": "sequence"} {
		m := built(t, func(m *onnx.NewModel) {
			step(m, -1, 1, -1, node("Identity", "at", "two"))
			for _, kind := range []string{"", "_value"} {
				m.Inputs = append(m.Inputs, onnx.NewValue{Name: name + kind, Type: onnx.Float, Dims: []int64{-1, 2, -1, 2}, Params: []string{"batch", "", places, ""}})
			}
			m.Initializers = append(m.Initializers, noise("across", 4, 4))
			m.Nodes[len(m.Nodes)-1].Outputs[0] = "h0"
			m.Nodes = append(m.Nodes, node("MatMul", "cq", "h0", "across"), node("Reshape", "capart", "cq", "heads"), withInts(node("Transpose", "cquery", "capart"), "perm", []int64{0, 2, 1, 3}),
				withInts(node("Transpose", "ckeys", name), "perm", []int64{0, 1, 3, 2}), node("MatMul", "cscores", "cquery", "ckeys"), node("Softmax", "cweights", "cscores"), node("MatMul", "cseen", "cweights", name+"_value"),
				withInts(node("Transpose", "cback", "cseen"), "perm", []int64{0, 2, 1, 3}), node("Reshape", "cmerged", "cback", "merged"), node("MatMul", "h", "cmerged", "W"))
		})
		if got := found(m); got != report.SchemeNone {
			t.Errorf("%s: %s, %v", name, got, m.Sites()[0].Encoding().Evidence)
		}
	}
}

// TestStateBesideKeys: beside keys of any number of tokens, a state that has as many columns as the table has rows holds no tokens.
func TestStateBesideKeys(t *testing.T) {
	change := func(m *onnx.NewModel) {
		step(m, 1, 1, -1, node("Identity", "at", "cache_position"))
		m.Inputs = append(m.Inputs, onnx.NewValue{Name: "cache_position", Type: onnx.Int64, Dims: []int64{1}}, onnx.NewValue{Name: "past.conv", Type: onnx.Float, Dims: []int64{1, 16, 2}})
		m.Outputs = append(m.Outputs, onnx.NewValue{Name: "present.conv", Type: onnx.Float, Dims: []int64{1, 16, 2}})
		m.Nodes = append(m.Nodes, node("Neg", "present.conv", "past.conv"))
	}
	m := built(t, change)
	if got := found(m); got != "position table of 16 rows of 4 ×16" {
		t.Fatal(got)
	}
	if _, err := position.Extend(m, position.ExtendOptions{Length: 24}); err != nil {
		t.Fatal(err)
	}
	g := result(t, m, saved(t, change)).graph.File.Graph
	if dims := g.Inputs[len(g.Inputs)-1].Dims; dims[1].Value != 16 {
		t.Errorf("the state's sizes are %v", dims)
	}
}

// TestCacheOfLayers: keys of all layers in one cache of fixed size, out of which each is cut by all of its sizes, and into which a call writes at a place that is
// compared with the first one before.
func TestCacheOfLayers(t *testing.T) {
	m := built(t, func(m *onnx.NewModel) {
		step(m, 1, 1, -1, node("Cast", "place", "cache_position"), node("Less", "negative", "place", "nothing"), node("Where", "at", "negative", "zeroth", "cache_position"))
		m.Nodes[0] = withInts(m.Nodes[0], "to", int64(onnx.Float))
		m.Inputs[1].Dims = []int64{1, 1, 16, 2, 2}
		m.Inputs = append(m.Inputs, onnx.NewValue{Name: "cache_position", Type: onnx.Int64, Dims: []int64{1}})
		m.Initializers = append(m.Initializers, floats("nothing", nil, func(int) float64 { return 0 }), integers("zeroth", 0), integers("starts", 0, 0, 0, 0, 0), integers("ends", 1, 1, 16, 2, 2), integers("axes", 0, 1, 2, 3, 4), integers("lead", 0),
			integers("pair", 1, 1, 2), integers("layer shape", 1, 16, 2, 2), integers("other ends", 1, 1, 16, 2, 2))
		m.Outputs = append(m.Outputs, onnx.NewValue{Name: "kept", Type: onnx.Float, Dims: []int64{1, 1, 16, 2, 2}})
		m.Nodes = append(m.Nodes, node("Slice", "kept", "past", "starts", "other ends", "axes"))
		i := slices.IndexFunc(m.Nodes, func(n onnx.NewNode) bool { return n.Outputs[0] == "keys" })
		m.Nodes = slices.Replace(m.Nodes, i, i+1, node("Slice", "cut", "past", "starts", "ends", "axes"), node("Reshape", "layer", "cut", "layer shape"), withInts(node("Concat", "where", "zeroth", "at"), "axis", int64(0)), node("Reshape", "index", "where", "pair"),
			node("ScatterND", "written", "layer", "index", "apart"), withInts(node("Transpose", "keys", "written"), "perm", []int64{0, 2, 1, 3}))
	})
	if got := found(m); got != "position table of 16 rows of 4 ×16" {
		t.Error(got, m.Sites()[0].Encoding().Evidence)
	}
	if _, err := position.Extend(m, position.ExtendOptions{Length: 24}); err == nil || !strings.Contains(err.Error(), "come in with") {
		t.Errorf("keys that come out with 16 places: %v", err)
	}
}

// TestWindowOfKeys: a decoder of one token behind keys and values of a fixed number, with a mask over both, sees as many and itself; for a longer one
// they become as many more.
func TestWindowOfKeys(t *testing.T) {
	path := filepath.Join(own, "cases", "rope-step-cache.onnx")
	m := opened(t, path)
	if _, err := position.Extend(m, position.ExtendOptions{Length: 64}); err != nil {
		t.Fatal(err)
	}
	after := result(t, m, path)
	var got []int64
	for _, in := range after.graph.File.Graph.Inputs {
		if len(in.Dims) == 4 {
			got = append(got, in.Dims[2].Value, in.Dims[3].Value)
		}
	}
	if want := []int64{1, 64, 63, 8, 63, 8}; !slices.Equal(got, want) || *position.Length(after, after.Describe()).Capacity != 64 {
		t.Errorf("mask, keys, values: %v, want %v; %+v", got, want, position.Length(after, after.Describe()))
	}
}

// TestRolledKeys: where keys go out as many as they are to come in, they do so behind a change of length too, or it is refused.
func TestRolledKeys(t *testing.T) {
	_, err := position.Extend(opened(t, filepath.Join(own, "cases", "rope-step-rolled.onnx")), position.ExtendOptions{Length: 64})
	if err == nil || !strings.Contains(err.Error(), "come in with") {
		t.Errorf("keys that go out cut to 19: %v", err)
	}
}

// TestWindowsOfAWindow: of keys of a fixed number the last is the query's own, and a narrower window is told by places; which key is of the first position
// is not.
func TestWindowsOfAWindow(t *testing.T) {
	path := filepath.Join(own, "cases", "rope-step-window.onnx")
	m := opened(t, path)
	if _, err := position.AddWindow(m, position.WindowOptions{Positions: 8}); err != nil {
		t.Fatal(err)
	}
	if got := result(t, m, path).Attentions()[0].Window().Positions; got != 8 {
		t.Errorf("a window of %d positions, want 8", got)
	}
	if _, err := position.AddWindow(opened(t, path), position.WindowOptions{Positions: 8, Sinks: 1}); err == nil || !strings.Contains(err.Error(), "first position") {
		t.Errorf("the first position: %v", err)
	}
}

// TestCacheWithoutABatch: the features of keys of earlier tokens are those of the heads, also where the first axis runs over tokens.
func TestCacheWithoutABatch(t *testing.T) {
	m := built(t, func(m *onnx.NewModel) {
		m.Inputs = []onnx.NewValue{{Name: "ids", Type: onnx.Int64, Dims: []int64{-1}}, {Name: "kept", Type: onnx.Float, Dims: []int64{-1, 4}, Params: []string{"before", ""}}}
		m.Outputs = []onnx.NewValue{{Name: "h", Type: onnx.Float, Dims: []int64{-1, 4}}, {Name: "keys", Type: onnx.Float, Dims: []int64{-1, 4}}}
		m.Initializers = append(m.Initializers, noise("W", 4, 4), integers("heads", -1, 2, 2), integers("merged", -1, 4))
		m.Nodes = []onnx.NewNode{node("Shape", "shape", "ids"), node("Gather", "n", "shape", "zero"), node("Shape", "kept shape", "kept"), node("Gather", "before", "kept shape", "zero"), node("Add", "end", "before", "n"),
			node("Range", "p", "before", "end", "one"), node("Gather", "pe", "wpe", "p"), node("Gather", "te", "wte", "ids"), node("Add", "x", "te", "pe"), node("MatMul", "q", "x", "W"), withInts(node("Concat", "keys", "kept", "q"), "axis", int64(0)),
			node("Reshape", "apart", "q", "heads"), withInts(node("Transpose", "query", "apart"), "perm", []int64{1, 0, 2}), node("Reshape", "keys apart", "keys", "heads"), withInts(node("Transpose", "key", "keys apart"), "perm", []int64{1, 2, 0}),
			withInts(node("Transpose", "value", "keys apart"), "perm", []int64{1, 0, 2}), node("MatMul", "scores", "query", "key"), node("Softmax", "weights", "scores"), node("MatMul", "seen", "weights", "value"),
			withInts(node("Transpose", "back", "seen"), "perm", []int64{1, 0, 2}), node("Reshape", "h", "back", "merged")}
	})
	if len(m.Findings()) > 0 {
		t.Error(found(m), m.Findings())
	}
}
