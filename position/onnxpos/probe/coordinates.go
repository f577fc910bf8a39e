package probe

import (
	"math"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
)

// maxFollowed bounds the readers of an input that are followed.
const maxFollowed = 256

// IsCoordinates reports whether an input holds positions by what is done with it: besides bringing it into
// shape and multiplying it with constants, sines and cosines are taken of it, or rows of a table of them. A number
// for each sequence of a batch is a time and none.
func IsCoordinates(f *onnx.File, in *onnx.ValueInfo) bool {
	rank := len(in.Dims)
	if in.Type == onnx.Bool || rank == 0 || rank > 3 || rank == 1 && in.Dims[0].Value < 2 {
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
			case n.Op == "Sin" || n.Op == "Cos" || in.Type.IsInteger() && takesWaves(w, n, queue[i]):
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

// takesWaves reports whether a node takes rows of a table of sines or cosines by an index.
func takesWaves(w *onnx.Wiring, n *onnx.Node, index int) bool {
	if n.Op != "Gather" || n.Int("axis", 0) != 0 {
		return false
	}
	at, ok := w.Input(n, 1)
	data, has := w.Input(n, 0)
	if !ok || !has || at != index {
		return false
	}
	t := w.Constant(data)
	if made := w.Producer(data); t == nil && made != nil && made.Op == "Constant" && made.Attribute("value") != nil {
		t = made.Attribute("value").Tensor
	}
	if t == nil || !t.Type.IsFloat() || len(t.Dims) < 2 || t.Dims[0] < 4 || t.Complete() != nil {
		return false
	}
	columns := int(t.Len() / t.Dims[0])
	x, err := t.Floats(0, 4*int64(columns))
	return err == nil && columns > 0 && turns(x, columns)
}

// turns reports whether the first four rows of a table go on as sines or cosines do, of one amplitude or another: each follows
// from the two before it by twice the cosine of the step.
func turns(x []float64, columns int) bool {
	largest, moves := 0.0, 0.0
	for i, v := range x {
		largest = max(largest, math.Abs(v))
		moves = max(moves, math.Abs(v-x[i%columns]))
	}
	told := 0 // columns whose step is told
	for i := range columns {
		x0, x1, x2, x3 := x[i], x[columns+i], x[2*columns+i], x[3*columns+i]
		if math.Abs(x1) <= waveTolerance*largest { // too little to tell the step
			continue
		}
		twice := (x2 + x0) / x1
		if math.Abs(twice) > 2+waveTolerance || math.Abs(twice*x2-x1-x3) > waveTolerance*largest {
			return false
		}
		told++
	}
	return 4*told >= columns && moves > turned*largest
}

// waveTolerance is how far sines that are rounded to 16 bits may be from their formula, as a part of their amplitude; turned is how
// far the fastest has to go from where it began, within three positions.
const (
	waveTolerance = 1e-2
	turned        = 0.3
)

// passes reports whether positions may go through a node on their way to sines and cosines.
func passes(n *onnx.Node) bool {
	return n.Op == "Neg" ||
		eval.Is(n, eval.Layout|eval.Repetition|eval.Elements|eval.Sizes|eval.Scaling|eval.Product|eval.Joining|eval.Selection)
}
