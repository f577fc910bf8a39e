package rotary

import (
	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position/onnxpos/site"
)

// Search looks for rotary encodings in a graph. While the graph is walked it
// is told of what may turn pairs of elements (turn, fused); afterwards it is asked
// for the sites.
type Search struct {
	graph     *site.Graph
	rotations []*rotation
}

// New begins a search.
func New(g *site.Graph) *Search { return &Search{graph: g} }

// Explained calls visit for each rotation that was found: where it is, and the names
// of its cosines and sines.
func (d *Search) Explained(visit func(s *eval.Scope, n *onnx.Node, names ...string)) {
	for _, r := range d.rotations {
		visit(r.scope, r.node, r.cos, r.sin)
	}
}
