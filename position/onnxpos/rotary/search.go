package rotary

import (
	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/axes"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position/onnxpos/origin"
	"github.com/modelpatch/modelpatch/position/onnxpos/site"
)

// Search looks for rotary encodings in a graph. While the graph is walked it
// is told of what may turn pairs of elements (turn, fused); afterwards it is asked
// for the sites.
type Search struct {
	graph     *site.Graph
	rotations []*rotation
	origins   *origin.Maps
	grids     map[numbers][]int // along which numbers lie that data are multiplied with
}

// numbers is a known value of a scope.
type numbers struct {
	scope *eval.Scope
	name  string
}

// New begins a search.
func New(g *site.Graph, origins *origin.Maps) *Search {
	return &Search{graph: g, origins: origins, grids: map[numbers][]int{}}
}

// AddMeeting takes note of data that are multiplied with numbers by position: of a grid of places, its sizes
// are what the numbers lie along.
func (d *Search) AddMeeting(x axes.Meeting) {
	for _, axis := range x.Along {
		for _, run := range axes.Runs(axis) {
			if run.Grid != nil && !run.Mixed {
				d.grids[numbers{x.Scope, x.Known}] = run.Grid
			}
		}
	}
}

// Explained calls visit for each rotation that was found: where it is, and the names
// of its cosines and sines.
func (d *Search) Explained(visit func(s *eval.Scope, n *onnx.Node, names ...string)) {
	for _, r := range d.rotations {
		visit(r.scope, r.node, r.cos, r.sin)
	}
}
