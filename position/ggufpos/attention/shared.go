package attention

import (
	"fmt"

	"github.com/modelpatch/modelpatch/position/ggufpos/arch"
	"github.com/modelpatch/modelpatch/position/ggufpos/hparams"
)

// gemma3nOwn is the number of layers of gemma3n that have keys and values of their own,
// whatever a file says (llama.cpp, src/models/gemma3n.cpp: n_layer_kv_from_start).
const gemma3nOwn = 20

// ownKeys is the number of layers, from the first, that have keys and values of their own;
// −1 where all have.
func ownKeys(m *hparams.Model) int {
	switch m.Family() {
	case "gemma3n":
		return gemma3nOwn
	case "gemma4": // src/models/gemma4.cpp
		blocks, _ := m.Count(arch.KeyBlocks)
		shared, _ := m.Count("attention.shared_kv_layers")
		return blocks - shared
	}
	return -1
}

// share has a layer of gemma3n or gemma4 take the keys and values of an earlier one where it
// has none of its own: of the last that has some, or the last but one where it slides
// (src/llama-model.cpp, layer_reuse_cb). Values are normalised without weights. why says
// what llama.cpp refuses.
func (l *layer) share(index int, sliding bool) (why string) {
	own := ownKeys(l.m)
	if own < 0 && l.m.Family() != "gemma4" {
		return ""
	}
	l.valueNorm, l.valueDim = norm{bare: true, epsilon: epsilonOf(l.m, false)}, l.dim
	switch {
	case index < own:
		return ""
	case own < 2:
		return "fewer than two layers have keys of their own"
	}
	from := own - 1
	if sliding {
		from--
	}
	l.keysOf = fmt.Sprintf("blk.%d.", from)
	l.keyNorm = normOf(l.m, l.keysOf, "attn_k_norm")
	return ""
}

// afterTurning is a norm of rows that were turned and multiplied by an amplitude, for rows
// that will be: √((A·x)²+ε) divides A·x. Its weight is one a head, or none: else it would
// not be the same before and after (src/models/talkie.cpp).
func afterTurning(n norm, amplitude float64) norm {
	if n.weight == nil {
		n.bare = true
	}
	if n.amplitude = amplitude; amplitude <= 0 {
		n.amplitude = 1
	}
	return n
}
