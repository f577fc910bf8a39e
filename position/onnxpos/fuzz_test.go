package onnxpos

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position"
)

// maxFuzzBytes bounds the models that are tried: small ones reach every branch
// and large ones only take time.
const maxFuzzBytes = 200 << 10

// FuzzDetect looks for positions in mutated models, and extends what it finds:
// whatever the bytes, no panic, and a plan that is made is sound.
func FuzzDetect(f *testing.F) {
	for _, pattern := range []string{"../../testdata/onnx/*.onnx", "../../testdata/onnx/cases/unshaped-*.onnx", "../../../shared/corpus/onnx/*.onnx"} {
		paths, _ := filepath.Glob(pattern)
		for _, p := range paths {
			if b, err := os.ReadFile(p); err == nil && len(b) < 60<<10 {
				f.Add(b)
			}
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > maxFuzzBytes {
			t.Skip()
		}
		file, err := onnx.NewFile(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		m, err := find(file, eval.NewBudget(t.Context(), maxSteps)) // without the net that New has
		if err != nil {
			return
		}
		position.Inspect(m)
		for i, a := range m.Attentions() {
			if a.Run != nil && i < 2 {
				a.Run(6, nil)
			}
		}
		if _, err := position.Extend(m, position.ExtendOptions{Length: 100}); err != nil {
			return
		}
		plan, err := m.Edits()
		if err != nil {
			return
		}
		if err := plan.Check(); err != nil && plan.Inputs[0].Path != "" {
			t.Fatal(err)
		}
	})
}
