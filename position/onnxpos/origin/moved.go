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
		move := mover(s, n, data, before, after)
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

// mover tells from which element of its data a node has the element of a number and place: −1 for none; nil where it does more than that.
func mover(s *eval.Scope, n *onnx.Node, data int, before, after []int) func(element int, place []int) int {
	list := func(attribute string, i int) []int64 {
		if a := n.Attribute(attribute); a != nil {
			return a.Ints
		}
		if i < len(n.Inputs) && n.Input(i) != "" {
			return s.Value(n.Input(i)).Ints
		}
		return nil
	}
	dimension := func(axis int64) int { // −1 where there is none
		if axis < 0 {
			axis += int64(len(before))
		}
		if axis < 0 || axis >= int64(len(before)) {
			return -1
		}
		return int(axis)
	}
	axis := dimension(n.Int("axis", 0))
	switch eval.Lookup(n.Domain, n.Op).Axes {
	case eval.AxesSame, eval.AxesReshape:
		if size(before) != size(after) {
			return nil
		}
		return func(element int, _ []int) int { return element }
	case eval.AxesMultiply, eval.AxesAdd, eval.AxesExpand: // laid over others
		if n.Op == "Pow" || n.Op == "Mod" || len(before) > len(after) {
			return nil
		}
		return func(_ int, place []int) int {
			out := make([]int, len(before))
			for d := range before {
				out[d] = place[len(place)-len(before)+d] % before[d]
			}
			return number(out, before)
		}
	case eval.AxesTranspose:
		perm := list("perm", len(n.Inputs))
		if perm == nil {
			for d := range before {
				perm = append(perm, int64(len(before)-1-d))
			}
		}
		if len(perm) != len(after) || len(before) != len(after) || slices.ContainsFunc(perm, func(d int64) bool { return d < 0 || d >= int64(len(before)) }) {
			return nil
		}
		return func(_ int, place []int) int {
			out := make([]int, len(before))
			for d, of := range perm {
				out[of] = place[d]
			}
			return number(out, before)
		}
	case eval.AxesConcat:
		if axis < 0 || len(before) != len(after) {
			return nil
		}
		first := 0
		for _, in := range n.Inputs[:data] {
			if shape := s.Value(in).Shape; axis < len(shape) {
				first += shape[axis]
			}
		}
		return shifted(before, map[int]int{axis: first})
	case eval.AxesPad:
		pads, axes, by := list("pads", 1), list("axes", 3), map[int]int{}
		if mode := n.Attribute("mode"); mode != nil && string(mode.S) != "constant" || len(pads) == 0 || len(pads)%2 != 0 || len(before) != len(after) {
			return nil
		}
		for i := range len(pads) / 2 {
			d := dimension(int64(i))
			if i < len(axes) {
				d = dimension(axes[i])
			}
			if d < 0 {
				return nil
			}
			by[d] = int(pads[i])
		}
		return shifted(before, by)
	case eval.AxesSlice:
		starts, axes, steps := list("starts", 1), list("axes", 3), list("steps", 4)
		first, step := make([]int, len(before)), slices.Repeat([]int{1}, len(before))
		if len(starts) == 0 || len(before) != len(after) {
			return nil
		}
		for i, start := range starts {
			d := dimension(int64(i))
			if i < len(axes) {
				d = dimension(axes[i])
			}
			if d < 0 {
				return nil
			}
			if i < len(steps) {
				step[d] = int(min(max(steps[i], -int64(before[d])), int64(before[d])))
			}
			if start < 0 {
				start += int64(before[d])
			}
			first[d] = int(min(max(start, 0), int64(before[d]-1)))
		}
		return func(_ int, place []int) int {
			out := slices.Clone(place)
			for d := range out {
				if out[d] = first[d] + step[d]*place[d]; out[d] < 0 || out[d] >= before[d] {
					return -1
				}
			}
			return number(out, before)
		}
	case eval.AxesGather, eval.AxesPick, eval.AxesGatherND:
		return picked(s, n, data, before, after, axis)
	}
	return nil
}

// shifted are elements that stand further along axes, with others around them.
func shifted(before []int, by map[int]int) func(int, []int) int {
	return func(_ int, place []int) int {
		out := slices.Clone(place)
		for d := range out {
			if out[d] -= by[d]; out[d] < 0 || out[d] >= before[d] {
				return -1
			}
		}
		return number(out, before)
	}
}

// picked are elements that a known index picks.
func picked(s *eval.Scope, n *onnx.Node, data int, before, after []int, axis int) func(int, []int) int {
	if data != 0 || len(n.Inputs) < 2 || axis < 0 {
		return nil
	}
	index := s.Enlarge(n.Input(1))
	if !index.Known() || index.Ints == nil || len(index.Ints) != size(index.Shape) {
		return nil
	}
	row := func(i, d int) int { return ((int(index.Ints[i])%before[d] + before[d]) % before[d]) } // from the end, too
	rank := len(index.Shape)
	switch eval.Lookup(n.Domain, n.Op).Axes {
	case eval.AxesPick:
		if !slices.Equal(index.Shape, after) || len(before) != len(after) {
			return nil
		}
		return func(element int, place []int) int {
			out := slices.Clone(place)
			out[axis] = row(element, axis)
			for d := range out {
				if out[d] >= before[d] {
					return -1
				}
			}
			return number(out, before)
		}
	case eval.AxesGather:
		if len(after) != len(before)+rank-1 {
			return nil
		}
		return func(_ int, place []int) int {
			at := number(place[axis:axis+rank], index.Shape)
			return number(slices.Concat(place[:axis], []int{row(at, axis)}, place[axis+rank:]), before)
		}
	}
	batch := int(n.Int("batch_dims", 0))
	if rank == 0 || batch < 0 || batch+index.Shape[rank-1] > len(before) || len(after) != rank-1+len(before)-batch-index.Shape[rank-1] || batch > rank-1 {
		return nil
	}
	lead, depth := rank-1, index.Shape[rank-1]
	return func(_ int, place []int) int {
		at := number(place[:lead], index.Shape[:lead]) * depth
		out := slices.Clone(place[:batch])
		for d := range depth {
			out = append(out, row(at+d, batch+d))
		}
		return number(append(out, place[lead:]...), before)
	}
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

// size is how many elements a shape has.
func size(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// number is the element at a place.
func number(place, shape []int) (element int) {
	for d, n := range shape {
		element = element*n + place[d]
	}
	return element
}
