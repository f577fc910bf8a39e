package arch

import (
	"strings"

	"github.com/modelpatch/modelpatch/gguf"
)

// Keys of positions, without the architecture's prefix (facts/GGUF-FACTS §b).
const (
	KeyContext     = "context_length"                       // uint32: positions
	KeyCausal      = "attention.causal"                     // bool
	KeyDims        = "rope.dimension_count"                 // uint32: elements of a head that turn (n_rot)
	KeyDimsSWA     = "rope.dimension_count_swa"             // uint32: the same in sliding layers
	KeyBase        = "rope.freq_base"                       // float32
	KeyBaseSWA     = "rope.freq_base_swa"                   // float32: of sliding layers
	KeyType        = "rope.scaling.type"                    // string: one of ScalingTypes
	KeyFactor      = "rope.scaling.factor"                  // float32
	KeyScaleLinear = "rope.scale_linear"                    // float32: the factor, in old files
	KeyOriginal    = "rope.scaling.original_context_length" // uint32: positions
	KeyAttnFactor  = "rope.scaling.attn_factor"             // float32: cos and sin are multiplied by it
	KeyAlpha       = "rope.scaling.alpha"                   // float32: hunyuan's NTK factor
	KeyFinetuned   = "rope.scaling.finetuned"               // bool: false switches RoPE off in Granite
	KeyBetaFast    = "rope.scaling.yarn_beta_fast"          // float32: turns
	KeyBetaSlow    = "rope.scaling.yarn_beta_slow"          // float32: turns
	KeyExtFactor   = "rope.scaling.yarn_ext_factor"         // float32
	KeyYarnAttn    = "rope.scaling.yarn_attn_factor"        // float32
	KeyLogMul      = "rope.scaling.yarn_log_multiplier"     // float32: multiplies the logarithm of the factor in the amplitude
	KeySections    = "rope.dimension_sections"              // int32[4]: pairs of each section of M-RoPE
	KeyMaxBias     = "attention.max_alibi_bias"             // float32: ALiBi's largest bias; 0: none
	KeyWindow      = "attention.sliding_window"             // uint32: positions
	KeyPattern     = "attention.sliding_window_pattern"     // uint32 or bool array: which layers slide
	KeyTempScale   = "attention.temperature_scale"          // float32: of the temperature of queries
	KeyTempLength  = "attention.temperature_length"         // uint32: positions from which it counts
	KeyRopePattern = "attention.rope_pattern"               // int32 array: 0 where a layer has no RoPE
	KeyBuckets     = "attention.relative_buckets_count"     // uint32
	KeyBlocks      = "block_count"                          // uint32: layers
	KeyEmbedding   = "embedding_length"                     // uint32: elements
	KeyHeads       = "attention.head_count"                 // uint32, or an array by layer
	KeyHeadsKV     = "attention.head_count_kv"              // uint32, or an array by layer
	KeyKeyLength   = "attention.key_length"                 // uint32: elements of a head of keys
	KeyKeyLenMLA   = "attention.key_length_mla"             // uint32: the same of latent attention
	KeyKeyLenSWA   = "attention.key_length_swa"             // uint32: the same of sliding layers
)

// DeepSeek 4's keys of compressed attention.
const (
	KeyCompress     = "attention.compress_ratios"         // int32 array by layer; 0: not compressed
	KeyCompressBase = "attention.compress_rope_freq_base" // float32: of compressed layers
)

// KeyTypes are the exact types that engines want, by key: with another one loading
// fails, also where the key has no effect (facts/GGUF-FACTS §a).
var KeyTypes = []struct {
	Suffix string
	Type   gguf.ValueType
}{
	{KeyCausal, gguf.TypeBool},
	{KeyKeyLength, gguf.TypeUint32},
	{KeyKeyLenMLA, gguf.TypeUint32},
	{KeyMaxBias, gguf.TypeFloat32},
	{KeyBuckets, gguf.TypeUint32},
	{KeyWindow, gguf.TypeUint32},
	{KeyBlocks, gguf.TypeUint32},
	{KeyContext, gguf.TypeUint32},
	{KeyEmbedding, gguf.TypeUint32},
	{KeyDims, gguf.TypeUint32},
	{KeyDimsSWA, gguf.TypeUint32},
	{KeyBase, gguf.TypeFloat32},
	{KeyBaseSWA, gguf.TypeFloat32},
	{KeyScaleLinear, gguf.TypeFloat32},
	{KeyAlpha, gguf.TypeFloat32},
	{KeyAttnFactor, gguf.TypeFloat32},
	{KeyFactor, gguf.TypeFloat32},
	{KeyFinetuned, gguf.TypeBool},
	{KeyOriginal, gguf.TypeUint32},
	{KeyType, gguf.TypeString},
	{KeyYarnAttn, gguf.TypeFloat32},
	{KeyBetaFast, gguf.TypeFloat32},
	{KeyBetaSlow, gguf.TypeFloat32},
	{KeyExtFactor, gguf.TypeFloat32},
	{KeyLogMul, gguf.TypeFloat32},
}

// TypeOf is the type that engines want of a key; false for one of which they take several.
func TypeOf(suffix string) (gguf.ValueType, bool) {
	for _, k := range KeyTypes {
		if k.Suffix == suffix {
			return k.Type, true
		}
	}
	return 0, false
}

// Sections is how many numbers KeySections has (hparams.rope_sections; get_key_or_arr of llama.cpp
// refuses any other count).
const Sections = 4

// Settable reports whether a key tells positions alone: its length, its rotation or its bias.
func Settable(suffix string) bool {
	_, typed := TypeOf(suffix)
	return typed && (suffix == KeyContext || suffix == KeyMaxBias || strings.HasPrefix(suffix, "rope.")) || suffix == KeySections
}

// The words that engines know in rope.scaling.type; any other kills the
// process (facts/GGUF-FACTS §b).
const (
	TypeNone     = "none"
	TypeLinear   = "linear"
	TypeYaRN     = "yarn"
	TypeLongRoPE = "longrope"
)

// ScalingTypes are the words that engines know, all of them.
var ScalingTypes = []string{TypeNone, TypeLinear, TypeYaRN, TypeLongRoPE}
