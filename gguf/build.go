package gguf

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/modelpatch/modelpatch/patch"
)

// builder makes the edits of one part.
type builder struct {
	editor *Editor
	part   *Part
	number int
	out    []patch.Edit
	grown  int64 // bytes that the header gains
}

// base is the name that a part's copy bears beside the first one.
func (p *Part) base(i int) string {
	if i == 0 {
		return ""
	}
	return filepath.Base(p.Path)
}

// edits works from the front of the part to its end.
func (b *builder) edits() ([]patch.Edit, error) {
	if b.number == 0 {
		b.counts()
		b.keys()
	}
	offsets, err := b.layout()
	if err != nil {
		return nil, err
	}
	b.infos(offsets)
	b.padding(offsets)
	b.data()
	slices.SortStableFunc(b.out, func(x, y patch.Edit) int {
		return cmp.Or(cmp.Compare(x.At, y.At), cmp.Compare(x.Old, y.Old))
	})
	return b.settle(), nil
}

// add records an edit of this part.
func (b *builder) add(at, old int64, data patch.Source, why string) {
	b.out = append(b.out, patch.Edit{File: b.number, At: at, Old: old, New: data, Why: why})
}

// header records an edit before the data section.
func (b *builder) header(at, old int64, data []byte, why string) {
	b.grown += int64(len(data)) - old
	b.add(at, old, patch.Bytes(data), why)
}

// counts edits the numbers of tensors and keys.
func (b *builder) counts() {
	pairs, tensors := len(b.part.Pairs), len(b.part.Tensors)+len(b.editor.added)
	for key, k := range b.editor.keys {
		switch {
		case k.remove:
			pairs--
		case b.part.Find(key) == nil:
			pairs++
		}
	}
	for t, c := range b.editor.tensors {
		if t.Part == 0 && c.remove {
			tensors--
		}
	}
	if tensors != len(b.part.Tensors) {
		b.header(8, 8, u64(b.part.Order, uint64(tensors)), "number of tensors")
	}
	if pairs != len(b.part.Pairs) {
		b.header(16, 8, u64(b.part.Order, uint64(pairs)), "number of keys")
	}
}

// keys edits values where they are and adds new pairs after the last.
func (b *builder) keys() {
	o := b.part.Order
	end := int64(headerBytes)
	if n := len(b.part.Pairs); n > 0 {
		end = b.part.Pairs[n-1].End
	}
	var fresh []byte
	for _, key := range b.editor.sortedKeys() {
		k, p := b.editor.keys[key], b.part.Find(key)
		var value []byte
		if !k.remove {
			value = k.value.bytes(o)
		}
		switch {
		case k.remove:
			b.header(p.At, p.End-p.At, nil, k.why)
		case p == nil:
			fresh = append(fresh, stored(o, key)...)
			fresh = append(fresh, u32(o, uint32(k.value.Type))...)
			fresh = append(fresh, value...)
		case p.Type == k.value.Type && p.Type != TypeArray:
			b.header(p.ValueAt, p.End-p.ValueAt, value, k.why)
		default:
			b.header(p.TypeAt, p.End-p.TypeAt, append(u32(o, uint32(k.value.Type)), value...), k.why)
		}
	}
	if len(fresh) > 0 {
		b.header(end, 0, fresh, "new keys")
	}
}

// layout gives each tensor its new offset; the last entry is the end of data.
// Tensors that stay where they are need no particular order; to move some, the
// file must be laid out as engines want it.
func (b *builder) layout() ([]int64, error) {
	p := b.part
	offsets, at, moved := make([]int64, 0, len(p.Tensors)+1), int64(0), false
	for i := range p.Tensors {
		t := &p.Tensors[i]
		offsets = append(offsets, at)
		size := t.Size
		if c, ok := b.editor.tensors[t]; ok {
			size = c.size()
			moved = moved || size != t.Size
			if c.remove {
				moved = true
				continue
			}
		}
		at = pad(at+size, p.Alignment)
	}
	offsets = append(offsets, at)
	if !moved && !(b.number == 0 && len(b.editor.added) > 0) {
		for i := range p.Tensors {
			offsets[i] = p.Tensors[i].Offset
		}
		return offsets, nil
	}
	for _, o := range p.Oddities {
		if o.Rule == "gguf-data-gap" || o.Rule == "gguf-data-order" {
			return nil, &FormatError{Path: p.Path, What: "tensors cannot be moved", Why: o.Says, At: o.At, Tensor: o.Tensor}
		}
	}
	return offsets, nil
}

// size is the number of bytes of a changed tensor.
func (c tensorEdit) size() int64 {
	if c.remove {
		return 0
	}
	return c.keep + c.data.Size()
}

// infos edits shapes and offsets in the tensor infos. Offsets that change in
// many infos are rewritten in one piece.
func (b *builder) infos(offsets []int64) {
	p, o := b.part, b.part.Order
	first, last := -1, -1
	for i := range p.Tensors {
		t := &p.Tensors[i]
		c, changed := b.editor.tensors[t]
		switch {
		case changed && c.remove:
			b.header(t.infoAt, b.infoEnd(i)-t.infoAt, nil, c.why)
			continue
		case changed:
			b.shape(t, c)
		}
		if offsets[i] != t.Offset {
			b.header(t.offsetAt, 8, u64(o, uint64(offsets[i])), "offset of "+clip(t.Name))
			if first < 0 {
				first = i
			}
			last = i
		}
	}
	if last-first >= manyOffsets {
		b.joinOffsets(p.Tensors[first].offsetAt, p.Tensors[last].offsetAt+8)
	}
}

// manyOffsets is from how many infos on offsets are rewritten as one edit.
const manyOffsets = 8

// infoEnd is the end of a tensor's info.
func (b *builder) infoEnd(i int) int64 { return b.part.Tensors[i].offsetAt + 8 }

// shape edits a tensor's dimensions where they differ.
func (b *builder) shape(t *Tensor, c tensorEdit) {
	for d := range t.Shape {
		if t.Shape[d] != c.shape[d] {
			b.header(t.dimsAt+8*int64(d), 8, u64(b.part.Order, uint64(c.shape[d])), c.why)
		}
	}
}

// joinOffsets makes one edit of all those in [from, to), the bytes between
// them copied.
func (b *builder) joinOffsets(from, to int64) {
	inside := func(e patch.Edit) bool { return e.At >= from && e.At+e.Old <= to }
	kept := slices.DeleteFunc(slices.Clone(b.out), inside)
	joined := slices.DeleteFunc(b.out, func(e patch.Edit) bool { return !inside(e) })
	b.out = append(kept, b.join(from, to, joined, fmt.Sprintf("offsets of %d tensors", len(joined))))
}

// join makes one edit of [from, to) out of edits inside it.
func (b *builder) join(from, to int64, edits []patch.Edit, why string) patch.Edit {
	slices.SortStableFunc(edits, func(x, y patch.Edit) int {
		return cmp.Or(cmp.Compare(x.At, y.At), cmp.Compare(x.Old, y.Old))
	})
	var pieces []patch.Source
	at := from
	for _, e := range edits {
		if e.At > at {
			pieces = append(pieces, patch.Region(b.part.r, at, e.At-at))
		}
		if e.New != nil {
			pieces = append(pieces, e.New)
		}
		at = e.At + e.Old
	}
	if to > at {
		pieces = append(pieces, patch.Region(b.part.r, at, to-at))
	}
	return patch.Edit{File: b.number, At: from, Old: to - from, New: patch.Concat(pieces...), Why: why}
}

// padding writes the infos of added tensors and pads the header to the
// alignment. Data starts exactly at the padded end, with no larger gap.
func (b *builder) padding(offsets []int64) {
	p := b.part
	infos := b.newInfos(offsets[len(offsets)-1])
	b.grown += int64(len(infos))
	if b.grown == 0 && len(infos) == 0 {
		return
	}
	end := p.HeaderEnd + b.grown
	gap := pad(end, p.Alignment) - end
	if len(p.Tensors) == 0 && len(infos) == 0 {
		return // no data section: nothing to align
	}
	old := min(p.DataStart, p.Size) - p.HeaderEnd
	if len(infos) == 0 && gap == old {
		return
	}
	b.add(p.HeaderEnd, old, patch.Concat(patch.Bytes(infos), patch.Zeros(gap)), why(len(infos) > 0))
}

// newInfos are the infos of added tensors, whose data begin at offset at.
func (b *builder) newInfos(at int64) []byte {
	var infos []byte
	if b.number != 0 {
		return nil
	}
	o := b.part.Order
	for _, n := range b.editor.added {
		infos = append(infos, stored(o, n.name)...)
		infos = append(infos, u32(o, uint32(len(n.shape)))...)
		for _, d := range n.shape {
			infos = append(infos, u64(o, uint64(d))...)
		}
		infos = append(infos, u32(o, uint32(n.kind))...)
		infos = append(infos, u64(o, uint64(at))...)
		at = pad(at+n.data.Size(), b.part.Alignment)
	}
	return infos
}

func why(added bool) string {
	if added {
		return "new tensors, padding before the data"
	}
	return "padding before the data"
}

// data edits the bytes of tensors, with the padding after them.
func (b *builder) data() {
	p := b.part
	for i := range p.Tensors {
		t := &p.Tensors[i]
		c, ok := b.editor.tensors[t]
		if !ok {
			continue
		}
		start := p.DataStart + t.Offset
		end := min(p.DataStart+pad(t.Offset+t.Size, p.Alignment), p.Size)
		switch size := c.size(); {
		case c.remove:
			b.add(start, end-start, nil, c.why)
		case size == t.Size:
			b.add(start+c.keep, t.Size-c.keep, c.data, c.why)
		default:
			tail := pad(t.Offset+size, p.Alignment) - t.Offset - size
			b.add(start+c.keep, end-start-c.keep, patch.Concat(c.data, patch.Zeros(tail)), c.why)
		}
	}
	b.append()
}

// append adds the data of new tensors after that of the last, completing the
// padding that a writer may have left out.
func (b *builder) append() {
	if b.number != 0 || len(b.editor.added) == 0 {
		return
	}
	p := b.part
	var pieces []patch.Source
	end, missing := b.dataEnd()
	if missing > 0 {
		pieces = append(pieces, patch.Zeros(missing))
	}
	for _, n := range b.editor.added {
		size := n.data.Size()
		pieces = append(pieces, n.data, patch.Zeros(pad(size, p.Alignment)-size))
	}
	b.add(end, 0, patch.Concat(pieces...), b.editor.added[0].why)
}

// dataEnd is where data may be appended, and how much padding is missing
// before it. A tensor that is resized brings its own padding.
func (b *builder) dataEnd() (end, missing int64) {
	p := b.part
	end = min(p.DataStart, p.Size)
	resized := false
	for i := range p.Tensors {
		t := &p.Tensors[i]
		if last := p.DataStart + pad(t.Offset+t.Size, p.Alignment); last > end {
			c, ok := b.editor.tensors[t]
			end, resized = last, ok && c.size() != t.Size
		}
	}
	switch {
	case end <= p.Size:
		return end, 0
	case resized:
		return p.Size, 0
	}
	return p.Size, end - p.Size
}

// settle joins the header's edits into one of equal size where the data stays
// in place although bytes inside the header move: then the whole change can be
// made in place.
func (b *builder) settle() []patch.Edit {
	p := b.part
	from := int64(-1)
	var inside []patch.Edit
	total := int64(0)
	for _, e := range b.out {
		if e.At >= p.DataStart || e.At+e.Old > p.DataStart {
			continue
		}
		if change := size(e.New) - e.Old; change != 0 {
			total += change
			if from < 0 {
				from = e.At
			}
		}
	}
	if from < 0 || total != 0 {
		return b.out
	}
	rest := b.out[:0:0]
	for _, e := range b.out {
		if e.At >= from && e.At+e.Old <= p.DataStart && e.At < p.DataStart {
			inside = append(inside, e)
		} else {
			rest = append(rest, e)
		}
	}
	last := inside[len(inside)-1]
	joined := b.join(from, last.At+last.Old, inside, "keys")
	out := append(rest, joined)
	slices.SortStableFunc(out, func(x, y patch.Edit) int { return cmp.Compare(x.At, y.At) })
	return out
}

func size(s patch.Source) int64 {
	if s == nil {
		return 0
	}
	return s.Size()
}
