package onnxpos

import (
	"slices"

	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/onnxpos/probe"
)

// Sizes are the pictures that the graph takes as it is: the one size that its input has, or what both
// sides are multiples of where they are free and the graph was seen to take such sizes; zeros where that cannot be told.
func (m *Model) Sizes() (only [2]int, multiple int) {
	in := m.graph.ImageInput()
	if in == nil || m.gaveUp != "" || m.PatchGrid() == [2]int{} || !probe.HasColours(in) {
		return only, 0
	}
	height, width := probe.PictureSides(in)
	switch h, w := in.Dims[height].Value, in.Dims[width].Value; {
	case h > 0 && w > 0:
		return [2]int{int(h), int(w)}, 0
	case h < 0 && w < 0 && !slices.ContainsFunc(m.Sites(), endsWithItsGrid):
		return only, m.multiple()
	}
	return only, 0
}

// endsWithItsGrid reports whether a site has rows for so many patches, and not for more.
func endsWithItsGrid(s position.Site) bool {
	r, ok := s.(position.Resampler)
	return s.Encoding().IsGrid() && !(ok && r.Resampled())
}

// multiple is what the sides of pictures are multiples of, by evaluations at two sizes that are not
// square: of one patch more and less, else of the whole grid. 1: a size between patches runs as well.
func (m *Model) multiple() (pixels int) {
	defer func() {
		if r := recover(); r != nil {
			if spent, ok := r.(*eval.Spent); !ok || spent.Err != nil {
				panic(r)
			}
			pixels = 0
		}
	}()
	g, patch := m.PatchGrid(), m.PatchSize()
	takes, left := m.Takes([2]int{g[0] + 1, g[1] + 2})
	switch {
	case left != "" || patch == 0:
		return 0
	case !takes:
		if takes, left = m.Takes([2]int{2 * g[0], 3 * g[1]}); !takes || left != "" || g[0] != g[1] {
			return 0
		}
		return g[0] * patch
	}
	if takes, left = m.Takes([2]int{4*g[0] + 1, 4 * g[1]}); !takes || left != "" {
		return 0
	}
	if patch > 1 && !m.graph.CutsOff() && m.graph.WithPicture([2]int{g[0]*patch + patch/2, g[1]*patch + patch/2}) != nil {
		return 1
	}
	return patch
}
