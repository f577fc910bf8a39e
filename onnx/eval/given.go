package eval

import (
	"maps"

	"github.com/modelpatch/modelpatch/onnx"
)

// Given is the scope again, at the same sizes, in which a value has other content: what is
// asked of it is computed from that, where the graph only moves numbers, and all else as
// the scope knows it. It shares nothing that it changes with the scope, and what fails in
// it is not told.
func (s *Scope) Given(name string, v *Value) *Scope {
	number, ok := s.wiring.Number(name)
	if !ok {
		return s
	}
	e := *s.eval
	e.Failures, e.Stop, e.args, e.calls = nil, nil, nil, nil
	e.scopes, e.children = e.scopes[:len(e.scopes):len(e.scopes)], maps.Clone(e.children)
	again := *s
	again.eval, again.fixed, again.once, again.attributes = &e, nil, nil, nil
	again.values, again.running = make([]*Value, len(s.values)), make([]bool, len(s.running))
	if s == e.Main {
		e.Main = &again
	}
	again.values[number] = v
	e.Budget.Spend(1 + len(s.values)/elementsAStep)
	return &again
}

// Numbered is a value of a type and shape whose elements are 1, 2, 3 …: where they come out
// says which elements another value is made of, and a sign that they were negated. Of a quantised value they are what its elements stand for.
func Numbered(v *Value) *Value {
	t := v.Type
	if t.IsInteger() {
		t = onnx.Double
	}
	out := FloatValue(t, v.Shape, make([]float64, v.Len()))
	for i := range out.Floats {
		out.Floats[i] = float64(i + 1)
	}
	return out
}

// Adopt makes room for what was put into the graph since it was evaluated: of each new value as much is known as of one that
// it is like.
func (s *Scope) Adopt(like map[string]string) {
	more := s.wiring.Len() - len(s.values)
	s.values = append(s.values, make([]*Value, more)...)
	if s.fixed != nil {
		s.fixed = append(s.fixed, make([]bool, more)...)
	}
	s.running = make([]bool, len(s.Graph.Nodes))
	for name, of := range like {
		if number, ok := s.wiring.Number(name); ok {
			s.values[number] = s.held(of)
		}
	}
}
