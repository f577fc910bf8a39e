package eval

import (
	"slices"
	"strings"

	"github.com/modelpatch/modelpatch/onnx"
)

// entry is element i of a list attribute, or what it is where the list is absent.
func entry(list []int64, i, otherwise int) int {
	if i < len(list) {
		return int(list[i])
	}
	return otherwise
}

// deconvolution is ConvTranspose, of which only the shape is known: along each axis
// stride·(n − 1) + output_padding + dilation·(kernel − 1) + 1, less the padding.
func deconvolution(c *call) ([]*Value, error) {
	a, w := c.need(0), c.need(1)
	rank := len(a.Shape) - 2
	if !a.Ranked || rank < 1 || !w.Ranked || len(w.Shape) != rank+2 {
		return one(&Value{Type: a.Type}), nil
	}
	if w.Shape[0] != a.Shape[1] {
		return nil, c.fail("%d channels, the weights take %d", a.Shape[1], w.Shape[0])
	}
	kernel, strides, dilations := c.node.Ints("kernel_shape"), c.node.Ints("strides"), c.node.Ints("dilations")
	pads, more, given := c.node.Ints("pads"), c.node.Ints("output_padding"), c.node.Ints("output_shape")
	for _, v := range slices.Concat(kernel, strides, dilations, pads, more, given) {
		if v < -maxContent || v > maxContent {
			return nil, c.fail("a window of %d", v)
		}
	}
	auto := string(c.text("auto_pad"))
	shape := []int{a.Shape[0], w.Shape[1] * max(int(c.node.Int("group", 1)), 1)}
	for i := range rank {
		stride := entry(strides, i, 1)
		size := stride*(a.Shape[i+2]-1) + entry(more, i, 0) + entry(dilations, i, 1)*(entry(kernel, i, w.Shape[i+2])-1) + 1
		switch {
		case len(given) >= rank:
			size = int(given[len(given)-rank+i]) // batch and channels may stand before
		case strings.HasPrefix(auto, "SAME"):
			size = stride * a.Shape[i+2]
		default:
			size -= entry(pads, i, 0) + entry(pads, i+rank, 0)
		}
		if size < 0 {
			return nil, c.fail("%v gives an axis of %d", a.Shape, size)
		}
		shape = append(shape, size)
	}
	return one(Shaped(a.Type, shape...)), nil
}

// col2Im puts blocks of an image beside each other, of which only the shape is known.
func col2Im(c *call) ([]*Value, error) {
	a := c.need(0)
	image, ok1 := dims(c.need(1))
	block, ok2 := dims(c.need(2))
	if !a.Ranked || !ok1 || !ok2 {
		return one(&Value{Type: a.Type}), nil
	}
	size := onnx.Size(block)
	if len(a.Shape) != 3 || size < 1 || a.Shape[1]%size != 0 {
		return nil, c.fail("%v in blocks of %v", a.Shape, block)
	}
	return one(Shaped(a.Type, append([]int{a.Shape[0], a.Shape[1] / size}, image...)...)), nil
}
