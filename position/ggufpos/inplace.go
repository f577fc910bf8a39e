package ggufpos

import "github.com/modelpatch/modelpatch/patch"

// EditsInPlace returns the plan for changing the file where it lies, where the
// file system can insert whole blocks of the given size (0: it cannot).
func (m *model) EditsInPlace(block int64) (patch.Plan, error) {
	if m.edit.Changed() {
		if err := m.editable(); err != nil {
			return patch.Plan{}, err
		}
	}
	return m.edit.PlanInPlace(block)
}

// Reserve leaves room for n bytes of keys in the file, for later edits in place.
func (m *model) Reserve(n int64) { m.edit.Reserve(n) }

// DataSpans are the ranges of one of the model's files that hold tensor data.
func (m *model) DataSpans(path string) [][2]int64 {
	var out [][2]int64
	for _, p := range m.file.Parts {
		if p.Path != path {
			continue
		}
		for i := range p.Tensors {
			out = append(out, m.file.Range(&p.Tensors[i]))
		}
	}
	return out
}
