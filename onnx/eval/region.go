package eval

import (
	"fmt"
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
)

// maxRegionDepth bounds the nodes between a value of which a region is asked for and what is known.
const maxRegionDepth = 64

// region is a part of a value: size places along each axis, from at on.
type region struct{ at, size []int }

// FirstPlaces is a large value of pairs of places between the first of them, as many as can be looked at; nil where that is not computed. What
// operators compute element by element, lay out anew or look up in a small table is computed there alone, and constants are read there, so
// that it costs as much however many places there are.
func (s *Scope) FirstPlaces(name string) *Value {
	if !s.Value(name).Large() {
		return nil
	}
	for _, places := range []int{256, 128, 64} {
		if v := s.Places(name, 0, places); v != nil {
			return v
		}
	}
	return nil
}

// Places is what a value of pairs has, on its last two axes, between so many places from one on and so many of the first; nil where an operator
// stands between that does more than is said of FirstPlaces, or that is still too large to be kept.
func (s *Scope) Places(name string, from, places int) *Value {
	v := s.Value(name)
	k := len(v.Shape)
	if !v.Ranked || k < 2 || from < 0 || from >= max(v.Shape[k-2], 1) {
		return nil
	}
	b := region{make([]int, k), slices.Clone(v.Shape)}
	b.at[k-2] = from
	b.size[k-2], b.size[k-1] = min(v.Shape[k-2]-from, places), min(v.Shape[k-1], places)
	c := regions{s, map[string]*Value{}}
	return c.of(name, b, 0)
}

// regions are those of one scope's values that were computed for one question, by name and place.
type regions struct {
	scope *Scope
	known map[string]*Value
}

func (c *regions) of(name string, b region, depth int) *Value {
	key := fmt.Sprint(name, b)
	if v, ok := c.known[key]; ok {
		return v
	}
	c.known[key] = nil // a circle has none
	v := c.find(name, b, depth)
	c.known[key] = v
	return v
}

func (c *regions) find(name string, b region, depth int) *Value {
	s := c.scope
	v := s.Value(name)
	s.Spend(1 + onnx.Size(b.size))
	switch {
	case !v.Ranked || len(v.Shape) != len(b.size) || depth > maxRegionDepth || onnx.Size(b.size) > maxContent:
		return nil
	case slices.Equal(v.Shape, b.size) && v.Known():
		return v
	case v.has():
		return v.region(b)
	}
	n, at := s.Find(name)
	if n == nil || at != s || n.Domain != "" || len(n.Inputs) == 0 || len(n.Outputs) != 1 { // functions have a domain
		return nil
	}
	switch {
	case Is(n, ByElement|Choice|Comparison) || Is(n, Elements) && len(n.Inputs) == 1:
		return c.run(n, len(n.Inputs), b, depth, func(i int) region { return b.under(s.Input(n, i).Shape) })
	case n.Op == "Transpose":
		order, ok := orderOf(n, len(b.size))
		if !ok {
			return nil
		}
		from := region{make([]int, len(order)), make([]int, len(order))}
		for i, axis := range order {
			from.at[axis], from.size[axis] = b.at[i], b.size[i]
		}
		return c.run(n, 1, b, depth, func(int) region { return from })
	case n.Op == "Expand":
		a := c.of(n.Input(0), b.under(s.Input(n, 0).Shape), depth+1)
		if a == nil || !a.Known() {
			return nil
		}
		out := Shaped(a.Type, b.size...).from(a)
		copyElements(out, a, newWalker(a.Shape, b.size))
		return out
	case Is(n, Layout) && !Is(n, Elements): // those have scales and zero points
		from, ok := b.withOnes(s.Input(n, 0).Shape, v.Shape)
		if !ok {
			return nil
		}
		if a := c.of(n.Input(0), from, depth+1); a != nil {
			return a.view(b.size)
		}
	case n.Op == "Gather":
		return c.gather(n, b, depth)
	case n.Op == "Slice":
		if starts, steps := s.Input(n, 1), s.Input(n, 4); starts.Known() && !slices.ContainsFunc(starts.Ints, func(i int64) bool { return i != 0 }) && (n.Input(4) == "" || steps.Known() && !slices.ContainsFunc(steps.Ints, func(i int64) bool { return i != 1 })) {
			return c.of(n.Input(0), b, depth+1)
		}
	}
	return nil
}

// run is what an operator makes of regions of its first inputs.
func (c *regions) run(n *onnx.Node, inputs int, b region, depth int, from func(i int) region) *Value {
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
	if err != nil || len(out) == 0 || out[0] == nil || !slices.Equal(out[0].Shape, b.size) || !out[0].Known() {
		return nil
	}
	return out[0]
}

// gather looks up in a table that is known what a region of the indices says, and cuts the rest.
func (c *regions) gather(n *onnx.Node, b region, depth int) *Value {
	data, index := c.scope.Input(n, 0), c.scope.Input(n, 1)
	axis, ok := axisOf(n.Int("axis", 0), len(data.Shape))
	if !ok || !index.Ranked || !data.Ranked || len(b.size) != len(data.Shape)-1+len(index.Shape) {
		return nil
	}
	end := axis + len(index.Shape)
	whole, rest := region{make([]int, len(b.size)), slices.Concat(data.Shape[:axis], b.size[axis:end], data.Shape[axis+1:])}, region{slices.Clone(b.at), b.size}
	clear(rest.at[axis:end])
	v := c.run(n, 2, whole, depth, func(i int) region {
		return []region{{make([]int, len(data.Shape)), data.Shape}, {b.at[axis:end], b.size[axis:end]}}[i]
	})
	if v == nil {
		return nil
	}
	return v.region(rest)
}

// under is the region of an operand whose result's is b: axes of one place are laid over all.
func (b region) under(shape []int) region {
	out := region{make([]int, len(shape)), slices.Clone(shape)}
	for i, n := range shape {
		if k := len(b.size) - len(shape) + i; k >= 0 && n != 1 {
			out.at[i], out.size[i] = b.at[k], b.size[k]
		}
	}
	return out
}

// withOnes is the region of what has the shape before, from that of the same numbers with axes of one place put in or taken out.
func (b region) withOnes(before, after []int) (out region, ok bool) {
	out = region{make([]int, len(before)), slices.Clone(before)}
	k := 0
	for i, n := range before {
		if n == 1 {
			continue
		}
		for k < len(after) && after[k] == 1 {
			k++
		}
		if k == len(after) || after[k] != n {
			return region{}, false
		}
		out.at[i], out.size[i] = b.at[k], b.size[k]
		k++
	}
	return out, onnx.Size(after[k:]) == 1
}

// region is a part of a value, read from the file where it is a constant; nil where that cannot be read.
func (v *Value) region(b region) *Value {
	out := Shaped(v.Type, b.size...).from(v)
	n, last := onnx.Size(b.size), len(b.size)-1
	if n == 0 || last < 0 {
		return nil
	}
	if v.Ints == nil && v.Floats == nil && !v.Type.IsFloat() && !v.Type.IsInteger() {
		return nil
	}
	for i := 0; i < n; i += b.size[last] {
		first, rest, stride := b.at[last], i/b.size[last], v.Shape[last]
		for axis := last - 1; axis >= 0; axis-- {
			first += (b.at[axis] + rest%b.size[axis]) * stride
			rest /= b.size[axis]
			stride *= v.Shape[axis]
		}
		end := first + b.size[last]
		switch {
		case v.Ints != nil:
			out.Ints = append(out.Ints, v.Ints[first:end]...)
		case v.Floats != nil:
			out.Floats = append(out.Floats, v.Floats[first:end]...)
		case v.Type.IsInteger():
			x, err := v.stored.Ints(int64(first), int64(b.size[last]))
			if err != nil {
				return nil
			}
			out.Ints = append(out.Ints, x...)
		default:
			x, err := v.stored.Floats(int64(first), int64(b.size[last]))
			if err != nil {
				return nil
			}
			out.Floats = append(out.Floats, x...)
		}
	}
	return out
}
