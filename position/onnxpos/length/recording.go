package length

import (
	"fmt"
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/onnxpos/probe"
)

// setRecording changes a recording of fixed length so that its convolutions
// give the new number of positions; one with free axes needs nothing.
func (c *Change) setRecording(in *onnx.ValueInfo) error {
	old, new := c.old, c.New
	fixed := int(in.Dims[len(in.Dims)-1].Value)
	if fixed < 0 {
		return nil
	}
	if old < 1 || fixed < old {
		return &position.Refusal{Why: "the length follows from that of the recording, which the graph fixes", Instead: "export the model for the wanted length of recordings"}
	}
	c.pairs = c.lengths()
	if !c.findFrames(fixed) {
		return &position.Refusal{Why: fmt.Sprintf("no length of recording was found that gives %d positions", new), Instead: "export the model for the wanted length of recordings"}
	}
	return c.run()
}

// findFrames sets the length of recording of which the convolutions make the new
// number of positions, so that constants are grown for no other: in proportion,
// or the least.
func (c *Change) findFrames(fixed int) bool {
	before, ok := c.positionsIn(c.Graph.Eval)
	if !ok {
		return false
	}
	positions := func(frames int) int {
		c.Frames = frames
		n, _ := c.positionsIn(c.probe())
		return n - before
	}
	for _, usual := range []int{fixed * c.New / c.old, fixed + (c.New-c.old)*(fixed/c.old)} { // as many a position as now
		if positions(usual) == c.New-c.old {
			return true
		}
	}
	low, high := fixed, fixed
	if c.New < c.old {
		low = 1
	}
	for ; positions(high) < c.New-c.old; high *= 2 {
		if high > maxFrames {
			return false
		}
		low = high
	}
	for high-low > 1 {
		if middle := (low + high) / 2; positions(middle) < c.New-c.old {
			low = middle
		} else {
			high = middle
		}
	}
	return positions(high) == c.New-c.old
}

// maxFrames bounds the recordings that are tried: hours at 16 kHz.
const maxFrames = 1 << 28

// positionsIn is how many positions the convolutions make of the recording: the
// rows of the state that a table is added to.
func (c *Change) positionsIn(e *eval.Evaluator) (n int, ok bool) {
	for _, s := range c.sites {
		scope, state := s.State()
		if scope == nil {
			continue
		}
		i := scope.Index()
		if i < 0 || i >= len(e.Scopes()) {
			continue
		}
		if v := e.Scopes()[i].Value(state); len(v.Shape) >= 2 {
			return v.Shape[len(v.Shape)-2], true
		}
	}
	return 0, false
}

// recordingInputs are probing inputs with a recording of the new length.
func (c *Change) recordingInputs() map[string]*eval.Value {
	graph := *c.Graph.File.Graph
	graph.Inputs = nil
	recording := c.Graph.Recording()
	for _, in := range c.Graph.File.Graph.Inputs {
		if in == recording {
			copied := *in
			copied.Dims = slices.Clone(in.Dims)
			copied.Dims[len(copied.Dims)-1].Value = int64(c.Frames)
			in = &copied
		}
		graph.Inputs = append(graph.Inputs, in)
	}
	free := *c.Graph.File
	free.Graph = &graph
	return probe.Inputs(&free, c.sizes)
}
