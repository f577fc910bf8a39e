package axes

import (
	"strings"

	"github.com/modelpatch/modelpatch/onnx/eval"
)

// operand is one side of a product: its axes, as Feature where it is constant.
func (c *call) operand(i int) []Axis {
	if v := c.of(i); v.Axes != nil {
		return v.Axes
	}
	var out []Axis
	for _, size := range c.known(i).Shape {
		out = append(out, axisOf(Feature, size))
	}
	return out
}

// mayVary reports whether a constant may differ along dimension d.
func (c *call) mayVary(v *eval.Value, d int) bool {
	return d >= 0 && d < len(v.Shape) && v.Shape[d] > 1 && (!v.Known() || c.l.varies(v, d))
}

// contract looks at the dimension that a product sums over: weights that differ
// from position to position tell them apart. mixed is the axis that they put in
// the place of the sum's other operand's.
func (c *call) contract(data Axis, weights *eval.Value, d int, made Axis) (mixed Axis) {
	if data.has(Mixed) {
		return axisOf(Mixed, made.size())
	}
	if !data.has(Position) || !c.mayVary(weights, d) {
		return made
	}
	c.order("sums over positions with weights of their own")
	return axisOf(Mixed, made.size())
}

// product is MatMul: the last dimension of the first operand against the last but
// one of the second.
func product(c *call) []*Value {
	return c.matrices(c.n.Int("transA", 0) == 1, c.n.Int("transB", 0) == 1)
}

func (c *call) matrices(swapA, swapB bool) []*Value {
	if c.n.Int("transBatchA", 0) == 1 || c.n.Int("transBatchB", 0) == 1 {
		c.doubt("its batches are transposed")
		return c.opaque()
	}
	a, b, shape := c.operand(0), c.operand(1), c.shape(0)
	if len(a) < 2 || len(b) < 2 {
		return c.vector(a, b)
	}
	rowA, innerA, innerB, columnB := len(a)-2, len(a)-1, len(b)-2, len(b)-1
	if swapA {
		rowA, innerA = innerA, rowA
	}
	if swapB {
		innerB, columnB = columnB, innerB
	}
	ca, cb := c.of(0).Depends == Constant, c.of(1).Depends == Constant
	switch {
	case cb:
		b[columnB] = c.contract(a[innerA], c.known(1), innerB, b[columnB])
	case ca:
		a[rowA] = c.contract(b[innerB], c.known(0), innerA, a[rowA])
	case contradict(a[innerA], b[innerB]):
		c.doubt("positions of one operand meet features of the other")
	}
	out := &Value{Depends: max(c.of(0).Depends, c.of(1).Depends), Axes: make([]Axis, len(shape))}
	k := len(shape)
	for d := range k - 2 {
		x, y := at(a, len(a)-k+d), at(b, len(b)-k+d)
		out.Axes[d] = x
		if len(x) == 0 || y.has(Position) && !x.has(Position) || ca && len(y) > 0 {
			out.Axes[d] = y
		}
		for i, v := range []bool{ca, cb} {
			if j := len(c.known(i).Shape) - k + d; v && out.Axes[d].has(Position) && c.mayVary(c.known(i), j) {
				c.meeting(i) // a matrix for each position
			}
		}
	}
	out.Axes[k-2], out.Axes[k-1] = a[rowA], b[columnB]
	return []*Value{out}
}

// at is an axis that may be absent.
func at(axes []Axis, d int) Axis {
	if d < 0 || d >= len(axes) {
		return nil
	}
	return axes[d]
}

// vector is a product with a vector.
func (c *call) vector(a, b []Axis) []*Value {
	switch {
	case len(b) == 1 && len(a) > 1 && c.of(1).Depends == Constant:
		c.contract(a[len(a)-1], c.known(1), 0, nil)
		return []*Value{{Axes: a[:len(a)-1], Depends: c.of(0).Depends}}
	case len(a) == 1 && len(b) > 1 && c.of(0).Depends == Constant:
		c.contract(b[len(b)-2], c.known(0), 0, nil)
		return []*Value{{Axes: append(append([]Axis{}, b[:len(b)-2]...), b[len(b)-1]), Depends: c.of(1).Depends}}
	}
	c.doubt("its operands are vectors")
	return c.opaque()
}

// linear is a product of the last dimension with weights that are stored in a
// form of their own (quantised blocks).
func linear(c *call) []*Value {
	v, shape := c.of(0), c.shape(0)
	if c.of(0).Depends == Constant || len(v.Axes) == 0 || len(shape) != len(v.Axes) {
		return c.opaque()
	}
	last := len(v.Axes) - 1
	if v.Axes[last].has(Position) {
		c.order("sums over positions with weights of their own")
	}
	out := &Value{Depends: v.Depends, Axes: append([]Axis{}, v.Axes...)}
	out.Axes[last] = axisOf(Feature, shape[last])
	return []*Value{out}
}

// gemm is a product of matrices and a bias.
func gemm(c *call) []*Value {
	out := product(c)
	if len(out) == 1 && out[0].Axes != nil && c.n.Input(2) != "" && c.of(2).Depends == Constant {
		c.meet(2, out[0].Axes, len(out[0].Axes)-1)
	}
	return out
}

// einsum reads the letters of its equation.
func einsum(c *call) []*Value {
	a := c.n.Attribute("equation")
	if a == nil {
		return c.opaque()
	}
	left, right, explicit := strings.Cut(strings.ReplaceAll(string(a.S), " ", ""), "->")
	terms := strings.Split(left, ",")
	if !explicit || len(terms) != len(c.in) || strings.Contains(left, ".") {
		c.doubt("its equation is not followed")
		return c.opaque()
	}
	letters := map[rune]Axis{}
	depends := Constant
	for i, term := range terms {
		axes := c.operand(i)
		depends = max(depends, c.of(i).Depends)
		if len(axes) != len(term) {
			return c.opaque()
		}
		for d, letter := range term {
			have, met := letters[letter]
			if !met || len(have) == 0 || axes[d].has(Position) && !have.has(Position) || c.of(i).Depends > Constant && !have.has(Position) {
				letters[letter] = axes[d]
			}
		}
	}
	for i, term := range terms {
		if c.of(i).Depends > Constant {
			continue
		}
		for d, letter := range term {
			if !letters[letter].has(Position) || !c.mayVary(c.known(i), d) {
				continue
			}
			if strings.ContainsRune(right, letter) {
				c.meeting(i)
			} else {
				c.order("sums over positions with weights of their own")
			}
		}
	}
	out := &Value{Depends: depends, Axes: []Axis{}}
	for _, letter := range right {
		out.Axes = append(out.Axes, letters[letter])
	}
	return []*Value{out}
}
