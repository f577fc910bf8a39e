package ggufpos

import (
	"fmt"
	"strings"
	"testing"

	"github.com/modelpatch/modelpatch/gguf"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/ggufpos/arch"
	"github.com/modelpatch/modelpatch/position/ggufpos/rotary"
	"github.com/modelpatch/modelpatch/schemes"
)

// TestExtrapolation holds what llama.cpp was measured to compute (its logits equal, bit for bit, those of the file on the right):
// rope.scaling.yarn_ext_factor and yarn_attn_factor win over the type where the architecture reads them.
func TestExtrapolation(t *testing.T) {
	scaled := func(kind string, more keys) keys {
		k := keys{arch.KeyType: gguf.String(kind), arch.KeyFactor: gguf.Float32(4), arch.KeyOriginal: gguf.Uint32(64)}
		return with(k, more)
	}
	number := func(suffix string, v float32) keys { return keys{suffix: gguf.Float32(v)} }
	for _, c := range []struct {
		name, arch    string
		has, computes keys
		scaling       string
	}{
		{"1 is YaRN under any type", "grok", scaled("linear", number(arch.KeyExtFactor, 1)), scaled("yarn", nil), "yarn"},
		{"0 is linear, without YaRN's amplitude", "grok", scaled("yarn", number(arch.KeyExtFactor, 0)), scaled("linear", nil), "linear"},
		{"below 0 the type decides", "grok", scaled("yarn", number(arch.KeyExtFactor, -1)), scaled("yarn", nil), "yarn"},
		{"half a ramp is no scheme's", "grok", scaled("yarn", number(arch.KeyExtFactor, 0.5)), nil, "custom"},
		{"an amplitude", "grok", scaled("linear", number(arch.KeyYarnAttn, 1.5)), scaled("linear", number(arch.KeyAttnFactor, 1.5)), "linear"},
		{"an amplitude without scaling", "grok", number(arch.KeyYarnAttn, 0.7), number(arch.KeyAttnFactor, 0.7), "none"},
		{"which YaRN puts its own in the place of", "grok", scaled("yarn", number(arch.KeyYarnAttn, 1.5)), scaled("yarn", nil), "yarn"},
		{"others do not read them", "llama", scaled("linear", with(number(arch.KeyExtFactor, 1), number(arch.KeyYarnAttn, 2))), scaled("linear", nil), "linear"},
	} {
		file := func(more keys) []byte {
			k := fixture(arch.Of(c.arch), 128)
			put(k, arch.Of(c.arch), more)
			return written(t, k, nil)
		}
		m := opened(t, file(c.has))
		if got := m.sites[0].Encoding().Scheme.(schemes.Rotary); got.Scaling.Kind().Name != c.scaling {
			t.Errorf("%s: %s, want %s", c.name, got.Scaling, c.scaling)
		}
		said := fmt.Sprint(m.sites[0].Encoding().Evidence)
		if v, ok := m.Real(arch.KeyExtFactor); strings.Contains(said, "wins over the type") != (ok && v >= 0 && c.arch == "grok") {
			t.Errorf("%s: says %s", c.name, said)
		}
		if c.computes != nil && rotations(m) != rotations(opened(t, file(c.computes))) {
			t.Errorf("%s: the engine turns otherwise", c.name)
		}
		for _, s := range []schemes.Scaling{{Type: schemes.ScalingYaRN, Factor: 8, OriginalLength: 64, BetaFast: 8, BetaSlow: 1}, {Type: schemes.ScalingLinear, Factor: 8}, {Type: schemes.ScalingNone}} {
			m := opened(t, file(c.has))
			r := m.sites[0].(*rotary.Rope)
			want := r.Encoding().Scheme.(schemes.Rotary)
			if want.Scaling = s; c.arch != "grok" {
				continue
			}
			if err := r.Store(position.Want{Scheme: want}); err != nil {
				t.Errorf("%s: %s: %v", c.name, s, err)
				continue
			}
			after := reopen(t, m.Edit, file(c.has)).sites[0].Encoding().Scheme.(schemes.Rotary)
			if after.Scaling.Kind().Name != s.Kind().Name || after.Amplitude() != want.Amplitude() {
				t.Errorf("%s: stored %s, read %s", c.name, s, after.Scaling)
			}
		}
	}
}
