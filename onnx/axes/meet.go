package axes

import (
	"fmt"
	"slices"

	"github.com/modelpatch/modelpatch/onnx/eval"
)

// meet notes that input i, whose last dimension lies on dimension last of the data
// with the given axes, may be numbers that vary along their positions.
func (c *call) meet(kind Kind, i int, data []Axis, last int, product bool) {
	if c.quiet || !c.given(i) || c.of(i).Depends == Content {
		return
	}
	v := c.known(i)
	room := c.l.room.dims.Many(max(len(data), len(v.Shape)))
	dims := room[:0]
	if !v.Ranked {
		for _, a := range data {
			if len(a) > 0 {
				dims = append(dims, dim{known: -1, data: a})
			}
		}
	}
	for d := range v.Shape {
		at := last - (len(v.Shape) - 1 - d)
		if v.Shape[d] > 1 && at >= 0 && at < len(data) && len(data[at]) > 0 && !made(data[at]) {
			dims = append(dims, dim{known: d, data: data[at]})
		}
	}
	c.meeting(kind, i, dims, data, product)
}

// meeting notes dimensions of input i that lie on axes of data.
func (c *call) meeting(kind Kind, i int, dims []dim, data []Axis, product bool) {
	if len(dims) > 0 {
		c.l.event(c, event{kind: meets, how: kind, input: i, dims: dims, scores: data, product: product})
	}
}

// maskedScore is what a masked score is at most: exporters write −100 (Swin), −10,000, the
// least number of a type, or −∞.
const maskedScore = -100

// elementsAStep is how many elements that are compared count as one step of the
// evaluator's budget.
const elementsAStep = 8

// constantAxis is an axis of a constant.
type constantAxis struct {
	value *eval.Value
	axis  int
}

// varies is eval.Value.Varies, answered once: many nodes read the same constant.
func (l *Labels) varies(v *eval.Value, axis int) bool {
	key := constantAxis{v, axis}
	answer, ok := l.differ[key]
	if !ok {
		l.e.Budget.Spend(1 + v.Len()/elementsAStep)
		answer = v.Varies(axis)
		l.differ[key] = answer
	}
	return answer
}

// isMask is eval.Value.IsMask, answered once.
func (l *Labels) isMask(v *eval.Value) bool {
	answer, ok := l.masks[v]
	if !ok {
		l.e.Budget.Spend(1 + v.Len()/elementsAStep)
		answer = v.IsMask(maskedScore)
		l.masks[v] = answer
	}
	return answer
}

// marks is eval.Value.Marks, answered once.
func (l *Labels) marks(v *eval.Value, axis int) bool {
	return eval.Ask(v, fmt.Sprintf("marks along %d", axis), func() bool {
		l.e.Budget.Spend(1 + v.Len()/elementsAStep)
		return v.Marks(axis)
	})
}

// combine lays the inputs of an element-wise node over each other, last dimensions
// together.
func (c *call) combine(kind Kind, inputs ...int) []*Value {
	out := c.lay(inputs)
	for _, i := range inputs {
		c.meet(kind, i, out.Axes, len(out.Axes)-1, out.product)
	}
	return c.l.one(out)
}

// lay is combine without what meets there.
func (c *call) lay(inputs []int) (out Value) {
	shape := c.shape(0)
	out.Axes = c.laid[:0]
	for d, size := range shape {
		out.Axes = append(out.Axes, c.overlay(d, len(shape), size, inputs))
	}
	c.laid = out.Axes
	out.Axes = c.kept(out.Axes, inputs)
	for _, i := range inputs {
		out.Depends = max(out.Depends, c.of(i).Depends)
		out.product = out.product || c.isData(i) && c.of(i).product
	}
	return out
}

// kept is a list of axes to be kept: that of an input, where it is the same.
func (c *call) kept(laid []Axis, inputs []int) []Axis {
	for _, i := range inputs {
		if of := c.of(i).Axes; len(of) == len(laid) && len(of) > 0 && slices.EqualFunc(of, laid, identical) {
			return of
		}
	}
	out := c.l.axes(len(laid))
	copy(out, laid)
	return out
}

// identical reports whether two axes are one in memory.
func identical(a, b Axis) bool { return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0]) }

// overlay lays the axes of inputs that are broadcast to one dimension over each
// other: the data's first.
func (c *call) overlay(d, rank, size int, inputs []int) Axis {
	var axis Axis
	data := false
	for _, first := range [...]bool{true, false} {
		for _, i := range inputs {
			at := len(c.of(i).Axes) - rank + d
			if c.isData(i) != first || at < 0 {
				continue
			}
			a := c.of(i).Axes[at]
			switch {
			case len(a) == 0 || a.size() != size:
			case axis == nil:
				axis, data = a, first
			case !c.l.unite(c, axis, a):
				if data && first {
					c.doubt("axes of different origin are laid over each other")
				}
			case first && !made(a):
				axis = a
			}
		}
	}
	if axis == nil {
		return c.l.fresh(size)
	}
	return axis
}

// sees notes that places along an axis see each other.
func (c *call) sees(a Axis) {
	if !c.quiet {
		for _, f := range leaves(a) {
			f.summed = true
		}
	}
}

// compares notes that each place of an axis is compared with each other one, where the two axes of
// a product of data are one: it attends to itself.
func (c *call) compares(a, b Axis) {
	if c.quiet || len(a) == 0 || !sameAxis(a, b) {
		return
	}
	for _, f := range leaves(a) {
		if !f.Made && !f.attends {
			c.l.attending = append(c.l.attending, f.Atom)
		}
		f.attends = f.attends || !f.Made
		for _, s := range f.joined {
			for _, part := range leaves(s.axis) {
				part.attends = part.attends || !f.Made
			}
		}
	}
}

// made reports whether weights have made all places of an axis.
func made(a Axis) bool {
	for _, f := range a {
		if !f.Made {
			return false
		}
	}
	return true
}
