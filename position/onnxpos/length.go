package onnxpos

import (
	"fmt"
	"slices"

	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/onnxpos/length"
	"github.com/modelpatch/modelpatch/position/onnxpos/site"
)

// lengthChange is a change of length with this package's doubts of it.
type lengthChange struct{ *length.Change }

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

// doubts asks doubts.go.
func doubts(c *length.Change, e *eval.Evaluator) error { return (&lengthChange{c}).doubts(e) }

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
