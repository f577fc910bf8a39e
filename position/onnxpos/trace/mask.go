package trace

// MaskedBelow separates a mask's large negative numbers from a bias: no trained
// or linear bias of a short probe reaches it.
const MaskedBelow = -5e3

// MaxReaders bounds the readers of values that one question looks at.
const MaxReaders = 1 << 10
