// Package attention finds the self-attentions of the text models in GGUF files:
// heads, projections, and what acts in them.
package attention

import (
	"fmt"
	"math"

	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/ggufpos/arch"
	"github.com/modelpatch/modelpatch/position/ggufpos/hparams"
	"github.com/modelpatch/modelpatch/position/ggufpos/relative"
	"github.com/modelpatch/modelpatch/position/ggufpos/site"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// Find lists the self-attentions of a text model, layer by layer, and
// which of the sites act in each.
func Find(m *hparams.Model, sites []position.Site) []*position.Attention {
	n, ok := m.Count(arch.KeyBlocks)
	if !ok || n > hparams.MaxLayers || m.Arch == nil || m.Kind != report.KindModel {
		return nil
	}
	if m.Arch.Scheme == "t5-bias" {
		all := stackAttentions(m, sites, "enc", n, false)
		if d, ok := m.Count("decoder_block_count"); ok {
			n = min(d, hparams.MaxLayers)
		}
		return append(all, stackAttentions(m, sites, "dec", n, true)...)
	}
	return stackAttentions(m, sites, "", n, m.Causal())
}

// stackAttentions are the attentions of one stack of layers.
func stackAttentions(m *hparams.Model, sites []position.Site, stack string, layers int, causal bool) (out []*position.Attention) {
	prefix := "blk."
	if stack != "" {
		prefix = stack + ".blk."
	}
	attends := m.AttentionLayers(layers)
	sliding := make([]bool, layers)
	if m.Arch.Window != nil {
		if s, _ := m.Slides(layers); s != nil {
			sliding = s
		}
	}
	for i := range layers {
		if !attends[i] {
			continue
		}
		if a := newAttention(m, fmt.Sprintf("%s%d.", prefix, i), i, sliding[i]); a != nil {
			a.Causal = causal
			a.Encodings = actingIn(sites, stack, i)
			out = append(out, a)
		}
	}
	return out
}

// newAttention reads the shape of one attention, nil when the layer has none.
func newAttention(m *hparams.Model, prefix string, layer int, sliding bool) *position.Attention {
	a := &position.Attention{Layer: layer, Heads: m.OfLayer(arch.KeyHeads, layer), HeadDim: m.HeadDim(sliding), AddBias: func(w schemes.ALiBi) error { return relative.StoreBias(m, w) }}
	a.KVHeads = a.Heads
	if m.Pair(arch.KeyHeadsKV) != nil {
		a.KVHeads = m.OfLayer(arch.KeyHeadsKV, layer)
	}
	if a.HeadDim > 0 {
		a.Scale = 1 / math.Sqrt(float64(a.HeadDim))
	}
	if v, ok := m.Real("attention.scale"); ok && v != 0 {
		a.Scale = v
	}
	if m.Arch.Scheme == "t5-bias" {
		a.Scale = 1
	}
	switch {
	case m.Arch.MLA || m.File.Tensor(prefix+"attn_kv_a_mqa.weight") != nil:
		a.Unsupported = "latent attention (MLA)"
	case a.Heads <= 0 || a.HeadDim <= 0 || a.KVHeads <= 0 || a.Heads%a.KVHeads != 0:
		a.Unsupported = "its numbers of heads do not fit"
	default:
		if !projections(m, a, prefix) {
			return nil
		}
	}
	if a.Unsupported == "" {
		a.Unsupported = beyondReference(m, prefix, sliding)
	}
	return a
}

// beyondReference says what an attention does that plain attention does not.
func beyondReference(m *hparams.Model, prefix string, sliding bool) string {
	switch soft, _ := m.Real("attn_logit_softcapping"); {
	case m.File.Tensor(prefix+"attn_q_norm.weight") != nil:
		return "queries and keys are normalised"
	case soft > 0:
		return "scores are capped softly"
	case m.File.Tensor(prefix+"attn_sinks.weight") != nil:
		return "it has attention sinks"
	case m.RealOr("attention.clamp_kqv", 0) > 0:
		return "queries, keys and values are clamped"
	case sliding:
		return "it attends through a sliding window"
	case arch.ScaledAttention[m.Name]:
		return "its scale follows YaRN's amplitude"
	}
	return ""
}

// actingIn lists the sites that act inside the attention of a layer.
func actingIn(sites []position.Site, stack string, layer int) []int {
	var out []int
	for i, s := range sites {
		if a, ok := s.(site.Acting); ok && a.ActsIn(stack, layer) {
			out = append(out, i)
		}
	}
	return out
}

// projections finds query, key and value: three matrices, or one with all
// rows. False: the layer has none of them.
func projections(m *hparams.Model, a *position.Attention, prefix string) bool {
	q, k, v := a.Heads*a.HeadDim, a.KVHeads*a.HeadDim, a.KVHeads*a.HeadDim
	if one := m.File.Tensor(prefix + "attn_qkv.weight"); one != nil {
		if one.Rows() != int64(q+k+v) {
			a.Unsupported = fmt.Sprintf("attn_qkv has %d rows, not %d", one.Rows(), q+k+v)
			return true
		}
		part := func(first int) *projection {
			return &projection{file: m.File, weight: one, bias: m.File.Tensor(prefix + "attn_qkv.bias"), first: first, dim: a.HeadDim}
		}
		a.Query, a.Key, a.Val = part(0), part(q), part(q+k)
		readable(a, one)
		return true
	}
	for _, w := range []struct {
		name string
		rows int
		to   *position.Projection
	}{{"attn_q", q, &a.Query}, {"attn_k", k, &a.Key}, {"attn_v", v, &a.Val}} {
		t := m.File.Tensor(prefix + w.name + ".weight")
		switch {
		case t == nil:
			return false
		case t.Rows() != int64(w.rows):
			a.Unsupported = fmt.Sprintf("%s has %d rows, not %d", w.name, t.Rows(), w.rows)
			return true
		}
		*w.to = &projection{file: m.File, weight: t, bias: m.File.Tensor(prefix + w.name + ".bias"), dim: a.HeadDim}
		readable(a, t)
	}
	return true
}
