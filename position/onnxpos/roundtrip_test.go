package onnxpos

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/onnxpos/site"
	"github.com/modelpatch/modelpatch/position/onnxpos/trace"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// waved makes the model one of 8 features of a free length, to whose tokens rows "pe" are added; nodes
// make them of a table "waves" of sines beside cosines.
func waved(m *onnx.NewModel, rank3 bool, more []onnx.NewTensor, nodes ...onnx.NewNode) {
	free(m)
	m.Outputs[0].Dims[2] = 8
	table := floats("waves", []int64{16, 8}, func(i int) float64 {
		angle := float64(i/8) * math.Pow(10000, -float64(i%8%4)/4)
		if i%8 < 4 {
			return math.Sin(angle)
		}
		return math.Cos(angle)
	})
	if rank3 {
		table.Dims = []int64{1, 16, 8}
	}
	m.Initializers = append([]onnx.NewTensor{noise("wte", 32, 8), table, noise("W", 8, 8), m.Initializers[2], m.Initializers[3]}, more...)
	m.Nodes = append([]onnx.NewNode{m.Nodes[0], m.Nodes[1], m.Nodes[4]}, nodes...)
	m.Nodes = append(m.Nodes, node("Add", "x", "te", "pe"), node("MatMul", "h", "x", "W"))
}

// written is a model's file after a change, kept so that it can be changed once more.
func written(t *testing.T, m *Model, from string) (path string, after *Model) {
	t.Helper()
	p, err := m.Edits()
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b := make([]byte, p.OutputSize(0))
	if _, err := p.View(0, f).ReadAt(b, 0); err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "written.onnx")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path, openFile(t, path)
}

func openFile(t *testing.T, path string) *Model {
	t.Helper()
	f, err := onnx.Open(path, onnx.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	m, err := New(f)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// addsWaves holds the numbers that are added to tokens against the formula, at some lengths.
func addsWaves(t *testing.T, m *Model, lengths ...int) {
	t.Helper()
	for _, length := range lengths {
		e := m.graph.At(length)
		var at *onnx.Node
		for _, n := range m.graph.File.Graph.Nodes {
			if n.Op == "Add" {
				at = n
			}
		}
		for p, row := range trace.RowsOf(e.Main.Input(at, 1), len(e.Main.Input(at, 1).Shape)-2) {
			for k, got := range row {
				angle := float64(p) * math.Pow(10000, -float64(k%4)/4)
				want := math.Sin(angle)
				if k >= 4 {
					want = math.Cos(angle)
				}
				if math.Abs(got-want) > 1e-6 {
					t.Fatalf("length %d: position %d, column %d: %g, want %g", length, p, k, got, want)
				}
			}
		}
	}
}

// TestUnbake: a table of sines and cosines becomes what the graph computes, for any length, however its
// rows are selected.
func TestUnbake(t *testing.T) {
	bounds := []onnx.NewTensor{integers("first", 0), integers("rows", 0), integers("row3", 1), integers("unit", 1)}
	for name, change := range map[string]func(*onnx.NewModel){
		"a slice": func(m *onnx.NewModel) {
			waved(m, false, bounds, node("Unsqueeze", "end", "n", "rows"), node("Slice", "pe", "waves", "first", "end", "rows", "unit"))
		},
		"a slice behind an axis": func(m *onnx.NewModel) {
			waved(m, true, bounds, node("Unsqueeze", "end", "n", "rows"), node("Slice", "pe", "waves", "first", "end", "row3", "unit"))
		},
		"rows by number": func(m *onnx.NewModel) {
			waved(m, false, nil, node("Range", "p", "zero", "n", "one"), node("Gather", "pe", "waves", "p"))
		},
		"elements by number": func(m *onnx.NewModel) {
			waved(m, false, append(bounds, integers("two", 8), integers("columns", 1)), node("Range", "p", "zero", "n", "one"), node("Unsqueeze", "column", "p", "columns"), node("Unsqueeze", "end", "n", "rows"),
				withInts(node("Concat", "wide", "end", "two"), "axis", int64(0)), node("Expand", "index", "column", "wide"), withInts(node("GatherElements", "pe", "waves", "index"), "axis", int64(0)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := saved(t, change)
			m := openFile(t, path)
			if got := found(m); !strings.HasPrefix(got, "sinusoids of base 10000, dim 8, sin-cos") {
				t.Fatal(got)
			}
			if _, err := position.Unbake(m); err != nil {
				t.Fatal(err)
			}
			path, after := written(t, m, path)
			if e := after.sites[0].Encoding(); e.Form != report.FormRuntime || e.Capacity != 0 {
				t.Errorf("%v: %s, %d positions", e.Scheme, e.Form, e.Capacity)
			}
			addsWaves(t, after, 5, 16, 40)
			if _, err := position.Bake(after, position.BakeOptions{Length: 24}); err != nil {
				t.Fatal(err)
			}
			_, again := written(t, after, path)
			if e := again.sites[0].Encoding(); e.Form != report.FormTable || e.Capacity != 24 {
				t.Errorf("%v: %s, %d positions", e.Scheme, e.Form, e.Capacity)
			}
			addsWaves(t, again, 5, 24)
		})
	}
}

// TestBakeJoined: sines and cosines that the graph computes and puts beside each other become a table of as
// many rows as are wanted.
func TestBakeJoined(t *testing.T) {
	path := saved(t, func(m *onnx.NewModel) {
		waved(m, false, []onnx.NewTensor{floats("f", []int64{4}, func(k int) float64 { return math.Pow(10000, -float64(k)/4) }), integers("columns", 1)},
			node("Range", "p", "zero", "n", "one"), withInts(node("Cast", "pf", "p"), "to", int64(onnx.Float)), node("Unsqueeze", "column", "pf", "columns"), node("Mul", "angle", "column", "f"),
			node("Sin", "sin", "angle"), node("Cos", "cos", "angle"), withInts(node("Concat", "pe", "sin", "cos"), "axis", int64(-1)))
	})
	m := openFile(t, path)
	if _, err := position.Bake(m, position.BakeOptions{Length: 24}); err != nil {
		t.Fatal(err)
	}
	_, after := written(t, m, path)
	if e := after.sites[0].Encoding(); e.Form != report.FormTable || e.Capacity != 24 {
		t.Errorf("%v: %s, %d positions", e.Scheme, e.Form, e.Capacity)
	}
	addsWaves(t, after, 5, 24)
}

// TestUnbakeRefuses: a table that is added whole has no positions to compute of, and a trained one no formula.
func TestUnbakeRefuses(t *testing.T) {
	for want, change := range map[string]func(*onnx.NewModel){
		"used whole": func(m *onnx.NewModel) {
			waved(m, false, nil, node("Identity", "pe", "waves"))
			m.Inputs[0].Dims[1], m.Outputs[0].Dims[1] = 16, 16
		},
		"no formula": func(m *onnx.NewModel) { free(m) },
	} {
		if _, err := position.Unbake(openFile(t, saved(t, change))); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want it refused: %s", err, want)
		}
	}
}

// TestStrayEntry: one cosine of a cache that is off its formula is told with its row, and a sound cache tells
// of none.
func TestStrayEntry(t *testing.T) {
	for _, bend := range []float64{1, 1.3} {
		m := built(t, func(m *onnx.NewModel) { turning(m, []int{64}, []float64{bend}) })
		stray, ok := m.sites[0].(position.Confirmer)
		if !ok {
			t.Fatalf("%T tells of no stray entries", m.sites[0])
		}
		says, _, damaged := stray.Stray()
		if damaged != (bend != 1) || damaged && !strings.Contains(says, "row 9,") {
			t.Errorf("bent by %g: %v %s", bend, damaged, says)
		}
	}
}

// TestOtherSites: encodings that no verb changes refuse, and those of several layers are one.
func TestOtherSites(t *testing.T) {
	other := func(window []int, where string) *site.Other {
		return site.NewOther(position.Encoding{Form: report.FormTable, Scheme: schemes.Other{Kind: report.SchemeRelativeTable, Window: window}, Where: []report.Where{{Node: where}}})
	}
	first := other(nil, "a")
	first.Join(other([]int{4, 4}, "b"))
	if e := first.Encoding(); len(e.Where) != 2 || len(e.Scheme.(schemes.Other).Window) != 2 {
		t.Errorf("%+v", e)
	}
	if first.ReadOnly() != position.Site(first) || first.Store(position.Want{}) == nil {
		t.Error("it can be changed")
	}
	first.Why = "its table is of another kind"
	if err := first.Store(position.Want{}); err == nil || !strings.Contains(err.Error(), first.Why) {
		t.Errorf("%v", err)
	}
	first.SetEnd(20, report.Evidence{})
	if e := first.Encoding(); e.Capacity != 20 || e.Beyond != report.BeyondError {
		t.Errorf("%d positions", e.Capacity)
	}
}
