//go:build unix

package benchmarks

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/patch"
)

// needInsertion skips a benchmark where blocks cannot be inserted into files.
func needInsertion(b *testing.B) {
	b.Helper()
	path := filepath.Join(b.TempDir(), "probe")
	if err := os.WriteFile(path, make([]byte, 1<<21), 0o600); err != nil {
		b.Fatal(err)
	}
	if _, err := patch.InsertBlock(path, nil); err != nil {
		b.Skip("blocks cannot be inserted here:", err)
	}
}

// corpus is a small model that is made large; the benchmark is skipped where
// there is none.
func corpus(b *testing.B, name string) string {
	b.Helper()
	path := filepath.Join("../../shared/corpus/onnx", name)
	if _, err := os.Stat(path); err != nil {
		b.Skip("no corpus here: ", name)
	}
	return path
}

const gigabyte = 1 << 30

// writeONNX makes a small model one of 1 GB, by constants that nothing reads.
// Another process does it: memory that this one ever held would count as that
// of the processes it measures.
func writeONNX(b *testing.B, small, path string) {
	maker := exec.Command(os.Args[0], "-test.run=^TestWriteONNX$")
	maker.Env = append(os.Environ(), "BENCHMARK_SMALL="+small, "BENCHMARK_LARGE="+path)
	if out, err := maker.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
}

// TestWriteONNX is the process that writeONNX starts.
func TestWriteONNX(t *testing.T) {
	small := os.Getenv("BENCHMARK_SMALL")
	if small == "" {
		t.Skip("runs as a child of a benchmark")
	}
	f, err := onnx.Open(small, onnx.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	e := onnx.NewEditor(f)
	noise := make([]byte, 64<<20)
	io.ReadFull(rand.NewChaCha8([32]byte{1}), noise)
	for i := range gigabyte / len(noise) {
		e.AddInitializer(f.Graph, fmt.Sprintf("ballast%d", i), onnx.Float, []int64{int64(len(noise) / 4)}, noise, "ballast")
	}
	plan, err := e.Plan()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := patch.WriteNew(context.Background(), plan, os.Getenv("BENCHMARK_LARGE"), patch.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// BenchmarkExtendONNX1GB grows a table inside a model file of 1 GB, against cp
// and sync of the same file in the same run.
func BenchmarkExtendONNX1GB(b *testing.B) {
	small := corpus(b, "gpt2-ts17.onnx")
	model := filepath.Join(b.TempDir(), "model.onnx")
	writeONNX(b, small, model)
	extendTurns(b, model, "--len", "500")
}

// BenchmarkInPlaceONNXExternal1GB grows a table of a model whose 1 GB of
// weights lies in a data file, in place.
func BenchmarkInPlaceONNXExternal1GB(b *testing.B) {
	small := corpus(b, "genai-llama-fp32-ext.onnx")
	modelpatch := tool(b)
	folder := b.TempDir()
	model, copied := filepath.Join(folder, filepath.Base(small)), filepath.Join(folder, "copy.data")
	data := model + ".data"
	run(b, false, "cp", small, small+".data", folder)
	run(b, false, "chmod", "u+w", model, data)
	f, err := os.OpenFile(data, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := io.CopyN(f, rand.NewChaCha8([32]byte{1}), gigabyte); err != nil {
		b.Fatal(err)
	}
	f.Close()
	run(b, true, "cp", "--reflink=never", data, copied) // warm the cache
	syncFile(b, data)
	var t turns
	for i := 0; b.Loop(); i++ {
		t.run(func() usage {
			os.Remove(copied)
			settle()
			return run(b, true, "cp", "--reflink=never", data, copied)
		}, func() usage {
			settle()
			return run(b, false, modelpatch, "extend", "--len", fmt.Sprint(256+i), "--in-place", "--no-undo", model)
		})
	}
	t.report(b, "in-place")
}
