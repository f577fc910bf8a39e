package onnxpos

import (
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/onnxpos/length"
)

// FreeAxes are what the free axes of the graph's inputs are called.
func (m *Model) FreeAxes() []string { return length.FreeAxes(m.graph) }

// Fix gives free axes numbers, in the graph as SetLength planned it.
func (m *Model) Fix(axes []position.Axis) (tokens int, err error) {
	defer m.Caught(&err)
	c := m.change
	if c == nil {
		c = length.New(m.graph, m.sites, 0, 0, doubts)
	}
	return c.Fix(axes)
}
