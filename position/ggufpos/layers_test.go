package ggufpos

import (
	"slices"
	"testing"

	"github.com/modelpatch/modelpatch/gguf"
	"github.com/modelpatch/modelpatch/position/ggufpos/arch"
)

// TestLayersWithoutAttention: a layer with no heads turns nothing, whatever the architecture and whatever its tensors are called.
func TestLayersWithoutAttention(t *testing.T) {
	some := []float32{1}
	for _, c := range []struct {
		name, arch string
		more       keys
		tensors    map[string][]float32
		want       []int
	}{
		{"no queries", "deci", keys{arch.KeyHeads: gguf.Int32s(2, 0, 2), arch.KeyHeadsKV: gguf.Int32s(2, 0, 2)}, nil, []int{0, 2}},
		{"no keys", "deci", keys{arch.KeyHeads: gguf.Int32s(2, 2, 2), arch.KeyHeadsKV: gguf.Int32s(2, 2, 0)}, nil, []int{0, 1}},
		{"projections of another kind of layer", "bailingmoe3", keys{arch.KeyHeadsKV: gguf.Int32s(1, 0, 0)},
			map[string][]float32{"blk.0.attn_kv_a_mqa.weight": some, "blk.1.attn_k.weight": some, "blk.2.attn_k.weight": some}, []int{0}},
		{"tensors alone", "granitehybrid", nil, map[string][]float32{"blk.1.attn_k.weight": some}, []int{1}},
		{"heads in all", "deci", keys{arch.KeyHeads: gguf.Int32s(2, 2, 2), arch.KeyHeadsKV: gguf.Int32s(1, 1, 1)}, nil, nil},
	} {
		k := fixture(arch.Of(c.arch), 128)
		put(k, arch.Of(c.arch), keys{arch.KeyBlocks: gguf.Uint32(3)})
		put(k, arch.Of(c.arch), c.more)
		m := make1(t, k, c.tensors)
		if got := m.sites[0].Encoding().Layers; len(m.sites) != 1 || !slices.Equal(got, c.want) || (got == nil) != (c.want == nil) {
			t.Errorf("%s: %d encodings, layers %v, want %v", c.name, len(m.sites), got, c.want)
		}
	}
}
