package hparams

import (
	"fmt"
	"slices"

	"github.com/modelpatch/modelpatch/gguf"
	"github.com/modelpatch/modelpatch/position/ggufpos/arch"
)

// MaxLayers is the largest number of layers that is looked at one by one;
// llama.cpp takes 512.
const MaxLayers = 4096

// How a layer turns its queries and keys: FullRope where it sees everything,
// SlidingRope where it attends through a window.
const (
	noRope = iota
	FullRope
	SlidingRope
)

// Layers says for each layer whether it has RoPE and whether it slides; nil
// when the number of layers is not known. window, in positions, is 0 when nothing
// slides.
func (m *Model) Layers() (kinds []int, window int) {
	n, ok := m.Count(arch.KeyBlocks)
	if !ok || n == 0 || n > MaxLayers {
		return nil, 0
	}
	sliding, window := m.Slides(n)
	attention := m.AttentionLayers(n)
	pattern := m.Numbers(arch.KeyRopePattern)
	kinds = make([]int, n)
	for i := range kinds {
		switch {
		case !attention[i], m.skips(i, n, window), sliding != nil && !sliding[i] && m.Arch.Window.Rope == "sliding" && !m.leadingDense(i):
		case pattern != nil && m.Arch.Uses(arch.KeyRopePattern) && i < len(pattern) && pattern[i] == 0:
		case sliding != nil && sliding[i]:
			kinds[i] = SlidingRope
		default:
			kinds[i] = FullRope
		}
	}
	return kinds, window
}

// leadingDense tells cohere2moe's first layers, which have RoPE and no window.
func (m *Model) leadingDense(i int) bool {
	n, ok := m.Count("leading_dense_block_count")
	return m.Family() == "cohere2moe" && ok && i < n
}

// Slides says which of n layers attend through a window, and how many positions
// that has; nil and 0 when none does.
func (m *Model) Slides(n int) (sliding []bool, window int) {
	w := m.Arch.Window
	if w == nil || w.Blocks != 0 && w.Blocks != n {
		return nil, 0
	}
	window = w.Default
	if v, ok := m.Count(arch.KeyWindow); ok {
		window = v
	}
	if window == 0 {
		return nil, 0
	}
	every, list := m.PerLayer(arch.KeyPattern)
	if m.Pair(arch.KeyPattern) == nil {
		every = w.Every
	}
	sliding = make([]bool, n)
	for i := range sliding {
		switch {
		case list != nil:
			sliding[i] = i < len(list) && list[i] != 0
		case every == 0:
			sliding[i] = true
		case w.Full == "first":
			sliding[i] = i%every != 0
		default:
			sliding[i] = i%every != every-1
		}
	}
	if !slices.Contains(sliding, true) {
		return nil, 0
	}
	return sliding, window
}

// skips tells layers without RoPE by a hard-coded step.
func (m *Model) skips(i, n, window int) bool {
	switch {
	case m.Family() == "smallthinker":
		return window > 0 && i%4 == 0
	case m.Arch.Skip == nil:
		return false
	case m.Family() == "llama4" && window == 0:
		return i == n-1 // the step becomes the layer count (facts/GGUF-FACTS trap 7)
	}
	return i%m.Arch.Skip.Every == m.Arch.Skip.At
}

// AttentionLayers says which of n layers have attention at all: none has a layer with no heads of queries or keys
// (llama_model_deci::graph; is_recr_impl of hybrids, load_arch_hparams), though it may have tensors of their names
// (llama_model_bailingmoe3). In hybrids the tensors tell the others.
func (m *Model) AttentionLayers(n int) []bool {
	out := slices.Repeat([]bool{true}, n)
	for _, key := range []string{arch.KeyHeads, arch.KeyHeadsKV} {
		_, list := m.PerLayer(key)
		for i, heads := range list[:min(n, len(list))] {
			out[i] = out[i] && heads > 0
		}
	}
	if !m.Arch.Hybrid {
		return out
	}
	keys := make([]bool, n)
	for i := range keys {
		keys[i] = out[i] && (m.Tensor("blk.%d.attn_k.weight", i) != nil || m.Tensor("blk.%d.attn_kv_a_mqa.weight", i) != nil)
	}
	if slices.Contains(keys, true) {
		return keys
	}
	return out
}

// Tensor returns a tensor by a format of its name, nil where it is not there.
func (m *Model) Tensor(format string, args ...any) *gguf.Tensor {
	return m.File.Tensor(fmt.Sprintf(format, args...))
}

// LayersOf returns the layers whose kind is among those wanted, ascending; nil when
// every layer is.
func LayersOf(kinds []int, want ...int) []int {
	out := []int{}
	for i, k := range kinds {
		if slices.Contains(want, k) {
			out = append(out, i)
		}
	}
	if len(out) == len(kinds) {
		return nil
	}
	return out
}

// SlidesAnywhere reports whether some layers attend through a window.
func (m *Model) SlidesAnywhere() bool {
	_, window := m.Layers()
	return window > 0
}
