package gguf

import (
	"math/bits"
	"slices"
)

// Tensor is where a tensor lies. Its elements are read by File.ReadRows.
type Tensor struct {
	Name     string
	Type     TensorType
	Shape    []int64 // Shape[0] is the contiguous dimension; none: a scalar
	Offset   int64   // in its part's data section
	Size     int64   // bytes of data, padding not counted
	Part     int     // index into File.Parts
	infoAt   int64   // offset of its info
	dimsAt   int64   // offset of its dimensions
	typeAt   int64   // offset of its type
	offsetAt int64   // offset of its offset
	sized    bool    // Size follows from type and shape, not from the next tensor
}

// Width is the number of elements in a row, the contiguous dimension.
func (t *Tensor) Width() int64 {
	if len(t.Shape) == 0 {
		return 1
	}
	return t.Shape[0]
}

// Rows is the number of rows: the product of the other dimensions.
func (t *Tensor) Rows() int64 {
	n := int64(1)
	for i := 1; i < len(t.Shape); i++ {
		n *= t.Shape[i]
	}
	return n
}

// RowBytes is the size of a row, 0 for a type that is not known.
func (t *Tensor) RowBytes() int64 {
	l, ok := t.Type.layout()
	if !ok {
		return 0
	}
	return int64(uint64(t.Width()) / l.block * l.bytes)
}

// Known reports whether the storage type is one that this package knows.
func (t *Tensor) Known() bool {
	_, known := t.Type.layout()
	return known
}

// tensors reads n tensor infos.
func (c *cursor) tensors(n uint64, part int) []Tensor {
	var out []Tensor
	seen := map[string]int64{}
	for ; n > 0 && c.err == nil; n-- {
		c.what, c.name = "tensors", ""
		t := Tensor{Part: part, infoAt: c.at()}
		t.Name = c.short("a tensor's name")
		c.name = t.Name
		if first, twice := seen[t.Name]; twice && c.err == nil {
			c.fail(t.infoAt, "duplicate tensor name %s, first at byte %d", clip(t.Name), first)
		}
		seen[t.Name] = t.infoAt
		c.shape(&t)
		t.typeAt = c.at()
		t.Type = TensorType(c.u32("a tensor's type"))
		c.sizeOf(&t)
		c.offset(&t)
		out = append(out, t)
	}
	c.name = ""
	return out
}

// shape reads a tensor's dimensions; their product must fit an int64.
func (c *cursor) shape(t *Tensor) {
	at := c.at()
	dims := c.u32("a tensor's number of dimensions")
	if c.err == nil && dims > MaxDims {
		c.fail(at, "tensor %s has %d dimensions, more than %d", clip(t.Name), dims, MaxDims)
	}
	t.dimsAt = c.at()
	product, empty := uint64(1), false
	for i := uint32(0); i < dims && c.err == nil; i++ {
		at = c.at()
		n := c.u64("a dimension")
		if n>>63 != 0 {
			c.fail(at, "tensor %s: dimension %d is %d, larger than any file", clip(t.Name), i, n)
			return
		}
		empty = empty || n == 0
		over, low := bits.Mul64(product, max(n, 1))
		if over != 0 || low>>63 != 0 {
			c.fail(at, "tensor %s: the product of its dimensions overflows", clip(t.Name))
			return
		}
		product = low
		t.Shape = append(t.Shape, int64(n))
	}
}

// sizeOf works out a tensor's bytes from its type and shape.
func (c *cursor) sizeOf(t *Tensor) {
	l, known := t.Type.layout()
	switch {
	case c.err != nil:
		return
	case t.Type.Removed():
		c.fail(t.typeAt, "tensor %s has storage type %d, which was removed from the format", clip(t.Name), uint32(t.Type))
		c.hint("convert the model again with a current converter")
		return
	case int32(t.Type) < 0:
		c.fail(t.typeAt, "tensor %s has storage type %d", clip(t.Name), int32(t.Type))
		return
	case !known:
		t.sized = t.Rows()*t.Width() == 0 // else its size is up to the next tensor: see places
		return
	case uint64(t.Width())%l.block != 0:
		c.fail(t.dimsAt, "tensor %s: a row of %d elements is no multiple of the %d in a block of %s", clip(t.Name), t.Width(), l.block, l.name)
		return
	}
	over, size := bits.Mul64(uint64(t.Width())/l.block*uint64(t.Rows()), l.bytes)
	if over != 0 || size>>62 != 0 {
		c.fail(t.dimsAt, "tensor %s: its size in bytes overflows", clip(t.Name))
		return
	}
	t.Size, t.sized = int64(size), true
}

// offset reads where a tensor's data starts; places checks it later.
func (c *cursor) offset(t *Tensor) {
	t.offsetAt = c.at()
	n := c.u64("a tensor's offset")
	if c.err == nil && n > uint64(c.size) {
		c.fail(t.offsetAt, "tensor %s: offset %d lies beyond the file's %d bytes", clip(t.Name), n, c.size)
		c.hint("the file is incomplete: download or copy it again")
	}
	t.Offset = int64(n)
}

// IsMatrix reports whether a tensor has two axes; further ones of 1 say nothing
// (facts/GGUF-FACTS §a).
func (t *Tensor) IsMatrix() bool {
	return len(t.Shape) >= 2 && !slices.ContainsFunc(t.Shape[2:], func(n int64) bool { return n != 1 })
}
