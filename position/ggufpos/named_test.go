package ggufpos

import (
	"bytes"
	"encoding/binary"
	"fmt"
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
		{"encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight", []int64{4, 32}, "t5-bias, heads 4, buckets 32 ×0"},
		{"layers.0.relative_position_bias_table", []int64{4, 49}, "relative-table, rows 49 ×0"},
		{"double_blocks.0.img_attn.qkv.weight", []int64{8, 24}, "unknown ×0"},
		{"composer.weight", []int64{8, 24}, "unknown ×0"}, // no word "pos"
		{"positional_embedding", []int64{8, 4, 4}, "unknown ×0"},
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
