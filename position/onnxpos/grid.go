package onnxpos

import (
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/onnxpos/length"
	"github.com/modelpatch/modelpatch/schemes"
)

// PatchSize is the stride of the convolution that makes patches of an image,
// 0 when there is none or it is not square.
func (m *Model) PatchSize() int { return m.graph.PatchSize() }

// PatchGrid is how many patches the picture or video has along each axis; zeros when there is none.
func (m *Model) PatchGrid() schemes.Grid {
	sides := m.graph.PatchGrid()
	if sides == [2]int{} {
		return schemes.Grid{}
	}
	along, _ := m.graph.FrameGrid()
	return schemes.Grid{along, sides[0], sides[1]}
}

// SetGrid changes what hangs on the picture's size: position ids, shape
// constants, fixed dimensions.
func (m *Model) SetGrid(old, new schemes.Grid) (err error) {
	defer m.caught(&err)
	if m.graph.ImageInput() == nil {
		return &position.Refusal{Why: "no input is a picture whose size could change", Instead: "export the model for the wanted size"}
	}
	return length.New(m.graph, m.sites, 0, 0, doubts).SetGrid(old, new)
}
