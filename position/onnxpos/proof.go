package onnxpos

import (
	"fmt"
	"slices"
	"strings"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/axes"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/onnxpos/probe"
	"github.com/modelpatch/modelpatch/position/onnxpos/site"
	"github.com/modelpatch/modelpatch/position/onnxpos/trace"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// withoutEncoding is what is told of a graph in which no encoding was recognised:
// that it has none, where the axes of its values prove it, else that this is
// unknown, naming the node that stands in the way.
func (m *Model) withoutEncoding() site.Site {
	if len(m.graph.Eval.Failures) > 0 {
		f := m.graph.Eval.Failures[0]
		return unknownAt(f.Node.Title(), fmt.Sprintf("the graph could not be evaluated with %s, which were tried: %v", m.tried(), f.Err))
	}
	l := axes.Pass(m.graph.Eval, m.input)
	switch {
	case len(l.Meetings) > 0:
		at := l.Meetings[0]
		return unknownAt(at.Node.Title(), "numbers that differ from position to position meet the data here, in a form that is not recognised")
	case len(l.Doubts) > 0:
		at := l.Doubts[0]
		return unknownAt(at.Node.Title(), at.Why+"; it may encode positions")
	}
	if n := m.vanished(); n != nil {
		return unknownAt(n.Title(), fmt.Sprintf("a single position is left of %s, which were tried: what differs between positions behind this node does not show", m.tried()))
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
func unknownAt(node, why string) *site.Other {
	return site.NewOther(position.Encoding{Scheme: schemes.Other{Kind: report.SchemeUnknown}, Form: report.FormRuntime, Beyond: report.BeyondUnknown,
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

// vanished finds a convolution or pooling that leaves a single position of a
// picture whose size is free: at larger sizes there would be more.
func (m *Model) vanished() *onnx.Node {
	if !m.graph.FreeImage() {
		return nil
	}
	for _, s := range m.graph.Eval.Scopes() {
		for _, n := range s.Graph.Nodes {
			if !n.IsConvolution() && n.Op != "MaxPool" && n.Op != "AveragePool" {
				continue
			}
			before, after := s.Value(n.Input(0)).Shape, s.Value(n.Output(0)).Shape
			if len(before) != len(after) || len(after) < 3 {
				continue
			}
			if slices.Max(after[2:]) == 1 && slices.Max(before[2:]) > 1 {
				return n
			}
		}
	}
	return nil
}

// input says what a graph input holds, for following its axes. Which axis of
// numbers is that of features is a judgement: the channels of the convolution
// that it goes into, else the last one.
func (m *Model) input(in *onnx.ValueInfo) axes.Input {
	name := strings.ToLower(in.Name)
	rank := len(in.Dims)
	switch {
	case probe.IsPositions(in.Name), rank == 0, strings.Contains(name, "seqlens"), strings.Contains(name, "seq_lens"), strings.Contains(name, "total_seq"):
		return axes.Input{Depends: axes.Constant}
	case in.Type == onnx.Bool, strings.Contains(name, "mask"):
		return axes.Input{Depends: axes.Mask, Roles: roles(rank, -1)}
	case strings.Contains(name, "past"):
		r := roles(rank, rank-1)
		if rank == 4 {
			r[1] = axes.Feature // heads
		}
		return axes.Input{Depends: axes.Content, Roles: r}
	case in.Type.IsInteger():
		r := roles(rank, -1)
		if rank == 1 {
			r[0] = axes.Position
		}
		if rank == 2 && in.Dims[0].Value > 1 && in.Dims[1].Value == 1 {
			r[0], r[1] = axes.Position, axes.Batch // sequence first
		}
		return axes.Input{Depends: axes.Content, Roles: r}
	}
	feature, convolved := m.channelAxis(in)
	switch {
	case convolved:
	case rank == 4 && (in.Dims[1].Value == 1 || in.Dims[1].Value == 3): // a picture that is cut into patches by Reshape
		feature = 1
	default:
		feature = rank - 1
	}
	return axes.Input{Depends: axes.Content, Roles: roles(rank, feature), Raw: convolved && rank != 3 || feature == 1 && rank == 4}
}

// roles are the batch, then positions, but for one axis of features (−1: none).
func roles(rank, feature int) []axes.Role {
	out := make([]axes.Role, rank)
	for i := range out {
		switch {
		case i == feature:
			out[i] = axes.Feature
		case i > 0:
			out[i] = axes.Position
		}
	}
	return out
}

// channelAxis finds the axis of an input that is the channels of the convolution
// it goes into, −1 when the channels are an axis of size 1 that is added on the
// way; false when it goes into none.
func (m *Model) channelAxis(in *onnx.ValueInfo) (axis int, convolved bool) {
	axesOf := make([]int, len(in.Dims)) // of the value at hand: which of the input's each is
	for i := range axesOf {
		axesOf[i] = i
	}
	s := m.graph.Eval.Main
	name := in.Name
	for range 16 { // hostile graphs have circles
		var next *onnx.Node
		for _, n := range s.Consumers(name) {
			if n.Input(0) == name && n.Op != "Shape" || n.Op == "Sub" || n.Op == "Mul" || n.Op == "Div" {
				next = n
				break
			}
		}
		if next == nil {
			return 0, false
		}
		switch next.Op {
		case "Cast", "QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear", "Identity", "Sub", "Mul", "Div", "Add", "Pad":
		case "Transpose":
			perm := next.Ints("perm")
			if len(perm) != len(axesOf) {
				return 0, false
			}
			moved := make([]int, len(perm))
			for i, p := range perm {
				if p < 0 || int(p) >= len(axesOf) {
					return 0, false
				}
				moved[i] = axesOf[p]
			}
			axesOf = moved
		case "Unsqueeze":
			list := trace.ListOf(s, next, "axes", 1)
			if len(list) != 1 {
				return 0, false
			}
			at := int(list[0])
			if at < 0 {
				at += len(axesOf) + 1
			}
			if at < 0 || at > len(axesOf) {
				return 0, false
			}
			axesOf = slices.Insert(axesOf, at, -1)
		default:
			if next.IsConvolution() && len(axesOf) > 2 {
				return axesOf[1], true
			}
			return 0, false
		}
		name = next.Output(0)
	}
	return 0, false
}
