package onnxpos

import (
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position"
)

// recording is an audio input that convolutions shorten to positions: features
// of frames, or a waveform; nil when there is none.
func (m *Model) recording() *onnx.ValueInfo {
	if in := m.audio(); in != nil && m.convolved(in.Name) && m.imageInput() == nil {
		return in
	}
	return nil
}

// setRecording lengthens a recording of fixed length so that its convolutions
// give the new number of positions; one with free axes needs nothing.
func (m *Model) setRecording(in *onnx.ValueInfo, old, new int) error {
	fixed := int(in.Dims[len(in.Dims)-1].Value)
	if fixed < 0 {
		return nil
	}
	if old < 1 || fixed < old {
		return &position.Refusal{Why: "the length follows from that of the recording, which the graph fixes", Instead: "export the model for the wanted length of recordings"}
	}
	c := &lengthChange{m: m, old: old, new: new, sizes: m.sizes, planned: map[*onnx.Tensor]*plannedConstant{}, known: map[*onnx.Node]bool{}}
	c.pairs = c.lengths()
	// Strides multiply: so many samples more a position, and borders stay.
	stride := (fixed + old - 1) / old
	for _, frames := range []int{fixed + (new-old)*stride, fixed * new / old, fixed + (new-old)*(fixed/old)} {
		c.frames = frames
		if f, _ := c.problem(); f == nil {
			break
		}
	}
	return c.run()
}

// recordingInputs are probing inputs with a recording of the new length.
func (c *lengthChange) recordingInputs() map[string]*eval.Value {
	graph := *c.m.file.Graph
	graph.Inputs = nil
	recording := c.m.recording()
	for _, in := range c.m.file.Graph.Inputs {
		if in == recording {
			copied := *in
			copied.Dims = slices.Clone(in.Dims)
			copied.Dims[len(copied.Dims)-1].Value = int64(c.frames)
			in = &copied
		}
		graph.Inputs = append(graph.Inputs, in)
	}
	free := *c.m.file
	free.Graph = &graph
	return probeInputs(&free, c.sizes)
}
