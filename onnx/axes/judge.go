package axes

import (
	"iter"
	"maps"
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
)

// Role is what an axis runs over, judged when all of the graph was followed.
type Role uint8

// Roles of axes.
const (
	Other    Role = iota // rows of constants: heads, learned queries, classes
	Feature              // channels, elements of a vector
	Position             // tokens, frames, patches, pixels
)

// judgement is how far the judging of a class is.
type judgement uint8

const (
	open judgement = iota
	underWay
	ringed // judged, but for what is under way ahead of it
	done
)

// Kind is how data and numbers that vary along their positions meet.
type Kind uint8

// Kinds of meetings.
const (
	Added      Kind = iota // to the data: absolute positions
	Biased                 // added to scores: a bias by distance
	Multiplied             // element by element: a rotation, a gate
	Contracted             // in a product that sums over features: relative positions, a matrix for each position
	Joined                 // as further features
	Fused                  // inside an operator that encodes positions itself
)

// String names the kind as messages write it.
func (k Kind) String() string {
	return [...]string{"added to the data", "added to scores", "multiplied with the data", "in a product with the data", "joined to the data", "inside a fused operator"}[k]
}

// event is something that says more about positions once it is known which axes
// they are.
type event struct {
	scope *eval.Scope
	node  *onnx.Node
	why   string // ordering, doubting, cutting, crossing
	// other is what decides: of these the axis that must have positions; of a
	// contraction the axis that is summed over, which must have none.
	other  Axis
	dims   []dim  // meeting: which of the numbers' axes lie on which of the data
	scores []Axis // meeting: the axes of the data

	input   int // meeting: the numbers
	kind    eventKind
	how     Kind // meeting
	product bool // meeting: the data are a product of data
}

// dim is an axis of known numbers on an axis of data.
type dim struct {
	known int // −1: not told
	data  Axis
	// brought tells that the numbers bring the axis: a product with them puts it in the place of one that it sums over.
	brought bool
}

type eventKind uint8

const (
	meets eventKind = iota
	ordering
	doubting
	cutting
	crossing
)

// Bounds of what is kept to be judged, and how much of it in one piece.
const (
	maxEvents  = 1 << 20
	eventBlock = 1 << 10
)

// event notes something that a node does, to be judged in the end.
func (l *Labels) event(c *call, e event) {
	if c.quiet {
		return
	}
	e.scope, e.node, e.input = c.s, c.n, c.input(e.input)
	last := len(l.events) - 1
	if last < 0 || len(l.events[last]) == cap(l.events[last]) {
		if len(l.events) >= maxEvents/eventBlock {
			if !l.full {
				l.full = true
				l.Doubts = append(l.Doubts, Reason{c.s, c.n, "the graph has more places than are followed"})
			}
			return
		}
		room := eventBlock
		if last < 0 {
			room = eventBlock / 16
		}
		l.events = append(l.events, make([]event, 0, room))
		last++
	}
	l.events[last] = append(l.events[last], e)
}

// judge says which axes are positions, and with that what the events come to.
func (l *Labels) judge() {
	l.backwards()
	l.whollyWeighed()
	for _, block := range l.events {
		for i := range block {
			switch e := &block[i]; e.kind {
			case ordering:
				if len(l.Order) < maxReasons && l.positions(e.other) {
					l.Order = note(l.Order, Reason{e.scope, e.node, e.why})
				}
			case doubting:
				if l.positions(e.other) {
					l.Doubts = note(l.Doubts, Reason{e.scope, e.node, e.why})
				}
			case cutting:
				at := Reason{e.scope, e.node, "it cuts across axes"}
				if l.others(e.other) {
					l.Doubts = note(l.Doubts, at)
				} else if at.Why = e.why; len(l.Order) < maxReasons {
					l.Order = note(l.Order, at)
				}
			case crossing:
				if l.positions(e.other) && l.others(e.other) {
					l.Doubts = note(l.Doubts, Reason{e.scope, e.node, e.why})
				}
			case meets:
				l.meets(e)
			}
		}
	}
	for _, a := range l.cuts {
		l.grouped(a)
	}
}

// whollyWeighed finds inputs that have several axes and whose weights sum over all
// of them, or over others than the last: one that weights sum over is then one of
// positions (MLP-Mixer), and which is not known. Where places of another axis attend
// to each other, these are the positions, and what weights sum over are features.
func (l *Labels) whollyWeighed() {
	for _, name := range l.order {
		axes := l.inputAxes[name]
		if len(axes) < 2 || l.inputs[name].Tokens {
			continue
		}
		free, mixed, attend := l.unseen(name), false, false
		for _, a := range axes {
			if l.isWeighed(a, 0) {
				mixed = true
			} else {
				free++
				attend = attend || a.root().summed
			}
			mixed = mixed && !a.root().channel
		}
		if free == 0 || mixed && !attend && !l.isWeighed(axes[len(axes)-1], 0) && !l.channelsFirst(name) {
			in := l.inputs[name]
			in.Tokens = true
			l.inputs[name] = in
		}
	}
}

// unseen counts the free axes of an input, behind that of the batch, that have a single place: they may run over positions.
func (l *Labels) unseen(name string) (free int) {
	shape := l.e.Main.Value(name).Shape
	for _, in := range l.e.File.Graph.Inputs {
		for d := 1; in.Name == name && d < min(len(in.Dims), len(shape)); d++ {
			if in.Dims[d].Value < 0 && shape[d] == 1 {
				free++
			}
		}
	}
	return free
}

// channelsFirst reports whether of the four axes of an input the second alone is weighed: a
// map of features, whose rows and columns are its places.
func (l *Labels) channelsFirst(name string) bool {
	shape := l.e.Main.Value(name).Shape
	if len(shape) != 4 {
		return false
	}
	for _, a := range l.inputAxes[name] {
		if l.isWeighed(a, 0) && !slices.ContainsFunc(a.root().inputs, func(in onnx.InputAxis) bool { return in.Input == name && in.Axis == 1 }) {
			return false
		}
	}
	return true
}

// isWeighed reports whether an atom, or all that it was cut into, is summed over by
// weights.
func (l *Labels) isWeighed(a *Atom, depth int) bool {
	a = a.root()
	if a.weighed || a.channel {
		return true
	}
	if a.parts == nil || depth > maxCuts {
		return false
	}
	for _, p := range a.parts {
		if !l.isWeighed(p, depth+1) {
			return false
		}
	}
	return true
}

// backwards takes an axis for one of features where weights sum over a run of it.
func (l *Labels) backwards() {
	for range maxRuns {
		changed := false
		for key, a := range l.derived {
			if key.how != sliced || !l.isWeighed(a, 0) {
				continue
			}
			if of := key.from.root(); !of.weighed && !of.channel && of.parts == nil {
				of.weighed, changed = true, true
			}
		}
		if !changed {
			return
		}
	}
}

// maxRuns bounds how often runs of runs are gone through.
const maxRuns = 4

// positions reports whether positions are part of an axis.
func (l *Labels) positions(axis Axis) bool {
	for _, f := range leaves(axis) {
		if l.roleOf(f.Atom, 0) == Position {
			return true
		}
	}
	return false
}

// Attends reports whether each place of an axis is compared with each other one, by content.
func Attends(axis Axis) bool {
	return !slices.ContainsFunc(leaves(axis), func(f Factor) bool { return !f.attends })
}

// IsOfPositions reports whether positions are part of an axis.
func (l *Labels) IsOfPositions(axis Axis) bool { return l.positions(axis) }

// InputPositions reports whether an axis of a graph input runs over positions, and whether each of them, or of what was cut out of it, is compared
// with each other one, by content.
func (l *Labels) InputPositions(name string, axis int) (positions, attend bool) {
	is := onnx.InputAxis{Input: name, Axis: axis}
	for _, a := range l.inputAxes[name] {
		if slices.Contains(a.root().inputs, is) && l.positions(Axis{{Atom: a}}) {
			positions, attend = true, attend || Attends(Axis{{Atom: a}})
		}
	}
	return positions, attend || positions && slices.ContainsFunc(l.attending, func(a *Atom) bool { return a.isOf(func(in onnx.InputAxis) bool { return in == is }) })
}

// HasPositions reports whether any axis of an input runs over positions.
func (l *Labels) HasPositions() bool {
	for _, axes := range l.inputAxes {
		if slices.ContainsFunc(axes, func(a *Atom) bool { return l.positions(Axis{{Atom: a}}) }) {
			return true
		}
	}
	return false
}

// InputSees reports whether places along an axis of a graph input see each other.
func (l *Labels) InputSees(in onnx.InputAxis) bool {
	return slices.ContainsFunc(l.inputAxes[in.Input], func(a *Atom) bool { return slices.Contains(a.root().inputs, in) && a.sees() })
}

// maxAncestry bounds how far back an axis is followed to an input.
const maxAncestry = 4096

// roleOf judges a class: an axis of positions is one of an input, cut out of one or
// made of one, unless weights sum over it, which makes it one of features. Tokens
// and what windows saw are positions whatever is summed.
//
// Axes can be made of each other in a ring: a map that is resampled, and added to the one that it was made of. What is found of one while the first of
// its ring is under way holds until that one is judged, and is asked anew after it (strongly connected components, Tarjan 1972).
func (l *Labels) roleOf(a *Atom, depth int) Role {
	a = a.root()
	switch {
	case a.judged == done:
		return a.role
	case a.judged != open:
		l.ring = min(l.ring, l.way[a])
		return a.role
	case depth > maxAncestry:
		return Other
	}
	outer, place, first := l.ring, len(l.way), len(l.ringed)
	l.ring, l.way[a], a.judged = place, place, underWay
	l.e.Budget.Spend(1 + len(a.made))
	a.role = l.judged(a, depth)
	ring := l.ring
	l.ring = min(outer, ring)
	if a.role != Position && ring < place {
		a.judged, l.way[a] = ringed, ring
		l.ringed = append(l.ringed, a)
		return a.role
	}
	a.judged = done
	delete(l.way, a)
	for _, r := range l.ringed[first:] {
		r.judged, r.role = open, Other
		delete(l.way, r)
	}
	l.ringed = l.ringed[:first]
	return a.role
}

func (l *Labels) judged(a *Atom, depth int) Role {
	for _, in := range a.inputs {
		if l.inputs[in.Input].Tokens {
			return Position
		}
	}
	weighed := (a.weighed || a.channel) && !a.attends
	if weighed && (a.merged || len(a.made) == 0 && a.whole == nil) {
		return Feature
	}
	if len(a.inputs) > 0 && !weighed {
		if !a.attends && l.isOfHeads(a) {
			return Feature
		}
		return Position
	}
	if a.attends && a.isOf(func(onnx.InputAxis) bool { return true }) {
		return Position
	}
	role := Other
	if a.whole != nil {
		role = l.partOf(a.whole, depth)
	}
	for _, d := range a.made {
		if d.how == ranked {
			continue
		}
		for f := range d.sources() {
			r := l.roleOf(f, depth+1)
			switch {
			case r == Position && d.sees():
				return Position
			case r == Position:
				role = Position
			case r == Feature && role == Other:
				role = Feature
			}
		}
	}
	if weighed {
		return Feature
	}
	return role
}

// isOf reports whether an axis is a part of one of some of the inputs', or runs of its places or windows over them, or was picked out of it: then
// its places are the input's, and attend to each other, though weights sum over the whole elsewhere (patches of a series that is projected as well).
func (a *Atom) isOf(input func(in onnx.InputAxis) bool) bool {
	queue := []*Atom{a.root()}
	for i := 0; i < len(queue) && i < maxCuts; i++ {
		at := queue[i]
		if i > 0 && slices.ContainsFunc(at.inputs, input) {
			return true
		}
		if at.whole != nil {
			queue = append(queue, at.whole.root())
		}
		for _, s := range at.joined {
			for _, f := range leaves(s.axis) {
				queue = append(queue, f.root())
			}
		}
		for _, d := range at.made {
			if len(d.from) == 1 && d.how != ranked {
				queue = append(queue, d.from[0].root())
			}
		}
	}
	return false
}

// isOfHeads reports whether an axis belongs to heads that weights make of features: it, an axis that was cut into the same parts, or one that it is
// a part of, is made by weights, and is met by the last axis of inputs of numbers alone, as the features of a head are by those of cached keys
// and values (cross-attention of a decoder that is given them).
func (l *Labels) isOfHeads(a *Atom) bool {
	brought, last := false, false
	for _, x := range kin(a) {
		brought = brought || l.isBrought(x)
		last = last || l.isLast(x)
	}
	return brought && last
}

// kin are an axis and its parts, the axes that they are parts of, and the parts of those.
func kin(a *Atom) (out []*Atom) {
	add := func(x *Atom) {
		x = x.root()
		for _, f := range append(leaves(Axis{{Atom: x}}), Factor{Atom: x}) {
			if !slices.Contains(out, f.root()) {
				out = append(out, f.root())
			}
		}
	}
	add(a)
	for i := 0; i < len(out) && i < maxCuts; i++ {
		if out[i].whole != nil {
			add(out[i].whole)
		}
		for _, d := range out[i].made {
			if d.start == piece && len(d.from) == 1 {
				add(d.from[0].Atom)
			}
		}
	}
	return out
}

// isBrought reports whether weights made an axis of one that is none of positions.
func (l *Labels) isBrought(a *Atom) bool {
	a = a.root()
	return a.mixed != nil && !l.positions(a.mixed)
}

// isLast reports whether an axis is met by the last ones of inputs of numbers, and by no others.
func (l *Labels) isLast(a *Atom) bool {
	inputs := a.root().inputs
	return len(inputs) > 0 && !slices.ContainsFunc(inputs, func(in onnx.InputAxis) bool {
		k := len(l.given[in.Input].Axes)
		return k < 2 || in.Axis != k-1 || l.inputs[in.Input].Tokens
	})
}

// sees reports whether places were made of what is seen of others: patches, and what windows
// saw. A piece of a whole is none of it.
func (d *derivation) sees() bool {
	return d.how == windowed || d.how == tiled && d.start != piece
}

// sources are the atoms of what an axis was made of, whole, and then the parts that they were
// cut into: a part may be the very one that is judged, and its whole still have come from
// elsewhere. Of a whole that a piece is of, its other pieces say nothing.
func (d *derivation) sources() iter.Seq[*Atom] {
	return func(yield func(*Atom) bool) {
		for _, f := range d.from {
			if a := f.root(); a.parts != nil && !yield(a) {
				return
			}
		}
		if d.how == tiled && d.start == piece {
			return
		}
		for _, f := range leaves(d.from) {
			if !yield(f.Atom) {
				return
			}
		}
	}
}

// partOf is the role of what a part was cut out of, as if it were whole.
func (l *Labels) partOf(whole *Atom, depth int) Role { return l.roleOf(whole, depth+1) }

// InputAxes are the axes of a graph input that the places of an axis were made of, by all
// operators between, as far as they are told.
func (a Axis) InputAxes(input string) []int {
	found, seen := map[int]bool{}, map[*Atom]bool{}
	var queue []*Atom
	for _, f := range leaves(a) {
		queue = append(queue, f.Atom)
	}
	for i := 0; i < len(queue) && i < maxAncestry; i++ {
		x := queue[i].root()
		if seen[x] {
			continue
		}
		seen[x] = true
		for _, in := range x.inputs {
			if in.Input == input {
				found[in.Axis] = true
			}
		}
		if x.whole != nil {
			queue = append(queue, x.whole)
		}
		for _, d := range x.made {
			queue = slices.AppendSeq(queue, d.sources())
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// meets judges a place where data meet numbers that depend on no content.
func (l *Labels) meets(e *event) {
	m := Meeting{Scope: e.scope, Node: e.node, Input: e.input, Known: e.node.Input(e.input), Kind: e.how}
	mixes := e.other != nil && l.mixes(e.other)
	l.untrained(e)
	for _, d := range e.dims {
		if mixes && d.brought {
			continue // weights of a sum over positions, told as such
		}
		if !l.positionsOf(d.data) || d.known >= 0 && l.isSame(e.scope, m.Known, d.known) {
			continue
		}
		m.Covers, m.Along = append(m.Covers, d.known), append(m.Along, d.data)
	}
	if len(m.Covers) == 0 {
		return
	}
	if l.isGivenMask(e.scope, m.Known) {
		return
	}
	known := e.scope.Enlarge(m.Known)
	if known.Type.IsInteger() && !slices.ContainsFunc(m.Along, func(a Axis) bool {
		return slices.ContainsFunc(leaves(a), func(f Factor) bool { return f.attends || f.summed && m.Kind == Joined })
	}) {
		return // of an index: which sequence of the batch, or where the rows of each codebook begin
	}
	if known.Known() && len(m.Covers) == 2 && sameAxis(m.Along[0], m.Along[1]) {
		if l.e.Budget.Spend(1 + known.Len()/elementsAStep); known.IsDiagonal(m.Covers[0], m.Covers[1]) {
			return
		}
	}
	if known.Known() && (m.Kind != Contracted && l.isMask(known) || m.Kind == Added && len(m.Covers) == 1 && l.marks(known, m.Covers[0])) {
		l.Masked = true
		if len(l.Masks) < maxMeetings {
			l.Masks = append(l.Masks, m)
		}
		return
	}
	if l.prepares(e, m.Along) {
		l.Order = note(l.Order, Reason{e.scope, e.node, "prepares the input position by position"})
		return
	}
	m.Axis = m.Covers[0]
	if m.Kind == Added && (e.product && l.hasTwo(e.scores) || len(m.Covers) == 2 && sameAxis(m.Along[0], m.Along[1])) { // scores, or what is between two places else
		m.Kind = Biased
	}
	for _, a := range e.scores {
		if l.positions(a) && slices.ContainsFunc(leaves(a), seen) && !slices.ContainsFunc(m.Along, func(b Axis) bool { return sameAxis(a, b) }) {
			m.Free++
		}
	}
	if len(l.Meetings) < maxMeetings {
		l.Meetings = append(l.Meetings, m)
	}
}

// isGivenMask reports whether a value is a mask that is an input, as it is given: it says which places there are, and nothing of where
// they are.
func (l *Labels) isGivenMask(s *eval.Scope, name string) bool {
	for range maxRuns {
		n, at := s.Find(name)
		if n == nil || at != s {
			return l.inputs[name].Depends == Mask
		}
		if !eval.Is(n, eval.Layout|eval.Repetition) {
			return false
		}
		name = n.Input(0)
	}
	return false
}

// untrained notes the stored tables of which numbers that are added along positions are made, where all are zero. A table has rows and columns; a
// mask of zeros has places of queries and keys alone. Zeros for each sequence of a batch are masks, or the states that recurrences begin with; and
// what is added to scores between two sequences (T5's cross-attention) says nothing of places.
func (l *Labels) untrained(e *event) {
	var along []Axis
	for _, d := range e.dims {
		if l.positionsOf(d.data) {
			if l.isBatch(d.data) {
				return
			}
			along = append(along, d.data)
		}
	}
	if len(along) == 0 || (e.product || isWeighed(e.node)) && !l.shareInput(along) || e.how != Added && e.how != Biased && e.how != Contracted {
		return
	}
	v := e.scope.Value(e.node.Input(e.input))
	if !v.Known() || !ofRows(v.Shape, len(along)) || e.isAccumulator() {
		return
	}
	for i := range v.Len() {
		if v.Number(i) != 0 {
			return
		}
	}
	l.e.Budget.Spend(1 + v.Len()/elementsAStep)
	for _, t := range v.Origins {
		if t.Type.IsFloat() && t.Len() <= int64(v.Len())*maxRows && ofRows(t.Dims, len(along)) && !slices.Contains(l.Untrained, t) && len(l.Untrained) < maxMeetings {
			l.Untrained = append(l.Untrained, t)
		}
	}
}

// isAccumulator reports whether numbers are added to what was put into places of others (torch.Tensor.index_add): what a sum begins with.
func (e *event) isAccumulator() bool {
	return slices.ContainsFunc(e.node.Inputs, func(in string) bool {
		n, _ := e.scope.Find(in)
		return n != nil && eval.Is(n, eval.Scattering)
	})
}

// isWeighed reports whether what a node adds goes into a Softmax: scores, also those of queries that the model has itself.
func isWeighed(n *onnx.Node) bool {
	if n.Graph == nil {
		return false
	}
	w := n.Graph.Wiring()
	for range maxRuns {
		out, ok := w.Output(n, 0)
		if !ok || len(w.Readers(out)) != 1 {
			return false
		}
		if n = w.Readers(out)[0]; eval.Weighs(n) {
			return true
		}
		if !eval.Is(n, eval.Layout) {
			return false
		}
	}
	return false
}

// isBatch reports whether the places of an axis are sequences of a batch: none sees another, and it is the first of its inputs, or one beside
// which places of another axis do.
func (l *Labels) isBatch(axis Axis) bool {
	if slices.ContainsFunc(leaves(axis), seen) {
		return false
	}
	for name, axes := range l.inputAxes {
		if of := axis.InputAxes(name); slices.Equal(of, []int{0}) {
			continue
		} else if len(of) > 0 && !slices.ContainsFunc(axes, (*Atom).sees) {
			return false
		}
	}
	return true
}

// shareInput reports whether two axes are made of one input.
func (l *Labels) shareInput(along []Axis) bool {
	for name := range l.inputAxes {
		of := 0
		for _, a := range along {
			if len(a.InputAxes(name)) > 0 {
				of++
			}
		}
		if of > 1 {
			return true
		}
	}
	return false
}

// maxRows is how many times as many numbers as are taken of it a table of zeros has at the most.
const maxRows = 1 << 10

// ofRows reports whether sizes are those of a table of several rows: two or more that are not 1, and, where both may run over places, not two of
// one size.
func ofRows[T int | int64](sizes []T, places int) bool {
	var wide []T
	for _, n := range sizes {
		if n > 1 {
			wide = append(wide, n)
		}
	}
	return len(wide) > 2 || len(wide) == 2 && (places == 1 || wide[0] != wide[1])
}

// isSame reports whether known numbers are the same along an axis: by their
// content, or, where that is not known, since one row is taken for all of it (the
// table of token types behind an index of zeros).
func (l *Labels) isSame(s *eval.Scope, name string, axis int) bool {
	for range maxRuns {
		v := s.Enlarge(name)
		if v.Known() {
			return !l.varies(v, axis)
		}
		n, at := s.Find(name)
		if n == nil {
			return false
		}
		row := eval.Lookup(n.Domain, n.Op)
		switch {
		case row == nil:
			return false
		case row.Axes == eval.AxesAlike || row.Axes == eval.AxesSame:
			name, s = n.Input(0), at
		case row.Axes == eval.AxesGather:
			index := at.Value(n.Input(1))
			first := n.Axis(0, len(at.Value(n.Input(0)).Shape))
			return first >= 0 && axis >= first && axis < first+len(index.Shape) && index.Known() && !l.varies(index, axis-first)
		default:
			return false
		}
	}
	return false
}

// seen reports whether places of an axis see each other, or are what windows saw of
// a picture, of which that may be said in the end.
func seen(f Factor) bool {
	return f.summed || slices.ContainsFunc(f.made, func(d derivation) bool { return d.sees() })
}

// sees reports whether places of what an axis was cut into see each other.
func (a *Atom) sees() bool { return slices.ContainsFunc(leaves(Axis{{Atom: a}}), seen) }

// prepares reports whether numbers meet a graph input that is a picture or a
// recording itself, element by element: that prepares it and is no encoding (a mean
// image), as numbers for each feature of a recording or series are (a mean spectrum). An input whose last axis weights sum over holds
// vectors, and is no picture.
func (l *Labels) prepares(e *event, along []Axis) bool {
	name := e.node.Input(1 - min(e.input, 1))
	if e.scope != l.e.Main || !isArithmetic(e.node) {
		return false
	}
	for range maxRuns {
		n, at := e.scope.Find(name)
		if n == nil || at != e.scope {
			break
		}
		next := slices.IndexFunc(n.Inputs, func(in string) bool { return l.value(e.scope, in).Depends == Content })
		if next < 0 || !isArithmetic(n) && !eval.Is(n, eval.Layout) {
			return false
		}
		name = n.Input(next)
	}
	axes := l.inputAxes[name]
	n := len(axes)
	switch {
	case n == 0:
		return false
	case l.inputs[name].Raw && slices.Contains(e.node.Inputs, name):
		return n < 2 || !l.isWeighed(axes[n-1], 0) || axes[n-1].root().channel
	}
	return slices.ContainsFunc(l.featuresOf(name), func(axis int) bool {
		return !slices.ContainsFunc(along, func(a Axis) bool {
			return slices.ContainsFunc(leaves(a), func(f Factor) bool {
				return f.root().attends || !slices.Contains(f.root().inputs, onnx.InputAxis{Input: name, Axis: axis})
			})
		})
	})
}

// featuresOf is the axis of an input's features beside those of batch and time: that of a size beside a free one, one of the two where both
// have a size; none where it has other axes.
func (l *Labels) featuresOf(name string) []int {
	for _, in := range l.e.File.Graph.Inputs {
		if in.Name != name || len(in.Dims) != 3 || l.inputs[name].Tokens {
			continue
		}
		switch one, two := in.Dims[1].Value, in.Dims[2].Value; {
		case one < 0 && two > 0:
			return []int{2}
		case one > 0 && two < 0:
			return []int{1}
		case one > 0 && two > 0:
			return []int{1, 2}
		}
	}
	return nil
}

// isArithmetic reports whether a node is one of plain arithmetic of two values.
func isArithmetic(n *onnx.Node) bool {
	return slices.Contains([]string{"Add", "Sub", "Mul", "Div"}, n.Op)
}

// mixes reports whether an axis has positions, or was made by weights of one that
// has: the hidden layers of a network over positions.
func (l *Labels) mixes(axis Axis) bool {
	seen := make([]*Atom, 0, maxMixed)
	queue := append(make([]Factor, 0, 2*maxMixed), leaves(axis)...)
	for i := 0; i < len(queue) && i < maxMixed; i++ {
		a := queue[i].root()
		if slices.Contains(seen, a) {
			continue
		}
		seen = append(seen, a)
		l.e.Budget.Spend(1)
		if l.roleOf(a, 0) == Position {
			return true
		}
		queue = append(queue, leaves(a.mixed)...)
	}
	return false
}

// isOfTokens reports whether an axis is one of an input of tokens: of pictures, what patches hold are no positions.
func (l *Labels) isOfTokens(a *Atom) bool {
	return slices.ContainsFunc(a.root().inputs, func(in onnx.InputAxis) bool { return l.inputs[in.Input].Tokens })
}

// whyMerged is what weights do to tokens that become one position.
const whyMerged = "weighs positions that lie beside each other"

// maxMixed bounds how many axes are gone back through weights.
const maxMixed = 64

// positionsOf is positions, but for those whose places weights have made.
func (l *Labels) positionsOf(axis Axis) bool {
	for _, f := range leaves(axis) {
		if !f.Made && l.roleOf(f.Atom, 0) == Position {
			return true
		}
	}
	return false
}

// hasTwo reports whether two axes run over positions: data that have been
// multiplied with data and do are scores.
func (l *Labels) hasTwo(axes []Axis) bool {
	n := 0
	for _, a := range axes {
		if l.positions(a) {
			n++
		}
	}
	return n >= 2
}

// grouped notes that positions were cut into groups, where both parts are still
// positions: windows.
func (l *Labels) grouped(a *Atom) {
	at, ok := l.cutAt[a]
	for _, p := range a.parts {
		if l.roleOf(p, 0) != Position {
			if at.Why = whyMerged; ok && p.root().merged && l.isOfTokens(a) {
				l.Order = note(l.Order, at)
			}
			return
		}
	}
	switch {
	case !ok:
	case slices.ContainsFunc(a.joined, func(s segment) bool { return l.positions(s.axis) && l.others(s.axis) }):
		at.Why = "it cuts across axes"
		l.Doubts = note(l.Doubts, at)
	default:
		l.Order = note(l.Order, at)
	}
}

// others reports whether an axis has a part that is none of positions.
func (l *Labels) others(axis Axis) bool {
	return slices.ContainsFunc(leaves(axis), func(f Factor) bool { return l.roleOf(f.Atom, 0) != Position })
}

// Same reports whether two axes are the same by the graph's own wiring.
func Same(a, b Axis) bool { return sameAxis(a, b) }

// Reason is a node and what it does, or why it was not understood.
type Reason struct {
	Scope *eval.Scope
	Node  *onnx.Node
	Why   string
}

func note(list []Reason, r Reason) []Reason {
	if len(list) < maxReasons && !slices.Contains(list, r) {
		list = append(list, r)
	}
	return list
}
