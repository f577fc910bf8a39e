package ggufpos

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/modelpatch/modelpatch/gguf"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/ggufpos/arch"
	"github.com/modelpatch/modelpatch/position/ggufpos/rotary"
	"github.com/modelpatch/modelpatch/schemes"
)

// TestKeysHaveTheMeasuredEffects compares what this package computes with
// what llama.cpp was measured to do when a key changes, in 144 architectures
// (facts/gguf-key-effects.json): the rotation must change where the engine's
// output changed, and stay where it stayed.
func TestKeysHaveTheMeasuredEffects(t *testing.T) {
	raw, err := os.ReadFile("../../../shared/facts/gguf-key-effects.json")
	if err != nil {
		t.Skip("../shared is absent")
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	compared := 0
	for name, entry := range archs(t) {
		var effects map[string]string
		if entry.Scheme != "rope" || all[name] == nil || arch.FixedRope(name) != "" {
			continue
		}
		if err := json.Unmarshal(all[name], &effects); err != nil {
			t.Fatal(err)
		}
		compared += compareEffects(t, entry, effects)
	}
	if compared < 1000 {
		t.Errorf("only %d effects were compared", compared)
	}
	t.Logf("%d effects compared", compared)
}

// experiments are the changes of keys that were measured, against a baseline
// or against YaRN by 4.
var experiments = []struct {
	name string
	yarn bool
	set  keys
}{
	{"rope.freq_base=1000000", false, keys{arch.KeyBase: gguf.Float32(1e6)}},
	{"rope.freq_base_swa=500000", false, keys{arch.KeyBaseSWA: gguf.Float32(5e5)}},
	{"rope.scaling.factor=4 (type absent)", false, keys{arch.KeyFactor: gguf.Float32(4)}},
	{"rope.scale_linear=4 (old key)", false, keys{arch.KeyScaleLinear: gguf.Float32(4)}},
	{"rope.scaling.type=none,factor=4", false, keys{arch.KeyType: gguf.String("none"), arch.KeyFactor: gguf.Float32(4)}},
	{"rope.scaling.type=linear,factor=4", false, keys{arch.KeyType: gguf.String("linear"), arch.KeyFactor: gguf.Float32(4)}},
	{"rope.scaling.type=yarn,factor=4", false, keys{arch.KeyType: gguf.String("yarn"), arch.KeyFactor: gguf.Float32(4)}},
	{"rope.scaling.attn_factor=1.5", false, keys{arch.KeyAttnFactor: gguf.Float32(1.5)}},
	{"rope.scaling.yarn_attn_factor=1.5 (no yarn)", false, keys{arch.KeyYarnAttn: gguf.Float32(1.5)}},
	{"rope.scaling.alpha=4", false, keys{arch.KeyAlpha: gguf.Float32(4)}},
	{"rope.scaling.finetuned=false", false, keys{arch.KeyFinetuned: gguf.Bool(false)}},
	{"attention.rope_pattern=[1,0,0...]", false, keys{arch.KeyRopePattern: gguf.Int32s(1, 0)}},
	{"yarn4 + rope.scaling.original_context_length=64", true, keys{arch.KeyOriginal: gguf.Uint32(64)}},
	{"yarn4 + rope.scaling.attn_factor=1.5", true, keys{arch.KeyAttnFactor: gguf.Float32(1.5)}},
	{"yarn4 + rope.scaling.yarn_ext_factor=0.5", true, keys{arch.KeyExtFactor: gguf.Float32(0.5)}},
	{"yarn4 + rope.scaling.yarn_beta_fast=2.0", true, keys{arch.KeyBetaFast: gguf.Float32(2)}},
	{"yarn4 + rope.scaling.yarn_beta_slow=4.0", true, keys{arch.KeyBetaSlow: gguf.Float32(4)}},
	{"yarn4 + rope.scaling.yarn_log_multiplier=0.7", true, keys{arch.KeyLogMul: gguf.Float32(0.7)}},
}

func compareEffects(t *testing.T, entry *arch.Entry, effects map[string]string) (compared int) {
	dims := 128
	for key := range effects {
		if half, ok := strings.CutPrefix(key, "rope.dimension_count="); ok && strings.HasSuffix(half, "(half)") {
			n, _ := strconv.Atoi(strings.Fields(half)[0])
			dims = 2 * n
		}
	}
	base := fixture(entry, dims)
	yarn := keys{arch.KeyType: gguf.String("yarn"), arch.KeyFactor: gguf.Float32(4), arch.KeyOriginal: gguf.Uint32(128)}
	for _, x := range experiments {
		measured, ok := effects[x.name]
		if !ok || strings.HasPrefix(measured, "refused") || strings.Contains(measured, "NaN") {
			continue
		}
		before := maps.Clone(base)
		if x.yarn {
			put(before, entry, yarn)
		}
		after := maps.Clone(before)
		put(after, entry, x.set)
		changed := rotations(make1(t, before, nil)) != rotations(make1(t, after, nil))
		if want := strings.HasPrefix(measured, "changed"); changed != want && !strings.Contains(measured, "tiny") && !(want && arch.ScalesAttention(entry.Name)) {
			t.Errorf("%s: %s: the engine's output %s, our rotation changed: %v", entry.Name, x.name, measured, changed)
		}
		compared++
	}
	return compared
}

func put(k keys, entry *arch.Entry, more keys) {
	for key, v := range more {
		k[entry.Name+"."+key] = v
	}
}

// fixture is a file like those that were measured: two layers, a window of 32.
func fixture(entry *arch.Entry, dims int) keys {
	k := keys{"general.architecture": gguf.String(entry.Name)}
	put(k, entry, keys{
		arch.KeyContext: gguf.Uint32(256), arch.KeyBlocks: gguf.Uint32(2), arch.KeyEmbedding: gguf.Uint32(256), arch.KeyHeads: gguf.Uint32(uint32(256 / min(dims, 256))),
		arch.KeyDims: gguf.Uint32(uint32(dims)), arch.KeyBase: gguf.Float32(10000),
	})
	if entry.Name == "step35" {
		put(k, entry, keys{arch.KeyHeads: gguf.Uint32(2), arch.KeyKeyLength: gguf.Uint32(uint32(dims))})
	}
	if w := entry.Window; w != nil {
		put(k, entry, keys{arch.KeyWindow: gguf.Uint32(32)})
		if w.Pattern == "array" || w.Every > 0 {
			put(k, entry, keys{arch.KeyPattern: gguf.Int32s(1, 0)})
		}
	}
	if entry.Name == "deepseek4" {
		put(k, entry, keys{arch.KeyCompress: gguf.Int32s(4, 0), arch.KeyCompressBase: gguf.Float32(160000)})
	}
	if entry.Sections == "required" {
		put(k, entry, keys{arch.KeySections: gguf.Int32s(int32(dims/4), int32(dims/8), int32(dims/8), 0)})
	}
	return k
}

// rotations says in text what every site computes at some positions.
func rotations(m *model) string {
	var b strings.Builder
	for _, s := range m.sites {
		r, ok := s.(*rotary.Rope)
		if !ok {
			fmt.Fprintf(&b, "%s;", s.Encoding().Scheme.Name())
			continue
		}
		pairs := rotation(r).Pairs()
		cos, sin := make([]float64, pairs), make([]float64, pairs)
		fmt.Fprintf(&b, "%v", r.Encoding().Layers)
		for _, p := range []int{1, 40, 95} {
			if err := r.Rotation(p, 256, cos, sin); err != nil {
				return err.Error()
			}
			fmt.Fprintf(&b, "%.6f %.6f;", cos, sin)
		}
	}
	return b.String()
}

// rotation is the scheme of a rotation.
func rotation(s position.Site) schemes.Rotary { return s.Encoding().Scheme.(schemes.Rotary) }

// archs is the table of architectures by name, parsed as a whole.
func archs(t *testing.T) map[string]*arch.Entry {
	raw, err := os.ReadFile("arch/archs.json")
	if err != nil {
		t.Fatal(err)
	}
	var table struct{ Archs []*arch.Entry }
	if err := json.Unmarshal(raw, &table); err != nil {
		t.Fatal(err)
	}
	out := make(map[string]*arch.Entry, len(table.Archs))
	for _, a := range table.Archs {
		out[a.Name] = a
	}
	return out
}
