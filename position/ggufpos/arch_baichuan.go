package ggufpos

import (
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/ggufpos/arch"
	"github.com/modelpatch/modelpatch/position/ggufpos/relative"
	"github.com/modelpatch/modelpatch/position/ggufpos/site"
)

// baichuanWithoutRope is what Baichuan has when its layers are not 32, which
// alone means RoPE: 40 layers have ALiBi, others nothing (facts/GGUF-FACTS
// trap 14).
func (m *model) baichuanWithoutRope() (position.Site, bool) {
	if m.Family() != "baichuan" {
		return nil, false
	}
	switch n, _ := m.Count(arch.KeyBlocks); n {
	case 32:
		return nil, false
	case 40:
		return relative.NewALiBi(m.Model, relative.HardCodedBias, true), true
	default:
		return site.None(m.Model, "llama.cpp gives Baichuan positions with 32 or 40 layers only"), true
	}
}
