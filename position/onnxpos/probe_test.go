package onnxpos

import (
	"path/filepath"
	"testing"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
)

// TestProbeRuns evaluates every corpus file at a small length: no node of a
// file that an engine runs may fail, and outputs have shapes.
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
		e := eval.New(f, probeInputs(f, sizes{batch: 1, length: 5, image: 16}))
		e.Run()
		for i, fail := range e.Failures {
			if i < 2 {
				t.Errorf("%s: %s %s: %v", filepath.Base(path), fail.Node.Op, fail.Node.Name, fail.Err)
			}
		}
		for _, o := range f.Graph.Outputs {
			if v := e.Main.Value(o.Name); !v.Ranked && len(e.Failures) == 0 {
				t.Errorf("%s: output %s unranked", filepath.Base(path), o.Name)
				shown := 0
				for _, n := range f.Graph.Nodes {
					if len(n.Outputs) > 0 && !e.Main.Value(n.Outputs[0]).Ranked && shown < 3 {
						shown++
						t.Logf("   first unranked: %s %s %v", n.Op, n.Domain, n.Name)
					}
				}
			}
		}
		f.Close()
	}
}
