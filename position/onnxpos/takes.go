package onnxpos

import (
	"fmt"
	"maps"
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position/onnxpos/length"
	"github.com/modelpatch/modelpatch/position/onnxpos/sheet"
	"github.com/modelpatch/modelpatch/report"
)

// Takes reports whether the graph, as it is, runs with a picture of so many patches whose
// table it resamples itself, so that all that was of the old size follows. Where it runs and something does not follow, left says what.
func (m *Model) Takes(grid [2]int) (takes bool, left string) {
	old := m.graph.PatchGrid()
	e := m.graph.WithPatches(grid)
	if e == nil {
		return false, ""
	}
	first := m.graph.Eval
	if grid == old { // what was evaluated is not what was exported, where the picture is free: held against another size
		if !m.graph.FreeImage() {
			return true, ""
		}
		if first = m.graph.WithPatches([2]int{2 * old[0], 3 * old[1]}); first == nil {
			return true, ""
		}
	}
	for _, o := range m.graph.File.Graph.Outputs {
		before, after, made := first.Main.Value(o.Name), e.Main.Value(o.Name), m.labels().Of(m.graph.Eval.Main, o.Name)
		for d := range min(len(before.Shape), len(after.Shape)) {
			if n := before.Shape[d]; n == after.Shape[d] && m.isOfPicture(n) && m.isFree(made, d) {
				return false, fmt.Sprintf("output %s stays at %v", report.Printable(o.Name), after.Shape)
			}
		}
	}
	if n, why := length.LeftOver(first.Main, e.Main, nil); n != nil {
		return false, fmt.Sprintf("%s: %s", n.Title(), why)
	}
	for _, mask := range m.labels().Masks {
		scopes := e.Scopes()
		if mask.Scope.Index() >= len(scopes) {
			continue
		}
		before, after := mask.Scope.Enlarge(mask.Known), scopes[mask.Scope.Index()].Enlarge(mask.Known)
		if k := len(before.Shape); k > 2 && before.Known() && slices.Equal(before.Shape, after.Shape) && slices.ContainsFunc(mask.Covers, func(d int) bool { return d < k-2 && before.Varies(d) }) {
			return false, fmt.Sprintf("the mask at %s is that of the old size", mask.Node.Title())
		}
	}
	return m.shiftedEverywhere()
}

// shiftedEverywhere doubts a graph that shifts the windows of one grid, by what it adds to the scores of
// each, and never those of another: that one may have been a single window when the graph was
// traced, which is not shifted (Swin).
func (m *Model) shiftedEverywhere() (is bool, left string) {
	at := map[int]*onnx.Node{} // by number of windows, one Softmax
	shifted := map[int]bool{}
	for _, n := range m.graph.File.Graph.Nodes {
		v := m.graph.Eval.Main.Value(n.Output(0))
		k := len(v.Shape)
		if n.Op != "Softmax" || k < 4 || v.Shape[k-1] != v.Shape[k-2] {
			continue
		}
		windows := sheet.Size(v.Shape[:k-3])
		at[windows] = n
		shifted[windows] = shifted[windows] || windows > 1 && m.addsByWindow(n.Input(0), windows)
	}
	all, some := true, false
	for windows, is := range shifted {
		all, some = all && (is || windows == 1), some || is
	}
	if all || !some {
		return true, ""
	}
	for _, windows := range slices.Sorted(maps.Keys(at)) {
		if windows > 1 && !shifted[windows] {
			left = fmt.Sprintf("%d windows are never shifted, as a single one is not (%s)", windows, at[windows].Title())
		}
	}
	return false, left
}

// maxAdditions is how many numbers are added to scores one after another.
const maxAdditions = 4

// addsByWindow reports whether numbers are added to scores that differ from window to window.
func (m *Model) addsByWindow(name string, windows int) bool {
	main := m.graph.Eval.Main
	for range maxAdditions {
		n, at := main.Find(name)
		if n == nil || at != main || !eval.Is(n, eval.Addition|eval.Elements) {
			return false
		}
		if eval.Is(n, eval.Addition) {
			for i, in := range n.Inputs {
				v := main.Enlarge(in)
				if k := len(v.Shape); v.Known() && k > 2 && v.Len() >= windows*v.Shape[k-1]*v.Shape[k-2] && slices.ContainsFunc(axesTo(k-2), v.Varies) {
					return true
				}
				if !v.Known() {
					name = n.Inputs[i]
				}
			}
			continue
		}
		name = n.Input(0)
	}
	return false
}

func axesTo(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// isOfPicture reports whether a number is one of the picture's that was tried: of its pixels
// along a side, or of patches along one or in all.
func (m *Model) isOfPicture(n int) bool {
	g := m.graph.PatchGrid()
	return n > 1 && (n == m.graph.Sizes.Image || n == g[0] || n == g[1] || n == g[0]*g[1])
}
