package eval

import (
	"math"
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
)

// quantize rounds known numbers to the steps of a scalar scale.
func quantize(c *call) ([]*Value, error) {
	a, scale, zero := c.need(0), c.need(1), c.need(2)
	t := zero.Type
	if t == 0 {
		t = onnx.DataType(c.node.Int("output_dtype", int64(onnx.Uint8)))
	}
	return one(c.quantized(a, scale, zero, t)), nil
}

// quantized rounds numbers to the steps of a scalar scale, if they are known, and keeps what they were.
func (c *call) quantized(a, scale, zero *Value, t onnx.DataType) *Value {
	out := &Value{Type: t, Ranked: a.Ranked, Shape: a.Shape, before: a}
	s, ok := scale.Scalar()
	if !a.Ranked || a.Len() > c.most() || !a.Known() || !ok || s == 0 {
		return out
	}
	z, _ := zero.Scalar()
	low, high := bounds(t)
	out.Ints = make([]int64, a.Len())
	for i := range out.Ints {
		out.Ints[i] = int64(math.Min(math.Max(math.RoundToEven(round(a.Type, a.Number(i)/s))+z, low), high))
	}
	out.Data, out.Origins = a.Data, a.Origins
	return out
}

// unquantized gives quantised numbers that were moved what they were before: what was there, moved as they were.
func (c *call) unquantized(op computer, out []*Value) {
	if !op.moves() || !slices.ContainsFunc(c.in, func(v *Value) bool { return v != nil && v.before != nil }) {
		return
	}
	was, t := slices.Clone(c.in), onnx.DataType(0)
	for i, v := range c.in {
		if v != nil && v.before != nil {
			was[i], t = v.before, v.Type
		}
	}
	if slices.ContainsFunc(was, func(v *Value) bool { return v != nil && v.Type == t }) {
		return // joined with what is stored so
	}
	before, err := op.run(&call{c.scope, c.node, was})
	for i, v := range out {
		if err == nil && v != nil && v.before == nil && i < len(before) {
			v.before = before[i]
		}
	}
}

// Operand is a quantised input as the numbers that it stands for, by the scale and zero point that the node reads behind it; of unknown
// content where these are not known, or it has none.
func (s *Scope) Operand(n *onnx.Node, i int) *Value {
	return standsFor(s.eval, s.Input(n, i), s.Input(n, i+1), s.Input(n, i+2), maxContent)
}

// operand is Operand of a call.
func (c *call) operand(i int) *Value {
	return standsFor(c.scope.eval, c.need(i), c.need(i+1), c.need(i+2), c.most())
}

func standsFor(e *Evaluator, a, scale, zero *Value, most int) *Value {
	if a = e.meant(a); a.Type.IsFloat() {
		return a
	}
	out := &Value{Type: onnx.Float, Ranked: a.Ranked, Shape: a.Shape}
	if e.trial != nil {
		out.Type = onnx.Double
	}
	s, ok := scale.Scalar()
	if !ok || a.Len() > most || !a.Known() || len(a.Ints) != a.Len() {
		return out
	}
	z, _ := zero.Scalar()
	out.Floats = make([]float64, a.Len())
	for i, x := range a.Ints {
		out.Floats[i] = round(out.Type, (float64(x)-z)*s)
	}
	out.Data, out.Origins, out.ownOrigins = a.Data, a.Origins, true
	return out
}

func dequantize(c *call) ([]*Value, error) {
	a, scale, zero := c.need(0), c.need(1), c.need(2)
	if was := c.scope.eval.meant(a); was.Type.IsFloat() {
		return one(was), nil
	}
	t := scale.Type
	if t == 0 {
		t = onnx.Float
	}
	if c.reached() {
		t = onnx.Double
	}
	out := &Value{Type: t, Ranked: a.Ranked, Shape: a.Shape}
	if !a.Ranked || a.Len() > c.most() || !allKnown(a, scale) || c.input(2) != nil && !zero.Known() {
		if a.Constant() != nil || a.stored != nil { // a table too large to compute here still is a constant
			out.Origins = a.Origins
		}
		return one(out), nil
	}
	of, ok := steps(c.node, a.Shape, scale.Shape)
	if !ok || c.input(2) != nil && zero.Len() != scale.Len() {
		return one(out), nil
	}
	out.Floats = make([]float64, a.Len())
	for i := range out.Floats {
		step, z := of(i), 0.0
		if c.input(2) != nil {
			z = zero.Number(step)
		}
		out.Floats[i] = round(t, (a.Number(i)-z)*scale.Number(step))
	}
	out.Data, out.Origins, out.ownOrigins = a.Data, a.Origins, true
	return one(out), nil
}

// steps tells which of several scales that of element i is: one for all, one for each place along an axis, or one for each block of places
// (DequantizeLinear of operator set 21). It is false where scales of that shape go with no such elements.
func steps(n *onnx.Node, shape, scales []int) (of func(i int) int, ok bool) {
	if onnx.Size(scales) == 1 {
		return func(int) int { return 0 }, true
	}
	axis := n.Axis(1, len(shape))
	if axis < 0 {
		return nil, false
	}
	block := max(int(n.Int("block_size", 0)), 0)
	if block == 0 {
		inner := onnx.Size(shape[axis+1:])
		return func(i int) int { return i / inner % shape[axis] }, len(scales) == 1 && scales[0] == shape[axis] && inner > 0
	}
	return blocks(shape, scales, axis, block)
}

// blocks is steps of blocks of so many places along an axis.
func blocks(shape, scales []int, axis, block int) (of func(i int) int, ok bool) {
	if len(scales) != len(shape) || block < 1 {
		return nil, false
	}
	for d, n := range shape {
		if d == axis {
			n = (n + block - 1) / block
		}
		if scales[d] != n {
			return nil, false
		}
	}
	inner := onnx.Size(shape[axis+1:])
	return func(i int) int {
		return i/(inner*shape[axis])*inner*scales[axis] + i/inner%shape[axis]/block*inner + i%inner
	}, inner > 0
}

// gatherBlockQuantized picks rows of a table whose numbers have a scale for each block of them (onnxruntime docs/ContribOperators.md). A byte
// may hold several of them: in a trial it stands for each.
func gatherBlockQuantized(c *call) ([]*Value, error) {
	data, index, scales, zero := c.need(0), c.need(1), c.need(2), c.need(3)
	k := len(data.Shape)
	axis, along := int(c.node.Int("gather_axis", 0)), int(c.node.Int("quantize_axis", 1))
	if axis < 0 {
		axis += k
	}
	if along < 0 {
		along += k
	}
	if !index.Ranked || !data.Ranked || axis < 0 || axis >= k || along < 0 || along >= k {
		return one(&Value{Type: scales.Type}), nil
	}
	shape, bits, each := slices.Clone(data.Shape), int(c.node.Int("bits", 4)), 1
	if data.Type.Bits() == 8 && (bits == 2 || bits == 4) {
		each = 8 / bits
	}
	shape[k-1] *= each
	out := Shaped(scales.Type, slices.Concat(shape[:axis], index.Shape, shape[axis+1:])...)
	if c.reached() {
		out.Type = onnx.Double
	}
	of, ok := blocks(shape, scales.Shape, along, int(c.node.Int("block_size", 128)))
	if !ok || out.Len() > c.most() || !allKnown(data, index, scales) || c.input(3) != nil && !zero.Known() {
		if data.Constant() != nil || data.stored != nil {
			out.Origins = data.Origins
		}
		return one(out), nil
	}
	from := func(v *Value, each, i int, standsForAll bool) float64 { // number i, of several in a byte
		if each == 1 || standsForAll {
			return v.Number(i / each)
		}
		return float64(v.Ints[i/each] >> (bits * (i % each)) & (1<<bits - 1))
	}
	none := 0.0
	if data.Type == onnx.Uint8 && c.input(3) == nil {
		none = float64(int(1) << (bits - 1))
	}
	blocksOfRow, zerosOfRow := 1, 1 // of which a byte may hold several, too
	if c.input(3) != nil && zero.Len() < scales.Len() && len(zero.Shape) == k {
		blocksOfRow, zerosOfRow = scales.Shape[k-1], zero.Shape[k-1]*each
	}
	_, replaced := data.stored.(Pattern)
	inner, picked := onnx.Size(shape[axis+1:]), index.Len()
	out.Floats = make([]float64, out.Len())
	for i := range out.Floats {
		place := index.Ints[i/inner%picked]
		if place < 0 {
			place += int64(shape[axis])
		}
		if place < 0 || place >= int64(shape[axis]) { // ONNX Runtime 1.31.1 (CPU) does not look at it: measured, zeros
			continue
		}
		at := (i/inner/picked*shape[axis]+int(place))*inner + i%inner
		step, z := of(at), none
		if c.input(3) != nil {
			packed, n := 1, step
			if blocksOfRow > 1 || zerosOfRow > 1 {
				packed, n = each, step/blocksOfRow*zerosOfRow+step%blocksOfRow
			}
			if n/packed >= zero.Len() {
				return one(Shaped(out.Type, out.Shape...)), nil
			}
			z = from(zero, packed, n, false)
		}
		out.Floats[i] = round(out.Type, (from(data, each, at, replaced)-z)*scales.Number(step))
	}
	out.ownOrigins = true
	return one(out.from(data)), nil
}

// dynamicQuantize spreads known numbers over the steps of uint8, zero among them.
func dynamicQuantize(c *call) ([]*Value, error) {
	a := c.need(0)
	out := []*Value{{Type: onnx.Uint8, Ranked: a.Ranked, Shape: a.Shape, before: a}, Shaped(onnx.Float), Shaped(onnx.Uint8)}
	if !a.Known() || a.Floats == nil || len(a.Floats) == 0 || a.Len() > c.most() {
		return out, nil
	}
	low, high := min(slices.Min(a.Floats), 0), max(slices.Max(a.Floats), 0)
	scale := round(onnx.Float, round(onnx.Float, high-low)/255)
	if !(scale > 0) || math.IsInf(scale, 0) {
		return out, nil
	}
	zero := math.RoundToEven(min(max(round(onnx.Float, -low/scale), 0), 255))
	q := make([]int64, len(a.Floats))
	for i, x := range a.Floats {
		q[i] = int64(min(max(math.RoundToEven(round(onnx.Float, x/scale))+zero, 0), 255))
	}
	out[0] = IntValue(onnx.Uint8, a.Shape, q).from(a)
	out[0].before = a
	out[1] = FloatValue(onnx.Float, []int{}, []float64{scale}).from(a)
	out[2] = IntValue(onnx.Uint8, []int{}, []int64{int64(zero)}).from(a)
	return out, nil
}

// unrounded gives the numbers of an operator's first input; of whole numbers with a scale behind them those that they stand for.
func unrounded(c *call) ([]*Value, error) {
	if a, scale := c.need(0), c.need(1); a.Type.IsInteger() && scale.Type.IsFloat() {
		return dequantize(c)
	}
	return one(c.need(0)), nil
}

// Reach is what numbers the output of a node that quantises by one scale can stand for, and how far apart they are; false for other nodes
// (onnx.ai/onnx/operators, QuantizeLinear: saturates).
func (s *Scope) Reach(n *onnx.Node) (least, most, step float64, ok bool) {
	if n.Op != "QuantizeLinear" || len(n.Inputs) < 2 {
		return 0, 0, 0, false
	}
	t := s.held(n.Output(0)).Type
	step, known := s.Input(n, 1).Scalar()
	zero, _ := s.Input(n, 2).Scalar()
	if !known || step <= 0 || !t.IsInteger() {
		return 0, 0, 0, false
	}
	low, high := bounds(t)
	return (low - zero) * step, (high - zero) * step, step, true
}

// bounds are the least and the largest number of a type of whole numbers.
func bounds(t onnx.DataType) (low, high float64) {
	high = math.Exp2(float64(t.Bits())) - 1
	if t.IsSigned() {
		high = math.Floor(high / 2)
		low = -high - 1
	}
	return low, high
}
