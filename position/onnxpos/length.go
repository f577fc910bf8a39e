package onnxpos

import (
	"fmt"
	"slices"

	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/onnxpos/length"
	"github.com/modelpatch/modelpatch/position/onnxpos/site"
	"github.com/modelpatch/modelpatch/schemes"
)

// SetLength changes masks, buffers, shape constants and fixed dimensions that hold the length, so that the graph runs at the new one.
func (m *Model) SetLength(old, new int) (err error) {
	defer m.Caught(&err)
	if n := m.graph.Padded(); n != nil && old != new {
		return &position.Refusal{Why: fmt.Sprintf("%s makes %d tokens of every text", n.Title(), m.graph.FixedLength()), Instead: "change the model before it is put behind its tokenizer"}
	}
	if m.larger != nil && old != new {
		return &position.Refusal{Why: fmt.Sprintf("the graph runs with %s alone, and would with those of another length alone: %v", m.graph.Tried(), m.larger.Err), Instead: "export the model for the wanted length"}
	}
	sites := slices.DeleteFunc(slices.Clone(m.sites), func(s site.Site) bool { return s.Encoding().Apart })
	m.change = length.New(m.graph, sites, old, new, doubts)
	return m.change.SetLength()
}

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

// Caught makes a refusal of a panic: a graph that is not understood is not changed, and the command ends as it should.
func (m *Model) Caught(err *error) {
	r := recover()
	if spent, ok := r.(*eval.Spent); ok {
		panic(spent) // for the verb to say
	}
	if r != nil {
		*err = &position.Refusal{Why: fmt.Sprintf("the graph is not understood (%v): please report it", r), Instead: "export the model for the wanted length"}
	}
}
