package onnx

import (
	"bytes"
	"slices"
	"testing"
)

// TestOrder: nodes are brought in an order in which they run, that of the file where it is one; what graphs inside of a node read is needed by
// the node, and what goes in a circle is not lost.
func TestOrder(t *testing.T) {
	branch := msg(5, txt(1, "then_branch"), msg(6, nodeOf("Neg", []string{"b"}, []string{"y"}), num(20, 5)))
	a, b, c := nodeOf("Abs", []string{"x"}, []string{"a"}), nodeOf("Exp", []string{"a"}, []string{"b"}), nodeOf("Log", []string{"b"}, []string{"c"})
	inner := nodeOf("If", []string{"a"}, []string{"d"}, branch)
	for name, test := range map[string]struct {
		nodes [][]byte
		want  []string
		late  string
	}{
		"in order":           {[][]byte{a, b, c, inner}, []string{"Abs", "Exp", "Log", "If"}, ""},
		"the last one first": {[][]byte{c, b, a}, []string{"Abs", "Exp", "Log"}, "Log"},
		"one behind others":  {[][]byte{b, c, a}, []string{"Abs", "Exp", "Log"}, "Exp"},
		"read inside":        {[][]byte{a, inner, b}, []string{"Abs", "Exp", "If"}, ""},
		"a circle": {[][]byte{nodeOf("Exp", []string{"c"}, []string{"b"}), nodeOf("Log", []string{"b"}, []string{"c"}), nodeOf("Neg", []string{"d"}, []string{"e"}), nodeOf("Abs", []string{"x"}, []string{"d"})},
			[]string{"Log", "Exp", "Abs", "Neg"}, "Exp"},
	} {
		file := modelOf(test.nodes...)
		f, err := NewFile(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for i, n := range f.Graph.Nodes {
			if n.Index() != i {
				t.Errorf("%s: %s has index %d, and is %d", name, n.Op, n.Index(), i)
			}
			got = append(got, n.Op)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
		late := ""
		if n := f.Graph.Late(); n != nil {
			late = n.Op
		}
		if late != test.late {
			t.Errorf("%s: late %q, want %q", name, late, test.late)
		}
	}
}
