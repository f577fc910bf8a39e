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

// found are the sites of a model, as they say themselves, with where they end.
func found(m *Model) string {
	var out []string
	for _, s := range m.Sites() {
		e := s.Encoding()
		says := fmt.Sprint(e.Scheme)
		if e.Capacity > 0 {
			says += fmt.Sprintf(" ×%d", e.Capacity)
		}
		out = append(out, says)
	}
	return strings.Join(out, "; ")
}

// text makes the model of built one of a fixed length and width.
func text(m *onnx.NewModel, length, width int64) {
	m.Inputs[0].Dims[1] = length
	m.Outputs[0].Dims = []int64{1, length, width}
	m.Initializers = []onnx.NewTensor{noise("wte", 32, width), noise("wpe", length, width), noise("W", width, width)}
	m.Nodes = []onnx.NewNode{node("Gather", "te", "wte", "ids"), node("MatMul", "h", "h0", "W")}
}

// photo makes the model one of a picture of 224 pixels, in patches of 16 and of the
// given width.
func photo(m *onnx.NewModel, width int64) {
	m.Inputs = []onnx.NewValue{{Name: "pixel_values", Type: onnx.Float, Dims: []int64{1, 3, 224, 224}}}
	m.Outputs = []onnx.NewValue{{Name: "h", Type: onnx.Float, Dims: []int64{1, -1, width}}}
	m.Initializers = []onnx.NewTensor{noise("patch", width, 3, 16, 16), noise("W", width, width), integers("flat", 1, width, 196)}
	m.Nodes = []onnx.NewNode{withInts(node("Conv", "patches", "pixel_values", "patch"), "strides", []int64{16, 16}),
		node("Reshape", "f", "patches", "flat"), withInts(node("Transpose", "x", "f"), "perm", []int64{0, 2, 1}), node("MatMul", "h", "h0", "W")}
}

// TestUsualSizes reads graphs whose tables have more numbers than the evaluator
// keeps of any value: those of weights say nothing, and these everything.
func TestUsualSizes(t *testing.T) {
	counting := func(n int64) onnx.NewTensor {
		v := make([]int64, n)
		for i := range v {
			v[i] = int64(i)
		}
		p := integers("p", v...)
		p.Dims = []int64{1, n}
		return p
	}
	biased := func(m *onnx.NewModel, heads, places int64, at func(h, q, k int) float64) {
		photo(m, 8)
		m.Initializers = append(m.Initializers, floats("bias", []int64{1, heads, places, places}, func(i int) float64 {
			n := int(places)
			return at(i/n/n, i/n%n, i%n)
		}), integers("turned", 1, 1, 8, places), noise("K", 8, 8))
		m.Outputs[0].Dims = []int64{1, heads, places, places}
		m.Nodes = append(m.Nodes[:3], node("MatMul", "k", "x", "K"), withInts(node("Transpose", "kt", "k"), "perm", []int64{0, 2, 1}),
			node("MatMul", "content", "x", "kt"), node("Add", "scores", "content", "bias"), withInts(node("Softmax", "h", "scores"), "axis", int64(-1)))
	}
	gathered := func(m *onnx.NewModel, heads int64) {
		biased(m, heads, 1, func(h, q, k int) float64 { return 0 })
		var list []int64
		for _, row := range schemes.SymmetricWindowIndex(14, 14) {
			for _, place := range row {
				list = append(list, int64(place))
			}
		}
		places := integers("places", list...)
		places.Dims = []int64{196, 196}
		m.Outputs[0].Dims = []int64{1, heads, 196, 196}
		m.Initializers = append(slices.DeleteFunc(m.Initializers, func(t onnx.NewTensor) bool { return t.Name == "bias" }), noise("biases", heads, 196), places)
		m.Nodes = slices.Insert(m.Nodes, 3, withInts(node("Gather", "bias", "biases", "places"), "axis", int64(1)))
	}
	for _, c := range []struct {
		name   string
		change func(m *onnx.NewModel)
		found  string
	}{
		{"a text's table, added whole", func(m *onnx.NewModel) {
			text(m, 300, 512)
			m.Nodes = slices.Insert(m.Nodes, 1, node("Add", "h0", "te", "wpe"))
		}, "position table of 300 rows of 512 ×300"},
		{"a text's table, gathered by a constant list", func(m *onnx.NewModel) {
			text(m, 300, 512)
			m.Initializers = append(m.Initializers, counting(300))
			m.Nodes = slices.Insert(m.Nodes, 1, node("Gather", "pe", "wpe", "p"), node("Add", "h0", "pe", "te"))
		}, "position table of 300 rows of 512 ×300"},
		{"a sum of tokens, kinds and positions", func(m *onnx.NewModel) {
			text(m, 300, 512)
			zeros := counting(300)
			zeros.Name, zeros.Raw = "kinds", make([]byte, 8*300)
			m.Initializers = append(m.Initializers, noise("tte", 2, 512), zeros)
			m.Nodes = slices.Insert(m.Nodes, 1, node("Gather", "ke", "tte", "kinds"), node("Add", "s", "te", "ke"), node("Add", "h0", "s", "wpe"))
		}, "position table of 300 rows of 512 ×300"},
		{"a rotation of a long fixed length", func(m *onnx.NewModel) {
			text(m, 1100, 128)
			angles := floats("angles", []int64{1, 1100, 64}, func(i int) float64 { return float64(i/64) * math.Pow(10000, -float64(i%64)/64) })
			m.Initializers = append(m.Initializers[:1], angles, integers("0", 0), integers("half", 64), integers("end", 128), integers("last", 2), noise("W", 128, 128))
			m.Nodes = []onnx.NewNode{node("Gather", "te", "wte", "ids"), withInts(node("Concat", "both", "angles", "angles"), "axis", int64(-1)), node("Cos", "cos", "both"), node("Sin", "sin", "both"),
				node("Mul", "kept", "te", "cos"), node("Slice", "first", "te", "0", "half", "last"), node("Slice", "second", "te", "half", "end", "last"), node("Neg", "negative", "second"),
				withInts(node("Concat", "turned", "negative", "first"), "axis", int64(-1)), node("Mul", "swung", "turned", "sin"), node("Add", "h0", "kept", "swung"), node("MatMul", "h", "h0", "W")}
		}, "RoPE base 10000, rotary dim 128, half"},
		{"more numbers than are looked at", func(m *onnx.NewModel) {
			text(m, 300, 512)
			m.Initializers = append(m.Initializers, noise("W2", 300, 16384), noise("wte2", 32, 16384))
			m.Nodes = append(m.Nodes[:1], node("Gather", "te2", "wte2", "ids"), node("Add", "h", "te2", "W2"))
			m.Outputs[0].Dims[2] = 16384
		}, "unknown"},
		{"a picture's table", func(m *onnx.NewModel) {
			photo(m, 768)
			m.Initializers = append(m.Initializers, noise("pos", 1, 196, 768))
			m.Nodes = slices.Insert(m.Nodes, 3, node("Add", "h0", "x", "pos"))
		}, "position table of 196 rows of 768, grid 14×14 ×196"},
		{"a picture's table of channels first", func(m *onnx.NewModel) {
			photo(m, 768)
			m.Initializers = append(m.Initializers, noise("pos", 1, 768, 14, 14))
			m.Nodes[1].Inputs[0] = "placed"
			m.Nodes[3].Inputs[0] = "x"
			m.Nodes = slices.Insert(m.Nodes, 1, node("Add", "placed", "patches", "pos"))
		}, "position table of 196 rows of 768, grid 14×14 ×196"},
		{"a mean picture", func(m *onnx.NewModel) {
			photo(m, 8)
			m.Initializers = append(m.Initializers, noise("mean", 3, 224, 224))
			m.Nodes[0].Inputs[0], m.Nodes[3].Inputs[0] = "centred", "x"
			m.Nodes = slices.Insert(m.Nodes, 0, node("Add", "centred", "pixel_values", "mean"))
		}, "none"},
		{"coordinates of a picture's cells", func(m *onnx.NewModel) {
			photo(m, 2)
			m.Initializers = append(m.Initializers, floats("cells", []int64{1, 2, 14, 14}, func(i int) float64 { return []float64{float64(i % 14), float64(i / 14 % 14)}[i/196] }))
			m.Nodes[1].Inputs[0], m.Nodes[3].Inputs[0] = "placed", "x"
			m.Nodes = slices.Insert(m.Nodes, 1, node("Add", "placed", "patches", "cells"))
		}, "unknown"},
		{"a normalisation's own numbers", func(m *onnx.NewModel) {
			photo(m, 8)
			m.Initializers = append(m.Initializers, noise("gamma", 8, 14, 14), noise("beta of it", 8, 14, 14))
			m.Nodes[1].Inputs[0], m.Nodes[3].Inputs[0] = "normal", "x"
			m.Nodes = slices.Insert(m.Nodes, 1, node("Mul", "scaled", "patches", "gamma"), node("Add", "normal", "scaled", "beta of it"))
		}, "unknown"},
		{"a bias of more queries than keys", func(m *onnx.NewModel) {
			photo(m, 8)
			m.Initializers = append(m.Initializers, noise("bias", 1, 2, 196, 2), noise("keys", 8, 2))
			m.Outputs[0].Dims = []int64{1, 2, 196, 2}
			m.Nodes = append(m.Nodes[:3], node("MatMul", "content", "x", "keys"), node("Add", "scores", "content", "bias"), withInts(node("Softmax", "h", "scores"), "axis", int64(-1)))
		}, "relative-table, heads 2"},
		{"a table behind two convolutions and a class token", func(m *onnx.NewModel) {
			photo(m, 8)
			m.Initializers[2] = integers("flat", 1, 8, 49)
			m.Initializers = append(m.Initializers, noise("second", 8, 8, 2, 2), noise("class", 1, 1, 8), noise("pos", 1, 50, 8))
			m.Nodes[1].Inputs[0] = "smaller"
			m.Nodes = slices.Insert(m.Nodes, 3, withInts(node("Concat", "tokens", "class", "x"), "axis", int64(1)), node("Add", "h0", "tokens", "pos"))
			m.Nodes = slices.Insert(m.Nodes, 1, withInts(node("Conv", "smaller", "patches", "second"), "strides", []int64{2, 2}))
		}, "position table of 50 rows of 8, grid 7×7, 1 row before it ×49"},
		{"blocks of a picture", func(m *onnx.NewModel) {
			photo(m, 8)
			m.Initializers = append(m.Initializers, noise("pos", 1, 4, 49, 8), integers("blocks", 1, 4, 49, 8))
			m.Outputs[0].Dims = []int64{1, 4, 49, 8}
			m.Nodes = slices.Insert(m.Nodes, 3, node("Reshape", "b", "x", "blocks"), node("Add", "h0", "b", "pos"))
		}, "position table of 196 rows of 8 ×196"},
		{"a window's biases", func(m *onnx.NewModel) {
			index := schemes.WindowIndex(14, 14, false)
			biased(m, 4, 196, func(h, q, k int) float64 { return float64((index[q][k]+h)*7919%101) / 101 })
		}, "relative-table, rows 729, heads 4, window 14×14 ×196"},
		{"a window's biases that tell no sides apart", func(m *onnx.NewModel) {
			index := schemes.SymmetricWindowIndex(14, 14)
			biased(m, 4, 196, func(h, q, k int) float64 { return float64((index[q][k]+h)*7919%101) / 101 })
		}, "relative-table, rows 196, heads 4, window 14×14 ×196"},
		{"biases a head, gathered along the second axis", func(m *onnx.NewModel) { gathered(m, 4) }, "relative-table, rows 196, heads 4, window 14×14 ×196"},
		{"biases too many to be looked at, gathered", func(m *onnx.NewModel) { gathered(m, 128) }, "relative-table, rows 196, heads 128, window 14×14 ×196"},
		{"a bias too large to be looked at, in a fused attention", func(m *onnx.NewModel) {
			photo(m, 8)
			fused := onnx.NewNode{Op: "MultiHeadAttention", Domain: "com.microsoft", Inputs: []string{"x", "x", "x", "", "", "bias"}, Outputs: []string{"h"},
				Attributes: []onnx.NewAttribute{{Name: "num_heads", Value: int64(128)}}}
			m.Initializers = append(m.Initializers, noise("bias", 1, 128, 196, 196))
			m.Nodes = append(m.Nodes[:3], fused)
		}, "unknown"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := found(built(t, c.change)); got != c.found {
				t.Errorf("found %q, want %q", got, c.found)
			}
		})
	}
}

// TestLaterPatches resizes a picture whose patches are made by two convolutions, and
// whose class token is put beside them after the table was added.
func TestLaterPatches(t *testing.T) {
	m := built(t, func(m *onnx.NewModel) {
		photo(m, 8)
		m.Initializers[2] = integers("flat", 1, 8, 49)
		m.Initializers = append(m.Initializers, noise("second", 8, 8, 2, 2), noise("class", 1, 1, 8), noise("pos", 1, 49, 8), integers("heads", 1, 50, 2, 4), noise("V", 4, 4))
		m.Outputs[0].Dims = []int64{1, 50, 2, 4}
		m.Nodes[1].Inputs[0] = "smaller"
		m.Nodes = slices.Insert(m.Nodes[:3], 3, node("Add", "placed", "x", "pos"), withInts(node("Concat", "tokens", "class", "placed"), "axis", int64(1)),
			node("MatMul", "v", "tokens", "W"), node("Reshape", "each", "v", "heads"), node("MatMul", "h", "each", "V"))
		m.Nodes = slices.Insert(m.Nodes, 1, withInts(node("Conv", "smaller", "patches", "second"), "strides", []int64{2, 2}))
	})
	if got := m.graph.PatchSize(); got != 32 {
		t.Fatalf("patches of %d pixels, want 32", got)
	}
	if _, err := position.ResizeGrid(m, position.GridOptions{Image: 320}); err != nil {
		t.Fatal(err)
	}
	want := "sizes of a picture of 320×320 pixels; 100 rows; fixed length of pixel_values: 224 → 320; fixed length of h: 50 → 101"
	if got := strings.Join(edits(t, m), "; "); got != want {
		t.Errorf("edits %q, want %q", got, want)
	}
}
