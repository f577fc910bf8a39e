package eval

import (
	"math"
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
)

func constant(c *call) ([]*Value, error) {
	for _, a := range c.node.Attributes {
		switch a.Name {
		case "value":
			if a.Tensor == nil {
				return nil, nil
			}
			return one(c.scope.eval.constant(a.Tensor)), nil
		case "value_int":
			return one(IntValue(onnx.Int64, []int{}, []int64{a.I})), nil
		case "value_ints":
			return one(IntValue(onnx.Int64, []int{len(a.Ints)}, a.Ints)), nil
		case "value_float":
			return one(FloatValue(onnx.Float, []int{}, []float64{float64(a.F)})), nil
		case "value_floats":
			x := make([]float64, len(a.Floats))
			for i, f := range a.Floats {
				x[i] = float64(f)
			}
			return one(FloatValue(onnx.Float, []int{len(x)}, x)), nil
		case "sparse_value":
			return nil, nil
		}
	}
	return nil, nil
}

func constantOfShape(c *call) ([]*Value, error) {
	t, number := onnx.Float, 0.0
	if a := c.node.Attribute("value"); a != nil && a.Tensor != nil {
		t = a.Tensor.Type
		if x, err := a.Tensor.Floats(0, 1); err == nil {
			number = x[0]
		}
	}
	shape, ok := dims(c.need(0))
	if !ok {
		return one(&Value{Type: t}), nil
	}
	out := Shaped(t, shape...)
	if !out.sound() {
		return nil, c.fail("a shape of %v", shape)
	}
	out.Data = c.need(0).Data
	if !c.keeps(out) {
		return one(out), nil
	}
	if t.IsFloat() {
		out.Floats = slices.Repeat([]float64{number}, out.Len())
	} else {
		out.Ints = slices.Repeat([]int64{int64(number)}, out.Len())
	}
	return one(out), nil
}

// dims reads a known list of integers as a shape.
func dims(v *Value) ([]int, bool) {
	if !v.Known() || v.Ints == nil && v.Len() > 0 {
		return nil, false
	}
	if len(v.Ints) > maxRank {
		return nil, false // no shape: as many dimensions have no value
	}
	out := make([]int, len(v.Ints))
	for i, d := range v.Ints {
		if d < -1 || d > 1<<40 {
			return nil, false
		}
		out[i] = int(d)
	}
	return out, true
}

func shapeOp(c *call) ([]*Value, error) {
	a := c.need(0)
	if !a.Ranked {
		return one(&Value{Type: onnx.Int64}), nil
	}
	rank := int64(len(a.Shape))
	clamp := func(i int64) int64 {
		if i < 0 {
			i += rank
		}
		return min(max(i, 0), rank)
	}
	start, end := clamp(c.node.Int("start", 0)), clamp(c.node.Int("end", rank))
	out := make([]int64, 0, max(end-start, 0))
	for i := start; i < end; i++ {
		out = append(out, int64(a.Shape[i]))
	}
	return one(IntValue(onnx.Int64, []int{len(out)}, out)), nil
}

func size(c *call) ([]*Value, error) {
	a := c.need(0)
	if !a.Ranked {
		return one(Shaped(onnx.Int64)), nil
	}
	return one(IntValue(onnx.Int64, []int{}, []int64{int64(a.Len())})), nil
}

func identity(c *call) ([]*Value, error) {
	v := *c.need(0)
	return one(&v), nil
}

func sameAsFirst(c *call) ([]*Value, error) { return one(c.need(0).unknown()), nil }

// drawn is of the shape of the first input or of an attribute; its numbers are new at each run.
func drawn(c *call) ([]*Value, error) {
	out := &Value{Type: onnx.Float}
	if a := c.input(0); a != nil {
		out.Type, out.Ranked, out.Shape = a.Type, a.Ranked, a.Shape
	} else if sizes := c.node.Ints("shape"); len(sizes) <= maxRank {
		out.Ranked, out.Shape = true, []int{}
		for _, n := range sizes {
			if n < 0 || n > maxAxis {
				return nil, c.fail("shape %v", sizes)
			}
			out.Shape = append(out.Shape, int(n))
		}
	}
	out.Type = onnx.DataType(c.node.Int("dtype", int64(out.Type)))
	return one(out), nil
}

// sameAsEach has outputs of the shape of the first input, and of the last.
func sameAsEach(c *call) ([]*Value, error) {
	a, b := c.need(0), c.need(len(c.in)-1)
	return []*Value{{Type: a.Type, Ranked: a.Ranked, Shape: a.Shape}, {Type: b.Type, Ranked: b.Ranked, Shape: b.Shape}}, nil
}

// decodedHeight and decodedWidth are the size of a picture that is decoded in an evaluation: which one
// its bytes hold, no graph says.
const decodedHeight, decodedWidth = 480, 640

// decodeImage makes a picture of colours of the bytes of a file.
func decodeImage(c *call) ([]*Value, error) {
	return one(Shaped(onnx.Uint8, decodedHeight, decodedWidth, 3)), nil
}

func cast(c *call) ([]*Value, error) {
	return c.castTo(onnx.DataType(c.node.Int("to", 1))), nil
}

func castLike(c *call) ([]*Value, error) {
	return c.castTo(c.need(1).Type), nil
}

// castTo is the first input in another type, which rounds nothing in a trial.
func (c *call) castTo(t onnx.DataType) []*Value {
	a := c.need(0)
	if c.reached() && t.IsFloat() {
		t = onnx.Double
	}
	return one(castTo(a, t, c.most()))
}

func castTo(a *Value, t onnx.DataType, most int) *Value {
	if a.Type == t {
		return a
	}
	if !a.Ranked || a.Len() > most || !a.Known() {
		return &Value{Type: t, Ranked: a.Ranked, Shape: a.Shape}
	}
	out := Shaped(t, a.Shape...).from(a)
	n := a.Len()
	if t.IsFloat() {
		content := a.numbers()
		if a.Floats != nil || content == nil {
			content = append(make([]float64, 0, n), content...)
		}
		out.keep(content)
		return out
	}
	out.Ints = make([]int64, n)
	switch {
	case t == onnx.Bool:
		for i := range n {
			out.Ints[i] = int64(truth(a.Number(i) != 0))
		}
		return out
	case a.Ints != nil:
		copy(out.Ints, a.Ints)
	default:
		for i, x := range a.Floats {
			out.Ints[i] = int64(x)
		}
	}
	if t.IsInteger() && t.Bits() < 64 {
		for i, x := range out.Ints {
			out.Ints[i] = wrapped(x, t)
		}
	}
	return out
}

// wrapped are the low bits of a whole number that a type has room for, as a number of that type.
func wrapped(x int64, t onnx.DataType) int64 {
	spare := 64 - t.Bits()
	switch {
	case !t.IsInteger():
		return x
	case t.IsSigned():
		return x << spare >> spare
	}
	return int64(uint64(x) << spare >> spare)
}

func rangeOp(c *call) ([]*Value, error) {
	a, b, d := c.need(0), c.need(1), c.need(2)
	start, ok1 := a.Scalar()
	limit, ok2 := b.Scalar()
	delta, ok3 := d.Scalar()
	if !ok1 || !ok2 || !ok3 || delta == 0 {
		return one(&Value{Type: a.Type}), nil
	}
	count := math.Max(math.Ceil((limit-start)/delta), 0)
	if !(count < 1<<40) {
		return one(&Value{Type: a.Type}), nil
	}
	n := int(count)
	out := Shaped(a.Type, n).from(a, b, d)
	if n > c.most() {
		return one(out), nil
	}
	if a.Type.IsFloat() {
		out.Floats = make([]float64, n)
		for i := range n {
			out.Floats[i] = start + float64(i)*delta
		}
	} else {
		out.Ints = make([]int64, n)
		for i := range n {
			out.Ints[i] = int64(start) + int64(i)*int64(delta)
		}
	}
	return one(out), nil
}

func reshape(c *call) ([]*Value, error) {
	a := c.need(0)
	shape, ok := dims(c.need(1))
	if s := c.node.Attribute("shape"); s != nil { // operator set 1
		shape, ok = nil, true
		for _, d := range s.Ints {
			shape = append(shape, int(d))
		}
	}
	if !ok {
		return one(&Value{Type: a.Type}), nil
	}
	if !a.Ranked {
		for _, d := range shape {
			if d <= 0 {
				return one(&Value{Type: a.Type}), nil
			}
		}
		return one(Shaped(a.Type, shape...)), nil
	}
	free, rest := -1, 1
	for i, d := range shape {
		switch {
		case d == -1:
			free = i
			continue
		case d == 0 && c.node.Int("allowzero", 0) == 0:
			if i >= len(a.Shape) {
				return nil, c.fail("entry %d keeps a dimension that %v lacks", i, a.Shape)
			}
			shape[i] = a.Shape[i]
		}
		rest = onnx.Size([]int{rest, shape[i]})
	}
	n := a.Len()
	if free >= 0 {
		if rest == 0 || n%rest != 0 {
			return nil, c.fail("%v does not fit %v", a.Shape, shape)
		}
		shape[free] = n / rest
	} else if rest != n {
		return nil, c.fail("%v does not fit %v", a.Shape, shape)
	}
	return one(a.view(shape)), nil
}

func flatten(c *call) ([]*Value, error) {
	a := c.need(0)
	if !a.Ranked {
		return one(&Value{Type: a.Type}), nil
	}
	axis := int(c.node.Int("axis", 1))
	if axis < 0 {
		axis += len(a.Shape)
	}
	if axis < 0 || axis > len(a.Shape) {
		return nil, c.fail("axis %d of %v", axis, a.Shape)
	}
	return one(a.view([]int{onnx.Size(a.Shape[:axis]), onnx.Size(a.Shape[axis:])})), nil
}

func squeeze(c *call) ([]*Value, error) {
	a := c.need(0)
	axes, given, known := c.ints("axes", 1)
	if !a.Ranked || !known {
		return one(&Value{Type: a.Type}), nil
	}
	drop := map[int]bool{}
	for _, x := range axes {
		axis, ok := axisOf(x, len(a.Shape))
		if !ok || a.Shape[axis] != 1 {
			return nil, c.fail("axis %d of %v is not 1", x, a.Shape)
		}
		drop[axis] = true
	}
	shape := []int{}
	for i, d := range a.Shape {
		if !drop[i] && (given || d != 1) {
			shape = append(shape, d)
		}
	}
	return one(a.view(shape)), nil
}

func unsqueeze(c *call) ([]*Value, error) {
	a := c.need(0)
	axes, _, known := c.ints("axes", 1)
	if !a.Ranked || !known {
		return one(&Value{Type: a.Type}), nil
	}
	rank := len(a.Shape) + len(axes)
	add := map[int]bool{}
	for _, x := range axes {
		axis, ok := axisOf(x, rank)
		if !ok {
			return nil, c.fail("axis %d of rank %d", x, rank)
		}
		add[axis] = true
	}
	shape, next := make([]int, 0, rank), 0
	for i := range rank {
		if add[i] || next >= len(a.Shape) {
			shape = append(shape, 1)
			continue
		}
		shape = append(shape, a.Shape[next])
		next++
	}
	return one(a.view(shape)), nil
}

// orderOf is the axis of its input that each of a Transpose's result is; not ok where its attribute is no order of so many.
func orderOf(n *onnx.Node, rank int) (order []int, ok bool) {
	perm := n.Ints("perm")
	if perm == nil {
		for i := range rank {
			order = append(order, rank-1-i)
		}
		return order, true
	}
	seen := make([]bool, rank)
	for _, p := range perm {
		axis, ok := axisOf(p, rank)
		if !ok || seen[axis] {
			return nil, false
		}
		order, seen[axis] = append(order, axis), true
	}
	return order, len(perm) == rank
}

func transpose(c *call) ([]*Value, error) {
	a := c.need(0)
	if !a.Ranked {
		return one(&Value{Type: a.Type}), nil
	}
	order, ok := orderOf(c.node, len(a.Shape))
	if !ok {
		return nil, c.fail("perm %v of %v", c.node.Ints("perm"), a.Shape)
	}
	shape, strides := make([]int, len(order)), make([]int, len(order))
	own := newWalker(a.Shape, a.Shape).strides
	for i, p := range order {
		shape[i], strides[i] = a.Shape[p], own[p]
	}
	out := Shaped(a.Type, shape...)
	if !c.keeps(out) || !a.Known() {
		return one(out), nil
	}
	copyElements(out.from(a), a, walker{strides})
	return one(out), nil
}

// copyElements fills out with the elements of a that a walker visits.
func copyElements(out, a *Value, w walker) {
	n := out.Len()
	if a.Floats != nil {
		out.Floats = make([]float64, n)
		each(out.Shape, []walker{w}, func(i int, at []int) { out.Floats[i] = a.Floats[at[0]] })
	} else if a.Ints != nil {
		out.Ints = make([]int64, n)
		each(out.Shape, []walker{w}, func(i int, at []int) { out.Ints[i] = a.Ints[at[0]] })
	}
}

func expand(c *call) ([]*Value, error) {
	a := c.need(0)
	want, ok := dims(c.need(1))
	if !ok || !a.Ranked {
		return one(&Value{Type: a.Type}), nil
	}
	for i, d := range want {
		if d == -1 { // PyTorch's "keep", which engines take as 1
			want[i] = 1
		}
	}
	shape, err := broadcast(a.Shape, want)
	if err != nil {
		return nil, c.fail("%v", err)
	}
	out := Shaped(a.Type, shape...)
	if !c.keeps(out) || !a.Known() {
		return one(out), nil
	}
	copyElements(out.from(a), a, newWalker(a.Shape, shape))
	return one(out), nil
}

func tile(c *call) ([]*Value, error) {
	a := c.need(0)
	by := c.need(1)
	if a.Ranked && by.Ranked && (len(by.Shape) != 1 || by.Shape[0] != len(a.Shape)) && !(c.node.Op == "Tile" && len(c.in) > 2) { // operator set 1 has a number and an axis
		return nil, c.fail("%v repeats of %v", by.Shape, a.Shape)
	}
	repeats, ok := dims(by)
	if !ok || !a.Ranked || len(repeats) != len(a.Shape) {
		return one(&Value{Type: a.Type}), nil
	}
	v := a
	for axis, n := range repeats {
		if n == 1 {
			continue
		}
		if n < 0 {
			return nil, c.fail("repeats %v", repeats)
		}
		if n > maxContent || v.Shape[axis] > maxContent || v.Shape[axis]*n > maxContent {
			shape := slices.Clone(v.Shape)
			shape[axis] = onnx.Size([]int{shape[axis], n})
			v = Shaped(a.Type, shape...)
			continue
		}
		if !v.has() {
			shape := slices.Clone(v.Shape)
			shape[axis] *= n
			v = Shaped(a.Type, shape...).from(v)
			continue
		}
		c.works(v.Shape[axis] * n)
		var indices []int
		for range n {
			for i := range v.Shape[axis] {
				indices = append(indices, i)
			}
		}
		v = v.take(axis, indices, c.most())
	}
	return one(v), nil
}

func concat(c *call) ([]*Value, error) {
	if len(c.in) == 0 {
		return nil, nil
	}
	first := c.need(0)
	known, floats, ints := true, false, false // a graph that mixes them is wrong, and has no content
	for i := range c.in {
		v := c.need(i)
		if !v.Ranked {
			return one(&Value{Type: first.Type}), nil
		}
		known = known && v.Known()
		floats, ints = floats || len(v.Floats) > 0, ints || len(v.Ints) > 0
	}
	axis, ok := axisOf(c.node.Int("axis", 0), len(first.Shape))
	if !ok {
		return nil, c.fail("axis of %v", first.Shape)
	}
	shape := slices.Clone(first.Shape)
	shape[axis] = 0
	for i := range c.in {
		v := c.need(i)
		if len(v.Shape) != len(shape) {
			return nil, c.fail("ranks differ: %v and %v", first.Shape, v.Shape)
		}
		for d := range shape {
			if d != axis && v.Shape[d] != shape[d] {
				return nil, c.fail("shapes %v and %v", first.Shape, v.Shape)
			}
		}
		shape[axis] += v.Shape[axis]
	}
	out := Shaped(wide(first.Type, c.in...), shape...)
	if !known || floats && ints || !c.keeps(out) {
		return one(out), nil
	}
	out.from(c.in...)
	if floats {
		out.Floats = make([]float64, 0, out.Len())
	} else if ints {
		out.Ints = make([]int64, 0, out.Len())
	}
	each := make([]int, len(c.in)) // elements of each input in one turn
	for i := range c.in {
		each[i] = onnx.Size(c.need(i).Shape[axis:])
	}
	for o := range outerOf(shape, axis) {
		for i, n := range each {
			if v := c.need(i); v.Floats != nil {
				out.Floats = append(out.Floats, v.Floats[o*n:(o+1)*n]...)
			} else if v.Ints != nil {
				out.Ints = append(out.Ints, v.Ints[o*n:(o+1)*n]...)
			}
		}
	}
	return one(out), nil
}

func split(c *call) ([]*Value, error) {
	a := c.need(0)
	sizes, given, known := c.ints("split", 1)
	parts := len(c.node.Outputs)
	if !a.Ranked || !known {
		return nil, nil
	}
	axis, ok := axisOf(c.node.Int("axis", 0), len(a.Shape))
	if !ok {
		return nil, c.fail("axis of %v", a.Shape)
	}
	if !given {
		n := (a.Shape[axis] + parts - 1) / max(parts, 1)
		for left := a.Shape[axis]; len(sizes) < parts; left -= n {
			sizes = append(sizes, int64(max(min(n, left), 0)))
		}
	}
	var out []*Value
	at := 0
	for _, n := range sizes {
		if n < 0 || n > int64(a.Shape[axis]-at) {
			return nil, c.fail("parts %v of %v", sizes, a.Shape)
		}
		if n > maxContent || !a.has() {
			shape := slices.Clone(a.Shape)
			shape[axis] = int(n)
			at += int(n)
			part := Shaped(a.Type, shape...)
			if n <= maxContent {
				part.from(a)
			}
			out = append(out, part)
			continue
		}
		indices := make([]int, n)
		for i := range indices {
			indices[i] = at + i
		}
		at += int(n)
		out = append(out, a.take(axis, indices, c.most()))
	}
	if at != a.Shape[axis] {
		return nil, c.fail("parts %v of %v", sizes, a.Shape)
	}
	return out, nil
}

func slice(c *call) ([]*Value, error) {
	a := c.need(0)
	starts, _, k1 := c.ints("starts", 1)
	ends, _, k2 := c.ints("ends", 2)
	axes, given, k3 := c.ints("axes", 3)
	steps, stepped, k4 := c.ints("", 4)
	if !a.Ranked {
		return one(&Value{Type: a.Type}), nil
	}
	if !given {
		for i := range starts {
			axes = append(axes, int64(i))
		}
	}
	if !k1 || !k2 || !k3 || !k4 {
		return one(&Value{Type: a.Type}), nil // the rank stays, its sizes are not known
	}
	v := a
	seen := make([]bool, len(a.Shape))
	for i, x := range axes {
		axis, ok := axisOf(x, len(a.Shape))
		if !ok || i >= len(starts) || i >= len(ends) {
			return nil, c.fail("axis %d of %v", x, a.Shape)
		}
		if seen[axis] {
			return nil, c.fail("axis %d stands twice in %v", x, axes)
		}
		seen[axis] = true
		if i > 0 && v.has() && v.Len() <= c.most() {
			c.works(v.Len()) // what was made of it so far
		}
		step := int64(1)
		if stepped && i < len(steps) {
			step = steps[i]
		}
		v = v.slice(axis, starts[i], ends[i], step, c.most())
	}
	if v == a {
		v = a.view(a.Shape)
	}
	return one(v), nil
}

// slice cuts along one axis with the clamping of the ONNX operator.
func (v *Value) slice(axis int, start, end, step int64, most int) *Value {
	n := int64(v.Shape[axis])
	clamp := func(i, low, high int64) int64 {
		if i < 0 {
			i += n
		}
		return min(max(i, low), high)
	}
	switch {
	case step > 0:
		step = min(step, n+1) // lest an index wrap
		start, end = clamp(start, 0, n), clamp(end, 0, n)
		if start == 0 && end == n && step == 1 {
			return v
		}
	case step < 0:
		step = max(step, -n-1)
		start, end = clamp(start, 0, n-1), clamp(end, -1, n-1)
	default: // no step that the operator takes
		end = start
	}
	count := stepsBetween(start, end, step)
	if count > most || !v.has() {
		shape := slices.Clone(v.Shape)
		shape[axis] = count
		return Shaped(v.Type, shape...).from(v)
	}
	indices := make([]int, count)
	for i := range indices {
		indices[i] = int(start + int64(i)*step)
	}
	return v.take(axis, indices, most)
}

// stepsBetween counts the indices from start, step apart, that lie before end;
// behind it for a negative step.
func stepsBetween(start, end, step int64) int {
	switch {
	case step > 0 && start < end:
		return int((end - start + step - 1) / step)
	case step < 0 && start > end:
		return int((start - end - step - 1) / -step)
	}
	return 0
}
