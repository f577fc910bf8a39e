// Package attention finds the self-attentions of the text models in GGUF files:
// heads, projections, and what acts in them.
package attention

import (
	"fmt"

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
	sliding, window := make([]bool, layers), 0
	if m.Arch.Window != nil {
		if s, w := m.Slides(layers); s != nil {
			sliding, window = s, w
		}
	}
	tables := tablesOf(sites)
	for i := range layers {
		if !attends[i] {
			continue
		}
		acting := actingIn(sites, stack, i)
		a := newAttention(m, fmt.Sprintf("%s%d.", prefix, i), i, sliding[i], amplitude(sites, acting), tables)
		if a == nil {
			continue
		}
		a.Causal, a.Encodings = causal, acting
		var own schemes.SlidingWindow
		if sliding[i] {
			a.Sees, own = sees(m, window), schemes.SlidingWindow{Positions: window}
			if chunk := m.Arch.Window.Chunk; chunk > 0 {
				own = schemes.SlidingWindow{Chunk: chunk}
			}
		}
		a.Window = func() schemes.SlidingWindow { return own }
		a.AddWindow = func(w schemes.SlidingWindow) error { return storeWindow(m, layers, w) }
		for _, k := range acting {
			if t, ok := sites[k].(*relative.T5); ok {
				a.Biases = append(a.Biases, t.Of(i))
			}
		}
		out = append(out, a)
	}
	return out
}

// amplitude is by what the rotation among some sites multiplies; 0 where there is none.
func amplitude(sites []position.Site, acting []int) float64 {
	for _, i := range acting {
		if _, turns := sites[i].(position.Rotator); !turns {
			continue
		}
		if r, ok := sites[i].Encoding().Scheme.(schemes.Rotary); ok {
			return r.Amplitude()
		}
		return 1
	}
	return 0
}

// newAttention reads the shape of one attention, nil when the layer has none.
// amplitude is that of the rotation that acts in it; 0: none does.
func newAttention(m *hparams.Model, prefix string, index int, sliding bool, amplitude float64, tables []added) *position.Attention {
	turned := amplitude > 0
	a := &position.Attention{Layer: index, Heads: m.OfLayer(arch.KeyHeads, index), HeadDim: m.HeadDim(sliding), AddBias: func(w schemes.ALiBi) error { return relative.StoreBias(m, w) }}
	a.KVHeads = a.Heads
	if m.Pair(arch.KeyHeadsKV) != nil {
		a.KVHeads = m.OfLayer(arch.KeyHeadsKV, index)
	}
	l := &layer{m: m, prefix: prefix, heads: a.Heads, kvHeads: a.KVHeads, dim: a.HeadDim, valueDim: valueDim(m, a.HeadDim), tables: tables,
		queryNorm: normOf(m, prefix, "attn_q_norm"), keyNorm: normOf(m, prefix, "attn_k_norm"), clamp: m.RealOr("attention.clamp_kqv", 0),
		scale: scaleOf(m, a.HeadDim) * magnitude(m), softcap: softcapOf(m), sinks: m.File.Tensor(prefix + "attn_sinks.weight"), temperature: m.Temperature(turned)}
	switch bare := bareNorm(m, turned); {
	case bare.bare:
		l.queryNorm, l.keyNorm = bare, bare
	case m.Family() == "talkie":
		l.queryNorm, l.keyNorm = afterTurning(l.queryNorm, amplitude), afterTurning(norm{bare: true, epsilon: l.queryNorm.epsilon}, amplitude)
	}
	refused := l.share(index, sliding)
	switch {
	case m.Arch.MLA || m.File.Tensor(prefix+"attn_kv_a_mqa.weight") != nil:
		l.kvHeads = l.heads
		if l.latent, a.Unsupported = latentOf(m, prefix, a.Heads, a.HeadDim, l.valueDim); a.Heads <= 0 {
			a.Unsupported = "its numbers of heads do not fit"
		}
	case a.Heads <= 0 && m.File.Tensor(prefix+"attn_q.weight") == nil && m.File.Tensor(prefix+"attn_qkv.weight") == nil:
		return nil // a recurrent layer
	case a.Heads <= 0 || a.HeadDim <= 0 || a.KVHeads <= 0 || a.Heads%a.KVHeads != 0:
		a.Unsupported = "its numbers of heads do not fit"
	default:
		var there bool
		if there, a.Unsupported = l.projections(); !there {
			return nil
		}
	}
	if refused != "" {
		a.Unsupported = refused
	}
	if a.Unsupported == "" {
		a.Unsupported = unmodelled[m.Family()]
	}
	if a.Unsupported == "" {
		a.Run = l.run
	}
	return a
}

// unmodelled are the architectures whose attention is not softmax attention over all
// keys of a layer of its own, and why.
var unmodelled = map[string]string{
	"deepseek32": "llama.cpp's deepseek32 attends to keys that an indexer chooses",
	"deepseek4":  "llama.cpp's deepseek4 attends to compressed keys and to some that an indexer chooses",
	"glm-dsa":    "llama.cpp's glm-dsa attends to keys that an indexer chooses",
}

// valueDim is the number of elements of a value.
func valueDim(m *hparams.Model, dim int) int {
	for _, key := range []string{"attention.value_length_mla", "attention.value_length"} {
		if n, ok := m.Count(key); ok && n > 0 {
			return n
		}
	}
	if width, ok := m.Count(arch.KeyEmbedding); ok && m.Heads() > 0 {
		return width / m.Heads()
	}
	return dim
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

// projections finds query, key and value: three matrices, or one with all rows. there
// is false where the layer has none of them; why says what does not fit.
func (l *layer) projections() (there bool, why string) {
	q, k, v := l.heads*l.dim, l.kvHeads*l.dim, l.kvHeads*l.valueDim
	if one := l.m.File.Tensor(l.prefix + "attn_qkv.weight"); one != nil {
		if l.keysOf != "" {
			return true, "its queries lie in attn_qkv, and its keys in another layer"
		}
		if one.Rows() != int64(q+k+v) {
			return true, fmt.Sprintf("attn_qkv has %d rows, not %d", one.Rows(), q+k+v)
		}
		part := func(first, dim int) *projection {
			return &projection{file: l.m.File, weight: one, bias: l.m.File.Tensor(l.prefix + "attn_qkv.bias"), first: first, dim: dim}
		}
		l.query, l.key, l.val = part(0, l.dim), part(q, l.dim), part(q+k, l.valueDim)
		return true, unreadable(one)
	}
	for _, w := range []struct {
		name      string
		rows, dim int
		to        **projection
	}{{"attn_q", q, l.dim, &l.query}, {"attn_k", k, l.dim, &l.key}, {"attn_v", v, l.valueDim, &l.val}} {
		prefix := l.prefix
		if w.name != "attn_q" && l.keysOf != "" {
			prefix = l.keysOf
		}
		t := l.m.File.Tensor(prefix + w.name + ".weight")
		if t == nil && w.name == "attn_v" && l.m.Family() == "gemma4" {
			w.name = "attn_k" // the values are the keys before their norm
			t = l.m.File.Tensor(prefix + "attn_k.weight")
		}
		switch {
		case t == nil:
			return false, ""
		case t.Rows() != int64(w.rows):
			return true, fmt.Sprintf("%s has %d rows, not %d", w.name, t.Rows(), w.rows)
		}
		if why := unreadable(t); why != "" {
			return true, why
		}
		*w.to = &projection{file: l.m.File, weight: t, bias: l.m.File.Tensor(prefix + w.name + ".bias"), dim: w.dim}
	}
	return true, ""
}
