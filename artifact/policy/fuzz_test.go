package policy

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/modelpatch/modelpatch/report"
)

// FuzzParse reads any bytes as a policy: it is one, and then judges, or it is an *Error with a
// place. Nothing panics, and no policy judges what it was not given.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"version: 1",
		"version: 1\nrules: {onnx-unread-encoding: error}\nbaseline: known.json",
		"version: 1\nfor:\n - files: ['**/*.gguf', '!x*']\n   rules: {length-unstated: note}\n   expect:\n    - {id: long, length: '>= 8192', scheme: [rope, alibi]}\n    - {id: base, base: 500000, tolerance: 1e-4}\n    - id: e\n      expr: any(encodings, .scheme == 'rope')",
		"version: 1\nwaivers: [{rule: '*', files: '**', reason: r, until: 2026-12-31, owner: o}]",
		"a: &a [*a]", "version: 1\nfor: [{files: '[', expect: []}]", "!!binary x", "version: 1\n? [a, b]\n: c",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<14 {
			return
		}
		p, err := Parse("policy.yaml", data, today)
		if err != nil {
			var named *Error
			if !errors.As(err, &named) || named.What == "" {
				t.Fatalf("%v: not an error that says what", err)
			}
			return
		}
		found, err := p.Judge(facts("m.gguf"), []report.Finding{{Rule: "onnx-unread-encoding", Level: report.LevelError, Message: "m"}})
		var named *Error
		if err != nil && !errors.As(err, &named) {
			t.Fatalf("judging: %v: not an error of the policy", err)
		}
		if err == nil && len(found) == 0 {
			t.Fatal("a finding is gone: a policy may waive it or turn it off, and says so")
		}
	})
}

// FuzzLoadBaseline reads any bytes as a baseline.
func FuzzLoadBaseline(f *testing.F) {
	f.Add([]byte(`{"0a": {"rule": "r", "path": "p"}}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "known.json")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		b, err := LoadBaseline(path)
		if err != nil {
			var named *Error
			if !errors.As(err, &named) {
				t.Fatalf("%v: not an error that says what", err)
			}
			return
		}
		findings := []report.CheckedFinding{{Fingerprint: "0a"}}
		b.Mark(findings)
		if _, has := b["0a"]; has != findings[0].Baseline {
			t.Fatal("what the baseline has and what it marks differ")
		}
	})
}
