package ggufpos

import (
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/ggufpos/arch"
	"github.com/modelpatch/modelpatch/position/ggufpos/site"
)

// graniteWithoutRope is "none" where rope.scaling.finetuned = false switches
// RoPE off, which it does in three families only (facts/GGUF-FACTS trap 15).
func (m *model) graniteWithoutRope() (position.Site, bool) {
	if !m.Arch.Uses(arch.KeyFinetuned) {
		return nil, false
	}
	if on, ok := m.Pair(arch.KeyFinetuned).Bool(); !ok || on {
		return nil, false
	}
	return site.None(m.Model, m.Key(arch.KeyFinetuned)+" = false switches RoPE off in "+m.Family()), true
}
