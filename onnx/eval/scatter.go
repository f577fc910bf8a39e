package eval

import (
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
)

// scatterShapes checks what ScatterND demands: updates have the shape of the
// indices without their last axis, and then that of what an index picks; known
// indices lie inside.
func scatterShapes(c *call, a, index, updates *Value) error {
	k := len(index.Shape)
	if !index.Ranked || !updates.Ranked || k == 0 || index.Shape[k-1] > len(a.Shape) {
		return nil
	}
	if want := slices.Concat(index.Shape[:k-1], a.Shape[index.Shape[k-1]:]); !slices.Equal(want, updates.Shape) {
		return c.fail("updates of shape %v for indices of %v", updates.Shape, index.Shape)
	}
	if !index.Known() || index.Ints == nil {
		return nil
	}
	c.works(len(index.Ints))
	for i, x := range index.Ints {
		if n := int64(a.Shape[i%index.Shape[k-1]]); x < -n || x >= n {
			return c.fail("index %d is outside [%d, %d]", x, -n, n-1)
		}
	}
	return nil
}

// replaces reports whether a scatter overwrites what is there: ONNX's default
// reduction.
func (c *call) replaces() bool {
	a := c.node.Attribute("reduction")
	return a == nil || string(a.S) == "none"
}

// scatter checks what both scatters need, and leaves the rest to one of them: it
// writes into out, which has the shape of what is written into.
func scatter(c *call, into func(c *call, a, index, updates, out *Value) ([]*Value, error)) ([]*Value, error) {
	a, index := c.need(0), c.need(1)
	if index.Type.IsFloat() {
		return nil, c.fail("indices of type %v", index.Type)
	}
	if !a.Ranked {
		return one(&Value{Type: a.Type}), nil
	}
	return into(c, a, index, c.need(2), Shaped(wide(a.Type, c.need(2)), a.Shape...))
}

func intoND(c *call) ([]*Value, error) { return scatter(c, scatterND) }

func intoElements(c *call) ([]*Value, error) { return scatter(c, scatterElements) }

func scatterElements(c *call, a, index, updates, out *Value) ([]*Value, error) {
	switch {
	case !index.Ranked || !updates.Ranked:
		return one(out), nil
	case !slices.Equal(index.Shape, updates.Shape):
		return nil, c.fail("updates of shape %v for indices of %v", updates.Shape, index.Shape)
	}
	indices, axis, err := c.elementIndices(a, index)
	if err != nil {
		return nil, err
	}
	if indices == nil || !c.replaces() || out.Len() > c.most() || !allKnown(a, updates) || (a.Floats == nil) != (updates.Floats == nil) {
		return one(out), nil
	}
	out.from(a, index, updates)
	out.Ints, out.Floats = slices.Clone(a.Ints), slices.Clone(a.Floats)
	strides := onnx.Strides(a.Shape)
	along := strides[axis]
	strides[axis] = 0
	each(index.Shape, []walker{{strides}}, func(i int, at []int) {
		to := at[0] + indices[i]*along
		if out.Floats != nil {
			out.Floats[to] = updates.Floats[i]
		} else {
			out.Ints[to] = updates.Ints[i]
		}
	})
	return one(out), nil
}

func scatterND(c *call, a, index, updates, out *Value) ([]*Value, error) {
	if err := scatterShapes(c, a, index, updates); err != nil {
		return nil, err
	}
	if !c.replaces() || out.Len() > c.most() || !allKnown(a, index, updates) || len(index.Shape) == 0 {
		return one(out), nil
	}
	out.from(a, index, updates)
	out.Ints, out.Floats = slices.Clone(a.Ints), slices.Clone(a.Floats)
	last := index.Shape[len(index.Shape)-1]
	if last > len(a.Shape) || last == 0 {
		return one(Shaped(a.Type, a.Shape...)), nil
	}
	inner, given := onnx.Size(a.Shape[last:]), updates.Len()
	strides := make([]int, last)
	for k := range strides {
		strides[k] = onnx.Size(a.Shape[k+1:])
	}
	for i := range index.Len() / last {
		at := 0
		for k := range last {
			x, n := index.Ints[i*last+k], int64(a.Shape[k])
			if x < -n || x >= n {
				return nil, c.fail("index %d is outside [%d, %d]", x, -n, n-1)
			}
			if x < 0 {
				x += n
			}
			at += int(x) * strides[k]
		}
		if (i+1)*inner > given {
			break
		}
		if out.Floats != nil && updates.Floats != nil {
			copy(out.Floats[at:at+inner], updates.Floats[i*inner:])
		} else if out.Ints != nil && updates.Ints != nil {
			copy(out.Ints[at:at+inner], updates.Ints[i*inner:])
		}
	}
	return one(out), nil
}
