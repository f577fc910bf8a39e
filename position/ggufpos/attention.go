package ggufpos

import (
	"fmt"
	"math"
	"slices"

	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
)

// findAttentions lists the self-attentions of a text model, layer by layer.
func (m *model) findAttentions() {
	n, ok := m.count(keyBlocks)
	if !ok || n > maxLayers || m.arch == nil || m.kind != report.KindModel {
		return
	}
	if m.arch.Scheme == "t5-bias" {
		m.stackAttentions("enc", n, false)
		if d, ok := m.count("decoder_block_count"); ok {
			n = min(d, maxLayers)
		}
		m.stackAttentions("dec", n, true)
		return
	}
	m.stackAttentions("", n, m.causal())
}

// causal reports whether tokens see only those before them.
func (m *model) causal() bool {
	if causal, ok := m.pair(keyCausal).Bool(); ok {
		return causal
	}
	return !m.ignores(keyCausal) && !slices.Contains(encoders, m.name)
}

// encoders are the architectures without RoPE that see in both directions
// whatever the key says.
var encoders = []string{"bert", "jina-bert-v2", "t5encoder"}

// stackAttentions adds the attentions of one stack of layers.
func (m *model) stackAttentions(stack string, layers int, causal bool) {
	prefix := "blk."
	if stack != "" {
		prefix = stack + ".blk."
	}
	attends := m.attentionLayers(layers)
	sliding := make([]bool, layers)
	if m.arch.Window != nil {
		if s, _ := m.slides(layers); s != nil {
			sliding = s
		}
	}
	for i := range layers {
		if !attends[i] {
			continue
		}
		if a := m.attention(fmt.Sprintf("%s%d.", prefix, i), i, sliding[i]); a != nil {
			a.Causal = causal
			a.Encodings = m.actingIn(stack, i)
			m.attentions = append(m.attentions, a)
		}
	}
}

// attention reads the shape of one attention, nil when the layer has none.
func (m *model) attention(prefix string, layer int, sliding bool) *position.Attention {
	a := &position.Attention{Layer: layer, Heads: m.at(keyHeads, layer), HeadDim: m.headDim(sliding), AddBias: m.storeBias}
	a.KVHeads = a.Heads
	if m.pair(keyHeadsKV) != nil {
		a.KVHeads = m.at(keyHeadsKV, layer)
	}
	if a.HeadDim > 0 {
		a.Scale = 1 / math.Sqrt(float64(a.HeadDim))
	}
	if v, ok := m.real("attention.scale"); ok && v != 0 {
		a.Scale = v
	}
	if m.arch.Scheme == "t5-bias" {
		a.Scale = 1
	}
	switch {
	case m.arch.MLA || m.file.Tensor(prefix+"attn_kv_a_mqa.weight") != nil:
		a.Unsupported = "latent attention (MLA)"
	case a.Heads <= 0 || a.HeadDim <= 0 || a.KVHeads <= 0 || a.Heads%a.KVHeads != 0:
		a.Unsupported = "its numbers of heads do not fit"
	default:
		if !m.projections(a, prefix) {
			return nil
		}
	}
	if a.Unsupported == "" {
		a.Unsupported = m.beyondReference(prefix, sliding)
	}
	return a
}

// at is a per-layer count.
func (m *model) at(suffix string, layer int) int {
	all, list := m.perLayer(suffix)
	if layer < len(list) && list[layer] >= 0 && list[layer] <= maxHeads {
		return int(list[layer])
	}
	if all > maxHeads {
		return 0
	}
	return all
}

// beyondReference says what an attention does that plain attention does not.
func (m *model) beyondReference(prefix string, sliding bool) string {
	switch soft, _ := m.real("attn_logit_softcapping"); {
	case m.file.Tensor(prefix+"attn_q_norm.weight") != nil:
		return "queries and keys are normalised"
	case soft > 0:
		return "scores are capped softly"
	case m.file.Tensor(prefix+"attn_sinks.weight") != nil:
		return "it has attention sinks"
	case m.realOr("attention.clamp_kqv", 0) > 0:
		return "queries, keys and values are clamped"
	case sliding:
		return "it attends through a sliding window"
	case scaledAttention[m.name]:
		return "its scale follows YaRN's amplitude"
	}
	return ""
}

// actingIn lists the sites that act inside the attention of a layer.
func (m *model) actingIn(stack string, layer int) []int {
	var out []int
	for i, s := range m.sites {
		switch s := s.(type) {
		case *rope:
			if _, acts := slices.BinarySearch(s.layers, layer); acts || s.layers == nil {
				out = append(out, i)
			}
		case *alibi:
			out = append(out, i)
		case *t5:
			if s.stack == stack {
				out = append(out, i)
			}
		}
	}
	return out
}

// projections finds query, key and value: three matrices, or one with all
// rows. False: the layer has none of them.
func (m *model) projections(a *position.Attention, prefix string) bool {
	q, k, v := a.Heads*a.HeadDim, a.KVHeads*a.HeadDim, a.KVHeads*a.HeadDim
	if one := m.file.Tensor(prefix + "attn_qkv.weight"); one != nil {
		if one.Rows() != int64(q+k+v) {
			a.Unsupported = fmt.Sprintf("attn_qkv has %d rows, not %d", one.Rows(), q+k+v)
			return true
		}
		part := func(first int) *projection {
			return &projection{m: m, weight: one, bias: m.file.Tensor(prefix + "attn_qkv.bias"), first: first, dim: a.HeadDim}
		}
		a.Query, a.Key, a.Val = part(0), part(q), part(q+k)
		return m.readable(a, one)
	}
	for _, w := range []struct {
		name string
		rows int
		to   *position.Projection
	}{{"attn_q", q, &a.Query}, {"attn_k", k, &a.Key}, {"attn_v", v, &a.Val}} {
		t := m.file.Tensor(prefix + w.name + ".weight")
		switch {
		case t == nil:
			return false
		case t.Rows() != int64(w.rows):
			a.Unsupported = fmt.Sprintf("%s has %d rows, not %d", w.name, t.Rows(), w.rows)
			return true
		}
		*w.to = &projection{m: m, weight: t, bias: m.file.Tensor(prefix + w.name + ".bias"), dim: a.HeadDim}
		m.readable(a, t)
	}
	return true
}
