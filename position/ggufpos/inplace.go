package ggufpos

import (
	"github.com/modelpatch/modelpatch/patch"
	"github.com/modelpatch/modelpatch/position/ggufpos/rotary"
)

// EditsInPlace returns the plan for changing the file where it lies, where the
// file system can insert whole blocks of the given size (0: it cannot). A
// tensor cannot go there: divisors that are not wanted any more become ones.
func (m *model) EditsInPlace(block int64) (patch.Plan, error) {
	if m.Edit.Changed() {
		if err := m.CheckEditable(); err != nil {
			return patch.Plan{}, err
		}
	}
	rotary.NeutralDivisors(m.Model)
	return m.Edit.PlanInPlace(block)
}

// Reserve leaves room for n bytes of keys in the file, for later edits in place.
func (m *model) Reserve(n int64) { m.Edit.Reserve(n) }

// Room is how many bytes of room EditsInPlace added.
func (m *model) Room() int64 { return m.Edit.Room() }

// DataSpans are the ranges of one of the model's files that hold tensor data.
func (m *model) DataSpans(path string) [][2]int64 {
	var out [][2]int64
	for _, p := range m.File.Parts {
		if p.Path != path {
			continue
		}
		for i := range p.Tensors {
			out = append(out, m.File.Range(&p.Tensors[i]))
		}
	}
	return out
}
