package onnxpos

import (
	"fmt"
	"slices"

	"github.com/modelpatch/modelpatch/report"
)

// Takes reports whether the graph, as it is, runs with a picture of so many patches whose
// table it resamples itself, so that all that was of the old size follows. Only square
// pictures are tried. Where it runs and something does not follow, left says what.
func (m *Model) Takes(grid [2]int) (takes bool, left string) {
	old := m.graph.PatchGrid()
	e := m.graph.WithPatches(grid)
	if e == nil {
		return false, ""
	}
	if grid == old {
		return true, ""
	}
	for _, o := range m.graph.File.Graph.Outputs {
		before, after, made := m.graph.Eval.Main.Value(o.Name), e.Main.Value(o.Name), m.labels().Of(m.graph.Eval.Main, o.Name)
		for d := range min(len(before.Shape), len(after.Shape)) {
			if n := before.Shape[d]; n == after.Shape[d] && m.isOfPicture(n) && m.isFree(made, d) {
				return false, fmt.Sprintf("output %s stays at %v", report.Printable(o.Name), after.Shape)
			}
		}
	}
	for _, n := range m.graph.File.Graph.Nodes {
		if n.Op != "Resize" && n.Op != "Upsample" {
			continue
		}
		was, is := m.graph.Eval.Main.Input(n, 0), e.Main.Input(n, 0)
		made := e.Main.Value(n.Output(0))
		if was.Ranked && is.Ranked && !slices.Equal(was.Shape, is.Shape) && slices.Equal(m.graph.Eval.Main.Value(n.Output(0)).Shape, made.Shape) {
			return false, fmt.Sprintf("%s gives %v, whatever the picture", n.Title(), made.Shape)
		}
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
	return true, ""
}

// isOfPicture reports whether a number is one of the picture's that was tried: of its pixels
// along a side, or of patches along one or in all.
func (m *Model) isOfPicture(n int) bool {
	g := m.graph.PatchGrid()
	return n > 1 && (n == m.graph.Sizes.Image || n == g[0] || n == g[1] || n == g[0]*g[1])
}
