package eval

import (
	"math"
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
)

// reorderOutput gives a picture of ONNX Runtime's blocked channels its own number of
// channels back, behind its rows and columns where it says so
// (onnxruntime/core/mlas, NCHWc).
func reorderOutput(c *call) ([]*Value, error) {
	a := c.need(0)
	if !a.Ranked || len(a.Shape) != 4 {
		return one(&Value{Type: a.Type}), nil
	}
	shape := slices.Clone(a.Shape)
	if n := int(c.node.Int("channels", 0)); n > 0 {
		shape[1] = n
	}
	if c.node.Int("channels_last", 0) == 1 {
		shape = []int{shape[0], shape[2], shape[3], shape[1]}
	}
	return one(Shaped(a.Type, shape...)), nil
}

// reorderInput brings a picture into blocks of channels: its rank and sizes stay.
func reorderInput(c *call) ([]*Value, error) {
	a := c.need(0)
	if !a.Ranked || len(a.Shape) != 4 {
		return one(&Value{Type: a.Type}), nil
	}
	shape := slices.Clone(a.Shape)
	if c.node.Int("channels_last", 0) == 1 {
		shape = []int{shape[0], shape[3], shape[1], shape[2]}
	}
	return one(Shaped(a.Type, shape...)), nil
}

// depthToSpace moves channels into rows and columns of blocks, spaceToDepth back.
func depthToSpace(c *call) ([]*Value, error) {
	a, n := c.need(0), int(c.node.Int("blocksize", 0))
	if len(a.Shape) != 4 || n < 1 || n > maxContent || a.Shape[1]%(n*n) != 0 {
		return one(&Value{Type: a.Type}), nil
	}
	return one(Shaped(a.Type, a.Shape[0], a.Shape[1]/(n*n), a.Shape[2]*n, a.Shape[3]*n)), nil
}

func spaceToDepth(c *call) ([]*Value, error) {
	a, n := c.need(0), int(c.node.Int("blocksize", 0))
	if len(a.Shape) != 4 || n < 1 || n > maxContent || a.Shape[2]%n != 0 || a.Shape[3]%n != 0 {
		return one(&Value{Type: a.Type}), nil
	}
	return one(Shaped(a.Type, a.Shape[0], a.Shape[1]*n*n, a.Shape[2]/n, a.Shape[3]/n)), nil
}

// gridSample gives data the size of the grid at whose places they are read: of one batch the nearest elements, as Resize does here, where the places
// are known.
func gridSample(c *call) ([]*Value, error) {
	a, grid := c.need(0), c.need(1)
	axes := len(a.Shape) - 2
	if axes < 1 || len(grid.Shape) != len(a.Shape) {
		return one(&Value{Type: a.Type}), nil
	}
	out := Shaped(a.Type, slices.Concat(a.Shape[:2], grid.Shape[1:axes+1])...)
	if a.Shape[0] != 1 || grid.Shape[0] != 1 || grid.Shape[axes+1] != axes || !grid.Known() || !out.sound() || slices.Contains(a.Shape, 0) {
		return one(out), nil
	}
	indices := make([]int, grid.Len()/axes)
	for place := range indices {
		for axis, size := range a.Shape[2:] {
			x := (grid.Number(place*axes+axes-1-axis) + 1) / 2 // of the last axis first
			if c.node.Int("align_corners", 0) == 1 {
				x *= float64(size - 1)
			} else {
				x = x*float64(size) - 0.5
			}
			nearest := 0
			if x > 0 {
				nearest = int(min(math.Round(x), float64(size-1)))
			}
			indices[place] = indices[place]*size + nearest
		}
	}
	flat := a.view([]int{1, a.Shape[1], onnx.Size(a.Shape[2:])})
	return one(flat.take(2, indices, c.most()).view(out.Shape)), nil
}

// stft is the spectrum of each of a signal's frames: (batch, frames, bins, 2).
func stft(c *call) ([]*Value, error) {
	a, step := c.need(0), c.need(1)
	hop, ok := step.Scalar()
	length := 0
	if n, given := c.need(3).Scalar(); given {
		length = int(n)
	} else if w := c.need(2); len(w.Shape) == 1 {
		length = w.Shape[0]
	}
	if len(a.Shape) < 2 || !ok || hop < 1 || length < 1 || a.Shape[1] < length {
		return one(&Value{Type: a.Type}), nil
	}
	bins := length
	if c.node.Int("onesided", 1) == 1 {
		bins = length/2 + 1
	}
	return one(Shaped(a.Type, a.Shape[0], (a.Shape[1]-length)/int(hop)+1, bins, 2)), nil
}

// fourier is the discrete Fourier transform along an axis: of as many waves as there are numbers, or half where the others are their mirror images, each of
// a real and an imaginary part (onnx.ai/onnx/operators, DFT).
func fourier(c *call) ([]*Value, error) {
	a := c.need(0)
	d, rank := FourierAxis(c.node, c.scope.eval.File.Opsets[""], c.need(2), len(a.Shape)), len(a.Shape)
	if d < 0 || d >= rank-1 {
		return one(&Value{Type: a.Type}), nil
	}
	shape := slices.Clone(a.Shape)
	if n, ok := c.need(1).Scalar(); ok && n > 0 && n < maxContent {
		shape[d] = int(n)
	}
	shape[rank-1] = 2
	switch inverse := c.node.Int("inverse", 0) == 1; {
	case c.node.Int("onesided", 0) == 0:
	case inverse:
		shape[rank-1] = 1
	default:
		shape[d] = shape[d]/2 + 1
	}
	return one(Shaped(a.Type, shape...)), nil
}

// FourierAxis is the axis along which a DFT goes of data of a rank: what its third input holds, or an attribute up to operator set 19; the second
// where neither is given, and the last but one from set 20 on.
func FourierAxis(n *onnx.Node, opset int64, given *Value, rank int) int {
	axis := n.Int("axis", 1)
	if opset >= 20 && n.Attribute("axis") == nil {
		axis = -2
	}
	if x, ok := given.Scalar(); ok {
		axis = int64(x)
	}
	if axis < 0 {
		axis += int64(rank)
	}
	return int(axis)
}

// splitGelu is BiasSplitGelu: one half of the last axis, gated by the other.
func splitGelu(c *call) ([]*Value, error) {
	a := c.need(0)
	if len(a.Shape) == 0 {
		return one(&Value{Type: a.Type}), nil
	}
	shape := slices.Clone(a.Shape)
	shape[len(shape)-1] /= 2
	return one(Shaped(a.Type, shape...)), nil
}

// skipGroupNormalization normalises the sum of two inputs, which is its second output.
func skipGroupNormalization(c *call) ([]*Value, error) {
	out, err := sameAsFirst(c)
	return append(out, out...), err
}

// qlinearWhere chooses between two quantised inputs, each with its scale and zero point.
func qlinearWhere(c *call) ([]*Value, error) {
	inner := *c
	inner.in = []*Value{c.need(0), c.need(1), c.need(4)}
	out, err := where(&inner)
	return typed(out, c.need(1).Type), err
}

// qlinear is an operator of which two inputs are quantised, each with its scale and zero
// point: it gives what the plain one gives of the numbers that inputs 0 and 3 stand for, quantised again.
func qlinear(plain operator) operator {
	return func(c *call) ([]*Value, error) {
		inner := *c
		inner.in = slices.Concat([]*Value{c.operand(0), c.operand(3)}, c.in[min(len(c.in), 8):])
		out, err := plain(&inner)
		if err == nil && len(out) == 1 && out[0] != nil && out[0].Floats != nil {
			return one(c.quantized(out[0], c.need(6), c.need(7), c.need(0).Type)), nil
		}
		return typed(out, c.need(0).Type), err
	}
}

// qgemm is a Gemm of quantised inputs, quantised again where the scale of the result is given.
func qgemm(c *call) ([]*Value, error) {
	inner := *c
	inner.in = []*Value{c.need(0), c.need(3)}
	out, err := scaledProduct(&inner)
	if c.input(7) == nil {
		return typed(out, onnx.Float), err
	}
	return typed(out, c.need(0).Type), err
}

// qlinearOf is an operator of one quantised input.
func qlinearOf(plain operator) operator {
	return func(c *call) ([]*Value, error) {
		inner := *c
		inner.in = []*Value{c.need(0)}
		out, err := plain(&inner)
		return typed(out, c.need(0).Type), err
	}
}

// qlinearConcat joins inputs behind the scale and zero point of the result, each with its own.
func qlinearConcat(c *call) ([]*Value, error) {
	inner := *c
	inner.in = nil
	for i := 2; i < len(c.in); i += 3 {
		inner.in = append(inner.in, c.operand(i))
	}
	out, err := concat(&inner)
	if err == nil && len(out) == 1 && out[0] != nil && out[0].Floats != nil {
		return one(c.quantized(out[0], c.need(0), c.need(1), c.need(1).Type)), nil
	}
	return typed(out, c.need(1).Type), err
}

// typed are values of unknown content and a type; whole numbers stand for others.
func typed(values []*Value, t onnx.DataType) []*Value {
	for i, v := range values {
		if v != nil {
			values[i] = &Value{Type: t, Ranked: v.Ranked, Shape: v.Shape}
			if t.IsInteger() {
				values[i].before = &Value{Type: onnx.Float, Ranked: v.Ranked, Shape: v.Shape}
			}
		}
	}
	return values
}

// expandDims puts an axis of one place into a shape.
func expandDims(c *call) ([]*Value, error) {
	a := c.need(0)
	at, ok := c.need(1).Scalar()
	axis := int(at)
	if axis < 0 {
		axis += len(a.Shape) + 1
	}
	if !a.Ranked || !ok || axis < 0 || axis > len(a.Shape) {
		return one(&Value{Type: a.Type}), nil
	}
	return one(a.view(slices.Insert(slices.Clone(a.Shape), axis, 1))), nil
}
