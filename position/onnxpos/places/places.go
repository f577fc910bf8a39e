// Package places follows what a graph of pictures keeps of its places, node by node while it is evaluated with a picture of another
// size: anchors of detectors, the grids that their numbers are of, what counts places. What cannot be told is a doubt; what runs all the
// same and is of the old picture is told as left over.
package places

import (
	"fmt"
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/schemes"
)

// Input is an input of a node.
type Input struct {
	Node  *onnx.Node
	Index int
}

// Places are those of one evaluation at another size of the picture.
type Places struct {
	old     *eval.Scope    // the main graph at its old size
	levels  map[int]levels // of which grids a number of places is made; of none where that cannot be told
	waves   []schemes.Sinusoid
	follows func(axis, was, is int) bool
	made    map[meeting]*eval.Value
	Placed  map[Input]*eval.Value // what inputs of nodes become
	Doubts  map[*onnx.Node]string // nodes of which it cannot be told what becomes of them, and why
	Stuck   map[*onnx.Node]string // those that run all the same
}

// New begins an evaluation beside that of the old size. waves are the sinusoids of grids that the graph computes; follows reports
// whether a size along an axis, 0 for rows, changed as the picture did.
func New(old *eval.Scope, waves []schemes.Sinusoid, follows func(axis, was, is int) bool) *Places {
	return &Places{old: old, levels: map[int]levels{}, made: map[meeting]*eval.Value{}, waves: waves, follows: follows, Placed: map[Input]*eval.Value{}, Doubts: map[*onnx.Node]string{}, Stuck: map[*onnx.Node]string{}}
}

// Adjust gives a node, that computes element by element or picks places, the numbers of the places that there are now.
func (z *Places) Adjust(n *onnx.Node, inputs []*eval.Value) {
	if eval.Is(n, eval.Lookups) {
		z.picked(n, inputs)
	}
	if n.Op == "Concat" || eval.Is(n, eval.ByElement|eval.Choice|eval.Comparison) {
		z.anchors(n, inputs)
		z.divisor(n, inputs)
		z.rooted(n, inputs)
	}
}

// levels are grids of places whose places are joined in one axis, one grid behind the other, before and now.
type levels struct{ was, is [][2]int }

func (l levels) places() (was, is int) {
	for i := range l.was {
		was += l.was[i][0] * l.was[i][1]
		is += l.is[i][0] * l.is[i][1]
	}
	return was, is
}

// Join remembers that the places of one grid, of rows and columns, are joined in one axis.
func (z *Places) Join(was, is [2]int) { z.note(levels{[][2]int{was}, [][2]int{is}}) }

// note remembers of which grids a number of places is made; of none where that is not one and the same.
func (z *Places) note(l levels) {
	was, _ := l.places()
	if known, ok := z.levels[was]; ok && !(slices.Equal(known.was, l.was) && slices.Equal(known.is, l.is)) {
		l = levels{}
	}
	z.levels[was] = l
}

// Concat remembers the grids of which the places are put one behind the other.
func (z *Places) Concat(n *onnx.Node, inputs []*eval.Value) {
	made := z.old.Output(n, 0).Shape
	for axis := range made {
		var joined levels
		for i, v := range inputs {
			was := z.old.Input(n, i).Shape
			if v == nil || len(was) != len(made) || len(v.Shape) != len(made) {
				return
			}
			l, ok := z.levels[was[axis]]
			if _, now := l.places(); !ok || len(l.was) == 0 || now != v.Shape[axis] {
				joined = levels{}
				break
			}
			joined = levels{append(slices.Clone(joined.was), l.was...), append(slices.Clone(joined.is), l.is...)}
		}
		if was, is := joined.places(); was == made[axis] && was != is {
			z.note(joined)
		}
	}
}

// Split says which parts a Split makes now that made those of each grid; why says what cannot be told.
func (z *Places) Split(n *onnx.Node, inputs []*eval.Value, parts []int64) (to []int64, why string) {
	was := z.old.Input(n, 0).Shape
	if len(parts) == 0 || inputs[0] == nil || len(inputs[0].Shape) != len(was) {
		return nil, ""
	}
	axis := n.Axis(0, len(was))
	if axis < 0 || was[axis] == inputs[0].Shape[axis] {
		return nil, ""
	}
	l := z.levels[was[axis]]
	for i, part := range parts {
		if len(l.was) != len(parts) || int64(l.was[i][0]*l.was[i][1]) != part {
			return nil, fmt.Sprintf("into which parts %d is split, as %d was into %v, cannot be told", inputs[0].Shape[axis], was[axis], parts)
		}
		to = append(to, int64(l.is[i][0]*l.is[i][1]))
	}
	return to, ""
}

// Cut says where a Slice cuts places now that took whole grids of them.
func (z *Places) Cut(was, is int, start, end int64) (first, last int64, ok bool) {
	l := z.levels[was]
	if _, now := l.places(); len(l.was) < 2 || now != is {
		return 0, 0, false
	}
	bounds := map[int64]int64{0: 0}
	for i := range l.was {
		a, b := levels{l.was[:i+1], l.is[:i+1]}.places()
		bounds[int64(a)] = int64(b)
	}
	first, starts := bounds[start]
	last, ends := bounds[min(end, int64(was))]
	return first, last, starts && ends
}
