package gguf

import (
	"cmp"
	"fmt"
	"slices"
)

// places checks where tensors' data lie: aligned, inside the file, apart.
func (p *Part) places(c *cursor) {
	if c.err != nil || len(p.Tensors) == 0 {
		return
	}
	c.what = "tensor data"
	room := p.Size - p.DataStart
	order := p.byOffset()
	p.sizeUnknown(order, room)
	for _, i := range order {
		t := &p.Tensors[i]
		c.name = t.Name
		switch {
		case t.Offset%p.Alignment != 0:
			c.fail(t.offsetAt, "tensor %s: offset %d is not a multiple of the alignment %d", clip(t.Name), t.Offset, p.Alignment)
		case !t.sized && t.Size == 0:
			c.fail(p.DataStart+t.Offset, "truncated: tensor %s has no bytes", clip(t.Name))
			c.hint("the file is incomplete: download or copy it again")
		case t.Size > 0 && (t.Offset > room || t.Size > room-t.Offset):
			c.fail(p.DataStart+t.Offset, "truncated: tensor %s needs %d bytes, the file has %d of them", clip(t.Name), t.Size, max(0, room-t.Offset))
			c.hint("the file is incomplete: download or copy it again")
		}
		if c.err != nil {
			return
		}
	}
	p.apart(c, order)
	c.name = ""
	p.contiguous()
}

// byOffset returns the indices of the tensors in the order of their data.
func (p *Part) byOffset() []int {
	order := make([]int, len(p.Tensors))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p.Tensors[a].Offset, p.Tensors[b].Offset) })
	return order
}

// sizeUnknown gives tensors of unknown types the bytes up to the next tensor's
// data, from the last to the first so that many of them stay cheap.
func (p *Part) sizeUnknown(order []int, room int64) {
	next, here := room, room // next: the first offset after here
	for _, i := range slices.Backward(order) {
		t := &p.Tensors[i]
		if t.Offset != here {
			next, here = here, t.Offset
		}
		if !t.sized {
			t.Size = max(0, next-t.Offset)
		}
	}
}

// apart checks that no two tensors share bytes.
func (p *Part) apart(c *cursor, order []int) {
	var last *Tensor
	for _, i := range order {
		t := &p.Tensors[i]
		if t.Size == 0 {
			continue
		}
		if last != nil && t.Offset-last.Offset < last.Size {
			c.name = t.Name
			c.fail(p.DataStart+t.Offset, "tensors %s and %s overlap by %d bytes", clip(last.Name), clip(t.Name), last.Size-(t.Offset-last.Offset))
			return
		}
		last = t
	}
}

// contiguous notes data that is not laid out in the order of the infos without
// gaps: readable, but llama.cpp refuses it (facts/GGUF-FACTS §a).
func (p *Part) contiguous() {
	want := int64(0)
	ascending := slices.IsSortedFunc(p.Tensors, func(a, b Tensor) int { return cmp.Compare(a.Offset, b.Offset) })
	for i := range p.Tensors {
		t := &p.Tensors[i]
		if t.Offset != want {
			rule, says := "gguf-data-gap", fmt.Sprintf("a gap of %d bytes before tensor %s", t.Offset-want, clip(t.Name))
			if !ascending {
				rule, says = "gguf-data-order", fmt.Sprintf("data is in another order than the tensor infos, from tensor %s on", clip(t.Name))
			}
			p.odd(Oddity{Rule: rule, Tensor: t.Name, At: t.offsetAt, Refused: true, Says: says + "; llama.cpp refuses such a file"})
			return
		}
		want = pad(t.Offset+t.Size, p.Alignment)
	}
}
