package places

import (
	"fmt"
	"math"
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position/onnxpos/trace"
)

// divisor gives a Div by a side of the old picture, or by sides of grids, that of the new one: what the graph counts itself
// was as many, and is now others; or pairs of sides of all grids stand there, one behind the other.
func (z *Places) divisor(n *onnx.Node, inputs []*eval.Value) {
	if n.Op != "Div" || inputs[0] == nil || inputs[1] == nil || !inputs[1].Known() || inputs[1].Len() == 0 || inputs[1].Len() > maxDivisors || !slices.Equal(inputs[1].Shape, z.old.Input(n, 1).Shape) {
		return
	}
	by, was, is := inputs[1], z.old.Input(n, 0), inputs[0]
	to := make([]float64, by.Len())
	for i := range to {
		to[i] = by.Number(i)
	}
	x, one := uniformOf(by)
	if before, ok := uniformOf(was); ok && one && before == x && x > 1 {
		now, ok := uniformOf(is)
		_, places := z.levels[int(before)].places()
		if !ok || now == before || places != int(now) && !z.follows(0, int(before), int(now)) && !z.follows(1, int(before), int(now)) {
			return
		}
		for i := range to {
			to[i] = now
		}
	} else if same, why := z.sidesOf(to); why != "" {
		z.Stuck[n] = why
		return
	} else if !same {
		return
	}
	z.place(n, inputs, 1, to)
}

// place puts other numbers in the place of those of an input, of one shape.
func (z *Places) place(n *onnx.Node, inputs []*eval.Value, input int, to []float64) {
	made := valueOf(inputs[input].Type, inputs[input].Shape, to)
	inputs[input], z.Placed[Input{n, input}] = made, made
}

// sidesOf puts in the place of pairs of sides of several grids those that they have now; why says what cannot be told.
func (z *Places) sidesOf(x []float64) (same bool, why string) {
	for _, l := range z.levels {
		if len(l.was) < 2 || len(x) != 2*len(l.was) {
			continue
		}
		var is [2]bool
		for turned := range 2 { // height and width, or width and height
			is[turned] = true
			for i, g := range l.was {
				is[turned] = is[turned] && x[2*i] == float64(g[turned]) && x[2*i+1] == float64(g[1-turned])
			}
		}
		if is == [2]bool{true, true} && slices.ContainsFunc(l.is, func(g [2]int) bool { return g[0] != g[1] }) {
			return false, fmt.Sprintf("%v are sides of square grids, and which of two is the height is not in the file", x)
		}
		for turned := range 2 {
			if is[turned] {
				for i, g := range l.is {
					x[2*i], x[2*i+1] = float64(g[turned]), float64(g[1-turned])
				}
				return true, ""
			}
		}
	}
	return false, ""
}

// rooted has a factor that is one over the root of the number of places, over which what it scales is summed in the next product
// (attention between channels: DaViT), follow their number.
func (z *Places) rooted(n *onnx.Node, inputs []*eval.Value) {
	if n.Op != "Mul" && n.Op != "Div" || len(inputs) != 2 {
		return
	}
	for i, v := range inputs {
		data := inputs[1-i]
		if v == nil || data == nil || data.Known() || i == 0 && n.Op == "Div" {
			continue
		}
		x, ok := v.Scalar()
		if !ok || !v.Type.IsFloat() || x == 0 {
			continue
		}
		if n.Op == "Div" {
			x = 1 / x
		}
		before := z.old.Input(n, 1-i).Shape
		if len(before) != len(data.Shape) {
			return
		}
		was, is := summedOver(z.old, n.Output(0), before, data.Shape)
		for _, power := range []float64{-0.5, -0.25} { // of one side, or of each
			if was == is || was < 2 || math.Abs(x/math.Pow(float64(was), power)-1) > rootError {
				continue
			}
			others := slices.Clone(before) // sizes beside the places
			if at := slices.Index(others, was); at >= 0 {
				others = slices.Delete(others, at, at+1)
			}
			if columns := math.Round(1 / (x * x)); columns > 1 && slices.Contains(others, int(columns)) && math.Abs(x*math.Sqrt(columns)-1) <= rootError {
				z.Doubts[n] = fmt.Sprintf("it scales by one over the root of %g, which is that of its columns, or a root of the %d places over which it is summed: which of the two is not in the file", columns, was)
				return
			}
			to := math.Pow(float64(is), power)
			if n.Op == "Div" {
				to = 1 / to
			}
			z.place(n, inputs, i, []float64{to})
		}
		return
	}
}

// rootError is how far a factor that was rounded to float32 may be from its root.
const rootError = 1e-6

// summedOver is the size of the axis over which the next product sums a value, as it was, and what it is now, by the shapes of the
// value; zeros where that is not told.
func summedOver(s *eval.Scope, name string, before, after []int) (was, is int) {
	axes := make([]int64, len(before)) // where each axis came from
	for i := range axes {
		axes[i] = int64(i)
	}
	for range maxToProduct {
		n := trace.Only(s, name)
		switch k := len(axes); {
		case n == nil:
			return 0, 0
		case n.Op == "MatMul" && k > 1:
			d := axes[k-1]
			if n.Input(1) == name {
				d = axes[k-2]
			}
			return before[d], after[d]
		case n.Op == "Transpose" && len(n.Ints("perm")) == k:
			moved := make([]int64, k)
			for i, from := range n.Ints("perm") {
				if from < 0 || int(from) >= k {
					return 0, 0
				}
				moved[i] = axes[from]
			}
			axes = moved
		case !eval.Is(n, eval.Elements):
			return 0, 0
		}
		name = n.Output(0)
	}
	return 0, 0
}

// maxToProduct bounds the nodes between a factor and the product of what it scales.
const maxToProduct = 6

// uniformOf is the one number of a known value, of one or more elements.
func uniformOf(v *eval.Value) (x float64, ok bool) {
	if !v.Known() || v.Len() == 0 || v.Len() > maxAnchors {
		return 0, false
	}
	x = v.Number(0)
	for i := range v.Len() {
		if v.Number(i) != x {
			return 0, false
		}
	}
	return x, true
}
