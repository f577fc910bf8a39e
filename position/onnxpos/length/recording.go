package length

import (
	"fmt"
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position"
)

// setRecording changes a recording so that its convolutions give the new number of positions.
// One whose length is free is evaluated at that length all the same.
func (c *Change) setRecording(in *onnx.ValueInfo) error {
	instead := "export the model for the wanted length of recordings"
	before, ok := c.positionsIn(c.Graph.Eval)
	c.framesAxis = c.axisOfFrames(in, before)
	fixed := in.Dims[c.framesAxis].Value > 0
	switch {
	case !ok && !fixed:
		return nil // nothing counts positions
	case !ok || fixed && c.old < 1:
		return &position.Refusal{Why: "the length follows from that of the recording, which the graph fixes", Instead: instead}
	}
	c.pairs = c.lengths()
	more := c.New - before // of a graph of one length, prefix tokens stay
	if fixed {
		more = c.New - c.old
	}
	found := c.findFrames(in, before, more)
	if !found {
		c.folded = true
		c.framesAxis = c.axisOfFrames(in, before)
		found = c.findFrames(in, before, more)
	}
	if !found {
		return &position.Refusal{Why: fmt.Sprintf("no length of recording was found that gives %d positions", c.New), Instead: instead}
	}
	return c.run()
}

// axisOfFrames is the axis of a recording that becomes positions: the free one, else the one of which
// twice as many give another number of them.
func (c *Change) axisOfFrames(in *onnx.ValueInfo, before int) int {
	last := len(in.Dims) - 1
	var free []int
	for axis := 1; axis <= last; axis++ {
		if in.Dims[axis].Value < 0 {
			free = append(free, axis)
		}
	}
	if len(free) == 1 {
		return free[0]
	}
	for axis := last; axis > 1; axis-- {
		c.framesAxis, c.Frames = axis, 2*c.frames(in, axis)
		n, ok := c.positionsIn(c.probe())
		if c.Frames = 0; ok && n != before {
			return axis
		}
	}
	return min(1, last)
}

// frames is the size of an axis of a recording at which the graph was evaluated.
func (c *Change) frames(in *onnx.ValueInfo, axis int) int {
	return c.Graph.Eval.Main.Value(in.Name).Shape[axis]
}

// findFrames sets the length of recording of which the convolutions make more positions than before, so
// that constants are grown for no other: in proportion, or the least.
func (c *Change) findFrames(in *onnx.ValueInfo, before, more int) bool {
	now := c.frames(in, c.framesAxis)
	positions := func(frames int) int {
		c.Frames = frames
		n, _ := c.positionsIn(c.probe())
		return n - before
	}
	for _, usual := range []int{now * (before + more) / before, now + more*(now/before)} { // as many a position as now
		if usual > 0 && positions(usual) == more {
			return true
		}
	}
	low, high := now, now
	if more < 0 {
		low = 1
	}
	for ; positions(high) < more; high *= 2 {
		if high > maxFrames {
			return false
		}
		low = high
	}
	for high-low > 1 {
		if middle := (low + high) / 2; positions(middle) < more {
			low = middle
		} else {
			high = middle
		}
	}
	return positions(high) == more
}

// maxFrames bounds the recordings that are tried: hours at 16 kHz.
const maxFrames = 1 << 28

// positionsIn is how many positions the convolutions make of the recording: those of the data that an
// encoding meets, or, for constants of shapes may not follow yet, of what the data are made of, as far
// back as there are as many.
func (c *Change) positionsIn(e *eval.Evaluator) (n int, ok bool) {
	for _, s := range c.sites {
		scope, state, axis := s.State()
		if scope == nil {
			continue
		}
		i := scope.Index()
		if i < 0 || i >= len(e.Scopes()) {
			continue
		}
		whole := scope.Value(state).Shape
		if len(whole) < axis {
			continue
		}
		before := whole[len(whole)-axis]
		n = before
		for range maxBefore {
			was, is := scope.Value(state), e.Scopes()[i].Value(state)
			if axis := slices.Index(was.Shape, before); axis >= 0 && len(is.Shape) == len(was.Shape) && is.Shape[axis] != before {
				n = is.Shape[axis]
			}
			node, at := scope.Find(state)
			if node == nil || at != scope {
				break
			}
			data := slices.IndexFunc(node.Inputs, func(in string) bool { return in != "" && !scope.Value(in).Known() })
			if data < 0 {
				break
			}
			state = node.Input(data)
		}
		return n, true
	}
	return 0, false
}

// maxBefore bounds the nodes that are followed back to one that runs.
const maxBefore = 64
