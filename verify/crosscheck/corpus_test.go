package crosscheck_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelpatch/modelpatch"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/verify"
	"github.com/modelpatch/modelpatch/verify/crosscheck"
	"github.com/modelpatch/modelpatch/verify/engine"
)

// second collects the second opinions on a model.
func second(t *testing.T, path string, opinion func(verify.Case) ([][]float64, error)) (checks []report.Check) {
	t.Helper()
	m, err := modelpatch.Open(t.Context(), path, modelpatch.OpenOptions{})
	if err != nil {
		return nil // a shard without its siblings, or no model
	}
	defer m.Close()
	v := verify.Inspect(m, verify.Options{SecondOpinion: opinion, Sample: verify.Sample{Positions: 13}})
	for _, k := range v.Checks {
		if k.Name == "second-opinion" {
			checks = append(checks, k)
		}
	}
	return checks
}

// TestCorpus has foreign code compute an attention of every layer of every model: none may
// differ, and few may be out of its reach.
func TestCorpus(t *testing.T) {
	agreed, skipped := 0, 0
	for _, pattern := range []string{"../../testdata/*/*", "../../../shared/corpus/*/*", "../../../shared/rewrite/*/*"} {
		paths, _ := filepath.Glob(pattern)
		for _, path := range paths {
			if ext := filepath.Ext(path); ext != ".onnx" && ext != ".gguf" {
				continue
			}
			for _, k := range second(t, path, crosscheck.Run) {
				switch k.Verdict {
				case report.CheckPass:
					agreed++
				case report.CheckFail:
					t.Errorf("%s: %s: %+v", path, k.Why, k.Measure)
				default:
					skipped++
					t.Logf("%s: %s", path, k.Why)
				}
			}
		}
	}
	t.Logf("%d attentions agreed upon, %d not given", agreed, skipped)
	if agreed < 20 || skipped*20 > agreed {
		t.Errorf("%d agreed upon, %d not given", agreed, skipped)
	}
}

// TestNumPy has NumPy compute one file of each scheme in float64: the Python that
// ENGINES_PYTHON names must have it.
func TestNumPy(t *testing.T) {
	python := os.Getenv("ENGINES_PYTHON")
	if python == "" {
		t.Skip("ENGINES_PYTHON is not set")
	}
	opinion := func(c verify.Case) ([][]float64, error) {
		job, err := json.Marshal(engine.NewJob(c))
		if err != nil {
			return nil, err
		}
		cmd := exec.Command(python, "testdata/attention.py")
		cmd.Stdin = strings.NewReader(string(job))
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", python, err)
		}
		var rows [][]float64
		return rows, json.Unmarshal(out, &rows)
	}
	for _, file := range []string{
		"onnx/llama-dy23.onnx", "onnx/hand-msrope-partial.onnx", "onnx/alibi-range-ts17.onnx", "onnx/gpt2-dy23.onnx", "onnx/bert-ts17-ortbert.onnx", "onnx/genai-llama-fp32-ext.onnx",
		"gguf/llama-plain.gguf", "gguf/llama-llama3.gguf", "gguf/qwen2-yarn4.gguf", "gguf/gemma3-dual.gguf", "gguf/mpt-alibi.gguf", "gguf/t5-32.gguf", "gguf/bert-learned.gguf", "gguf/gpt2-f32.gguf",
	} {
		checks := second(t, "../../testdata/"+file, opinion)
		if len(checks) == 0 {
			t.Errorf("%s: no opinion", file)
		}
		for _, k := range checks {
			if k.Verdict != report.CheckPass || !(float64(k.Measure.MaxRel) <= 1e-12) {
				t.Errorf("%s: %s: %s %+v", file, k.Verdict, k.Why, k.Measure)
			}
		}
	}
}
