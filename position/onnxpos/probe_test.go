package onnxpos

import (
	"path/filepath"
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
