package ggufpos

import "github.com/modelpatch/modelpatch/schemes"

// baichuanWithoutRope adds what Baichuan has when its layers are not 32, which
// alone means RoPE: 40 layers have ALiBi, others nothing (facts/GGUF-FACTS
// trap 14).
func (m *model) baichuanWithoutRope() bool {
	if m.name != "baichuan" {
		return false
	}
	switch n, _ := m.count(keyBlocks); n {
	case 32:
		return false
	case 40:
		m.sites = append(m.sites, &alibi{m: m, fixed: true, scheme: schemes.ALiBi{Heads: m.heads(), MaxBias: hardCodedBias}})
	default:
		m.addNone("llama.cpp gives Baichuan positions with 32 or 40 layers only")
	}
	return true
}
