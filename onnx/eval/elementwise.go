package eval

import (
	"math"
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
)

// joined is the value of an operator over broadcast inputs, without content:
// unranked when the rank of one is unknown.
func joined(c *call, t onnx.DataType, inputs ...*Value) (*Value, error) {
	shapes := make([][]int, 0, 2)
	for _, v := range inputs {
		if !v.Ranked {
			return &Value{Type: t}, nil
		}
		shapes = append(shapes, v.Shape)
	}
	if len(shapes) == 2 && slices.Equal(shapes[0], shapes[1]) {
		return Shaped(t, shapes[0]...), nil
	}
	shape, err := broadcast(shapes...)
	if err != nil {
		return nil, c.fail("%v", err)
	}
	return Shaped(t, shape...), nil
}

func isPredicate(op string) bool {
	return slices.Contains([]string{"Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual", "And", "Or", "Xor"}, op)
}

func binary(c *call, name string, f func(a, b float64) float64) ([]*Value, error) {
	a, b := c.need(0), c.need(1)
	t := a.Type
	if t == 0 {
		t = b.Type
	}
	t = wide(t, a, b)
	if isPredicate(name) {
		t = onnx.Bool
	}
	out, err := joined(c, t, a, b)
	if err == nil && out.Ranked && t == onnx.Bool && c.compared(out, name) {
		return one(out), nil
	}
	if err != nil || !out.Ranked || !c.keeps(out) || !allKnown(a, b) {
		return one(out), err
	}
	out.from(a, b)
	if name == "Mod" && c.node.Int("fmod", 0) == 0 {
		f = floorMod
	}
	walkers := []walker{newWalker(a.Shape, out.Shape), newWalker(b.Shape, out.Shape)}
	if exact := integerOf(c, name); !t.IsFloat() && exact != nil && a.Ints != nil && b.Ints != nil {
		out.Ints = eachPair(out.Shape, walkers, a.Ints, b.Ints, exact)
		return one(out), nil
	}
	out.keep(eachPair(out.Shape, walkers, a.numbers(), b.numbers(), f))
	return one(out), nil
}

// eachPair are the numbers that f makes of each pair of two operands.
func eachPair[T any](shape []int, walkers []walker, left, right []T, f func(a, b T) T) []T {
	out := make([]T, onnx.Size(shape))
	eachRow(shape, walkers, func(i, n int, at, steps []int) {
		x, y, dx, dy := at[0], at[1], steps[0], steps[1]
		for k := range out[i : i+n] {
			out[i+k] = f(left[x], right[y])
			x, y = x+dx, y+dy
		}
	})
	return out
}

// floorMod is the remainder that has the sign of the divisor.
func floorMod(a, b float64) float64 {
	m := math.Mod(a, b)
	if m != 0 && (m < 0) != (b < 0) {
		m += b
	}
	return m
}

// integerOf is the integer form of an operator where float64 could lose bits
// or means something else.
func integerOf(c *call, name string) func(a, b int64) int64 {
	switch name {
	case "Add":
		return func(a, b int64) int64 { return a + b }
	case "Sub":
		return func(a, b int64) int64 { return a - b }
	case "Mul":
		return func(a, b int64) int64 { return a * b }
	case "Div":
		return func(a, b int64) int64 {
			if b == 0 {
				return 0
			}
			return a / b
		}
	case "Mod":
		truncated := c.node.Int("fmod", 0) == 1
		return func(a, b int64) int64 {
			if b == 0 {
				return 0
			}
			m := a % b
			if !truncated && m != 0 && (m < 0) != (b < 0) {
				m += b
			}
			return m
		}
	case "And":
		return func(a, b int64) int64 { return int64(truth(a != 0 && b != 0)) }
	case "Or":
		return func(a, b int64) int64 { return int64(truth(a != 0 || b != 0)) }
	case "Xor":
		return func(a, b int64) int64 { return int64(truth((a != 0) != (b != 0))) }
	case "Equal":
		return func(a, b int64) int64 { return int64(truth(a == b)) }
	case "Less":
		return func(a, b int64) int64 { return int64(truth(a < b)) }
	case "LessOrEqual":
		return func(a, b int64) int64 { return int64(truth(a <= b)) }
	case "Greater":
		return func(a, b int64) int64 { return int64(truth(a > b)) }
	case "GreaterOrEqual":
		return func(a, b int64) int64 { return int64(truth(a >= b)) }
	}
	return nil
}

func unary(c *call, f func(float64) float64) ([]*Value, error) {
	a := c.need(0)
	if len(c.in) == 1 && a.bare() {
		return one(a), nil
	}
	if !a.Ranked {
		return one(&Value{Type: a.Type}), nil
	}
	out := Shaped(a.Type, a.Shape...)
	if !a.Known() || f == nil {
		return one(out), nil
	}
	out.from(a)
	if a.Floats != nil {
		content := make([]float64, len(a.Floats))
		for i, x := range a.Floats {
			content[i] = f(x)
		}
		out.keep(content)
		return one(out), nil
	}
	out.Ints = make([]int64, len(a.Ints))
	for i, x := range a.Ints {
		out.Ints[i] = int64(f(float64(x)))
	}
	return one(out), nil
}

// bitwiseNot is −1 − x of numbers with a sign, and as far from the largest of others.
func bitwiseNot(c *call) ([]*Value, error) {
	low, all := bounds(c.need(0).Type)
	if low < 0 {
		all = -1
	}
	return unary(c, func(x float64) float64 { return all - x })
}

func variadic(c *call) ([]*Value, error) {
	var inputs []*Value
	for _, v := range c.in {
		if v != nil {
			inputs = append(inputs, v)
		}
	}
	if len(inputs) == 0 {
		return nil, nil
	}
	t := wide(inputs[0].Type, inputs...)
	out, err := joined(c, t, inputs...)
	if err != nil || !out.Ranked || !c.keeps(out) || !allKnown(inputs...) {
		return one(out), err
	}
	out.from(inputs...)
	var walkers []walker
	for _, v := range inputs {
		walkers = append(walkers, newWalker(v.Shape, out.Shape))
	}
	f := func(x, y float64) float64 { return x + y }
	switch c.node.Op {
	case "Min":
		f = math.Min
	case "Max":
		f = math.Max
	}
	content := make([]float64, out.Len())
	for k, v := range inputs {
		numbers, g := v.numbers(), f
		if k == 0 {
			g = func(_, y float64) float64 { return y }
		}
		eachRow(out.Shape, walkers[k:k+1], func(i, n int, at, steps []int) {
			y, step, row := at[0], steps[0], content[i:i+n]
			for j, x := range row {
				row[j], y = g(x, numbers[y]), y+step
			}
		})
	}
	if c.node.Op == "Mean" {
		for i := range content {
			content[i] /= float64(len(inputs))
		}
	}
	out.keep(content)
	return one(out), nil
}

func clip(c *call) ([]*Value, error) {
	a := c.need(0)
	if c.idle() {
		return one(a), nil
	}
	low, high := math.Inf(-1), math.Inf(1)
	if x := c.node.Attribute("min"); x != nil {
		low = float64(x.F)
	}
	if x := c.node.Attribute("max"); x != nil {
		high = float64(x.F)
	}
	known := true
	for i, limit := range []*float64{&low, &high} {
		v := c.input(i + 1)
		if v == nil {
			continue
		}
		x, ok := v.Scalar()
		*limit, known = x, known && ok
	}
	if !known {
		return one(a.unknown()), nil
	}
	out, err := unary(c, func(x float64) float64 { return math.Min(math.Max(x, low), high) })
	if err == nil {
		out[0].from(c.in...)
	}
	return out, err
}

func predicate(c *call) ([]*Value, error) {
	a := c.need(0)
	if !a.Ranked {
		return one(&Value{Type: onnx.Bool}), nil
	}
	out := Shaped(onnx.Bool, a.Shape...)
	if c.node.Op != "Not" && c.keeps(out) && c.isContent(0) {
		c.tell(out, false)
		return one(out), nil
	}
	if !a.Known() {
		return one(out), nil
	}
	out.from(a)
	out.Ints = make([]int64, a.Len())
	for i := range out.Ints {
		x := a.Number(i)
		switch c.node.Op {
		case "Not":
			out.Ints[i] = int64(truth(x == 0))
		case "IsNaN":
			out.Ints[i] = int64(truth(math.IsNaN(x)))
		case "IsInf":
			out.Ints[i] = int64(truth(math.IsInf(x, 1) && c.node.Int("detect_positive", 1) == 1 || math.IsInf(x, -1) && c.node.Int("detect_negative", 1) == 1))
		}
	}
	return one(out), nil
}

func where(c *call) ([]*Value, error) {
	condition, a, b := c.need(0), c.need(1), c.need(2)
	t := a.Type
	if t == 0 {
		t = b.Type
	}
	t = wide(t, a, b)
	out, err := joined(c, t, condition, a, b)
	if err != nil || !out.Ranked || !c.keeps(out) || !condition.Known() {
		return one(out), err
	}
	walkers := []walker{newWalker(condition.Shape, out.Shape), newWalker(a.Shape, out.Shape), newWalker(b.Shape, out.Shape)}
	c.works(out.Len())
	if !chosenKnown(condition, a, b, out.Shape, walkers) {
		return one(out), nil
	}
	out.from(condition, a, b)
	if t.IsFloat() {
		out.Floats = make([]float64, out.Len())
	} else {
		out.Ints = make([]int64, out.Len())
	}
	eachRow(out.Shape, walkers, func(i, n int, at, steps []int) {
		chooses, x, y := at[0], at[1], at[2]
		for k := i; k < i+n; k++ {
			from, element := b, y
			if condition.Number(chooses) != 0 {
				from, element = a, x
			}
			if out.Floats != nil {
				out.Floats[k] = from.Number(element)
			} else {
				out.Ints[k] = int64(from.Number(element))
			}
			chooses, x, y = chooses+steps[0], x+steps[1], y+steps[2]
		}
	})
	return one(out), nil
}

// chosenKnown reports whether the side that the condition chooses is known
// everywhere; the other may be anything.
func chosenKnown(condition, a, b *Value, shape []int, walkers []walker) bool {
	a.load()
	b.load()
	if allKnown(a, b) {
		return true
	}
	ok := true
	each(shape, walkers, func(_ int, at []int) {
		from := b
		if condition.Number(at[0]) != 0 {
			from = a
		}
		ok = ok && (from.Floats != nil || from.Ints != nil)
	})
	return ok
}

// pair is an element-wise operator of two inputs.
func pair(f func(a, b float64) float64) operator {
	return func(c *call) ([]*Value, error) { return binary(c, c.node.Op, f) }
}

// bitShift halves whole numbers again and again; of those that are shifted left, or by less than nothing, the shape is told: they may overflow.
func bitShift(c *call) ([]*Value, error) {
	a, b := c.need(0), c.need(1)
	direction := c.node.Attribute("direction")
	if direction == nil || string(direction.S) != "RIGHT" || slices.ContainsFunc(b.Ints, func(n int64) bool { return n < 0 }) {
		out, err := joined(c, a.Type, a, b)
		return one(out), err
	}
	return binary(c, c.node.Op, func(a, b float64) float64 { return math.Floor(a * math.Exp2(-b)) })
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
