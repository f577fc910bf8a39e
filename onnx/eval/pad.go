package eval

import (
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
)

// padding is how many elements a Pad puts before and after each axis of its
// input; negative numbers take some away. known is false when that is not known.
func (c *call) padding(rank int) (before, after []int, known bool) {
	pads, _, known := c.ints("pads", 1)
	if !known {
		return nil, nil, false
	}
	axes := make([]int, rank)
	for i := range axes {
		axes[i] = i
	}
	if v := c.input(3); v != nil { // since operator set 18
		if !v.Known() || v.Ints == nil {
			return nil, nil, false
		}
		axes = axes[:0]
		for _, a := range v.Ints {
			axis, ok := axisOf(a, rank)
			if !ok {
				return nil, nil, false
			}
			axes = append(axes, axis)
		}
	}
	if len(pads) != 2*len(axes) {
		return nil, nil, false
	}
	before, after = make([]int, rank), make([]int, rank)
	for i, axis := range axes {
		before[axis], after[axis] = int(pads[i]), int(pads[len(axes)+i])
	}
	return before, after, true
}

func pad(c *call) ([]*Value, error) {
	a := c.need(0)
	if !a.Ranked {
		return one(&Value{Type: a.Type}), nil
	}
	before, after, known := c.padding(len(a.Shape))
	if !known {
		if v := c.input(1); v != nil && v.Ranked && (len(v.Shape) != 1 || c.input(3) == nil && v.Shape[0] != 2*len(a.Shape)) {
			return nil, c.fail("%v pads of %v", v.Shape, a.Shape)
		}
		return one(&Value{Type: a.Type}), nil
	}
	shape := slices.Clone(a.Shape)
	for i := range shape {
		shape[i] += before[i] + after[i]
		if shape[i] < 0 {
			return nil, c.fail("%d before and %d after axis %d of %v", before[i], after[i], i, a.Shape)
		}
	}
	out := Shaped(a.Type, shape...)
	if !a.Known() || out.Len() == 0 || out.Len() > c.most() {
		return one(out), nil
	}
	from, ok := padSources(c, a.Shape, shape, before)
	fill, plain := c.padValue()
	if !ok || !plain {
		return one(out), nil
	}
	out.from(a)
	strides := onnx.Strides(a.Shape)
	isFloat := a.Floats != nil || a.Ints == nil && a.Type.IsFloat()
	content, ints := make([]float64, out.Len()), make([]int64, out.Len())
	for i := range content {
		at, inside, rest := 0, true, i
		for d := len(shape) - 1; d >= 0; d-- {
			x := from[d][rest%shape[d]]
			rest /= shape[d]
			inside = inside && x >= 0
			at += x * strides[d]
		}
		switch {
		case inside && isFloat:
			content[i] = a.Floats[at]
		case inside:
			ints[i] = a.Ints[at]
		default:
			content[i], ints[i] = fill, int64(fill)
		}
	}
	if isFloat {
		out.Floats = content
	} else {
		out.Ints = ints
	}
	return one(out), nil
}

// padValue is what a Pad in the mode "constant" fills with.
func (c *call) padValue() (fill float64, known bool) {
	if c.node.Input(2) == "" {
		return c.node.Float("value", 0), true
	}
	return c.need(2).Scalar()
}

// padSources says for each place along each axis which element of the input
// stands there, −1 where none does; not ok for modes that are not known.
func padSources(c *call, in, out, before []int) (from [][]int, ok bool) {
	mode := "constant"
	if a := c.node.Attribute("mode"); a != nil {
		mode = string(a.S)
	}
	from = make([][]int, len(out))
	for d := range out {
		from[d] = make([]int, out[d])
		for i := range from[d] {
			x, n := i-before[d], in[d]
			switch inside := x >= 0 && x < n; {
			case inside:
			case mode == "constant":
				x = -1
			case n == 0:
				return nil, false
			case mode == "edge":
				x = min(max(x, 0), n-1)
			case mode == "wrap" && before[d] >= 0 && out[d] >= n+before[d]: // engines differ about taking away
				x = (x%n + n) % n
			case mode == "reflect" && n > 1:
				period := 2 * (n - 1)
				if x = (x%period + period) % period; x >= n {
					x = period - x
				}
			default:
				return nil, false
			}
			from[d][i] = x
		}
	}
	return from, true
}
