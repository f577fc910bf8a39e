package ggufpos

import (
	"math"
	"testing"

	"github.com/modelpatch/modelpatch/gguf"
	"github.com/modelpatch/modelpatch/position/trial"
)

// TestLatentAttention holds queries, keys and values of DeepSeek-V2's attention against its formulas (DeepSeek-AI 2024,
// §2.1.2 and 2.1.3; llama.cpp's deepseek2): a short vector gives keys and values, and a part of the key that all heads
// share is turned. The turned part stands first in what is run.
func TestLatentAttention(t *testing.T) {
	m := openFile(t, "deepseek2-plain.gguf")
	a := m.Attentions()[0]
	if a.Unsupported != "" {
		t.Fatal(a.Unsupported)
	}
	const positions, head, width, rank, nope, turned, values, epsilon = 3, 1, 32, 16, 16, 16, 16, 1e-6
	read := func(name string, rows, width int) [][]float64 {
		tensor := m.File.Tensor("blk.0." + name + ".weight")
		if tensor == nil {
			t.Fatalf("no tensor %s", name)
		}
		flat := make([]float64, rows*width)
		if err := m.File.ReadRows(tensor, 0, int64(rows), flat); err != nil {
			t.Fatal(err)
		}
		out := make([][]float64, rows)
		for i := range out {
			out[i] = flat[i*width : (i+1)*width]
		}
		return out
	}
	dot := func(a, b []float64) (sum float64) {
		for i := range a {
			sum += a[i] * b[i]
		}
		return sum
	}
	normed := func(x, weight []float64) []float64 {
		root := math.Sqrt(dot(x, x)/float64(len(x)) + epsilon)
		out := make([]float64, len(x))
		for i := range x {
			out[i] = x[i] / root * weight[i]
		}
		return out
	}
	queryDown, queryNorm, queryUp := read("attn_q_a", rank, width), read("attn_q_a_norm", 1, rank)[0], read("attn_q_b", 2*(nope+turned), rank)
	down, norm := read("attn_kv_a_mqa", rank+turned, width), read("attn_kv_a_norm", 1, rank)[0]
	keyUp, valueUp := read("attn_k_b", 2*rank, nope), read("attn_v_b", 2*values, rank)
	got, err := a.Run(positions, []int{head})
	if err != nil {
		t.Fatal(err)
	}
	if got.First != 0 {
		t.Errorf("element %d is the first to be turned", got.First)
	}
	x := trial.Normal(0, []int{positions, width})
	compare := func(what string, p, i int, have, want float64) {
		if math.Abs(have-want) > 1e-10*max(1, math.Abs(want)) {
			t.Fatalf("%s, position %d, element %d: %g, want %g", what, p, i, have, want)
		}
	}
	for p := range positions {
		state := x[p*width : (p+1)*width]
		var short, latent []float64
		for _, row := range queryDown {
			short = append(short, dot(row, state))
		}
		short = normed(short, queryNorm)
		for _, row := range down[:rank] {
			latent = append(latent, dot(row, state))
		}
		latent = normed(latent, norm)
		for i := range nope + turned { // of a head's rows, those that are not turned stand first
			row := queryUp[head*(nope+turned)+(i+nope)%(nope+turned)]
			compare("query", p, i, got.Heads[0].Query[p][i], dot(row, short))
		}
		for i := range turned {
			compare("shared key", p, i, got.Heads[0].Key[p][i], dot(down[rank+i], state))
		}
		for i := range nope {
			want := 0.0
			for r := range rank {
				want += latent[r] * keyUp[head*rank+r][i]
			}
			compare("key", p, turned+i, got.Heads[0].Key[p][turned+i], want)
		}
		for i := range values {
			compare("value", p, i, got.Heads[0].Value[p][i], dot(valueUp[head*values+i], latent))
		}
	}
}

// TestLatentShapes: projections whose shapes do not fit the keys are told, and not run.
func TestLatentShapes(t *testing.T) {
	m := openFile(t, "deepseek2-plain.gguf")
	for key, value := range map[string]uint32{"deepseek2.attention.kv_lora_rank": 8, "deepseek2.rope.dimension_count": 8, "deepseek2.attention.value_length_mla": 8} {
		raw := readFile(t, "deepseek2-plain.gguf")
		e := m.File.Edit()
		e.Set(key, gguf.Uint32(value), "")
		changed := opened(t, edited(t, e, raw))
		a := changed.Attentions()
		if len(a) > 0 && a[0].Unsupported == "" {
			t.Errorf("%s of %d: the attention is taken for one that can be run", key, value)
		}
		m = openFile(t, "deepseek2-plain.gguf")
	}
}
