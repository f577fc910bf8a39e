package axes

import (
	"math"

	"github.com/modelpatch/modelpatch/onnx/eval"
)

// meet looks at constant input i whose last dimension stands at axis last of the
// data with the given axes: when it varies along positions, it is a mask or an
// encoding.
func (c *call) meet(i int, data []Axis, last int) {
	v := c.known(i)
	if !v.Ranked {
		for _, a := range data {
			if a.has(Position) {
				c.doubt("a constant of unknown shape meets the data")
				return
			}
		}
		return
	}
	for d := range v.Shape {
		at := last - (len(v.Shape) - 1 - d)
		if v.Shape[d] < 2 || at < 0 || at >= len(data) || !data[at].has(Position) {
			continue
		}
		if v.Known() && !c.l.varies(v, d) {
			continue
		}
		if c.l.isMask(v) {
			c.l.Masked = true
			continue
		}
		c.meeting(i)
		return
	}
}

// meeting notes that input i varies along the positions of the others. What is
// added to the picture itself prepares it and is no encoding (a mean image).
func (c *call) meeting(i int) {
	for j, name := range c.n.Inputs {
		if j != i && c.l.raw[name] && c.s == c.l.e.Main && (c.n.Op == "Add" || c.n.Op == "Sub" || c.n.Op == "Mul" || c.n.Op == "Div") {
			c.order("prepares the input position by position")
			return
		}
	}
	if len(c.l.Meetings) < maxReasons {
		c.l.Meetings = append(c.l.Meetings, Meeting{c.s, c.n, c.n.Input(i)})
	}
}

// maskedScore is what a masked score is at most: exporters write −10,000, the
// least number of a type, or −∞.
const maskedScore = -1000

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

// isMask is isMask, answered once.
func (l *Labels) isMask(v *eval.Value) bool {
	answer, ok := l.masks[v]
	if !ok {
		l.e.Budget.Spend(1 + v.Len()/elementsAStep)
		answer = isMask(v)
		l.masks[v] = answer
	}
	return answer
}

// isMask reports whether numbers only switch: truth values, zeros and ones, or
// zeros and numbers that no score outweighs.
func isMask(v *eval.Value) bool {
	if !v.Known() {
		return false
	}
	for i := range v.Len() {
		if x := v.Number(i); x != 0 && x != 1 && !(x <= maskedScore) && !math.IsInf(x, -1) {
			return false
		}
	}
	return true
}

// combine aligns the inputs of an element-wise node, last dimensions together,
// and takes for each output axis the input axis that says most about it.
func (c *call) combine(inputs ...int) []*Value {
	shape := c.shape(0)
	out := &Value{Axes: make([]Axis, len(shape))}
	for d := range shape {
		out.Axes[d] = axisOf(Feature, shape[d])
	}
	taken := make([]bool, len(shape))
	for _, i := range inputs {
		v := c.of(i)
		out.Depends = max(out.Depends, v.Depends)
		for d, a := range v.Axes {
			at := len(shape) - len(v.Axes) + d
			if at < 0 || len(a) == 0 || a.size() != shape[at] {
				continue
			}
			switch {
			case !taken[at]:
				out.Axes[at], taken[at] = a, true
			case out.Axes[at].has(Position) != a.has(Position):
				if contradict(out.Axes[at], a) {
					c.doubt("positions of one operand meet features of the other")
				}
				if a.has(Position) {
					out.Axes[at] = a
				}
			case out.Axes[at].has(Position) && len(a) > len(out.Axes[at]):
				out.Axes[at] = a
			}
		}
	}
	for _, i := range inputs {
		if i < len(c.in) && c.of(i).Depends == Constant && c.n.Input(i) != "" {
			c.meet(i, out.Axes, len(shape)-1)
		}
	}
	return []*Value{out}
}

// contradict reports whether an axis cannot be both: learned rows of the one stand
// where the other has positions.
func contradict(a, b Axis) bool {
	return a.has(Position) && b.has(Feature) && !b.has(Position) || b.has(Position) && a.has(Feature) && !a.has(Position)
}
