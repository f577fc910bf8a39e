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
	out := &Value{Type: t, Ranked: a.Ranked, Shape: a.Shape}
	s, ok := scale.Scalar()
	if !a.Ranked || a.Len() > c.most() || !a.Known() || !ok || s == 0 {
		return one(out), nil
	}
	z, _ := zero.Scalar()
	low, high := 0.0, math.Exp2(float64(t.Bits()))-1
	if t == onnx.Int8 || t == onnx.Int16 {
		high = math.Floor(high / 2)
		low = -high - 1
	}
	out.Ints = make([]int64, a.Len())
	for i := range out.Ints {
		out.Ints[i] = int64(math.Min(math.Max(math.RoundToEven(round(a.Type, a.Number(i)/s))+z, low), high))
	}
	out.Data, out.Origins, out.before = a.Data, a.Origins, a
	return one(out), nil
}

func dequantize(c *call) ([]*Value, error) {
	a, scale, zero := c.need(0), c.need(1), c.need(2)
	if c.scope.eval.Unquantized && a.before != nil {
		return one(a.before), nil
	}
	t := scale.Type
	if t == 0 {
		t = onnx.Float
	}
	if c.reached() {
		t = onnx.Double
	}
	out := &Value{Type: t, Ranked: a.Ranked, Shape: a.Shape}
	if !a.Ranked || a.Len() > c.most() || !allKnown(a, scale) || c.input(2) != nil && !zero.Known() || scale.Len() != 1 {
		if a.Constant() != nil || a.stored != nil { // a table too large to compute here still is a constant
			out.Origins = a.Origins
		}
		return one(out), nil
	}
	z := 0.0
	if c.input(2) != nil {
		z, _ = zero.Scalar()
	}
	s, _ := scale.Scalar()
	out.Floats = make([]float64, a.Len())
	for i := range out.Floats {
		out.Floats[i] = round(t, (a.Number(i)-z)*s)
	}
	out.Data, out.Origins = a.Data, a.Origins
	return one(out), nil
}

// dynamicQuantize spreads known numbers over the steps of uint8, zero among them.
func dynamicQuantize(c *call) ([]*Value, error) {
	a := c.need(0)
	out := []*Value{{Type: onnx.Uint8, Ranked: a.Ranked, Shape: a.Shape}, Shaped(onnx.Float), Shaped(onnx.Uint8)}
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
	out[1] = FloatValue(onnx.Float, []int{}, []float64{scale}).from(a)
	out[2] = IntValue(onnx.Uint8, []int{}, []int64{int64(zero)}).from(a)
	return out, nil
}
