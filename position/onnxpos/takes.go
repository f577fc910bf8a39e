package onnxpos

import (
	"fmt"
	"slices"

	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/onnxpos/partition"
	"github.com/modelpatch/modelpatch/position/onnxpos/places"
	"github.com/modelpatch/modelpatch/position/onnxpos/rotary"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// Takes reports whether the graph, as it is, runs with a picture of so many patches whose
// table it resamples itself, so that all that was of the old size follows. Where it runs and something does not follow, left says what.
func (m *Model) Takes(grid schemes.Grid) (takes bool, left position.Leftover) {
	old := m.PatchGrid()
	e := m.graph.WithPatches(grid)
	if e == nil {
		return false, left
	}
	if what, changeable := partition.Left(e); what != "" {
		return false, position.Leftover{What: what, Changeable: changeable && grid != old}
	}
	first, before, other := m.graph.Eval, old.Places(), grid
	if grid == old { // what was evaluated is not what was exported, where the picture is free: held against another size
		if !m.graph.FreeImage() {
			return true, left
		}
		other = old.WithSides(2*old[1], 3*old[2])
		if first, before = m.graph.WithPatches(other), other.Places(); first == nil {
			return true, left
		}
	}
	for _, o := range m.graph.File.Graph.Outputs {
		before, after, made := first.Main.Value(o.Name), e.Main.Value(o.Name), m.labels().Of(m.graph.Eval.Main, o.Name)
		for d := range min(len(before.Shape), len(after.Shape)) {
			if n := before.Shape[d]; n == after.Shape[d] && m.isOfPicture(n) && m.isFree(made, d) {
				return false, position.Leftover{What: fmt.Sprintf("output %s stays at %v", report.Printable(o.Name), after.Shape)}
			}
		}
	}
	for _, s := range m.sites {
		if r, ok := s.(*rotary.Site); ok && !r.PlacesFollow(other) {
			return false, position.Leftover{What: "patches turn by places that do not follow the picture", Changeable: grid != old}
		}
	}
	if n, why := places.LeftOver(first.Main, e.Main, [2]int{before, grid.Places()}, nil); n != nil {
		return false, position.Leftover{What: fmt.Sprintf("%s: %s", n.Title(), why)}
	}
	for _, mask := range m.labels().Masks {
		scopes := e.Scopes()
		if mask.Scope.Index() >= len(scopes) {
			continue
		}
		before, after := mask.Scope.Enlarge(mask.Known), scopes[mask.Scope.Index()].Enlarge(mask.Known)
		if k := len(before.Shape); k > 2 && before.Known() && slices.Equal(before.Shape, after.Shape) && slices.ContainsFunc(mask.Covers, func(d int) bool { return d < k-2 && before.Varies(d) }) {
			return false, position.Leftover{What: fmt.Sprintf("the mask at %s is that of the old size", mask.Node.Title()), Changeable: partition.Masks(m.graph.Eval, mask.Node)}
		}
	}
	return true, left
}

// isOfPicture reports whether a number is one of the picture's that was tried: of its pixels
// along a side, or of patches along one or in all.
func (m *Model) isOfPicture(n int) bool {
	g := m.graph.PatchGrid()
	return n > 1 && (n == m.graph.Sizes.Image || n == g[0] || n == g[1] || n == g[0]*g[1])
}
