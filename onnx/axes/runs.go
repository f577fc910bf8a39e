package axes

import (
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
)

// Run is a run of places of an axis, in its order: tokens, or the places of a grid.
type Run struct {
	Size int
	// Grid are the sizes of the axes whose product the run is, outermost first: a picture's
	// rows and columns, with frames ahead of them in a video; nil for a run of one axis.
	Grid []int
	// Mixed says that the places do not lie in the order of an axis of an input.
	Mixed bool
}

// Runs takes an axis apart into what Concats put behind one another (a class token, then
// patches), and each part into the axes that it is a product of.
func Runs(axis Axis) []Run {
	whole := leaves(axis)
	if len(whole) == 1 && whole[0].joined != nil {
		var out []Run
		for _, s := range whole[0].joined {
			out = append(out, run(s.axis, s.size))
		}
		return out
	}
	return []Run{run(axis, axis.size())}
}

func run(axis Axis, size int) Run {
	sizes, ok := grid(axis)
	return Run{size, sizes, !ok}
}

// grid are the sizes of the axes that an axis is a product of, nil where it is one; not ok
// where parts of different axes lie between each other (windows of a picture).
func grid(axis Axis) (out []int, ok bool) {
	parts := leaves(axis)
	if slices.ContainsFunc(parts, outOfOrder) {
		return nil, false
	}
	sides := 0
	for len(parts) > 0 {
		if !single(parts[0]) {
			sides++
		}
		if n, size := wholeOf(parts); n > 0 {
			parts, out = parts[n:], append(out, size)
			continue
		}
		whole, n := outermost(parts[0].Atom), 1
		size := parts[0].size
		for n < len(parts) && size < whole.size && outermost(parts[n].Atom) == whole {
			size *= parts[n].size
			n++
		}
		parts = parts[n:]
		if size != whole.size && slices.ContainsFunc(parts, func(f Factor) bool { return outermost(f.Atom) == whole }) {
			return nil, false
		}
		out = append(out, size)
	}
	if sides < 2 {
		return nil, true
	}
	return out, true
}

// single reports whether an axis is what a Concat made of single things, several tokens a step: no side of a grid.
func single(f Factor) bool {
	joined := f.Atom.root().joined
	return len(joined) > 1 && !slices.ContainsFunc(joined, func(s segment) bool { return s.size > 1 || len(leaves(s.axis)) > 0 })
}

// wholeOf is how many of the first parts are all of one axis, in its order, and its size: an axis may have been cut by
// what takes windows of it, and its parts put into others.
func wholeOf(parts Axis) (n, size int) {
	queue := []*Atom{parts[0].root()}
	for i := 0; i < len(queue) && i < maxCuts; i++ {
		at := queue[i]
		if isOwn(at) {
			if of := leaves(Axis{{Atom: at}}); len(of) > max(n, 1) && len(of) <= len(parts) && sameAxis(of, parts[:len(of)]) {
				n, size = len(of), at.size
			}
			continue
		}
		for _, d := range at.made {
			if len(d.from) == 1 {
				queue = append(queue, d.from[0].root())
			}
		}
		if at.whole != nil {
			queue = append(queue, at.whole.root())
		}
	}
	return n, size
}

// isOwn reports whether an atom is an axis of an input, or made of one, and not just a part of another, or a run of a constant's rows.
func isOwn(a *Atom) bool {
	given := func(string, int) bool { return true }
	return len(a.inputs) > 0 || slices.ContainsFunc(a.made, func(d derivation) bool { return d.start != piece && comesFrom(d.from, given) })
}

// outermost is the axis of an input, or what was made of one, that an atom was cut out of;
// the atom itself where it is such.
func outermost(a *Atom) *Atom {
	at := a.root()
	for range maxCuts {
		if at.whole == nil || isOwn(at) {
			return at
		}
		at = at.whole.root()
	}
	return a.root()
}

// outOfOrder reports whether all that is known of an atom is that its places were moved in a
// way that was not followed.
func outOfOrder(f Factor) bool {
	moved := false
	for _, d := range f.made {
		if d.start == piece {
			continue
		}
		if d.how != shuffled {
			return false
		}
		moved = true
	}
	if !moved {
		return false
	}
	for a, n := f.root(), 0; a != nil && n < maxCuts; n++ { // a table that is laid over it may have been moved
		if len(a.inputs) > 0 {
			return false
		}
		if a = a.whole; a != nil {
			a = a.root()
		}
	}
	return true
}

// ComesFrom reports whether an axis is one of an input, or was made or cut out of one, for
// which is gives true.
func (l *Labels) ComesFrom(axis Axis, is func(input string, axis int) bool) bool {
	return comesFrom(axis, is)
}

func comesFrom(axis Axis, is func(input string, axis int) bool) bool {
	seen := map[*Atom]bool{}
	queue := slices.Clone(leaves(axis))
	for i := 0; i < len(queue) && i < maxAncestry; i++ {
		a := queue[i].root()
		if seen[a] {
			continue
		}
		seen[a] = true
		if slices.ContainsFunc(a.inputs, func(in onnx.InputAxis) bool { return is(in.Input, in.Axis) }) {
			return true
		}
		if a.whole != nil {
			queue = append(queue, Factor{Atom: a.whole})
		}
		for _, d := range a.made {
			queue = append(queue, leaves(d.from)...)
		}
	}
	return false
}

// OnlyFrom reports whether an axis is one of an input, or made of one, and of none besides.
func (l *Labels) OnlyFrom(axis Axis, is func(input string, axis int) bool) bool {
	return l.ComesFrom(axis, is) && !l.ComesFrom(axis, func(input string, axis int) bool { return !is(input, axis) })
}
