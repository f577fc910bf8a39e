package onnxpos

import (
	"errors"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/onnxpos/rotary"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// TestFactorBehindProducts: a number that both products of a rotation are multiplied with is a part of its amplitude, and leaves it
// with the rotation. Tables have no place for it.
func TestFactorBehindProducts(t *testing.T) {
	path := cases + "rope-factor.onnx"
	linear := func(m position.Model) (position.Outcome, error) {
		return position.Extend(m, position.ExtendOptions{Length: 80, OriginalLength: 40, Method: schemes.ScalingLinear})
	}
	before, after := changed(t, path, linear)
	turnsBy(t, before.Sites()[0], plain(10000, 8), 1.25, 1e-5, 40)
	turnsBy(t, after.Sites()[0], func(i int) float64 { return plain(10000, 8)(i) / 2 }, 1.25, 1e-5, 80)
	neutral := opened(t, path).Sites()[0].(*rotary.Site).Neutral()
	if !slices.Contains(slices.Collect(maps.Values(neutral)), 1/1.25) {
		t.Errorf("%v: cosines with which nothing is turned are not 1 behind the factor", neutral)
	}
	refuses(t, path, "one more number behind", func(m position.Model) (position.Outcome, error) {
		return position.Bake(m, position.BakeOptions{Length: 40})
	})
	refuses(t, path, "one more number behind", func(m position.Model) (position.Outcome, error) { return position.ToOperators(m, "contrib") })
}

// refuses makes a change that is to be refused for a reason.
func refuses(t *testing.T, path, why string, verb func(position.Model) (position.Outcome, error)) {
	t.Helper()
	if _, err := verb(opened(t, path)); err == nil || !strings.Contains(err.Error(), why) {
		t.Errorf("%v, want it refused: %s", err, why)
	}
}

// TestCachesPutTogether: cosines and sines that have a table each, and stand beside each other before they are taken apart, are computed, stored again and
// made longer.
func TestCachesPutTogether(t *testing.T) {
	path := cases + "rope-apart.onnx"
	_, longer := changed(t, path, func(m position.Model) (position.Outcome, error) {
		return position.Extend(m, position.ExtendOptions{Length: 40})
	})
	turnsBy(t, longer.Sites()[0], plain(10000, 8), 1, 1e-5, 40)
}

// TestRowsThatAreAdded: rows that a Scatter adds, or a product with an eye takes, are as many as are wanted.
func TestRowsThatAreAdded(t *testing.T) {
	for _, name := range []string{"added-scattered", "added-eye"} {
		_, after := changed(t, cases+name+".onnx", func(m position.Model) (position.Outcome, error) {
			return position.Extend(m, position.ExtendOptions{Length: 40})
		})
		if l := position.Length(after, after.Describe()); l.Capacity == nil || *l.Capacity != 40 {
			t.Errorf("%s: %+v, want 40 positions", name, l)
		}
	}
}

// TestSinkOfOneNumber: of two rotations the one slides whose scores have a trained number beside them.
func TestSinkOfOneNumber(t *testing.T) {
	m := built(t, func(n *onnx.NewModel) {
		attending(n, []float64{10000, 1e6}, []string{"sliding", "causal"})
		n.Initializers = append(n.Initializers, floats("sink", []int64{1, 1, 1}, func(int) float64 { return 0.5 }), integers("from", 0), integers("to", -1), integers("along", 2))
		i := slices.IndexFunc(n.Nodes, func(x onnx.NewNode) bool { return x.Op == "Softmax" })
		scores, weights := n.Nodes[i].Inputs[0], n.Nodes[i].Outputs[0]
		n.Nodes[i].Inputs, n.Nodes[i].Outputs = []string{"less"}, []string{"with sink"}
		n.Nodes = slices.Insert(n.Nodes, i+1, node("Slice", weights, "with sink", "from", "to", "along"))
		n.Nodes = slices.Insert(n.Nodes, i, node("Shape", "sizes", scores), integerSlice("of rows", "sizes"), withInts(node("Concat", "as rows", "of rows", "single"), "axis", int64(0)), node("Expand", "sinks", "sink", "as rows"),
			withInts(node("Concat", "joined", scores, "sinks"), "axis", int64(-1)), withInts(node("ReduceMax", "top", "joined"), "axes", []int64{-1}), node("Sub", "less", "joined", "top"))
		n.Initializers = append(n.Initializers, integers("single", 1), integers("none", 0), integers("two places", 2))
	})
	o, err := position.Rescale(m, position.RescaleOptions{Base: 5e6})
	if err != nil || len(o.Changes) == 0 || o.Changes[0].Encoding != "e1" {
		t.Errorf("%+v, %v: want the base of the rotation that sees everything changed", o.Changes, err)
	}
}

// integerSlice are the first two sizes of a shape.
func integerSlice(out, shape string) onnx.NewNode {
	return node("Slice", out, shape, "none", "two places", "none")
}

// TestPositionsWithFractions: positions that come in as numbers with fractions have no rows.
func TestPositionsWithFractions(t *testing.T) {
	path := saved(t, func(m *onnx.NewModel) {
		waved(m, false, []onnx.NewTensor{floats("f", []int64{4}, func(k int) float64 { return math.Pow(10000, -float64(k)/4) }), integers("columns", 2)},
			node("Unsqueeze", "column", "positions", "columns"), node("Mul", "angle", "column", "f"), node("Sin", "sin", "angle"), node("Cos", "cos", "angle"), withInts(node("Concat", "pe", "sin", "cos"), "axis", int64(-1)))
		m.Inputs = append(m.Inputs, onnx.NewValue{Name: "positions", Type: onnx.Float, Dims: []int64{1, -1}})
	})
	_, err := position.Bake(openFile(t, path), position.BakeOptions{Length: 24})
	if _, refused := errors.AsType[*position.Refusal](err); !refused || !strings.Contains(err.Error(), "fractions") {
		t.Errorf("%v: a refusal is wanted", err)
	}
}

// TestTablesOfZeros: a table that was never trained is one, with the rows that it has; what adds −0, kinds of tokens and masks of zeros are none.
func TestTablesOfZeros(t *testing.T) {
	zeros := func(m *onnx.NewModel) {
		m.Initializers[1] = floats("wpe", []int64{16, 4}, func(int) float64 { return 0 })
	}
	for _, c := range []struct {
		name   string
		change func(m *onnx.NewModel)
		want   string
	}{
		{"never trained", func(m *onnx.NewModel) { zeros(m); free(m) }, "position table of 16 rows of 4 ×16"},
		{"emptied", func(m *onnx.NewModel) {
			m.Initializers[1] = floats("wpe", []int64{16, 4}, func(int) float64 { return math.Copysign(0, -1) })
		}, "none"},
		{"kinds of tokens", func(m *onnx.NewModel) {
			zeros(m)
			m.Initializers = append(m.Initializers, integers("kinds", 0, 0, 0, 0, 0, 0))
			m.Nodes[3] = node("Gather", "pe", "wpe", "kinds")
		}, "none"},
		{"a mask", func(m *onnx.NewModel) {
			m.Initializers = append(m.Initializers, floats("mask", []int64{1, 6, 6}, func(int) float64 { return 0 }), noise("W", 4, 4))
			m.Nodes = slices.Concat([]onnx.NewNode{node("Gather", "te", "wte", "ids")}, oneHead("", "te", "te"), []onnx.NewNode{node("MatMul", "h", "seen", "W")})
			i := slices.IndexFunc(m.Nodes, func(n onnx.NewNode) bool { return n.Op == "Softmax" })
			scores := m.Nodes[i].Inputs[0]
			m.Nodes[i].Inputs = []string{"masked"}
			m.Nodes = slices.Insert(m.Nodes, i, node("Add", "masked", scores, "mask"))
		}, "none"},
		{"between two sequences", func(m *onnx.NewModel) {
			m.Inputs = append(m.Inputs, onnx.NewValue{Name: "states", Type: onnx.Float, Dims: []int64{1, 9, 4}})
			m.Initializers = append(m.Initializers[:1], floats("bias", []int64{1, 6, 9}, func(int) float64 { return 0 }), noise("W", 4, 4))
			m.Nodes = slices.Concat([]onnx.NewNode{node("Gather", "te", "wte", "ids")}, oneHead("", "te", "states"), []onnx.NewNode{node("MatMul", "h", "seen", "W")})
			i := slices.IndexFunc(m.Nodes, func(n onnx.NewNode) bool { return n.Op == "Softmax" })
			m.Nodes[i].Inputs = []string{"biased"}
			m.Nodes = slices.Insert(m.Nodes, i, node("Add", "biased", "scores", "bias"))
		}, "none"},
		{"between queries of the model and a sequence", func(m *onnx.NewModel) {
			m.Initializers = append(m.Initializers[:1], floats("bias", []int64{1, 3, 6}, func(int) float64 { return 0 }), noise("objects", 1, 3, 4), noise("W", 4, 4))
			m.Outputs[0].Dims = []int64{1, 3, 4}
			m.Nodes = slices.Concat([]onnx.NewNode{node("Gather", "te", "wte", "ids")}, oneHead("", "objects", "te"), []onnx.NewNode{node("MatMul", "h", "seen", "W")})
			i := slices.IndexFunc(m.Nodes, func(n onnx.NewNode) bool { return n.Op == "Softmax" })
			m.Nodes[i].Inputs = []string{"biased"}
			m.Nodes = slices.Insert(m.Nodes, i, node("Add", "biased", "scores", "bias"))
		}, "none"},
		{"states of a batch", func(m *onnx.NewModel) { begun(m, []int64{2, 6}, 1) }, "none"},
		{"states of a batch behind positions", func(m *onnx.NewModel) {
			begun(m, []int64{6, 2}, 0)
			m.Initializers = append(m.Initializers, noise("W", 4, 4))
			m.Nodes = slices.Concat(m.Nodes[:1], []onnx.NewNode{withInts(node("Transpose", "turned", "te"), "perm", []int64{1, 0, 2})}, oneHead("", "turned", "turned"), m.Nodes[1:])
			m.Nodes[len(m.Nodes)-1] = node("Add", "h", "seen", "row")
		}, "none"},
	} {
		m := built(t, c.change)
		if got := found(m); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		untrained := slices.ContainsFunc(m.Sites()[0].Encoding().Evidence, func(e report.Evidence) bool { return strings.Contains(e.Says, "not trained") })
		if untrained != (c.want != "none") {
			t.Errorf("%s: told as not trained: %t", c.name, untrained)
		}
	}
}

// begun has a graph of two sequences add what one begins with, zeros and its first token, to each of its tokens.
func begun(m *onnx.NewModel, ids []int64, positions int64) {
	m.Inputs[0].Dims, m.Outputs[0].Dims = ids, []int64{2, 6, 4}
	m.Initializers = append(m.Initializers[:1], integers("zero", 0), integers("axes", 1), floats("state", []int64{2, 4}, func(int) float64 { return 0 }))
	m.Initializers[1].Dims = nil
	m.Nodes = []onnx.NewNode{node("Gather", "te", "wte", "ids"), withInts(node("Gather", "first", "te", "zero"), "axis", positions), node("Add", "begun", "first", "state"),
		node("Unsqueeze", "row", "begun", "axes"), node("Add", "h", "te", "row")}
}

// TestOneFreeSide: a picture with one free side is of no one size.
func TestOneFreeSide(t *testing.T) {
	m := built(t, func(m *onnx.NewModel) {
		m.Inputs = []onnx.NewValue{{Name: "pixel_values", Type: onnx.Float, Dims: []int64{1, 3, 16, -1}}}
		m.Outputs[0].Dims = []int64{1, 4, 8, -1}
		m.Initializers = []onnx.NewTensor{noise("filter", 4, 3, 2, 2)}
		m.Nodes = []onnx.NewNode{withInts(node("Conv", "h", "pixel_values", "filter"), "strides", []int64{2, 2})}
	})
	if l := position.Length(m, m.Describe()); found(m) != "none" || l.Beyond != report.BeyondContinues {
		t.Errorf("%s, %+v", found(m), l)
	}
}

// TestFeaturesBesidePositions: rows that a second input without a name takes are those of positions only where the graph adds none of its own.
func TestFeaturesBesidePositions(t *testing.T) {
	for want, own := range map[string]bool{"position table of 16 rows of 4 ×16": true, "position table of 24 rows of 4 ×24": false} {
		m := built(t, func(m *onnx.NewModel) {
			free(m)
			m.Inputs = append(m.Inputs, onnx.NewValue{Name: "input_1", Type: onnx.Int64, Dims: []int64{1, -1}})
			m.Initializers = append(m.Initializers, noise("hours", 24, 4), noise("W", 4, 4))
			m.Nodes[5] = node("Add", "x", "te", "pe")
			if !own {
				m.Nodes[5] = node("Identity", "x", "te")
			}
			m.Nodes = append(m.Nodes, node("Gather", "hour", "hours", "input_1"), node("Add", "y", "x", "hour"), node("MatMul", "h", "y", "W"))
		})
		if got := found(m); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
