package eval

import (
	"math"
	"math/bits"
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
)

func gather(c *call) ([]*Value, error) {
	a, index := c.need(0), c.need(1)
	if index.Type.IsFloat() {
		return nil, c.fail("indices of type %v", index.Type)
	}
	if !a.Ranked || !index.Ranked {
		return one(&Value{Type: a.Type}), nil
	}
	axis, ok := axisOf(c.node.Int("axis", 0), len(a.Shape))
	if !ok {
		return nil, c.fail("axis of %v", a.Shape)
	}
	shape := slices.Concat(a.Shape[:axis], index.Shape, a.Shape[axis+1:])
	out := Shaped(a.Type, shape...)
	if !index.Known() {
		return one(out), nil
	}
	indices, err := c.indices(index, a.Shape[axis])
	if err != nil {
		return nil, err
	}
	if out.state = hidden(a, index); out.state || !c.keeps(out) {
		return one(out), nil
	}
	taken := *a.take(axis, indices, c.most())
	taken.Shape = shape
	return one(taken.from(index)), nil
}

// hidden reports whether rows of a table that are chosen by a graph input's
// content are model state (a token embedding, quantised or not) and not
// positions: the index depends on data and does not count.
func hidden(table, index *Value) bool {
	if !index.Data || !table.Type.IsFloat() && (table.stored == nil || len(table.Shape) < 2) {
		return false
	}
	_, _, counts := index.Counts()
	return !counts && index.Len() > 1
}

// indices checks and converts known indices; negative ones count from the end.
func (c *call) indices(v *Value, n int) ([]int, error) {
	c.works(len(v.Ints))
	out := make([]int, len(v.Ints))
	for i, x := range v.Ints {
		if x < int64(-n) || x >= int64(n) {
			if v.Data && n > 0 && !countsAtAll(v) {
				x = 0 // a probing token may lie outside a tiny vocabulary
			} else {
				return nil, c.fail("index %d is outside [%d, %d]", x, -n, n-1)
			}
		}
		if x < 0 {
			x += int64(n)
		}
		out[i] = int(x)
	}
	return out, nil
}

func countsAtAll(v *Value) bool { _, _, ok := v.Counts(); return ok }

// elementIndices are the indices of GatherElements and ScatterElements along
// their axis, one for each element; nil where they are not known.
func (c *call) elementIndices(a, index *Value) (indices []int, axis int, err error) {
	axis, ok := axisOf(c.node.Int("axis", 0), len(a.Shape))
	if !ok || len(a.Shape) != len(index.Shape) {
		return nil, 0, c.fail("axis of %v and %v", a.Shape, index.Shape)
	}
	for d := range a.Shape {
		if d != axis && index.Shape[d] > a.Shape[d] {
			return nil, 0, c.fail("indices %v of %v", index.Shape, a.Shape)
		}
	}
	if !index.Known() {
		return nil, axis, nil
	}
	indices, err = c.indices(index, a.Shape[axis])
	return indices, axis, err
}

func gatherElements(c *call) ([]*Value, error) {
	a, index := c.need(0), c.need(1)
	if index.Type.IsFloat() {
		return nil, c.fail("indices of type %v", index.Type)
	}
	if !index.Ranked || !a.Ranked {
		return one(&Value{Type: a.Type, Ranked: index.Ranked, Shape: index.Shape}), nil
	}
	out := Shaped(a.Type, index.Shape...)
	indices, axis, err := c.elementIndices(a, index)
	if err != nil {
		return nil, err
	}
	if indices == nil || !a.Known() || out.Len() > c.most() {
		return one(out), nil
	}
	strides := onnx.Strides(a.Shape)
	along := strides[axis]
	strides[axis] = 0
	out.from(a, index)
	each(out.Shape, []walker{{strides}}, func(i int, at []int) {
		from := at[0] + indices[i]*along
		if a.Floats != nil {
			out.Floats = append(out.Floats, a.Floats[from])
		} else {
			out.Ints = append(out.Ints, a.Ints[from])
		}
	})
	return one(out), nil
}

func gatherND(c *call) ([]*Value, error) {
	a, index := c.need(0), c.need(1)
	if index.Type.IsFloat() {
		return nil, c.fail("indices of type %v", index.Type)
	}
	batch := int(c.node.Int("batch_dims", 0))
	if !a.Ranked || !index.Ranked || len(index.Shape) == 0 {
		return one(&Value{Type: a.Type}), nil
	}
	last := index.Shape[len(index.Shape)-1]
	if batch < 0 || batch+last > len(a.Shape) || batch >= len(index.Shape) || slices.Contains(a.Shape[:batch], 0) {
		return nil, c.fail("indices %v of %v", index.Shape, a.Shape)
	}
	shape := slices.Concat(index.Shape[:len(index.Shape)-1], a.Shape[batch+last:])
	out := Shaped(a.Type, shape...)
	if !index.Known() {
		return one(out), nil
	}
	strides, inner := onnx.Strides(a.Shape), onnx.Size(a.Shape[batch+last:])
	perBatch := onnx.Size(index.Shape[batch : len(index.Shape)-1])
	out.state = hidden(a, index)
	c.works(index.Len())
	known := a.Len() <= c.most() && out.Len() <= c.most() && a.Known() && !out.state
	for i := range index.Len() / max(last, 1) {
		at := 0
		for b, rest := batch-1, i/max(perBatch, 1); b >= 0; b-- {
			at += rest % a.Shape[b] * strides[b]
			rest /= a.Shape[b]
		}
		for k := range last {
			x, n := index.Ints[i*last+k], int64(a.Shape[batch+k])
			if x < -n || x >= n {
				return nil, c.fail("index %d is outside [%d, %d]", x, -n, n-1)
			}
			if x < 0 {
				x += n
			}
			at += int(x) * strides[batch+k]
		}
		if !known {
			continue
		}
		if a.Floats != nil {
			out.Floats = append(out.Floats, a.Floats[at:at+inner]...)
		} else if a.Ints != nil {
			out.Ints = append(out.Ints, a.Ints[at:at+inner]...)
		}
	}
	return one(out.from(a, index)), nil
}

// compress takes the places along an axis that are chosen, where it is known which.
func compress(c *call) ([]*Value, error) {
	a, chosen := c.need(0), c.need(1)
	if !chosen.Known() || chosen.Len() > maxContent || c.node.Attribute("axis") == nil {
		return one(&Value{Type: a.Type}), nil
	}
	var places []int64
	c.works(chosen.Len())
	for i := range chosen.Len() {
		if chosen.Number(i) != 0 {
			places = append(places, int64(i))
		}
	}
	inner := *c
	inner.in = []*Value{a, IntValue(onnx.Int64, []int{len(places)}, places).from(chosen)}
	return gather(&inner)
}

func nonZero(c *call) ([]*Value, error) {
	a := c.need(0)
	if !a.Known() {
		return one(&Value{Type: onnx.Int64}), nil
	}
	var found []int
	c.works(a.Len())
	for i := range a.Len() {
		if a.Number(i) != 0 {
			found = append(found, i)
		}
	}
	if len(a.Shape)*len(found) > maxContent {
		return one(Shaped(onnx.Int64, len(a.Shape), len(found))), nil
	}
	out := IntValue(onnx.Int64, []int{len(a.Shape), len(found)}, make([]int64, len(a.Shape)*len(found))).from(a)
	for k, i := range found {
		for d := len(a.Shape) - 1; d >= 0; d-- {
			out.Ints[d*len(found)+k] = int64(i % a.Shape[d])
			i /= a.Shape[d]
		}
	}
	return one(out), nil
}

func oneHot(c *call) ([]*Value, error) {
	index := c.need(0)
	depth, ok := c.need(1).Scalar()
	if !index.Ranked || !ok {
		return one(&Value{Type: c.need(2).Type}), nil
	}
	axis := int(c.node.Int("axis", -1))
	if axis < 0 {
		axis += len(index.Shape) + 1
	}
	if depth = math.Trunc(depth); axis < 0 || axis > len(index.Shape) || !(depth >= 0 && depth <= maxContent) {
		return nil, c.fail("axis %d of %v, depth %g", c.node.Int("axis", -1), index.Shape, depth)
	}
	off := c.need(2) // and on
	out := Shaped(off.Type, slices.Insert(slices.Clone(index.Shape), axis, int(depth))...)
	if !allKnown(index, off) || off.Len() != 2 || out.Len() > maxContent || hidden(off, index) { // of tokens, no more than the shape
		return one(out), nil
	}
	content := slices.Repeat([]float64{off.Number(0)}, out.Len())
	inner := onnx.Size(index.Shape[axis:])
	for i := range index.Len() {
		at := index.Number(i)
		if at < 0 {
			at += depth
		}
		if at >= 0 && at < depth { // else all are off
			content[(i/inner*int(depth)+int(at))*inner+i%inner] = off.Number(1)
		}
	}
	out.from(index, off)
	out.setNumbers(content)
	return one(out), nil
}

func eyeLike(c *call) ([]*Value, error) {
	a := c.need(0)
	t := onnx.DataType(c.node.Int("dtype", int64(a.Type)))
	if !a.Ranked || len(a.Shape) != 2 || a.Len() == 0 || a.Len() > c.most() {
		return one(&Value{Type: t, Ranked: a.Ranked, Shape: a.Shape}), nil
	}
	out := Shaped(t, a.Shape...)
	content := make([]float64, a.Len())
	for i := range a.Shape[0] {
		if j := i + int(c.node.Int("k", 0)); j >= 0 && j < a.Shape[1] {
			content[i*a.Shape[1]+j] = 1
		}
	}
	out.setNumbers(content)
	return one(out), nil
}

// setNumbers stores numbers as the content of the value's type.
func (v *Value) setNumbers(x []float64) {
	if v.Type.IsFloat() {
		v.Floats = x
		return
	}
	v.Ints = make([]int64, len(x))
	for i := range x {
		v.Ints[i] = int64(x[i])
	}
}

func trilu(c *call) ([]*Value, error) {
	a := c.need(0)
	k := 0.0
	ok := true
	if v := c.input(1); v != nil {
		k, ok = v.Scalar()
	}
	if !a.Ranked || len(a.Shape) < 2 || !ok || a.Len() > c.most() || !a.Known() {
		return one(a.unknown()), nil
	}
	upper := c.node.Int("upper", 1) == 1
	rows, columns := a.Shape[len(a.Shape)-2], a.Shape[len(a.Shape)-1]
	out := Shaped(a.Type, a.Shape...).from(a)
	content := make([]float64, a.Len())
	for i := range content {
		row, column := i/columns%rows, i%columns
		if upper == (column >= row+int(k)) || column == row+int(k) {
			content[i] = a.Number(i)
		}
	}
	out.setNumbers(content)
	return one(out), nil
}

func cumSum(c *call) ([]*Value, error) {
	a := c.need(0)
	x, ok := c.need(1).Scalar()
	if !a.Ranked || !ok || !a.Known() || a.Len() > c.most() {
		return one(a.unknown()), nil
	}
	axis, ok := axisOf(int64(x), len(a.Shape))
	if !ok {
		return nil, c.fail("axis %v of %v", x, a.Shape)
	}
	exclusive, reverse := c.node.Int("exclusive", 0) == 1, c.node.Int("reverse", 0) == 1
	n, inner := a.Shape[axis], onnx.Size(a.Shape[axis+1:])
	content := make([]float64, a.Len())
	for o := range outerOf(a.Shape, axis) {
		for k := range inner {
			sum := 0.0
			for i := range n {
				if reverse {
					i = n - 1 - i
				}
				at := (o*n+i)*inner + k
				if exclusive {
					content[at] = sum
				}
				sum = round(a.Type, sum+a.Number(at))
				if !exclusive {
					content[at] = sum
				}
			}
		}
	}
	out := Shaped(a.Type, a.Shape...).from(a)
	out.setNumbers(content)
	return one(out), nil
}

// reduces is where a reduction starts and how it goes on; nil where only its shape
// is asked for.
func reduces(name string) (start float64, step func(sum, x float64) float64, result func(sum float64) float64) {
	switch name {
	case "ReduceSum", "ReduceMean":
		return 0, func(sum, x float64) float64 { return sum + x }, nil
	case "ReduceProd":
		return 1, func(sum, x float64) float64 { return sum * x }, nil
	case "ReduceMax":
		return math.Inf(-1), math.Max, nil
	case "ReduceMin":
		return math.Inf(1), math.Min, nil
	case "ReduceL1":
		return 0, func(sum, x float64) float64 { return sum + math.Abs(x) }, nil
	case "ReduceL2":
		return 0, func(sum, x float64) float64 { return sum + x*x }, math.Sqrt
	case "ReduceSumSquare":
		return 0, func(sum, x float64) float64 { return sum + x*x }, nil
	case "ReduceLogSum":
		return 0, func(sum, x float64) float64 { return sum + x }, math.Log
	case "ReduceLogSumExp":
		return 0, func(sum, x float64) float64 { return sum + math.Exp(x) }, math.Log
	}
	return 0, nil, nil
}

func reduce(c *call) ([]*Value, error) {
	start, step, result := reduces(c.node.Op)
	a := c.need(0)
	axes, given, known := c.ints("axes", 1)
	if !a.Ranked || !known {
		return one(&Value{Type: a.Type}), nil
	}
	if len(axes) == 0 && c.node.Int("noop_with_empty_axes", 0) == 1 {
		return one(a), nil
	}
	reduced := make([]bool, len(a.Shape))
	for _, x := range axes {
		axis, ok := axisOf(x, len(a.Shape))
		if !ok {
			return nil, c.fail("axis %d of %v", x, a.Shape)
		}
		reduced[axis] = true
	}
	keep := c.node.Int("keepdims", 1) == 1
	full, shape := slices.Clone(a.Shape), []int{}
	for i := range full {
		if !given || len(axes) == 0 || reduced[i] {
			full[i] = 1
			if !keep {
				continue
			}
		}
		shape = append(shape, full[i])
	}
	out := Shaped(a.Type, shape...)
	if step == nil || !a.Known() || max(a.Len(), out.Len()) > c.most() {
		return one(out), nil
	}
	if a.Type == onnx.Bool { // the bounds of truth values
		start = math.Min(math.Max(start, 0), 1)
	}
	content := slices.Repeat([]float64{start}, onnx.Size(full))
	each(a.Shape, []walker{newWalker(full, a.Shape)}, func(i int, at []int) { content[at[0]] = step(content[at[0]], a.Number(i)) })
	if c.node.Op == "ReduceMean" && len(content) > 0 {
		for i := range content {
			content[i] = round(a.Type, content[i]/float64(a.Len()/len(content)))
		}
	}
	if result != nil {
		for i := range content {
			content[i] = round(a.Type, result(content[i]))
		}
	}
	out.setNumbers(content)
	return one(out.from(a)), nil
}

func argument(c *call) ([]*Value, error) {
	a := c.need(0)
	if !a.Ranked {
		return one(&Value{Type: onnx.Int64}), nil
	}
	axis, ok := axisOf(c.node.Int("axis", 0), len(a.Shape))
	if !ok {
		return nil, c.fail("axis of %v", a.Shape)
	}
	shape := slices.Clone(a.Shape)
	if shape[axis] = 1; c.node.Int("keepdims", 1) == 0 {
		shape = slices.Delete(shape, axis, axis+1)
	}
	out := Shaped(onnx.Int64, shape...)
	if !a.Known() || a.Data || a.Len() > maxContent || a.Len() == 0 || c.node.Int("select_last_index", 0) == 1 {
		return one(out), nil
	}
	c.works(a.Len() * bits.Len(uint(a.Shape[axis])))
	out.Ints = make([]int64, out.Len())
	ranked(a, axis, c.node.Op == "ArgMax", func(line int, order []int) { out.Ints[line] = int64(order[0]) })
	return one(out.from(a)), nil
}
