package onnxpos

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/modelpatch/modelpatch/onnx"
)

// TestProbeRuns evaluates every corpus file at its probing sizes: no node of a
// file that an engine runs may fail there, and outputs have shapes.
func TestProbeRuns(t *testing.T) {
	files, _ := filepath.Glob("../../../shared/corpus/onnx/*.onnx")
	if len(files) == 0 {
		t.Skip("../shared/corpus is not there")
	}
	for _, path := range files {
		f, err := onnx.Open(path, onnx.Options{})
		if err != nil {
			t.Fatal(err)
		}
		m, err := New(f)
		if err != nil {
			t.Fatal(err)
		}
		for i, fail := range m.graph.Eval.Failures {
			if i == 0 {
				t.Errorf("%s: %s %s: %v", filepath.Base(path), fail.Node.Op, fail.Node.Name, fail.Err)
			}
		}
		for _, o := range f.Graph.Outputs {
			if v := m.graph.Eval.Main.Value(o.Name); !v.Ranked && len(m.graph.Eval.Failures) == 0 {
				t.Errorf("%s: output %s has no shape", filepath.Base(path), o.Name)
			}
		}
		m.Close()
	}
}

// TestCachesOfFreeHeads opens a file whose caches have heads without a size: the probe
// must choose the one that GroupQueryAttention demands, not the number of positions.
func TestCachesOfFreeHeads(t *testing.T) {
	f, err := onnx.Open("../../testdata/onnx/genai-llama-fp32-ext.onnx", onnx.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m, err := New(f)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	sizes := m.InputSizes()
	if len(sizes) != 4 {
		t.Errorf("%d caches have sizes: %v", len(sizes), sizes)
	}
	for name, s := range sizes {
		if shape := m.graph.Eval.Main.Value(name).Shape; !slices.Equal(s, []int{0, 0, -1, 16}) || !slices.Equal(shape, []int{1, 1, 0, 16}) {
			t.Errorf("%s: %v of %v, want heads of 16 and no token", name, shape, s)
		}
	}
}
