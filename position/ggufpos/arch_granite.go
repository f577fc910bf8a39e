package ggufpos

// graniteWithoutRope adds "none" where rope.scaling.finetuned = false switches
// RoPE off, which it does in three families only (facts/GGUF-FACTS trap 15).
func (m *model) graniteWithoutRope() bool {
	if !m.arch.reads(keyFinetuned) {
		return false
	}
	if on, ok := m.pair(keyFinetuned).Bool(); !ok || on {
		return false
	}
	m.addNone(m.key(keyFinetuned) + " = false switches RoPE off in " + m.name)
	return true
}
