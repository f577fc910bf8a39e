package onnxpos

import (
	"slices"

	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/onnxpos/probe"
	"github.com/modelpatch/modelpatch/position/onnxpos/site"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// Sizes are the pictures that the graph takes as it is: the one size that its input has, or what both
// sides are multiples of where they are free and the graph was seen to take such sizes; zeros where that cannot be told, or patches are given one by one.
func (m *Model) Sizes() (only [2]int, frames, multiple int) {
	defer func() {
		if r := recover(); r != nil {
			if spent, ok := r.(*eval.Spent); !ok || spent.Err != nil {
				panic(r)
			}
		}
	}()
	in := m.graph.ImageInput()
	if in == nil || m.gaveUp != "" || m.PatchGrid() == (schemes.Grid{}) || !probe.HasColours(in) {
		return only, 0, 0
	}
	if _, attends := m.labels().InputPositions(in.Name, 0); attends {
		return only, 0, 0 // what is given are patches
	}
	frames = probe.FixedFrames(in)
	height, width := probe.PictureSides(in)
	switch h, w := in.Dims[height].Value, in.Dims[width].Value; {
	case h > 0 && w > 0:
		return [2]int{int(h), int(w)}, frames, 0
	case h < 0 && w < 0 && !slices.ContainsFunc(m.Sites(), endsWithItsGrid):
		return only, frames, m.multiple()
	}
	return only, frames, 0
}

// findOneSize looks whether larger inputs run, as far as no encoding ends.
func (m *Model) findOneSize() {
	if !slices.ContainsFunc(m.sites, func(s site.Site) bool {
		return s.Encoding().Capacity == 0 && s.Encoding().Beyond != report.BeyondContinues
	}) {
		m.larger, m.times = m.graph.OneSize(m.sites)
	}
}

// endsWithItsGrid reports whether a site has rows for so many patches, and not for more.
func endsWithItsGrid(s position.Site) bool {
	r, ok := s.(position.Resampler)
	return s.Encoding().IsGrid() && !(ok && r.Resampled())
}

// maxPatchSteps bounds the numbers of patches that are tried as what sides are multiples of.
const maxPatchSteps = 10

// multiple is what the sides of pictures are multiples of, by evaluations at sizes that are not
// square: of a patch, else of the fewest patches that divide the grid and run. 1: a size between patches
// runs as well; 0: none was found.
func (m *Model) multiple() int {
	g, patch := m.PatchGrid(), m.PatchSize()
	if patch == 0 {
		return 0
	}
	step, tried := 0, 0
	for n := 1; n <= g[1] && step == 0 && tried < maxPatchSteps; n++ {
		if n > 1 && (g[1]%n != 0 || g[2]%n != 0) {
			continue
		}
		tried++
		takes, left := m.Takes(g.WithSides(g[1]+n, g[2]+2*n))
		if left.What != "" {
			return 0
		}
		if takes {
			step = n
		}
	}
	if step == 0 {
		return 0
	}
	if takes, left := m.Takes(g.WithSides(4*g[1]+step, 4*g[2])); !takes || left.What != "" {
		return 0
	}
	if step > 1 {
		return step * patch
	}
	if patch > 1 && !m.graph.CutsOff() && m.graph.WithPicture([2]int{g[1]*patch + patch/2, g[2]*patch + patch/2}) != nil {
		return 1
	}
	return patch
}

// countWindows notes of rotations that they count the places of each window of a picture anew, where there are more places than they have: they
// bound no picture's size.
func (m *Model) countWindows() {
	in := m.graph.ImageInput()
	if in == nil {
		return
	}
	height, width := probe.PictureSides(in)
	for _, e := range m.sites {
		s, name, _ := e.State()
		if _, turns := e.Encoding().Scheme.(schemes.Rotary); !turns || s == nil || !e.Encoding().IsGrid() || e.Encoding().Capacity == 0 {
			continue
		}
		places, shape := 1, s.Value(name).Shape
		for axis, of := range m.labels().Of(s, name).Axes {
			if axis < len(shape) && m.labels().ComesFrom(of, func(input string, k int) bool { return input == in.Name && (k == height || k == width) }) {
				places *= shape[axis]
			}
		}
		if places > e.Encoding().Capacity {
			e.SetApart()
		}
	}
}
