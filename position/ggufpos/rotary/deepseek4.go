package rotary

import (
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/ggufpos/arch"
	"github.com/modelpatch/modelpatch/position/ggufpos/hparams"
	"github.com/modelpatch/modelpatch/position/ggufpos/operator"
	"github.com/modelpatch/modelpatch/schemes"
)

// findDeepSeek4 are two rotations: layers with a compression ratio have their
// own base and the scaling keys, the others freq_base and no scaling. All see the
// last positions through a window, compressed layers see earlier ones as well (llama_model_deepseek4::graph).
func findDeepSeek4(m *hparams.Model) (sites []position.Site) {
	ratios := m.Numbers(arch.KeyCompress)
	n, ok := m.Count(arch.KeyBlocks)
	if !ok || n > hparams.MaxLayers {
		n = 0
	}
	kinds := make([]int, n)
	for i := range kinds {
		kinds[i] = hparams.FullRope
		if i < len(ratios) && ratios[i] != 0 {
			kinds[i] = hparams.SlidingRope
		}
	}
	window, _ := m.Count(arch.KeyWindow)
	plain, compressed := hparams.LayersOf(kinds, hparams.FullRope), hparams.LayersOf(kinds, hparams.SlidingRope)
	if plain == nil || len(plain) > 0 {
		sites = append(sites, newRope(&Rope{m: m, layers: plain, unscaled: true, window: window, beside: schemes.Attending{Window: schemes.SlidingWindow{Positions: window}}}, operator.NewUnscaled(m)))
	}
	if compressed == nil || len(compressed) > 0 {
		e := operator.New(m, true)
		e.Base = m.RealOr(arch.KeyCompressBase, e.Base)
		sites = append(sites, newRope(&Rope{m: m, layers: compressed, baseKey: arch.KeyCompressBase}, e))
	}
	return sites
}
