package onnxpos

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/position"
)

// TestCorpusPrints logs what is found in every corpus file (-v).
func TestCorpusPrints(t *testing.T) {
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
		r := position.Inspect(m)
		b, _ := json.Marshal(r.Length)
		t.Logf("%s %s", filepath.Base(path), b)
		for _, e := range r.Encodings {
			e.Evidence, e.Where = nil, nil
			b, _ := json.Marshal(e)
			t.Logf("     %s", b)
		}
		f.Close()
	}
	if os.Getenv("X") != "" {
		t.Fail()
	}
}
