package ggufpos

// DeepSeek 4's keys of compressed attention.
const (
	keyCompress     = "attention.compress_ratios"
	keyCompressBase = "attention.compress_rope_freq_base"
)

// findDeepSeek4 adds two rotations: layers with a compression ratio have their
// own base and the scaling keys, the others freq_base and no scaling.
func (m *model) findDeepSeek4() bool {
	if m.name != "deepseek4" {
		return false
	}
	ratios := m.numbers(keyCompress)
	n, ok := m.count(keyBlocks)
	if !ok || n > maxLayers {
		n = 0
	}
	kinds := make([]int, n)
	for i := range kinds {
		kinds[i] = fullRope
		if i < len(ratios) && ratios[i] != 0 {
			kinds[i] = slidingRope
		}
	}
	plain, compressed := list(kinds, fullRope), list(kinds, slidingRope)
	if plain == nil || len(plain) > 0 {
		r := &rope{m: m, layers: plain, unscaled: true}
		r.engine = engine{base: m.realOr(keyBase, 10000), factor: 1, attention: 1, amplitude: 1, pairing: m.arch.Pairing}
		m.dimensions(&r.engine, false)
		m.addSite(r)
	}
	if compressed == nil || len(compressed) > 0 {
		r := &rope{m: m, layers: compressed, baseKey: keyCompressBase}
		r.engine = m.newEngine(false)
		r.engine.base = m.realOr(keyCompressBase, r.engine.base)
		m.addSite(r)
	}
	return true
}
