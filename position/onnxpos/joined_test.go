package onnxpos

import (
	"math"
	"strings"
	"testing"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
)

// freeText makes the model of built one of any length, with its state te of the given width.
func freeText(m *onnx.NewModel, width int64) {
	m.Inputs[0].Dims = []int64{1, -1}
	m.Outputs[0].Dims = []int64{1, -1, width}
	m.Initializers = []onnx.NewTensor{noise("wte", 32, width), noise("W", width, width), m.Initializers[2], m.Initializers[3]}
	m.Nodes = []onnx.NewNode{m.Nodes[0], m.Nodes[1], m.Nodes[2], node("Gather", "te", "wte", "ids"), node("MatMul", "h", "h0", "W")}
}

// inParts adds rows of a table that stands in constants of so many rows.
func inParts(m *onnx.NewModel, rows ...int64) {
	freeText(m, 8)
	var names []string
	for _, n := range rows {
		name := string(rune('A' + len(names)))
		names = append(names, name)
		m.Initializers = append(m.Initializers, floats(name, []int64{n, 8}, func(i int) float64 { return math.Sin(float64(i*i*(len(names)+1) + len(names))) }))
	}
	m.Nodes = append(m.Nodes, withInts(node("Concat", "table", names...), "axis", int64(0)), node("Gather", "pe", "table", "p"), node("Add", "h0", "te", "pe"))
}

// behindRows adds sines and cosines that the graph computes, behind rows of a constant.
func behindRows(m *onnx.NewModel, rows int64, at func(i int) float64) {
	freeText(m, 8)
	m.Initializers = append(m.Initializers, floats("frequencies", []int64{1, 4}, func(i int) float64 { return math.Pow(10000, -float64(i)/4) }), integers("last", -1),
		floats("own", []int64{rows, 8}, at), integers("own rows", rows), integers("end", 1<<30), integers("first", 0), integers("begin", 1))
	m.Nodes = append(m.Nodes, withInts(node("Cast", "pf", "p"), "to", int64(onnx.Float)), node("Unsqueeze", "column", "pf", "last"), node("Mul", "angles", "column", "frequencies"),
		node("Sin", "sin", "angles"), node("Cos", "cos", "angles"), withInts(node("Concat", "waves", "sin", "cos"), "axis", int64(-1)),
		withInts(node("Concat", "more", "own", "waves"), "axis", int64(0)), node("Slice", "pe", "more", "first", "n of them", "first"), node("Add", "h0", "te", "pe"),
		node("Unsqueeze", "n of them", "n", "first"))
}

// TestJoinedRows reads rows that the graph joins of several constants, or of a constant and numbers that it computes.
func TestJoinedRows(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(m *onnx.NewModel)
		found  string
		beyond string
	}{
		{"two halves", func(m *onnx.NewModel) { inParts(m, 24, 24) }, "position table of 48 rows of 8 ×48", report.BeyondError},
		{"three parts", func(m *onnx.NewModel) { inParts(m, 12, 30, 20) }, "position table of 62 rows of 8 ×62", report.BeyondError},
		{"halves of columns", func(m *onnx.NewModel) {
			inParts(m, 24, 24)
			m.Initializers[4].Dims, m.Initializers[5].Dims = []int64{48, 4}, []int64{48, 4}
			m.Nodes[5] = withInts(node("Concat", "table", "A", "B"), "axis", int64(1))
		}, "position table of 48 rows of 8 ×48", report.BeyondError},
		{"a first row apart", func(m *onnx.NewModel) { inParts(m, 1, 40) }, "position table of 41 rows of 8 ×41", report.BeyondError},
		{"the last row again", func(m *onnx.NewModel) {
			inParts(m, 24)
			m.Initializers = append(m.Initializers, integers("23", 23), integers("40 rows", 40, 8))
			m.Nodes[5].Inputs = []string{"A", "repeated"}
			m.Nodes = append(m.Nodes, node("Gather", "end", "A", "23"), node("Expand", "repeated", "end", "40 rows"))
		}, "position table of 24 rows of 8 ×24", "clamps"},
		{"its rows backwards", func(m *onnx.NewModel) {
			inParts(m, 24)
			m.Initializers = append(m.Initializers, integers("-1", -1), integers("first", math.MinInt64), integers("0", 0))
			m.Nodes[5].Inputs = []string{"A", "backwards"}
			m.Nodes = append(m.Nodes, node("Slice", "backwards", "A", "-1", "first", "0", "-1"))
		}, "position table of 24 rows of 8 ×24", report.BeyondWrong},
		{"zeros ahead of sines", func(m *onnx.NewModel) { behindRows(m, 1, func(int) float64 { return 0 }) }, "sinusoids of base 10000, dim 8, sin-cos, denominator d/2, position 0 at row 1", report.BeyondContinues},
		{"a trained row ahead of sines", func(m *onnx.NewModel) { behindRows(m, 1, cosineOf) }, "sinusoids of base 10000, dim 8, sin-cos, denominator d/2, position 0 at row 1", report.BeyondContinues},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := built(t, c.change)
			if got := found(m); got != c.found {
				t.Errorf("found %q, want %q", got, c.found)
			}
			if got := m.Sites()[0].Encoding().Beyond; got != c.beyond {
				t.Errorf("beyond %q, want %q", got, c.beyond)
			}
		})
	}
}

// cosineOf is a number without order.
func cosineOf(i int) float64 { return math.Cos(float64(i * i)) }

// TestJoinedRowsStay refuses to store rows in several constants.
func TestJoinedRowsStay(t *testing.T) {
	m := built(t, func(m *onnx.NewModel) { inParts(m, 24, 24) })
	_, err := position.Extend(m, position.ExtendOptions{Length: 96, Method: "repeat-last"})
	if err == nil || !strings.Contains(err.Error(), "its rows stand in several constants") {
		t.Errorf("extended: %v", err)
	}
}

// TestSinesAddedAgain tells sines and cosines once that the graph computes, adds, and adds again as weights make them.
func TestSinesAddedAgain(t *testing.T) {
	m := built(t, func(m *onnx.NewModel) {
		behindRows(m, 1, cosineOf)
		m.Initializers = append(m.Initializers, noise("V", 8, 8), noise("U", 8, 8))
		for i := range m.Nodes {
			switch m.Nodes[i].Outputs[0] {
			case "h":
				m.Nodes[i].Outputs[0] = "h1"
			case "h0":
				m.Nodes[i].Inputs[1] = "waves"
			}
		}
		m.Nodes = append(m.Nodes, node("MatMul", "other", "waves", "V"), node("Add", "h2", "h1", "other"), node("MatMul", "h", "h2", "U"))
	})
	if got, want := found(m), "sinusoids of base 10000, dim 8, sin-cos, denominator d/2"; got != want {
		t.Errorf("found %q, want %q", got, want)
	}
}
