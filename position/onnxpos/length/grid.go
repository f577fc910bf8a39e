package length

import (
	"fmt"
	"slices"

	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/onnxpos/site"
	"github.com/modelpatch/modelpatch/schemes"
)

// SetGrid changes what hangs on the picture's size: position ids, shape
// constants, fixed dimensions. window is the height and width of windows that the picture is cut into, in places; zeros: as before.
func (c *Change) SetGrid(from, to schemes.Grid, window [2]int) error {
	c.window = window
	m := c.Graph
	patch := m.PatchSize()
	_, c.tubelet = m.FrameGrid()
	if from[0] > 1 && from[0] == from.Places()/from[0] && to[0] != to.Places()/to[0] {
		return &position.Refusal{Why: fmt.Sprintf("there are as many patches along time as in a frame, %d: which of the two a number stands for cannot be told", from[0]), Instead: c.export()}
	}
	if failures := m.Eval.Failures; m.FreeImage() && len(failures) > 0 {
		return &position.Refusal{Why: fmt.Sprintf("%s fails with %s, which were tried: what it was exported with is not in the file", failures[0].Node.Title(), m.Tried()), Instead: c.export()}
	}
	old, new := from.Sides(), to.Sides()
	if e := m.WithPicture([2]int{2 * m.Sizes.Image, 2 * m.Sizes.Image}); e != nil {
		if h, w := m.PatchesIn(e); [2]int{h, w} == old {
			return &position.Refusal{Why: fmt.Sprintf("the graph brings every picture to %d×%d patches itself", h, w), Instead: "export the model behind it for the wanted picture"}
		}
	}
	c.Image, c.grids, c.along = [2]int{new[0] * patch, new[1] * patch}, [2][2]int{old, new}, [2]int{from[0], to[0]}
	for axis, over := range m.Overlap() {
		c.Image[axis] += over
	}
	for _, s := range c.sites {
		e := s.Encoding()
		w, windowed := e.Scheme.(schemes.Other)
		if windowed = windowed && slices.Equal(w.Window, old[:]); windowed || e.IsGrid() {
			before, after := old[0]*old[1], new[0]*new[1]
			if len(e.Grid()) == 3 {
				before, after = from.Places(), to.Places()
			}
			l, _ := e.Scheme.(schemes.Learned)
			if windowed && w.Rows > schemes.WindowRows(old[0], old[1], false) {
				l.Rows = before + 1 // a class token among the places
			}
			for _, more := range append(besidePositions(m, before), l.Rows-before, l.Prefix, 0) {
				if more < 0 {
					continue
				}
				p := numberPair{before + more, after + more}
				if !slices.Contains(c.pairs, p) {
					c.pairs = append(c.pairs, p)
				}
			}
			c.old, c.New = before+max(l.Rows-before, 0), after+max(l.Rows-before, 0)
		}
	}
	for _, more := range append(besidePositions(m, from.Places()), 0) { // of a picture without a table as well
		if p := (numberPair{from.Places() + more, to.Places() + more}); !slices.Contains(c.pairs, p) {
			c.pairs = append(c.pairs, p)
		}
	}
	c.pairs = append(c.pairs, numberPair{old[0], new[0]})
	if from[0] != to[0] {
		c.pairs = append(c.pairs, numberPair{from[0], to[0]})
	}
	if old[0] != old[1] {
		c.pairs = append(c.pairs, numberPair{old[1], new[1]})
	}
	for i := range old {
		c.pairs = append(c.pairs, numberPair{2*old[i] - 1, 2*new[i] - 1}) // distances along a side
	}
	if err := c.run(); err != nil || window == [2]int{} || len(*c.windowed) > 0 {
		return err
	}
	return &position.UsageError{What: "--window: the graph cuts no picture into windows"}
}

// besidePositions are how many others stand beside so many positions further on: class tokens may be put beside an image's patches
// after the table was added (DeiT III), the tokens of a text beside latents (Flux).
func besidePositions(m *site.Graph, positions int) (out []int) {
	for _, n := range m.File.Graph.Nodes {
		if n.Op != "Concat" || len(n.Inputs) < 2 {
			continue
		}
		made := m.Eval.Main.Output(n, 0).Shape
		axis := n.Axis(0, len(made))
		if len(made) < 3 || axis < 1 || made[axis] <= positions || slices.Contains(out, made[axis]-positions) {
			continue
		}
		if slices.ContainsFunc(n.Inputs, func(in string) bool {
			from := m.Eval.Main.Value(in).Shape
			return len(from) == len(made) && from[axis] == positions
		}) {
			out = append(out, made[axis]-positions)
		}
	}
	return out
}
