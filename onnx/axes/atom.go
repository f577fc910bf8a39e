package axes

import (
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
)

// Atom is a smallest part of an axis that is told apart: an input's axis, rows of
// a constant, or what an operator made of another atom. Atoms that operators lay
// over each other become one class (union and find); an atom that a Reshape cuts
// is cut in place, for all values that hold it.
type Atom struct {
	*links // never nil: most atoms share one that is empty
	size   int
	up     *Atom // towards the one that speaks for the class; nil: this one does
	whole  *Atom // what it was cut out of
	mixed  Axis  // what weights summed over to make it, the first of the class

	// Of the class, kept where up is nil:
	weighed bool // weights sum over it, or it is normalised: features
	channel bool // convolutions sum over it: features
	merged  bool // of an axis that was cut, a piece that weights sum over beside channels: the inside of patches
	summed  bool // data are summed or compared along it: its places see each other
	attends bool // each of its places is compared with each other one, by content: weights that sum over them later make no features of them
	role    Role
	judged  judgement
}

// links are how an atom hangs together with others, for those that do.
type links struct {
	parts  []*Atom          // what it was cut into, outermost first
	inputs []onnx.InputAxis // the inputs' axes in the class
	made   []derivation     // how operators made it of others
	joined []segment        // what a Concat made it of
}

var noLinks links

// own are an atom's links, to be written.
func (a *Atom) own() *links {
	if a.links == &noLinks {
		a.links = new(links)
	}
	return a.links
}

// derivation is how an atom came from another: by taking some of its places, or
// by an operator that moves, mixes or counts them.
type derivation struct {
	how   move
	from  Axis
	start int
}

// piece is the start of a derivation that says no more than of what an atom is a part: of
// a second whole, where the class has another.
const piece = -1

// segment is a part of an axis that a Concat made: the axis of one input.
type segment struct {
	axis Axis
	size int
}

// move is what an operator did to the places of an axis.
type move uint8

const (
	sliced   move = iota // a run of them was taken
	joined               // others were put before or behind
	tiled                // each is what a window that does not overlap saw
	windowed             // each is what a window saw that reaches into its neighbours
	picked               // some were chosen, in an order of their own
	shuffled             // moved in a way that is not followed
	ranked               // put in the order of content: a place is a rank, and says nothing of where it was
)

// Factor is an atom in an axis. Made says that its places hold what weights of
// their own made of others (a hidden layer of MLP-Mixer): a bias that is added
// there belongs to those weights.
type Factor struct {
	*Atom
	Made bool
}

// Axis is a product of atoms, outermost first; an axis of size 1 has none.
type Axis []Factor

// maxAtoms bounds the atoms of a pass, maxLinks what is kept of each class.
const (
	maxAtoms = 1 << 21
	maxLinks = 8
)

// fresh is an axis of an atom of its own.
func (l *Labels) fresh(size int) Axis {
	if size == 1 {
		return nil
	}
	return l.factor(Factor{Atom: l.atom(size)})
}

// factor is an axis of one atom.
func (l *Labels) factor(f Factor) Axis {
	axis := l.room.factors.Many(1)
	axis[0] = f
	return axis
}

func (l *Labels) atom(size int) *Atom {
	if l.atoms++; l.atoms > maxAtoms {
		l.e.Budget.Spend(1 << 20) // ends where a budget is set
	}
	a := l.room.atoms.One()
	a.links, a.size = &noLinks, size
	return a
}

// root is the atom that speaks for the class.
func (a *Atom) root() *Atom {
	for a.up != nil {
		if a.up.up != nil {
			a.up = a.up.up
		}
		a = a.up
	}
	return a
}

// leaves is an axis in atoms that speak for their classes and are not cut.
func leaves(axis Axis) Axis {
	settled := true
	for i, f := range axis {
		if f.up != nil { // the one that speaks for it is as good, for all that hold the axis
			axis[i].Atom = f.root()
		}
		settled = settled && axis[i].parts == nil
	}
	if settled {
		return axis
	}
	out := make(Axis, 0, len(axis)+1)
	return appendLeaves(out, axis, 0)
}

// maxCuts bounds how often parts of parts are cut.
const maxCuts = 64

func appendLeaves(out, axis Axis, depth int) Axis {
	for _, f := range axis {
		r := f.root()
		if r.parts == nil || depth > maxCuts {
			out = append(out, Factor{r, f.Made})
			continue
		}
		for _, p := range r.parts {
			out = appendLeaves(out, Axis{{p, f.Made}}, depth+1)
		}
	}
	return out
}

func (a Axis) size() int {
	n := 1
	for _, f := range a {
		n *= f.size
	}
	return n
}

// cut divides an atom into an outer part of the given size and the rest, in place.
func (l *Labels) cut(a *Atom, outer int) {
	a = a.root()
	o, i := l.atom(outer), l.atom(a.size/outer)
	o.whole, i.whole = a, a
	a.own().parts = []*Atom{o, i}
	l.cuts = append(l.cuts, a)
}

// unite lays two axes over each other: their atoms become the same. It is false
// where their parts cannot be brought together, or where that would make two axes
// of one input the same that have not one name.
func (l *Labels) unite(c *call, x, y Axis) bool {
	if x.size() != y.size() {
		return false
	}
	x, y = leaves(x), leaves(y)
	for len(x) > 0 && len(y) > 0 {
		a, b := x[0].Atom, y[0].Atom
		switch {
		case a == b:
		case a.size == b.size:
			if !l.join(c, a, b) {
				return false
			}
		case a.size > b.size && a.size%b.size == 0:
			l.cut(a, b.size)
			x, y = leaves(x), leaves(y)
			continue
		case b.size > a.size && b.size%a.size == 0:
			l.cut(b, a.size)
			x, y = leaves(x), leaves(y)
			continue
		default:
			return false
		}
		x, y = leaves(x[1:]), leaves(y[1:])
	}
	return true
}

// named reports whether the file gives two axes of an input one name: they are the same places twice (edges between the nodes of a graph).
func (l *Labels) named(i, j onnx.InputAxis) bool {
	for _, in := range l.e.File.Graph.Inputs {
		if in.Name == i.Input && max(i.Axis, j.Axis) < len(in.Dims) {
			name := in.Dims[i.Axis].Param
			return name != "" && name == in.Dims[j.Axis].Param
		}
	}
	return false
}

// join makes two classes of one size the same.
func (l *Labels) join(c *call, a, b *Atom) bool {
	l.e.Budget.Spend(1)
	for _, i := range a.inputs {
		for _, j := range b.inputs {
			if i.Input == j.Input && i.Axis != j.Axis && !l.named(i, j) {
				return false
			}
		}
	}
	if moves(a, b) || moves(b, a) || shifted(a, b) {
		l.event(c, event{kind: ordering, other: Axis{{Atom: a}}, why: "lays positions over others than themselves"})
	}
	b.up = a
	a.weighed, a.channel, a.merged = a.weighed || b.weighed, a.channel || b.channel, a.merged || b.merged
	a.summed, a.attends = a.summed || b.summed, a.attends || b.attends
	if a.mixed == nil {
		a.mixed = b.mixed
	}
	if b.links != &noLinks {
		own := a.own()
		own.inputs = few(append(own.inputs, b.inputs...))
		own.made = few(append(own.made, b.made...))
		if own.joined == nil {
			own.joined = b.joined
		}
	}
	if a.whole == nil {
		a.whole = b.whole
	} else if b.whole != nil && a.whole.root() != b.whole.root() {
		a.own().made = few(append(a.made, derivation{how: tiled, from: Axis{{Atom: b.whole}}, start: piece}))
	}
	return true
}

func few[T any](list []T) []T { return slices.Clip(list[:min(len(list), maxLinks)]) }

// moves reports whether one atom was made of the other by moving its places.
func moves(a, of *Atom) bool {
	for _, d := range a.made {
		if d.how == joined || d.how == tiled {
			continue
		}
		for _, f := range leaves(d.from) {
			if f.Atom == of {
				return true
			}
		}
	}
	return false
}

// shifted reports whether two atoms are different runs of the same.
func shifted(a, b *Atom) bool {
	for _, d := range a.made {
		for _, e := range b.made {
			if d.how == sliced && e.how == sliced && d.start != e.start && sameAxis(d.from, e.from) {
				return true
			}
		}
	}
	return false
}

func sameAxis(a, b Axis) bool {
	a, b = leaves(a), leaves(b)
	return slices.EqualFunc(a, b, func(x, y Factor) bool { return x.Atom == y.Atom })
}

// derivationKey is what a derived atom is known by: the same operator on the same
// atom makes the same.
type derivationKey struct {
	how               move
	from              *Atom
	start, size, more int
}

// derive is an axis that an operator made of another. more tells apart operators
// that do different things with the same sizes.
func (l *Labels) derive(how move, from Axis, start, size, more int) Axis {
	if size == 1 {
		return nil
	}
	from = leaves(from)
	if len(from) == 0 {
		return l.fresh(size)
	}
	key := derivationKey{how, from[0].Atom, start, size, more}
	if len(from) == 1 && how != picked && how != shuffled && how != ranked {
		if a := l.derived[key]; a != nil {
			return l.factor(Factor{a, from[0].Made})
		}
	}
	a := l.atom(size)
	a.own().made = []derivation{{how, from, start}}
	if len(from) == 1 {
		l.derived[key] = a
	}
	return l.factor(Factor{Atom: a, Made: from[0].Made && len(from) == 1})
}

// regroup cuts the atoms of axes anew for another shape, false where an atom
// would be cut in two that do not divide it.
func (l *Labels) regroup(axes []Axis, shape []int) (out []Axis, ok bool) {
	var rest Axis
	for _, a := range axes {
		rest = append(rest, a...)
	}
	if slices.Contains(shape, 0) {
		return nil, false
	}
	out = l.axes(len(shape))
	for d, size := range shape {
		for size > 1 {
			rest = leaves(rest)
			if len(rest) == 0 {
				return nil, false
			}
			f := rest[0]
			switch {
			case f.size <= 1:
				rest = rest[1:]
			case size%f.size == 0:
				rest = rest[1:]
				size /= f.size
				out[d] = append(out[d], f)
			case f.size%size == 0:
				l.cut(f.Atom, size)
			default:
				return nil, false
			}
		}
	}
	return out, len(rest) == 0
}
