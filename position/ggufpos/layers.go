package ggufpos

import (
	"fmt"
	"slices"

	"github.com/modelpatch/modelpatch/gguf"
)

// maxLayers is the largest number of layers that is looked at one by one;
// llama.cpp takes 512.
const maxLayers = 4096

// How a layer turns its queries and keys.
const (
	noRope = iota
	fullRope
	slidingRope
)

// layers says for each layer whether it has RoPE and whether it slides; nil
// when the number of layers is not known. window is 0 when nothing slides.
func (m *model) layers() (kinds []int, window int) {
	n, ok := m.count(keyBlocks)
	if !ok || n == 0 || n > maxLayers {
		return nil, 0
	}
	sliding, window := m.slides(n)
	attention := m.attentionLayers(n)
	pattern := m.numbers(keyRopePattern)
	kinds = make([]int, n)
	for i := range kinds {
		switch {
		case !attention[i], m.skips(i, n, window), sliding != nil && !sliding[i] && m.arch.Window.Rope == "sliding" && !m.leadingDense(i):
		case pattern != nil && m.arch.reads(keyRopePattern) && i < len(pattern) && pattern[i] == 0:
		case sliding != nil && sliding[i]:
			kinds[i] = slidingRope
		default:
			kinds[i] = fullRope
		}
	}
	return kinds, window
}

// leadingDense tells cohere2moe's first layers, which have RoPE and no window.
func (m *model) leadingDense(i int) bool {
	n, ok := m.count("leading_dense_block_count")
	return m.name == "cohere2moe" && ok && i < n
}

// slides says which layers attend through a window, nil when none does.
func (m *model) slides(n int) (sliding []bool, window int) {
	w := m.arch.Window
	if w == nil || w.Blocks != 0 && w.Blocks != n {
		return nil, 0
	}
	window = w.Default
	if v, ok := m.count(keyWindow); ok {
		window = v
	}
	if window == 0 {
		return nil, 0
	}
	every, list := m.perLayer(keyPattern)
	if m.pair(keyPattern) == nil {
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
func (m *model) skips(i, n, window int) bool {
	switch {
	case m.name == "smallthinker":
		return window > 0 && i%4 == 0
	case m.arch.Skip == nil:
		return false
	case m.name == "llama4" && window == 0:
		return i == n-1 // the step becomes the layer count (facts/GGUF-FACTS trap 7)
	}
	return i%m.arch.Skip.Every == m.arch.Skip.At
}

// attentionLayers says which layers have attention at all. In hybrids the
// tensors tell, or without tensors the number of key heads.
func (m *model) attentionLayers(n int) []bool {
	out := slices.Repeat([]bool{true}, n)
	if !m.arch.Hybrid {
		return out
	}
	_, kv := m.perLayer(keyHeadsKV)
	seen := false
	for i := range out {
		out[i] = m.tensor("blk.%d.attn_k.weight", i) != nil || m.tensor("blk.%d.attn_kv_a_mqa.weight", i) != nil
		seen = seen || out[i]
	}
	if seen {
		return out
	}
	for i := range out {
		out[i] = kv == nil || i < len(kv) && kv[i] > 0
	}
	return out
}

// tensor returns a tensor by a format of its name, or nil.
func (m *model) tensor(format string, args ...any) *gguf.Tensor {
	return m.file.Tensor(fmt.Sprintf(format, args...))
}

// list returns the layers of a kind, nil when every layer is of it.
func list(kinds []int, want ...int) []int {
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
