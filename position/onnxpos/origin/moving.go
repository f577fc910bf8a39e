package origin

import (
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
)

// moving is one node that is followed back through: its input of data, that one's shape and its output's.
type moving struct {
	s             *eval.Scope
	n             *onnx.Node
	data          int
	before, after []int
}

// move tells from which element of the data a node has the element of a number and place: −1 for none.
type move func(element int, place []int) int

// move is what the node does with elements; nil where it does more than move or scale them.
func (m moving) move() move {
	switch eval.Lookup(m.n.Domain, m.n.Op).Axes {
	case eval.AxesSame, eval.AxesReshape:
		if onnx.Size(m.before) == onnx.Size(m.after) {
			return func(element int, _ []int) int { return element }
		}
	case eval.AxesMultiply, eval.AxesAdd, eval.AxesExpand:
		return m.laid()
	case eval.AxesTranspose:
		return m.transposed()
	case eval.AxesConcat:
		return m.joined()
	case eval.AxesPad:
		return m.padded()
	case eval.AxesSlice:
		return m.sliced()
	case eval.AxesGather, eval.AxesPick, eval.AxesGatherND:
		return m.picked()
	}
	return nil
}

// list is the numbers that an attribute or an input gives.
func (m moving) list(attribute string, i int) []int64 {
	if a := m.n.Attribute(attribute); a != nil {
		return a.Ints
	}
	if i < len(m.n.Inputs) && m.n.Input(i) != "" {
		return m.s.Value(m.n.Input(i)).Ints
	}
	return nil
}

// named is the dimension that entry i of a list is of: the one that axes name, else the one of that number.
func (m moving) named(axes []int64, i int) int {
	if i < len(axes) {
		return onnx.Dimension(axes[i], len(m.before))
	}
	return onnx.Dimension(int64(i), len(m.before))
}

// laid are elements that are laid over others, again and again along dimensions of one size.
func (m moving) laid() move {
	lead := len(m.after) - len(m.before)
	if m.n.Op == "Pow" || m.n.Op == "Mod" || lead < 0 {
		return nil
	}
	return func(_ int, place []int) int {
		out := make([]int, len(m.before))
		for d := range m.before {
			out[d] = place[lead+d] % m.before[d]
		}
		return number(out, m.before)
	}
}

// transposed are elements of permuted dimensions, reversed ones where perm is left out.
func (m moving) transposed() move {
	perm := m.list("perm", len(m.n.Inputs))
	if perm == nil {
		for d := range m.before {
			perm = append(perm, int64(len(m.before)-1-d))
		}
	}
	if len(perm) != len(m.after) || len(m.before) != len(m.after) || slices.ContainsFunc(perm, func(d int64) bool { return d < 0 || d >= int64(len(m.before)) }) {
		return nil
	}
	return func(_ int, place []int) int {
		out := make([]int, len(m.before))
		for d, of := range perm {
			out[of] = place[d]
		}
		return number(out, m.before)
	}
}

// joined are elements behind those of other values.
func (m moving) joined() move {
	axis := m.n.Axis(0, len(m.before))
	if axis < 0 || len(m.before) != len(m.after) {
		return nil
	}
	first := 0
	for _, in := range m.n.Inputs[:m.data] {
		if shape := m.s.Value(in).Shape; axis < len(shape) {
			first += shape[axis]
		}
	}
	return shifted(m.before, map[int]int{axis: first})
}

// padded are elements with constant ones around them, or without those that a negative pad cuts.
func (m moving) padded() move {
	pads, axes, by := m.list("pads", 1), m.list("axes", 3), map[int]int{}
	if mode := m.n.Attribute("mode"); mode != nil && string(mode.S) != "constant" || len(pads) == 0 || len(pads)%2 != 0 || len(m.before) != len(m.after) {
		return nil
	}
	for i := range len(pads) / 2 {
		d := m.named(axes, i)
		if d < 0 {
			return nil
		}
		by[d] = int(pads[i])
	}
	return shifted(m.before, by)
}

// sliced are elements from a first one on, in steps.
func (m moving) sliced() move {
	starts, axes, steps := m.list("starts", 1), m.list("axes", 3), m.list("steps", 4)
	first, step := make([]int, len(m.before)), slices.Repeat([]int{1}, len(m.before))
	if len(starts) == 0 || len(m.before) != len(m.after) {
		return nil
	}
	for i, start := range starts {
		d := m.named(axes, i)
		if d < 0 {
			return nil
		}
		size := int64(m.before[d])
		if i < len(steps) {
			step[d] = int(min(max(steps[i], -size), size))
		}
		if start < 0 {
			start += size
		}
		first[d] = int(min(max(start, 0), size-1))
	}
	return func(_ int, place []int) int {
		out := slices.Clone(place)
		for d := range out {
			if out[d] = first[d] + step[d]*place[d]; out[d] < 0 || out[d] >= m.before[d] {
				return -1
			}
		}
		return number(out, m.before)
	}
}

// shifted are elements that stand further along axes, with others around them.
func shifted(before []int, by map[int]int) move {
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
func (m moving) picked() move {
	axis := m.n.Axis(0, len(m.before))
	if m.data != 0 || len(m.n.Inputs) < 2 || axis < 0 {
		return nil
	}
	index := m.s.Enlarge(m.n.Input(1))
	if !index.Known() || index.Ints == nil || len(index.Ints) != onnx.Size(index.Shape) {
		return nil
	}
	before, after := m.before, m.after
	row := func(i, d int) int { return ((int(index.Ints[i])%before[d] + before[d]) % before[d]) } // from the end, too
	rank := len(index.Shape)
	switch eval.Lookup(m.n.Domain, m.n.Op).Axes {
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
	batch := int(m.n.Int("batch_dims", 0))
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
