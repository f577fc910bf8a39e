//go:build unix

package benchmarks

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// BenchmarkExtendPictures gives models of real size, with random weights, another picture, against cp and
// sync of the same file. ENGINES_PYTHON needs torch and transformers.
func BenchmarkExtendPictures(b *testing.B) {
	python := os.Getenv("ENGINES_PYTHON")
	if python == "" {
		b.Skip("ENGINES_PYTHON is not set")
	}
	if out, err := exec.Command(python, "-c", "import torch, transformers").CombinedOutput(); err != nil {
		b.Skipf("%s has no torch or no transformers: %v\n%s", python, err, out)
	}
	for _, c := range []struct {
		model  string
		change []string
	}{{"vit", []string{"--image", "384"}}, {"beit", []string{"--image", "384"}}, {"sam", []string{"--image", "512"}}, {"swin", []string{"--image", "448"}}, {"swin", []string{"--image", "384", "--window", "12"}}} {
		b.Run(c.model+strings.Join(c.change, ""), func(b *testing.B) {
			model := filepath.Join(b.TempDir(), c.model+".onnx")
			if out, err := exec.Command(python, "testdata/pictures.py", c.model, model).CombinedOutput(); err != nil {
				b.Fatalf("%v\n%s", err, out)
			}
			extendTurns(b, model, c.change...)
		})
	}
}
