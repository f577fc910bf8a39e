package onnxpos

import (
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/axes"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position/onnxpos/trace"
)

// maxCoordinates is how many numbers a place may have to be coordinates; encodings have as many as
// the data have features, which are more.
const maxCoordinates = 3

// namesPlaces reports whether numbers that meet the data are coordinates in which a graph
// says where its results are (centres of cells that boxes are measured from): few to a
// place, in what is weighed no more.
func (m *Model) namesPlaces(x axes.Meeting) bool {
	if !m.isPostProcessing(x.Scope, x.Node) {
		return false
	}
	v := x.Scope.Enlarge(x.Known)
	numbers := 1
	for d, size := range v.Shape {
		if d != x.Axis && !slices.Contains(x.Covers, d) && (!v.Known() || v.Varies(d)) {
			numbers *= size
		}
	}
	return numbers <= maxCoordinates
}

// isPostProcessing reports whether nothing that a node makes is weighed on its way to the
// outputs: what it does with positions is in what outputs mean, not in how the model counts.
func (m *Model) isPostProcessing(s *eval.Scope, n *onnx.Node) bool {
	if s != m.graph.Eval.Main {
		return false // what a body makes goes on in the graph around it
	}
	if m.weighed == nil || m.weighedIn != s {
		m.weighed, m.weighedIn = trace.Weighed(s), s
	}
	return !m.weighed[n]
}
