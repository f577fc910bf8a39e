// Package origin tells from which element of which stored constant each number of a value
// was copied, whatever nodes lie between. It asks the evaluator: the value is computed
// again with other numbers in the place of a constant's, and where it follows them it is a
// copy. Gather, Slice, Einsum with one-hot vectors, Where, Pad, storage in eight bits,
// functions and branches all look alike that way.
//
// Start with New and Maps.Of. A Map has an Origin for each constant; what is made of a
// constant in another way (weights, a resampling, frequencies under a sine) is Mixed.
//
// The package knows values and constants; it does not know which encodings there are.
package origin

import (
	"math"
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
)

// Map says where the numbers of a value come from.
type Map struct {
	Value *eval.Value
	// Of has an origin for each constant of which elements of the value are copies.
	Of []*Origin
	// ByRow has an origin for each constant of which elements of the value are made row by
	// row, in another way than copied: normalised, multiplied with weights.
	ByRow []*Origin
	// ByElement has those of constants of which each is made of one row along several axes: of one element (behind a Tanh), or of a row and a
	// column (a network of coordinates).
	ByElement []*Origin
	// Mixed are constants that go into the value in another way.
	Mixed []*onnx.Tensor
	// Cut says that more constants go into the value than were asked about.
	Cut bool
}

// Origin says which elements of a value are copies of elements of one constant: number i
// is Zero[i] + Scale[i] · element At[i] of Tensor, none where At[i] is −1. Of a constant
// that goes in row by row, At[i] is the row along Axis.
type Origin struct {
	Tensor *onnx.Tensor
	At     []int
	Axis   int
	Zero   []float64 // nil: 0
	Scale  []float64 // nil: 1
	// Between says, of a constant that goes in row by row, that each number lies between those of its row: a mean of them, with weights.
	Between bool
}

// Whole reports whether every number of the value is of the constant.
func (o *Origin) Whole() bool { return !slices.Contains(o.At, -1) }

// Quantised is how the numbers are stored in whole numbers: one is (element − zero) · scale, uneven where that of the first holds for some
// of them alone; a scale of 0: they are none.
func (o *Origin) Quantised() (scale, zero float64, uneven bool) {
	first := slices.IndexFunc(o.At, func(k int) bool { return k >= 0 })
	if !o.Tensor.Type.IsInteger() || o.Scale == nil || first < 0 {
		return 0, 0, false
	}
	for k, at := range o.At {
		uneven = uneven || at >= 0 && (o.Scale[k] != o.Scale[first] || o.Zero[k] != o.Zero[first])
	}
	return o.Scale[first], math.Round(-o.Zero[first] / o.Scale[first]), uneven
}

// Maps answers for the values of one evaluation, and keeps what was asked.
type Maps struct {
	eval   *eval.Evaluator
	calls  []*eval.Evaluator // of which values are put behind one another; nil: eval alone
	known  map[place]*Map
	class  map[*onnx.Tensor]int // constants of one class are asked about together
	of     [][]*onnx.Tensor     // by class
	trials map[trial]*eval.Evaluator
	again  map[*eval.Evaluator]*Maps
	plain  *eval.Evaluator // a trial in which constants are as they are; nil: not asked for
}

// place is a named value.
type place struct {
	scope *eval.Scope
	name  string
}

// New prepares the questions about an evaluated graph; of one whose values are those of several evaluations behind one another
// (probe.CallsOf), with these.
func New(e *eval.Evaluator, calls ...*eval.Evaluator) *Maps {
	return &Maps{eval: e, calls: calls, known: map[place]*Map{}, class: map[*onnx.Tensor]int{}, trials: map[trial]*eval.Evaluator{}}
}

// Again are the questions about another evaluation of the graph.
func (m *Maps) Again(e *eval.Evaluator) *Maps {
	if m.again == nil {
		m.again = map[*eval.Evaluator]*Maps{}
	}
	if m.again[e] == nil {
		m.again[e] = New(e)
	}
	return m.again[e]
}

// Expect says that a value will be asked about. Constants of which no value that is
// expected has two are asked about together: a graph has a table for each of its layers.
func (m *Maps) Expect(s *eval.Scope, name string) {
	v := s.Value(name)
	taken := map[int]bool{}
	for _, t := range v.Origins {
		if c, ok := m.class[t]; ok {
			taken[c] = true
		}
	}
	free := 0
	for _, t := range v.Origins {
		if _, ok := m.class[t]; ok || !candidate(t) {
			continue
		}
		for taken[free] {
			free++
		}
		m.join(t, free)
		taken[free] = true
	}
}

// join makes a constant one of a class.
func (m *Maps) join(t *onnx.Tensor, class int) {
	for len(m.of) <= class {
		m.of = append(m.of, nil)
	}
	m.class[t] = class
	m.of[class] = append(m.of[class], t)
}

// apart gives a constant a class of its own where another that the value is made of is in
// the same.
func (m *Maps) apart(v *eval.Value, t *onnx.Tensor) {
	c, ok := m.class[t]
	if ok && !slices.ContainsFunc(v.Origins, func(o *onnx.Tensor) bool { d, has := m.class[o]; return o != t && has && d == c }) {
		return
	}
	m.join(t, len(m.of))
}

// Of maps a value that depends on no content; nil where its numbers are not known.
func (m *Maps) Of(s *eval.Scope, name string) *Map {
	at := place{s, name}
	if out, ok := m.known[at]; ok {
		return out
	}
	out := m.find(s, name)
	m.known[at] = out
	return out
}

// maxCandidates is how many constants are asked about for one value: as many as the
// evaluator remembers of one.
const maxCandidates = 24

func (m *Maps) find(s *eval.Scope, name string) *Map {
	v := s.Enlarge(name)
	if !v.Known() && !v.Large() && m.calls == nil { // made by operators of which trials alone compute the numbers
		if m.plain == nil {
			m.plain = m.eval.Exact()
		}
		if at := m.plain.Like(s); at != nil {
			v = at.Value(name)
		}
	}
	if !v.Known() || v.Len() == 0 || numbersOf(v) == nil {
		return nil
	}
	out := &Map{Value: v, Cut: len(v.Origins) >= maxCandidates}
	for _, t := range v.Origins {
		if !candidate(t) {
			continue
		}
		if v.Constant() == t {
			out.Of = append(out.Of, &Origin{Tensor: t, At: counted(v.Len())})
			continue
		}
		o, mixed := m.ask(s, name, v, t)
		switch {
		case mixed:
			switch found := m.rows(s, name, v, t); len(found) {
			case 0:
			case 1:
				found[0].Between = m.between(s, name, v, t)
				out.ByRow = append(out.ByRow, found...)
				continue
			default:
				out.ByElement = append(out.ByElement, found...)
				continue
			}
			out.Mixed = append(out.Mixed, t)
		case o != nil:
			out.Of = append(out.Of, o)
		}
	}
	if v.Len() >= manyNumbers { // else all that is computed on the way to the values of all layers is kept
		for _, e := range m.trials {
			e.Forget()
		}
	}
	return out
}

// manyNumbers is from how many numbers of a value on what trials compute is not kept.
const manyNumbers = 1 << 16

// quantisedBits is how many bits whole numbers have at most that stand for others: wider ones count, or are indices.
const quantisedBits = 16

// candidate reports whether a constant can hold numbers of an encoding: floating-point
// ones, or whole ones as narrow as quantised storage.
func candidate(t *onnx.Tensor) bool {
	return t.Len() > 1 && (t.Type.IsFloat() || t.Type.IsInteger() && t.Type != onnx.Bool && t.Type.Bits() <= quantisedBits)
}

// counted is 0, 1, 2, …
func counted(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// trial is a question to a class of constants: the numbers that they have in it.
type trial struct {
	class, kind, call int
}

// Kinds of trials; those from rowTrials on are of rows by the bits of their numbers.
const (
	zeros     = iota // 0 everywhere
	ones             // 1 everywhere
	numbered         // each element has its own place
	scattered        // fixed numbers without order, which confirm a map
	small            // the same, of floating point between −½ and ½, where no function is flat
	rowTrials
)

// scatterSize bounds the scattered numbers, which are whole: no graph computes them.
const scatterSize = 1 << 10

// scatter is a whole number for each element, without order.
func scatter(i int64) float64 { return float64(uint64(i+1) * 2654435761 >> 7 % scatterSize) }

// smaller is a scattered number as one between −½ and ½, where a constant can hold such.
func smaller(t *onnx.Tensor, x float64) float64 {
	if !t.Type.IsFloat() {
		return x
	}
	return x/scatterSize - 0.5
}

// pattern are the numbers of a constant in a trial.
func pattern(t *onnx.Tensor, kind int) eval.Pattern {
	switch kind {
	case zeros:
		return func(int64) float64 { return 0 }
	case ones:
		return func(int64) float64 { return 1 }
	case numbered:
		return func(i int64) float64 { return float64(i) }
	case scattered:
		return scatter
	case small:
		return func(i int64) float64 { return smaller(t, scatter(i)) }
	}
	return rowPattern(t, kind-rowTrials)
}

// run gives the evaluation, of a call, in which a constant, and others of its class, have other numbers.
func (m *Maps) run(t *onnx.Tensor, kind, call int) *eval.Evaluator {
	key := trial{m.class[t], kind, call}
	if e := m.trials[key]; e != nil {
		return e
	}
	patterns := map[*onnx.Tensor]eval.Pattern{}
	for _, t := range m.of[key.class] {
		if m.class[t] == key.class { // else it was set apart later
			patterns[t] = pattern(t, kind)
		}
	}
	of := m.eval
	if m.calls != nil {
		of = m.calls[call]
	}
	e := of.Substitute(patterns)
	m.trials[key] = e
	return e
}

// numbers are those of a value in a trial, nil where they are not known or others in number.
func (m *Maps) numbers(s *eval.Scope, name string, v *eval.Value, t *onnx.Tensor, kind int) []float64 {
	var all []float64
	for call := range max(len(m.calls), 1) {
		at := m.run(t, kind, call).Like(s)
		if at == nil {
			return nil
		}
		w := at.Value(name)
		if w.Len() == v.Len() { // the same in all of them
			return known(w)
		}
		all = append(all, known(w)...)
	}
	if len(all) != v.Len() {
		return nil
	}
	return all
}

// known are the numbers of a value, nil where they are not known.
func known(v *eval.Value) []float64 {
	if !v.Known() {
		return nil
	}
	return numbersOf(v)
}

// numbersOf are the numbers of a value, of floating point or quantised; nil of others.
func numbersOf(v *eval.Value) []float64 {
	if v.Floats != nil || v.Ints == nil || v.Type.Bits() > quantisedBits || v.Type == onnx.Bool {
		return v.Floats
	}
	out := make([]float64, len(v.Ints))
	for i, x := range v.Ints {
		out[i] = float64(x)
	}
	return out
}

// ask maps a value over one constant: nil where it does not depend on the constant's
// numbers, mixed where it is more than a copy.
func (m *Maps) ask(s *eval.Scope, name string, v *eval.Value, t *onnx.Tensor) (o *Origin, mixed bool) {
	m.apart(v, t)
	zero, one := m.numbers(s, name, v, t, zeros), m.numbers(s, name, v, t, ones)
	if zero == nil || one == nil {
		return nil, true
	}
	check := m.numbers(s, name, v, t, scattered)
	if check == nil {
		return nil, true
	}
	if slices.Equal(zero, one) {
		return nil, !slices.Equal(zero, check)
	}
	place := m.numbers(s, name, v, t, numbered)
	if place == nil {
		return nil, true
	}
	if o = traced(t.Len(), zero, one, place, check); o != nil {
		o.Tensor = t
	}
	return o, o == nil
}

// wholeTolerance is how far a computed place may be off a whole number: rounding of
// float64 alone.
const wholeTolerance = 1e-3

// traced reads the map over n elements off the four sets of numbers; nil where they are more than copies.
func traced(n int64, zero, one, place, check []float64) *Origin {
	o := &Origin{At: make([]int, len(zero)), Zero: zero, Scale: make([]float64, len(zero))}
	plain, last := true, float64(n-1)
	for i := range zero {
		c := one[i] - zero[i]
		if c == 0 || math.Abs(c) <= 1e-12*math.Abs(zero[i]) {
			if place[i] != zero[i] && !(math.IsNaN(place[i]) && math.IsNaN(zero[i])) {
				return nil
			}
			o.At[i] = -1
			continue
		}
		k := math.Round((place[i] - zero[i]) / c)
		if !(math.Abs(c*k+zero[i]-place[i]) <= wholeTolerance*math.Abs(c)) || k < 0 || k > last {
			return nil
		}
		if want := zero[i] + c*scatter(int64(k)); !(math.Abs(check[i]-want) <= wholeTolerance*math.Abs(c)) {
			return nil
		}
		o.At[i], o.Scale[i] = int(k), c
		plain = plain && c == 1 && zero[i] == 0
	}
	if plain {
		o.Zero, o.Scale = nil, nil
	}
	return o
}

// Varies reports whether elements come from different places along an axis of a value of
// the given shape.
func (o *Origin) Varies(shape []int, axis int) bool {
	inner := onnx.Size(shape[axis+1:])
	for i := range o.At {
		if i/inner%shape[axis] > 0 && o.At[i] != o.At[i-inner] {
			return true
		}
	}
	return false
}
