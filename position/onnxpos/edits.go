package onnxpos

import (
	"fmt"

	"github.com/modelpatch/modelpatch/patch"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/onnxpos/fault"
	"github.com/modelpatch/modelpatch/position/onnxpos/rows"
	"github.com/modelpatch/modelpatch/report"
)

// Edits returns the plan of everything that was recorded.
func (m *Model) Edits() (patch.Plan, error) {
	if m.graph.Editor.Changed() {
		if err := m.sound(); err != nil {
			return patch.Plan{}, err
		}
	}
	p, err := m.graph.Editor.Plan()
	if err != nil {
		return p, rows.Refused(err)
	}
	return p, m.readable(p)
}

// sound refuses to change a model whose file is at fault: which of two answers
// a reader takes is not for us to decide.
func (m *Model) sound() error {
	for _, f := range m.findings {
		if f.Level == report.LevelError {
			return &position.Refusal{Why: f.Message, Instead: f.Hint}
		}
	}
	for _, s := range m.sites {
		for _, t := range s.Tables() {
			if t.Tensor.Len() <= fault.MaxScanned || !m.graph.Editor.Replaced(t.Tensor) {
				continue
			}
			if row, column, bad := t.NotFinite(t.Tensor.Len()); bad {
				return &position.Refusal{Why: fmt.Sprintf("table %q holds a number that is not finite: row %d, column %d", m.graph.TensorName(t.Tensor), row, column)}
			}
		}
	}
	return nil
}

// readable refuses a plan whose model file would be larger than readers of protobuf
// take, where the old one was not.
func (m *Model) readable(p patch.Plan) error {
	size := m.graph.File.Size
	for _, e := range p.Edits {
		if e.File != 0 {
			continue
		}
		if size -= e.Old; e.New != nil {
			size += e.New.Size()
		}
	}
	if size <= fault.MaxProtobuf || size <= m.graph.File.Size {
		return nil
	}
	return &position.Refusal{Why: fmt.Sprintf("the new file would have %d bytes, and readers of protobuf stop at %d", size, fault.MaxProtobuf),
		Instead: "store the weights as external data first, or choose a lesser length"}
}
