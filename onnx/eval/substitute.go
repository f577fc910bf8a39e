package eval

import (
	"github.com/modelpatch/modelpatch/onnx"
)

// Pattern gives numbers by their place in a constant: that of element i. It is asked for
// the elements that an evaluation reads, of however large a constant.
type Pattern func(i int64) float64

// Floats are n numbers from first on.
func (p Pattern) Floats(first, n int64) ([]float64, error) {
	out := make([]float64, n)
	for i := range out {
		out[i] = p(first + int64(i))
	}
	return out, nil
}

// Ints are the same as whole numbers.
func (p Pattern) Ints(first, n int64) ([]int64, error) {
	out := make([]int64, n)
	for i := range out {
		out[i] = int64(p(first + int64(i)))
	}
	return out, nil
}

// Substitute prepares a trial (see Trial) in which constants have the numbers of
// patterns. What does not depend on them is as the evaluator knows it.
func (e *Evaluator) Substitute(patterns map[*onnx.Tensor]Pattern) *Evaluator {
	t := newEvaluator(e.File, e.Main.bound, e.operators)
	t.Unquantized, t.Filled, t.Budget = e.Unquantized, e.Filled, e.Budget
	t.most, t.maxWork = maxLarge, maxTrialWork
	e.Budget.Spend(len(t.Main.values) / elementsAStep)
	for c, v := range e.Overlay {
		t.Overlay[c] = v
	}
	for c, p := range patterns {
		v := *e.constant(c)
		v.Ints, v.Floats, v.whole, v.answers = nil, nil, false, nil
		v.stored, v.most, v.keeper = p, maxLarge, nil
		if v.Type.IsFloat() {
			v.Type = onnx.Double
		}
		t.Overlay[c] = &v
	}
	r := reach{scope: e.Main, patterns: patterns, known: make([]int8, len(t.Main.values))}
	t.trial = &trial{base: e, reached: r.reaches, attended: map[*onnx.Node]*Attended{}}
	return t
}

// Forget drops the large values that a trial computed, to be computed anew where they are asked for.
func (e *Evaluator) Forget() {
	for number, v := range e.Main.values {
		if v != nil && v.Len() >= forgotten && e.Main.wiring.Constant(number) == nil {
			e.Main.values[number] = nil
		}
	}
}

// forgotten is from how many numbers on a value is dropped.
const forgotten = 1 << 14

// Exact prepares a trial in which everything is computed anew: by operators, too, whose
// numbers the search for encodings leaves out.
func (e *Evaluator) Exact() *Evaluator {
	t := e.Substitute(nil)
	t.trial.reached = func(int) bool { return true }
	return t
}

// reach tells what values constants go into, by going back from those that are asked for.
type reach struct {
	scope    *Scope
	patterns map[*onnx.Tensor]Pattern
	known    []int8 // 0 not asked, 1 no, or being asked, 2 yes
}

func (r *reach) reaches(number int) bool {
	if r.known[number] == 0 {
		r.known[number] = 1
		if r.behind(number) {
			r.known[number] = 2
		}
	}
	return r.known[number] == 2
}

func (r *reach) behind(number int) bool {
	w := r.scope.wiring
	r.scope.Spend(1)
	if t := w.Constant(number); t != nil {
		_, given := r.patterns[t]
		return given
	}
	n := w.Producer(number)
	if n == nil || n.Op == "Shape" && n.Domain == "" {
		return false
	}
	if a := n.Attribute("value"); n.Op == "Constant" && a != nil {
		_, given := r.patterns[a.Tensor]
		return given
	}
	if len(subgraphs(n)) > 0 || r.scope.eval.File.Function(n) != nil {
		return true // what its own graph holds or captures
	}
	for i := range n.Inputs {
		if in, ok := w.Input(n, i); ok && r.reaches(in) {
			return true
		}
	}
	return false
}

// Like is the scope of this evaluator that a scope of another evaluation of the same model
// corresponds to, run if need be; nil where there is none.
func (e *Evaluator) Like(s *Scope) *Scope {
	if s.Outer == nil {
		return e.Main
	}
	outer := e.Like(s.Outer)
	if outer == nil {
		return nil
	}
	for _, out := range s.Caller.Outputs {
		if out != "" {
			outer.held(out)
			break
		}
	}
	return outer.Child(s.Caller, s.Graph)
}

// Shape is the shape of a constant, as it is planned to become where it is.
func (e *Evaluator) Shape(t *onnx.Tensor) []int { return e.constant(t).Shape }
