package eval

import (
	"slices"
	"testing"

	"github.com/modelpatch/modelpatch/onnx"
)

// againModel has values that depend on the inputs x and k, on none, and on
// constants by ways on which a dependence is easily missed: branches that
// capture, calls of functions, a value that two nodes make.
func againModel(t *testing.T) *onnx.File {
	local := txt(7, "local")
	capture := func(name, of string) []byte {
		return msg(5, txt(1, name), msg(6, node(1, "Add", of+" c3", name+"_out"), msg(12, txt(1, name+"_out"))), num(20, 5))
	}
	constant := func(name string, v uint64) []byte {
		return msg(5, num(2, uint64(onnx.Int64)), txt(8, name), num(7, v))
	}
	return model(t, msg(7,
		constant("c3", 3), constant("given", 9),
		node(1, "Constant", "", "c2", intAttribute("value_int", 2)),
		node(1, "Mul", "c2 c3", "c6"),
		node(1, "Add", "c6 x", "x6"),
		node(1, "If", "yes", "captured", capture("then_branch", "x"), capture("else_branch", "c2")),
		node(1, "ahead", "c6", "called", local), // reads no input but calls what is looked up elsewhere
		node(1, "both", "c6 x", "mixed", local),
		node(1, "Add", "given c2", "from_given"),
		msg(5, num(1, 2), num(2, uint64(onnx.Int64)), txt(8, "pair"), num(7, 5), num(7, 6)),
		node(1, "Split", "pair", "p twice"), node(1, "Split", "k", "q twice"),
		node(1, "Identity", "twice", "after_twice"),
		node(1, "Reshape", "wide k", "shaped"),
		node(1, "Constant", "", "yes", intAttribute("value_int", 1)),
	),
		msg(25, txt(1, "ahead"), txt(10, "local"), txt(4, "a"), txt(5, "b"), node(7, "Add", "a a", "b")),
		msg(25, txt(1, "both"), txt(10, "local"), txt(4, "a"), txt(4, "b"), txt(5, "c"), node(7, "Sub", "a b", "c")))
}

// known says what an evaluation has found: all values of the main graph, what
// failed and how many scopes there are.
func known(e *Evaluator) (out []string) {
	w := e.Main.Graph.Wiring()
	for i := range w.Len() {
		out = append(out, w.Name(i)+" "+say(e.Main.Value(w.Name(i))))
	}
	for _, f := range e.Failures {
		out = append(out, "fails "+f.Node.Op)
	}
	for _, s := range e.Scopes() {
		out = append(out, "scope "+s.Graph.Name)
	}
	return out
}

// TestAgain compares an evaluation that takes over what no input changes with
// one that begins anew.
func TestAgain(t *testing.T) {
	f := againModel(t)
	inputs := func(x, k string) map[string]*Value {
		return map[string]*Value{"x": val(x), "k": val(k), "wide": val("f 6")}
	}
	first := New(f, inputs("i: 10", "i 2: 2 3"))
	first.Run()
	taken := 0
	for _, name := range []string{"c3", "c2", "c6", "from_given"} {
		if number, _ := f.Graph.Wiring().Number(name); first.Main.fixed[number] {
			taken++
		}
	}
	if taken != 4 {
		t.Errorf("%d of 4 constants and what is made of them are taken over", taken)
	}
	withGiven := inputs("i: 20", "i 2: 3 2")
	withGiven["given"] = val("i: 100")
	for _, c := range []struct {
		name   string
		inputs map[string]*Value
	}{{"other numbers", inputs("i: 20", "i 2: 3 2")}, {"what fails", inputs("i: 20", "i 2: 4 2")}, {"a constant is an input", withGiven}} {
		again, anew := first.Again(c.inputs), New(f, c.inputs)
		again.Run()
		anew.Run()
		if got, want := known(again), known(anew); !slices.Equal(got, want) {
			t.Errorf("%s:\n%v, want\n%v", c.name, got, want)
		}
	}
}

// TestAgainOfAnother takes nothing from evaluations whose constants are not the
// file's.
func TestAgainOfAnother(t *testing.T) {
	f := againModel(t)
	inputs := map[string]*Value{"x": val("i: 20"), "k": val("i 2: 3 2"), "wide": val("f 6")}
	anew := New(f, inputs)
	anew.Run()
	for name, set := range map[string]func(*Evaluator){
		"Overlay":  func(e *Evaluator) { e.Overlay[f.Graph.Initializers[0]] = val("i: 1000") },
		"Override": func(e *Evaluator) { e.Override = map[string]*Value{"c2": val("i: 1000")} },
	} {
		first := New(f, inputs)
		set(first)
		first.Run()
		if say(first.Main.Value("c6")) == say(anew.Main.Value("c6")) {
			t.Errorf("%s has no effect", name)
		}
		again := first.Again(inputs)
		again.Run()
		if got, want := known(again), known(anew); !slices.Equal(got, want) {
			t.Errorf("%s:\n%v, want\n%v", name, got, want)
		}
	}
}

// TestStop ends a run at the first failure that counts, and at none in a branch
// that is not taken.
func TestStop(t *testing.T) {
	branch := func(name, nodes string) []byte {
		return msg(5, txt(1, name), msg(6, node(1, "Reshape", nodes, name+"_out"), msg(12, txt(1, name+"_out"))), num(20, 5))
	}
	f := model(t, msg(7,
		node(1, "If", "condition", "chosen", branch("then_branch", "wide good"), branch("else_branch", "wide bad")),
		node(1, "Reshape", "wide worse", "second"),
		node(1, "Reshape", "wide good", "third")))
	for _, c := range []struct {
		condition string
		fails     []string
	}{{"b: 1", []string{"second"}}, {"b: 0", []string{"else_branch_out"}}} {
		inputs := map[string]*Value{"condition": val(c.condition), "wide": val("f 6"), "good": val("i 2: 2 3"), "bad": val("i 2: 4 5"), "worse": val("i 1: 7")}
		asked := []string{}
		e := New(f, inputs)
		e.Stop = func(f Failure) bool {
			if name := f.Node.Output(0); !slices.Contains(asked, name) {
				asked = append(asked, name)
			}
			return true
		}
		e.Run()
		var failed []string
		for _, f := range e.Failures {
			failed = append(failed, f.Node.Output(0))
		}
		third, _ := f.Graph.Wiring().Number("third")
		if !slices.Equal(failed, c.fails) || !slices.Equal(asked, c.fails) || e.Main.values[third] != nil {
			t.Errorf("condition %s: %v failed, asked about %v, third is %v; want %v and no more", c.condition, failed, asked, e.Main.values[third], c.fails)
		}
	}
}

// TestMaxFloats drops long lists of numbers, never those of the constants and
// values that an evaluation shares with others.
func TestMaxFloats(t *testing.T) {
	branch := func(name string) []byte { // which gives back what stands outside
		return msg(5, txt(1, name), msg(6, msg(12, txt(1, "x"))), num(20, 5))
	}
	f := model(t, msg(7, node(1, "Add", "c c", "sum"), node(1, "If", "yes", "same", branch("then_branch"), branch("else_branch")), node(1, "Cast", "sum", "whole", intAttribute("to", int64(onnx.Int64))),
		msg(5, num(1, 3), num(2, uint64(onnx.Float)), txt(8, "c"), msg(9, make([]byte, 12)))))
	inputs := map[string]*Value{"x": val("f 3: 1 2 3"), "yes": val("b: 1")}
	first := New(f, inputs)
	first.Run()
	short := first.Again(inputs)
	short.MaxFloats = 2
	short.Run()
	if got := say(short.Main.Value("same")); got != "f 3" {
		t.Errorf("three numbers of at most two are kept: %s", got)
	}
	for name, want := range map[string]string{"sum": "f 3: 0 0 0", "same": "f 3: 1 2 3", "whole": "i 3: 0 0 0"} {
		if got := say(first.Main.Value(name)); got != want {
			t.Errorf("%s is %s in the first evaluation, want %s", name, got, want)
		}
	}
}

// TestBranchHandsOn holds that a branch which does nothing but hand on what it
// captures (an initializer that no other node reads, a node's output) gives it.
func TestBranchHandsOn(t *testing.T) {
	hands := func(name, of string) []byte {
		return msg(5, txt(1, name), msg(6, node(1, "Identity", of, name+"_out"), msg(12, txt(1, name+"_out"))), num(20, 5))
	}
	f := model(t, msg(7,
		msg(5, num(2, uint64(onnx.Int64)), txt(8, "c"), num(7, 3)),
		node(1, "Constant", "", "yes", intAttribute("value_int", 1)),
		node(1, "If", "yes", "constant", hands("then_branch", "c"), hands("else_branch", "c")),
		node(1, "Identity", "c", "again"),
		node(1, "If", "yes", "renamed", hands("then_branch", "again"), hands("else_branch", "again")),
		node(1, "Neg", "yes", "computed"),
		node(1, "If", "yes", "made", hands("then_branch", "computed"), hands("else_branch", "yes")),
	))
	e := New(f, nil)
	e.Run()
	for name, want := range map[string]string{"constant": "i: 3", "renamed": "i: 3", "made": "i: -1"} {
		if got := say(e.Main.Value(name)); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	for _, s := range e.Scopes()[1:] {
		name, at := s.Through(s.Results[0])
		if n, _ := at.Find(name); n == nil && at.Tensor(name) == nil {
			t.Errorf("%s of a branch leads to nothing", s.Results[0])
		}
	}
	for given, want := range map[string]string{"made": "computed", "constant": "constant", "renamed": "renamed"} { // constants are chosen
		if name, at := e.Main.Through(given); name != want || at != e.Main {
			t.Errorf("%s is what %s is, want %s", given, name, want)
		}
	}
}
