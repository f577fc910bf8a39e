package eval

import (
	"math"
	"slices"
	"strings"

	"github.com/modelpatch/modelpatch/onnx"
)

func matMul(c *call) ([]*Value, error) {
	if c.node.Op == "MatMulInteger" {
		return matMulInteger(c)
	}
	a, b := c.need(0), c.need(1)
	return product2(c, wide(a.Type, a, b), a, b)
}

// matMulInteger is the product of integers less their zero points: one for all, or
// one for each row of the first and each column of the second.
func matMulInteger(c *call) ([]*Value, error) {
	out, err := product2(c, onnx.Double, c.shifted(0, 2, -2), c.shifted(1, 3, -1))
	if err != nil || len(out) == 0 {
		return out, err
	}
	out[0].Type = onnx.Int32
	if x := out[0].Floats; x != nil {
		out[0].Floats, out[0].Ints = nil, make([]int64, len(x))
		for i := range x {
			out[0].Ints[i] = int64(int32(int64(x[i])))
		}
	}
	return out, nil
}

// shifted is an operand of MatMulInteger less its zero points, which run along an
// axis; of unknown content where either is not known.
func (c *call) shifted(operand, zeros, axis int) *Value {
	a, zero := c.need(operand), c.input(zeros)
	axis += len(a.Shape)
	unknown := &Value{Type: onnx.Double, Ranked: a.Ranked, Shape: a.Shape}
	if !a.Known() || a.Ints == nil || a.Len() > c.most() || zero != nil && !zero.Known() {
		return unknown
	}
	c.works(a.Len())
	out := unknown.from(a)
	out.Floats = make([]float64, a.Len())
	inner := 1
	switch {
	case zero == nil || zero.Len() == 1:
	case axis < 0 || zero.Len() != a.Shape[axis]:
		return &Value{Type: onnx.Double, Ranked: true, Shape: a.Shape}
	default:
		inner = onnx.Size(a.Shape[axis+1:])
	}
	for i, x := range a.Ints {
		z := 0.0
		if zero != nil {
			z = zero.Number(i / inner % zero.Len())
		}
		out.Floats[i] = float64(x) - z
	}
	return out
}

// maxProduct bounds the multiplications of a matrix product that is computed:
// enough for the small networks that make biases (Swin v2), far too few for the
// model's own layers.
const maxProduct = 1 << 22

// product2 is the matrix product with numpy's broadcasting.
func product2(c *call, t onnx.DataType, a, b *Value) ([]*Value, error) {
	if !a.Ranked || !b.Ranked || len(a.Shape) == 0 || len(b.Shape) == 0 {
		return one(&Value{Type: t}), nil
	}
	sa, sb := a.Shape, b.Shape
	if len(sa) == 1 {
		sa = []int{1, sa[0]}
	}
	if len(sb) == 1 {
		sb = []int{sb[0], 1}
	}
	m, k, n := sa[len(sa)-2], sa[len(sa)-1], sb[len(sb)-1]
	if k != sb[len(sb)-2] {
		return nil, c.fail("%v times %v", a.Shape, b.Shape)
	}
	lead, err := broadcast(sa[:len(sa)-2], sb[:len(sb)-2])
	if err != nil {
		return nil, c.fail("%v times %v: %v", a.Shape, b.Shape, err)
	}
	full := append(slices.Grow(lead, 2), m, n)
	shape := full
	if len(a.Shape) == 1 || len(b.Shape) == 1 {
		shape = slices.Clone(lead)
		if len(a.Shape) > 1 {
			shape = append(shape, m)
		}
		if len(b.Shape) > 1 {
			shape = append(shape, n)
		}
	}
	out := Shaped(t, shape...)
	if !t.IsFloat() || out.Len() == 0 || !c.keeps(out) || onnx.Size(full) > c.most() || k > c.maxMultiplications()/max(onnx.Size(full), 1) || !allKnown(a, b) {
		return one(out), nil
	}
	if out.state = toldAlike(a, b, func(d int) bool { return d == len(a.Shape)-1 }) || toldAlike(b, a, func(d int) bool { return d == max(len(b.Shape)-2, 0) }); out.state {
		return one(out), nil
	}
	c.multiplies(onnx.Size(full) * k)
	out.Floats = make([]float64, onnx.Size(full))
	strideA, strideB := newWalker(sa[:len(sa)-2], lead), newWalker(sb[:len(sb)-2], lead)
	fa, fb := a.Floats, b.Floats
	each(lead, []walker{strideA, strideB}, func(i int, at []int) {
		if fa != nil && fb != nil {
			multiply(out.Floats[i*m*n:(i+1)*m*n], fa[at[0]*m*k:][:m*k], fb[at[1]*k*n:][:k*n], m, k, n, t)
			return
		}
		for r := range m {
			for q := range n {
				sum := 0.0
				for x := range k {
					sum += a.Number(at[0]*m*k+r*k+x) * b.Number(at[1]*k*n+x*n+q)
				}
				out.Floats[(i*m+r)*n+q] = round(t, sum)
			}
		}
	})
	return one(out.from(a, b)), nil
}

// toldAlike reports whether a product with weights is model state, as rows are that tokens choose (see hidden): what is told of each token, a one
// where it is one of a vocabulary, say, is the same for all of them, as they are in a probe. Of places that are counted it is not, and matrices of
// zeros and ones count them. summed are the axes over which the product sums.
func toldAlike(told, weights *Value, summed func(axis int) bool) bool {
	if !told.Data || weights.Data || weights.IsMask(math.Inf(-1)) {
		return false
	}
	several := false
	for i := range told.Len() {
		first, rest, stride := 0, i, 1 // of the same number of the first token
		for d := len(told.Shape) - 1; d >= 0; d-- {
			if summed(d) {
				first += rest % told.Shape[d] * stride
			}
			rest, stride = rest/told.Shape[d], stride*told.Shape[d]
		}
		if told.Number(i) != told.Number(first) {
			return false
		}
		several = several || first > 0
	}
	return several
}

// multiply is the product of an m by k and a k by n matrix, summed in the order of k.
func multiply(out, a, b []float64, m, k, n int, t onnx.DataType) {
	for r := range m {
		row := out[r*n : (r+1)*n]
		for x, f := range a[r*k : (r+1)*k] {
			for q, g := range b[x*n : (x+1)*n] {
				row[q] += f * g
			}
		}
		if t != onnx.Double {
			for q := range row {
				row[q] = round(t, row[q])
			}
		}
	}
}

// scaledProduct is alpha times a product of matrices, either transposed, and beta times a bias, with an activation: Gemm, and what ONNX Runtime
// makes of a product and what stands around it (onnxruntime/contrib_ops/cpu: FusedMatMul, FusedGemm, MatMulIntegerToFloat). Quantised operands are
// the numbers that they stand for.
func scaledProduct(c *call) ([]*Value, error) {
	a, b, bias := c.need(0), c.need(1), 2
	switch c.node.Op {
	case "DynamicQuantizeMatMul":
		b, bias = standsFor(c.scope.eval, b, c.need(2), c.need(3), c.most()), 4
	case "MatMulIntegerToFloat":
		a, b, bias = standsFor(c.scope.eval, a, c.need(2), c.need(4), c.most()), standsFor(c.scope.eval, b, c.need(3), c.need(5), c.most()), 6
	}
	if !a.Ranked || !b.Ranked || len(a.Shape) < 2 || len(b.Shape) < 2 {
		return one(&Value{Type: a.Type}), nil
	}
	if strings.Contains(c.node.Op, "Gemm") && (len(a.Shape) != 2 || len(b.Shape) != 2) {
		return one(&Value{Type: a.Type}), nil
	}
	added := c.need(bias)
	t := wide(a.Type, a, b, added)
	flip := func(v *Value, side string) *Value {
		k := len(v.Shape)
		order := make([]int, k)
		for i := range order {
			order[i] = i
		}
		if c.node.Int("transBatch"+side, 0) == 1 { // the first axis goes behind the batch
			copy(order, order[1:k-1])
			order[k-2] = 0
		}
		if c.node.Int("trans"+side, 0) == 1 {
			order[k-1], order[k-2] = order[k-2], order[k-1]
		}
		return c.flipped(v, order)
	}
	inside := t
	if t.IsFloat() { // rounded once, below
		inside = onnx.Double
	}
	made, err := product2(c, inside, flip(a, "A"), flip(b, "B"))
	if err != nil {
		return nil, err
	}
	out := made[0]
	out.Type = t
	if c.input(bias) != nil && added.Ranked {
		if shape, err := broadcast(added.Shape, out.Shape); err != nil || !slices.Equal(shape, out.Shape) {
			return nil, c.fail("a bias of %v to %v", added.Shape, out.Shape)
		}
	}
	if out.Floats == nil {
		return made, nil
	}
	alpha, beta := c.node.Float("alpha", 1), c.node.Float("beta", 1)
	if c.input(bias) != nil {
		if !added.Known() {
			return one(out.unknown()), nil
		}
		eachRow(out.Shape, []walker{newWalker(added.Shape, out.Shape)}, func(i, n int, at, steps []int) {
			for j := range n {
				out.Floats[i+j] = alpha*out.Floats[i+j] + beta*added.Number(at[0]+j*steps[0])
			}
		})
		out.from(a, b, added)
	} else if alpha != 1 {
		for i := range out.Floats {
			out.Floats[i] *= alpha
		}
	}
	for i, x := range out.Floats {
		out.Floats[i] = round(t, x)
	}
	return one(c.activates(out)), nil
}

// multiplies counts the multiplications of a matrix product: in a trial, whose products
// are of plain numbers, as many take the time of one element as count as a step.
func (c *call) multiplies(n int) {
	if c.exact() {
		n /= elementsAStep
	}
	c.works(n)
}

// maxMultiplications bounds those of a matrix product.
func (c *call) maxMultiplications() int {
	if c.exact() {
		return maxTrial
	}
	return maxProduct
}
