package onnxpos

import (
	"context"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/onnxpos/rows"
	"github.com/modelpatch/modelpatch/report"
)

// allocated is how many bytes a function asks for in all.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestLongMaskIsStreamed extends a mask in the file to lengths at which it is far larger
// than what may be asked for: it is made while it is read, and where no file could hold
// it, refused in words.
func TestLongMaskIsStreamed(t *testing.T) {
	causal := func(q, k int) float64 {
		if k > q {
			return -1e9
		}
		return 0
	}
	const n = 8192
	m := built(t, func(m *onnx.NewModel) { masked(m, 6, causal) })
	var err error
	if used := allocated(func() { err = m.SetLength(6, n) }); err != nil || used > 16<<20 {
		t.Fatalf("%d bytes: %v", used, err)
	}
	plan, err := m.Edits()
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, e := range plan.Edits {
		if e.New == nil || e.New.Size() < 4*n*n {
			continue
		}
		found = true
		r, row := e.New.Open(), make([]byte, 4*n)
		if _, err := io.CopyN(io.Discard, r, e.New.Size()-4*n*n); err != nil { // the field's tag and length
			t.Fatal(err)
		}
		for q := range 100 {
			if _, err := io.ReadFull(r, row); err != nil {
				t.Fatal(err)
			}
			want, _ := onnx.EncodeFloats(onnx.Float, []float64{causal(q, 0), causal(q, q), causal(q, q+1), causal(q, n-1)}, nil)
			if got := string(row[:4]) + string(row[4*q:4*q+8]) + string(row[4*n-4:]); got != string(want) {
				t.Fatalf("row %d differs", q)
			}
		}
	}
	if !found {
		t.Error("no edit holds the mask")
	}
	for _, length := range []int{131072, position.MaxLength} {
		m = built(t, func(m *onnx.NewModel) { masked(m, 6, causal) })
		used := allocated(func() { err = m.SetLength(6, length) })
		if _, ok := err.(*position.Refusal); !ok || used > 64<<20 || !strings.Contains(err.Error(), "2 GiB") {
			t.Errorf("%d: %d bytes: %v", length, used, err)
		}
	}
}

// TestALiBiOutOfOrder refuses to add a bias to a graph whose nodes stand in no order,
// where the first attention of the file may come last.
func TestALiBiOutOfOrder(t *testing.T) {
	attend := func(m *onnx.NewModel) {
		states(m, false)
		m.Nodes = append(m.Nodes, withInts(node("Transpose", "k", "h0"), "perm", []int64{0, 2, 1}), node("MatMul", "s", "h0", "k"),
			withInts(node("Softmax", "p", "s"), "axis", int64(-1)), node("MatMul", "y", "p", "h0"))
	}
	if _, err := position.AddALiBi(built(t, attend), position.ALiBiOptions{}); err != nil && strings.Contains(err.Error(), "order") {
		t.Errorf("in order: %v", err)
	}
	m := built(t, func(m *onnx.NewModel) {
		attend(m)
		last := len(m.Nodes) - 1
		m.Nodes[1], m.Nodes[last] = m.Nodes[last], m.Nodes[1]
	})
	_, err := position.AddALiBi(m, position.ALiBiOptions{})
	if r, ok := err.(*position.Refusal); !ok || !strings.Contains(r.Why, "not in the order in which they run: MatMul") {
		t.Errorf("out of order: %v", err)
	}
}

// TestALiBiOfFewerKeys refuses to add a bias by distance where a key stands for several positions.
func TestALiBiOfFewerKeys(t *testing.T) {
	m := built(t, func(m *onnx.NewModel) {
		picture(m)
		m.Initializers = append(m.Initializers, noise("pool", 4, 4, 2, 2), integers("four", 1, 4, 4), integers("heads", 1, 16, 1, 4), integers("pooled heads", 1, 4, 1, 4), integers("whole", 1, 16, 4))
		m.Nodes = append(m.Nodes, withInts(node("Conv", "fewer", "patches", "pool"), "strides", []int64{2, 2}), node("Reshape", "flat fewer", "fewer", "four"), withInts(node("Transpose", "pooled", "flat fewer"), "perm", []int64{0, 2, 1}),
			node("MatMul", "q0", "x", "W"), node("Reshape", "q1", "q0", "heads"), withInts(node("Transpose", "q", "q1"), "perm", []int64{0, 2, 1, 3}), node("MatMul", "k0", "pooled", "W"), node("Reshape", "k1", "k0", "pooled heads"),
			withInts(node("Transpose", "k", "k1"), "perm", []int64{0, 2, 3, 1}), withInts(node("Transpose", "v", "k1"), "perm", []int64{0, 2, 1, 3}), node("MatMul", "s", "q", "k"), withInts(node("Softmax", "p", "s"), "axis", int64(-1)), node("MatMul", "o", "p", "v"),
			withInts(node("Transpose", "o1", "o"), "perm", []int64{0, 2, 1, 3}), node("Reshape", "h", "o1", "whole"))
	})
	_, err := position.AddALiBi(m, position.ALiBiOptions{})
	if r, ok := err.(*position.Refusal); !ok || !strings.Contains(r.Why, "16 queries and 4 keys") {
		t.Errorf("%v, want a refusal for its 4 keys", err)
	}
}

// TestTooLarge finds nothing in a graph for which the budget does not do, says so, and
// changes nothing.
func TestTooLarge(t *testing.T) {
	f := built(t, func(*onnx.NewModel) {}).graph.File
	m, err := find(f, eval.NewBudget(t.Context(), 10))
	if err != nil {
		t.Fatal(err)
	}
	if s := m.Sites(); len(s) != 1 || s[0].Encoding().Scheme.Name() != report.SchemeUnknown {
		t.Errorf("found %v", s)
	}
	if f := m.Findings(); len(f) != 1 || f[0].Rule != ruleTooLarge.ID || !strings.Contains(f[0].Message, "evaluating it was given up after 10 steps") {
		t.Errorf("findings: %v", f)
	}
	if a := m.Attentions(); len(a) != 1 || !strings.Contains(a[0].Unsupported, "too large") {
		t.Errorf("attentions: %v", a)
	}
	for verb, err := range map[string]error{
		"extend": func() error { _, err := position.Extend(m, position.ExtendOptions{Length: 64}); return err }(),
		"rope":   func() error { _, err := position.Rescale(m, position.RescaleOptions{Base: 5e5}); return err }(),
		"alibi":  func() error { _, err := position.AddALiBi(m, position.ALiBiOptions{}); return err }(),
	} {
		if _, ok := err.(*position.Refusal); !ok || !strings.Contains(err.Error(), "too large to be looked at whole") {
			t.Errorf("%s: %v", verb, err)
		}
	}
}

// TestContextEnds ends the look at a graph, and a change of it, with the context.
func TestContextEnds(t *testing.T) {
	long := func(m *onnx.NewModel) {
		states(m, false)
		m.Initializers = append(m.Initializers, noise("c", 5, 4))
		chain(m, 2000, func(i int, in, out string) { m.Nodes = append(m.Nodes, node("Add", out, in, "c")) })
	}
	m := built(t, long)
	ctx, end := context.WithCancel(t.Context())
	end()
	if _, err := NewContext(ctx, m.graph.File); !errors.Is(err, context.Canceled) {
		t.Errorf("New: %v", err)
	}
	m.graph.Budget = eval.NewBudget(ctx, maxSteps)
	m.graph.Within(m.graph.Budget)
	if _, err := position.Extend(m, position.ExtendOptions{Length: 64, Method: "tile"}); !errors.Is(err, context.Canceled) {
		t.Errorf("Extend: %v", err)
	}
}

// TestWideRows reads no rows of more columns than any model has, whatever a file claims.
func TestWideRows(t *testing.T) {
	wide := rows.Table{Tensor: &onnx.Tensor{Name: "wide", Type: onnx.Float, Dims: []int64{1024, rows.MaxColumns + 1}}}
	var err error
	if used := allocated(func() { _, err = wide.Matrix() }); err == nil || used > 1<<20 {
		t.Errorf("%d bytes: %v", used, err)
	}
}
