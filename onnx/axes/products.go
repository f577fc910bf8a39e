package axes

import (
	"slices"
	"strings"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
)

// sums notes that a product sums over an axis of data with weights, which makes it
// one of features, or tells positions apart; several of an input's own axes at once
// are not all features. The dimension of the weights that lies along it is d.
func (c *call) sums(data Axis, i, d int) {
	if c.quiet {
		return
	}
	data = leaves(data)
	if i >= 0 {
		if v := c.known(i); d < len(v.Shape) && v.Known() && !c.l.varies(v, d) {
			return // an average: the same for all
		}
	}
	own := 0
	for _, f := range data {
		if len(f.inputs) > 0 && f.whole == nil {
			own++
		}
	}
	for _, f := range data {
		if own < 2 || len(f.inputs) == 0 || f.whole != nil {
			f.root().weighed = true
		}
	}
	ofPatches(data)
	c.sees(data)
	if i >= 0 && !c.stored(i) {
		c.l.event(c, event{kind: doubting, other: data, why: "sums over positions with numbers that the graph makes for them"})
		return
	}
	c.orders(data, "sums over positions with weights of their own")
}

// stored reports whether an operand is a constant as it is stored, but for its layout: what is picked for pairs of positions, or made of
// rows that positions have, is no weight.
func (c *call) stored(i int) bool {
	name := c.n.Input(c.input(i))
	for range maxCuts {
		n, at := c.s.Find(name)
		if n == nil || at != c.s {
			return true
		}
		single := eval.Is(n, eval.Lookups) && len(n.Inputs) > 1 && c.s.Input(n, 1).Len() == 1
		if !single && !eval.Is(n, eval.Layout|eval.Selection&^eval.Lookups|eval.Triangle) && !(eval.Is(n, eval.Scaling|eval.Addition) && c.withNumber(n)) {
			return n.Op == "Constant"
		}
		name = n.Input(0)
	}
	return true
}

// withNumber reports whether the second input of a node is one number.
func (c *call) withNumber(n *onnx.Node) bool {
	return len(n.Inputs) > 1 && c.s.Input(n, 1).Known() && c.s.Input(n, 1).Len() == 1
}

// ofPatches notes that an axis that is summed over holds whole axes beside pieces of others: what
// patches are made of. The whole ones are channels, as those that a convolution sums over.
func ofPatches(data Axis) {
	has := func(a *Atom) bool {
		return !slices.ContainsFunc(leaves(Axis{{Atom: a}}), func(part Factor) bool {
			return !slices.ContainsFunc(data, func(f Factor) bool { return f.root() == part.root() })
		})
	}
	whole := func(f Factor) bool {
		queue := []*Atom{f.root()}
		for i := 0; i < len(queue) && i < maxCuts; i++ {
			a := queue[i]
			if !has(a) {
				return false
			}
			if a.whole != nil {
				queue = append(queue, a.whole.root())
			}
			for _, d := range a.made {
				if d.start == piece {
					queue = append(queue, d.from[0].root())
				}
			}
		}
		return true
	}
	isPiece := func(f Factor) bool { return f.size > 1 && !whole(f) }
	if len(data) < 2 || !slices.ContainsFunc(data, isPiece) || !slices.ContainsFunc(data, whole) {
		return
	}
	for _, f := range data {
		switch {
		case isPiece(f):
			f.root().merged = true
		case len(f.inputs) > 0 && f.whole == nil:
			f.root().channel = true
		}
	}
}

// weights is the axis that weights put in the place of one that they sum over.
func (c *call) weights(a Axis) Axis {
	out := Axis(c.l.room.factors.Many(len(a)))
	for i, f := range a {
		out[i] = Factor{f.Atom, true}
	}
	return out
}

// product is MatMul: the last dimension of the first operand against the last but
// one of the second.
func product(c *call) []*Value {
	return c.matrices(c.n.Int("transA", 0) == 1, c.n.Int("transB", 0) == 1)
}

func (c *call) matrices(swapA, swapB bool) []*Value {
	a, b, shape := c.of(0).Axes, c.of(1).Axes, c.shape(0)
	if len(a) < 2 || len(b) < 2 {
		return c.vector(a, b)
	}
	for i, operand := range []*[]Axis{&a, &b} { // the first axis goes behind those of the batch
		if c.n.Int("transBatch"+[]string{"A", "B"}[i], 0) != 1 {
			continue
		}
		if !c.isData(i) {
			c.doubt("its batches are transposed")
			return c.opaque()
		}
		batch := (*operand)[1 : len(*operand)-1]
		*operand = slices.Concat(batch, (*operand)[:1], (*operand)[1+len(batch):])
	}
	rowA, innerA, innerB, columnB := len(a)-2, len(a)-1, len(b)-2, len(b)-1
	if swapA {
		rowA, innerA = innerA, rowA
	}
	if swapB {
		innerB, columnB = columnB, innerB
	}
	if !c.l.unite(c, a[innerA], b[innerB]) && c.isData(0) && c.isData(1) {
		c.doubt("axes of different origin are summed over together")
	}
	if c.isData(0) && c.isData(1) {
		c.sees(a[innerA])
	}
	k := len(shape)
	if k != max(len(a), len(b)) {
		return c.opaque()
	}
	out := Value{Depends: max(c.of(0).Depends, c.of(1).Depends), Axes: c.l.axes(k), product: c.isData(0) && c.isData(1)}
	for d := range k - 2 {
		var x, y Axis
		if at := len(a) - k + d; at >= 0 {
			x = a[at]
		}
		if at := len(b) - k + d; at >= 0 {
			y = b[at]
		}
		out.Axes[d] = x
		if len(x) == 0 || c.isData(1) && !c.isData(0) && len(y) > 0 {
			out.Axes[d] = y
		}
		if len(x) > 0 && len(y) > 0 && !c.l.unite(c, x, y) && c.isData(0) && c.isData(1) {
			c.doubt("axes of different origin are laid over each other")
		}
	}
	out.Axes[k-2], out.Axes[k-1] = a[rowA], b[columnB]
	if out.product {
		c.compares(a[rowA], b[columnB])
	}
	switch {
	case c.isData(0) && !c.isData(1):
		out.Axes[k-1] = c.against(1, a[innerA], innerB, columnB, out.Axes)
	case c.isData(1) && !c.isData(0):
		out.Axes[k-2] = c.against(0, b[innerB], innerA, rowA, out.Axes)
	}
	return c.l.one(out)
}

// against notes what a product of data with operand i, which is known, may be:
// weights; a matrix for each position; a row for each distance, where the axis that
// it brings turns out to be one of positions.
func (c *call) against(i int, data Axis, inner, own int, out []Axis) Axis {
	c.sums(data, i, inner)
	known := c.known(i)
	var dims []dim
	for d := range known.Shape {
		at := len(out) - len(known.Shape) + d
		if d != inner && d != own && at >= 0 && known.Shape[d] > 1 {
			dims = append(dims, dim{known: d, data: out[at]})
		}
	}
	brought, each := c.of(i).Axes[own], len(dims) > 0
	if own < len(known.Shape) && known.Shape[own] > 1 {
		dims = append(dims, dim{own, brought, true})
	}
	if !c.quiet && len(dims) > 0 {
		c.l.event(c, event{kind: meets, how: Contracted, input: i, dims: dims, scores: out, other: data})
	}
	if !each { // a matrix for each place is no weight
		brings(brought, data)
	}
	return c.weights(brought)
}

// brings notes what weights sum over to make an axis.
func brings(axis, summed Axis) {
	for _, f := range leaves(axis) {
		if f.mixed == nil {
			f.mixed = summed
		}
	}
}

// vector is a product with a vector.
func (c *call) vector(a, b []Axis) []*Value {
	switch {
	case len(b) == 1 && len(a) > 1:
		c.l.unite(c, a[len(a)-1], b[0])
		if !c.isData(1) {
			c.sums(a[len(a)-1], 1, 0)
		}
		return []*Value{{Axes: a[:len(a)-1], Depends: max(c.of(0).Depends, c.of(1).Depends)}}
	case len(a) == 1 && len(b) > 1:
		c.l.unite(c, a[0], b[len(b)-2])
		if !c.isData(0) {
			c.sums(b[len(b)-2], 0, 0)
		}
		return []*Value{{Axes: append(append([]Axis{}, b[:len(b)-2]...), b[len(b)-1]), Depends: max(c.of(0).Depends, c.of(1).Depends)}}
	}
	c.doubt("its operands are vectors")
	return c.opaque()
}

// linear is a product of the last dimension with weights that are stored in a
// form of their own (quantised blocks).
func linear(c *call) []*Value {
	v, shape := c.of(0), c.shape(0)
	if len(v.Axes) == 0 || len(shape) != len(v.Axes) {
		return c.opaque()
	}
	last := len(v.Axes) - 1
	c.sums(v.Axes[last], -1, -1)
	out := &Value{Depends: v.Depends, Axes: append([]Axis{}, v.Axes...)}
	out.Axes[last] = c.weights(c.l.fresh(shape[last]))
	return []*Value{out}
}

// gemm is a product of matrices of which a later input is added to the result.
func gemm(c *call) []*Value {
	out := product(c)
	if len(out) == 1 {
		c.meet(Added, c.row.Bias, out[0].Axes, len(out[0].Axes)-1, false)
	}
	return out
}

// einsum reads the letters of its equation.
func einsum(c *call) []*Value {
	var ranks []int
	for i := range c.in {
		ranks = append(ranks, len(c.of(i).Axes))
	}
	terms, right, ok := eval.Subscripts(c.n, ranks...)
	if !ok {
		c.doubt("its equation is not followed")
		return c.opaque()
	}
	letters := map[rune]Axis{}
	depends, data := Constant, 0
	for _, first := range [...]bool{true, false} {
		for i, term := range terms {
			axes := c.of(i).Axes
			if c.isData(i) != first {
				continue
			}
			depends = max(depends, c.of(i).Depends)
			if first {
				data++
			}
			if len(axes) != len(term) {
				return c.opaque()
			}
			for d, letter := range term {
				have := letters[letter]
				switch {
				case len(have) == 0:
					letters[letter] = axes[d]
				case len(axes[d]) > 0 && !c.l.unite(c, have, axes[d]) && first:
					c.doubt("axes of different origin are laid over each other")
				}
			}
		}
	}
	for letter, a := range letters {
		if data > 1 && !strings.ContainsRune(right, letter) {
			c.sees(a)
		}
	}
	out := &Value{Depends: depends, Axes: []Axis{}, product: data > 1}
	for _, letter := range right {
		out.Axes = append(out.Axes, letters[letter])
	}
	for i, a := range out.Axes {
		for _, b := range out.Axes[i+1:] {
			if out.product {
				c.compares(a, b)
			}
		}
	}
	if depends == Content {
		c.einsumMeets(terms, right, letters, out)
	}
	return []*Value{out}
}

// einsumMeets notes what the known operands of an Einsum may be: letters of theirs
// that the result keeps, beside one that is summed over.
func (c *call) einsumMeets(terms []string, right string, letters map[rune]Axis, out *Value) {
	for i, term := range terms {
		if c.isData(i) {
			continue
		}
		var dims []dim
		var summed Axis
		kind := Multiplied
		for d, letter := range term {
			if strings.ContainsRune(right, letter) {
				if len(letters[letter]) > 0 {
					brought := true
					for k, other := range terms {
						brought = brought && !(c.isData(k) && strings.ContainsRune(other, letter))
					}
					dims = append(dims, dim{d, letters[letter], brought})
				}
				continue
			}
			kind = Contracted
			summed = append(summed, letters[letter]...)
			c.sums(letters[letter], i, d)
		}
		if summed != nil && !slices.ContainsFunc(dims, func(d dim) bool { return !d.brought }) { // weights, and no row for each position
			for _, d := range dims {
				brings(d.data, summed)
			}
		}
		if len(dims) > 0 {
			c.l.event(c, event{kind: meets, how: kind, input: i, dims: dims, scores: out.Axes, other: summed})
		}
	}
}
