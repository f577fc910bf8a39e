package probe

import (
	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
)

// maxFollowed bounds the readers of an input that are followed.
const maxFollowed = 256

// IsCoordinates reports whether an input of floating-point numbers holds positions: all that
// is done with them, besides bringing them into shape and multiplying them with constants,
// is to take sines and cosines. A number for each sequence of a batch is a time and none.
func IsCoordinates(f *onnx.File, in *onnx.ValueInfo) bool {
	rank := len(in.Dims)
	if !in.Type.IsFloat() || rank == 0 || rank > 3 || rank == 1 && in.Dims[0].Value < 2 {
		return false
	}
	w := f.Graph.Wiring()
	number, used := w.Number(in.Name)
	if !used {
		return false
	}
	waves := false
	queue, seen := []int{number}, map[int]bool{number: true}
	for i := 0; i < len(queue); i++ {
		for _, n := range w.Readers(queue[i]) {
			switch {
			case i >= maxFollowed:
				return false
			case n.Op == "Sin" || n.Op == "Cos":
				waves = true
				continue
			case !passes(n):
				return false
			case eval.Is(n, eval.Sizes):
				continue
			}
			for k := range n.Outputs {
				if out, ok := w.Output(n, k); ok && !seen[out] {
					seen[out] = true
					queue = append(queue, out)
				}
			}
		}
	}
	return waves
}

// passes reports whether positions may go through a node on their way to sines and cosines.
func passes(n *onnx.Node) bool {
	return n.Op == "Neg" ||
		eval.Is(n, eval.Layout|eval.Repetition|eval.Elements|eval.Sizes|eval.Scaling|eval.Product|eval.Joining|eval.Selection)
}
