package partition

import (
	"fmt"
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
)

// stages groups attentions within windows that follow each other on one grid.
func stages(all []*Partition) (out [][]*Partition) {
	var last *Partition
	for _, w := range all {
		if w.Place == nil {
			continue
		}
		if last == nil || last.Grid != w.Grid || last.Side != w.Side {
			out = append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], w)
		last = w
	}
	return out
}

// Shifting says, of the stages that have several windows along both axes, whether every second attention is shifted and
// no other (Liu et al. 2021, §3.2), in those that shift any; like is one that is shifted, nil where
// none is, and lacking are the stages that shift none: they may have been a single window when the graph was traced.
func Shifting(all []*Partition) (alternates bool, like *Partition, lacking [][]*Partition) {
	alternates = true
	for _, stage := range stages(all) {
		first := slices.IndexFunc(stage, func(w *Partition) bool { return w.Shift != [2]int{} })
		if first < 0 {
			if len(stage) > 1 {
				lacking = append(lacking, stage)
			}
			continue
		}
		like = stage[first]
		for i, w := range stage {
			alternates = alternates && (w.Shift != [2]int{}) == (i%2 == 1)
		}
	}
	return alternates, like, lacking
}

// Masks reports whether a node adds the mask of shifted windows to scores, which a change makes anew.
func Masks(e *eval.Evaluator, n *onnx.Node) bool {
	return slices.ContainsFunc(Find(e.Main), func(w *Partition) bool {
		return slices.ContainsFunc(w.Added, func(a Added) bool { return a.To == n })
	})
}

// Left says what of the windows that a graph cuts a picture into is for another size than that of an evaluation: a single window
// that is rolled, which the libraries do not; a mask of other windows; several that are not rolled, though those of other grids are. changeable
// tells that a change of the size mends it.
func Left(e *eval.Evaluator) (left string, changeable bool) {
	all := Find(e.Main)
	for _, w := range all {
		count := w.Count(w.Grid)
		if w.Shift[0] > 0 && count[0] == 1 || w.Shift[1] > 0 && count[1] == 1 {
			return w.Split.Title() + " shifts a single window", false
		}
	}
	for _, w := range all {
		if n := w.masked(e.Main); n != nil {
			return n.Title() + " masks other windows than there are", true
		}
	}
	_, like, lacking := Shifting(all)
	for _, stage := range lacking {
		if count := stage[0].Count(stage[0].Grid); like != nil && count != [2]int{1, 1} {
			return fmt.Sprintf("%d windows are never shifted, as a single one is not (%s)", count[0]*count[1], stage[1].Split.Title()), true
		}
	}
	return "", false
}

// masked is a node that adds a mask of other windows than there are, nil where there is none.
func (w *Partition) masked(s *eval.Scope) (other *onnx.Node) {
	if w.Softmax == nil {
		return nil
	}
	count := w.Count(w.Grid)
	eachAdded(s, w.Softmax, func(n *onnx.Node, _ int, v *eval.Value) {
		if axis := len(v.Shape) - 4; other == nil && axis >= 0 && v.Shape[axis] > 1 && v.Shape[axis] != count[0]*count[1] && v.Varies(axis) {
			other = n
		}
	})
	return other
}
