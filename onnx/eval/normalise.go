package eval

import (
	"math"
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
)

// axisOpset is the operator set from which Softmax works along one axis; before, it
// works on all from an axis on.
const axisOpset = 13

// softmax is exp(x)/Σ along an axis.
func softmax(c *call) ([]*Value, error) {
	a := c.need(0)
	out := a.unknown()
	if !a.Known() || a.Floats == nil || len(a.Shape) == 0 || a.Len() > c.most() {
		return one(out), nil
	}
	old := c.scope.eval.File.Opsets[""] < axisOpset
	first := int64(-1)
	if old {
		first = 1
	}
	axis, ok := axisOf(c.node.Int("axis", first), len(a.Shape))
	if !ok {
		return nil, c.fail("axis of %v", a.Shape)
	}
	c.works(a.Len())
	n, inner := a.Shape[axis], onnx.Size(a.Shape[axis+1:])
	if old {
		n, inner = onnx.Size(a.Shape[axis:]), 1
	}
	out.Floats = make([]float64, a.Len())
	scores, weights := make([]float64, n), make([]float64, n)
	for line := range a.Len() / max(n, 1) {
		start := line/inner*n*inner + line%inner
		for i := range n {
			scores[i] = a.Floats[start+i*inner]
		}
		weigh(weights, scores, nil)
		for i := range n {
			out.Floats[start+i*inner] = round(a.Type, weights[i])
		}
	}
	return one(out.from(a)), nil
}

// rows gives the rows of a known value along its axes from one on, and whether there are any; what is written into them is the content of out.
func (c *call) rows(a *Value, axis int64) (out *Value, rows [][]float64, ok bool) {
	out = a.unknown()
	if !a.Known() || a.Floats == nil || a.Len() > c.most() || len(a.Shape) == 0 {
		return out, nil, false
	}
	at, ok := axisOf(axis, len(a.Shape))
	if !ok || a.Len() == 0 {
		return out, nil, false
	}
	n := onnx.Size(a.Shape[at:])
	c.works(a.Len())
	out.Floats = slices.Clone(a.Floats)
	for first := 0; first < a.Len(); first += n {
		rows = append(rows, out.Floats[first:first+n])
	}
	return out.from(a), rows, true
}

// rmsNormalization is x/√(mean(x²)+ε)·scale.
func rmsNormalization(c *call) ([]*Value, error) {
	out, rows, ok := c.rows(c.need(0), c.node.Int("axis", -1))
	if !ok || !c.normalise(out.Type, rows, c.need(1), nil, false) {
		return sameAsFirst(c)
	}
	return one(out), nil
}

// normalise normalises rows in place, less their mean or not, scales them and adds a
// bias; false where scale or bias are not known or of another size.
func (c *call) normalise(t onnx.DataType, rows [][]float64, scale, bias *Value, centred bool) bool {
	epsilon := c.node.Float("epsilon", 1e-5)
	n := len(rows[0])
	if !scale.Known() || scale.Len() != n && scale.Len() != 1 || bias != nil && (!bias.Known() || bias.Len() != n && bias.Len() != 1) {
		return false
	}
	for _, row := range rows {
		mean, variance := 0.0, 0.0
		for _, x := range row {
			mean += x / float64(n)
		}
		if !centred {
			mean = 0
		}
		for _, x := range row {
			variance += (x - mean) * (x - mean) / float64(n)
		}
		for i := range row {
			row[i] = (row[i] - mean) / math.Sqrt(variance+epsilon) * scale.Number(i%scale.Len())
			if bias != nil {
				row[i] += bias.Number(i % bias.Len())
			}
			row[i] = round(t, row[i])
		}
	}
	return true
}

// microsoftNormalization are the normalisations of com.microsoft: with and
// without a mean, of an input or of the sum of two.
func microsoftNormalization(c *call) ([]*Value, error) {
	shapes, err := skipNormalization(c)
	out, rows, ok := c.rows(c.need(0), c.node.Int("axis", -1))
	if err != nil || !ok {
		return shapes, err
	}
	scale, bias, added, centred := c.need(1), c.input(2), []*Value(nil), true
	switch c.node.Op {
	case "SimplifiedLayerNormalization":
		bias, centred = nil, false
	case "SkipLayerNormalization":
		scale, bias, added = c.need(2), c.input(3), []*Value{c.need(1), c.input(4)}
	case "SkipSimplifiedLayerNormalization":
		scale, bias, added, centred = c.need(2), nil, []*Value{c.need(1), c.input(3)}, false
	}
	for _, v := range added {
		if v == nil {
			continue
		}
		if !v.Known() || v.Len() == 0 || out.Len()%v.Len() != 0 {
			return shapes, nil
		}
		for i := range out.Floats {
			out.Floats[i] += v.Number(i % v.Len())
		}
	}
	sum := FloatValue(out.Type, out.Shape, slices.Clone(out.Floats)).from(c.in...)
	if !c.normalise(out.Type, rows, scale, bias, centred) {
		return shapes, nil
	}
	if added != nil {
		shapes[3] = sum
	}
	shapes[0] = out
	return shapes, nil
}

// lpNormalization divides by the norm along an axis.
func lpNormalization(c *call) ([]*Value, error) {
	a := c.need(0)
	axis, ok := axisOf(c.node.Int("axis", -1), len(a.Shape))
	out, _, known := c.rows(a, 0)
	if !ok || !known {
		return sameAsFirst(c)
	}
	p := float64(c.node.Int("p", 2))
	n, inner := a.Shape[axis], onnx.Size(a.Shape[axis+1:])
	for line := range a.Len() / n {
		start, sum := line/inner*n*inner+line%inner, 0.0
		for i := range n {
			sum += math.Pow(math.Abs(a.Floats[start+i*inner]), p)
		}
		if sum = math.Pow(sum, 1/p); sum == 0 {
			continue
		}
		for i := range n {
			out.Floats[start+i*inner] = round(out.Type, out.Floats[start+i*inner]/sum)
		}
	}
	return one(out), nil
}

// flipped is an operand of a product with its axes in another order.
func (c *call) flipped(v *Value, order []int) *Value {
	if slices.IsSorted(order) {
		return v
	}
	shape, strides := make([]int, len(order)), make([]int, len(order))
	own := newWalker(v.Shape, v.Shape).strides
	for i, p := range order {
		shape[i], strides[i] = v.Shape[p], own[p]
	}
	out := Shaped(v.Type, shape...)
	if v.Known() && v.Floats != nil && v.Len() <= c.most() {
		copyElements(out.from(v), v, walker{strides})
	}
	return out
}

// text is a string attribute.
func (c *call) text(name string) []byte {
	if a := c.node.Attribute(name); a != nil {
		return a.S
	}
	return nil
}

// normalizeChannels keeps the shape of data whose channels, their second axis, are scaled by a number each: of another number of them than the
// scale has, engines do not load the model (ai.onnx BatchNormalization, InstanceNormalization: "1-dimensional input tensor of size C").
func normalizeChannels(c *call) ([]*Value, error) {
	a := c.need(0)
	for i := 1; i < len(c.node.Inputs); i++ {
		if of := c.need(i); of.Ranked && len(a.Shape) > 1 && len(of.Shape) == 1 && of.Shape[0] != a.Shape[1] {
			return nil, c.fail("input %d has %d numbers for %d channels", i, of.Shape[0], a.Shape[1])
		}
	}
	return sameAsFirst(c)
}
