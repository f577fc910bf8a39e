//go:build unix

package benchmarks

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// BenchmarkCheck checks 3,000 small models in one process, and has 30 of them looked at by
// what people would loop over instead: gguf-py's gguf-dump and the onnx package's checker.
func BenchmarkCheck(b *testing.B) {
	const files = 3000
	sources, _ := filepath.Glob("../testdata/*/*.gguf")
	graphs, _ := filepath.Glob("../testdata/onnx/*.onnx")
	sources = append(sources, graphs...)
	folder := b.TempDir()
	var some []string
	for i := range files {
		data, err := os.ReadFile(sources[i%len(sources)])
		if err != nil {
			b.Fatal(err)
		}
		path := filepath.Join(folder, fmt.Sprintf("%02d", i%100), fmt.Sprintf("%04d%s", i, filepath.Ext(sources[i%len(sources)])))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o666); err != nil {
			b.Fatal(err)
		}
		if len(some) < 30 {
			some = append(some, path)
		}
	}
	own := tool(b)
	var mine usage
	for b.Loop() {
		u := run(b, false, own, "check", "--fail-on", "never", folder)
		mine.cpu, mine.wall, mine.rss = mine.cpu+u.cpu, mine.wall+u.wall, max(mine.rss, u.rss)
	}
	n := float64(b.N)
	per := float64(mine.cpu.Microseconds()) / 1e3 / n / files
	b.ReportMetric(per, "ms-cpu/file")
	b.ReportMetric(files/(mine.wall.Seconds()/n), "files/s")
	b.ReportMetric(float64(mine.rss)/1e6, "MB-rss")
	python := os.Getenv("ENGINES_PYTHON")
	if python == "" {
		b.Log("skipped by name: gguf-dump and onnx.checker (ENGINES_PYTHON is not set)")
		return
	}
	loop := `for f in "$@"; do case $f in *.gguf) "$0" -m gguf.scripts.gguf_dump --no-tensors "$f" ;; *) "$0" -c 'import onnx,sys; onnx.checker.check_model(sys.argv[1])' "$f" ;; esac; done >/dev/null 2>&1; true`
	u := run(b, false, "sh", append([]string{"-c", loop, python}, some...)...)
	b.ReportMetric(float64(u.cpu.Microseconds())/1e3/float64(len(some)), "ms-cpu-loop/file")
}
