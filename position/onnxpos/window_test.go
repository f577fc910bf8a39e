package onnxpos

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/onnxpos/rotary"
	"github.com/modelpatch/modelpatch/schemes"
)

// masks make the mask of an attention out of "row" and "column", the positions
// of queries and keys, as nodes named after the layer.
var masks = map[string]func(layer string) []onnx.NewNode{
	"none": nil,
	"causal": func(l string) []onnx.NewNode {
		return []onnx.NewNode{node("LessOrEqual", l+"allowed", "column", "row")}
	},
	"causal, up to the next": func(l string) []onnx.NewNode {
		return []onnx.NewNode{node("Add", l+"next", "row", "one"), node("Less", l+"allowed", "column", l+"next")}
	},
	"sliding": func(l string) []onnx.NewNode { // transformers' sliding_window_overlay
		return []onnx.NewNode{node("Sub", l+"first", "row", "wide"), node("Greater", l+"near", "column", l+"first"), node("LessOrEqual", l+"past", "column", "row"), node("And", l+"allowed", l+"near", l+"past")}
	},
	"both sides": func(l string) []onnx.NewNode { // ModernBERT's bidirectional window
		return []onnx.NewNode{node("Sub", l+"apart", "row", "column"), node("Abs", l+"distance", l+"apart"), node("LessOrEqual", l+"allowed", l+"distance", "wide")}
	},
	"distance": func(l string) []onnx.NewNode {
		return []onnx.NewNode{node("Sub", l+"apart", "row", "column"), node("GreaterOrEqual", l+"far", l+"apart", "wide"), node("Not", l+"allowed", l+"far")}
	},
	"triangle": func(l string) []onnx.NewNode { // torch.tril(ones, diagonal=-window)
		return []onnx.NewNode{node("Equal", l+"ones", "any", "any"), withInts(node("Cast", l+"numbers", l+"ones"), "to", int64(onnx.Float)),
			withInts(node("Trilu", l+"lower", l+"numbers", "below"), "upper", int64(0)), withInts(node("Cast", l+"far", l+"lower"), "to", int64(onnx.Bool)), node("Not", l+"allowed", l+"far")}
	},
	"upper triangle": func(l string) []onnx.NewNode { // torch.triu(ones, diagonal=-window)
		return []onnx.NewNode{node("Equal", l+"ones", "any", "any"), withInts(node("Cast", l+"numbers", l+"ones"), "to", int64(onnx.Float)),
			node("Trilu", l+"upper", l+"numbers", "below"), withInts(node("Cast", l+"allowed", l+"upper"), "to", int64(onnx.Bool))}
	},
	"short": func(l string) []onnx.NewNode {
		return []onnx.NewNode{node("Sub", l+"first", "row", "three"), node("Greater", l+"allowed", "column", l+"first")}
	},
}

// first are masks that show the first keys beside a window, all of them with three.
var first = map[string]func(layer string) []onnx.NewNode{
	"Less":        func(l string) []onnx.NewNode { return []onnx.NewNode{node("Less", l+"sink", "column", "three")} },
	"LessOrEqual": func(l string) []onnx.NewNode { return []onnx.NewNode{node("LessOrEqual", l+"sink", "column", "two")} },
	"Greater":     func(l string) []onnx.NewNode { return []onnx.NewNode{node("Greater", l+"sink", "three", "column")} },
}

// attending is a model with an attention for each base, of queries and keys
// that turn with it, and the mask of that name.
func attending(m *onnx.NewModel, bases []float64, kinds []string) {
	free(m)
	m.Outputs[0].Dims[2] = 16
	m.Initializers = append(m.Initializers[2:], noise("wte", 32, 16), integers("last", -1), integers("first", 0), integers("halves", 8, 8), integers("wide", 4096), integers("below", -4096), integers("three", 3), integers("two", 2),
		floats("kept number", nil, func(int) float64 { return 0 }), floats("masked number", nil, func(int) float64 { return -math.MaxFloat32 }))
	m.Nodes = append(m.Nodes[:3], withInts(node("Cast", "at", "p"), "to", int64(onnx.Float)), node("Unsqueeze", "places", "at", "last"),
		node("Unsqueeze", "row", "p", "last"), node("Unsqueeze", "column", "p", "first"), node("Add", "any", "row", "column"), node("Gather", "te", "wte", "ids"))
	state := "te"
	for i, base := range bases {
		l := fmt.Sprintf("layer %d ", i)
		plain := schemes.Rotary{Base: base, Dim: 16}.PlainFrequencies()
		m.Initializers = append(m.Initializers, floats(l+"inverse", []int64{1, 8}, func(i int) float64 { return plain[i] }), noise(l+"V", 16, 16))
		m.Nodes = append(m.Nodes, node("MatMul", l+"angles", "places", l+"inverse"), withInts(node("Concat", l+"both", l+"angles", l+"angles"), "axis", int64(-1)), node("Cos", l+"cos", l+"both"), node("Sin", l+"sin", l+"both"),
			withInts(onnx.NewNode{Op: "Split", Inputs: []string{state, "halves"}, Outputs: []string{l + "a", l + "b"}}, "axis", int64(-1)), node("Neg", l+"minus", l+"b"),
			withInts(node("Concat", l+"swung", l+"minus", l+"a"), "axis", int64(-1)), node("Mul", l+"straight", state, l+"cos"), node("Mul", l+"across", l+"swung", l+"sin"), node("Add", l+"q", l+"straight", l+"across"),
			withInts(node("Transpose", l+"k", l+"q"), "perm", []int64{0, 2, 1}), node("MatMul", l+"content", l+"q", l+"k"))
		scores := l + "content"
		kind, chosen := strings.CutPrefix(kinds[i], "chosen: ")
		if make := masks[kind]; make != nil {
			if m.Nodes = append(m.Nodes, make(l)...); chosen {
				m.Nodes = append(m.Nodes, node("Where", l+"scores", l+"allowed", scores, "masked number"))
			} else {
				m.Nodes = append(m.Nodes, node("Where", l+"mask", l+"allowed", "kept number", "masked number"), node("Add", l+"scores", scores, l+"mask"))
			}
			scores = l + "scores"
		}
		m.Nodes = append(m.Nodes, withInts(node("Softmax", l+"weights", scores), "axis", int64(-1)), node("MatMul", l+"v", state, l+"V"), node("MatMul", l+"out", l+"weights", l+"v"))
		state = l + "out"
	}
	m.Nodes[len(m.Nodes)-1].Outputs[0] = "h"
}

func TestWindowOfMasks(t *testing.T) {
	want := map[string]int{"none": 0, "causal": 0, "causal, up to the next": 0, "sliding": 4096, "both sides": 4097, "distance": 4096, "triangle": 4096, "upper triangle": 4097, "short": 3} // the key of the query itself among them
	for kind := range masks {
		m := built(t, func(n *onnx.NewModel) { attending(n, []float64{10000}, []string{kind}) })
		if got := m.sites[0].(*rotary.Site).Window().Positions; got != want[kind] {
			t.Errorf("%s: a window of %d, want %d", kind, got, want[kind])
		}
	}
}

// TestBucketsHideNothing: distances are compared with a number to find the bucket of a bias, and all keys are seen.
func TestBucketsHideNothing(t *testing.T) {
	m := built(t, func(n *onnx.NewModel) {
		attending(n, []float64{10000}, []string{"none"})
		n.Initializers = append(n.Initializers, noise("by bucket", 5, 1), integers("four", 4))
		i := slices.IndexFunc(n.Nodes, func(x onnx.NewNode) bool { return x.Op == "Softmax" })
		scores := n.Nodes[i].Inputs[0]
		n.Nodes[i].Inputs[0] = "biased"
		n.Nodes = slices.Insert(n.Nodes, i, node("Sub", "apart", "row", "column"), node("Abs", "distance", "apart"), node("Less", "near", "distance", "three"), node("Where", "bucket", "near", "distance", "four"),
			node("Gather", "picked", "by bucket", "bucket"), node("Squeeze", "bias", "picked", "last"), node("Add", "biased", scores, "bias"))
	})
	if got := m.Attentions()[0].Window(); got != (schemes.SlidingWindow{}) {
		t.Errorf("a window of %v", got)
	}
}

// TestCausalMasks: later keys are masked where the next one is, not where the last one alone is, behind a window.
func TestCausalMasks(t *testing.T) {
	masks["near"] = func(l string) []onnx.NewNode {
		return []onnx.NewNode{node("Sub", l+"apart", "row", "column"), node("Abs", l+"distance", l+"apart"), node("Less", l+"allowed", l+"distance", "two")}
	}
	defer delete(masks, "near")
	for kind, want := range map[string]bool{"causal": true, "sliding": true, "both sides": false, "near": false, "short": false} {
		for _, how := range []string{"", "chosen: "} {
			m := built(t, func(n *onnx.NewModel) { attending(n, []float64{10000}, []string{how + kind}) })
			if got := m.Attentions()[0].Causal; got != want {
				t.Errorf("%s%s: causal %v", how, kind, got)
			}
		}
	}
}

// TestFirstKeysOfMasks reads how many first keys a mask shows beside a window, however it counts them.
func TestFirstKeysOfMasks(t *testing.T) {
	for name, make := range first {
		masks["sinks"] = func(l string) []onnx.NewNode {
			return append([]onnx.NewNode{node("Sub", l+"begin", "row", "wide"), node("Greater", l+"near", "column", l+"begin")}, append(make(l), node("Or", l+"allowed", l+"near", l+"sink"))...)
		}
		m := built(t, func(n *onnx.NewModel) { attending(n, []float64{10000}, []string{"sinks"}) })
		if got, want := m.Attentions()[0].Window(), (schemes.SlidingWindow{Positions: 4096, Sinks: 3}); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	delete(masks, "sinks")
}

// TestTemperatureOfQueries reads by what queries are multiplied from thousands of positions on, in the layers that do so
// (Llama 4, Ministral 3).
func TestTemperatureOfQueries(t *testing.T) {
	m := built(t, func(n *onnx.NewModel) {
		attending(n, []float64{10000, 10000}, []string{"causal", "causal"})
		n.Initializers = append(n.Initializers, floats("period", nil, func(int) float64 { return 8192 }), floats("unit", nil, func(int) float64 { return 1 }), floats("scale", nil, func(int) float64 { return 0.1 }))
		for i, x := range n.Nodes {
			if x.Op != "MatMul" || x.Outputs[0] != "layer 1 content" {
				continue
			}
			query := x.Inputs[0]
			n.Nodes[i].Inputs = []string{"hot", x.Inputs[1]}
			n.Nodes = slices.Insert(n.Nodes, i, node("Div", "periods", "places", "period"), node("Floor", "whole", "periods"), node("Add", "counted", "whole", "unit"),
				node("Log", "logarithm", "counted"), node("Mul", "scaled", "logarithm", "scale"), node("Add", "heat", "scaled", "unit"), node("Mul", "hot", query, "heat"))
			break
		}
	})
	e := position.Inspect(m).Encodings[0].Parameters
	if e.Temperature == nil || e.Temperature.Length != 8192 || e.Temperature.Scale != 0.1 || !slices.Equal(e.Temperature.Layers, []int{1}) {
		t.Errorf("%+v", e.Temperature)
	}
}

// TestSinksOfScores: a column that stands for no key is joined to the scores (gpt-oss).
func TestSinksOfScores(t *testing.T) {
	m := built(t, func(n *onnx.NewModel) {
		attending(n, []float64{10000}, []string{"causal"})
		n.Initializers = append(n.Initializers, floats("nothing", nil, func(int) float64 { return 0 }), floats("sink", nil, func(int) float64 { return 0.5 }), integers("from", 0), integers("to", -1), integers("along", 2))
		for i, x := range n.Nodes {
			if x.Op != "Softmax" {
				continue
			}
			scores, weights := x.Inputs[0], x.Outputs[0]
			n.Nodes[i].Inputs, n.Nodes[i].Outputs = []string{"joined"}, []string{"with sink"}
			n.Nodes = slices.Insert(n.Nodes, i+1, node("Slice", weights, "with sink", "from", "to", "along"))
			n.Nodes = slices.Insert(n.Nodes, i, withInts(node("ReduceMax", "top", scores), "axes", []int64{2}), node("Mul", "cold", "top", "nothing"), node("Add", "sinks", "cold", "sink"),
				withInts(node("Concat", "joined", scores, "sinks"), "axis", int64(-1)))
			break
		}
	})
	if e := position.Inspect(m).Encodings[0].Parameters; !e.Sinks {
		t.Errorf("%+v", e)
	}
}

// TestChunksOfMasks: positions of one chunk have the same whole quotient (Llama 4).
func TestChunksOfMasks(t *testing.T) {
	masks["chunks"] = func(l string) []onnx.NewNode {
		return []onnx.NewNode{node("Div", l+"of query", "row", "wide"), node("Div", l+"of key", "column", "wide"), node("Equal", l+"same", l+"of query", l+"of key"),
			node("LessOrEqual", l+"past", "column", "row"), node("And", l+"allowed", l+"same", l+"past")}
	}
	defer delete(masks, "chunks")
	m := built(t, func(n *onnx.NewModel) { attending(n, []float64{10000, 10000}, []string{"chunks", "causal"}) })
	e := position.Inspect(m).Encodings[0].Parameters
	if e.Chunk == nil || *e.Chunk != 4096 || e.Window != nil || !slices.Equal(e.WindowLayers, []int{0}) {
		t.Errorf("%+v", e)
	}
	m = built(t, func(n *onnx.NewModel) {
		attending(n, []float64{10000, 10000, 10000}, []string{"sliding", "causal", "sliding"})
	})
	if e := position.Inspect(m).Encodings[0].Parameters; len(e.Window) != 1 || e.Window[0] != 4096 || !slices.Equal(e.WindowLayers, []int{0, 2}) {
		t.Errorf("%+v", e)
	}
}

// TestRescaleOfTheGlobalRotation: of two rotations the one changes whose
// attention sees everything, whatever the order.
func TestRescaleOfTheGlobalRotation(t *testing.T) {
	const local, global = 10000.0, 1e6
	for _, c := range []struct {
		bases []float64
		kinds []string
		want  string // encodings that change, or why none does
	}{
		{[]float64{local, global}, []string{"sliding", "causal"}, "e1"},
		{[]float64{global, local}, []string{"causal", "sliding"}, "e0"},
		{[]float64{global, local, local}, []string{"none", "both sides", "both sides"}, "e0"},
		{[]float64{local, global}, []string{"triangle", "causal, up to the next"}, "e1"},
		{[]float64{local, local}, []string{"sliding", "causal"}, "e0"}, // one rotation that both kinds share
		{[]float64{local}, []string{"sliding"}, "e0"},                  // what slides is all there is
		{[]float64{local, global}, []string{"causal", "causal"}, "cannot be told which one is global: base 10000 at Cos Cos layer 0 cos, base 1000000 at Cos Cos layer 1 cos"},
		{[]float64{local, global}, []string{"none", "none"}, "cannot be told which one is global"},
	} {
		for _, change := range []func(position.Model) (position.Outcome, error){
			func(m position.Model) (position.Outcome, error) {
				return position.Rescale(m, position.RescaleOptions{Base: 5e6})
			},
			func(m position.Model) (position.Outcome, error) {
				return position.Extend(m, position.ExtendOptions{Length: 32768, Method: schemes.ScalingYaRN, OriginalLength: 8192})
			},
		} {
			m := built(t, func(n *onnx.NewModel) { attending(n, c.bases, c.kinds) })
			out, err := change(m)
			var got []string
			for _, change := range out.Changes {
				got = append(got, change.Encoding)
			}
			says := strings.Join(slices.DeleteFunc(got, func(s string) bool { return s == "" }), " ")
			if refusal, ok := errors.AsType[*position.Refusal](err); ok {
				says = refusal.Why
			} else if err != nil {
				t.Errorf("%v, %v: %v", c.bases, c.kinds, err)
			}
			if says != c.want && !(strings.HasPrefix(c.want, "cannot") && strings.Contains(says, c.want)) {
				t.Errorf("%v, %v: %q, want %q", c.bases, c.kinds, says, c.want)
			}
		}
	}
}

// TestWindowsOfExports reads windows off what exporters make of Gemma 3 and
// ModernBERT.
func TestWindowsOfExports(t *testing.T) {
	entries(t) // skips by name where the corpus is absent
	for file, want := range map[string]map[float64]int{
		"gemma3-dy18.onnx": {10000: 16, 1e6: 0}, "optimum-gemma3-past.onnx": {10000: 16, 1e6: 0}, "modernbert-dy18.onnx": {10000: 5, 160000: 0},
	} {
		m := opened(t, filepath.Join(corpus, "onnx", file))
		for _, s := range m.sites {
			r := s.(*rotary.Site)
			if got := r.Window().Positions; got != want[r.Encoding().Scheme.(schemes.Rotary).Base] {
				t.Errorf("%s: base %g has a window of %d, want %d", file, r.Encoding().Scheme.(schemes.Rotary).Base, got, want[r.Encoding().Scheme.(schemes.Rotary).Base])
			}
		}
	}
}

// TestWindowOfFusedAttention reads the window that a fused operator states.
func TestWindowOfFusedAttention(t *testing.T) {
	for stated, want := range map[int64]int{-1: 0, 512: 512} {
		m := built(t, func(n *onnx.NewModel) {
			free(n)
			n.Outputs[0].Dims[2] = 8
			wave := func(name string, of func(float64) float64) onnx.NewTensor {
				return floats(name, []int64{64, 4}, func(i int) float64 { return of(float64(i/4) * math.Pow(10000, -float64(i%4)/4)) })
			}
			n.Initializers = append(n.Initializers[2:], noise("wte", 32, 24), integers("lengths", 5), integers("total", 6), wave("cos", math.Cos), wave("sin", math.Sin))
			fused := onnx.NewNode{Op: "GroupQueryAttention", Domain: "com.microsoft", Inputs: []string{"te", "", "", "", "", "lengths", "total", "cos", "sin"}, Outputs: []string{"h"}}
			for name, v := range map[string]int64{"num_heads": 1, "kv_num_heads": 1, "do_rotary": 1, "local_window_size": stated} {
				fused = withInts(fused, name, v)
			}
			n.Nodes = []onnx.NewNode{node("Gather", "te", "wte", "ids"), fused}
		})
		r, ok := m.sites[0].(*rotary.Site)
		if !ok || r.Window().Positions != want {
			t.Errorf("window %d stated: %v", stated, found(m))
		}
	}
}
