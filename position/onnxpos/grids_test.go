package onnxpos

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/modelpatch/modelpatch/schemes"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
)

// cutApart makes the model one of a picture of 32 pixels that a Reshape cuts into 4×4 patches, with
// a class token's row before those of the patches.
func cutApart(m *onnx.NewModel) {
	m.Inputs = []onnx.NewValue{{Name: "pixel_values", Type: onnx.Float, Dims: []int64{1, 3, 32, 32}}}
	m.Outputs = []onnx.NewValue{{Name: "h", Type: onnx.Float, Dims: []int64{1, 17, 8}}}
	m.Initializers = []onnx.NewTensor{integers("cut", 1, 3, 4, 8, 4, 8), integers("flat", 1, 16, 192), noise("E", 192, 8), noise("class", 1, 1, 8), noise("pos", 1, 17, 8), noise("W", 8, 8)}
	m.Nodes = []onnx.NewNode{node("Reshape", "apart", "pixel_values", "cut"), withInts(node("Transpose", "patches", "apart"), "perm", []int64{0, 2, 4, 3, 5, 1}),
		node("Reshape", "rows", "patches", "flat"), node("MatMul", "e", "rows", "E"), withInts(node("Concat", "x", "class", "e"), "axis", int64(1)),
		node("Add", "h0", "x", "pos"), node("MatMul", "h", "h0", "W")}
}

// TestPatchesCutApart: patches that no convolution makes are told, and another picture changes the
// sizes that cut it.
func TestPatchesCutApart(t *testing.T) {
	m := built(t, cutApart)
	if got := found(m); got != "position table of 17 rows of 8, grid 4×4, 1 row before it ×16" || m.PatchSize() != 8 {
		t.Fatalf("%s, patches of %d", got, m.PatchSize())
	}
	if _, err := position.ResizeGrid(m, position.GridOptions{Image: 64}); err != nil {
		t.Fatal(err)
	}
	after := result(t, m, saved(t, cutApart))
	if got := found(after); got != "position table of 65 rows of 8, grid 8×8, 1 row before it ×64" || after.PatchGrid() != (schemes.Grid{1, 8, 8}) || len(after.graph.Eval.Failures) > 0 {
		t.Errorf("%s, grid %v", got, after.PatchGrid())
	}
}

// TestFramesCutApart: frames of a video that a Reshape takes two by two stay as many where its pictures become larger.
func TestFramesCutApart(t *testing.T) {
	video := func(m *onnx.NewModel) {
		m.Inputs = []onnx.NewValue{{Name: "pixel_values", Type: onnx.Float, Dims: []int64{1, 3, 4, 32, 32}}}
		m.Outputs = []onnx.NewValue{{Name: "h", Type: onnx.Float, Dims: []int64{1, 32, 8}}}
		m.Initializers = []onnx.NewTensor{integers("cut", 1, 3, 2, 2, 4, 8, 4, 8), integers("flat", 1, 32, 384), noise("E", 384, 8), noise("pos", 1, 32, 8), noise("W", 8, 8)}
		m.Nodes = []onnx.NewNode{node("Reshape", "apart", "pixel_values", "cut"), withInts(node("Transpose", "patches", "apart"), "perm", []int64{0, 2, 4, 6, 3, 5, 7, 1}),
			node("Reshape", "rows", "patches", "flat"), node("MatMul", "x", "rows", "E"), node("Add", "h0", "x", "pos"), node("MatMul", "h", "h0", "W")}
	}
	m := built(t, video)
	if _, err := position.ResizeGrid(m, position.GridOptions{Image: 64}); err != nil {
		t.Fatal(err)
	}
	if got := found(result(t, m, saved(t, video))); got != "position table of 128 rows of 8, grid 2×8×8 ×128" {
		t.Error(got)
	}
}

// TestRunOfRows: a table of more rows than there are patches, of which a Slice takes as many, is that of the patches.
func TestRunOfRows(t *testing.T) {
	m := built(t, func(m *onnx.NewModel) {
		cutApart(m)
		m.Outputs[0].Dims = []int64{1, 16, 8}
		m.Initializers = append(m.Initializers, integers("first", 0), integers("sixteen", 16), integers("along", 1))
		m.Nodes = append(m.Nodes[:4:4], node("Slice", "some", "pos", "first", "sixteen", "along"), node("Add", "h0", "e", "some"), node("MatMul", "h", "h0", "W"))
	})
	if got := found(m); got != "position table of 16 rows of 8, grid 4×4 ×16" {
		t.Error(got)
	}
}

// axialText makes the model one of a free length, with a table of 4 rows for p div 8 and one of 8 for
// p mod 8.
func axialText(m *onnx.NewModel) {
	free(m)
	m.Initializers = append(m.Initializers[:1:1], noise("slow", 1, 4, 1, 4), noise("fast!", 1, 1, 8, 4), integers("all", 1, 4, 8, 4), integers("flat", 1, 32, 4), integers("0", 0), integers("1", 1), integers("2", 2), noise("W", 4, 4))
	m.Nodes = []onnx.NewNode{node("Gather", "te", "wte", "ids"), node("Expand", "slows", "slow", "all"), node("Expand", "fasts", "fast!", "all"), node("Reshape", "s", "slows", "flat"), node("Reshape", "f", "fasts", "flat"),
		node("Add", "table", "s", "f"), node("Shape", "shape", "ids"), node("Slice", "n", "shape", "1", "2"), node("Slice", "some", "table", "0", "n", "1"), node("Add", "x", "te", "some"), node("MatMul", "h", "x", "W")}
}

// TestTablesInTurns: positions beyond the fast table's rows take them again, and the graph ends where
// both do.
func TestTablesInTurns(t *testing.T) {
	m := built(t, axialText)
	if got := found(m); got != "position table of 32 rows of 4 ×32" {
		t.Errorf("%s", got)
	}
}

// TestPartOfATurn: a text of one length that takes a part of the last turn has all rows of both tables all the same, and grows to where they end.
func TestPartOfATurn(t *testing.T) {
	text := func(m *onnx.NewModel) {
		axialText(m)
		m.Inputs[0].Dims[1], m.Outputs[0].Dims = 11, []int64{1, 11, 4}
	}
	m := built(t, text)
	if got := found(m); got != "position table of 32 rows of 4 ×32" {
		t.Errorf("%s", got)
	}
	if out, err := position.Extend(m, position.ExtendOptions{Length: 30}); err != nil || out.Nothing != "" {
		t.Fatalf("%q, %v", out.Nothing, err)
	}
	if longer := result(t, m, saved(t, text)); longer.graph.FixedLength() != 30 || len(longer.graph.Eval.Failures) > 0 {
		t.Errorf("%d tokens, %v", longer.graph.FixedLength(), longer.graph.Eval.Failures)
	}
}

// TestTurnsAsMatrices: columns (cos, sin) and (−sin, cos) of FLUX's matrices turn pairs side by side.
func TestTurnsAsMatrices(t *testing.T) {
	angle := func(p, k int) float64 { return float64(p) * math.Pow(100, -float64(k)/4) }
	m := built(t, func(m *onnx.NewModel) {
		m.Inputs[0].Dims[1] = 6
		m.Outputs[0].Dims = []int64{1, 6, 6}
		m.Initializers = []onnx.NewTensor{noise("wte", 32, 8), integers("pairs", 1, 6, 4, 1, 2), integers("flat", 1, 6, 8), integers("0", 0), integers("1", 1),
			floats("first", []int64{1, 6, 4, 2}, func(i int) float64 {
				if a := angle(i/8, i/2%4); i%2 == 0 {
					return math.Cos(a)
				} else {
					return math.Sin(a)
				}
			}),
			floats("second", []int64{1, 6, 4, 2}, func(i int) float64 {
				if a := angle(i/8, i/2%4); i%2 == 0 {
					return -math.Sin(a)
				} else {
					return math.Cos(a)
				}
			})}
		m.Nodes = []onnx.NewNode{node("Gather", "q", "wte", "ids"), node("Reshape", "x", "q", "pairs"), withInts(node("Gather", "even", "x", "0"), "axis", int64(4)), withInts(node("Gather", "odd", "x", "1"), "axis", int64(4))}
		for i, n := range []string{"even", "odd"} {
			m.Nodes = append(m.Nodes, node("Squeeze", n+"s", n, "4"), node("Mul", fmt.Sprint("t", i), n+"s", []string{"first", "second"}[i]))
		}
		m.Initializers = append(m.Initializers, integers("4", 4))
		m.Nodes = append(m.Nodes, node("Add", "t", "t0", "t1"), node("Reshape", "turned", "t", "flat"), withInts(node("Transpose", "keys", "turned"), "perm", []int64{0, 2, 1}), node("MatMul", "scores", "turned", "keys"), withInts(node("Softmax", "h", "scores"), "axis", int64(-1)))
	})
	if got := found(m); got != "RoPE base 100, rotary dim 8, interleaved ×6" {
		t.Errorf("%s", got)
	}
}

// turnedPatches makes the model one of a picture whose 4×4 patches turn by their rows and columns, and its class token does not.
func turnedPatches(m *onnx.NewModel) {
	cutApart(m)
	angle := func(i int) float64 {
		place, pair := i/8, i%4
		if pair < 2 {
			return float64(place/4) * math.Pow(100, -float64(pair)/2)
		}
		return float64(place%4) * math.Pow(100, -float64(pair-2)/2)
	}
	m.Initializers = append(m.Initializers, integers("tokens", 1, 16), integers("halves", 4, 4), floats("c", []int64{16, 8}, func(i int) float64 { return math.Cos(angle(i)) }), floats("s", []int64{16, 8}, func(i int) float64 { return math.Sin(angle(i)) }))
	apart, halves := withInts(node("Split", "first", "q", "tokens"), "axis", int64(1)), withInts(node("Split", "a", "rest", "halves"), "axis", int64(-1))
	apart.Outputs, halves.Outputs = append(apart.Outputs, "rest"), append(halves.Outputs, "b")
	m.Nodes = append(m.Nodes[:5:5], node("MatMul", "q", "x", "W"), apart, halves, node("Neg", "minus", "b"), withInts(node("Concat", "other", "minus", "a"), "axis", int64(-1)),
		node("Mul", "xc", "rest", "c"), node("Mul", "xs", "other", "s"), node("Add", "turned", "xc", "xs"), withInts(node("Concat", "all", "first", "turned"), "axis", int64(1)),
		withInts(node("Transpose", "keys", "all"), "perm", []int64{0, 2, 1}), node("MatMul", "scores", "all", "keys"), withInts(node("Softmax", "weights", "scores"), "axis", int64(-1)), node("MatMul", "h", "weights", "x"))
}

// TestTurnedPatches: a class token ahead of patches does not turn, and the first patch by the first row.
func TestTurnedPatches(t *testing.T) {
	m := built(t, turnedPatches)
	if got := found(m); got != "RoPE base 100, rotary dim 8, half, by row and column of 4×4 patches ×16" {
		t.Fatal(got)
	}
	cos, sin := make([]float64, 4), make([]float64, 4)
	for place, want := range map[int][]float64{0: {0, 0, 0, 0}, 1: {0, 0, 0, 0}, 2: {0, 0, 1, 0.1}, 16: {3, 0.3, 3, 0.3}} {
		if err := m.Sites()[0].(position.Rotator).Rotation(place, 17, cos, sin); err != nil {
			t.Fatal(err)
		}
		for k, a := range want {
			if math.Abs(cos[k]-math.Cos(a)) > 1e-6 || math.Abs(sin[k]-math.Sin(a)) > 1e-6 {
				t.Errorf("place %d turns by cosines %v and sines %v", place, cos, sin)
				break
			}
		}
	}
}

// turnedParts makes the model one of 6 tokens of which both halves of the state turn, by the same cosines and sines.
func turnedParts(m *onnx.NewModel) {
	angle := func(i int) float64 { return float64(i/4) * math.Pow(100, -float64(i%2)/2) }
	m.Inputs[0].Dims[1] = 6
	m.Outputs[0].Dims = []int64{1, 6, 8}
	m.Initializers = []onnx.NewTensor{noise("wte", 32, 8), noise("W", 8, 8), integers("parts", 4, 4), integers("halves", 2, 2),
		floats("c", []int64{6, 4}, func(i int) float64 { return math.Cos(angle(i)) }), floats("s", []int64{6, 4}, func(i int) float64 { return math.Sin(angle(i)) })}
	split := func(name, from, sizes string) onnx.NewNode {
		n := withInts(node("Split", name+"0", from, sizes), "axis", int64(-1))
		n.Outputs = append(n.Outputs, name+"1")
		return n
	}
	m.Nodes = []onnx.NewNode{node("Gather", "x", "wte", "ids"), node("MatMul", "k", "x", "W")}
	for _, state := range []string{"x", "k"} {
		m.Nodes = append(m.Nodes, split(state+"p", state, "parts"))
		for _, part := range []string{state + "p0", state + "p1"} {
			m.Nodes = append(m.Nodes, split(part+"h", part, "halves"), node("Neg", part+"n", part+"h1"), withInts(node("Concat", part+"o", part+"n", part+"h0"), "axis", int64(-1)),
				node("Mul", part+"c", part, "c"), node("Mul", part+"s", part+"o", "s"), node("Add", part+"t", part+"c", part+"s"))
		}
		m.Nodes = append(m.Nodes, withInts(node("Concat", state+"t", state+"p0t", state+"p1t"), "axis", int64(-1)))
	}
	m.Nodes = append(m.Nodes, withInts(node("Transpose", "keys", "kt"), "perm", []int64{0, 2, 1}), node("MatMul", "scores", "xt", "keys"), withInts(node("Softmax", "weights", "scores"), "axis", int64(-1)), node("MatMul", "h", "weights", "x"))
}

// TestTurnedParts: attention of which several parts of each head turn is not run as if the first one alone did.
func TestTurnedParts(t *testing.T) {
	m := built(t, turnedParts)
	if got := found(m); got != "RoPE base 100, rotary dim 4 of 8, half ×6" {
		t.Fatal(got)
	}
	if a := m.Attentions(); len(a) != 1 || a[0].Unsupported == "" || a[0].Run != nil {
		t.Errorf("%+v", a[0])
	}
}

// columnsAhead makes the model one of 6 tokens whose state has its columns ahead of its positions, as queries and keys that turn, and
// weighs keys along the axis before the last.
func columnsAhead(m *onnx.NewModel) {
	angle := func(i int) float64 { return float64(i%6) * math.Pow(100, -float64(i/6%4)/4) }
	m.Inputs[0].Dims[1] = 6
	m.Outputs[0].Dims = []int64{1, 8, 6}
	m.Initializers = []onnx.NewTensor{noise("wte", 32, 8), integers("halves", 4, 4),
		floats("c", []int64{1, 8, 6}, func(i int) float64 { return math.Cos(angle(i)) }), floats("s", []int64{1, 8, 6}, func(i int) float64 { return math.Sin(angle(i)) })}
	split := withInts(node("Split", "a", "x", "halves"), "axis", int64(1))
	split.Outputs = append(split.Outputs, "b")
	m.Nodes = []onnx.NewNode{node("Gather", "rows", "wte", "ids"), withInts(node("Transpose", "x", "rows"), "perm", []int64{0, 2, 1}), split, node("Neg", "minus", "b"),
		withInts(node("Concat", "other", "minus", "a"), "axis", int64(1)), node("Mul", "xc", "x", "c"), node("Mul", "xs", "other", "s"), node("Add", "turned", "xc", "xs"),
		withInts(node("Transpose", "keys", "turned"), "perm", []int64{0, 2, 1}), node("MatMul", "scores", "keys", "turned"), withInts(node("Softmax", "weights", "scores"), "axis", int64(1)), node("MatMul", "h", "x", "weights")}
}

// TestColumnsAhead: cosines and sines whose columns stand ahead of their positions are read and extended; no bias is added to scores
// whose keys do not stand along the last axis.
func TestColumnsAhead(t *testing.T) {
	m := built(t, columnsAhead)
	if got := found(m); got != "RoPE base 100, rotary dim 8, half ×6" {
		t.Fatal(got)
	}
	if _, err := position.AddALiBi(m, position.ALiBiOptions{}); err == nil || !strings.Contains(err.Error(), "not their last") {
		t.Errorf("a bias was added: %v", err)
	}
	if _, err := position.Extend(m, position.ExtendOptions{Length: 9}); err != nil {
		t.Fatal(err)
	}
	after := result(t, m, saved(t, columnsAhead))
	if got := found(after); got != "RoPE base 100, rotary dim 8, half ×9" || len(after.graph.Eval.Failures) > 0 {
		t.Errorf("%s, %v", got, after.graph.Eval.Failures)
	}
}

// attendingFrames makes the model one of frames of the given features, with features ahead of frames, which
// attend to each other.
func attendingFrames(m *onnx.NewModel) {
	m.Inputs = []onnx.NewValue{{Name: "wave", Type: onnx.Float, Dims: []int64{1, 8, 20}}}
	m.Outputs = []onnx.NewValue{{Name: "h", Type: onnx.Float, Dims: []int64{1, 20, 8}}}
	m.Initializers = []onnx.NewTensor{noise("gain", 8), noise("shift", 8), noise("Q", 8, 8), noise("pos", 1, 20, 8)}
	m.Nodes = []onnx.NewNode{withInts(node("Transpose", "frames", "wave"), "perm", []int64{0, 2, 1}), node("LayerNormalization", "x0", "frames", "gain", "shift"), node("Add", "x", "x0", "pos"), node("MatMul", "q", "x", "Q"),
		withInts(node("Transpose", "k", "x"), "perm", []int64{0, 2, 1}), node("MatMul", "scores", "q", "k"), withInts(node("Softmax", "weights", "scores"), "axis", int64(-1)), node("MatMul", "h", "weights", "x")}
}

// TestFeaturesAheadOfFrames: what a normalisation and weights run over are features, be they the first
// axis of the input, where its last axis attends.
func TestFeaturesAheadOfFrames(t *testing.T) {
	m := built(t, attendingFrames)
	if got := found(m); got != "position table of 20 rows of 8 ×20" {
		t.Errorf("%s", got)
	}
	if i := slices.IndexFunc(m.Findings(), func(f report.Finding) bool { return f.Rule == "onnx-unread-encoding" }); i >= 0 {
		t.Errorf("%v", m.Findings()[i])
	}
}

// TestTwoFormulas: a graph that computes two sinusoids has two encodings, and one that computes the same
// twice has one.
func TestTwoFormulas(t *testing.T) {
	for name, want := range map[float64]string{100: "sinusoids of base 10000, dim 8, sin-cos, denominator d/2; sinusoids of base 100, dim 8, sin-cos, denominator d/2", 10000: "sinusoids of base 10000, dim 8, sin-cos, denominator d/2"} {
		m := built(t, func(m *onnx.NewModel) {
			free(m)
			m.Initializers = []onnx.NewTensor{noise("wte", 32, 8), noise("wte2", 32, 8), noise("W", 8, 8), integers("1", 1), integers("zero", 0), integers("one", 1), integers("at", 1)}
			m.Nodes = []onnx.NewNode{node("Gather", "te", "wte", "ids"), node("Gather", "te2", "wte2", "ids"), node("Shape", "shape", "ids"), node("Gather", "n1", "shape", "at"), node("Squeeze", "n", "n1"),
				node("Squeeze", "z", "zero"), node("Squeeze", "o", "one"), node("Range", "p", "z", "n", "o"), withInts(node("Cast", "pf", "p"), "to", int64(onnx.Float)), node("Unsqueeze", "column", "pf", "1")}
			for i, base := range []float64{10000, name} {
				id := func(s string) string { return fmt.Sprint(s, "_", i) }
				m.Initializers = append(m.Initializers, floats(id("f"), []int64{4}, func(k int) float64 { return math.Pow(base, -float64(k)/4) }))
				m.Nodes = append(m.Nodes, node("Mul", id("a"), "column", id("f")), node("Sin", id("s"), id("a")), node("Cos", id("c"), id("a")), withInts(node("Concat", id("w"), id("s"), id("c")), "axis", int64(1)),
					node("Add", id("x"), []string{"te", "te2"}[i], id("w")), node("MatMul", id("y"), id("x"), "W"))
			}
			m.Nodes = append(m.Nodes, node("Add", "h", "y_0", "y_1"))
			m.Outputs[0].Dims[2] = 8
		})
		if got := found(m); got != want {
			t.Errorf("base %v: %s", name, got)
		}
	}
}

// TestTextInput: what makes tokens of texts gives the model its input, be they as many as they are or
// always the same.
func TestTextInput(t *testing.T) {
	texts := func(op string, padded int64) func(m *onnx.NewModel) {
		return func(m *onnx.NewModel) {
			free(m)
			m.Inputs = []onnx.NewValue{{Name: "text", Type: onnx.String, Dims: []int64{1}}}
			m.Initializers = []onnx.NewTensor{noise("wte", 32, 4), noise("wpe", 16, 4), integers("0", 0), integers("1", 1), integers("2", 2), noise("W", 4, 4)}
			tokens := onnx.NewNode{Op: op, Domain: "ai.onnx.contrib", Inputs: []string{"text"}, Outputs: []string{"tokens", "mask"}}
			ids := node("Identity", "ids", "tokens")
			if op == "BertTokenizer" {
				ids = node("Unsqueeze", "ids", "tokens", "0")
			} else {
				tokens = withInts(tokens, "padding_length", padded)
			}
			m.Nodes = []onnx.NewNode{tokens, ids, node("Gather", "te", "wte", "ids"), node("Shape", "shape", "ids"), node("Slice", "n", "shape", "1", "2"), node("Slice", "pe", "wpe", "0", "n", "0"), node("Add", "x", "te", "pe"), node("MatMul", "h", "x", "W")}
		}
	}
	for _, c := range []struct {
		op     string
		padded int64
		found  string
	}{{"BertTokenizer", 0, "position table of 16 rows of 4 ×16"}, {"GPT2Tokenizer", -1, "position table of 16 rows of 4 ×16"}, {"GPT2Tokenizer", 12, "position table of 16 rows of 4 ×16"}} {
		m := built(t, texts(c.op, c.padded))
		if got := found(m); got != c.found {
			t.Errorf("%s: %s", c.op, got)
		}
		_, err := position.Extend(m, position.ExtendOptions{Length: 40})
		if refused := err != nil; refused != (c.padded > 0) {
			t.Errorf("%s padded to %d: %v", c.op, c.padded, err)
		}
	}
}

// TestTextInCircles: conversions that read what they make end the search for tokens.
func TestTextInCircles(t *testing.T) {
	built(t, func(m *onnx.NewModel) {
		m.Inputs = []onnx.NewValue{{Name: "text", Type: onnx.String, Dims: []int64{1}}}
		m.Nodes = []onnx.NewNode{{Op: "BertTokenizer", Domain: "ai.onnx.contrib", Inputs: []string{"text"}, Outputs: []string{"x"}}, withInts(node("Cast", "x", "x"), "to", int64(onnx.Int64)), withInts(node("Cast", "h", "ids"), "to", int64(onnx.Float))}
	})
}

// TestNoModelInside: a search whose decoder is missing is not known, and does not encode nothing.
func TestNoModelInside(t *testing.T) {
	m := built(t, func(m *onnx.NewModel) {
		m.Nodes = []onnx.NewNode{{Op: "GreedySearch", Domain: "com.microsoft", Inputs: []string{"ids"}, Outputs: []string{"h"}}}
	})
	if got := found(m); got != "unknown" {
		t.Error(got)
	}
}

// TestModelsInsideOfNodes: decoders that a search runs are read, with weights of their own and with those
// of the graph around them, and are not changed.
func TestModelsInsideOfNodes(t *testing.T) {
	for _, shared := range []bool{false, true} {
		m := built(t, func(m *onnx.NewModel) {
			free(m)
			inner := *m
			inner.Initializers = slices.Clone(m.Initializers)
			m.Initializers = nil
			if shared {
				m.Initializers, inner.Initializers = inner.Initializers, nil
			}
			search := onnx.NewNode{Op: "BeamSearch", Domain: "com.microsoft", Inputs: []string{"ids"}, Outputs: []string{"sequences"}}
			for _, name := range []string{"decoder", "init_decoder"} {
				search.Attributes = append(search.Attributes, onnx.NewAttribute{Name: name, Value: inner})
			}
			m.Nodes = []onnx.NewNode{search}
			m.Outputs = []onnx.NewValue{{Name: "sequences", Type: onnx.Int32, Dims: []int64{1, 1, -1}}}
		})
		if got := found(m); got != "position table of 16 rows of 4 ×16" {
			t.Errorf("shared %v: %s", shared, got)
		}
		if _, err := position.Extend(m, position.ExtendOptions{Length: 40}); err == nil {
			t.Errorf("shared %v: a decoder inside of a node is changed", shared)
		}
	}
}

// TestPairLayout: 2×2 matrices turn neighbours where a head is cut into pairs, and halves of it where it is cut in two and turned over.
func TestPairLayout(t *testing.T) {
	angle := func(p, k int) float64 { return float64(p) * math.Pow(100, -float64(k)/4) }
	for layout, cut := range map[string][]int64{"interleaved": {1, 6, 4, 2}, "half": {1, 6, 2, 4}} {
		m := built(t, func(m *onnx.NewModel) {
			m.Inputs[0].Dims[1] = 6
			m.Outputs[0].Dims = []int64{1, 6, 6}
			m.Initializers = []onnx.NewTensor{noise("wte", 32, 8), integers("cut", cut...), integers("flat", 1, 6, 8), floats("turns", []int64{6, 4, 2, 2}, func(i int) float64 {
				a := angle(i/16, i/4%4)
				return []float64{math.Cos(a), -math.Sin(a), math.Sin(a), math.Cos(a)}[i%4]
			})}
			m.Nodes = []onnx.NewNode{node("Gather", "q", "wte", "ids"), node("Reshape", "pairs", "q", "cut")}
			of := "pairs"
			if layout == "half" {
				m.Nodes, of = append(m.Nodes, withInts(node("Transpose", "over", "pairs"), "perm", []int64{0, 1, 3, 2})), "over"
			}
			m.Nodes = append(m.Nodes, onnx.NewNode{Op: "Einsum", Inputs: []string{"turns", of}, Outputs: []string{"t"}, Attributes: []onnx.NewAttribute{{Name: "equation", Value: "nfij,bnfj->bnfi"}}},
				node("Reshape", "turned", "t", "flat"), withInts(node("Transpose", "keys", "turned"), "perm", []int64{0, 2, 1}), node("MatMul", "scores", "turned", "keys"), withInts(node("Softmax", "h", "scores"), "axis", int64(-1)))
		})
		if got := found(m); got != "RoPE base 100, rotary dim 8, "+layout+" ×6" {
			t.Errorf("%s: %s", layout, got)
		}
	}
}

// Patches that come as rows get what lies between the rows of a table: the table's grid is told, and as many positions as there are patches.
func TestSampledRows(t *testing.T) {
	m := built(t, func(m *onnx.NewModel) {
		m.Inputs = []onnx.NewValue{{Name: "pixel_values", Type: onnx.Float, Dims: []int64{24, 12}}}
		m.Outputs = []onnx.NewValue{{Name: "h", Type: onnx.Float, Dims: []int64{24, 4}}}
		m.Initializers = []onnx.NewTensor{noise("patch", 12, 4), noise("pos", 1, 4, 3, 4), integers("all", 0, 3),
			floats("at", []int64{1, 24, 1, 2}, func(i int) float64 { return []float64{float64(i/2%6)/3 - 0.8, float64(i/12)/2 - 0.7}[i%2] })}
		m.Nodes = []onnx.NewNode{node("MatMul", "x", "pixel_values", "patch"), node("GridSample", "between", "pos", "at"),
			node("Squeeze", "rows", "between", "all"), withInts(node("Transpose", "table", "rows"), "perm", []int64{1, 0}), node("Add", "h", "x", "table")}
	})
	if got, want := found(m), "position table of 12 rows of 4, grid 3×4 ×24"; got != want {
		t.Errorf("found %q, want %q", got, want)
	}
}

// Parts of each head that turn by coordinates of their own are one rotation of sections; parts that turn by one coordinate are not.
func TestPartsOfHeads(t *testing.T) {
	for name, want := range map[string]string{"row column": "RoPE base 100, rotary dim 16, half, sections 4+4, each with frequencies of its own", "row row": "RoPE base 100, rotary dim 8 of 16, half"} {
		m := built(t, func(m *onnx.NewModel) {
			m.Inputs = []onnx.NewValue{{Name: "pixel_values", Type: onnx.Float, Dims: []int64{1, 36, 12}}, {Name: "pixel_position_ids", Type: onnx.Int64, Dims: []int64{1, 36, 2}}}
			m.Outputs = []onnx.NewValue{{Name: "h", Type: onnx.Float, Dims: []int64{1, 36, 36}}}
			m.Initializers = []onnx.NewTensor{noise("wq", 12, 16), noise("wk", 12, 16), noise("wv", 12, 16), integers("0", 0), integers("1", 1), integers("4", 4), integers("8", 8), integers("16", 16), integers("2", 2),
				floats("f", []int64{4}, func(k int) float64 { return math.Pow(100, -float64(k)/4) })}
			m.Nodes = nil
			for i, axis := range []string{"row", "column"} {
				m.Nodes = append(m.Nodes, withInts(node("Gather", axis+"1", "pixel_position_ids", fmt.Sprint(i)), "axis", int64(2)), withInts(node("Cast", axis+"2", axis+"1"), "to", int64(onnx.Float)),
					node("Mul", axis+"3", axis+"2", "f"), withInts(node("Concat", axis+"4", axis+"3", axis+"3"), "axis", int64(-1)), node("Cos", axis+" cos", axis+"4"), node("Sin", axis+" sin", axis+"4"))
			}
			for _, of := range []string{"q", "k"} {
				m.Nodes = append(m.Nodes, node("MatMul", of, "pixel_values", "w"+of))
				for i, axis := range strings.Fields(name) {
					id := func(s string) string { return fmt.Sprint(of, i, s) }
					ends := [][2]string{{"0", "8"}, {"8", "16"}}[i]
					m.Nodes = append(m.Nodes, node("Slice", id("x"), of, ends[0], ends[1], "2"), node("Slice", id("first"), id("x"), "0", "4", "2"), node("Slice", id("second"), id("x"), "4", "8", "2"),
						node("Neg", id("negative"), id("second")), withInts(node("Concat", id("turned"), id("negative"), id("first")), "axis", int64(-1)),
						node("Mul", id("kept"), id("x"), axis+" cos"), node("Mul", id("swung"), id("turned"), axis+" sin"), node("Add", id("y"), id("kept"), id("swung")))
				}
				m.Nodes = append(m.Nodes, withInts(node("Concat", of+"r", of+"0y", of+"1y"), "axis", int64(-1)))
			}
			m.Nodes = append(m.Nodes, withInts(node("Transpose", "kt", "kr"), "perm", []int64{0, 2, 1}), node("MatMul", "s", "qr", "kt"), withInts(node("Softmax", "h", "s"), "axis", int64(-1)))
		})
		if got := found(m); got != want {
			t.Errorf("%s: found %q, want %q", name, got, want)
		}
	}
}

// Rows that a graph resamples by its own arithmetic lie between those of a table; rows that are made of it otherwise are told by the rows of the weights.
func TestRowsBetween(t *testing.T) {
	for _, c := range []struct {
		name  string
		table onnx.NewTensor
		steps []onnx.NewNode
		last  float64 // of the weights of a row, which sum to one with 0.5 and 0.25
		want  string
	}{
		{"weights", noise("pos", 12, 4), []onnx.NewNode{node("MatMul", "rows", "weights", "pos")}, 0.25, "position table of 12 rows of 4 ×24"},
		{"weights that are no means", noise("pos", 12, 4), []onnx.NewNode{node("MatMul", "rows", "weights", "pos")}, 0.5, "position table of 24 rows of 4 ×24"},
		{"a grid", noise("pos", 1, 3, 4, 4), []onnx.NewNode{node("Reshape", "flat", "pos", "flat shape"), node("MatMul", "rows", "weights", "flat")}, 0.25, "position table of 12 rows of 4, grid 3×4 ×24"},
		{"a grid behind its columns", noise("pos", 1, 4, 3, 4), []onnx.NewNode{node("Reshape", "flat", "pos", "flat shape"), withInts(node("Transpose", "turned", "flat"), "perm", []int64{1, 0}), node("MatMul", "rows", "weights", "turned")}, 0.25, "position table of 12 rows of 4, grid 3×4 ×24"},
		{"columns mixed as well", noise("pos", 12, 4), []onnx.NewNode{node("MatMul", "between", "weights", "pos"), node("MatMul", "rows", "between", "W")}, 0.25, "position table of 24 rows of 4 ×24"},
		{"behind a function", noise("pos", 12, 4), []onnx.NewNode{node("MatMul", "between", "weights", "pos"), node("Tanh", "rows", "between")}, 0.25, "position table of 24 rows of 4 ×24"},
	} {
		m := built(t, func(m *onnx.NewModel) {
			m.Inputs = []onnx.NewValue{{Name: "pixel_values", Type: onnx.Float, Dims: []int64{24, 12}}}
			m.Outputs = []onnx.NewValue{{Name: "h", Type: onnx.Float, Dims: []int64{24, 4}}}
			shape := []int64{12, 4}
			if strings.HasSuffix(c.name, "columns") {
				shape = []int64{4, 12}
			}
			m.Initializers = []onnx.NewTensor{noise("patch", 12, 4), noise("W", 4, 4), c.table, integers("flat shape", shape...), floats("weights", []int64{24, 12}, func(i int) float64 {
				return map[int]float64{0: 0.5, 1: 0.25, 5: c.last}[((i%12-i/12*7)%12+12)%12]
			})}
			m.Nodes = slices.Concat([]onnx.NewNode{node("MatMul", "x", "pixel_values", "patch")}, c.steps, []onnx.NewNode{node("Add", "h", "x", "rows")})
		})
		if got := found(m); got != c.want {
			t.Errorf("%s: found %q, want %q", c.name, got, c.want)
		}
	}
}

// Patches that stand in blocks of two by two turn by the rows and columns of their grid; those of another grid are not made up.
func TestMergedPatches(t *testing.T) {
	m := built(t, func(m *onnx.NewModel) {
		place := func(row int) [2]int { return [2]int{row/12*2 + row%4/2, row/4%3*2 + row%2} } // of 4×6 patches
		angle := func(i int) float64 { return float64(place(i / 16)[i%8/4]) * math.Pow(10000, -float64(i%4)/4) }
		m.Inputs = []onnx.NewValue{{Name: "hidden_states", Type: onnx.Float, Dims: []int64{24, 12}}}
		m.Outputs = []onnx.NewValue{{Name: "h", Type: onnx.Float, Dims: []int64{24, 24}}}
		m.Initializers = []onnx.NewTensor{noise("wq", 12, 16), noise("wk", 12, 16), integers("0", 0), integers("1", 1), integers("8", 8), integers("16", 16),
			floats("cos", []int64{24, 16}, func(i int) float64 { return math.Cos(angle(i)) }), floats("sin", []int64{24, 16}, func(i int) float64 { return math.Sin(angle(i)) })}
		m.Nodes = nil
		for _, of := range []string{"q", "k"} {
			m.Nodes = append(m.Nodes, node("MatMul", of, "hidden_states", "w"+of), node("Slice", of+"1", of, "0", "8", "1"), node("Slice", of+"2", of, "8", "16", "1"), node("Neg", of+"n", of+"2"),
				withInts(node("Concat", of+"t", of+"n", of+"1"), "axis", int64(-1)), node("Mul", of+"c", of, "cos"), node("Mul", of+"s", of+"t", "sin"), node("Add", of+"r", of+"c", of+"s"))
		}
		m.Nodes = append(m.Nodes, withInts(node("Transpose", "kt", "kr"), "perm", []int64{1, 0}), node("MatMul", "s", "qr", "kt"), withInts(node("Softmax", "h", "s"), "axis", int64(-1)))
	})
	if got, want := found(m), "RoPE base 10000, rotary dim 16, half, by row and column of 4×6 patches ×24"; got != want {
		t.Errorf("found %q, want %q", got, want)
	}
	if i := slices.IndexFunc(m.Findings(), func(f report.Finding) bool { return f.Rule == "onnx-cache-unexplained" }); i >= 0 {
		t.Error(m.Findings()[i])
	}
	_, err := position.ResizeGrid(m, position.GridOptions{Height: 8, Width: 6})
	if err == nil || !strings.Contains(err.Error(), "order of their own") {
		t.Errorf("another grid: %v", err)
	}
}

// TestSectionsOfFrequencies: each row of positions has frequencies of its own pairs alone, in one constant, and the halves of a head turn
// one by the sines and the other by their negation: that is one rotation, and its sections are told.
func TestSectionsOfFrequencies(t *testing.T) {
	m := built(t, func(m *onnx.NewModel) {
		type dims = []int64
		m.Inputs = []onnx.NewValue{{Name: "ids", Type: onnx.Int64, Dims: dims{1, -1}}, {Name: "position_ids", Type: onnx.Int64, Dims: dims{3, 1, -1}}}
		m.Outputs = []onnx.NewValue{{Name: "h", Type: onnx.Float, Dims: dims{1, -1, 16}}}
		m.Initializers = []onnx.NewTensor{noise("wte", 32, 16), noise("wq", 16, 16), noise("wk", 16, 16), integers("zero", 0), integers("three", 3), integers("8", 8), integers("16", 16), integers("2", 2),
			floats("f", dims{3, 1, 1, 8}, func(i int) float64 {
				if k := i % 8; k%3 == i/8 { // interleaved
					return math.Pow(10000, -float64(k)/8)
				}
				return 0
			})}
		m.Nodes = []onnx.NewNode{node("Gather", "te", "wte", "ids"), node("Unsqueeze", "p", "position_ids", "three"), withInts(node("Cast", "x", "p"), "to", int64(onnx.Float)), node("Mul", "each", "x", "f"),
			withInts(node("ReduceSum", "angles", "each", "zero"), "keepdims", int64(0)), node("Cos", "cos", "angles"), node("Sin", "sin", "angles"), node("Neg", "nis", "sin")}
		for _, of := range []string{"q", "k"} {
			m.Nodes = append(m.Nodes, node("MatMul", of, "te", "w"+of), node("Slice", of+"1", of, "zero", "8", "2"), node("Slice", of+"2", of, "8", "16", "2"),
				node("Mul", of+"3", of+"1", "cos"), node("Mul", of+"4", of+"2", "sin"), node("Add", of+"5", of+"3", of+"4"),
				node("Mul", of+"6", of+"1", "nis"), node("Mul", of+"7", of+"2", "cos"), node("Add", of+"8", of+"6", of+"7"), withInts(node("Concat", of+"r", of+"5", of+"8"), "axis", int64(-1)))
		}
		m.Nodes = append(m.Nodes, withInts(node("Transpose", "kt", "kr"), "perm", dims{0, 2, 1}), node("MatMul", "s", "qr", "kt"), withInts(node("Softmax", "w", "s"), "axis", int64(-1)), node("MatMul", "h", "w", "te"))
	})
	if got, want := found(m), "RoPE base 10000, rotary dim 16, half, sections 3+3+2"; got != want {
		t.Errorf("found %q, want %q", got, want)
	}
}

// turnedFour turns the four columns of a value in halves, by "cos" and "sin", into one whose name begins as those between.
func turnedFour(x, of string) []onnx.NewNode {
	return []onnx.NewNode{node("Slice", of+"a", x, "0", "half", "2"), node("Slice", of+"b", x, "half", "4", "2"), node("Neg", of+"minus", of+"b"),
		withInts(node("Concat", of+"other", of+"minus", of+"a"), "axis", int64(-1)), node("Mul", of+"kept", x, "cos"), node("Mul", of+"swung", of+"other", "sin"), node("Add", of+"turned", of+"kept", of+"swung")}
}

// TestRestOfAHeadUnseen: keys turn as queries do, and beside values that are turned alone the rest of the head is not seen: one rotation of a
// part of each head.
func TestRestOfAHeadUnseen(t *testing.T) {
	m := built(t, func(m *onnx.NewModel) {
		type dims = []int64
		text(m, 6, 8)
		angle := func(i int) float64 { return float64(i/4) * math.Pow(10000, -float64(i%2)/2) }
		m.Initializers = append(m.Initializers, noise("V", 4, 8), integers("0", 0), integers("half", 2), integers("4", 4), integers("8", 8), integers("2", 2),
			floats("cos", dims{6, 4}, func(i int) float64 { return math.Cos(angle(i)) }), floats("sin", dims{6, 4}, func(i int) float64 { return math.Sin(angle(i)) }))
		m.Nodes = []onnx.NewNode{node("Gather", "te", "wte", "ids"), node("MatMul", "q", "te", "W")}
		for _, of := range []string{"q", "te"} {
			m.Nodes = append(m.Nodes, node("Slice", of+"x", of, "0", "4", "2"), node("Slice", of+"rest", of, "4", "8", "2"))
			m.Nodes = append(m.Nodes, turnedFour(of+"x", of)...)
		}
		m.Nodes = append(m.Nodes, withInts(node("Concat", "queries", "qturned", "qrest"), "axis", int64(-1)), withInts(node("Transpose", "kt", "queries"), "perm", dims{0, 2, 1}), node("MatMul", "s", "queries", "kt"),
			withInts(node("Softmax", "w", "s"), "axis", int64(-1)), node("MatMul", "values", "teturned", "V"), node("MatMul", "h", "w", "values"))
	})
	if got, want := found(m), "RoPE base 10000, rotary dim 4 of 8, half ×6"; got != want {
		t.Errorf("found %q, want %q", got, want)
	}
}

// TestHalvesOfACache: where one half of a pair turns by the sines of a cache and the other one by their negation, it is one rotation.
func TestHalvesOfACache(t *testing.T) {
	m := built(t, func(m *onnx.NewModel) {
		freeText(m, 8)
		angle := func(i int) float64 { return float64(i/4) * math.Pow(10000, -float64(i%4)/4) }
		m.Initializers = append(m.Initializers, noise("Q", 8, 8), integers("0", 0), integers("4", 4), integers("8", 8), integers("2", 2),
			floats("all cos", []int64{20, 4}, func(i int) float64 { return math.Cos(angle(i)) }), floats("all sin", []int64{20, 4}, func(i int) float64 { return math.Sin(angle(i)) }))
		m.Nodes = append(m.Nodes, node("Gather", "cos", "all cos", "p"), node("Gather", "sin", "all sin", "p"), node("Neg", "nis", "sin"), node("MatMul", "q", "te", "Q"), node("Slice", "a", "q", "0", "4", "2"), node("Slice", "b", "q", "4", "8", "2"),
			node("Mul", "ac", "a", "cos"), node("Mul", "bs", "b", "sin"), node("Add", "first", "ac", "bs"), node("Mul", "as", "a", "nis"), node("Mul", "bc", "b", "cos"), node("Add", "second", "as", "bc"),
			withInts(node("Concat", "turned", "first", "second"), "axis", int64(-1)), withInts(node("Transpose", "kt", "turned"), "perm", []int64{0, 2, 1}), node("MatMul", "scores", "turned", "kt"), withInts(node("Softmax", "w", "scores"), "axis", int64(-1)), node("MatMul", "h0", "w", "te"))
	})
	if got, want := found(m), "RoPE base 10000, rotary dim 8, half ×20"; got != want {
		t.Errorf("found %q, want %q", got, want)
	}
}

// TestHeadsOfLayersApart: layers that turn as many elements by the same frequencies, one of its whole heads and the other of a part, are two rotations.
func TestHeadsOfLayersApart(t *testing.T) {
	m := built(t, func(m *onnx.NewModel) {
		type dims = []int64
		text(m, 6, 8)
		angle := func(i int) float64 { return float64(i/4) * math.Pow(10000, -float64(i%2)/2) }
		m.Initializers = append(m.Initializers, noise("few", 8, 4), integers("0", 0), integers("half", 2), integers("4", 4), integers("8", 8), integers("2", 2),
			floats("cos", dims{6, 4}, func(i int) float64 { return math.Cos(angle(i)) }), floats("sin", dims{6, 4}, func(i int) float64 { return math.Sin(angle(i)) }))
		m.Nodes = []onnx.NewNode{node("Gather", "te", "wte", "ids"), node("MatMul", "q", "te", "W"), node("Slice", "x", "q", "0", "4", "2"), node("Slice", "rest", "q", "4", "8", "2"), node("MatMul", "y", "te", "few")}
		for _, of := range []string{"x", "y"} {
			m.Nodes = append(m.Nodes, turnedFour(of, of)...)
		}
		m.Nodes = append(m.Nodes, withInts(node("Concat", "whole", "xturned", "rest"), "axis", int64(-1)))
		for _, of := range []string{"whole", "yturned"} {
			m.Nodes = append(m.Nodes, withInts(node("Transpose", of+"t", of), "perm", dims{0, 2, 1}), node("MatMul", of+"s", of, of+"t"), withInts(node("Softmax", of+"w", of+"s"), "axis", int64(-1)), node("MatMul", of+"h", of+"w", "te"))
		}
		m.Nodes = append(m.Nodes, node("Add", "h", "wholeh", "yturnedh"))
	})
	if got, want := found(m), "RoPE base 10000, rotary dim 4 of 8, half ×6; RoPE base 10000, rotary dim 4, half ×6"; got != want {
		t.Errorf("found %q, want %q", got, want)
	}
}
