package ggufpos

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/modelpatch/modelpatch/gguf"
	"github.com/modelpatch/modelpatch/patch"
	"github.com/modelpatch/modelpatch/position/trial"
)

const (
	tinyWidth, tinyHeads, tinyKV, tinyDim = 8, 2, 1, 4
	tinyEpsilon                           = 1e-3
)

// tiny is a file of one of the architectures below with keys and seeded matrices: rows of
// tinyWidth elements, but for those of norms.
func tiny(t *testing.T, arch string, layers int, more keys, tensors map[string][]int64) *model {
	t.Helper()
	return opened(t, tinyFile(t, arch, layers, more, tensors))
}

func tinyFile(t *testing.T, arch string, layers int, more keys, tensors map[string][]int64) []byte {
	t.Helper()
	empty := append([]byte("GGUF\x03"), make([]byte, 19)...)
	f, err := gguf.NewFile(bytes.NewReader(empty), int64(len(empty)))
	if err != nil {
		t.Fatal(err)
	}
	e := f.Edit()
	set := func(key string, v gguf.Value) { e.Set(key, v, "") }
	set("general.architecture", gguf.String(arch))
	for key, n := range map[string]uint32{"context_length": 64, "embedding_length": tinyWidth, "block_count": uint32(layers), "attention.head_count": tinyHeads, "attention.head_count_kv": tinyKV,
		"attention.key_length": tinyDim, "attention.value_length": tinyDim, "rope.dimension_count": tinyDim} {
		set(arch+"."+key, gguf.Uint32(n))
	}
	set(arch+".attention.layer_norm_rms_epsilon", gguf.Float32(tinyEpsilon))
	set(arch+".rope.freq_base", gguf.Float32(10000))
	for key, v := range more {
		set(arch+"."+key, v)
	}
	add := func(name string, shape ...int64) {
		r, n := rand.New(rand.NewPCG(uint64(len(name)), uint64(name[4]))), int64(1)
		for _, d := range shape {
			n *= d
		}
		values := make([]float32, n)
		for i := range values {
			values[i] = float32(r.NormFloat64())
		}
		var raw bytes.Buffer
		binary.Write(&raw, binary.LittleEndian, values)
		e.Add(name, gguf.F32, shape, patch.Bytes(raw.Bytes()), "")
	}
	for i := range layers {
		add(fmt.Sprintf("blk.%d.attn_q.weight", i), tinyWidth, tinyHeads*tinyDim)
		add(fmt.Sprintf("blk.%d.attn_k.weight", i), tinyWidth, tinyKV*tinyDim)
		if arch != "gemma4" || i%2 == 0 { // values of the others are their keys
			add(fmt.Sprintf("blk.%d.attn_v.weight", i), tinyWidth, tinyKV*tinyDim)
		}
	}
	for name, shape := range tensors {
		add(name, shape...)
	}
	return edited(t, e, empty)
}

// projected are seeded states times a tensor's rows from one on.
func projected(t *testing.T, m *model, name string, first int64, positions int) [][]float64 {
	t.Helper()
	x := trial.Normal(0, []int{positions, tinyWidth})
	w := make([]float64, tinyDim*tinyWidth)
	if err := m.File.ReadRows(m.File.Tensor(name), first, tinyDim, w); err != nil {
		t.Fatal(err)
	}
	out := make([][]float64, positions)
	for p := range out {
		out[p] = make([]float64, tinyDim)
		for i := range tinyDim {
			for k := range tinyWidth {
				out[p][i] += w[i*tinyWidth+k] * x[p*tinyWidth+k]
			}
		}
	}
	return out
}

// divided divides rows by √(a²·mean square + ε) and multiplies them by gains.
func divided(rows [][]float64, a float64, gains ...float64) [][]float64 {
	for _, row := range rows {
		square := 0.0
		for _, v := range row {
			square += v * v / float64(len(row))
		}
		for i := range row {
			row[i] /= math.Sqrt(a*a*square + float64(float32(tinyEpsilon)))
			if len(gains) > 0 {
				row[i] *= gains[i%len(gains)]
			}
		}
	}
	return rows
}

func wantRows(t *testing.T, what string, got, want [][]float64) {
	t.Helper()
	for p := range want {
		for i := range want[p] {
			if math.Abs(got[p][i]-want[p][i]) > 1e-12 {
				t.Fatalf("%s: position %d, element %d is %v, want %v", what, p, i, got[p][i], want[p][i])
			}
		}
	}
}

func tried(t *testing.T, m *model, layer, head int) trial.Head {
	t.Helper()
	a := m.Attentions()[layer]
	if a.Unsupported != "" || a.Run == nil {
		t.Fatalf("layer %d: %s", layer, a.Unsupported)
	}
	got, err := a.Run(5, []int{head})
	if err != nil {
		t.Fatal(err)
	}
	return got.Heads[0]
}

// TestGrok holds grok's scale and cap: constants, or its keys.
func TestGrok(t *testing.T) {
	for _, c := range []struct {
		keys       keys
		scale, cap float64
	}{
		{nil, 0.08838834764831845, 30},
		{keys{"attention.output_scale": gguf.Float32(0.25), "attn_logit_softcapping": gguf.Float32(20)}, 0.25, 20},
	} {
		h := tried(t, tiny(t, "grok", 1, c.keys, nil), 0, 1)
		if h.Scale != c.scale || h.Softcap != c.cap {
			t.Errorf("scale %v and cap %v, want %v and %v", h.Scale, h.Softcap, c.scale, c.cap)
		}
	}
}

// TestTalkie holds queries and keys that are normalised after the rotation: with its
// amplitude in the norm, and one gain a head.
func TestTalkie(t *testing.T) {
	for _, amplitude := range []float64{1, 1.5} {
		m := tiny(t, "talkie", 1, keys{"rope.scaling.attn_factor": gguf.Float32(float32(amplitude))}, map[string][]int64{"blk.0.attn_q_norm.weight": {1, tinyHeads}})
		gains := make([]float64, tinyHeads)
		if err := m.File.ReadRows(m.File.Tensor("blk.0.attn_q_norm.weight"), 0, tinyHeads, gains); err != nil {
			t.Fatal(err)
		}
		h := tried(t, m, 0, 1)
		wantRows(t, "queries", h.Query, divided(projected(t, m, "blk.0.attn_q.weight", tinyDim, 5), amplitude, gains[1]))
		wantRows(t, "keys", h.Key, divided(projected(t, m, "blk.0.attn_k.weight", 0, 5), amplitude))
		wantRows(t, "values", h.Value, projected(t, m, "blk.0.attn_v.weight", 0, 5))
	}
}

// TestSharedKeys holds that layers without keys of their own take those of the last layer
// that has some and slides as they do, with that layer's norm, and that values are
// normalised without weights.
func TestSharedKeys(t *testing.T) {
	for _, c := range []struct {
		arch        string
		layers      int
		keys        keys
		layer, from int
	}{
		{"gemma3n", 22, keys{"attention.sliding_window": gguf.Uint32(16)}, 3, 3},
		{"gemma3n", 22, keys{"attention.sliding_window": gguf.Uint32(16)}, 21, 18},
		{"gemma3n", 25, keys{"attention.sliding_window": gguf.Uint32(16)}, 24, 19},
		{"gemma4", 6, keys{"attention.sliding_window": gguf.Uint32(16), "attention.shared_kv_layers": gguf.Uint32(2), "attention.sliding_window_pattern": gguf.Int32s(1, 0, 1, 0, 1, 0),
			"attention.key_length_swa": gguf.Uint32(tinyDim), "attention.value_length_swa": gguf.Uint32(tinyDim), "rope.dimension_count_swa": gguf.Uint32(tinyDim)}, 4, 2},
		{"gemma4", 6, keys{"attention.sliding_window": gguf.Uint32(16), "attention.shared_kv_layers": gguf.Uint32(2), "attention.sliding_window_pattern": gguf.Int32s(1, 0, 1, 0, 1, 0),
			"attention.key_length_swa": gguf.Uint32(tinyDim), "attention.value_length_swa": gguf.Uint32(tinyDim), "rope.dimension_count_swa": gguf.Uint32(tinyDim)}, 5, 3},
	} {
		norms := map[string][]int64{}
		for i := range c.layers {
			norms[fmt.Sprintf("blk.%d.attn_k_norm.weight", i)] = []int64{tinyDim}
			norms[fmt.Sprintf("blk.%d.attn_q_norm.weight", i)] = []int64{tinyDim}
		}
		m := tiny(t, c.arch, c.layers, c.keys, norms)
		h := tried(t, m, c.layer, 0)
		of := func(layer int, name string) []float64 {
			w := make([]float64, tinyDim)
			if err := m.File.ReadRows(m.File.Tensor(fmt.Sprintf("blk.%d.%s.weight", layer, name)), 0, 1, w); err != nil {
				t.Fatal(err)
			}
			return w
		}
		what := fmt.Sprintf("%s, layer %d: ", c.arch, c.layer)
		wantRows(t, what+"queries", h.Query, divided(projected(t, m, fmt.Sprintf("blk.%d.attn_q.weight", c.layer), 0, 5), 1, of(c.layer, "attn_q_norm")...))
		wantRows(t, what+"keys", h.Key, divided(projected(t, m, fmt.Sprintf("blk.%d.attn_k.weight", c.from), 0, 5), 1, of(c.from, "attn_k_norm")...))
		values := fmt.Sprintf("blk.%d.attn_v.weight", c.from)
		if m.File.Tensor(values) == nil {
			values = fmt.Sprintf("blk.%d.attn_k.weight", c.from)
		}
		wantRows(t, what+"values", h.Value, divided(projected(t, m, values, 0, 5), 1))
		if h.Scale != 1 {
			t.Errorf("%sscale %v", what, h.Scale)
		}
	}
}
