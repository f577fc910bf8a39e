package trace

import (
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
)

// Only is the node that reads a value, but for its sizes; nil where several do.
func Only(s *eval.Scope, name string) *onnx.Node {
	nodes := Readers(s, name)
	if len(nodes) != 1 {
		return nil
	}
	return nodes[0]
}

// Readers are the nodes that read a value, but for its sizes.
func Readers(s *eval.Scope, name string) []*onnx.Node {
	return slices.DeleteFunc(slices.Clone(s.Consumers(name)), func(n *onnx.Node) bool { return eval.Is(n, eval.Sizes) })
}
