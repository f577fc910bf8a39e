package trace

import (
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
)

// learned are operators that weigh what they are given, compare places with each other, or
// sample places of data: what goes into one of them, the model was trained to read.
const learned = eval.Product | eval.Convolution | eval.Recurrence | eval.Attention | eval.Embedding | eval.Normalization | eval.Resampling | eval.Accumulation

// Weighed are the nodes of a graph that are learned, have a body in which a node is, or whose results one of those reads. What
// is not understood counts as learned where it has constants of several numbers. Boxes that say where data are sampled are no data.
func Weighed(s *eval.Scope) map[*onnx.Node]bool {
	out := map[*onnx.Node]bool{}
	var queue []*onnx.Node
	add := func(n *onnx.Node) {
		if !out[n] {
			out[n] = true
			queue = append(queue, n)
		}
	}
	s.Spend(len(s.Graph.Nodes))
	for _, n := range s.Graph.Nodes {
		row := eval.Lookup(n.Domain, n.Op)
		if learns(n, 0) || eval.Weighs(n) && scales(s, n) || row.Axes == 0 && slices.ContainsFunc(n.Inputs, func(name string) bool { return name != "" && s.Value(name).Known() && s.Value(name).Len() > 1 }) {
			add(n)
		}
	}
	for len(queue) > 0 {
		n := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		read := n.Inputs
		if n.Op == "RoiAlign" {
			read = read[:min(1, len(read))]
		}
		for _, name := range append(captured(n, 0), read...) {
			if made, at := s.Find(name); made != nil && at == s {
				add(made)
			}
		}
	}
	return out
}

// scales reports whether weights are products with data, element by element: of what a window holds, which is summed up then.
func scales(s *eval.Scope, weights *onnx.Node) bool {
	made := []string{weights.Output(0)}
	for i := 0; i < len(made) && i < maxLayouts; i++ {
		for _, c := range s.Consumers(made[i]) {
			if eval.Is(c, eval.Scaling) {
				return true
			}
			if eval.Is(c, eval.Layout|eval.Repetition) {
				made = append(made, c.Output(0))
			}
		}
	}
	return false
}

// learns reports whether a node is learned, or one in its bodies, or not known.
func learns(n *onnx.Node, depth int) bool {
	row := eval.Lookup(n.Domain, n.Op)
	if row == nil || row.In(learned) || depth > maxBodies {
		return true
	}
	return slices.ContainsFunc(n.Attributes, func(a *onnx.Attribute) bool {
		return slices.ContainsFunc(append(slices.Clone(a.Graphs), a.Graph), func(g *onnx.Graph) bool {
			return g != nil && slices.ContainsFunc(g.Nodes, func(in *onnx.Node) bool { return learns(in, depth+1) })
		})
	})
}

// captured are the names that nodes in the bodies of a node read.
func captured(n *onnx.Node, depth int) (names []string) {
	for _, a := range n.Attributes {
		for _, g := range append(slices.Clone(a.Graphs), a.Graph) {
			for i := 0; g != nil && depth < maxBodies && i < len(g.Nodes); i++ {
				names = append(append(names, g.Nodes[i].Inputs...), captured(g.Nodes[i], depth+1)...)
			}
		}
	}
	return names
}

// maxBodies bounds the bodies that stand in one another.
const maxBodies = 16
