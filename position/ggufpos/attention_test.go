package ggufpos

import (
	"math"
	"testing"

	"github.com/modelpatch/modelpatch/gguf"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/trial"
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
	return bare(m)
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
		{"gemma3-dual.gguf", 6, 2, 1, 16, true, 1, ""},
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

// TestRunProjects holds that keys are the states times the tensor's rows: of separate and
// of fused matrices, with a bias where there is one.
func TestRunProjects(t *testing.T) {
	for _, c := range []struct {
		file, tensor, bias string
		first              int64 // row of the last key head
	}{
		{"llama-plain.gguf", "blk.1.attn_k.weight", "", 0},
		{"gpt2-f32.gguf", "blk.1.attn_qkv.weight", "blk.1.attn_qkv.bias", 16},
	} {
		m := openFile(t, c.file)
		all := m.Attentions()
		a := all[len(all)-1]
		const positions = 3
		got, err := a.Run(positions, []int{a.Heads - 1})
		if err != nil {
			t.Fatal(err)
		}
		w := m.File.Tensor(c.tensor)
		in := int(w.Width())
		rows, bias := make([]float64, a.HeadDim*in), make([]float64, w.Rows())
		if err := m.File.ReadRows(w, c.first, int64(a.HeadDim), rows); err != nil {
			t.Fatal(err)
		}
		if c.bias != "" {
			if err := m.File.ReadRows(m.File.Tensor(c.bias), 0, 1, bias); err != nil {
				t.Fatal(err)
			}
		}
		x := trial.Normal(0, []int{positions, in})
		for _, s := range m.Sites() {
			if table, ok := s.(position.Rows); ok {
				row := make([]float64, in)
				for p := range positions {
					if err := table.Row(p, row); err != nil {
						t.Fatal(err)
					}
					for i, v := range row {
						x[p*in+i] += v
					}
				}
			}
		}
		for p := range positions {
			for i := range a.HeadDim {
				want := bias[int(c.first)+i]
				for k := range in {
					want += x[p*in+k] * rows[i*in+k]
				}
				if math.Abs(got.Heads[0].Key[p][i]-want) > 1e-12 {
					t.Fatalf("%s: key %d, element %d is %v, want %v", c.file, p, i, got.Heads[0].Key[p][i], want)
				}
			}
		}
	}
}
