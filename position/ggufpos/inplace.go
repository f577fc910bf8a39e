package ggufpos

import (
	"slices"

	"github.com/modelpatch/modelpatch/gguf"
	"github.com/modelpatch/modelpatch/patch"
)

// EditsInPlace returns the plan for changing the file where it lies, where the
// file system can insert whole blocks of the given size (0: it cannot). A
// tensor cannot go there: divisors that are not wanted any more become ones.
func (m *model) EditsInPlace(block int64) (patch.Plan, error) {
	if m.edit.Changed() {
		if err := m.editable(); err != nil {
			return patch.Plan{}, err
		}
	}
	m.neutralDivisors()
	return m.edit.PlanInPlace(block)
}

// neutralDivisors makes ones of the divisors that were to be removed, where the
// engine still takes the tensor: ggml's rope operator divides the angle of pair
// i by divisor i. Lists that only the type longrope lets in are not taken
// without it, and must go.
func (m *model) neutralDivisors() {
	for _, t := range m.removed {
		list := t.Name == nameLong || t.Name == nameShort
		if t.Type != gguf.F32 || list && m.arch.LongRoPE != "always" || !list && m.arch.Freqs != "read" {
			continue
		}
		ones := encoded(slices.Repeat([]float64{1}, int(t.Size/4)), m.file.Parts[0].Order)
		m.edit.Keep(t)
		m.edit.Replace(t, patch.Bytes(ones), t.Name+" becomes ones, which divide nothing: in place a tensor cannot be removed")
	}
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
