package rotary

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position/onnxpos/rows"
	"github.com/modelpatch/modelpatch/position/onnxpos/trace"
	"github.com/modelpatch/modelpatch/schemes"
)

// rotation is a place where pairs of elements are turned by cosines and sines
// of positions: x·cos + y·sin in plain operators, or a fused operator.
type rotation struct {
	scope     *eval.Scope
	node      *onnx.Node
	cos, sin  string // values read there
	cosValue  *eval.Value
	sinValue  *eval.Value
	layout    string
	headDim   int
	fused     bool
	packed    bool    // columns of cos are pairs' angles, not duplicated
	position  string  // the fused operator's position input
	ahead     bool    // of positions are the columns, in the graph: here they stand behind them
	guessed   bool    // which are the cosines and which the sines is not told here
	projected bool    // what is turned is the state before it is projected to queries and keys
	factor    float64 // one number that both products are multiplied with, behind them; 0 of a fused operator
}

// Turn looks at an Add or Sub whose two terms are state times numbers that
// depend on position, one like cosines and the other like sines
// (facts/ONNX-PATTERNS §4).
func (m *Search) Turn(s *eval.Scope, n *onnx.Node) {
	of := eval.Operands(n)
	if data(s, of[0]) || data(s, of[1]) {
		return
	}
	first, ok := waveTerm(s, of[0])
	if !ok {
		return
	}
	second, ok := waveTerm(s, of[1])
	if !ok || first.Factor != second.Factor {
		return
	}
	if switches(first.Known) && switches(second.Known) { // the one chooses where the other does not: keys that are written into a cache
		return
	}
	if cos, sin := columnsOfTurns(first.Known, second.Known); cos != nil && n.Op != "Sub" {
		r := &rotation{scope: s, node: n, cos: first.Name, sin: first.Name, cosValue: cos, sinValue: sin, layout: schemes.LayoutInterleaved, packed: true, factor: first.Factor}
		if layout, known, _ := takenApart(s, first, second); known {
			r.layout = layout
		}
		r.headDim, r.projected = headDim(s, n.Output(0), cos)
		m.rotations = append(m.rotations, r)
		return
	}
	a, b := waveKindBy(first.Known), waveKindBy(second.Known)
	ahead, guessed := false, false
	if a == noWave && b == noWave {
		x, y := columnsLast(first.Known), columnsLast(second.Known)
		if kind, other := waveKindOf(x), waveKindOf(y); kind != noWave && other != noWave && kind != other {
			first.Known, second.Known, a, b, ahead = x, y, kind, other, true
		}
	}
	if (a == noWave || a == b || b == noWave) && onCircle(first.Known, second.Known) {
		// No position is the origin: x·cos − y·sin tells, else the term of the state as it is has the cosines.
		switch {
		case n.Op == "Sub":
			a, b = isCosine, isSine
		case swapped(s, second.State) && !swapped(s, first.State):
			a, b = isCosine, isSine
		default:
			a, b, guessed = isSine, isCosine, true
		}
	}
	switch {
	case a == isSine && b == isCosine:
		first, second = second, first
	case a == isCosine && b == isSine:
	default:
		return
	}
	r := &rotation{scope: s, node: n, cos: first.Name, sin: second.Name, cosValue: first.Known, sinValue: second.Known, ahead: ahead, guessed: guessed, factor: first.Factor}
	r.layout, r.packed = layoutOf(s, r, first, second)
	r.headDim, r.projected = headDim(s, n.Output(0), r.cosValue)
	m.placeByPlace(r)
	m.rotations = append(m.rotations, r)
}

// placeByPlace puts the rows and columns of a picture's patches, where they have an axis each, into one.
func (m *Search) placeByPlace(r *rotation) {
	h, w := m.graph.PatchesIn(m.graph.Eval)
	axis := trace.PositionAxis(r.cosValue)
	shape := r.cosValue.Shape
	if h < 2 || w < 2 || axis < 0 || axis+2 >= len(shape) || shape[axis] != h || shape[axis+1] != w || !slices.Equal(shape, r.sinValue.Shape) || r.cosValue.Floats == nil || r.sinValue.Floats == nil {
		return
	}
	merged := slices.Concat(shape[:axis], []int{h * w}, shape[axis+2:])
	r.cosValue, r.sinValue = eval.FloatValue(r.cosValue.Type, merged, r.cosValue.Floats), eval.FloatValue(r.sinValue.Type, merged, r.sinValue.Floats)
}

// switches reports whether numbers are zeros and ones, of both.
func switches(v *eval.Value) bool {
	return len(v.Floats) > 0 && slices.Max(v.Floats) > slices.Min(v.Floats) && v.IsMask(math.Inf(-1))
}

// columnsOfTurns are the cosines and sines of turns that are written as matrices, of which one value
// has the first columns (cos, sin) and another one the second (−sin, cos), in its last axis (FLUX's
// freqs_cis), times one amplitude; nil where values are no such columns.
func columnsOfTurns(first, second *eval.Value) (cos, sin *eval.Value) {
	k := len(first.Shape) - 1
	if k < 2 || first.Shape[k] != 2 || !first.Known() || !second.Known() || first.Floats == nil || second.Floats == nil || !slices.Equal(first.Shape, second.Shape) {
		return nil, nil
	}
	cos, sin = eval.Shaped(first.Type, first.Shape[:k]...), eval.Shaped(first.Type, first.Shape[:k]...)
	cos.Floats, sin.Floats = make([]float64, first.Len()/2), make([]float64, first.Len()/2)
	turns := false
	amplitude := math.Hypot(first.Floats[0], first.Floats[1])
	off := rows.CosTolerance * amplitude
	for i := range cos.Floats {
		c, s := first.Floats[2*i], first.Floats[2*i+1]
		if !(math.Abs(math.Hypot(c, s)-amplitude) <= off) || math.Abs(second.Floats[2*i]+s) > off || math.Abs(second.Floats[2*i+1]-c) > off {
			return nil, nil
		}
		cos.Floats[i], sin.Floats[i] = c, s
		turns = turns || math.Abs(s) > off
	}
	if !turns {
		return nil, nil
	}
	return cos, sin
}

// waveTerm reads a value as state times known numbers; of numbers that scale by position
// what cosines or sines have turned (xPos, Sun et al. 2022), those cosines or sines.
func waveTerm(s *eval.Scope, name string) (trace.Term, bool) {
	term, ok := trace.TermOf(s, name)
	if ok {
		if inner, deeper := trace.TermOf(s, term.State); deeper && waveKindBy(inner.Known) != noWave {
			inner.Factor *= term.Factor
			inner.Behind = slices.Concat(term.Behind, inner.Behind)
			return inner, true
		}
	}
	return term, ok
}

type waveKind int

const (
	noWave waveKind = iota
	isCosine
	isSine
)

// waveKindBy tells cosines from sines by position 0, where all cosines are one
// number and all sines zero.
func waveKindBy(v *eval.Value) waveKind {
	return eval.Ask(v, "wave", func() waveKind { return waveKindOf(v) })
}

func waveKindOf(v *eval.Value) waveKind {
	axis := trace.PositionAxis(v)
	if axis < 0 {
		return noWave
	}
	lines := trace.RowsOf(v, axis)
	a := lines[0][0]
	for _, x := range lines[0] {
		if math.Abs(x-a) > rows.CosTolerance*math.Abs(a) && math.Abs(x-a) > 1e-6 {
			return noWave
		}
	}
	if math.Abs(a) < 1e-6 {
		return isSine
	}
	return isCosine
}

// columnsLast is a value whose columns stand ahead of its positions, the last axis, with its columns behind them; one without numbers
// where it is none.
func columnsLast(v *eval.Value) *eval.Value {
	axis := trace.PositionAxis(v) // of columns, if they are
	last := len(v.Shape) - 1
	if axis < 0 || !v.Known() || v.Floats == nil || v.Shape[axis]*v.Shape[last] != v.Len() {
		return &eval.Value{}
	}
	shape := slices.Clone(v.Shape)
	shape[axis], shape[last] = shape[last], shape[axis]
	x := make([]float64, 0, v.Len())
	for p := range v.Shape[last] {
		for c := range v.Shape[axis] {
			x = append(x, v.Floats[c*v.Shape[last]+p])
		}
	}
	return eval.FloatValue(v.Type, shape, x)
}

// onCircle reports whether two known values are cosines and sines of the same
// angles, element by element, and not all of one angle; times one amplitude, as YaRN's attention factor is. Masks that complete each
// other have no angle between.
func onCircle(x, y *eval.Value) bool {
	return eval.Ask(x, fmt.Sprintf("circle with %p", y), func() bool { return together(x, y) })
}

func together(x, y *eval.Value) bool {
	if !slices.Equal(x.Shape, y.Shape) || trace.PositionAxis(x) < 0 || trace.PositionAxis(y) < 0 || x.Len() < 4 {
		return false
	}
	amplitude := math.Hypot(x.Number(0), y.Number(0))
	between, differ := false, false
	for i := range x.Len() {
		if !(math.Abs(math.Hypot(x.Number(i), y.Number(i))-amplitude) <= rows.CosTolerance*amplitude) {
			return false
		}
		between = between || math.Abs(x.Number(i)*y.Number(i)) > rows.CosTolerance*amplitude*amplitude
		differ = differ || math.Abs(x.Number(i)-x.Number(0)) > rows.CosTolerance*amplitude
	}
	return between && (differ || math.Abs(amplitude-1) <= rows.CosTolerance)
}

// data reports whether a value is made by an operator of which no term of a
// rotation is: neither a product with numbers nor what may stand behind one.
func data(s *eval.Scope, name string) bool {
	w := s.Graph.Wiring()
	number, ok := w.Number(name)
	if !ok {
		return false
	}
	from := w.Producer(number)
	return from != nil && from.Op != "Mul" && from.Op != "Neg" && !eval.Is(from, eval.Layout|eval.Quantized)
}

// swapped reports whether a state was taken apart and put together otherwise,
// as the term with the sines wants it.
func swapped(s *eval.Scope, name string) bool {
	for range 6 {
		n, at := s.Find(name)
		if n == nil || at != s {
			return false
		}
		switch {
		case eval.Is(n, eval.Joining|eval.Scattering) || n.Op == "Neg":
			return true
		case eval.Is(n, eval.Layout):
			name = n.Input(0)
		default:
			return false
		}
	}
	return false
}

// layoutOf decides which elements are pairs: by the columns where they are
// doubled, else by how the state was taken apart.
func layoutOf(s *eval.Scope, r *rotation, state, other trace.Term) (layout string, packed bool) {
	doubled := eval.Ask(r.sinValue, "doubled", func() doubling { return doublingOf(r.sinValue) })
	n, half, pairs := doubled.n, doubled.half, doubled.pairs
	if doubled.even && n > 0 {
		switch {
		case half && pairs: // one frequency, or those of several axes whose positions are the same
			layout, _, packed = takenApart(s, state, other)
			return layout, packed
		case half:
			return schemes.LayoutHalf, false
		case pairs:
			return schemes.LayoutInterleaved, false
		}
	}
	layout, _, _ = takenApart(s, state, other)
	return layout, true
}

// doubling is how a row of sines repeats itself, whatever their signs, of which one of a pair may
// have the other's (−sin, sin): in two halves, or in pairs of columns.
type doubling struct {
	n                 int
	even, half, pairs bool
}

func doublingOf(v *eval.Value) doubling {
	rows := trace.RowsOf(v, trace.PositionAxis(v))
	n := len(rows[0]) / 2
	d := doubling{n, len(rows[0])%2 == 0, true, true}
	for _, row := range rows { // of an image, some have the same place on both axes
		for i := range n {
			d.half = d.half && math.Abs(row[i]) == math.Abs(row[i+n])
			d.pairs = d.pairs && math.Abs(row[2*i]) == math.Abs(row[2*i+1])
		}
	}
	return d
}

// takenApart tells which elements of a head are pairs by asking the graph: the value of
// which both states were taken gets its elements' places as numbers, and the places that
// come out in one state and in the other lie side by side, or half a row of pairs apart; and whether the two states share no place, so that each
// pair has one column.
func takenApart(s *eval.Scope, one, other trace.Term) (layout string, known, packed bool) {
	whole := commonSource(s, one.State, other.State)
	if one.State == other.State || whole == "" || s.Value(whole).Len() > maxNumbered {
		return schemes.LayoutHalf, false, false
	}
	v := s.Value(whole)
	given := s.Given(whole, eval.Numbered(v))
	a, b := one.Laid(s, given.Value(one.State)), other.Laid(s, given.Value(other.State))
	if !a.Known() || !b.Known() || a.Len() != b.Len() || a.Len() == 0 {
		return schemes.LayoutHalf, false, false
	}
	layout, packed = schemes.LayoutInterleaved, true
	first := make(map[int]bool, a.Len())
	for i := range a.Len() {
		first[place(a, i)] = true
	}
	for i := range a.Len() {
		packed = packed && !first[place(b, i)]
		if !besides(v.Shape, place(a, i), place(b, i)) {
			layout = schemes.LayoutHalf
		}
	}
	return layout, true, packed
}

// PairLayout tells which elements of a head 2×2 matrices turn as pairs: those that lie along the axis of two of the data that a node
// multiplies with them. matrices and data are inputs of the node. Not ok where it cannot be told.
func PairLayout(s *eval.Scope, n *onnx.Node, matrices, data int) (layout string, ok bool) {
	name := n.Input(data)
	v := s.Value(name)
	axis := len(v.Shape) - 1
	if n.Op == "Einsum" && len(n.Inputs) == 2 {
		k := len(s.Input(n, matrices).Shape)
		terms, _, known := eval.Subscripts(n, len(s.Input(n, 0).Shape), len(s.Input(n, 1).Shape))
		if !known || k == 0 {
			return "", false
		}
		axis = strings.IndexByte(terms[data], terms[matrices][k-1])
	} else if axis > 0 && v.Shape[axis] == 1 { // a column
		axis--
	}
	whole := name
	for range maxTaken {
		n, at := s.Find(whole)
		if n == nil || at != s || !eval.Is(n, eval.Layout) {
			break
		}
		whole = n.Input(0)
	}
	if axis < 0 || v.Shape[axis] != 2 || s.Value(whole).Len() > maxNumbered {
		return "", false
	}
	stride := onnx.Size(v.Shape[axis+1:])
	of := s.Value(whole)
	taken := s.Given(whole, eval.Numbered(of)).Value(name)
	if !taken.Known() || taken.Len() != v.Len() || taken.Len() <= stride {
		return "", false
	}
	if besides(of.Shape, place(taken, 0), place(taken, stride)) {
		return schemes.LayoutInterleaved, true
	}
	return schemes.LayoutHalf, true
}

// maxNumbered bounds the elements whose places are asked for.
const maxNumbered = 1 << 20

// place is the place that element i of a value has taken from a numbered one; −1 for none.
func place(v *eval.Value, i int) int { return int(math.Abs(v.Number(i))) - 1 }

// besides reports whether two elements of a value are the first and the second of a pair:
// one more along one axis, at an even place.
func besides(shape []int, a, b int) bool {
	if a < 0 || b < 0 {
		return false
	}
	for axis := len(shape) - 1; axis >= 0; axis-- {
		if x, y := a%shape[axis], b%shape[axis]; x != y {
			return x/2 == y/2 && a/shape[axis] == b/shape[axis]
		}
		a, b = a/shape[axis], b/shape[axis]
	}
	return false
}

// maxTaken bounds the nodes between a state and the value that it was taken of.
const maxTaken = 64

// commonSource is the value of which two were taken by nodes that only move elements, the
// furthest one; "" where there is none. What was put together of parts is followed to the first.
func commonSource(s *eval.Scope, one, other string) string {
	back := func(name string, kinds eval.Group) []string {
		chain := []string{name}
		for range maxTaken {
			n, at := s.Find(name)
			if n == nil || at != s || !eval.Is(n, kinds) && n.Op != "Neg" || s.Value(n.Input(0)).Len() == 0 {
				break
			}
			name = n.Input(0)
			chain = append(chain, name)
		}
		return chain
	}
	const moves = eval.Layout | eval.Selection | eval.Repetition
	second := back(other, moves|eval.Joining)
	for _, name := range back(one, moves|eval.Joining) {
		if slices.Contains(second, name) {
			whole := back(name, moves)
			return whole[len(whole)-1]
		}
	}
	return ""
}

// headDim follows turned elements to the product of queries and keys, where
// the whole head stands together; 0 when it is not found. projected tells that weights stand between.
func headDim(s *eval.Scope, name string, cos *eval.Value) (size int, projected bool) {
	const passes = eval.Layout | eval.Repetition | eval.Joining | eval.Scattering | eval.Scaling
	turned := s.Value(name)
	queue, seen := []string{name}, map[string]bool{name: true}
	for looked, i := 0, 0; i < len(queue) && i < maxToKeys; i++ {
		name := queue[i]
		for _, n := range s.Consumers(name) {
			if looked++; looked > trace.MaxReaders {
				return 0, false
			}
			switch {
			case n.Op == "CastLike" && n.Input(0) != name: // which asks for the type alone
			case n.Op == "Einsum":
				if size := trace.SummedBy(s, n, name); size > 0 {
					v := s.Value(name)
					return headOf(size, v.Shape[len(v.Shape)-1], cos), false
				}
			case eval.Is(n, eval.Product):
				if of := eval.Operands(n); weights(s, of[0]) || weights(s, of[1]) { // turned before it is projected
					if k := len(turned.Shape); k > 0 {
						return turned.Shape[k-1], true
					}
					return 0, false
				}
				return contracted(s, n, name, cos), false
			case eval.Is(n, eval.Attention):
				if v := s.Value(name); len(v.Shape) == 4 {
					return v.Shape[3], false
				}
			case eval.Is(n, passes) && !seen[n.Output(0)]:
				seen[n.Output(0)] = true
				queue = append(queue, n.Output(0))
			}
		}
	}
	return 0, false
}

// maxToKeys bounds the values between what turns and the product with keys.
const maxToKeys = 40

// weights reports whether an operand of a product is of the file, as it is or laid out otherwise.
func weights(s *eval.Scope, name string) bool {
	v := s.Value(name)
	return trace.Stored(s, name) != nil || !v.Data && (v.Known() || v.Large())
}

// contracted is the size of a head in a product that turned elements go into: linear attention sums over positions.
func contracted(s *eval.Scope, n *onnx.Node, name string, cos *eval.Value) int {
	v, of := s.Value(name), eval.Operands(n)
	k := len(v.Shape)
	if k < 2 {
		return 0
	}
	summed, other := v.Shape[k-2], v.Shape[k-1]
	if of[0] == name && n.Int("transA", 0) == 0 || of[1] == name && (n.Int("transB", 0) == 1 || trace.FromSoftmax(s, of[0])) {
		summed, other = other, summed // values are turned, too (CLVP)
	}
	return headOf(summed, other, cos)
}

// headOf is the size of the axis that a product sums over, or the other one where that is the axis of positions.
func headOf(summed, other int, cos *eval.Value) int {
	if axis := trace.PositionAxis(cos); axis >= 0 && cos.Shape[axis] == summed {
		if turned := trace.Columns(cos, axis); (other == turned || other == 2*turned) && summed != turned && summed != 2*turned {
			return other
		}
	}
	return summed
}

// Fused looks at an operator that takes cosines and sines as inputs
// (facts/ONNX-PATTERNS §6).
func (m *Search) Fused(s *eval.Scope, n *onnx.Node, cos, sin, positions string) {
	if cos == "" || sin == "" {
		return
	}
	r := &rotation{scope: s, node: n, cos: cos, sin: sin, cosValue: s.Value(cos), sinValue: s.Value(sin),
		layout: schemes.LayoutHalf, fused: true, packed: true, position: positions}
	if n.Int("interleaved", 0) == 1 || n.Int("rotary_interleaved", 0) == 1 {
		r.layout = schemes.LayoutInterleaved
	}
	r.headDim = fusedHeadDim(s, n, r)
	if len(s.Input(n, 0).Shape) == 4 && !eval.Is(n, eval.Attention) { // what it turns may be a part of the head
		whole, _ := headDim(s, n.Output(0), r.cosValue)
		r.headDim = max(r.headDim, whole)
	}
	m.rotations = append(m.rotations, r)
}

func fusedHeadDim(s *eval.Scope, n *onnx.Node, r *rotation) int {
	x := s.Value(n.Input(0))
	heads, kv := int(n.Int("num_heads", 0)), int(n.Int("kv_num_heads", 0))
	switch {
	case len(x.Shape) == 4:
		return x.Shape[3]
	case len(x.Shape) == 3 && heads > 0:
		width := x.Shape[2]
		if n.Op == "GroupQueryAttention" && n.Input(1) == "" {
			return width / (heads + 2*kv)
		}
		return width / heads
	}
	if d := n.Int("rotary_embedding_dim", 0); d > 0 {
		return int(d)
	}
	if k := len(r.cosValue.Shape); k > 0 {
		return 2 * r.cosValue.Shape[k-1]
	}
	return 0
}
