package onnxpos

import (
	"testing"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// TestLoops reads models whose layers, or whose positions, are gone through by a Loop or a
// Scan: layers hide nothing, and what a body adds by the number of a position is no `none`.
func TestLoops(t *testing.T) {
	value := func(name string, kind onnx.DataType, dims ...int64) onnx.NewValue {
		return onnx.NewValue{Name: name, Type: kind, Dims: dims}
	}
	with := func(n onnx.NewNode, name string, v any) onnx.NewNode {
		n.Attributes = append(n.Attributes, onnx.NewAttribute{Name: name, Value: v})
		return n
	}
	// body has one value that is handed on, and perhaps one that each turn leaves.
	body := func(nodes []onnx.NewNode, leaves ...string) onnx.NewModel {
		m := onnx.NewModel{Nodes: append(nodes, node("Identity", "go_on", "condition")),
			Inputs:  []onnx.NewValue{value("turn", onnx.Int64), value("condition", onnx.Bool), value("state", onnx.Float)},
			Outputs: []onnx.NewValue{value("go_on", onnx.Bool), value("next", onnx.Float)}}
		for _, name := range leaves {
			m.Outputs = append(m.Outputs, value(name, onnx.Float))
		}
		return m
	}
	step := []onnx.NewNode{node("Gather", "now", "rows", "turn"), node("MatMul", "mixed", "state", "U")}
	// recurrent goes through positions: nodes make "in" of "now", the row of this turn.
	recurrent := func(m *onnx.NewModel, nodes ...onnx.NewNode) {
		free(m)
		m.Initializers = append(m.Initializers, noise("U", 4, 4), noise("start", 1, 4), noise("by_position", 16, 4))
		nodes = append(append(append([]onnx.NewNode{}, step...), nodes...), node("Add", "sum", "in", "mixed"), node("Tanh", "next", "sum"), node("Identity", "left", "next"))
		m.Nodes = []onnx.NewNode{m.Nodes[0], m.Nodes[1], m.Nodes[4], with(node("Transpose", "rows", "te"), "perm", []int64{1, 0, 2}),
			with(onnx.NewNode{Op: "Loop", Inputs: []string{"n", "", "start"}, Outputs: []string{"last", "all"}}, "body", body(nodes, "left")),
			with(node("Transpose", "h", "all"), "perm", []int64{1, 0, 2})}
	}
	// layers goes through three layers of weights behind what the model adds.
	layers := func(m *onnx.NewModel, nodes ...onnx.NewNode) {
		free(m)
		m.Initializers = append(m.Initializers, noise("stacked", 3, 4, 4), integers("three", 3))
		nodes = append([]onnx.NewNode{node("Gather", "W", "stacked", "turn"), node("MatMul", "mixed", "state", "W")}, nodes...)
		nodes = append(nodes, node("Add", "next", "state", "in"))
		m.Nodes[5].Outputs[0] = "x"
		m.Nodes = append(m.Nodes, with(onnx.NewNode{Op: "Loop", Inputs: []string{"three", "", "x"}, Outputs: []string{"h"}}, "body", body(nodes)))
	}
	for _, c := range []struct {
		name   string
		change func(*onnx.NewModel)
		want   string // scheme of the first encoding
	}{
		{"positions", func(m *onnx.NewModel) { recurrent(m, node("Identity", "in", "now")) }, report.SchemeNone},
		{"positions with a table", func(m *onnx.NewModel) {
			recurrent(m, node("Gather", "row", "by_position", "turn"), node("Add", "in", "now", "row"))
		}, report.SchemeUnknown},
		{"positions with a sine of their number", func(m *onnx.NewModel) {
			recurrent(m, with(node("Cast", "number", "turn"), "to", int64(onnx.Float)), node("Sin", "wave", "number"), node("Add", "in", "now", "wave"))
		}, report.SchemeUnknown},
		{"positions with a clock", func(m *onnx.NewModel) {
			recurrent(m, node("Add", "in", "now", "clock"), node("Add", "later", "clock", "tick"))
			loop := &m.Nodes[4]
			b := loop.Attributes[0].Value.(onnx.NewModel)
			b.Inputs = append(b.Inputs, value("clock", onnx.Float))
			b.Outputs = append(b.Outputs[:2:2], value("later", onnx.Float), b.Outputs[2])
			loop.Attributes[0].Value, loop.Inputs, loop.Outputs = b, append(loop.Inputs, "midnight"), []string{"last", "end", "all"}
			m.Initializers = append(m.Initializers, floats("tick", []int64{1}, func(int) float64 { return 1 }), floats("midnight", []int64{1}, func(int) float64 { return 0 }))
		}, report.SchemeUnknown},
		{"positions with a vector that turns on", func(m *onnx.NewModel) {
			recurrent(m, node("Add", "in", "now", "clock"), node("MatMul", "later", "clock", "U"))
			loop := &m.Nodes[4]
			b := loop.Attributes[0].Value.(onnx.NewModel)
			b.Inputs = append(b.Inputs, value("clock", onnx.Float))
			b.Outputs = append(b.Outputs[:2:2], value("later", onnx.Float), b.Outputs[2])
			loop.Attributes[0].Value, loop.Inputs, loop.Outputs = b, append(loop.Inputs, "dawn"), []string{"last", "end", "all"}
			m.Initializers = append(m.Initializers, noise("dawn", 1, 4))
		}, report.SchemeUnknown},
		{"a table that a loop makes", func(m *onnx.NewModel) {
			free(m)
			m.Initializers = append(m.Initializers, noise("U", 4, 4), noise("dawn", 1, 4), integers("rows", -1, 4))
			m.Nodes[3] = with(onnx.NewNode{Op: "Loop", Inputs: []string{"n", "", "dawn"}, Outputs: []string{"last", "all"}}, "body",
				body([]onnx.NewNode{node("MatMul", "next", "state", "U"), node("Identity", "left", "next")}, "left"))
			m.Nodes = append(m.Nodes[:5], node("Reshape", "pe", "all", "rows"), m.Nodes[5])
		}, report.SchemeUnknown},
		{"a table of which a loop takes a row a turn", func(m *onnx.NewModel) {
			free(m)
			m.Initializers = append(m.Initializers, noise("dawn", 1, 4))
			m.Nodes[3] = with(onnx.NewNode{Op: "Loop", Inputs: []string{"n", "", "dawn"}, Outputs: []string{"last", "pe"}}, "body",
				body([]onnx.NewNode{node("Gather", "row", "wpe", "turn"), node("Identity", "next", "state")}, "row"))
		}, report.SchemeLearned},
		{"tokens of which a loop takes a row a turn, and a loop that goes through nothing", func(m *onnx.NewModel) {
			free(m)
			m.Initializers = append(m.Initializers, noise("dawn", 1, 4), integers("line", -1), integers("rows", 1, -1, 4), integers("three", 3), noise("U", 4, 4))
			again := with(onnx.NewNode{Op: "Loop", Inputs: []string{"three", "", "dawn"}, Outputs: []string{"dusk", "days"}}, "body",
				body([]onnx.NewNode{node("MatMul", "next", "state", "U"), node("Identity", "left", "next")}, "left"))
			m.Nodes = []onnx.NewNode{m.Nodes[0], m.Nodes[1], node("Reshape", "flat", "ids", "line"), with(onnx.NewNode{Op: "Loop", Inputs: []string{"n", "", "dawn"}, Outputs: []string{"last", "all"}}, "body",
				body([]onnx.NewNode{node("Gather", "id", "flat", "turn"), node("Gather", "row", "wte", "id"), node("Identity", "next", "state")}, "row")), node("Reshape", "te", "all", "rows"), again, node("Add", "h", "te", "dusk")}
		}, report.SchemeNone},
		{"layers behind a table", func(m *onnx.NewModel) { layers(m, node("Identity", "in", "mixed")) }, report.SchemeLearned},
		{"layers alone", func(m *onnx.NewModel) {
			layers(m, node("Identity", "in", "mixed"))
			m.Nodes[3], m.Nodes[5] = node("Identity", "unused", "one"), node("Identity", "x", "te")
		}, report.SchemeNone},
		{"layers that add the table", func(m *onnx.NewModel) {
			layers(m, node("Add", "in", "mixed", "pe"))
			m.Nodes[5] = node("Identity", "x", "te")
		}, report.SchemeLearned},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := built(t, c.change)
			e := m.Sites()[0].Encoding()
			kind := report.SchemeLearned
			if other, ok := e.Scheme.(schemes.Other); ok {
				kind = other.Kind
			}
			if kind != c.want || len(m.Sites()) != 1 {
				t.Errorf("%s of %d: %v, want %s", kind, len(m.Sites()), e.Evidence, c.want)
			}
		})
	}
}
