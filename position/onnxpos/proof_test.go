package onnxpos

import (
	"slices"
	"strings"
	"testing"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// TestNoneIsProved holds that "none" is told only of graphs that were followed to
// the end: a doubt is "unknown", names the node, and extend refuses.
func TestNoneIsProved(t *testing.T) {
	// plain leaves an embedding and a product with weights.
	plain := func(m *onnx.NewModel) {
		free(m)
		m.Initializers = []onnx.NewTensor{noise("wte", 32, 4), noise("W", 4, 4)}
		m.Nodes = []onnx.NewNode{node("Gather", "te", "wte", "ids"), node("MatMul", "h", "te", "W")}
	}
	// convolutions are of a picture of free size, with strides that multiply to so much.
	convolutions := func(m *onnx.NewModel, strides ...int64) {
		picture(m)
		m.Inputs[0].Dims = []int64{1, 3, -1, -1}
		m.Outputs[0] = onnx.NewValue{Name: "out", Type: onnx.Float, Dims: []int64{1, 4, -1, -1}}
		m.Initializers, m.Nodes = []onnx.NewTensor{noise("first", 4, 3, 3, 3), noise("next", 4, 4, 3, 3)}, nil
		name := "pixel_values"
		for i, stride := range strides {
			weights, out := "next", "out"
			if i == 0 {
				weights = "first"
			}
			if i < len(strides)-1 {
				out = name + "'"
			}
			m.Nodes = append(m.Nodes, withInts(withInts(node("Conv", out, name, weights), "strides", []int64{stride, stride}), "pads", []int64{1, 1, 1, 1}))
			name = out
		}
	}
	// cells says where its results are: so many numbers of each of 16 places are added to what was weighed.
	cells := func(m *onnx.NewModel, numbers int64, read bool) {
		picture(m)
		m.Outputs[0].Dims[2] = numbers
		m.Initializers = append(m.Initializers, noise("centres", 1, 16, numbers), noise("to", 4, numbers), noise("again", numbers, numbers))
		m.Nodes = append(m.Nodes, node("MatMul", "boxes", "x", "to"), node("Sub", "placed", "centres", "boxes"), node("Sigmoid", "h", "placed"))
		if read {
			m.Nodes[len(m.Nodes)-1] = node("MatMul", "h", "placed", "again")
		}
	}
	for _, c := range []struct {
		name   string
		change func(*onnx.NewModel)
		order  string // of none; "": unknown
		says   string // what the evidence says then
	}{
		{"weights alone", plain, schemes.OrderEquivariant, ""},
		{"an operator of nobody's", func(m *onnx.NewModel) {
			plain(m)
			m.Nodes[1] = onnx.NewNode{Op: "Rotate", Domain: "acme", Inputs: []string{"te"}, Outputs: []string{"h"}}
		}, "", "operator acme.Rotate is not known"},
		{"a graph that runs at no length", func(m *onnx.NewModel) {
			plain(m)
			m.Initializers = append(m.Initializers, noise("three", 1, 3, 4), noise("seven", 1, 7, 4))
			m.Nodes = append(m.Nodes[:1], node("Mul", "scaled", "te", "three"), node("Mul", "again", "scaled", "seven"), node("MatMul", "h", "again", "W"))
		}, "", "could not be evaluated"},
		{"a graph that runs at the length of its constant", func(m *onnx.NewModel) {
			plain(m)
			m.Initializers = append(m.Initializers, noise("three", 1, 3, 4))
			m.Nodes = append(m.Nodes[:1], node("Mul", "scaled", "te", "three"), node("MatMul", "h", "scaled", "W"))
		}, "", "numbers that differ from position to position"},
		{"a graph that runs at the length it was traced with", func(m *onnx.NewModel) {
			plain(m)
			m.Initializers = append(m.Initializers, integers("traced", 1, 11, 2, 2), integers("back", 1, 11, 4))
			m.Nodes = append(m.Nodes[:1], node("Reshape", "parts", "te", "traced"), node("Reshape", "whole", "parts", "back"), node("MatMul", "h", "whole", "W"))
		}, schemes.OrderEquivariant, ""},
		{"a graph that runs with the batch and at the length it was traced with", func(m *onnx.NewModel) {
			plain(m)
			m.Inputs[0].Dims = []int64{-1, -1}
			m.Initializers = append(m.Initializers, integers("traced", 2, 11, 2, 2), integers("back", 2, 11, 4))
			m.Nodes = append(m.Nodes[:1], node("Reshape", "parts", "te", "traced"), node("Reshape", "whole", "parts", "back"), node("MatMul", "h", "whole", "W"))
		}, schemes.OrderEquivariant, ""},
		{"a picture whose map vanishes at 32 pixels", func(m *onnx.NewModel) { convolutions(m, 2, 2, 2, 2, 2) }, schemes.OrderOperators, ""},
		{"a picture whose map vanishes at every size", func(m *onnx.NewModel) { convolutions(m, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2) }, "", "a single position is left"},
		{"centres of cells behind the last weights", func(m *onnx.NewModel) { cells(m, 2, false) }, schemes.OrderOperators, ""},
		{"centres of cells that weights read", func(m *onnx.NewModel) { cells(m, 2, true) }, "", "numbers that differ from position to position"},
		{"as many numbers to a place as there are features", func(m *onnx.NewModel) { cells(m, 8, false) }, "", ""},
		{"an operator that is not followed behind the last weights", func(m *onnx.NewModel) {
			plain(m)
			m.Nodes = append(m.Nodes, node("Unique", "h2", "h"))
			m.Nodes[1].Outputs[0], m.Nodes[2].Inputs[0], m.Nodes[2].Outputs[0] = "w", "w", "h"
		}, schemes.OrderOperators, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := built(t, c.change)
			e := m.Sites()[0].Encoding()
			other, ok := e.Scheme.(schemes.Other)
			if !ok || len(m.Sites()) != 1 {
				t.Fatalf("found %s", found(m))
			}
			if c.order != "" {
				if other.Kind != report.SchemeNone || other.Order != c.order {
					t.Errorf("%s, order %q, want none, %q: %v", other.Kind, other.Order, c.order, e.Evidence)
				}
				return
			}
			if other.Kind != report.SchemeUnknown || !slices.ContainsFunc(e.Evidence, func(v report.Evidence) bool { return strings.Contains(v.Says, c.says) }) || e.Where[0].Node == "" {
				t.Errorf("%s, %v, want unknown, %q", other.Kind, e.Evidence, c.says)
			}
			if _, err := position.Extend(m, position.ExtendOptions{Length: 500}); err == nil {
				t.Error("extended all the same")
			}
		})
	}
}

// TestDecodedPicture reads a model whose picture comes as the bytes of a file, is decoded, resized and
// brought into its order in the graph, and whose result is drawn onto it.
func TestDecodedPicture(t *testing.T) {
	extension := func(op, out string, in ...string) onnx.NewNode {
		n := node(op, out, in...)
		n.Domain = "com.microsoft.extensions"
		return n
	}
	m := built(t, func(m *onnx.NewModel) {
		picture(m)
		m.Inputs = []onnx.NewValue{{Name: "image", Type: onnx.Uint8, Dims: []int64{-1}}}
		m.Outputs = append(m.Outputs, onnx.NewValue{Name: "drawn", Type: onnx.Uint8, Dims: []int64{-1}})
		m.Initializers = append(m.Initializers, integers("side", 32, 32, 3), integers("first", 0), noise("pos", 1, 16, 4), noise("box", 4, 6))
		before := []onnx.NewNode{extension("DecodeImage", "decoded", "image"), withInts(node("Cast", "numbers", "decoded"), "to", int64(onnx.Float)), node("Resize", "resized", "numbers", "", "", "side"),
			withInts(node("Transpose", "colours", "resized"), "perm", []int64{2, 0, 1}), node("Unsqueeze", "pixel_values", "colours", "first")}
		m.Nodes = append(append(before, m.Nodes...), node("Add", "h0", "x", "pos"), node("MatMul", "h", "h0", "W"), node("MatMul", "boxes", "h", "box"),
			extension("DrawBoundingBoxes", "marked", "decoded", "boxes"), extension("EncodeImage", "drawn", "marked"))
	})
	learned, ok := m.Sites()[0].Encoding().Scheme.(schemes.Learned)
	if !ok || len(m.Sites()) != 1 || learned.Rows != 16 || learned.Dim != 4 {
		t.Errorf("found %s, want a table of 16 rows of 4", found(m))
	}
}

// TestUnrolledBatch reads a graph that an exporter unrolled over the two sequences that it traced with: it
// runs with two and with no other number.
func TestUnrolledBatch(t *testing.T) {
	m := built(t, func(m *onnx.NewModel) {
		text(m, 6, 4)
		m.Inputs[0].Dims[0], m.Outputs[0].Dims[0] = -1, -1
		m.Initializers = append(m.Initializers, integers("apart", 1, 1))
		m.Nodes = []onnx.NewNode{m.Nodes[0], {Op: "Split", Inputs: []string{"te", "apart"}, Outputs: []string{"first", "second"}},
			node("Add", "one with", "first", "wpe"), node("Add", "other with", "second", "wpe"), withInts(node("Concat", "h0", "one with", "other with"), "axis", int64(0)), node("MatMul", "h", "h0", "W")}
	})
	if got, want := found(m), "position table of 6 rows of 4 ×6"; got != want {
		t.Errorf("found %q, want %q", got, want)
	}
}

// TestEnds holds that a graph that ends before its encodings do is told to end there, and
// that one that runs at multiples of a length is not.
func TestEnds(t *testing.T) {
	for _, c := range []struct {
		name     string
		change   func(*onnx.NewModel)
		capacity int // of the model; 0: none
		beyond   string
		rule     string
	}{
		{"the table alone", free, 16, report.BeyondError, ""},
		{"a constant of eight rows", func(m *onnx.NewModel) {
			free(m)
			m.Initializers = append(m.Initializers, noise("eight", 8, 4), integers("zeros", 0))
			m.Nodes[5] = node("Add", "sum", "te", "pe")
			m.Nodes = append(m.Nodes, node("Unsqueeze", "end", "n", "zeros"), node("Slice", "first", "eight", "zeros", "end", "zeros"), node("Mul", "scaled", "first", "zero_float"), node("Add", "h", "sum", "scaled"))
			m.Initializers = append(m.Initializers, floats("zero_float", []int64{1}, func(int) float64 { return 0 }))
		}, 8, report.BeyondError, "onnx-length-bound"},
		{"blocks of four", func(m *onnx.NewModel) {
			free(m)
			m.Initializers = append(m.Initializers, integers("blocks", 1, -1, 4, 4), integers("back", 1, -1, 4))
			m.Nodes[3], m.Nodes[5] = node("Identity", "unused", "one"), node("Reshape", "cut", "te", "blocks")
			m.Nodes = append(m.Nodes, node("Reshape", "h", "cut", "back"))
		}, 0, report.BeyondContinues, "onnx-length-step"},
		{"a table of 64 patches for a picture of 16", func(m *onnx.NewModel) {
			picture(m)
			m.Initializers = append(m.Initializers, noise("pos", 1, 4, 8, 8), integers("sizes", 1, 4, 4, 4))
			m.Nodes = append(m.Nodes[:1], withInts(node("Resize", "table", "pos", "", "", "sizes"), "mode", "linear"), node("Add", "h", "patches", "table"))
		}, 16, report.BeyondError, ""},
		{"tokens in constants of their own beside a table that is resampled", func(m *onnx.NewModel) {
			picture(m)
			m.Inputs[0].Dims = []int64{1, 3, -1, -1}
			m.Outputs[0].Dims = []int64{1, -1, 4}
			m.Initializers = append(m.Initializers, noise("pos", 1, 4, 6, 6), integers("ahead", 1, 4), integers("from", 2), integers("to", 4), noise("class", 1, 1, 4), noise("pc", 1, 1, 4), noise("found", 1, 30, 4), noise("pf", 1, 30, 4))
			m.Initializers[2] = integers("flat", 1, 4, -1)
			m.Nodes = append(m.Nodes, withInts(node("Concat", "tokens", "class", "x", "found"), "axis", int64(1)),
				node("Shape", "s", "patches"), node("Slice", "hw", "s", "from", "to"), withInts(node("Concat", "sizes", "ahead", "hw"), "axis", int64(0)),
				withInts(node("Resize", "table", "pos", "", "", "sizes"), "mode", "linear"), node("Reshape", "tf", "table", "flat"), withInts(node("Transpose", "tt", "tf"), "perm", []int64{0, 2, 1}),
				withInts(node("Concat", "all", "pc", "tt", "pf"), "axis", int64(1)), node("Add", "h", "tokens", "all"))
		}, 36, report.BeyondContinues, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := position.Inspect(built(t, c.change))
			capacity := 0
			if r.Length.Capacity != nil {
				capacity = *r.Length.Capacity
			}
			if capacity != c.capacity || r.Length.Beyond != c.beyond {
				t.Errorf("%d, %s, want %d, %s: %v %v", capacity, r.Length.Beyond, c.capacity, c.beyond, r.Encodings, r.Findings)
			}
			if has := slices.ContainsFunc(r.Findings, func(f report.Finding) bool { return f.Rule == c.rule }); has != (c.rule != "") {
				t.Errorf("findings %v, want %q", r.Findings, c.rule)
			}
		})
	}
}

// TestMergedTokens: what weighs tokens that lie beside each other tells them apart, by a Reshape or a convolution of steps.
func TestMergedTokens(t *testing.T) {
	for name, nodes := range map[string][]onnx.NewNode{
		"Reshape": {node("Reshape", "pairs", "te", "two of them"), node("MatMul", "h", "pairs", "W")},
		"Conv":    {withInts(node("Transpose", "turned", "te"), "perm", []int64{0, 2, 1}), withInts(node("Conv", "c", "turned", "filter"), "strides", []int64{2}), withInts(node("Transpose", "h", "c"), "perm", []int64{0, 2, 1})},
	} {
		m := built(t, func(m *onnx.NewModel) {
			m.Outputs[0].Dims = []int64{1, 3, 4}
			m.Initializers = append(m.Initializers[:1], integers("two of them", 1, 3, 8), noise("W", 8, 4), noise("filter", 4, 4, 2))
			m.Nodes = append([]onnx.NewNode{node("Gather", "te", "wte", "ids")}, nodes...)
		})
		if other, ok := m.Sites()[0].Encoding().Scheme.(schemes.Other); !ok || other.Kind != report.SchemeNone || other.Order != schemes.OrderOperators {
			t.Errorf("%s: %+v", name, m.Sites()[0].Encoding().Scheme)
		}
	}
}
