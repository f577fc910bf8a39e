//go:build unix

package benchmarks

import (
	"os"
	"os/exec"
	"path/filepath"
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
	for _, c := range []struct{ model, image string }{{"vit", "384"}, {"beit", "384"}, {"sam", "512"}} {
		b.Run(c.model, func(b *testing.B) {
			model := filepath.Join(b.TempDir(), c.model+".onnx")
			if out, err := exec.Command(python, "testdata/pictures.py", c.model, model).CombinedOutput(); err != nil {
				b.Fatalf("%v\n%s", err, out)
			}
			extendTurns(b, model, "--image", c.image)
		})
	}
}
