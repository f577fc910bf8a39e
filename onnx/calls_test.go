package onnx

import (
	"slices"
	"strings"
	"testing"
)

// TestCallsOfOperators: functions that are one operator each are these operators, an addition with a factor of 1 as well; what would have to be written
// into a function is refused.
func TestCallsOfOperators(t *testing.T) {
	open := func() *File {
		f, err := Open("../testdata/onnx/cases/rope-functions.onnx", Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	add := func(f *File) *Node {
		i := slices.IndexFunc(f.Graph.Nodes, func(n *Node) bool { return n.Op == "Add" && n.Domain == "" })
		if i < 0 {
			t.Fatal("no Add")
		}
		return f.Graph.Nodes[i]
	}
	for _, n := range open().Graph.Nodes {
		if n.Domain != "" {
			t.Errorf("%s of %s", n.Op, n.Domain)
		}
	}
	for name, c := range map[string]struct {
		change  func(e *Editor, n *Node)
		refused bool
	}{
		"an attribute":     {func(e *Editor, n *Node) { e.SetInt(n, "axis", 1, "") }, true},
		"a further input":  {func(e *Editor, n *Node) { e.RenameInput(n, 2, "x", "") }, true},
		"one of its own":   {func(e *Editor, n *Node) { e.RenameInput(n, 1, "x", "") }, false},
		"a node before it": {func(e *Editor, n *Node) { e.InsertNodes(n, []NewNode{{Op: "Neg"}}, "") }, false},
	} {
		f := open()
		e := NewEditor(f)
		c.change(e, add(f))
		_, err := e.Plan()
		if refused := err != nil && strings.Contains(err.Error(), "inline the functions first"); refused != c.refused {
			t.Errorf("%s: %v", name, err)
		}
	}
}
