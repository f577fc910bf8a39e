package ggufpos

import (
	"math"
	"strings"

	"github.com/modelpatch/modelpatch/gguf"
)

// Keys of positions, without the architecture's prefix (facts/GGUF-FACTS §b).
const (
	keyContext     = "context_length"
	keyCausal      = "attention.causal"
	keyDims        = "rope.dimension_count"
	keyDimsSWA     = "rope.dimension_count_swa"
	keyBase        = "rope.freq_base"
	keyBaseSWA     = "rope.freq_base_swa"
	keyType        = "rope.scaling.type"
	keyFactor      = "rope.scaling.factor"
	keyScaleLinear = "rope.scale_linear"
	keyOriginal    = "rope.scaling.original_context_length"
	keyAttnFactor  = "rope.scaling.attn_factor"
	keyAlpha       = "rope.scaling.alpha"
	keyFinetuned   = "rope.scaling.finetuned"
	keyBetaFast    = "rope.scaling.yarn_beta_fast"
	keyBetaSlow    = "rope.scaling.yarn_beta_slow"
	keyExtFactor   = "rope.scaling.yarn_ext_factor"
	keyYarnAttn    = "rope.scaling.yarn_attn_factor"
	keyLogMul      = "rope.scaling.yarn_log_multiplier"
	keySections    = "rope.dimension_sections"
	keyMaxBias     = "attention.max_alibi_bias"
	keyWindow      = "attention.sliding_window"
	keyPattern     = "attention.sliding_window_pattern"
	keyRopePattern = "attention.rope_pattern"
	keyBuckets     = "attention.relative_buckets_count"
	keyBlocks      = "block_count"
	keyEmbedding   = "embedding_length"
	keyHeads       = "attention.head_count"
	keyHeadsKV     = "attention.head_count_kv"
	keyKeyLength   = "attention.key_length"
	keyKeyLenMLA   = "attention.key_length_mla"
	keyKeyLenSWA   = "attention.key_length_swa"
	keyValueLength = "attention.value_length"
)

// keyTypes are the exact types that engines want: with another one loading
// fails, also where the key has no effect (facts/GGUF-FACTS §a).
var keyTypes = map[string]gguf.ValueType{
	keyContext: gguf.TypeUint32, keyCausal: gguf.TypeBool, keyDims: gguf.TypeUint32, keyDimsSWA: gguf.TypeUint32,
	keyBase: gguf.TypeFloat32, keyBaseSWA: gguf.TypeFloat32, keyType: gguf.TypeString, keyFactor: gguf.TypeFloat32,
	keyScaleLinear: gguf.TypeFloat32, keyOriginal: gguf.TypeUint32, keyAttnFactor: gguf.TypeFloat32,
	keyAlpha: gguf.TypeFloat32, keyFinetuned: gguf.TypeBool, keyBetaFast: gguf.TypeFloat32, keyBetaSlow: gguf.TypeFloat32,
	keyExtFactor: gguf.TypeFloat32, keyYarnAttn: gguf.TypeFloat32, keyLogMul: gguf.TypeFloat32,
	keyMaxBias: gguf.TypeFloat32, keyWindow: gguf.TypeUint32, keyBuckets: gguf.TypeUint32,
	keyBlocks: gguf.TypeUint32, keyEmbedding: gguf.TypeUint32, keyKeyLength: gguf.TypeUint32, keyKeyLenMLA: gguf.TypeUint32,
}

// key is a key with the architecture's prefix.
func (m *model) key(suffix string) string { return m.name + "." + suffix }

// suffixOf returns what follows the architecture's prefix in a key. It makes no
// string of the two: names and keys of a hostile file are many and long.
func (m *model) suffixOf(key string) (suffix string, ok bool) {
	rest, ok := strings.CutPrefix(key, m.name)
	if !ok {
		return "", false
	}
	return strings.CutPrefix(rest, ".")
}

// pair returns the pair of a key of this architecture, or nil.
func (m *model) pair(suffix string) *gguf.Pair { return m.file.Find(m.key(suffix)) }

// count returns a key's value as a number of things: any integer type, at most
// 2³¹−1, because engines and this program count positions in 31 bits.
func (m *model) count(suffix string) (int, bool) {
	n, ok := m.pair(suffix).Uint()
	if !ok || n > math.MaxInt32 {
		return 0, false
	}
	return int(n), true
}

// real returns a key's value as a number, of whatever numeric type.
func (m *model) real(suffix string) (float64, bool) { return m.pair(suffix).Float() }

// realOr returns a key's value, or what an engine takes without it.
func (m *model) realOr(suffix string, absent float64) float64 {
	if v, ok := m.real(suffix); ok {
		return v
	}
	return absent
}

// text returns a key's string.
func (m *model) text(suffix string) (string, bool) { return m.file.String(m.key(suffix)) }

// perLayer returns a value that is either one for all layers or an array.
func (m *model) perLayer(suffix string) (all int, list []float64) {
	if n, ok := m.count(suffix); ok {
		return n, nil
	}
	return 0, m.numbers(suffix)
}

// numbers returns a key's array of numbers, which is read once.
func (m *model) numbers(suffix string) []float64 {
	if values, ok := m.arrays[suffix]; ok {
		return values
	}
	values, _ := m.file.Numbers(m.key(suffix))
	if m.arrays == nil {
		m.arrays = map[string][]float64{}
	}
	m.arrays[suffix] = values
	return values
}
