package ggufpos

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/modelpatch/modelpatch/gguf"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
)

const corpus = "../../../shared/corpus"

// entry is one file of the corpus's manifest.
type entry struct {
	File  string
	Truth *struct {
		Length    map[string]any
		Encodings []map[string]any
	}
}

func manifest(t *testing.T) []entry {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(corpus, "gguf.json"))
	if err != nil {
		t.Skip("../shared is absent")
	}
	var entries []entry
	if err := json.Unmarshal(raw, &entries); err != nil {
		t.Fatal(err)
	}
	return entries
}

// inspected is a report as JSON would give it to a script.
func inspected(t *testing.T, path string) map[string]any {
	t.Helper()
	f, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	m, err := Open(f)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	raw, err := json.Marshal(position.Inspect(m))
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestCorpusTruth holds the report on every file against what is true of it.
func TestCorpusTruth(t *testing.T) {
	for _, e := range manifest(t) {
		if e.Truth == nil {
			continue
		}
		t.Run(filepath.Base(e.File), func(t *testing.T) {
			got := inspected(t, filepath.Join(corpus, e.File))
			encodings := got["encodings"].([]any)
			if len(encodings) != len(e.Truth.Encodings) {
				t.Fatalf("%d encodings, want %d", len(encodings), len(e.Truth.Encodings))
			}
			for i, want := range e.Truth.Encodings {
				if want["scheme"] == report.SchemeNone {
					delete(want, "form")
				}
				within(t, fmt.Sprintf("e%d", i), want, encodings[i])
			}
			length := got["length"].(map[string]any)
			for key, want := range e.Truth.Length {
				if want != report.BeyondUnknown {
					within(t, key, want, length[key])
				}
			}
		})
	}
}

// truthTolerance is for numbers that the manifest rounds or a file stores in
// float32.
const truthTolerance = 2e-4

// within checks that everything that want says is in got.
func within(t *testing.T, at string, want, got any) {
	t.Helper()
	switch want := want.(type) {
	case map[string]any:
		have, _ := got.(map[string]any)
		for key, value := range want {
			if have[key] == nil && value != nil && isDefault(key, value) {
				continue
			}
			within(t, at+"."+key, value, have[key])
		}
	case []any:
		have, _ := got.([]any)
		if len(have) != len(want) {
			t.Errorf("%s: %v, want %v", at, got, want)
			return
		}
		for i := range want {
			within(t, at, want[i], have[i])
		}
	case float64:
		have, ok := got.(float64)
		if !ok || math.Abs(have-want) > truthTolerance*math.Abs(want) {
			t.Errorf("%s: %v, want %v", at, got, want)
		}
	default:
		if got != want {
			t.Errorf("%s: %v, want %v", at, got, want)
		}
	}
}

// isDefault reports whether a parameter may be left out.
func isDefault(key string, value any) bool {
	return slices.Contains([]string{"offset", "prefix"}, key) && value == 0.0 || key == "attention_factor" && value == 1.0
}

// TestFindings holds the rules that broken and odd files must bring up.
func TestFindings(t *testing.T) {
	for file, want := range map[string]string{
		"edit-base-u32":          "gguf-key-type",
		"edit-bigendian":         "gguf-big-endian",
		"edit-ctx-missing":       "gguf-context-missing",
		"edit-ctx-u64":           "gguf-key-type",
		"edit-dims-partial-qwen": "gguf-dimension-count",
		"edit-factor-u32":        "gguf-key-type",
		"edit-gpt2-ctx-too-long": "gguf-rows-differ-from-length",
		"edit-gpt2-freqbase":     "gguf-key-ignored",
		"edit-type-unknown":      "gguf-scaling-type-unknown",
		"edit-unknown-arch":      "gguf-architecture-unknown",
		"edit-yarn-no-orig":      "gguf-original-length-missing",
		"edit-type-none-factor":  "gguf-factor-with-none",
		"edit-factor-only":       "gguf-factor-without-type",
		"edit-yarn-full":         "gguf-key-ignored",
		"llama-plain":            "",
		"gemma3-dual":            "",
		"qwen2-yarn4":            "",
		"phi3-longrope":          "",
		"deepseek3-v":            "",
		"t5-32":                  "",
		"bloom-alibi4":           "",
		"mamba-v":                "",
	} {
		path := filepath.Join(corpus, "gguf", file+".gguf")
		if _, err := os.Stat(path); err != nil {
			t.Skip("../shared is absent")
		}
		var rules []string
		for _, f := range inspected(t, path)["findings"].([]any) {
			rules = append(rules, f.(map[string]any)["rule"].(string))
		}
		if want == "" && len(rules) > 0 || want != "" && !slices.Contains(rules, want) {
			t.Errorf("%s: findings %v, want %q", file, rules, want)
		}
	}
}
