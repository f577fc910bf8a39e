package onnxpos

import (
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/onnxpos/length"
)

// PatchSize is the stride of the convolution that makes patches of an image,
// 0 when there is none or it is not square.
func (m *Model) PatchSize() int { return m.graph.PatchSize() }

// PatchGrid is the height and width of the picture in patches.
func (m *Model) PatchGrid() [2]int { return m.graph.PatchGrid() }

// SetGrid changes what hangs on the picture's size: position ids, shape
// constants, fixed dimensions.
func (m *Model) SetGrid(old, new [2]int) (err error) {
	defer m.caught(&err)
	if m.graph.ImageInput() == nil {
		return &position.Refusal{Why: "no input is a picture whose size could change", Instead: "export the model for the wanted size"}
	}
	return length.New(m.graph, m.sites, 0, 0, doubts).SetGrid(old, new)
}
