package ggufpos

import (
	"slices"
	"testing"

	"github.com/modelpatch/modelpatch/gguf"
)

func openFile(t *testing.T, name string) *model {
	t.Helper()
	f, err := gguf.Open("../../testdata/gguf/" + name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	m, err := Open(f)
	if err != nil {
		t.Fatal(err)
	}
	return m.(*model)
}

func TestAttentions(t *testing.T) {
	for _, c := range []struct {
		file             string
		n, heads, kv, hd int
		causal           bool
		acting           int // sites that act inside the first
		unsupported      string
	}{
		{"llama-plain.gguf", 2, 2, 1, 16, true, 1, ""},
		{"gpt2-f32.gguf", 2, 1, 1, 16, true, 0, ""},
		{"bert-learned.gguf", 2, 2, 2, 16, false, 0, ""},
		{"mpt-alibi.gguf", 2, 4, 4, 8, true, 1, ""},
		{"t5-32.gguf", 4, 2, 2, 16, false, 1, ""},
		{"gemma3-dual.gguf", 6, 2, 1, 16, true, 1, "queries and keys are normalised"},
	} {
		t.Run(c.file, func(t *testing.T) {
			all := openFile(t, c.file).Attentions()
			if len(all) != c.n {
				t.Fatalf("%d attentions, want %d", len(all), c.n)
			}
			a := all[0]
			if a.Heads != c.heads || a.KVHeads != c.kv || a.HeadDim != c.hd || a.Causal != c.causal || len(a.Encodings) != c.acting || a.Unsupported != c.unsupported {
				t.Errorf("%+v", a)
			}
		})
	}
}

// TestProjectionsAreTheTensorsRows reads heads from separate and from fused
// matrices.
func TestProjectionsAreTheTensorsRows(t *testing.T) {
	for file, rows := range map[string]struct {
		tensor string
		first  int64 // row of the last key head
	}{
		"llama-plain.gguf": {"blk.1.attn_k.weight", 0},
		"gpt2-f32.gguf":    {"blk.1.attn_qkv.weight", 16},
	} {
		m := openFile(t, file)
		all := m.Attentions()
		a := all[len(all)-1]
		got, bias, err := a.Key.Head(a.KVHeads - 1)
		if err != nil {
			t.Fatal(err)
		}
		want := make([]float64, a.HeadDim*a.Key.In())
		if err := m.File.ReadRows(m.File.Tensor(rows.tensor), rows.first, int64(a.HeadDim), want); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: other rows", file)
		}
		if (bias != nil) != (file == "gpt2-f32.gguf") {
			t.Errorf("%s: bias %v", file, bias)
		}
		if _, _, err := a.Key.Head(a.KVHeads + 100); err == nil {
			t.Errorf("%s: a head that is not there is read", file)
		}
	}
}
