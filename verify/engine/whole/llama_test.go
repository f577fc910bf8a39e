package whole

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/verify/engine"
	"github.com/modelpatch/modelpatch/verify/engine/llama"
)

// models are the files that come with the module.
const models = "../../../testdata"

// server is llama-server, of LLAMA_SERVER or of PATH.
func server(t *testing.T) string {
	t.Helper()
	path, err := llama.Find(os.Getenv("LLAMA_SERVER"))
	if err != nil {
		t.Skipf("llama-server: %v", err)
	}
	return path
}

func pair(before, after string, length int) engine.Pair {
	return engine.Pair{Format: strings.TrimPrefix(filepath.Ext(before), "."), Equal: true,
		Before: engine.Side{Path: before, Length: length}, After: engine.Side{Path: after, Length: length}}
}

// run runs a pair of which the engine loads at least one file.
func run(t *testing.T, p engine.Pair) []report.Check {
	t.Helper()
	checks, refuses := Run(t.Context(), p)
	if refuses != "" {
		t.Errorf("neither file is loaded: %s", refuses)
	}
	return checks
}

func TestLlamaServer(t *testing.T) {
	p := pair(filepath.Join(models, "gguf/llama-plain.gguf"), filepath.Join(models, "gguf/llama-plain.gguf"), 32)
	p.LlamaServer = server(t)
	for _, k := range run(t, p) {
		if k.Verdict != report.CheckPass {
			t.Errorf("the same file: %s: %s", k.Verdict, k.Why)
		}
		t.Log(k.Why)
	}
	p.After.Path = filepath.Join(t.TempDir(), "broken.gguf")
	data, err := os.ReadFile(p.Before.Path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p.After.Path, data[:len(data)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	if k := run(t, p); len(k) != 1 || k[0].Verdict != report.CheckFail {
		t.Errorf("half a file: %+v", k)
	} else {
		t.Log(k[0].Why)
	}
}

// TestServerThatEnds has another program in the server's place: it ends at once.
func TestServerThatEnds(t *testing.T) {
	p := pair(filepath.Join(models, "gguf/llama-plain.gguf"), filepath.Join(models, "gguf/llama-plain.gguf"), 32)
	p.LlamaServer = "true"
	if _, err := llama.Find(p.LlamaServer); err != nil {
		t.Skip("no program named true")
	}
	if k, refuses := Run(t.Context(), p); len(k) != 1 || k[0].Verdict != report.CheckSkipped || refuses == "" {
		t.Errorf("got %+v, %q", k, refuses)
	}
}

func TestNoServer(t *testing.T) {
	p := pair("a.gguf", "b.gguf", 32)
	p.LlamaServer = filepath.Join(t.TempDir(), "none")
	if k := run(t, p); len(k) != 1 || k[0].Verdict != report.CheckSkipped || !strings.Contains(k[0].Why, "none") {
		t.Errorf("got %+v", k)
	}
}

func TestLengths(t *testing.T) {
	for n, want := range map[int]string{0: "4, 8", 1: "1", 8: "4, 8", 48: "8, 24, 48"} {
		if got := list(lengths(n)); got != want {
			t.Errorf("lengths(%d) = %s, want %s", n, got, want)
		}
	}
}
