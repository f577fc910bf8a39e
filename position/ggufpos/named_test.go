package ggufpos

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/modelpatch/modelpatch/gguf"
	"github.com/modelpatch/modelpatch/patch"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/schemes"
)

// TestNamed reads files of programs other than llama.cpp, which keep the names of PyTorch's
// checkpoints: tables of positions by name and shape, else an encoding that is unknown, and
// never a rule of llama.cpp.
func TestNamed(t *testing.T) {
	for _, c := range []struct {
		name  string
		shape []int64
		found string
	}{
		{"text_model.embeddings.position_embedding.weight", []int64{8, 77}, "position table of 77 rows of 8 ×77"},
		{"pos_embed", []int64{8, 64, 1}, "position table of 64 rows of 8 ×64"},
		{"model.decoder.embed_positions.weight", []int64{8, 24}, "position table of 24 rows of 8 ×24"},
		{"encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight", []int64{4, 32}, "t5-bias, heads 4, buckets 32, bidirectional ×0"},
		{"text_encoders.t5.decoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight", []int64{4, 32}, "t5-bias, heads 4, buckets 32, causal ×0"},
		{"block.0.relative_attention_bias.weight", []int64{4, 32}, "t5-bias, heads 4, buckets 32 ×0"}, // which way its name does not tell
		{"layers.0.relative_position_bias_table", []int64{4, 49}, "relative-table, rows 49 ×0"},
		{"double_blocks.0.img_attn.qkv.weight", []int64{8, 24}, "unknown ×0"},
		{"composer.weight", []int64{8, 24}, "unknown ×0"}, // no word "pos"
		{"positional_embedding", []int64{8, 4, 4}, "position table of 16 rows of 8, grid 4×4 ×16"},
		{"image_encoder.pos_embed", []int64{8, 6, 4, 1}, "position table of 24 rows of 8, grid 4×6 ×24"},
		{"trunk.pos_embed", []int64{7, 7, 16}, "unknown ×0"},                           // features outermost: no rows
		{"pos_embed.proj.weight", []int64{14, 14, 3}, "unknown ×0"},                    // a convolution beside the table
		{"pe_layer.positional_encoding_gaussian_matrix", []int64{16, 2}, "unknown ×0"}, // of coordinates, not of positions
		{"model/wpe", []int64{8, 24}, "position table of 24 rows of 8 ×24"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := shaped(t, c.name, c.shape)
			if n := len(m.Sites()); n != 1 {
				t.Fatalf("%d encodings", n)
			}
			e := m.Sites()[0].Encoding()
			if got := fmt.Sprintf("%v ×%d", e.Scheme, e.Capacity); got != c.found {
				t.Errorf("found %q, want %q", got, c.found)
			}
			if f := m.Findings(); len(f) > 0 {
				t.Errorf("found %v", f[0])
			}
		})
	}
}

// TestNamedWaves: rows of a formula are told as what they are in files of any program, as in those of llama.cpp.
func TestNamedWaves(t *testing.T) {
	whisper := schemes.Sinusoid{Dim: 32, Base: 10000, Layout: schemes.LayoutSinCos, Denominator: schemes.DenominatorHalfMinusOne, Rows: 60}
	square := make([][]int, 2)
	for c := range 32 {
		square[c/16] = append(square[c/16], c)
	}
	diffusion := schemes.Sinusoid{Dim: 32, Base: 10000, Layout: schemes.LayoutSinCos, Denominator: schemes.DenominatorHalf, Rows: 400, Grid: []int{20, 20}, AxisColumns: square, Step: 0.5}
	for _, c := range []struct {
		name, architecture, tensor string
		of                         schemes.Sinusoid
	}{
		{"Whisper's encoder (whisper.cpp in GGUF, candle)", "whisper", "encoder.positional_embedding", whisper},
		{"places of a square (stable-diffusion.cpp, ComfyUI)", "sd3", "pos_embed", diffusion},
		{"a name of another program in an architecture of llama.cpp (bert.cpp)", "bert", "embeddings.position_embeddings.weight", whisper},
	} {
		table := c.of.Table()
		var raw bytes.Buffer
		row := make([]float64, c.of.Dim)
		for i := range c.of.Rows {
			table.Row(i, row)
			for _, x := range row {
				binary.Write(&raw, binary.LittleEndian, float32(x))
			}
		}
		k := keys{"general.architecture": gguf.String(c.architecture)}
		if c.architecture == "bert" {
			k["bert.context_length"] = gguf.Uint32(60)
		}
		was := written(t, k, nil)
		f, err := gguf.NewFile(bytes.NewReader(was), int64(len(was)))
		if err != nil {
			t.Fatal(err)
		}
		e := f.Edit()
		e.Add(c.tensor, gguf.F32, []int64{int64(c.of.Dim), int64(c.of.Rows)}, patch.Bytes(raw.Bytes()), "")
		sites := reopen(t, e, was).sites
		if len(sites) != 1 || !sites[0].Encoding().Scheme.Equal(c.of) || sites[0].Encoding().Capacity != c.of.Rows {
			t.Errorf("%s: %d encodings, %v, want %s", c.name, len(sites), sites[0].Encoding().Scheme, c.of)
		}
		if len(sites) == 1 {
			want := position.Want{Scheme: schemes.Sinusoid{Dim: 32, Base: 10000, Rows: 800}}
			if err := sites[0].Store(want); c.of.Grid == nil && (err == nil || strings.Contains(err.Error(), "audio")) {
				t.Errorf("%s: %v, want it refused for the unknown program", c.name, err)
			}
		}
	}
}

// TestNamedPictures: rows of a table that stand for the class, and for distillation, lie before those of a square of patches.
func TestNamedPictures(t *testing.T) {
	for _, c := range []struct {
		name   string
		rows   int64
		beside []string
		found  string
	}{
		{"pos_embed", 17, []string{"cls_token"}, "position table of 17 rows of 8, grid 4×4, 1 row before it ×16"},
		{"vision_model.embeddings.position_embedding.weight", 17, []string{"vision_model.embeddings.class_embedding"}, "position table of 17 rows of 8, grid 4×4, 1 row before it ×16"},
		{"pos_embed", 18, []string{"cls_token", "dist_token"}, "position table of 18 rows of 8, grid 4×4, 2 rows before it ×16"},
		{"pos_embed", 16, []string{"cls_token"}, "position table of 16 rows of 8, grid 4×4 ×16"},
		{"pos_embed", 19, []string{"cls_token"}, "position table of 19 rows of 8 ×19"},
		{"pos_embed", 17, nil, "position table of 17 rows of 8 ×17"},
		{"pos_embed", 16, nil, "position table of 16 rows of 8 ×16"},
		{"text.pos_embed", 17, []string{"cls_token"}, "position table of 17 rows of 8 ×17"}, // of another tower
	} {
		was := written(t, keys{"general.architecture": gguf.String("vit")}, nil)
		f, err := gguf.NewFile(bytes.NewReader(was), int64(len(was)))
		if err != nil {
			t.Fatal(err)
		}
		e := f.Edit()
		e.Add(c.name, gguf.F32, []int64{8, c.rows, 1}, patch.Zeros(32*c.rows), "")
		for _, name := range c.beside {
			e.Add(name, gguf.F32, []int64{8, 1, 1}, patch.Zeros(32), "")
		}
		m := reopen(t, e, was)
		if got := fmt.Sprintf("%v ×%d", m.sites[0].Encoding().Scheme, m.sites[0].Encoding().Capacity); len(m.sites) != 1 || got != c.found {
			t.Errorf("%s beside %v: %q, want %q", c.name, c.beside, got, c.found)
		}
	}
}

// TestNamedFrequencies: RoPE is told by the numbers that it turns by, of all layers or of those that have a list of their own.
func TestNamedFrequencies(t *testing.T) {
	list := func(r schemes.Rotary) (out []float32) {
		for _, f := range r.InverseFrequencies() {
			out = append(out, float32(f))
		}
		return out
	}
	plain := schemes.Rotary{Base: 500000, Dim: 64}
	llama3 := plain.WithScaling(schemes.Scaling{Type: schemes.ScalingLlama3, Factor: 8, LowFreqFactor: 1, HighFreqFactor: 4, OriginalLength: 8192})
	local := schemes.Rotary{Base: 10000, Dim: 64}
	for _, c := range []struct {
		name    string
		tensors map[string][]float32
		want    []schemes.Rotary
		layers  [][]int
	}{
		{"copies", map[string][]float32{"model.layers.0.self_attn.rotary_emb.inv_freq": list(plain), "model.layers.1.self_attn.rotary_emb.inv_freq": list(plain)}, []schemes.Rotary{plain}, [][]int{nil}},
		{"scaled", map[string][]float32{"rope.freqs": list(llama3)}, []schemes.Rotary{llama3}, [][]int{nil}},
		{"two kinds of layers", map[string][]float32{"layers.0.rotary_emb.inv_freq": list(plain), "layers.2.rotary_emb.inv_freq": list(plain), "layers.1.rotary_emb.inv_freq": list(local)},
			[]schemes.Rotary{plain, local}, [][]int{{0, 2}, {1}}},
		{"Transformer-XL's sinusoids", map[string][]float32{"transformer.pos_emb.inv_freq": list(plain)}, nil, nil},
		{"no frequencies", map[string][]float32{"rotary_emb.inv_freq": make([]float32, 32)}, nil, nil},
	} {
		m := make1(t, keys{"general.architecture": gguf.String("candle")}, c.tensors)
		if c.want == nil {
			if len(m.sites) != 1 || m.sites[0].Encoding().Scheme.Name() != "unknown" {
				t.Errorf("%s: %v", c.name, m.sites[0].Encoding().Scheme)
			}
			continue
		}
		if len(m.sites) != len(c.want) {
			t.Errorf("%s: %d encodings", c.name, len(m.sites))
			continue
		}
		for i, want := range c.want { // a map's tensors have no order
			if !slices.ContainsFunc(m.sites, func(s position.Site) bool {
				e := s.Encoding()
				got := e.Scheme.(schemes.Rotary)
				return got.Base == want.Base && got.Dim == want.Dim && got.Scaling.Kind().Name == want.Scaling.Kind().Name && slices.Equal(e.Layers, c.layers[i])
			}) {
				t.Errorf("%s: no %s in layers %v", c.name, want, c.layers[i])
			}
		}
	}
}

// shaped opens a file of an architecture that llama.cpp does not have, with one tensor.
func shaped(t *testing.T, name string, shape []int64) *model {
	was := written(t, keys{"general.architecture": gguf.String("flux")}, nil)
	f, err := gguf.NewFile(bytes.NewReader(was), int64(len(was)))
	if err != nil {
		t.Fatal(err)
	}
	n := int64(1)
	for _, d := range shape {
		n *= d
	}
	e := f.Edit()
	e.Add(name, gguf.F32, shape, patch.Zeros(4*n), "")
	return reopen(t, e, was)
}
