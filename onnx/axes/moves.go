package axes

import (
	"slices"

	"github.com/modelpatch/modelpatch/onnx/eval"
)

// regroup cuts the factors of axes anew for another shape, false where a factor
// would be cut in two that do not divide it. split tells that positions were cut.
func regroup(axes []Axis, shape []int) (out []Axis, split, ok bool) {
	var rest []Factor
	for _, a := range axes {
		rest = append(rest, a...)
	}
	out = make([]Axis, len(shape))
	for d, size := range shape {
		for size > 1 {
			if len(rest) == 0 {
				return nil, false, false
			}
			f := rest[0]
			switch {
			case f.Size <= 0:
				return nil, false, false
			case size%f.Size == 0:
				rest = rest[1:]
				size /= f.Size
				out[d] = append(out[d], f)
			case f.Size%size == 0:
				rest[0] = Factor{Role: f.Role, Size: f.Size / size}
				out[d] = append(out[d], Factor{Role: f.Role, Size: size})
				split = split || f.Role == Position
				size = 1
			default:
				return nil, false, false
			}
		}
		if size == 0 {
			return nil, false, false
		}
	}
	return out, split, len(rest) == 0
}

// reshape is any operator that leaves the elements in their order.
func reshape(c *call) []*Value {
	v := c.of(0)
	if slices.Equal(c.known(0).Shape, c.shape(0)) {
		return []*Value{v}
	}
	if slices.Contains(c.shape(0), 0) {
		return empty(c)
	}
	axes, split, ok := regroup(v.Axes, c.shape(0))
	if !ok {
		c.doubt("it cuts across axes")
		return c.opaque()
	}
	if split {
		c.order("takes positions apart into groups")
	}
	return []*Value{{Axes: axes, Depends: v.Depends}}
}

// empty is a value without elements: it brings nothing.
func empty(c *call) []*Value {
	out := &Value{Depends: Content}
	for _, size := range c.shape(0) {
		out.Axes = append(out.Axes, axisOf(Feature, size))
	}
	return []*Value{out}
}

func transpose(c *call) []*Value {
	v := c.of(0)
	out := &Value{Depends: v.Depends, Axes: make([]Axis, len(v.Axes))}
	perm := c.n.Ints("perm")
	for d := range out.Axes {
		from := len(v.Axes) - 1 - d
		if d < len(perm) {
			from = dimension(perm[d], len(v.Axes))
		}
		if from < 0 || from >= len(v.Axes) {
			return c.opaque()
		}
		out.Axes[d] = v.Axes[from]
	}
	return []*Value{out}
}

// expand repeats what has size 1; Tile repeats other sizes as well.
func expand(c *call) []*Value {
	v, shape := c.of(0), c.shape(0)
	out := &Value{Depends: v.Depends, Axes: make([]Axis, len(shape))}
	for d, size := range shape {
		at := d - len(shape) + len(v.Axes)
		switch {
		case at < 0 || v.Axes[at].size() == 1:
			out.Axes[d] = axisOf(Batch, size)
		case v.Axes[at].size() == size:
			out.Axes[d] = v.Axes[at]
		case v.Axes[at].size() > 0 && size%v.Axes[at].size() == 0:
			out.Axes[d] = append(axisOf(Batch, size/v.Axes[at].size()), v.Axes[at]...)
		default:
			return c.opaque()
		}
	}
	return []*Value{out}
}

// part is the rows [start, start+size) of an axis, by steps of one: those that
// come from constants are no positions; others are picked from among positions.
func (c *call) part(a Axis, start, size int) Axis {
	whole := a.size()
	switch {
	case size == whole && start == 0:
		return a
	case !a.has(Position):
		if a.has(Batch) && len(a) == 1 {
			return axisOf(Batch, size)
		}
		return axisOf(Feature, size)
	}
	if len(a) == 1 {
		ahead, behind := a[0].Ahead, a[0].Behind
		switch end := start + size; {
		case end <= ahead, start >= whole-behind:
			return axisOf(Feature, size)
		case start <= ahead && end >= whole-behind:
			rest := axisOf(Position, size)
			if len(rest) == 1 {
				rest[0].Ahead, rest[0].Behind = ahead-start, behind-(whole-end)
			}
			return rest
		}
	}
	c.order("picks some of the positions")
	return axisOf(Position, size)
}

func slice(c *call) []*Value {
	v, shape := c.of(0), c.shape(0)
	starts, ok := c.ints("starts", 1)
	if !ok || len(shape) != len(v.Axes) {
		if !slices.ContainsFunc(v.Axes, func(a Axis) bool { return a.has(Position) }) && len(shape) == len(v.Axes) {
			starts = nil
		} else {
			c.doubt("where it cuts is not known")
			return c.opaque()
		}
	}
	axes, given := c.ints("axes", 3)
	steps, _ := c.ints("steps", 4)
	out := &Value{Depends: v.Depends, Axes: slices.Clone(v.Axes)}
	for i := range starts {
		axis := i
		if given && i < len(axes) {
			axis = dimension(axes[i], len(v.Axes))
		}
		if axis < 0 || axis >= len(v.Axes) {
			return c.opaque()
		}
		start := starts[i]
		if start < 0 {
			start = max(start+int64(c.known(0).Shape[axis]), 0)
		}
		if i < len(steps) && steps[i] != 1 && v.Axes[axis].has(Position) {
			c.order("picks positions by steps")
			out.Axes[axis] = axisOf(Position, shape[axis])
			continue
		}
		out.Axes[axis] = c.part(v.Axes[axis], int(min(start, int64(v.Axes[axis].size()))), shape[axis])
	}
	for d := range out.Axes {
		if out.Axes[d].size() != shape[d] {
			out.Axes[d] = axisOf(Feature, shape[d])
		}
	}
	return []*Value{out}
}

func split(c *call) []*Value {
	v := c.of(0)
	axis := dimension(c.n.Int("axis", 0), len(v.Axes))
	if axis < 0 {
		return c.opaque()
	}
	var out []*Value
	start := 0
	for i := range c.n.Outputs {
		shape := c.shape(i)
		if len(shape) != len(v.Axes) {
			return c.opaque()
		}
		part := &Value{Depends: v.Depends, Axes: slices.Clone(v.Axes)}
		part.Axes[axis] = c.part(v.Axes[axis], start, shape[axis])
		start += shape[axis]
		out = append(out, part)
	}
	return out
}

func concat(c *call) []*Value {
	shape := c.shape(0)
	axis := dimension(c.n.Int("axis", 0), len(shape))
	if axis < 0 {
		return c.opaque()
	}
	out := &Value{Axes: make([]Axis, len(shape))}
	var joined Axis // with positions along the axis
	ahead, behind := 0, 0
	for i, v := range c.in {
		size := 0
		if e := c.known(i); len(e.Shape) == len(shape) {
			size = e.Shape[axis]
		}
		out.Depends = max(out.Depends, v.Depends)
		switch {
		case size == 0:
			continue
		case len(v.Axes) == len(shape) && v.Axes[axis].has(Position) || len(v.Axes) == len(shape) && size == 1 && v.Depends == Content && joined != nil:
			if joined != nil {
				ahead, behind = 0, 0 // where one ends and the next begins is not kept
			} else if len(v.Axes[axis]) == 1 {
				ahead += v.Axes[axis][0].Ahead
				behind += v.Axes[axis][0].Behind
			}
			joined = v.Axes[axis]
		case joined == nil:
			ahead += size
		default:
			behind += size
		}
		for d, a := range v.Axes {
			if d < len(out.Axes) && d != axis && (len(out.Axes[d]) == 0 || a.has(Position) && !out.Axes[d].has(Position)) {
				out.Axes[d] = a
			}
		}
	}
	out.Axes[axis] = axisOf(Feature, shape[axis])
	if joined != nil {
		out.Axes[axis] = Axis{{Role: Position, Size: shape[axis], Ahead: ahead, Behind: behind}}
	}
	for d := range out.Axes {
		if out.Axes[d].size() != shape[d] {
			out.Axes[d] = axisOf(Feature, shape[d])
		}
	}
	others := slices.Clone(out.Axes)
	others[axis] = nil // along the axis itself nothing is met
	for i, v := range c.in {
		if v.Depends == Constant {
			c.meet(i, others, len(shape)-1)
		}
	}
	return []*Value{out}
}

// gather picks rows of data by an index.
func gather(c *call) []*Value {
	data, index := c.of(0), c.of(1)
	e, at := c.known(0), c.known(1)
	axis := dimension(c.n.Int("axis", 0), len(e.Shape))
	if !e.Ranked || !at.Ranked || axis < 0 {
		c.doubt("what it picks is not known")
		return c.opaque()
	}
	picked := make([]Axis, len(at.Shape))
	for d, size := range at.Shape {
		picked[d] = axisOf(Feature, size)
		if d < len(index.Axes) {
			picked[d] = index.Axes[d]
		}
	}
	out := &Value{Depends: max(data.Depends, index.Depends)}
	own := data.Axes
	if own == nil {
		for _, size := range e.Shape {
			own = append(own, axisOf(Feature, size))
		}
	}
	if own[axis].has(Position) && index.Depends == Constant {
		picked = c.pick(own[axis], at)
	}
	out.Axes = slices.Concat(own[:axis], picked, own[axis+1:])
	return []*Value{out}
}

// pick is the axes of positions that a constant index picks.
func (c *call) pick(a Axis, index *eval.Value) []Axis {
	out := make([]Axis, len(index.Shape))
	for d, size := range index.Shape {
		out[d] = axisOf(Position, size)
	}
	if !index.Known() || index.Ints == nil {
		c.order("picks some of the positions")
		return out
	}
	whole, constants := len(index.Shape) == 1 && len(index.Ints) == a.size(), len(a) == 1
	for i, x := range index.Ints {
		if x < 0 {
			x += int64(a.size())
		}
		whole = whole && x == int64(i)
		constants = constants && (x < int64(a[0].Ahead) || x >= int64(a.size()-a[0].Behind))
	}
	switch {
	case whole:
		return []Axis{a}
	case constants:
		for d, size := range index.Shape {
			out[d] = axisOf(Feature, size)
		}
	default:
		c.order("picks some of the positions")
	}
	return out
}

// reduce sums, averages or compares over axes.
func reduce(c *call) []*Value {
	v, shape := c.of(0), c.shape(0)
	axes, given := c.ints("axes", 1)
	if c.n.Op == "ArgMax" || c.n.Op == "ArgMin" {
		axes, given = []int64{c.n.Int("axis", 0)}, true
	}
	over := make([]bool, len(v.Axes))
	for _, a := range axes {
		if d := dimension(a, len(v.Axes)); d >= 0 {
			over[d] = true
		}
	}
	if !given || len(axes) == 0 {
		if c.n.Int("noop_with_empty_axes", 0) == 1 {
			return []*Value{v}
		}
		for d := range over {
			over[d] = true
		}
	}
	out := &Value{Depends: v.Depends, Axes: []Axis{}}
	for d, a := range v.Axes {
		switch {
		case !over[d]:
			out.Axes = append(out.Axes, a)
		case len(shape) == len(v.Axes):
			out.Axes = append(out.Axes, nil)
		}
	}
	return []*Value{out}
}
