package onnxpos

import (
	"fmt"
	"slices"
	"strings"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/axes"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/onnxpos/probe"
	"github.com/modelpatch/modelpatch/position/onnxpos/site"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// withoutEncoding is what is told of a graph in which no encoding was recognised:
// that it has none, where the axes of its values prove it, else that this is
// unknown, naming the node that stands in the way.
func (m *Model) withoutEncoding() site.Site {
	if len(m.graph.Eval.Failures) > 0 {
		f := m.graph.Eval.Failures[0]
		return m.unknownAt(f.Node.Title(), fmt.Sprintf("the graph could not be evaluated with %s, which were tried: %v", m.tried(), f.Err))
	}
	l := m.labels()
	switch {
	case len(l.Meetings) > 0:
		at := l.Meetings[0]
		return m.unknownAt(at.Node.Title(), "numbers that differ from position to position meet the data here, in a form that is not recognised")
	case len(l.Doubts) > 0:
		at := l.Doubts[0]
		return m.unknownAt(at.Node.Title(), at.Why+"; it may encode positions")
	}
	if n := m.vanished(); n != nil {
		return m.unknownAt(n.Title(), fmt.Sprintf("a single position is left of %s, which were tried: what differs between positions behind this node does not show", m.tried()))
	}
	none := schemes.Other{Kind: report.SchemeNone, Order: schemes.OrderEquivariant}
	e := position.Encoding{Beyond: report.BeyondContinues,
		Evidence: []report.Evidence{{Kind: "structure", Says: "no numbers that differ from position to position meet the data"}}}
	switch {
	case len(l.Order) > 0:
		none.Order = schemes.OrderOperators
		for _, r := range l.Order[:min(len(l.Order), maxEvidence)] {
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

// tried is the size of the probe in words.
func (m *Model) tried() string {
	if m.graph.ImageInput() != nil && m.graph.TokenInput() == nil {
		return fmt.Sprintf("pictures of %d×%d pixels", m.graph.Sizes.Image, m.graph.Sizes.Image)
	}
	return fmt.Sprintf("%d positions", m.graph.Sizes.Length)
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
			for d := 2; d < len(after); d++ {
				if after[d] == 1 && before[d] > 1 && m.isFree(m.labels().Of(s, n.Input(0)), d) {
					return n
				}
			}
		}
	}
	return nil
}

// isFree reports whether an axis of a value comes from one of an input that has no size of
// its own.
func (m *Model) isFree(v axes.Value, d int) bool {
	return d < len(v.Axes) && m.labels().ComesFrom(v.Axes[d], func(name string, axis int) bool {
		return slices.ContainsFunc(m.graph.File.Graph.Inputs, func(in *onnx.ValueInfo) bool {
			return in.Name == name && axis < len(in.Dims) && in.Dims[axis].Value < 0
		})
	})
}

// input says what a graph input holds, for following its axes.
func (m *Model) input(in *onnx.ValueInfo) axes.Input {
	name := strings.ToLower(in.Name)
	rank := len(in.Dims)
	switch {
	case probe.IsPositions(in.Name), rank == 0, strings.Contains(name, "seqlens"), strings.Contains(name, "seq_lens"), strings.Contains(name, "total_seq"):
		return axes.Input{Depends: axes.Constant}
	case probe.IsCoordinates(m.graph.File, in):
		return axes.Input{Depends: axes.Constant}
	case in.Type == onnx.Bool, strings.Contains(name, "mask"):
		return axes.Input{Depends: axes.Mask}
	case m.isForAll(in):
		return axes.Input{Depends: axes.Constant}
	case in.Type.IsInteger() && in != m.graph.ImageInput():
		return axes.Input{Depends: axes.Content, Tokens: true}
	}
	return axes.Input{Depends: axes.Content, Raw: in == m.graph.ImageInput() && probe.HasColours(in) || rank == 2}
}

// isForAll reports whether an input is a matrix that all sequences of a batch share: rows of
// numbers for positions, which a caller gives. The main input has a free axis for the batch;
// the matrix has a row for each of its places, or as many as a number says.
func (m *Model) isForAll(in *onnx.ValueInfo) bool {
	main := m.graph.TokenInput()
	if main == nil || main == in || !in.Type.IsFloat() || len(in.Dims) != 2 || len(main.Dims) < 2 || main.Dims[0].Value >= 0 {
		return false
	}
	rows := in.Dims[0]
	if rows.Value >= 0 {
		return rows.Value > 1
	}
	return rows.Param != "" && rows.Param != main.Dims[0].Param && slices.ContainsFunc(main.Dims[1:], func(d onnx.Dim) bool { return d.Param == rows.Param })
}
