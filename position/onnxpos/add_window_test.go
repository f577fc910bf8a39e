package onnxpos

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/modelpatch/modelpatch/onnx"
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

// TestWindowBesideRecording: a text of as many tokens as a recording has frames shares nothing with it that hangs on the length: with more tokens all
// encodings are still read.
func TestWindowBesideRecording(t *testing.T) {
	path := filepath.Join(own, "cases", "convolved-speech.onnx")
	m := opened(t, path)
	had := len(m.Sites())
	if _, err := position.AddWindow(m, position.WindowOptions{Positions: 8}); err != nil {
		t.Fatal(err)
	}
	if after := result(t, m, path); len(after.Sites()) != had {
		t.Errorf("%d encodings, and %d before", len(after.Sites()), had)
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

// TestAddToWindows: where windows and heads stand in one axis, what is a head's is not told, and nothing is added.
func TestAddToWindows(t *testing.T) {
	for groups, want := range map[int64]bool{1: true, 3: false} { // windows
		name, in := fmt.Sprintf("%d windows", groups), 12/groups
		m := built(t, func(m *onnx.NewModel) {
			m.Inputs = []onnx.NewValue{{Name: "x", Type: onnx.Float, Dims: []int64{1, 12, 16}}}
			m.Outputs = []onnx.NewValue{{Name: "y", Type: onnx.Float, Dims: []int64{1, 12, 16}}}
			m.Initializers = []onnx.NewTensor{noise("Wq", 16, 16), noise("Wk", 16, 16), noise("Wv", 16, 16), noise("Wo", 16, 16),
				integers("cut", groups, in, 2, 8), integers("rows", groups*2, in, 8), integers("back", groups, 2, in, 8), integers("whole", 1, 12, 16)}
			m.Nodes = nil
			for _, x := range []string{"q", "k", "v"} {
				m.Nodes = append(m.Nodes, node("MatMul", x, "x", "W"+x), node("Reshape", x+" cut", x, "cut"), withInts(node("Transpose", x+" by heads", x+" cut"), "perm", []int64{0, 2, 1, 3}),
					node("Reshape", x+" rows", x+" by heads", "rows"))
			}
			m.Nodes = append(m.Nodes, withInts(node("Transpose", "turned", "k rows"), "perm", []int64{0, 2, 1}), node("MatMul", "scores", "q rows", "turned"), node("Softmax", "p", "scores"),
				node("MatMul", "seen", "p", "v rows"), node("Reshape", "apart", "seen", "back"), withInts(node("Transpose", "by tokens", "apart"), "perm", []int64{0, 2, 1, 3}),
				node("Reshape", "joined", "by tokens", "whole"), node("MatMul", "y", "joined", "Wo"))
		})
		if a := m.Attentions(); len(a) != 1 || (a[0].AddBias != nil) != want || (a[0].AddWindow != nil) != want || (a[0].Closed == "") != want {
			t.Errorf("%s: %+v", name, a)
		}
		if _, err := position.AddALiBi(m, position.ALiBiOptions{}); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestChannelsThatAttend: what weighs channels by what they have at all positions is no attention between positions, and gets nothing.
func TestChannelsThatAttend(t *testing.T) {
	for _, einsum := range []bool{false, true} {
		m := built(t, func(m *onnx.NewModel) {
			m.Inputs = []onnx.NewValue{{Name: "x", Type: onnx.Float, Dims: []int64{1, 12, 16}}}
			m.Outputs = []onnx.NewValue{{Name: "y", Type: onnx.Float, Dims: []int64{1, 12, 16}}}
			m.Initializers = []onnx.NewTensor{noise("Wq", 16, 16), noise("Wk", 16, 16), noise("Wv", 16, 16), noise("Wo", 16, 16)}
			m.Nodes = []onnx.NewNode{node("MatMul", "q", "x", "Wq"), node("MatMul", "k", "x", "Wk"), node("MatMul", "v", "x", "Wv")}
			if einsum {
				m.Nodes = append(m.Nodes, withInts(node("Einsum", "scores", "q", "k"), "equation", "bnc,bnd->bcd"))
			} else {
				m.Nodes = append(m.Nodes, withInts(node("Transpose", "turned", "q"), "perm", []int64{0, 2, 1}), node("MatMul", "scores", "turned", "k"))
			}
			m.Nodes = append(m.Nodes, node("Softmax", "p", "scores"), withInts(node("Transpose", "p turned", "p"), "perm", []int64{0, 2, 1}), node("MatMul", "seen", "v", "p turned"), node("MatMul", "y", "seen", "Wo"))
		})
		if a := m.Attentions(); len(a) > 0 {
			t.Errorf("einsum %v: %d attentions", einsum, len(a))
		}
	}
}
