package sidecar_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/modelpatch/modelpatch"
	"github.com/modelpatch/modelpatch/report"
)

// TestPublishedVocabularies reads the vocabulary files that llama.cpp keeps
// beside its sources: made by others from published models, whose
// configurations testdata/published/vocabularies.json was checked against by
// hand (facts/ENGINES §8).
func TestPublishedVocabularies(t *testing.T) {
	folder := os.Getenv("GGUF_VOCAB_DIR")
	if folder == "" {
		t.Skip("skipped by name: vocabulary files (GGUF_VOCAB_DIR is not set; the engine set-up's part vocab has them)")
	}
	raw, err := os.ReadFile("../../testdata/published/vocabularies.json")
	if err != nil {
		t.Fatal(err)
	}
	var want []struct {
		File, Source, Kind, Architecture, Beyond string
		Stated                                   int
		Encodings                                json.RawMessage
	}
	if err := json.Unmarshal(raw, &want); err != nil {
		t.Fatal(err)
	}
	for _, w := range want {
		t.Run(w.File, func(t *testing.T) {
			r, err := modelpatch.Inspect(t.Context(), filepath.Join(folder, w.File), modelpatch.OpenOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if r.Kind != w.Kind || *r.Architecture != w.Architecture || *r.Length.Stated != w.Stated || r.Length.Beyond != w.Beyond || r.Length.Capacity != nil {
				t.Errorf("%s %s, length %v, want %+v", r.Kind, *r.Architecture, r.Length, w)
			}
			if len(r.Findings) > 0 {
				t.Errorf("findings: %v", r.Findings)
			}
			if got := claims(t, r); !bytes.Equal(got, canonical(t, w.Encodings)) {
				t.Errorf("claims %s\nwant %s (%s)", got, w.Encodings, w.Source)
			}
		})
	}
}

// claims is what a report says of the encodings, without where and why.
func claims(t *testing.T, r report.Inspect) []byte {
	type claim struct {
		Scheme     string            `json:"scheme"`
		Form       *string           `json:"form"`
		Layers     any               `json:"layers"`
		Parameters report.Parameters `json:"parameters"`
	}
	var out []claim
	for _, e := range r.Encodings {
		out = append(out, claim{e.Scheme, e.Form, e.Layers, e.Parameters})
	}
	b, err := json.Marshal(out)
	if err != nil {
		t.Fatal(err)
	}
	return canonical(t, b)
}

// canonical is JSON with sorted keys and no spaces.
func canonical(t *testing.T, b []byte) []byte {
	var v any
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
