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
	for name, arch := range archs(t) {
		var effects map[string]string
		if arch.Scheme != "rope" || all[name] == nil || fixedRope[name] != "" {
			continue
		}
		if err := json.Unmarshal(all[name], &effects); err != nil {
			t.Fatal(err)
		}
		compared += compareEffects(t, arch, effects)
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
	{"rope.freq_base=1000000", false, keys{keyBase: gguf.Float32(1e6)}},
	{"rope.freq_base_swa=500000", false, keys{keyBaseSWA: gguf.Float32(5e5)}},
	{"rope.scaling.factor=4 (type absent)", false, keys{keyFactor: gguf.Float32(4)}},
	{"rope.scale_linear=4 (old key)", false, keys{keyScaleLinear: gguf.Float32(4)}},
	{"rope.scaling.type=none,factor=4", false, keys{keyType: gguf.String("none"), keyFactor: gguf.Float32(4)}},
	{"rope.scaling.type=linear,factor=4", false, keys{keyType: gguf.String("linear"), keyFactor: gguf.Float32(4)}},
	{"rope.scaling.type=yarn,factor=4", false, keys{keyType: gguf.String("yarn"), keyFactor: gguf.Float32(4)}},
	{"rope.scaling.attn_factor=1.5", false, keys{keyAttnFactor: gguf.Float32(1.5)}},
	{"rope.scaling.alpha=4", false, keys{keyAlpha: gguf.Float32(4)}},
	{"rope.scaling.finetuned=false", false, keys{keyFinetuned: gguf.Bool(false)}},
	{"attention.rope_pattern=[1,0,0...]", false, keys{keyRopePattern: gguf.Int32s(1, 0)}},
	{"yarn4 + rope.scaling.original_context_length=64", true, keys{keyOriginal: gguf.Uint32(64)}},
	{"yarn4 + rope.scaling.attn_factor=1.5", true, keys{keyAttnFactor: gguf.Float32(1.5)}},
	{"yarn4 + rope.scaling.yarn_beta_fast=2.0", true, keys{keyBetaFast: gguf.Float32(2)}},
	{"yarn4 + rope.scaling.yarn_beta_slow=4.0", true, keys{keyBetaSlow: gguf.Float32(4)}},
	{"yarn4 + rope.scaling.yarn_log_multiplier=0.7", true, keys{keyLogMul: gguf.Float32(0.7)}},
}

func compareEffects(t *testing.T, arch *Arch, effects map[string]string) (compared int) {
	dims := 128
	for key := range effects {
		if half, ok := strings.CutPrefix(key, "rope.dimension_count="); ok && strings.HasSuffix(half, "(half)") {
			n, _ := strconv.Atoi(strings.Fields(half)[0])
			dims = 2 * n
		}
	}
	base := fixture(arch, dims)
	yarn := keys{keyType: gguf.String("yarn"), keyFactor: gguf.Float32(4), keyOriginal: gguf.Uint32(128)}
	for _, x := range experiments {
		measured, ok := effects[x.name]
		if !ok || strings.HasPrefix(measured, "refused") || strings.Contains(measured, "NaN") {
			continue
		}
		before := maps.Clone(base)
		if x.yarn {
			put(before, arch, yarn)
		}
		after := maps.Clone(before)
		put(after, arch, x.set)
		changed := rotations(make1(t, before, nil)) != rotations(make1(t, after, nil))
		if want := strings.HasPrefix(measured, "changed"); changed != want && !strings.Contains(measured, "tiny") && !(want && scaledAttention[arch.Name]) {
			t.Errorf("%s: %s: the engine's output %s, our rotation changed: %v", arch.Name, x.name, measured, changed)
		}
		compared++
	}
	return compared
}

func put(k keys, arch *Arch, more keys) {
	for key, v := range more {
		k[arch.Name+"."+key] = v
	}
}

// fixture is a file like those that were measured: two layers, a window of 32.
func fixture(arch *Arch, dims int) keys {
	k := keys{"general.architecture": gguf.String(arch.Name)}
	put(k, arch, keys{
		keyContext: gguf.Uint32(256), keyBlocks: gguf.Uint32(2), keyEmbedding: gguf.Uint32(256), keyHeads: gguf.Uint32(uint32(256 / min(dims, 256))),
		keyDims: gguf.Uint32(uint32(dims)), keyBase: gguf.Float32(10000),
	})
	if arch.Name == "step35" {
		put(k, arch, keys{keyHeads: gguf.Uint32(2), keyKeyLength: gguf.Uint32(uint32(dims))})
	}
	if w := arch.Window; w != nil {
		put(k, arch, keys{keyWindow: gguf.Uint32(32)})
		if w.Pattern == "array" || w.Every > 0 {
			put(k, arch, keys{keyPattern: gguf.Int32s(1, 0)})
		}
	}
	if arch.Name == "deepseek4" {
		put(k, arch, keys{keyCompress: gguf.Int32s(4, 0), keyCompressBase: gguf.Float32(160000)})
	}
	if arch.Sections == "required" {
		put(k, arch, keys{keySections: gguf.Int32s(int32(dims/4), int32(dims/8), int32(dims/8), 0)})
	}
	return k
}

// rotations says in text what every site computes at some positions.
func rotations(m *model) string {
	var b strings.Builder
	for _, s := range m.sites {
		r, ok := s.(*rope)
		if !ok {
			fmt.Fprintf(&b, "%s;", s.Encoding().Scheme.Name())
			continue
		}
		cos, sin := make([]float64, r.scheme.Dim/2), make([]float64, r.scheme.Dim/2)
		fmt.Fprintf(&b, "%v", r.layers)
		for _, p := range []int{1, 40, 95} {
			if err := r.Rotation(p, 256, cos, sin); err != nil {
				return err.Error()
			}
			fmt.Fprintf(&b, "%.6f %.6f;", cos, sin)
		}
	}
	return b.String()
}
