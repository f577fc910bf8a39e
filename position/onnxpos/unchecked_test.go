package onnxpos

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/position/onnxpos/fault"
	"github.com/modelpatch/modelpatch/report"
)

// attendingBy makes the model one of 6 tokens that attend to each other; what stands between the parts of the attention is the caller's.
func attendingBy(m *onnx.NewModel, weights string, between ...onnx.NewNode) {
	m.Inputs[0].Dims[1] = 6
	m.Outputs[0].Dims = []int64{1, 6, 4}
	m.Initializers = append(m.Initializers[:1:1], noise("Q", 4, 4), noise("K", 4, 4))
	m.Nodes = append([]onnx.NewNode{node("Gather", "x", "wte", "ids"), node("MatMul", "q", "x", "Q"), node("MatMul", "k", "x", "K")}, between...)
	m.Nodes = append(m.Nodes, node("MatMul", "h", weights, "x"))
}

// TestUncheckedAttention: attention that is more than a sum over positions by their scores is not run as one, and says why.
func TestUncheckedAttention(t *testing.T) {
	scores := []onnx.NewNode{withInts(node("Transpose", "kt", "k"), "perm", []int64{0, 2, 1}), node("MatMul", "scores", "q", "kt")}
	softmax := withInts(node("Softmax", "weights", "scores"), "axis", int64(-1))
	for _, c := range []struct {
		name   string
		change func(m *onnx.NewModel)
		says   string // "": it is run
	}{
		{"plain", func(m *onnx.NewModel) { attendingBy(m, "weights", append(scores, softmax)...) }, ""},
		{"weights that are masked", func(m *onnx.NewModel) {
			attendingBy(m, "seen", append(scores, softmax, node("Mul", "seen", "weights", "mask"))...)
			m.Initializers = append(m.Initializers, floats("mask", []int64{6, 6}, func(i int) float64 { return float64(1 - max(min(i%6-i/6, 1), 0)) }))
		}, "changes the weights"},
		{"weights that are scaled alike", func(m *onnx.NewModel) {
			attendingBy(m, "seen", append(scores, softmax, node("Mul", "seen", "weights", "ones"))...)
			m.Initializers = append(m.Initializers, floats("ones", []int64{6, 6}, func(int) float64 { return 1 }))
		}, ""},
		{"keys of several positions", func(m *onnx.NewModel) {
			attendingBy(m, "all", node("Reshape", "pairs", "k", "cut"), withInts(withInts(node("ReduceMean", "landmarks", "pairs"), "axes", []int64{2}), "keepdims", int64(0)),
				withInts(node("Transpose", "kt", "landmarks"), "perm", []int64{0, 2, 1}), node("MatMul", "scores", "q", "kt"), softmax, node("Tile", "all", "weights", "twice"))
			m.Initializers = append(m.Initializers, integers("cut", 1, 3, 2, 4), integers("twice", 1, 1, 2))
		}, "of several positions"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := built(t, c.change).Attentions()
			if len(a) != 1 || (a[0].Unsupported == "") != (c.says == "") || !strings.Contains(a[0].Unsupported, c.says) {
				t.Errorf("%d attentions, %q, want %q", len(a), a[0].Unsupported, c.says)
			}
		})
	}
}

// TestNormalisedTurn: queries that are normalised behind their rotation are not checked as if they were turned alone.
func TestNormalisedTurn(t *testing.T) {
	for _, normalised := range []bool{false, true} {
		m := built(t, func(m *onnx.NewModel) {
			angle := func(i int) float64 { return float64(i/4) * math.Pow(100, -float64(i%2)/2) }
			halves := withInts(node("Split", "a", "q", "halves"), "axis", int64(-1))
			halves.Outputs = append(halves.Outputs, "b")
			query := "turned"
			nodes := []onnx.NewNode{halves, node("Neg", "minus", "b"), withInts(node("Concat", "other", "minus", "a"), "axis", int64(-1)), node("Mul", "qc", "q", "c"), node("Mul", "qs", "other", "s"), node("Add", "turned", "qc", "qs")}
			if normalised {
				nodes, query = append(nodes, node("LayerNormalization", "even", "turned", "gain", "shift")), "even"
			}
			nodes = append(nodes, withInts(node("Transpose", "kt", "k"), "perm", []int64{0, 2, 1}), node("MatMul", "scores", query, "kt"), withInts(node("Softmax", "weights", "scores"), "axis", int64(-1)))
			attendingBy(m, "weights", nodes...)
			m.Initializers = append(m.Initializers, integers("halves", 2, 2), noise("gain", 4), noise("shift", 4),
				floats("c", []int64{6, 4}, func(i int) float64 { return math.Cos(angle(i)) }), floats("s", []int64{6, 4}, func(i int) float64 { return math.Sin(angle(i)) }))
		})
		if got := found(m); !strings.Contains(got, "RoPE base 100") {
			t.Fatal(got)
		}
		if a := m.Attentions(); len(a) != 1 || strings.Contains(a[0].Unsupported, "normalised") != normalised {
			t.Errorf("normalised %v: %q", normalised, a[0].Unsupported)
		}
	}
}

// TestPositionsByAnyName: an input whose rows are added to those of tokens, or of which sines are made, holds positions where its
// name does not say something else, which is told; kinds of tokens do not.
func TestPositionsByAnyName(t *testing.T) {
	for _, c := range []struct {
		name string
		rows int64
		want string
	}{{"in_1", 20, "position table of 20 rows of 4 ×20"}, {"in_1", 2, ""}, {"token_type_ids", 20, ""}, {"pitch", 20, ""}} {
		m := built(t, func(m *onnx.NewModel) {
			m.Inputs[0].Name = "in_0"
			m.Inputs = append(m.Inputs, onnx.NewValue{Name: c.name, Type: onnx.Int64, Dims: m.Inputs[0].Dims})
			m.Initializers = []onnx.NewTensor{noise("wte", 32, 4), noise("wpe", c.rows, 4), noise("Q", 4, 4)}
			m.Nodes = []onnx.NewNode{node("Gather", "te", "wte", "in_0"), node("Gather", "pe", "wpe", c.name), node("Add", "x", "te", "pe"), node("MatMul", "q", "x", "Q"), withInts(node("Transpose", "kt", "x"), "perm", []int64{0, 2, 1}),
				node("MatMul", "scores", "q", "kt"), withInts(node("Softmax", "weights", "scores"), "axis", int64(-1)), node("MatMul", "h", "weights", "x")}
		})
		if got := found(m); strings.Contains(got, "position table") != (c.want != "") || c.want != "" && got != c.want {
			t.Errorf("%s of %d rows: %q, want %q", c.name, c.rows, got, c.want)
		}
		if told := slices.ContainsFunc(m.Findings(), func(f report.Finding) bool { return f.Rule == fault.PositionsAssumed.ID }); told != (c.want != "") {
			t.Errorf("%s of %d rows: told as assumed: %v", c.name, c.rows, told)
		}
	}
}
