package eval

import (
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
)

// trial is what an evaluation in which values are given keeps.
type trial struct {
	base     *Evaluator
	given    map[int]*Value        // by the wiring's numbers
	reached  func(number int) bool // whether given values or other constants go into a value of main
	attended map[*onnx.Node]*Attended
	rounding *onnx.Node // the first that rounds what given values reach
}

// maxTrial bounds the multiplications of one matrix product of a trial: a fifth of a
// second.
const maxTrial = 1 << 27

// maxTrialWork bounds the elements that a trial reads and makes: about a second.
const maxTrialWork = 1 << 26

// Trial prepares an evaluation at the same inputs in which values of the main graph
// are given by name, and what they reach is computed from them: in float64, without
// the rounding of the types between, whatever they say. What the given values do not
// reach is what the evaluator knows of it, rounded as an engine does.
//
// Operators that a model is made of have content here that the search for encodings
// does not ask for: Softmax, normalisations, the fused attentions (see Attended).
func (e *Evaluator) Trial(given map[string]*Value) *Evaluator {
	t := newEvaluator(e.File, e.Main.bound, e.operators)
	t.Unquantized, t.Filled, t.Overlay, t.Budget = e.Unquantized, e.Filled, e.Overlay, e.Budget
	t.most, t.maxWork = maxLarge, maxTrialWork
	numbers := map[int]*Value{}
	for name, v := range given {
		w := *v
		if w.Type.IsFloat() {
			w.Type = onnx.Double
		}
		if number, ok := e.Main.wiring.Number(name); ok {
			numbers[number] = &w
		}
	}
	depends := e.Main.reaches(given)
	t.trial = &trial{base: e, given: numbers, reached: func(number int) bool { return depends[number] }, attended: map[*onnx.Node]*Attended{}}
	return t
}

// Rounding is the first node that rounds what the given values of a trial reach, as those do that store queries or keys in eight bits: it
// is passed over. nil: none does.
func (e *Evaluator) Rounding() *onnx.Node {
	if e.trial == nil {
		return nil
	}
	return e.trial.rounding
}

// passes reports whether a node rounds numbers, which given values reach as all that a trial computes, to whole ones or to those of eight bits.
func (t *trial) passes(n *onnx.Node, inputs []*Value) bool {
	const int8, uint8 = 3, 2 // TensorProto.DataType
	if to := n.Int("to", 0); n.Domain != "" || n.Op != "Round" && n.Op != "Floor" && (n.Op != "Cast" || to != int8 && to != uint8) || len(inputs) == 0 || inputs[0] == nil || inputs[0].Floats == nil {
		return false
	}
	if t.rounding == nil {
		t.rounding = n
	}
	return true
}

// Attended returns what the operator of a node computed in a trial; nil where it was not
// asked for or could not be computed.
func (e *Evaluator) Attended(n *onnx.Node) *Attended {
	if e.trial == nil {
		return nil
	}
	return e.trial.attended[n]
}

// reaches tells of every value of a graph whether one of the named ones goes into it,
// by nodes and by the graphs inside them.
func (s *Scope) reaches(names map[string]*Value) []bool {
	w := s.wiring
	out := make([]bool, w.Len())
	var queue []int
	reach := func(v int) {
		if !out[v] {
			out[v] = true
			queue = append(queue, v)
		}
	}
	for name := range names {
		if v, ok := w.Number(name); ok {
			reach(v)
		}
	}
	captures := map[string][]*onnx.Node{}
	for _, n := range s.Graph.Nodes {
		for _, g := range subgraphs(n) {
			for name := range mentions(g, 0) {
				captures[name] = append(captures[name], n)
			}
		}
	}
	for i := 0; i < len(queue); i++ {
		readers := slices.Concat(w.Readers(queue[i]), captures[w.Name(queue[i])])
		s.Spend(1 + len(readers))
		for _, n := range readers {
			if n.Op == "Shape" && n.Domain == "" {
				continue // the sizes are the same
			}
			for k := range n.Outputs {
				if v, ok := w.Output(n, k); ok && w.Producer(v) == n {
					reach(v)
				}
			}
		}
	}
	return out
}

// subgraphs are the graphs inside a node.
func subgraphs(n *onnx.Node) []*onnx.Graph {
	var out []*onnx.Graph
	for _, a := range n.Attributes {
		if a.Graph != nil {
			out = append(out, a.Graph)
		}
		out = append(out, a.Graphs...)
	}
	return out
}

// mentions are the names that nodes of a graph, and of those inside, read.
func mentions(g *onnx.Graph, depth int) map[string]bool {
	out := map[string]bool{}
	if depth > maxDepth {
		return out
	}
	for _, n := range g.Nodes {
		for _, in := range n.Inputs {
			out[in] = true
		}
		for _, inner := range subgraphs(n) {
			for name := range mentions(inner, depth+1) {
				out[name] = true
			}
		}
	}
	for _, o := range g.Outputs {
		out[o.Name] = true
	}
	return out
}

// taken is a value of the main graph that no given one reaches, as the base knows it;
// nil where it has to be computed here.
func (e *Evaluator) taken(number int, name string) *Value {
	t := e.trial
	if v := t.given[number]; v != nil {
		return v
	}
	if t.reached(number) || e.Main.wiring.Constant(number) != nil {
		return nil
	}
	v := t.base.Main.value(number, name)
	if v.Known() || v.Unknowable() {
		return v
	}
	return nil // it was only too large
}

// wide is the type of a result of values of a type and others: float64 in a trial
// where one of them is.
func wide(t onnx.DataType, values ...*Value) onnx.DataType {
	if t == onnx.Double || !t.IsFloat() {
		return t
	}
	for _, v := range values {
		if v != nil && v.Type == onnx.Double && v.Floats != nil {
			return onnx.Double
		}
	}
	return t
}

// reached reports whether a call is of a node that given values reach; of those inside a branch or a function, all are taken for such.
func (c *call) reached() bool {
	e := c.scope.eval
	if e.trial == nil || len(c.node.Outputs) == 0 {
		return false
	}
	if c.scope != e.Main {
		return true
	}
	number, ok := c.scope.wiring.Number(c.node.Output(0))
	return ok && e.trial.reached(number)
}

// idle reports whether a node leaves all numbers of its first input as they are in the file: other numbers, which a trial gives a
// constant to see where it goes, pass it as well.
func (c *call) idle() bool {
	e := c.scope.eval
	if !c.reached() || e.trial.given != nil { // other data, not other constants
		return false
	}
	before := e.trial.base.Main
	if c.scope != e.Main {
		if before = e.trial.base.Like(c.scope); before == nil {
			return false
		}
	}
	a, b := before.Input(c.node, 0), before.Output(c.node, 0)
	if !a.Known() || !b.Known() || a.Len() != b.Len() {
		return false
	}
	for i := range a.Len() {
		if a.Number(i) != b.Number(i) {
			return false
		}
	}
	return true
}

// exact reports whether content is asked for that the search for encodings leaves out.
func (c *call) exact() bool { return c.scope.eval.trial != nil }
