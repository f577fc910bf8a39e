package ggufpos

import (
	"maps"
	"testing"

	"github.com/modelpatch/modelpatch/gguf"
	"github.com/modelpatch/modelpatch/position/ggufpos/arch"
	"github.com/modelpatch/modelpatch/position/ggufpos/hparams"
	"github.com/modelpatch/modelpatch/position/ggufpos/operator"
)

// TestRulesOfKeys has for each rule a file that violates it and one that just does not.
func TestRulesOfKeys(t *testing.T) {
	entries := archs(t)
	type file struct {
		of      string // the architecture; "": llama
		keys    keys
		without string
		vectors map[string][]float32
	}
	ones := func(n int, other float32) []float32 {
		out := make([]float32, n)
		for i := range out {
			out[i] = 1
		}
		out[n-1] = other
		return out
	}
	yarn := func(more keys) keys {
		k := keys{arch.KeyType: gguf.String("yarn"), arch.KeyFactor: gguf.Float32(4), arch.KeyOriginal: gguf.Uint32(64)}
		maps.Copy(k, more)
		return k
	}
	for rule, c := range map[string]struct{ bad, good file }{
		"gguf-block-count": {file{keys: keys{arch.KeyBlocks: gguf.Uint32(hparams.MaxLayers + 1)}}, file{keys: keys{arch.KeyBlocks: gguf.Uint32(hparams.MaxLayers)}}},
		"gguf-head-count":  {file{keys: keys{arch.KeyHeads: gguf.Uint32(0)}}, file{keys: keys{arch.KeyHeads: gguf.Uint32(1)}}},
		"gguf-key-missing": {file{of: "gpt-oss", without: arch.KeyWindow}, file{of: "gpt-oss"}},
		"gguf-factor-missing": {file{keys: keys{arch.KeyType: gguf.String("linear")}},
			file{keys: keys{arch.KeyType: gguf.String("linear"), arch.KeyFactor: gguf.Float32(2)}}},
		"gguf-log-multiplier-missing": {file{of: "deepseek2", keys: yarn(nil)}, file{of: "deepseek2", keys: yarn(keys{arch.KeyLogMul: gguf.Float32(0.1)})}},
		"gguf-original-length-value":  {file{keys: yarn(keys{arch.KeyOriginal: gguf.Uint32(257)})}, file{keys: yarn(keys{arch.KeyOriginal: gguf.Uint32(256)})}},
		"gguf-factor-tensor":          {file{vectors: map[string][]float32{operator.FreqsTensor: ones(32, 0)}}, file{vectors: map[string][]float32{operator.FreqsTensor: ones(32, 2)}}},
		"gguf-factor-pair": {file{of: "phi3", vectors: map[string][]float32{operator.LongTensor: ones(32, 2)}},
			file{of: "phi3", vectors: map[string][]float32{operator.LongTensor: ones(32, 2), operator.ShortTensor: ones(32, 2)}}},
		"gguf-scaling-twice": {file{keys: keys{arch.KeyType: gguf.String("linear"), arch.KeyFactor: gguf.Float32(2)}, vectors: map[string][]float32{operator.FreqsTensor: ones(32, 2)}},
			file{keys: keys{arch.KeyType: gguf.String("linear"), arch.KeyFactor: gguf.Float32(2)}, vectors: map[string][]float32{operator.FreqsTensor: ones(32, 1)}}},
		"gguf-table-missing": {file{of: "gpt2", vectors: map[string][]float32{"output_norm.weight": ones(4, 1)}}, file{of: "gpt2"}},
	} {
		for _, f := range []struct {
			file
			violates bool
		}{{c.bad, true}, {c.good, false}} {
			name := f.of
			if name == "" {
				name = "llama"
			}
			k := fixture(entries[name], 64)
			put(k, entries[name], f.keys)
			delete(k, name+"."+f.without)
			if got := has(make1(t, k, f.vectors), rule); got != f.violates {
				t.Errorf("%s: found %v in %+v", rule, got, f.file)
			}
		}
	}
	raw := readFile(t, "gpt2-f32.gguf")
	for width, violates := range map[uint32]bool{0: false, 8: true} {
		m := opened(t, raw)
		if width > 0 {
			m.Edit.Set("gpt2.embedding_length", gguf.Uint32(width), "")
			m = reopen(t, m.Edit, raw)
		}
		if got := has(m, "gguf-table-width"); got != violates {
			t.Errorf("gguf-table-width: found %v at width %d", got, width)
		}
	}
}
