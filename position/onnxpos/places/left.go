package places

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position/onnxpos/trace"
)

// LeftOver is a node of the main graph that treats a picture of another size as the old one, by numbers
// that do not follow it: it resamples to a size, samples at places, cuts or picks in the later half
// of what there was, or anywhere in an axis of the patches alone, as many as before and as now: no class token can be there.
// told are inputs of nodes that follow; nil where none do.
func LeftOver(before, after *eval.Scope, patches [2]int, told func(n *onnx.Node, input int) bool) (left *onnx.Node, why string) {
	for _, n := range before.Graph.Nodes {
		data := 0
		if eval.Is(n, eval.Scaling) && before.Input(n, 0).Known() { // a factor stands on either side
			data = 1
		}
		was, is := before.Input(n, data), after.Input(n, data)
		if !was.Ranked || len(was.Shape) != len(is.Shape) || slices.Equal(was.Shape, is.Shape) {
			continue
		}
		if scattersAsBefore(before, after, n) {
			return n, "it writes at the places of the old picture alone"
		}
		if was.Known() {
			continue
		}
		made := after.Output(n, 0)
		stays := slices.Equal(before.Output(n, 0).Shape, made.Shape)
		switch n.Op {
		case "Resize", "Upsample":
			if stays {
				return n, fmt.Sprintf("it gives %v, whatever the picture", made.Shape)
			}
		case "GridSample":
			if stays && before.Tensor(n.Input(1)) != nil {
				return n, fmt.Sprintf("it gives %v, whatever the picture", made.Shape)
			}
		case "AveragePool":
			if side, ok := poolsAll(before, n, was.Shape, is.Shape); ok {
				return n, fmt.Sprintf("it makes one place of every %d, and whether their side or their number follows the picture is not in the file", side)
			}
		case "Mul", "Div":
			if places, ok := rootOf(before, after, n, told); ok {
				return n, fmt.Sprintf("it scales by the root of one over %d what is summed over the places of the picture", places)
			}
		default:
			if at, ok := CutsAt(before, after, n, patches, told); ok {
				return n, fmt.Sprintf("it cuts at %d, and whether that follows the picture is not in the file", at)
			}
		}
	}
	return nil, ""
}

// poolsAll reports whether a node pools all places of an axis that changed in parts of one side, as adaptive pooling does to a number of
// parts: it makes one part, or another node makes parts of another side of the same value.
func poolsAll(s *eval.Scope, n *onnx.Node, was, is []int) (side int, ok bool) {
	kernel := n.Ints("kernel_shape")
	if len(kernel)+2 != len(was) || !slices.Equal(kernel, n.Ints("strides")) || slices.ContainsFunc(n.Ints("pads"), func(pad int64) bool { return pad != 0 }) {
		return 0, false
	}
	beside := slices.ContainsFunc(s.Consumers(n.Input(0)), func(o *onnx.Node) bool {
		return o.Op == n.Op && !slices.Equal(o.Ints("kernel_shape"), kernel) && slices.Equal(o.Ints("kernel_shape"), o.Ints("strides"))
	})
	for d, k := range kernel {
		if size := was[d+2]; size != is[d+2] && k > 1 && int64(size)%k == 0 && (beside || int64(size) == k && k > 2) {
			return int(k), true
		}
	}
	return 0, false
}

// rootOf is the whole number of which a factor is the root, or the fourth root, of one over it, where the next product sums what it scales
// over an axis that changed: that was the number of its places.
func rootOf(before, after *eval.Scope, n *onnx.Node, told func(n *onnx.Node, input int) bool) (places int, ok bool) {
	for i := range n.Inputs {
		x, scalar := before.Input(n, i).Scalar()
		if !scalar || !before.Input(n, i).Type.IsFloat() || told != nil && told(n, i) {
			continue
		}
		was, is := before.Input(n, 1-min(i, 1)), after.Input(n, 1-min(i, 1))
		if len(was.Shape) != len(is.Shape) || was.Known() {
			return 0, false
		}
		if a, b := summedOver(before, n.Output(0), was.Shape, is.Shape); a == b {
			return 0, false
		}
		if n.Op == "Mul" {
			x = 1 / x
		}
		for _, power := range []float64{2, 4} {
			if whole := math.Round(math.Pow(x, power)); whole > 1 && whole < math.MaxInt32 && math.Abs(math.Pow(whole, 1/power)/x-1) < rootError {
				return int(whole), !slices.Contains(was.Shape, int(whole)) // else that of a head's columns
			}
		}
	}
	return 0, false
}

// scattersAsBefore reports whether a node scatters into an axis that is larger or smaller now, at the same places, and at as many as the axis
// had before: at one or a few of them a class token may stand.
func scattersAsBefore(before, after *eval.Scope, n *onnx.Node) bool {
	at := before.Input(n, 1)
	if !strings.HasPrefix(n.Op, "Scatter") || !at.Known() || len(at.Shape) == 0 || !slices.Equal(at.Ints, after.Input(n, 1).Ints) {
		return false
	}
	places := at.Len()
	if n.Op == "ScatterND" {
		places /= max(at.Shape[len(at.Shape)-1], 1)
	}
	was, is := before.Input(n, 0).Shape, after.Input(n, 0).Shape
	for d, size := range was {
		if size != is[d] && places >= size && size > 1 {
			return true
		}
	}
	return false
}

// CutsAt is a place in the later half of an axis of data, as long as it was, that a Slice or Gather cuts or picks
// at another size, too. patches and told are as in LeftOver; zeros are no patches.
func CutsAt(before, after *eval.Scope, n *onnx.Node, patches [2]int, told func(n *onnx.Node, input int) bool) (at int64, ok bool) {
	was, is := before.Input(n, 0).Shape, after.Input(n, 0).Shape
	if n.Op != "Slice" && !eval.Is(n, eval.Lookups) || len(was) != len(is) || after.Input(n, 0).Known() {
		return 0, false
	}
	late := func(axis int, x int64) bool { // or behind the end, and not any more
		axis = onnx.Dimension(int64(axis), len(was))
		return axis >= 0 && was[axis] != is[axis] && (2*x > int64(was[axis]) && x <= int64(max(was[axis], is[axis]-1)) || x > 0 && x < int64(was[axis]) && was[axis] == patches[0] && is[axis] == patches[1])
	}
	if n.Op != "Slice" {
		index, first, axes := before.Input(n, 1), int(n.Int("axis", 0)), 1
		if told != nil && told(n, 1) || !index.Known() || !slices.Equal(index.Ints, after.Input(n, 1).Ints) {
			return 0, false
		}
		if k := len(index.Shape); n.Op == "GatherND" && k > 0 { // each place by its coordinates
			first, axes = int(n.Int("batch_dims", 0)), max(index.Shape[k-1], 1)
		}
		for i, x := range index.Ints {
			if late(first+i%axes, x) {
				return x, true
			}
		}
		return 0, false
	}
	axes := trace.ListOf(before, n, "axes", 3)
	for i, name := range []string{"starts", "ends"} {
		input := i + 1
		limits := trace.ListOf(before, n, name, input)
		if told != nil && told(n, input) || !slices.Equal(limits, trace.ListOf(after, n, name, input)) {
			continue
		}
		for i, x := range limits {
			axis := i
			if i < len(axes) {
				axis = int(axes[i])
			}
			if late(axis, x) {
				return x, true
			}
		}
	}
	return 0, false
}
