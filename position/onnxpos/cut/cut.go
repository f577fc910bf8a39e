// Package cut cuts an attention out of an ONNX graph and runs it: values that enter it
// (the states before the projections of queries, keys and values) are given seeded
// numbers, and the graph itself computes scores, weights and outputs from them, in
// float64 (eval.Evaluator.Trial).
//
// Start with Find, which finds the attentions of a graph by what they do: a product of
// data with data, a Softmax, and a product of its weights with values; or an operator
// that does all of it. Cut.Run runs one.
package cut

import (
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
)

// Cut is one attention of the main graph and where it is cut off from what is before.
type Cut struct {
	// Anchor is its Softmax, or the fused operator.
	Anchor *onnx.Node
	// Enters are the names of the values that are given, queries' first.
	Enters []string
	// Idle are those of Enters that a caller may leave out, biases and masks of scores:
	// they are given zeros.
	Idle []string
	// Product is the product of queries and keys, nil of a fused operator. More is set
	// where there is another one of data with data.
	Product *onnx.Node
	More    bool
	// Relative are products of queries or keys with numbers that no data goes into: terms
	// of scores by distance that depend on content.
	Relative []*onnx.Node
	// Values is the product of weights and values, nil of a fused operator; Operand is
	// which of its inputs the values are.
	Values  *onnx.Node
	Operand int

	scores   string
	seen     map[string]bool
	barred   map[string]bool // values that are given since they cannot be computed
	rounding string          // the first node whose rounding was passed over
	around   *eval.Scope
}

// Fused reports whether one operator does all of the attention.
func (c *Cut) Fused() bool { return c.Product == nil }

// dataInputs are the inputs of a fused operator by which queries, keys and values enter,
// cached ones too; nil for one that is not run.
func dataInputs(n *onnx.Node) []int {
	if n.Domain == "" {
		if n.Op == "Attention" {
			return []int{0, 1, 2, 4, 5}
		}
		return nil
	}
	switch n.Op {
	case "Attention":
		return []int{0, 4}
	case "MultiHeadAttention":
		return []int{0, 1, 2, 6, 7}
	case "GroupQueryAttention":
		return []int{0, 1, 2, 3, 4}
	}
	return nil
}

// IsFused reports whether a node is an operator of attention, and whether it can be run.
func IsFused(n *onnx.Node) (fused, runs bool) {
	return eval.Is(n, eval.Attention), eval.Is(n, eval.Attention) && dataInputs(n) != nil
}

// First is the first Softmax in some scopes of what data give in products with data, for several places; nil where there is none.
func First(scopes []*eval.Scope) *onnx.Node {
	for _, s := range scopes {
		for _, n := range s.Graph.Nodes {
			if eval.Weighs(n) && len(s.Value(n.Input(0)).Shape) > 2 && Find(s, n) != nil {
				return n
			}
		}
	}
	return nil
}

// Find cuts out the attention of a Softmax or of a fused operator of the main graph; nil
// where a Softmax is none of an attention.
func Find(s *eval.Scope, anchor *onnx.Node) *Cut { return find(s, anchor, map[string]bool{}) }

// find is Find with values that are given in any case.
func find(s *eval.Scope, anchor *onnx.Node, barred map[string]bool) *Cut {
	c := &Cut{Anchor: anchor, around: s, seen: map[string]bool{}, barred: barred}
	if inputs := dataInputs(anchor); inputs != nil && eval.Is(anchor, eval.Attention) {
		for _, i := range inputs {
			if name := anchor.Input(i); name != "" && c.data(name) {
				c.state(name, false)
			}
		}
		for i := range anchor.Inputs {
			if name := anchor.Input(i); name != "" && !slices.Contains(inputs, i) && c.data(name) {
				before := len(c.Enters)
				c.state(name, false)
				c.Idle = append(c.Idle, c.Enters[before:]...)
			}
		}
		return c
	}
	if !eval.Weighs(anchor) || !c.toScores() || !c.toValues() {
		return nil
	}
	return c
}

// data reports whether a value comes from the data of the model's inputs and is not
// known: state, and no mask or position.
func (c *Cut) data(name string) bool {
	v := c.around.Value(name)
	if v.Known() || v.Large() || v.Type.IsInteger() && v.Type != 0 && !c.quantised(name) {
		return false
	}
	return v.Unknowable()
}

// quantised reports whether a value of integers is a quantised state.
func (c *Cut) quantised(name string) bool {
	n, _ := c.around.Find(name)
	return n != nil && eval.Is(n, eval.Elements|eval.Product)
}

// maxBehind bounds the values that are looked at behind a Softmax.
const maxBehind = 1 << 10

// isProduct reports whether a node sums products of two operands.
func isProduct(n *onnx.Node) bool { return eval.Is(n, eval.Product) }

// toScores goes back from the Softmax to the product of queries and keys.
func (c *Cut) toScores() bool {
	c.scores = c.Anchor.Input(0)
	type found struct {
		node *onnx.Node
		data []string
	}
	var states []found
	queue := []string{c.scores}
	seen := map[string]bool{}
	for i := 0; i < len(queue); i++ {
		name := queue[i]
		if seen[name] || !c.data(name) {
			continue
		}
		seen[name] = true
		if v := c.around.Value(name); v.Ranked && v.Len() == 1 { // the scale of a quantised state says nothing of each key
			continue
		}
		n, at := c.around.Find(name)
		if len(seen) > maxBehind || n != nil && at != c.around {
			return false
		}
		if n == nil || eval.Weighs(n) || !understood(n) {
			states = append(states, found{nil, []string{name}})
			continue
		}
		if !isProduct(n) {
			queue = append(queue, n.Inputs...)
			continue
		}
		var data []string
		for _, in := range eval.Operands(n) {
			if v := c.around.Value(in); c.data(in) || v.Known() && v.Data && v.Type.IsFloat() { // of few tokens, computed to the end
				data = append(data, in)
			}
		}
		states = append(states, found{n, data})
	}
	for _, f := range states {
		switch {
		case f.node == nil:
		case len(f.data) == 2 && c.Product == nil:
			c.Product = f.node
		case len(f.data) == 2:
			c.More = true
		default:
			c.Relative = append(c.Relative, f.node)
		}
	}
	if c.Product == nil {
		return false
	}
	slices.SortStableFunc(states, func(a, b found) int { return later(a.node == c.Product) - later(b.node == c.Product) })
	for _, f := range states {
		for _, name := range f.data {
			c.state(name, f.node == nil)
		}
	}
	return true
}

// later orders the product of queries and keys before other terms.
func later(first bool) int {
	if first {
		return 0
	}
	return 1
}

// understood reports whether something is computed of a node's outputs.
func understood(n *onnx.Node) bool {
	o := eval.Lookup(n.Domain, n.Op)
	return n.Op == "If" || o != nil && o.NotModelled == "" && !n.IsConvolution()
}

// between are operators that may stand between weights and their product with values.
const between = eval.Layout | eval.Repetition | eval.Selection | eval.ByElement | eval.Choice

// toValues goes from the Softmax to the product with values.
func (c *Cut) toValues() bool {
	names := []string{c.Anchor.Output(0)}
	seen := map[*onnx.Node]bool{}
	for i := 0; i < len(names) && i < 32; i++ {
		for _, n := range c.around.Consumers(names[i]) {
			if seen[n] {
				continue
			}
			seen[n] = true
			if isProduct(n) {
				for k, in := range eval.Operands(n) {
					if in != names[i] && c.data(in) {
						c.Values, c.Operand = n, k
						c.state(in, false)
						return true
					}
				}
				continue
			}
			if eval.Is(n, between) {
				names = append(names, n.Output(0))
			}
		}
	}
	return false
}

// passes are operators through which the state before a projection is followed on: what
// is done to each position alone, and the sum with what is known of positions.
const passes = eval.Layout | eval.Normalization | eval.Addition

// maxProjected bounds the elements of weights that states are multiplied with here; of
// larger ones the cut is behind the product.
const maxProjected = 1 << 20

// state goes back from queries, keys or values to the state that they are projected
// from, and notes where it enters. projected tells that a projection was met.
func (c *Cut) state(name string, projected bool) {
	if c.seen[name] || !c.data(name) {
		return
	}
	c.seen[name] = true
	n, at := c.around.Find(name)
	if n == nil || at != c.around || len(c.seen) > maxBehind || eval.Weighs(n) || !understood(n) || isAttention(n) || c.barred[name] {
		c.enter(name)
		return
	}
	var data []string
	inputs := n.Inputs
	if isProduct(n) {
		of := eval.Operands(n)
		inputs = of[:]
	}
	for _, in := range inputs {
		if in != "" && c.data(in) {
			data = append(data, in)
		}
	}
	switch {
	case projected && (!eval.Is(n, passes) || len(data) != 1), len(data) == 0:
		c.enter(name)
	case isProduct(n) && len(data) > 1:
		c.enter(name)
	case isProduct(n) && n.Op != "MatMulInteger":
		if !c.computes(n) {
			c.enter(name)
			return
		}
		c.state(data[0], true)
	case n.Op == "MatMulInteger":
		c.state(data[0], true)
	default:
		for _, in := range data {
			c.state(in, projected)
		}
	}
}

// isAttention reports whether a node is a fused attention: another one, before.
func isAttention(n *onnx.Node) bool {
	fused, _ := IsFused(n)
	return fused
}

// computes reports whether the weights of a projection are numbers that can be read.
func (c *Cut) computes(n *onnx.Node) bool {
	for _, in := range eval.Operands(n) {
		if c.data(in) {
			continue
		}
		if v := c.around.Value(in); !v.Ranked || v.Len() > maxProjected || !v.Known() && !v.Large() {
			return false
		}
	}
	return true
}

// Crosses reports whether queries come from inputs of the model that keys do not come
// from: cross-attention.
func (c *Cut) Crosses() bool {
	var of [2]string
	switch {
	case !c.Fused():
		of = eval.Operands(c.Product)
	case slices.Contains(dataInputs(c.Anchor), 1) && c.Anchor.Input(1) != "":
		of = [2]string(c.Anchor.Inputs[:2])
	default:
		return false
	}
	from := sources(c)
	w := c.around.Graph.Wiring()
	q, ok1 := w.Number(of[0])
	k, ok2 := w.Number(of[1])
	return ok1 && ok2 && from[q]&^from[k] != 0
}

// isSequence reports whether an input has tokens, or several numbers for each of several places: no factor of queries alone.
func isSequence(v *eval.Value) bool {
	k := len(v.Shape)
	return v.Type.IsInteger() || !v.Ranked || onnx.Size(v.Shape[min(1, k):]) > 1 && v.Shape[k-1] > 1
}

// maxSources bounds the inputs of a model that are told apart: the first so many.
const maxSources = 64

// sources tells of every value of the graph, by the wiring's numbers, which of the
// model's inputs go into it as data: a bit each, in the order in which they are met.
func sources(c *Cut) []uint64 {
	return eval.Once(c.around, "inputs behind all values", "", func() []uint64 {
		w := c.around.Graph.Wiring()
		out := make([]uint64, w.Len())
		met := 0
		c.around.Spend(len(c.around.Graph.Nodes))
		for _, n := range c.around.Graph.InOrder() {
			if eval.Is(n, eval.Sizes) {
				continue
			}
			bits := uint64(0)
			for i, name := range n.Inputs {
				v, ok := w.Input(n, i)
				if !ok || out[v] == 0 && !c.data(name) && !c.around.Input(n, i).Data {
					continue
				}
				if out[v] == 0 && w.Producer(v) == nil && w.Constant(v) == nil && met < maxSources && isSequence(c.around.Input(n, i)) {
					out[v] = 1 << met
					met++
				}
				bits |= out[v]
			}
			for i := range n.Outputs {
				if v, ok := w.Output(n, i); ok {
					out[v] |= bits
				}
			}
		}
		return out
	})
}

func (c *Cut) enter(name string) {
	if !slices.Contains(c.Enters, name) {
		c.Enters = append(c.Enters, name)
	}
}
