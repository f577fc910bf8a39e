package onnxpos

import (
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/axes"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position/onnxpos/probe"
)

// labels are the axes of the probe's values, followed once.
func (m *Model) labels() *axes.Labels {
	if m.labelled == nil || m.labelledOf != m.graph.Eval {
		m.labelled, m.labelledOf = axes.Pass(m.graph.Eval, probe.Given(m.graph.File), m.input), m.graph.Eval
	}
	return m.labelled
}

// isFree reports whether an axis of a value comes from one of an input that has no size of
// its own.
func (m *Model) isFree(v axes.Value, d int) bool {
	given := probe.Given(m.graph.File)
	return d < len(v.Axes) && m.labels().ComesFrom(v.Axes[d], func(name string, axis int) bool {
		return slices.ContainsFunc(given, func(in *onnx.ValueInfo) bool {
			return in.Name == name && axis < len(in.Dims) && in.Dims[axis].Value < 0
		})
	})
}

// InputsOf are the names of the inputs on whose axes a value lies, or on what was made of them.
func (m *Model) InputsOf(s *eval.Scope, name string) (names []string) {
	for axis := range m.labels().Of(s, name).Axes {
		names = append(names, m.inputsAlong(s, name, axis)...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// inputsAlong are those on whose axes one of a value lies.
func (m *Model) inputsAlong(s *eval.Scope, name string, axis int) (names []string) {
	l := m.labels()
	if of := l.Of(s, name).Axes; axis >= 0 && axis < len(of) {
		l.ComesFrom(of[axis], func(input string, _ int) bool {
			names = append(names, input)
			return false
		})
	}
	return names
}

// OverPositions reports whether positions are part of an axis of a value.
func (m *Model) OverPositions(s *eval.Scope, name string, axis int) bool {
	l := m.labels()
	of := l.Of(s, name).Axes
	return axis >= 0 && axis < len(of) && l.IsOfPositions(of[axis])
}

// input says what a graph input holds, for following its axes.
func (m *Model) input(in *onnx.ValueInfo) axes.Input {
	rank := len(in.Dims)
	switch {
	case probe.IsPositions(in.Name) && !probe.OfPairs(in), rank == 0, m.graph.IsNumber(in), probe.IsCount(in), probe.IsLength(m.graph.File, in):
		return axes.Input{Depends: axes.Constant}
	case probe.IsCoordinates(m.graph.File, in):
		return axes.Input{Depends: axes.Constant}
	case probe.IsMask(m.graph.File, in):
		return axes.Input{Depends: axes.Mask}
	case m.graph.Turns(in):
		return axes.Input{Depends: axes.Constant}
	case (in.Type.IsInteger() || in.Type == onnx.String) && in != m.graph.ImageInput():
		return axes.Input{Depends: axes.Content, Tokens: true}
	}
	return axes.Input{Depends: axes.Content, Raw: in == m.graph.ImageInput() && probe.HasColours(in) || rank == 2}
}
