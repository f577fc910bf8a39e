package probe

import (
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
)

// maxReaders bounds the readers of an input that are looked at.
const maxReaders = 64

// read visits the nodes that read an input, behind what brings it into shape or another type and behind what step lets pass; step
// returns whether the walk goes on behind a node, and whether what it gives is turned into its opposite. of is the input that is read.
func read(f *onnx.File, in *onnx.ValueInfo, step func(n *onnx.Node, of int, turned bool) (on, turns bool)) {
	type at struct {
		value  int
		turned bool
	}
	w := f.Graph.Wiring()
	number, used := w.Number(in.Name)
	if !used {
		return
	}
	queue, looked := []at{{number, false}}, 0
	for i := 0; i < len(queue); i++ {
		for _, n := range w.Readers(queue[i].value) {
			if looked++; looked > maxReaders {
				return
			}
			on, turns := step(n, queue[i].value, queue[i].turned)
			out, ok := w.Output(n, 0)
			next := at{out, queue[i].turned != turns}
			if on && ok && !slices.Contains(queue, next) {
				queue = append(queue, next)
			}
		}
	}
}

// isCounted reports whether the numbers of an input are summed along an axis as they are, one token after another: ones where there is one.
// Those of tokens are compared with that of padding first.
func isCounted(f *onnx.File, in *onnx.ValueInfo) (counted bool) {
	if !in.Type.IsInteger() || len(in.Dims) < 2 {
		return false
	}
	read(f, in, func(n *onnx.Node, of int, _ bool) (on, turns bool) {
		w := f.Graph.Wiring()
		first, _ := w.Input(n, 0)
		counted = counted || eval.Is(n, eval.Accumulation) && first == of
		picked := n.Op == "Gather" && first == of && isSingle(w, n, 1)
		return picked || eval.Is(n, eval.Elements|eval.Layout|eval.Resampling), false
	})
	return counted
}

// marksPadding reports whether a mask is true where there is no token: positions are counted over its opposite.
func marksPadding(f *onnx.File, in *onnx.ValueInfo) (padding bool) {
	w := f.Graph.Wiring()
	if !in.Type.IsInteger() && !in.Type.IsFloat() || len(in.Dims) < 2 {
		return false
	}
	counted := false
	read(f, in, func(n *onnx.Node, of int, turned bool) (on, turns bool) {
		first, _ := w.Input(n, 0)
		switch {
		case n.Op == "CumSum":
			padding, counted = turned && (padding || !counted), true
			return false, false
		case n.Op == "Not", eval.Is(n, eval.Comparison) && (isZero(w, n, 0) || isZero(w, n, 1)): // no mask is less than zero
			return true, n.Op == "Not" || n.Op == "Equal"
		case n.Op == "Sub" && first != of:
			return true, true
		}
		return eval.Is(n, eval.Elements|eval.Layout), false
	})
	return padding
}

// isSingle reports whether an input of a node is a constant of one number.
func isSingle(w *onnx.Wiring, n *onnx.Node, i int) bool {
	_, ok := w.Scalar(n, i)
	return ok
}

// isZero reports whether an input of a node is a constant zero.
func isZero(w *onnx.Wiring, n *onnx.Node, i int) bool {
	x, ok := w.Scalar(n, i)
	return ok && x == 0
}
