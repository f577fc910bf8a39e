package onnx

import "unsafe"

// blockBytes is how much memory is taken at a time, less the header that the
// allocator puts before it.
const blockBytes = 8<<10 - 8

// block makes things of one kind many at a time: a graph has thousands of
// nodes, attributes and names, and making each alone costs more than reading
// it. Blocks of all kinds have about one size, since every size that a process
// uses costs it some pages. What a block gives stays in memory as long as
// anything of the same block.
type block[T any] struct{ free []T }

// one is a new zero T.
func (b *block[T]) one() *T { return &b.many(1)[0] }

// many are n new zero T, which can be appended to without touching others; nil
// for none.
func (b *block[T]) many(n int) []T {
	if n == 0 {
		return nil
	}
	if n > len(b.free) {
		var t T
		length := blockBytes / int(unsafe.Sizeof(t))
		if n > length/4 { // or much of a block would be left unused
			return make([]T, n)
		}
		b.free = make([]T, length)
	}
	out := b.free[:n:n]
	b.free = b.free[n:]
	return out
}

// copy is a copy of a list; nil for an empty one.
func (b *block[T]) copy(list []T) []T {
	out := b.many(len(list))
	copy(out, list)
	return out
}
