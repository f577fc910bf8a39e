package onnxpos

import (
	"strings"
	"testing"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/position"
)

// TestChosenTable refuses to make a table longer of which no row is read at the new length, since the graph takes those of another one.
func TestChosenTable(t *testing.T) {
	branch := func(table string) onnx.NewModel {
		return onnx.NewModel{Nodes: []onnx.NewNode{node("Gather", "of "+table, table, "places")}, Outputs: []onnx.NewValue{{Name: "of " + table, Type: onnx.Float, Dims: []int64{-1, 8}}}}
	}
	m := built(t, func(m *onnx.NewModel) {
		freeText(m, 8)
		limit := integers("limit", 16)
		limit.Dims = nil
		m.Initializers = append(m.Initializers, noise("short", 16, 8), noise("long", 64, 8), limit)
		m.Nodes = append(m.Nodes, node("Range", "places", "zero", "n", "one"), node("LessOrEqual", "is short", "n", "limit"),
			onnx.NewNode{Op: "If", Inputs: []string{"is short"}, Outputs: []string{"pe"}, Attributes: []onnx.NewAttribute{{Name: "then_branch", Value: branch("short")}, {Name: "else_branch", Value: branch("long")}}},
			node("Add", "h0", "te", "pe"))
	})
	_, err := position.Extend(m, position.ExtendOptions{Length: 32})
	if refusal, ok := err.(*position.Refusal); !ok || !strings.Contains(refusal.Why, "the graph chooses by the length") {
		t.Errorf("%v: %v", found(m), err)
	}
}
