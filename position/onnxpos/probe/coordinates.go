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
	if t == nil || !t.Type.IsFloat() || len(t.Dims) < 2 || t.Dims[0] < 3 || t.Complete() != nil {
		return false
	}
	x, err := t.Floats(0, 3*(t.Len()/t.Dims[0]))
	if err != nil {
		return false
	}
	columns := len(x) / 3
	return columns > 0 && (isDoubled(x, columns, 0, func(sine float64) float64 { return 2 * sine * math.Sqrt(max(1-sine*sine, 0)) }) ||
		isDoubled(x, columns, 1, func(cosine float64) float64 { return 2*cosine*cosine - 1 }))
}

// isDoubled reports whether the third row of a table follows from the second as the sine or cosine of twice
// an angle does, and the first is that of none.
func isDoubled(x []float64, columns int, none float64, double func(float64) float64) bool {
	turns := false
	for i := range columns {
		once, twice := x[columns+i], x[2*columns+i]
		if x[i] != none || math.Abs(once) > 1+waveTolerance || math.Abs(math.Abs(twice)-math.Abs(double(once))) > waveTolerance {
			return false
		}
		turns = turns || math.Abs(twice-none) > turned
	}
	return turns
}

// waveTolerance is how far sines that are rounded to 16 bits may be from their formula; turned is how far the fastest
// has to be from where it began, at two positions.
const (
	waveTolerance = 1e-2
	turned        = 0.3
)

// passes reports whether positions may go through a node on their way to sines and cosines.
func passes(n *onnx.Node) bool {
	return n.Op == "Neg" ||
		eval.Is(n, eval.Layout|eval.Repetition|eval.Elements|eval.Sizes|eval.Scaling|eval.Product|eval.Joining|eval.Selection)
}
