package onnxpos

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/schemes"
	"github.com/modelpatch/modelpatch/verify"
)

// TestAddWindow gives attentions windows, plain and fused, that see back alone or to both sides, shorter and longer than
// what is tried: what was asked for is read back from the new file, and one like it then has nothing to do.
func TestAddWindow(t *testing.T) {
	for _, name := range []string{"llama-dy23.onnx", "gpt2-dy23.onnx", "genai-llama-fp32-ext.onnx", "bert-ts17-ortbert.onnx", "alibi-range-ts17.onnx", "tutorial-dy18.onnx", "opt-dy18fix.onnx"} {
		for _, w := range []schemes.SlidingWindow{{Positions: 5}, {Positions: 5, Sinks: 2}, {Positions: 4096}, {Positions: 4096, Sinks: 4}, {Positions: 1}} {
			o := position.WindowOptions{Positions: w.Positions, Sinks: w.Sinks}
			path := filepath.Join(own, name)
			m := opened(t, path)
			out, err := position.AddWindow(m, o)
			if n := position.Length(m, m.Describe()).Capacity; n != nil && *n <= w.Positions {
				if err != nil || out.Nothing == "" {
					t.Errorf("%s, %v: %v is to hide nothing of %d positions, %v", name, w, out, *n, err)
				}
				continue
			}
			if err != nil || out.Window != w {
				t.Errorf("%s, %v: %v, %v", name, w, out.Window, err)
				continue
			}
			after := result(t, m, path)
			if err := verify.CheckWindow(after, w); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			for i, a := range after.Attentions() {
				if was := m.Attentions()[i]; a.Causal != was.Causal && w.Positions > 1 {
					t.Errorf("%s, %v: layer %d became causal %v", name, w, i, a.Causal)
				}
				if got := a.Window(); got != w {
					t.Errorf("%s, %v: layer %d is read to see %v", name, w, i, got)
				}
				seen(t, fmt.Sprintf("%s, %v: layer %d", name, w, i), a, m.Attentions()[i], w)
			}
			if out, err := position.AddWindow(after, o); err != nil || out.Nothing == "" {
				t.Errorf("%s, %v, again: %+v, %v", name, w, out, err)
			}
		}
	}
}

// seen runs an attention: it hides what it hid before and what lies outside of the window, and no more.
func seen(t *testing.T, what string, a, was *position.Attention, w schemes.SlidingWindow) {
	t.Helper()
	got, err := a.Run(11, []int{0})
	before, err2 := was.Run(11, []int{0})
	if err != nil || err2 != nil || got.Heads[0].Bias == nil {
		t.Errorf("%s: %v, %v", what, err, err2)
		return
	}
	for q := range got.Queries {
		for k := range got.Keys {
			at := q + got.Past
			want := before.Heads[0].Masked(q, k) || !w.Sees(at, k, a.Causal)
			if got.Heads[0].Masked(q, k) != want && !(a.Causal && k > at) {
				t.Errorf("%s: query %d, key %d: hidden %v", what, at, k, !want)
				return
			}
		}
	}
}

// TestAddWindowNarrows: of two windows of an attention the narrower one counts, and a wider one is not added.
func TestAddWindowNarrows(t *testing.T) {
	path := filepath.Join(own, "llama-dy23.onnx")
	m := opened(t, path)
	if _, err := position.AddWindow(m, position.WindowOptions{Positions: 8}); err != nil {
		t.Fatal(err)
	}
	eight := stored(t, m, path)
	if out, err := position.AddWindow(opened(t, eight), position.WindowOptions{Positions: 9, Sinks: 1}); err != nil || out.Nothing == "" {
		t.Errorf("9 after 8: %+v, %v", out, err)
	}
	m = opened(t, eight)
	if _, err := position.AddWindow(m, position.WindowOptions{Positions: 3}); err != nil {
		t.Fatal(err)
	}
	for _, a := range result(t, m, eight).Attentions() {
		if got := a.Window(); got.Positions != 3 {
			t.Errorf("3 after 8: %v", got)
		}
	}
}

// stored writes the planned file of one part, and returns its path.
func stored(t *testing.T, m *Model, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	p, err := m.Edits()
	if err == nil {
		b, err = io.ReadAll(io.NewSectionReader(p.View(0, bytes.NewReader(b)), 0, p.OutputSize(0)))
	}
	path = filepath.Join(t.TempDir(), filepath.Base(path))
	if err == nil {
		err = os.WriteFile(path, b, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}
