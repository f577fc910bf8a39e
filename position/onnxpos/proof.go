package onnxpos

import (
	"fmt"
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/axes"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/onnxpos/cut"
	"github.com/modelpatch/modelpatch/position/onnxpos/ranks"
	"github.com/modelpatch/modelpatch/position/onnxpos/site"
	"github.com/modelpatch/modelpatch/position/onnxpos/trace"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// withoutEncoding is what is told of a graph in which no encoding was recognised: that it has none, where the axes of its values
// prove it, else that this is unknown, naming the node that stands in the way.
func (m *Model) withoutEncoding() site.Site {
	if len(m.graph.Eval.Failures) > 0 {
		f := m.graph.Eval.Failures[0]
		return m.unknownAt(f.Node.Title(), fmt.Sprintf("the graph could not be evaluated with %s, which were tried: %v", m.graph.Tried(), f.Err))
	}
	if m.graph.AtOnePosition() {
		return m.unknownAt(m.graph.TokenInput().Name, "it takes one token at one position: what differs between positions does not show")
	}
	if in := m.graph.OneToken(); in != nil && m.graph.TokenInput() == nil && m.graph.ImageInput() == nil {
		return m.unknownAt(in.Name, "it is one token at one position, or nothing says what it is: what differs between positions does not show")
	}
	if i := slices.IndexFunc(m.graph.File.Graph.Inputs, func(in *onnx.ValueInfo) bool {
		return in.Type == 0 || !in.Ranked && m.graph.TokenInput() == nil
	}); i >= 0 {
		return m.unknownAt(m.graph.File.Graph.Inputs[i].Name, "it is no tensor, or has no shape, and what it holds is not followed: what differs between positions there does not show")
	}
	if i := slices.IndexFunc(m.assumed, func(given ranks.Given) bool { return given.Input.Type.IsFloat() && !given.Told }); i >= 0 {
		in := m.assumed[i].Input
		return m.unknownAt(in.Name, fmt.Sprintf("it declares no shape; with one of %d axes, which was tried, no position shows", len(in.Dims)))
	}
	l := m.labels()
	if n := cut.First(m.graph.Eval.Scopes()); n != nil && !l.HasPositions() { // what is weighed may be channels, or places that were not followed
		return m.unknownAt(n.Title(), "places are compared here, and no axis of the inputs is known to run over positions: what differs between them does not show")
	}
	order := slices.Clone(l.Order)
	for _, x := range l.Meetings {
		if !m.namesPlaces(x) {
			return m.unknownAt(x.Node.Title(), "numbers that differ from position to position meet the data here, in a form that is not recognised")
		}
		order = append(order, axes.Reason{Node: x.Node, Why: "coordinates are added to results that no weights read any more"})
	}
	for _, d := range l.Doubts {
		if !m.isPostProcessing(d.Scope, d.Node) {
			return m.unknownAt(d.Node.Title(), d.Why+"; it may encode positions")
		}
		order = append(order, axes.Reason{Node: d.Node, Why: d.Why + ", in results that no weights read any more"})
	}
	if n := m.vanished(); n != nil {
		return m.unknownAt(n.Title(), fmt.Sprintf("a single position is left of %s, which were tried: what differs between positions behind this node does not show", m.graph.Tried()))
	}
	none := schemes.Other{Kind: report.SchemeNone, Order: schemes.OrderEquivariant}
	e := position.Encoding{Beyond: report.BeyondContinues,
		Evidence: []report.Evidence{{Kind: "structure", Says: "no numbers that differ from position to position meet the data"}}}
	if len(l.Meetings) > 0 {
		e.Evidence[0].Says += " that weights read"
	}
	switch {
	case len(order) > 0:
		none.Order = schemes.OrderOperators
		for _, r := range order[:min(len(order), maxEvidence)] {
			e.Evidence = append(e.Evidence, report.Evidence{Kind: "structure", Says: r.Node.Title() + ": " + r.Why})
		}
	case l.Masked:
		none.Order = schemes.OrderMask
		e.Evidence[0].Says += ", but for masks"
	}
	e.Scheme = none
	return site.NewOther(e)
}

// maxEvidence bounds the operators that are named as telling positions apart.
const maxEvidence = 3

// unknownAt is an encoding of which no more is known than the node where it may be.
func (m *Model) unknownAt(node, why string) *site.Other {
	beyond := report.BeyondUnknown
	if m.InputIsFixed() {
		beyond = report.BeyondError
	}
	return site.NewOther(position.Encoding{Scheme: schemes.Other{Kind: report.SchemeUnknown}, Form: report.FormRuntime, Beyond: beyond,
		Where:    []report.Where{{Node: node}},
		Evidence: []report.Evidence{{Kind: "structure", Says: node + ": " + why}}})
}

// vanished finds a convolution or pooling that leaves a single position of a picture or
// recording whose size is free: at larger sizes there would be more.
func (m *Model) vanished() *onnx.Node {
	if !m.graph.FreeImage() && (m.graph.Audio() == nil || m.graph.FixedLength() > 0) {
		return nil
	}
	for _, s := range m.graph.Eval.Scopes() {
		for _, n := range s.Graph.Nodes {
			if !n.IsConvolution() && !eval.Is(n, eval.Pooling) {
				continue
			}
			before, after := s.Value(n.Input(0)).Shape, s.Value(n.Output(0)).Shape
			if len(before) != len(after) || len(after) < 3 {
				continue
			}
			for d := 1; d < len(after); d++ { // channels are as many as they are
				if after[d] == 1 && before[d] > 1 && m.isFree(m.labels().Of(s, n.Input(0)), d) {
					return n
				}
			}
		}
	}
	return nil
}

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
