package trace

import (
	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
)

// Scales reports whether the first node that does more with a constant than to lay it out multiplies with it, or divides by it.
func Scales(s *eval.Scope, t *onnx.Tensor) bool {
	for _, n := range s.Graph.Nodes {
		for _, in := range n.Inputs {
			if in == "" || s.Tensor(in) != t {
				continue
			}
			for steps := 0; n != nil && steps < maxOnTheWay && (n.Op == "Clip" || eval.Is(n, eval.Layout|eval.Repetition|eval.Elements|eval.Lookups)); steps++ {
				n = Only(s, n.Output(0))
			}
			return n != nil && eval.Is(n, eval.Scaling)
		}
	}
	return false
}
