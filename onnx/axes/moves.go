package axes

import (
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
)

// reshape is any operator that leaves the elements in their order.
func reshape(c *call) []*Value {
	v, shape := c.of(0), c.shape(0)
	same := Value{Depends: v.Depends, Axes: v.Axes, product: v.product}
	if slices.Equal(c.known(0).Shape, shape) {
		return c.l.one(same)
	}
	if slices.Contains(shape, 0) {
		return empty(c)
	}
	axes, ok := c.l.regroup(v.Axes, shape)
	if !ok {
		return []*Value{c.recut(v, shape)}
	}
	same.Axes = axes
	return c.l.one(same)
}

// recut is a value that was reshaped across its axes: what has as many
// elements before as behind stays. Where all that is cut are positions, they are grouped by
// their number; else it is a doubt.
func (c *call) recut(v *Value, shape []int) *Value {
	out := &Value{Depends: v.Depends, product: v.product}
	for axes := v.Axes; len(shape) > 0; {
		a, s := together(axes, shape)
		cut, ok := c.l.regroup(axes[:a], shape[:s])
		if !ok {
			var from Axis
			for _, a := range axes[:a] {
				from = append(from, leaves(a)...)
			}
			c.l.event(c, event{kind: cutting, other: from, why: "regroups positions"})
			cut = nil
			for d, size := range shape[:s] {
				cut = append(cut, c.l.derive(shuffled, from[:min(len(from), maxFactors)], d, size, 0))
			}
		}
		out.Axes = append(out.Axes, cut...)
		axes, shape = axes[a:], shape[s:]
	}
	return out
}

// together counts the fewest axes ahead that have as many elements as the fewest sizes ahead: what is
// before such a place stays before it.
func together(axes []Axis, shape []int) (a, s int) {
	left, right := 1, 1
	for {
		switch {
		case a > 0 && s > 0 && left == right:
			for a < len(axes) && s == len(shape) { // axes of one place
				a++
			}
			return a, s
		case a < len(axes) && (left <= right || s == len(shape)):
			left *= axes[a].size()
			a++
		case s < len(shape):
			right *= shape[s]
			s++
		default:
			return a, s
		}
	}
}

// empty is a value without elements: it brings nothing.
func empty(c *call) []*Value {
	return []*Value{c.l.constant(c.s.Value(c.n.Output(0)), Constant)}
}

func transpose(c *call) []*Value {
	v := c.of(0)
	out := Value{Depends: v.Depends, Axes: c.l.axes(len(v.Axes)), product: v.product}
	perm := c.n.Ints("perm")
	for d := range out.Axes {
		from := len(v.Axes) - 1 - d
		if d < len(perm) {
			from = onnx.Dimension(perm[d], len(v.Axes))
		}
		if from < 0 || from >= len(v.Axes) {
			return c.opaque()
		}
		out.Axes[d] = v.Axes[from]
	}
	return c.l.one(out)
}

// expand repeats what has size 1; Tile repeats other sizes as well.
func expand(c *call) []*Value {
	v, shape := c.of(0), c.shape(0)
	out := Value{Depends: v.Depends, Axes: c.l.axes(len(shape)), product: v.product}
	for d, size := range shape {
		at := d - len(shape) + len(v.Axes)
		switch {
		case at < 0 || v.Axes[at].size() == 1:
			out.Axes[d] = c.l.fresh(size)
		case v.Axes[at].size() == size:
			out.Axes[d] = v.Axes[at]
		case v.Axes[at].size() > 0 && size%v.Axes[at].size() == 0:
			out.Axes[d] = slices.Concat(c.l.fresh(size/v.Axes[at].size()), v.Axes[at])
		default:
			out.Axes[d] = c.l.derive(shuffled, v.Axes[at], 0, size, 0)
			c.orders(v.Axes[at], "repeats some of the positions")
		}
	}
	return c.l.one(out)
}

// part is the run [start, start+size) of an axis. What a Concat made is taken
// apart again where the run ends between its parts.
func (c *call) part(axis Axis, start, size int) Axis {
	if size == axis.size() && start == 0 {
		return axis
	}
	if size <= 1 {
		c.pick(axis, start, size)
		return c.l.fresh(size)
	}
	if whole := leaves(axis); len(whole) == 1 && whole[0].joined != nil {
		if parts := between(whole[0].joined, start, size); len(parts) == 1 {
			return parts[0].axis
		} else if len(parts) > 1 {
			return c.join(parts)
		}
	}
	if !c.rowsOf(axis, start, size) {
		c.orders(axis, "picks some of the positions")
	}
	c.l.event(c, event{kind: crossing, other: axis, why: "it takes a run of positions and features that were merged"})
	return c.l.derive(sliced, axis, start, size, 0)
}

// pick notes that one place of an axis, or none, is taken.
func (c *call) pick(axis Axis, start, size int) {
	if size == 1 && !c.rowsOf(axis, start, size) {
		c.orders(axis, "picks some of the positions")
	}
}

// rowsOf reports whether a run of a joined axis lies within one of its parts that
// came from elsewhere than the data: constants, whose places are their own. The
// part is then judged for itself.
func (c *call) rowsOf(axis Axis, start, size int) bool {
	whole := leaves(axis)
	if len(whole) != 1 || whole[0].joined == nil {
		return false
	}
	at := 0
	for _, s := range whole[0].joined {
		if start >= at && start+size <= at+s.size {
			c.orders(s.axis, "picks some of the positions")
			return true
		}
		at += s.size
	}
	return false
}

// between are the parts that a run consists of, none where it ends within one.
func between(parts []segment, start, size int) []segment {
	at := 0
	for i, s := range parts {
		if at == start {
			for j := i; j < len(parts); j++ {
				if at += parts[j].size; at == start+size {
					return parts[i : j+1]
				}
			}
			return nil
		}
		at += s.size
	}
	return nil
}

func slice(c *call) []*Value {
	v, shape := c.of(0), c.shape(0)
	if len(shape) != len(v.Axes) {
		return c.opaque()
	}
	out := &Value{Depends: v.Depends, Axes: slices.Clone(v.Axes), product: v.product}
	starts, ok := c.ints("starts", 1)
	if !ok {
		for d := range shape {
			if v.Axes[d].size() != shape[d] {
				c.orders(v.Axes[d], "picks some of the positions")
				out.Axes[d] = c.l.derive(picked, v.Axes[d], 0, shape[d], 0)
			}
		}
		return []*Value{out}
	}
	axes, given := c.ints("axes", 3)
	steps, _ := c.ints("steps", 4)
	for i := range starts {
		axis := i
		if given && i < len(axes) {
			axis = onnx.Dimension(axes[i], len(v.Axes))
		}
		if axis < 0 || axis >= len(v.Axes) {
			return c.opaque()
		}
		size := int64(v.Axes[axis].size())
		start := starts[i]
		if start < 0 {
			start += size
		}
		start = min(max(start, 0), size)
		if i < len(steps) && steps[i] != 1 && (shape[axis] > 1 || size > 1) {
			c.orders(v.Axes[axis], "picks positions by steps")
			out.Axes[axis] = c.l.derive(picked, v.Axes[axis], int(start), shape[axis], 0)
			continue
		}
		out.Axes[axis] = c.part(v.Axes[axis], int(start), shape[axis])
	}
	return []*Value{out}
}

func split(c *call) []*Value {
	var shapes [][]int
	for i := range c.n.Outputs {
		shapes = append(shapes, c.shape(i))
	}
	return c.parts(shapes)
}

// parts are runs of places of the first input, of the given shapes.
func (c *call) parts(shapes [][]int) (out []*Value) {
	v := c.of(0)
	axis := c.n.Axis(0, len(v.Axes))
	if axis < 0 {
		return c.opaque()
	}
	start := 0
	for _, shape := range shapes {
		if len(shape) != len(v.Axes) {
			return c.opaque()
		}
		p := &Value{Depends: v.Depends, Axes: slices.Clone(v.Axes), product: v.product}
		p.Axes[axis] = c.part(v.Axes[axis], start, shape[axis])
		start += shape[axis]
		out = append(out, p)
	}
	return out
}

// sequence is of the runs of places that a tensor is split into.
func sequence(c *call) []*Value {
	v := c.of(0)
	var shapes [][]int
	for _, e := range c.s.Output(c.n, 0).Elements {
		shapes = append(shapes, e.Shape)
	}
	return []*Value{{Depends: v.Depends, elements: c.parts(shapes)}}
}

// element is that of a sequence at a known place.
func element(c *call) []*Value {
	of := c.of(0).elements
	if i, ok := c.known(1).Scalar(); ok && int(i) < len(of) && int(i) >= -len(of) && len(of) > 0 {
		return []*Value{of[(int(i)+len(of))%len(of)]}
	}
	return c.opaque()
}

// join is the axis that parts make behind one another: the whole again where they
// are runs of one axis in their order.
func (c *call) join(parts []segment) Axis {
	size := 0
	var from Axis
	var flat []segment
	for _, s := range parts {
		size += s.size
		from = append(from, s.axis...)
		if whole := leaves(s.axis); len(whole) == 1 && whole[0].joined != nil && len(flat)+len(whole[0].joined) <= maxFactors {
			flat = append(flat, whole[0].joined...)
		} else {
			flat = append(flat, s)
		}
	}
	if size == 1 {
		return nil
	}
	a := c.l.atom(size)
	a.own().made = []derivation{{how: joined, from: from[:min(len(from), maxFactors)]}}
	a.own().joined = flat
	return Axis{{Atom: a}}
}

// unfolded is the axis of which operands that are put together, one beside the other, are runs at different places (unfold, as
// TorchScript writes it for a fixed size); nil where they are something else.
func (c *call) unfolded(axis int, filled []int) Axis {
	if len(filled) < 2 {
		return nil
	}
	first, second := c.of(filled[0]).Axes, c.of(filled[1]).Axes
	for d := range min(len(first), len(second)) {
		a, b := leaves(first[d]), leaves(second[d])
		if d == axis || len(a) != 1 || len(b) != 1 || !shifted(a[0].Atom, b[0].Atom) {
			continue
		}
		for _, made := range a[0].made {
			if made.how == sliced {
				return made.from
			}
		}
	}
	return nil
}

func concat(c *call) []*Value {
	shape := c.shape(0)
	axis := c.n.Axis(0, len(shape))
	if axis < 0 {
		return c.opaque()
	}
	out := &Value{Axes: make([]Axis, len(shape))}
	var parts []segment
	var filled []int
	for i := range c.operands() {
		v, e := c.of(i), c.known(i)
		out.Depends = max(out.Depends, v.Depends)
		switch {
		case e.Ranked && len(e.Shape) == len(shape) && len(v.Axes) == len(shape):
			if i == 0 && c.operands() > 1 && c.isData(1) {
				c.l.putAhead(v.Axes[axis], c.of(1))
			}
			if e.Shape[axis] == 0 {
				continue
			}
			parts = append(parts, segment{v.Axes[axis], e.Shape[axis]})
			filled = append(filled, i)
		default:
			return c.opaque()
		}
	}
	windows := c.unfolded(axis, filled)
	for d, size := range shape {
		if d != axis {
			out.Axes[d] = c.overlay(d, len(shape), size, filled)
		}
	}
	if out.Axes[axis] = c.join(parts); windows != nil && shape[axis] == len(parts) {
		out.Axes[axis] = c.l.derive(windowed, windows, 0, shape[axis], 0)
	}
	others := slices.Clone(out.Axes)
	others[axis] = nil // along the axis itself nothing is met
	for _, i := range filled {
		c.meet(Joined, i, others, len(shape)-1, false)
	}
	return []*Value{out}
}

// gather picks rows of data by an index.
func gather(c *call) []*Value {
	data, index := c.of(0), c.of(1)
	e, at := c.known(0), c.known(1)
	axis := c.n.Axis(0, len(e.Shape))
	if !e.Ranked || !at.Ranked || axis < 0 || len(data.Axes) != len(e.Shape) || len(index.Axes) != len(at.Shape) {
		c.doubt("what it picks is not known")
		return c.opaque()
	}
	c.picksByPlace(0, 1)
	picked := index.Axes
	if data.Depends == Content || index.Depends < Content && at.Known() {
		picked = c.chosen(data.Axes[axis], at, index)
	}
	depends := index.Depends
	if depends == Content && counts(at) {
		depends = Mask
	}
	return []*Value{{Axes: slices.Concat(data.Axes[:axis], picked, data.Axes[axis+1:]), Depends: max(data.Depends, depends), product: data.product}}
}

// counts reports whether an index that is made of tokens counts up where all tokens are
// alike, as they are in a probe: then it counts the tokens that are there.
func counts(index *eval.Value) bool {
	if !index.Known() || index.Ints == nil || !index.Data {
		return false
	}
	_, _, ok := index.Counts()
	return ok
}

// chosen are the axes that an index chooses out of one.
func (c *call) chosen(a Axis, index *eval.Value, label *Value) []Axis {
	out := slices.Clone(label.Axes)
	if c.isData(0) && label.places == nil { // what is picked of positions are positions
		for d, size := range index.Shape {
			out[d] = c.l.derive(picked, a, 0, size, 0)
		}
	}
	if !index.Known() || index.Ints == nil {
		c.orders(a, "picks some of the positions")
		return out
	}
	first, run := int64(0), true
	for i, x := range index.Ints {
		if x < 0 {
			x += int64(a.size())
		}
		if i == 0 {
			first = x
		}
		run = run && x == first+int64(i)
	}
	switch {
	case run && len(index.Ints) > 1 && int(first)+len(index.Ints) <= a.size():
		if axes, ok := c.l.regroup([]Axis{c.part(a, int(first), len(index.Ints))}, index.Shape); ok {
			return axes
		}
	case len(index.Ints) == 1:
		if a.size() > 1 {
			c.pick(a, int(first), 1)
		}
		return out
	case len(index.Ints) > 1:
		c.orders(a, "picks some of the positions")
	}
	return out
}

// reduce sums, averages or compares over axes.
func reduce(c *call) []*Value {
	axes, given := c.ints("axes", 1)
	if !given || len(axes) == 0 {
		if c.n.Int("noop_with_empty_axes", 0) == 1 {
			return first(c)
		}
		given = false
	}
	return c.over(axes, given)
}

// rank says where along an axis the largest or smallest element is.
func rank(c *call) []*Value {
	axis := c.n.Int("axis", 0)
	if d := onnx.Dimension(axis, len(c.of(0).Axes)); d >= 0 {
		c.orders(c.of(0).Axes[d], "ranks positions")
		out := c.over([]int64{axis}, true)
		out[0].places = c.of(0).Axes[d]
		return out
	}
	return c.over([]int64{axis}, true)
}

// over is a value without the axes that were given, or without all.
func (c *call) over(axes []int64, given bool) []*Value {
	v, shape := c.of(0), c.shape(0)
	over := make([]bool, len(v.Axes))
	for _, a := range axes {
		if d := onnx.Dimension(a, len(v.Axes)); d >= 0 {
			over[d] = true
		}
	}
	for d := range over {
		over[d] = over[d] || !given
	}
	out := &Value{Depends: v.Depends, Axes: []Axis{}}
	for d, a := range v.Axes {
		if over[d] {
			c.sees(a)
		}
		switch {
		case !over[d]:
			out.Axes = append(out.Axes, a)
		case len(shape) == len(v.Axes):
			out.Axes = append(out.Axes, nil)
		}
	}
	return []*Value{out}
}
