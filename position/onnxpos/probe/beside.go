package probe

import (
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
)

// fitBeside gives inputs beside the main one the sizes that their convolutions want: of as many samples as a text has tokens these leave
// nothing, or a single position.
func (p *Probe) fitBeside() {
	for _, in := range Given(p.File) {
		if in == p.TokenInput() || in == p.ImageInput() || in == p.WaveInput() || !in.Type.IsFloat() || p.isConstant(in.Name) || !p.convolved(in.Name) {
			continue
		}
		var free []int
		for axis := 1; axis < len(in.Dims); axis++ {
			if in.Dims[axis].Value < 0 {
				free = append(free, axis)
			}
		}
		nodes := p.convolutionsOf(in)
		if frames, runs := framesOf(p.Eval, nodes); len(free) == 0 || len(nodes) == 0 || runs && frames >= minFrames {
			continue
		}
		p.fit(in, free, nodes)
	}
}

// fitLists takes inputs of one axis for a number for each sequence of the batch, the step of a denoiser, where the graph does not run with as
// many numbers as there are positions: tf2onnx gives every free axis a name of its own.
func (p *Probe) fitLists() {
	before := len(p.Eval.Failures)
	demand := func(size int) (any bool) {
		for _, in := range Given(p.File) {
			if len(in.Dims) == 1 && in.Dims[0].Value < 0 && in != p.TokenInput() {
				p.Demand(in.Name, 0, size)
				any = true
			}
		}
		return any && p.Refit()
	}
	if before > 0 && demand(p.Sizes.Batch) && len(p.Eval.Failures) >= before {
		demand(0) // as before
	}
}

// fit demands the least size of the free axes of an input at which the convolutions behind it run and leave enough frames; where there is
// none, the least at which they run.
func (p *Probe) fit(in *onnx.ValueInfo, free []int, nodes []*onnx.Node) {
	sizes := waveLengths
	if isPicture(in) {
		sizes = imageSizes
	}
	least := 0
	demand := func(size int) {
		for _, axis := range free {
			p.Demand(in.Name, axis, size)
		}
		p.Refit()
	}
	for _, size := range sizes {
		demand(size)
		frames, runs := framesOf(p.Eval, nodes)
		if runs && frames >= minFrames {
			return
		}
		if runs && least == 0 {
			least = size
		}
	}
	demand(least) // 0: none
}

// convolutionsOf are the convolutions behind an input.
func (p *Probe) convolutionsOf(in *onnx.ValueInfo) (out []*onnx.Node) {
	w := p.File.Graph.Wiring()
	first, used := w.Number(in.Name)
	if !used {
		return nil
	}
	queue, seen := []int{first}, map[*onnx.Node]bool{}
	for i := 0; i < len(queue) && len(seen) < maxBehindInput; i++ {
		for _, n := range w.Readers(queue[i]) {
			if seen[n] || eval.Is(n, eval.Sizes) {
				continue
			}
			seen[n] = true
			if n.IsConvolution() {
				out = append(out, n)
			}
			for k := range n.Outputs {
				if made, ok := w.Output(n, k); ok {
					queue = append(queue, made)
				}
			}
		}
	}
	p.Budget.Spend(len(seen))
	return out
}

// maxBehindInput bounds the nodes behind an input that are looked at.
const maxBehindInput = 1 << 12

// framesOf is the least number of positions that convolutions leave along their first axis of places, and whether all of them run.
func framesOf(e *eval.Evaluator, nodes []*onnx.Node) (frames int, runs bool) {
	for _, n := range nodes {
		shape := e.Main.Output(n, 0).Shape
		if len(shape) < 3 || slices.ContainsFunc(e.Failures, func(f eval.Failure) bool { return f.Node == n }) {
			return 0, false
		}
		if frames == 0 || shape[2] < frames {
			frames = shape[2]
		}
	}
	return frames, true
}
