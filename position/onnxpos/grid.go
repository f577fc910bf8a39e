package onnxpos

import (
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/onnxpos/length"
	"github.com/modelpatch/modelpatch/schemes"
)

// SetGrid changes what hangs on the picture's size: position ids, shape
// constants, fixed dimensions. window is the height and width of windows that a picture is cut into, in places; zeros: as before.
func (m *Model) SetGrid(old, new schemes.Grid, window [2]int) (err error) {
	defer m.Caught(&err)
	if m.graph.ImageInput() == nil {
		return &position.Refusal{Why: "no input is a picture whose size could change", Instead: "export the model for the wanted size"}
	}
	return length.New(m.graph, m.sites, 0, 0, doubts).SetGrid(old, new, window)
}

// FreeSides are what extend --fix wants for the picture's free axes.
func (m *Model) FreeSides() []string { return m.graph.FreeSides() }
