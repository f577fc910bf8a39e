package eval

import (
	"fmt"
	"math"
	"testing"

	"github.com/modelpatch/modelpatch/onnx"
)

// TestSequences puts tensors into sequences and takes them out, alone and turn by turn.
func TestSequences(t *testing.T) {
	branch := func(name string) []byte {
		return msg(5, txt(1, name), msg(6, node(1, "Identity", "next", "out_"+name), msg(12, txt(1, "out_"+name))), num(20, 5))
	}
	body := msg(5, txt(1, "body"), msg(6, node(1, "If", "condition", "chosen", branch("then_branch"), branch("else_branch")),
		node(1, "Add", "turn one", "next"), node(1, "Gather", "x turn", "row"), node(1, "SequenceInsert", "list row", "longer"), node(1, "Less", "next three", "go_on"),
		msg(11, txt(1, "turn")), msg(11, txt(1, "condition")), msg(11, txt(1, "list")),
		msg(12, txt(1, "go_on")), msg(12, txt(1, "longer")), msg(12, txt(1, "row")), msg(12, txt(1, "chosen"))), num(20, 5))
	pairs := msg(5, txt(1, "body"), msg(6, node(1, "Identity", "one_row", "kept"), node(1, "Identity", "other_row", "left"), msg(11, txt(1, "one_row")), msg(11, txt(1, "other_row")), msg(12, txt(1, "kept")), msg(12, txt(1, "left"))), num(20, 5))
	e := New(model(t, msg(7,
		node(1, "Scan", "x x", "scanned again", intAttribute("num_scan_inputs", 2), pairs), node(1, "Scan", "x sizes", "too few", intAttribute("num_scan_inputs", 2), pairs),
		node(1, "SplitToSequence", "x", "rows", intAttribute("keepdims", 0)), node(1, "SplitToSequence", "x two", "pairs"), node(1, "SplitToSequence", "x sizes", "parts", intAttribute("axis", 1)),
		node(1, "SequenceLength", "rows", "a"), node(1, "SequenceAt", "rows last", "b"), node(1, "ConcatFromSequence", "pairs", "c", intAttribute("axis", 0)), node(1, "SequenceAt", "parts one", "d"),
		node(1, "SequenceEmpty", "", "none"), node(1, "SequenceInsert", "none x", "single"), node(1, "SequenceInsert", "single two zero", "both"), node(1, "SequenceAt", "both zero", "e"),
		node(1, "SequenceErase", "both", "one left"), node(1, "SequenceConstruct", "two one", "made"), node(1, "ConcatFromSequence", "made", "f", intAttribute("axis", 0), intAttribute("new_axis", 1)),
		node(1, "SequenceAt", "rows nine", "g"), node(1, "SequenceAt", "x zero", "h"), node(1, "SequenceAt", "rows unknown", "i"), node(1, "SequenceAt", "rows nan", "m"),
		node(1, "Loop", "many go none", "gathered all numbers", body), node(1, "ConcatFromSequence", "gathered", "j", intAttribute("axis", 0), intAttribute("new_axis", 1)), node(1, "Identity", "all", "k"),
		node(1, "Loop", "unknown go none", "gathered2 all2 numbers2", body), node(1, "SequenceLength", "gathered2", "l"))),
		map[string]*Value{"x": val("i 4x2: 1 2 3 4 5 6 7 8"), "two": val("i: 2"), "one": val("i: 1"), "zero": val("i: 0"), "three": val("i: 3"), "last": val("i: -1"), "nine": val("i: 9"), "sizes": val("i 2: 1 1"),
			"many": val("i: 9"), "go": val("b: 1"), "unknown": val("i"), "nan": FloatValue(onnx.Float, []int{}, []float64{math.NaN()})})
	e.Run()
	for name, want := range map[string]string{"a": "[] [4]", "b": "[2] [7 8]", "c": "[4 2] [1 2 3 4 5 6 7 8]", "d": "[4 1] [2 4 6 8]", "e": "[] [2]", "f": "[2] [2 1]", "g": "[] []", "h": "[] []", "i": "[] []",
		"j": "[3 2] [1 2 3 4 5 6]", "k": "[3 2] [1 2 3 4 5 6]", "l": "[] []", "m": "[] []", "scanned": "[4 2] [1 2 3 4 5 6 7 8]", "too": "[4 2] []", "numbers": "[3] [1 2 3]"} {
		v := e.Main.Value(name)
		if got := fmt.Sprintf("%v %v", append([]int{}, v.Shape...), append([]int64{}, v.Ints...)); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	if n := len(e.Failures); n != 2 {
		t.Errorf("%v, want two: of place 9, and of one that is no number", e.Failures)
	}
	if n := len(e.Scopes()); n != 9 {
		t.Errorf("%d scopes, want the main one, two of bodies with two branches each, and two of others", n)
	}
}
