// Package block makes many small things at a time.
package block

import "unsafe"

// blockBytes is how much memory is taken at a time, less the header that the
// allocator puts before it.
const blockBytes = 8<<10 - 8

// Of makes things of one kind many at a time: a graph has thousands of
// nodes, attributes and names, and making each alone costs more than reading
// it. Blocks of all kinds have about one size, since every size that a process
// uses costs it some pages. What a block gives stays in memory as long as
// anything of the same block.
type Of[T any] struct{ free []T }

// One is a new zero T.
func (b *Of[T]) One() *T { return &b.Many(1)[0] }

// Many are n new zero T, which can be appended to without touching others; nil
// for none.
func (b *Of[T]) Many(n int) []T {
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

// Copy is a copy of a list; nil for an empty one.
func (b *Of[T]) Copy(list []T) []T {
	out := b.Many(len(list))
	copy(out, list)
	return out
}
