package ggufpos

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/modelpatch/modelpatch/gguf"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/ggufpos/arch"
	"github.com/modelpatch/modelpatch/position/ggufpos/rotary"
)

// listed are the keys, without prefix, that the model's rotations say they are at.
func listed(m *model) []string {
	var out []string
	for _, s := range m.sites {
		for _, w := range s.Encoding().Where {
			if k := strings.TrimPrefix(string(w.Key), m.Name+"."); k != "" && !slices.Contains(out, k) {
				out = append(out, k)
			}
		}
	}
	return out
}

func TestWhereListsKeysInUse(t *testing.T) {
	yarn := keys{arch.KeyType: gguf.String("yarn"), arch.KeyFactor: gguf.Float32(4), arch.KeyOriginal: gguf.Uint32(64)}
	for _, c := range []struct {
		name, arch string
		set        keys
		key        string
		want       bool
	}{
		{"llama has no log multiplier", "llama", keys{arch.KeyLogMul: gguf.Float32(0.1)}, arch.KeyLogMul, false},
		{"llama has none with YaRN either", "llama", with(yarn, keys{arch.KeyLogMul: gguf.Float32(0.1)}), arch.KeyLogMul, false},
		{"deepseek2 reads it with YaRN", "deepseek2", with(yarn, keys{arch.KeyLogMul: gguf.Float32(0.1)}), arch.KeyLogMul, true},
		{"and not without", "deepseek2", keys{arch.KeyLogMul: gguf.Float32(0.1)}, arch.KeyLogMul, false},
		{"cogvlm's base is fixed", "cogvlm", nil, arch.KeyBase, false},
		{"cogvlm's scaling is fixed", "cogvlm", yarn, arch.KeyFactor, false},
		{"type none leaves the factor alone", "llama", keys{arch.KeyType: gguf.String("none"), arch.KeyFactor: gguf.Float32(4)}, arch.KeyFactor, false},
		{"the old key is for files without the new one", "llama", keys{arch.KeyFactor: gguf.Float32(4), arch.KeyScaleLinear: gguf.Float32(2)}, arch.KeyScaleLinear, false},
		{"and is read in those", "llama", keys{arch.KeyScaleLinear: gguf.Float32(2)}, arch.KeyScaleLinear, true},
		{"linear has no original length", "llama", keys{arch.KeyFactor: gguf.Float32(4), arch.KeyOriginal: gguf.Uint32(64)}, arch.KeyOriginal, false},
		{"YaRN has", "llama", yarn, arch.KeyOriginal, true},
		{"only grok and mistral3 have bounds", "llama", with(yarn, keys{arch.KeyBetaFast: gguf.Float32(16)}), arch.KeyBetaFast, false},
		{"mistral3", "mistral3", with(yarn, keys{arch.KeyBetaFast: gguf.Float32(16)}), arch.KeyBetaFast, true},
		{"ernie4_5 reads sections and does not use them", "ernie4_5", keys{arch.KeySections: gguf.Int32s(1, 1, 1, 0)}, arch.KeySections, false},
		{"olmo2 reads the second base and does not use it", "olmo2", keys{arch.KeyBaseSWA: gguf.Float32(5e5)}, arch.KeyBaseSWA, false},
		{"gemma3's sliding layers use it", "gemma3", keys{arch.KeyBaseSWA: gguf.Float32(5e5)}, arch.KeyBaseSWA, true},
	} {
		k := fixture(arch.Of(c.arch), 128)
		put(k, arch.Of(c.arch), c.set)
		if got := slices.Contains(listed(make1(t, k, nil)), c.key); got != c.want {
			t.Errorf("%s: %s among the places of %s: %v", c.name, c.key, c.arch, got)
		}
	}
}

func with(k, more keys) keys {
	out := maps.Clone(k)
	maps.Copy(out, more)
	return out
}

// TestWhereListsWhatChanges holds the keys that encodings list against what
// llama.cpp was measured to do when the key changes: one that changes nothing
// in an architecture is none of its places, one that changes the output is.
func TestWhereListsWhatChanges(t *testing.T) {
	raw, err := os.ReadFile("../../../shared/facts/gguf-key-effects.json")
	if err != nil {
		t.Skip("../shared is absent")
	}
	var all map[string]map[string]any
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	yarn := keys{arch.KeyType: gguf.String("yarn"), arch.KeyFactor: gguf.Float32(4), arch.KeyOriginal: gguf.Uint32(128)}
	compared := 0
	for name, entry := range archs(t) {
		if entry.Scheme != "rope" || name == "deepseek2-ocr" { // its keys act on the attention's scale alone
			continue
		}
		for _, x := range experiments {
			measured, _ := all[name][x.name].(string)
			if measured == "" || len(x.set) != 1 || strings.HasPrefix(measured, "refused") || strings.Contains(measured, "NaN") || strings.Contains(measured, "tiny") {
				continue
			}
			for key := range x.set {
				k := fixture(entry, 128)
				if x.yarn {
					put(k, entry, yarn)
				}
				put(k, entry, x.set)
				m := make1(t, k, nil)
				if slices.ContainsFunc(m.sites, func(s position.Site) bool { _, rotates := s.(*rotary.Rope); return !rotates }) {
					continue // switched off
				}
				if got, want := slices.Contains(listed(m), key), strings.HasPrefix(measured, "changed"); got != want {
					t.Errorf("%s: %s: the engine's output %s, %s among the places: %v", name, x.name, measured, key, got)
				}
				compared++
			}
		}
	}
	t.Logf("%d compared", compared)
	if compared < 600 {
		t.Errorf("only %d were compared", compared)
	}
}
