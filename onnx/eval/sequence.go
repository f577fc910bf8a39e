package eval

import (
	"maps"
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
)

// sequenceOf is a value of ONNX's type of sequences: a list of tensors.
func sequenceOf(elements ...*Value) *Value {
	return (&Value{Sequence: true, Elements: elements}).from(elements...)
}

// complete reports whether all numbers of a value are known, or of a sequence the shapes of all its tensors and what is whole in them: a table
// that is to be stored anew goes through it as its rows do.
func (v *Value) complete() bool {
	if v.Sequence {
		return !slices.ContainsFunc(v.Elements, func(e *Value) bool { return !e.Known() && (!e.Ranked || !e.Type.IsFloat()) })
	}
	return v.Known()
}

func sequenceConstruct(c *call) ([]*Value, error) {
	for i := range c.in {
		if c.input(i) == nil {
			return nil, nil
		}
	}
	return one(sequenceOf(slices.Clone(c.in)...)), nil
}

// place is the tensor of a sequence that input i names, the last but n where it is negative, or otherwise where there is none.
func (c *call) place(i, n, otherwise int) (at int, known bool, err error) {
	if c.input(i) == nil {
		return otherwise, true, nil
	}
	x, known := c.need(i).Scalar()
	if x < 0 {
		x += float64(n)
	}
	if known && !(x >= 0 && x <= float64(n)) {
		return 0, true, c.fail("place %v of a sequence of %d", x, n)
	}
	return int(x), known, nil
}

// sequenceInsert puts a tensor into a sequence, sequenceErase takes one out, each at the end where no place is given.
func sequenceInsert(c *call) ([]*Value, error) {
	list := c.need(0)
	at, known, err := c.place(2, len(list.Elements), len(list.Elements))
	if !list.Sequence || !known || err != nil || len(list.Elements) >= maxTurns {
		return nil, err
	}
	c.works(len(list.Elements))
	return one(sequenceOf(slices.Insert(slices.Clone(list.Elements), at, c.need(1))...)), nil
}

func sequenceErase(c *call) ([]*Value, error) {
	list := c.need(0)
	at, known, err := c.place(1, len(list.Elements), len(list.Elements)-1)
	if !list.Sequence || !known || err != nil || at < 0 || at >= len(list.Elements) {
		return nil, err
	}
	return one(sequenceOf(slices.Delete(slices.Clone(list.Elements), at, at+1)...)), nil
}

func sequenceAt(c *call) ([]*Value, error) {
	list := c.need(0)
	at, known, err := c.place(1, len(list.Elements), 0)
	if !list.Sequence || !known || err != nil || at >= len(list.Elements) {
		return nil, err
	}
	return one(list.Elements[at]), nil
}

func sequenceLength(c *call) ([]*Value, error) {
	if list := c.need(0); list.Sequence {
		return one(IntValue(onnx.Int64, []int{}, []int64{int64(len(list.Elements))})), nil
	}
	return one(Shaped(onnx.Int64)), nil
}

// concatFromSequence joins the tensors of a sequence along an axis of theirs, or along a new one.
func concatFromSequence(c *call) ([]*Value, error) {
	list := c.need(0)
	if !list.Sequence || len(list.Elements) == 0 {
		return nil, nil
	}
	inner := *c
	inner.in = slices.Clone(list.Elements)
	if c.node.Int("new_axis", 0) == 1 {
		for i, v := range inner.in {
			axis, ok := axisOf(c.node.Int("axis", 0), len(v.Shape)+1)
			if !v.Ranked || !ok {
				return nil, nil
			}
			inner.in[i] = v.view(slices.Insert(slices.Clone(v.Shape), axis, 1))
		}
	}
	return concat(&inner)
}

// splitToSequence cuts a tensor into parts of given sizes, of one size, or of one place each, of which the axis goes unless keepdims says not.
func splitToSequence(c *call) ([]*Value, error) {
	a := c.need(0)
	axis, ok := axisOf(c.node.Int("axis", 0), len(a.Shape))
	if !a.Ranked || !ok {
		return nil, nil
	}
	n := a.Shape[axis]
	var sizes []int64
	switch by := c.input(1); {
	case by == nil:
		sizes = slices.Repeat([]int64{1}, min(n, maxTurns+1))
	case !by.Known() || by.Ints == nil:
		return nil, nil
	case len(by.Shape) > 0:
		sizes = by.Ints
	default:
		if by.Ints[0] < 1 {
			return nil, c.fail("parts of %d", by.Ints[0])
		}
		for at := int64(0); at < int64(n) && len(sizes) <= maxTurns; at += by.Ints[0] {
			sizes = append(sizes, min(by.Ints[0], int64(n)-at))
		}
	}
	if len(sizes) > maxTurns {
		return nil, nil
	}
	inner := *c
	inner.in = []*Value{a, IntValue(onnx.Int64, []int{len(sizes)}, sizes)}
	parts, err := split(&inner)
	if c.input(1) == nil && c.node.Int("keepdims", 1) == 0 {
		for i, part := range parts {
			parts[i] = part.view(slices.Delete(slices.Clone(part.Shape), axis, axis+1))
		}
	}
	if err != nil || parts == nil {
		return nil, err
	}
	return one(sequenceOf(parts...)), nil
}

// maxTurns bounds the turns of a body that are run, and the tensors of a sequence.
const maxTurns = 1 << 12

// maxTurnSteps bounds the nodes that all turns of a loop evaluate: what a graph may evaluate in all is eight times as much (maxSteps).
const maxTurnSteps = 1 << 17

// inTurns runs the body of a Loop or a Scan again and again, where all that it needs is known: what it gives depends on no data. nil where
// something is not known, or it does not end.
func (c *call) inTurns(t Turns, most int) []*Value {
	e := c.scope.eval
	scopes, cells, steps, failures := len(e.scopes), e.cells, e.steps, len(e.Failures)
	forget := func() { // the scopes of a turn
		e.scopes, e.cells = e.scopes[:scopes], cells
		maps.DeleteFunc(e.children, func(_ childKey, of *Scope) bool { return of.index >= scopes })
	}
	e.doubtful++
	defer func() {
		e.doubtful--
		forget()
	}()
	carried, proceed := slices.Clone(c.in[t.First:t.First+t.Carried]), true
	for i := t.First; i < len(c.node.Inputs); i++ {
		if c.input(i) == nil || !c.input(i).complete() {
			return nil
		}
	}
	if c.node.Op == "Loop" && c.input(0) != nil && most < 0 {
		return nil // how many there are is not known
	}
	if c.node.Op == "Loop" && c.input(1) != nil {
		x, known := c.need(1).Scalar()
		if !known {
			return nil
		}
		proceed = x != 0
	}
	rows := make([][]*Value, len(c.node.Outputs)-t.Carried)
	for turn := 0; proceed && (most < 0 || turn < most); turn++ {
		if turn >= maxTurns || e.steps-steps > maxTurnSteps {
			return nil
		}
		s := e.scope(t.Body, c.scope)
		s.Caller, s.Outer, s.bound = c.node, c.scope, map[string]*Value{}
		for i := range t.Formal {
			s.bound[t.Body.Inputs[i].Name] = []*Value{IntValue(onnx.Int64, []int{}, []int64{int64(turn)}), IntValue(onnx.Bool, []int{}, []int64{1})}[i]
		}
		for i, v := range carried {
			s.bound[t.Body.Inputs[t.Formal+i].Name] = v
		}
		for i := t.First + t.Carried; i < len(c.node.Inputs); i++ {
			axis, ok := t.Axis(c.node, i, len(c.in[i].Shape))
			if !ok || turn >= c.in[i].Shape[axis] || nth(c.node.Ints("scan_input_directions"), i-t.First-t.Carried) != 0 {
				return nil
			}
			v := c.in[i].take(axis, []int{turn}, c.most())
			s.bound[t.Body.Inputs[t.Formal+i-t.First].Name] = v.view(slices.Delete(slices.Clone(v.Shape), axis, axis+1))
		}
		out := make([]*Value, len(t.Body.Outputs))
		for i, o := range t.Body.Outputs {
			out[i] = s.held(o.Name)
		}
		forget()
		failed := len(e.Failures) > failures
		e.Failures = e.Failures[:failures]
		if failed || slices.ContainsFunc(out, func(v *Value) bool { return !v.complete() }) {
			return nil
		}
		if t.Result > 0 {
			x, known := out[0].Scalar()
			if !known {
				return nil
			}
			proceed = x != 0
		}
		copy(carried, out[t.Result:])
		for i := range rows {
			rows[i] = append(rows[i], out[t.Result+t.Carried+i])
		}
	}
	for i, row := range rows {
		if len(row) == 0 || nth(c.node.Ints("scan_output_directions"), i) != 0 {
			return nil
		}
		axis, ok := t.OutputAxis(c.node, t.Carried+i, len(row[0].Shape)+1)
		inner := *c
		inner.in, inner.node = nil, &onnx.Node{Op: "Concat", Attributes: []*onnx.Attribute{{Name: "axis", I: int64(axis)}}}
		for _, v := range row {
			if !ok || v.Sequence || len(v.Shape) != len(row[0].Shape) {
				return nil
			}
			inner.in = append(inner.in, v.view(slices.Insert(slices.Clone(v.Shape), axis, 1)))
		}
		joined, err := concat(&inner)
		if err != nil {
			return nil
		}
		carried = append(carried, joined...)
	}
	return carried
}
