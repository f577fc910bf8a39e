//go:build unix

package benchmarks

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// peers builds the module of bare walks and of other projects' readers, and
// returns a folder of their commands. They need a network or a module cache;
// without, the benchmark is skipped.
func peers(b *testing.B) string {
	folder := b.TempDir()
	cmd := exec.Command("go", "build", "-o", folder, "./...")
	cmd.Dir = "peers"
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Skipf("the peers cannot be built: %v\n%s", err, out)
	}
	return folder
}

// reader is a command that reads a model.
type reader struct {
	name string
	args []string
}

// compare measures modelpatch by a bare walk of the same file, in turns, and
// then others, which are slow, once.
func compare(b *testing.B, model string, walk string, own reader, once []reader) {
	b.Helper()
	warm := func(r reader) usage {
		return run(b, false, r.args[0], append(r.args[1:len(r.args):len(r.args)], model)...)
	}
	bare := reader{"walk", []string{walk}}
	warm(bare)
	warm(own)
	var least, mine usage
	for b.Loop() {
		const rounds = 10 // a process of some milliseconds is measured in whole ticks
		for range rounds {
			w, u := warm(bare), warm(own)
			least.cpu += w.cpu / rounds
			mine.cpu, mine.wall, mine.rss = mine.cpu+u.cpu/rounds, mine.wall+u.wall/rounds, max(mine.rss, u.rss)
		}
	}
	n := float64(b.N)
	per := func(u usage) float64 { return float64(u.cpu.Microseconds()) / 1e3 / n }
	b.ReportMetric(per(least), "ms-cpu-walk/op")
	b.ReportMetric(per(mine), "ms-cpu-"+own.name+"/op")
	b.ReportMetric(per(mine)/per(least), "×walk")
	b.ReportMetric(float64(mine.wall.Microseconds())/1e3/n, "ms-wall/op")
	b.ReportMetric(float64(mine.rss)/1e6, "MB-rss")
	for _, r := range once {
		u := warm(r)
		b.ReportMetric(float64(u.cpu.Microseconds())/1e3/per(least), "×walk-"+r.name)
	}
}

// BenchmarkInspectGGUF2GB reads the header of a 2 GB file (290 tensors, 128k
// tokens, 280k merges): CPU of the whole process against that of a bare walk
// over every key and tensor record, and against other readers.
func BenchmarkInspectGGUF2GB(b *testing.B) {
	modelpatch, folder := tool(b), peers(b)
	model := filepath.Join(b.TempDir(), "model.gguf")
	writeGGUF(b, model)
	others := []reader{{"ollama", []string{filepath.Join(folder, "ollama")}}, {"gguf-parser-go", []string{filepath.Join(folder, "ggufparser")}}}
	if python := os.Getenv("ENGINES_PYTHON"); python != "" {
		others = append(others, reader{"gguf-dump", []string{python, "-m", "gguf.scripts.gguf_dump"}})
	}
	compare(b, model, filepath.Join(folder, "walk"), reader{"inspect", []string{modelpatch, "inspect", "--json"}}, others)
}

// BenchmarkInspectONNX1GB reads a model file of 1 GB with its weights inline,
// against a bare skip over the fields of model and graph.
func BenchmarkInspectONNX1GB(b *testing.B) {
	small := corpus(b, "gpt2-ts17.onnx")
	modelpatch, folder := tool(b), peers(b)
	model := filepath.Join(b.TempDir(), "model.onnx")
	writeONNX(b, small, model)
	var others []reader
	if python := os.Getenv("ENGINES_PYTHON"); python != "" {
		others = append(others, reader{"onnx.load", []string{python, "-c", "import onnx, sys; onnx.load(sys.argv[1])"}})
	}
	compare(b, model, filepath.Join(folder, "skip"), reader{"inspect", []string{modelpatch, "inspect", "--json"}}, others)
}
