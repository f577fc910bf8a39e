package eval

import (
	"fmt"
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
)

// maxCornerDepth bounds the nodes between a value whose corner is asked for and what is known.
const maxCornerDepth = 64

// Corner is the part of a value at the beginning of its last axes: of each longer than size the first places alone. What operators compute
// element by element, lay out anew or look up in a small table is computed there, and constants are read there, so that it costs as much
// however long the axes are. nil where something else stands between, or what is left is still too large to be kept.
func (s *Scope) Corner(name string, size int) *Value {
	v := s.Value(name)
	want := slices.Clone(v.Shape)
	for i := range want {
		if i >= len(want)-2 {
			want[i] = min(want[i], size)
		}
	}
	if !v.Ranked || onnx.Size(want) > maxContent {
		return nil
	}
	c := corners{s, map[string]*Value{}}
	return c.of(name, want, 0)
}

// FirstPlaces is the corner of a large value of pairs of places, of as many as can be looked at; nil where that is not computed.
func (s *Scope) FirstPlaces(name string) *Value {
	if !s.Value(name).Large() {
		return nil
	}
	for _, places := range []int{256, 128, 64} {
		if v := s.Corner(name, places); v != nil {
			return v
		}
	}
	return nil
}

// corners are those of one scope's values that were computed for one question, by name and shape.
type corners struct {
	scope *Scope
	known map[string]*Value
}

func (c *corners) of(name string, want []int, depth int) *Value {
	key := fmt.Sprint(name, want)
	if v, ok := c.known[key]; ok {
		return v
	}
	c.known[key] = nil // a circle has none
	v := c.find(name, want, depth)
	c.known[key] = v
	return v
}

func (c *corners) find(name string, want []int, depth int) *Value {
	s := c.scope
	v := s.Value(name)
	s.Spend(1 + onnx.Size(want))
	switch {
	case !v.Ranked || len(v.Shape) != len(want) || depth > maxCornerDepth || onnx.Size(want) > maxContent:
		return nil
	case slices.Equal(v.Shape, want) && v.Known():
		return v
	case v.has():
		return v.head(want)
	}
	n, at := s.Find(name)
	if n == nil || at != s || n.Domain != "" || len(n.Inputs) == 0 || len(n.Outputs) != 1 { // functions have a domain
		return nil
	}
	switch {
	case Is(n, ByElement|Choice|Comparison) || Is(n, Elements) && len(n.Inputs) == 1:
		return c.run(n, len(n.Inputs), want, depth, func(i int) []int { return aligned(s.Input(n, i).Shape, want) })
	case n.Op == "Transpose":
		order, ok := orderOf(n, len(want))
		from := make([]int, len(want))
		for i, axis := range order {
			from[axis] = want[i]
		}
		if !ok {
			return nil
		}
		return c.run(n, 1, want, depth, func(int) []int { return from })
	case Is(n, Repetition) && n.Op == "Expand":
		a := c.of(n.Input(0), aligned(s.Input(n, 0).Shape, want), depth+1)
		if a == nil || !a.Known() {
			return nil
		}
		out := Shaped(a.Type, want...).from(a)
		copyElements(out, a, newWalker(a.Shape, want))
		return out
	case Is(n, Layout) && !Is(n, Elements): // those have scales and zero points
		from, ok := withoutOnes(s.Input(n, 0).Shape, v.Shape, want)
		if !ok {
			return nil
		}
		if a := c.of(n.Input(0), from, depth+1); a != nil {
			return a.view(want)
		}
	case n.Op == "Gather":
		return c.gather(n, want, depth)
	case n.Op == "Slice":
		if starts, steps := s.Input(n, 1), s.Input(n, 4); starts.Known() && !slices.ContainsFunc(starts.Ints, func(i int64) bool { return i != 0 }) && (n.Input(4) == "" || steps.Known() && !slices.ContainsFunc(steps.Ints, func(i int64) bool { return i != 1 })) {
			return c.of(n.Input(0), want, depth+1)
		}
	}
	return nil
}

// run is what an operator makes of corners of its first inputs.
func (c *corners) run(n *onnx.Node, inputs int, want []int, depth int, from func(i int) []int) *Value {
	in := make([]*Value, len(n.Inputs))
	for i := range in {
		if n.Input(i) == "" {
			continue
		}
		if in[i] = c.scope.Input(n, i); i < inputs {
			in[i] = c.of(n.Input(i), from(i), depth+1)
		}
		if in[i] == nil || !in[i].Known() {
			return nil
		}
	}
	op := c.scope.eval.operators(n.Domain, n.Op)
	if op == nil || !op.computes() {
		return nil
	}
	out, err := op.run(&call{c.scope, c.scope.resolve(n), in})
	if err != nil || len(out) == 0 || out[0] == nil || !slices.Equal(out[0].Shape, want) || !out[0].Known() {
		return nil
	}
	return out[0]
}

// gather looks up in a table that is known what a corner of the indices says, and cuts the rest.
func (c *corners) gather(n *onnx.Node, want []int, depth int) *Value {
	data, index := c.scope.Input(n, 0), c.scope.Input(n, 1)
	axis, ok := axisOf(n.Int("axis", 0), len(data.Shape))
	if !ok || !index.Ranked || !data.Ranked || len(want) != len(data.Shape)-1+len(index.Shape) {
		return nil
	}
	all := slices.Concat(data.Shape[:axis], want[axis:axis+len(index.Shape)], data.Shape[axis+1:])
	v := c.run(n, 2, all, depth, func(i int) []int { return [][]int{data.Shape, want[axis : axis+len(index.Shape)]}[i] })
	if v == nil {
		return nil
	}
	return v.head(want)
}

// aligned is the corner of an operand whose result has the one that is wanted: axes of one place are laid over all.
func aligned(shape, want []int) []int {
	out := slices.Clone(shape)
	for i := range out {
		if k := len(want) - len(shape) + i; k >= 0 && shape[i] != 1 {
			out[i] = want[k]
		}
	}
	return out
}

// withoutOnes is the corner of what has the shape before, from that of the same numbers with axes of one place put in or taken out.
func withoutOnes(before, after, want []int) (out []int, ok bool) {
	out = slices.Clone(before)
	k := 0
	for i, n := range before {
		if n == 1 {
			continue
		}
		for k < len(after) && after[k] == 1 {
			k++
		}
		if k == len(after) || after[k] != n {
			return nil, false
		}
		out[i] = want[k]
		k++
	}
	return out, onnx.Size(after[k:]) == 1
}

// head is a value's corner of a shape, read from the file where it is a constant; nil where that cannot be read.
func (v *Value) head(want []int) *Value {
	out := Shaped(v.Type, want...).from(v)
	n, last := onnx.Size(want), len(want)-1
	if n == 0 || last < 0 {
		return nil
	}
	if v.Ints == nil && v.Floats == nil && !v.Type.IsFloat() && !v.Type.IsInteger() {
		return nil
	}
	for i := 0; i < n; i += want[last] {
		first, rest, stride := 0, i/want[last], v.Shape[last]
		for axis := last - 1; axis >= 0; axis-- {
			first += rest % want[axis] * stride
			rest /= want[axis]
			stride *= v.Shape[axis]
		}
		end := first + want[last]
		switch {
		case v.Ints != nil:
			out.Ints = append(out.Ints, v.Ints[first:end]...)
		case v.Floats != nil:
			out.Floats = append(out.Floats, v.Floats[first:end]...)
		case v.Type.IsInteger():
			x, err := v.stored.Ints(int64(first), int64(want[last]))
			if err != nil {
				return nil
			}
			out.Ints = append(out.Ints, x...)
		default:
			x, err := v.stored.Floats(int64(first), int64(want[last]))
			if err != nil {
				return nil
			}
			out.Floats = append(out.Floats, x...)
		}
	}
	return out
}
