package trace

import (
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
)

// IsScores reports whether a value goes into a Softmax before any other
// computation: then it is attention scores.
func IsScores(s *eval.Scope, name string) bool {
	number, ok := s.Graph.Wiring().Number(name)
	return ok && towardsSoftmax(s)[number] <= MaxTowards
}

// MakesScores is IsScores of a node's first output.
func MakesScores(s *eval.Scope, n *onnx.Node) bool {
	if len(n.Outputs) == 0 {
		return false // hostile graphs
	}
	number, ok := s.Graph.Wiring().Output(n, 0)
	return ok && towardsSoftmax(s)[number] <= MaxTowards
}

// SoftmaxAxis is the axis along which the Softmax of scores that a node makes is taken, as an axis of that node's output; −1 where none is reached
// without bringing them into another shape.
func SoftmaxAxis(s *eval.Scope, n *onnx.Node) int {
	rank := len(s.Output(n, 0).Shape)
	for range MaxTowards {
		readers := s.Consumers(n.Output(0))
		s.Spend(1 + len(readers))
		next := slices.IndexFunc(readers, func(r *onnx.Node) bool { return MakesScores(s, r) || eval.Weighs(r) && r.Op != "Exp" })
		if next < 0 {
			break
		}
		n = readers[next]
		switch {
		case eval.Weighs(n):
			return n.Axis(-1, rank)
		case len(s.Output(n, 0).Shape) != rank || eval.Is(n, eval.Layout) && !eval.Is(n, eval.Elements):
			return -1
		}
	}
	return -1
}

// towardsSoftmax is, for every value of a scope's graph, how many operators stand
// between it and the nearest Softmax, more than MaxTowards where there are more or
// there is none. It goes back from all of them at once.
func towardsSoftmax(s *eval.Scope) []uint8 {
	return eval.Once(s, "towards", "", func() []uint8 {
		w := s.Graph.Wiring()
		out := make([]uint8, w.Len())
		for v := range out {
			out[v] = MaxTowards + 1
		}
		var levels [MaxTowards + 1][]int
		reach := func(n *onnx.Node, distance uint8) {
			for i := range n.Inputs {
				if v, ok := w.Input(n, i); ok && distance < out[v] {
					out[v] = distance
					levels[distance] = append(levels[distance], v)
				}
			}
		}
		s.Spend(len(s.Graph.Nodes))
		for _, n := range s.Graph.Nodes {
			if eval.Weighs(n) && !n.Passes() {
				reach(n, 0)
			}
		}
		for distance := range uint8(MaxTowards + 1) {
			for i := 0; i < len(levels[distance]); i++ { // grows by nodes that do not count
				v := levels[distance][i]
				n := w.Producer(v)
				if n == nil || out[v] != distance || !betweenScores(n) && !joinsSinks(s, n) || n.Passes() || w.Place(v) != 0 {
					continue
				}
				s.Spend(len(n.Inputs))
				next := distance
				if !eval.Is(n, eval.Elements) { // every other node of a quantised graph
					next++
				}
				if next <= MaxTowards {
					reach(n, next)
				}
			}
		}
		return out
	})
}

// MayBeScores reports whether a product, or what is not known, stands behind a value: else it is what an input, rows of a table or a
// convolution of them has brought, the state, of which a Softmax is taken in the end.
func MayBeScores(s *eval.Scope, name string) bool {
	for range maxToProduct {
		n, at := s.Find(name)
		switch {
		case n == nil, eval.Is(n, eval.Lookups|eval.Embedding) && Stored(at, n.Input(0)) != nil:
			return false
		case at != s, !eval.Is(n, eval.Layout|eval.Addition|eval.Scaling|eval.Convolution|eval.Joining):
			return true
		}
		i := slices.IndexFunc(n.Inputs, func(in string) bool { return s.Value(in).Unknowable() })
		if i < 0 {
			return true
		}
		name = n.Inputs[i]
	}
	return true
}

// maxToProduct bounds the nodes between scores and the product that makes them.
const maxToProduct = 24

// betweenScores reports whether a node may stand between scores and their Softmax.
func betweenScores(n *onnx.Node) bool {
	return eval.Is(n, eval.Layout|eval.Addition|eval.Largest|eval.Scaling|eval.Choice) || n.Op == "Clip" || n.Op == "Tanh"
}

// joinsSinks reports whether a node puts trained numbers beside scores, as attention sinks stand.
func joinsSinks(s *eval.Scope, n *onnx.Node) bool {
	return n.Op == "Concat" && len(n.Inputs) == 2 && s.Input(n, 0).Known() != s.Input(n, 1).Known()
}

// MaxTowards is the most operators between scores and their Softmax.
const MaxTowards = 14

// FromSoftmax reports whether a value is attention weights, perhaps scaled.
func FromSoftmax(s *eval.Scope, name string) bool { return fromSoftmax(s, name, maxFromSoftmax) }

// maxFromSoftmax bounds the nodes between a Softmax and what is asked of.
const maxFromSoftmax = 6

func fromSoftmax(s *eval.Scope, name string, left int) bool {
	n, at := s.Find(name)
	switch {
	case n == nil || at != s || left == 0:
		return false
	case eval.Weighs(n):
		return true
	case eval.Is(n, eval.Scaling):
		return slices.ContainsFunc(n.Inputs, func(in string) bool { return fromSoftmax(s, in, left-1) })
	case eval.Is(n, eval.Choice):
		return fromSoftmax(s, n.Input(2), left-1)
	}
	return eval.Is(n, eval.Layout) && fromSoftmax(s, n.Input(0), left-1)
}

// ReachedFrom are the products, Softmaxes and fused attentions to which a node's output goes through
// layout changes and elementwise operators.
func ReachedFrom(s *eval.Scope, from *onnx.Node) []*onnx.Node {
	var out []*onnx.Node
	level, seen := []*onnx.Node{from}, map[*onnx.Node]bool{from: true}
	for range maxReach + 1 {
		var next []*onnx.Node
		for i, n := range level {
			outputs := n.Outputs
			if n == from && i == 0 && len(seen) == 1 {
				outputs = outputs[:min(1, len(outputs))]
			}
			for _, name := range outputs {
				for _, reader := range s.Consumers(name) {
					if seen[reader] || len(seen) > maxReached {
						continue
					}
					seen[reader] = true
					if eval.Is(reader, eval.Product|eval.Normalization|eval.Attention) || eval.Weighs(reader) {
						out = append(out, reader)
						if reader.Op != "FusedMatMul" && !eval.Is(reader, eval.Normalization) {
							continue
						}
					}
					next = append(next, reader)
				}
			}
		}
		level = next
	}
	return out
}

// Place is a node and the scope in which it runs: a body may run in several.
type Place struct {
	Scope *eval.Scope
	Node  *onnx.Node
}

// maxReach is how many operators may stand between a rotation or a bias and the
// attention that it acts in, maxReached how many nodes are met on the way.
const (
	maxReach   = 24
	maxReached = 1 << 10
)
