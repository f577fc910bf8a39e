package hparams

import (
	"math"
	"slices"

	"github.com/modelpatch/modelpatch/gguf"
	"github.com/modelpatch/modelpatch/position/ggufpos/arch"
)

// Ignores reports whether a key of the standard set has no effect here.
func (m *Model) Ignores(key string) bool { return slices.Contains(m.Arch.Ignores, key) }

// HeadDim is the number of elements of a query head, of sliding layers or the
// others; 0 when the file does not tell.
func (m *Model) HeadDim(sliding bool) int {
	keys := []string{arch.KeyKeyLenMLA, arch.KeyKeyLength}
	if sliding {
		keys = []string{arch.KeyKeyLenSWA, arch.KeyKeyLenMLA, arch.KeyKeyLength}
	}
	for _, k := range keys {
		if n, ok := m.Count(k); ok && n > 0 {
			return n
		}
	}
	width, ok := m.Count(arch.KeyEmbedding)
	if heads := m.Heads(); ok && heads > 0 {
		return width / heads
	}
	return 0
}

// MaxHeads is more heads than any model has.
const MaxHeads = 1 << 14

// Heads is the number of query heads; of an array its first that is not 0.
// 0: not known, or no number of heads. Every layer asks, and the array may be long.
func (m *Model) Heads() int {
	if m.headCount == nil {
		n := m.countHeads()
		m.headCount = &n
	}
	return *m.headCount
}

func (m *Model) countHeads() int {
	n, list := m.PerLayer(arch.KeyHeads)
	for _, v := range list {
		if v > 0 && v <= MaxHeads {
			return int(v)
		}
	}
	if n > MaxHeads {
		return 0
	}
	return n
}

// MaxDims is more elements than any head has.
const MaxDims = 1 << 16

// OfLayer is the count of one layer under a key that has one for all layers or an
// array; 0: none, or more than MaxHeads.
func (m *Model) OfLayer(suffix string, layer int) int {
	all, list := m.PerLayer(suffix)
	if layer < len(list) && list[layer] >= 0 && list[layer] <= MaxHeads {
		return int(list[layer])
	}
	if all > MaxHeads {
		return 0
	}
	return all
}

// Causal reports whether tokens see only those before them.
func (m *Model) Causal() bool {
	if causal, ok := m.Pair(arch.KeyCausal).Bool(); ok {
		return causal
	}
	return !m.Ignores(arch.KeyCausal) && !slices.Contains(arch.Encoders, m.Family())
}

// vocabulary is the number of entries of the vocabulary; 0: the file does not tell.
func (m *Model) vocabulary() int {
	if n, ok := m.Count("vocab_size"); ok {
		return n
	}
	if t := m.File.Tensor("token_embd.weight"); t != nil {
		return int(min(t.Rows(), math.MaxInt32))
	}
	if p := m.File.Find("tokenizer.ggml.tokens"); p != nil && p.Type == gguf.TypeArray {
		return int(min(p.Count, math.MaxInt32))
	}
	return 0
}

// Published is what published models have that this one is of by its architecture, and by
// its vocabulary where that tells a family; nil: nothing is known of them.
func (m *Model) Published() *arch.Published {
	if p := m.Arch.Published; p != nil && (p.Vocab == 0 || p.Vocab == m.vocabulary()) {
		return p
	}
	return nil
}
