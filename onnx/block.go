package onnx

// blockLength is how many things are made at a time.
const blockLength = 64

// block makes things of one kind many at a time: a graph has thousands of
// nodes, attributes and names, and making each alone costs more than reading
// it. What it gives stays in memory as long as anything of the same block.
type block[T any] struct{ free []T }

// one is a new zero T.
func (b *block[T]) one() *T { return &b.many(1)[0] }

// many are n new zero T, which can be appended to without touching others; nil
// for none.
func (b *block[T]) many(n int) []T {
	switch {
	case n == 0:
		return nil
	case n > blockLength:
		return make([]T, n)
	case n > len(b.free):
		b.free = make([]T, blockLength)
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
