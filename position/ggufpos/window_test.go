package ggufpos

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/modelpatch/modelpatch/gguf"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/ggufpos/arch"
	"github.com/modelpatch/modelpatch/verify"
)

// TestWindowByKeys gives a model of every architecture a window: those alone take it whose layers with a window turn as
// those without, all of them slide then, and nothing else is another.
func TestWindowByKeys(t *testing.T) {
	const layers, window = 4, 24
	var taken []string
	all := archs(t)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		entry := all[name]
		var more keys
		if w := entry.Window; w != nil {
			more = keys{arch.KeyWindow: gguf.Uint32(32)}
			if w.Pattern == "array" {
				more[arch.KeyPattern] = gguf.Bools(true, false, true, false)
			}
		}
		if strings.HasPrefix(name, "gemma4") || entry.Scheme == "clip" {
			continue // its tensors are others: refused by the base of the layers with a window, or no text
		}
		raw := tinyFile(t, name, layers, more, nil)
		m := opened(t, raw)
		was := rotations(m)
		out, err := position.AddWindow(m, position.WindowOptions{Positions: window})
		if err != nil {
			if _, refused := errors.AsType[*position.Refusal](err); !refused {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		plan, err := m.Edits()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got := opened(t, applied(t, plan, raw))
		if err := verify.CheckWindow(got, out.Window); err != nil || out.Window.Positions != window {
			t.Errorf("%s: %v, %v", name, out.Window, err)
		}
		if after := rotations(got); after != was {
			t.Errorf("%s turns otherwise:\n%s\n%s", name, was, after)
		}
		taken = append(taken, name)
	}
	if want := []string{"afmoe", "dflash", "gemma2", "gpt-oss", "granite_swa", "laguna", "lfm2", "mellum", "olmo2", "spark2_5"}; !slices.Equal(taken, want) {
		t.Errorf("taken by %v, want %v", taken, want)
	}
}

// TestWindowByKeysRefuses: first positions have no key, a window of some layers is one for all, and one that is there is enough.
func TestWindowByKeysRefuses(t *testing.T) {
	for _, c := range []struct {
		o    position.WindowOptions
		want string // of the refusal; "": nothing to do
	}{
		{position.WindowOptions{Positions: 16, Sinks: 4}, "no key keeps them"},
		{position.WindowOptions{Positions: 64}, "one window for all layers, and those that have one see 32"},
	} {
		m := tiny(t, "gemma2", 2, keys{arch.KeyWindow: gguf.Uint32(32)}, nil)
		_, err := position.AddWindow(m, c.o)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c.o, err)
		}
	}
	m := tiny(t, "lfm2", 2, keys{arch.KeyWindow: gguf.Uint32(32)}, nil)
	if out, err := position.AddWindow(m, position.WindowOptions{}); err != nil || out.Nothing == "" { // the stated length is 64
		t.Errorf("%+v, %v", out, err)
	}
}
