package ggufpos

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/modelpatch/modelpatch/gguf"
	"github.com/modelpatch/modelpatch/patch"
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
