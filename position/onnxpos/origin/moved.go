package origin

import (
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
)

// maxMoved bounds the numbers of which is asked by trials where they go: evaluators keep no more.
const maxMoved = 1 << 17

// Moved says of which elements of a value, data perhaps, chosen ones of another are copies, in the same scope: −1 for none; nil where they
// are more than copies, or not known. It follows them back through operators that move elements and scale them; where another one stands
// between, it tries.
func Moved(s *eval.Scope, from, to string, chosen []int) []int {
	if at, ok := back(s, from, to, slices.Clone(chosen)); ok {
		return at
	}
	return tried(s, from, to, chosen)
}

// tried is Moved by other numbers in the place of the first value's.
func tried(s *eval.Scope, from, to string, chosen []int) []int {
	v := s.Value(from)
	if len(v.Shape) == 0 || v.Len() == 0 || v.Len() > maxMoved || len(chosen) == 0 {
		return nil
	}
	var trials [4][]float64
	for kind := range trials {
		given := eval.FloatValue(onnx.Double, v.Shape, make([]float64, v.Len()))
		number := pattern(nil, kind)
		for i := range given.Floats {
			given.Floats[i] = number(int64(i))
		}
		all := known(s.Given(from, given).Value(to))
		if all == nil || len(all) <= slices.Max(chosen) {
			return nil
		}
		for _, i := range chosen {
			trials[kind] = append(trials[kind], all[i])
		}
	}
	o := traced(int64(v.Len()), trials[zeros], trials[ones], trials[numbered], trials[scattered])
	if o == nil {
		return nil
	}
	return o.At
}

// maxSteps bounds the nodes that elements are followed back through.
const maxSteps = 48

// back follows elements of a value to those of another; false where an operator does more than move or scale them, or is not known here.
func back(s *eval.Scope, from, to string, at []int) ([]int, bool) {
	unknowable := func(in string) bool { return in != "" && s.Value(in).Unknowable() }
	for range maxSteps {
		if to == from {
			return at, true
		}
		n, where := s.Find(to)
		if n == nil || where != s || eval.Lookup(n.Domain, n.Op) == nil {
			return nil, false
		}
		data := slices.IndexFunc(n.Inputs, unknowable)
		if data < 0 || slices.ContainsFunc(n.Inputs[data+1:], unknowable) {
			return nil, false // of none, or of two
		}
		before, after := s.Value(n.Inputs[data]).Shape, s.Value(to).Shape
		if !Countable(before) || !Countable(after) {
			return nil, false
		}
		move := moving{s, n, data, before, after}.move()
		if move == nil {
			return nil, false
		}
		place := make([]int, len(after))
		for i, element := range at {
			if element < 0 {
				continue
			}
			for d := len(after) - 1; d >= 0; d-- {
				place[d], element = element%after[d], element/after[d]
			}
			at[i] = move(at[i], place)
		}
		to = n.Inputs[data]
	}
	return nil, false
}

// Countable reports whether a shape has dimensions, elements, and no more of them than can be numbered.
func Countable(shape []int) bool {
	n := 1
	for _, d := range shape {
		if d < 1 || d > maxNumber/n {
			return false
		}
		n *= d
	}
	return len(shape) > 0
}

// maxNumber bounds the numbers of elements.
const maxNumber = 1 << 40

// number is the element at a place.
func number(place, shape []int) (element int) {
	for d, n := range shape {
		element = element*n + place[d]
	}
	return element
}
