package onnx

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
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

// TestSequencesAsConcat: what is put together by way of a sequence is a Concat where the sequence is made, whose inputs can be renamed; it is left as
// it is where something else reads the sequence, or tensors are put together along an axis of their own. It is not removed.
func TestSequencesAsConcat(t *testing.T) {
	whole := func(name string) []byte { return msg(5, txt(1, name), num(3, 1), num(20, 2)) } // an attribute of 1
	construct, join := nodeOf("SequenceConstruct", []string{"a", "b"}, []string{"list"}), nodeOf("ConcatFromSequence", []string{"list"}, []string{"c"}, whole("axis"))
	for name, c := range map[string]struct {
		nodes [][]byte
		want  []string
	}{
		"a Concat":        {[][]byte{construct, join, nodeOf("Abs", []string{"c"}, []string{"d"})}, []string{"Concat", "Identity", "Abs"}},
		"read once more":  {[][]byte{construct, join, nodeOf("SequenceLength", []string{"list"}, []string{"n"})}, []string{"SequenceConstruct", "ConcatFromSequence", "SequenceLength"}},
		"one axis more":   {[][]byte{construct, nodeOf("ConcatFromSequence", []string{"list"}, []string{"c"}, whole("axis"), whole("new_axis"))}, []string{"SequenceConstruct", "ConcatFromSequence"}},
		"not made by one": {[][]byte{nodeOf("SplitToSequence", []string{"a"}, []string{"list"}), join}, []string{"SplitToSequence", "ConcatFromSequence"}},
	} {
		file := modelOf(c.nodes...)
		f, err := NewFile(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, n := range f.Graph.Nodes {
			got = append(got, n.Op)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
		if c.want[0] != "Concat" {
			continue
		}
		concat, abs := f.Graph.Nodes[0], f.Graph.Nodes[2]
		if !slices.Equal(concat.Inputs, []string{"a", "b"}) || concat.Int("axis", 0) != 1 || abs.Inputs[0] != "c" || f.Graph.Nodes[1].Passes() != true {
			t.Errorf("%v of %v, read as %v", concat.Op, concat.Inputs, abs.Inputs)
		}
		f.Path = "m.onnx"
		e := NewEditor(f)
		e.RenameInput(concat, 1, "other", "")
		plan, err := e.Plan()
		if err != nil {
			t.Fatal(err)
		}
		after, err := io.ReadAll(plan.NewReader(0, bytes.NewReader(file)))
		if err != nil || !bytes.Contains(after, nodeOf("SequenceConstruct", []string{"a", "other"}, []string{"list"})) {
			t.Errorf("renamed: %x, %v", after, err)
		}
		e = NewEditor(f)
		e.RemoveNode(concat, "")
		if _, err := e.Plan(); err == nil {
			t.Error("one of two nodes that are one operator was removed")
		}
	}
}

// TestSequencesThatAreGivenBack: a function gives back the sequence itself beside what is put together.
func TestSequencesThatAreGivenBack(t *testing.T) {
	construct, join := nodeOf("SequenceConstruct", []string{"a", "b"}, []string{"list"}), nodeOf("ConcatFromSequence", []string{"list"}, []string{"c"})
	body := func(n []byte) []byte { // nodes of a function are its field 7
		number, _, at := protowire.ConsumeTag(n)
		content, _ := protowire.ConsumeBytes(n[at:])
		if number != 1 {
			t.Fatalf("field %d", number)
		}
		return msg(7, content)
	}
	for output, want := range map[string]string{"list": "SequenceConstruct", "c": "Concat"} {
		function := msg(25, txt(1, "f"), txt(10, "local"), txt(4, "a"), txt(4, "b"), txt(5, "c"), txt(5, output), body(construct), body(join), msg(9, txt(1, ""), num(2, 17)))
		file := append(modelOf(nodeOf("Abs", []string{"x"}, []string{"y"})), function...)
		f, err := NewFile(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			t.Fatal(err)
		}
		if got := f.Functions[0].Graph.Nodes[0].Op; got != want {
			t.Errorf("%s is given back: %s, want %s", output, got, want)
		}
	}
}

// TestSizesAsNames: a size that stands as a name is a size, a name is a name.
func TestSizesAsNames(t *testing.T) {
	dim := func(name string) []byte { return msg(1, txt(2, name)) }
	var shape [][]byte
	for _, name := range []string{"0", "3", "32", "1", "batch", "5", "-1", "4294967296"} {
		shape = append(shape, dim(name))
	}
	file := modelOf(msg(11, txt(1, "x"), msg(2, msg(1, num(1, 1), msg(2, shape...)))))
	f, err := NewFile(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	var got []int64
	for _, d := range f.Graph.Inputs[0].Dims {
		got = append(got, d.Value)
	}
	if want := []int64{-1, 3, 32, -1, -1, -1, -1, -1}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
