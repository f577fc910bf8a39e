package policy

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/modelpatch/modelpatch/artifact/rules"
	"github.com/modelpatch/modelpatch/report"
)

var today = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

func pointer[T any](v T) *T { return &v }

// facts are those of a GGUF model with RoPE.
func facts(path string) *rules.Facts {
	return &rules.Facts{Path: path, Report: &report.Inspect{Path: path, Format: "gguf", Kind: report.KindModel, Architecture: pointer("llama"), Bytes: 1000,
		Length: report.Length{Stated: pointer(4096), Beyond: "continues"},
		Encodings: []report.Encoding{{Scheme: report.SchemeRope, Form: pointer("keys"), Beyond: "continues",
			Parameters: report.Parameters{Base: pointer(report.Number(500000)), Scaling: &report.Scaling{Type: "yarn", Factor: pointer(report.Number(4)), OriginalLength: pointer(1024)}}}}}}
}

func parse(t *testing.T, text string) *Policy {
	t.Helper()
	p, err := Parse("policy.yaml", []byte(text), today)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func judged(t *testing.T, p *Policy, path string, found ...report.Finding) []report.CheckedFinding {
	t.Helper()
	out, err := p.Judge(facts(path), found)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestExpectations: each field holds and does not hold.
func TestExpectations(t *testing.T) {
	for expect, holds := range map[string]bool{
		`length: ">= 4096"`: true, `length: "> 4096"`: false, `length: 4096`: true, `length: "<= 4_095"`: false,
		`capacity: ">= 9"`: true, // nothing bounds it
		`scheme: rope`:     true, `scheme: [alibi, rope]`: true, `scheme: alibi`: false,
		`scaling: yarn`: true, `scaling: [none, linear]`: false,
		`base: 500000`: true, `base: 500001`: false, `{base: 500001, tolerance: 1e-4`: true,
		`format: gguf`: true, `format: onnx`: false, `architecture: [llama, qwen2]`: true, `architecture: gpt2`: false,
		`expr: length.stated >= 4096 and encodings[0].scaling.factor == 4`: true,
		`expr: none(encodings, .scaling.type == "yarn")`:                   false,
		`expr: length.has_capacity`:                                        false,
	} {
		text := "version: 1\nfor: [{files: '**', expect: [{id: a, " + strings.TrimPrefix(expect, "{") + "}]}]"
		if strings.HasPrefix(expect, "expr: ") {
			text = "version: 1\nfor:\n - files: '**'\n   expect:\n    - id: a\n      expr: '" + strings.TrimPrefix(expect, "expr: ") + "'"
		}
		found := judged(t, parse(t, text), "m.gguf")
		if (len(found) == 0) != holds {
			t.Errorf("%s: %v", expect, found)
		}
	}
}

// TestCapacityNotKnown: a length that is not known meets no expectation of one, and of files that are no
// models none is asked.
func TestCapacityNotKnown(t *testing.T) {
	p := parse(t, "version: 1\nfor: [{files: '**', expect: [{id: a, capacity: '>= 9'}]}]")
	for kind, want := range map[string]int{report.KindModel: 1, report.KindAdapter: 0} {
		f := facts("m.gguf")
		f.Report.Kind, f.Report.Length.Beyond = kind, report.BeyondUnknown
		found, err := p.Judge(f, nil)
		if err != nil || len(found) != want {
			t.Errorf("%s: %v %v", kind, found, err)
		}
		for _, x := range found {
			if !strings.HasSuffix(x.Message, "and how far the model reaches is not known") {
				t.Errorf("%s: %q", kind, x.Message)
			}
		}
	}
}

// globs reads one pattern.
func globs(t *testing.T, text string) []pattern {
	t.Helper()
	var r reader
	out := r.globs(&yaml.Node{Kind: yaml.ScalarNode, Value: text})
	if r.err != nil {
		t.Fatal(r.err)
	}
	return out
}

// TestGlobs: paths as they were found, below the policy's folder, and names alone.
func TestGlobs(t *testing.T) {
	for _, c := range []struct {
		glob, path string
		want       bool
	}{
		{"*.gguf", "a/b/m.gguf", true}, {"**/*.gguf", "m.gguf", true}, {"llm/**", "llm/x/m.gguf", true}, {"llm/*", "llm/x/m.gguf", false},
		{"*.onnx", "m.gguf", false}, {"a/m.gguf", "./a/m.gguf", true}, {"models/{a,b}.gguf", "models/b.gguf", true},
	} {
		p := &Policy{folder: "."}
		if got := p.matches(globs(t, c.glob), c.path); got != c.want {
			t.Errorf("%s on %s: %v", c.glob, c.path, got)
		}
	}
	abs, err := filepath.Abs("llm/m.gguf")
	if err != nil {
		t.Fatal(err)
	}
	if p := (&Policy{folder: "."}); !p.matches(globs(t, "llm/*.gguf"), abs) {
		t.Error("a pattern relative to the policy does not match an absolute path")
	}
}

// TestLevels: the last entry that matches wins over those before and the general ones.
func TestLevels(t *testing.T) {
	p := parse(t, `
version: 1
rules: {gguf-key-ignored: error, table-zero-rows: off}
for:
  - {files: "*.gguf", rules: {gguf-key-ignored: note}}
  - {files: "special.gguf", rules: {gguf-key-ignored: warning, table-zero-rows: error}}
`)
	ignored := report.Finding{Rule: "gguf-key-ignored", Level: report.LevelWarning, Message: "x"}
	zero := report.Finding{Rule: "table-zero-rows", Level: report.LevelWarning, Message: "x"}
	for path, want := range map[string][]string{"m.onnx": {"error"}, "m.gguf": {"note"}, "special.gguf": {"error", "warning"}} {
		var got []string
		for _, f := range judged(t, p, path, ignored, zero) {
			got = append(got, f.Level)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", path, got, want)
		}
	}
}

// TestWaivers: until the last day it covers, then it is an error of its own; one that covers
// nothing is told.
func TestWaivers(t *testing.T) {
	text := `
version: 1
waivers:
  - {rule: gguf-key-ignored, files: "*.gguf", reason: known, until: %DAY%, owner: nlp}
`
	finding := report.Finding{Rule: "gguf-key-ignored", Level: report.LevelWarning, Message: "x"}
	for day, covers := range map[string]bool{"2026-11-24": true, "2026-11-23": true, "2026-11-21": false} {
		p := parse(t, strings.ReplaceAll(text, "%DAY%", day))
		found := judged(t, p, "m.gguf", finding)
		if (found[0].Waived != nil) != covers || covers && *found[0].Waived != "known, until "+day+" (nlp)" {
			t.Errorf("%s: %v", day, found[0].Waived)
		}
		own := p.Own()
		if covers && len(own) != 0 || !covers && (len(own) != 1 || own[0].Rule != rules.WaiverExpired || own[0].Level != report.LevelError) {
			t.Errorf("%s: %v", day, own)
		}
	}
	p := parse(t, strings.ReplaceAll(text, "%DAY%", "2030-01-01"))
	judged(t, p, "m.onnx", finding)
	if own := p.Own(); len(own) != 1 || own[0].Rule != rules.WaiverUnused {
		t.Errorf("a waiver that covers nothing: %v", own)
	}
}

// TestWaiverDays: a waiver holds through its last day wherever on earth that is, and not a day longer.
func TestWaiverDays(t *testing.T) {
	const text = "version: 1\nwaivers:\n  - {rule: length-unstated, files: [a.gguf], reason: none, until: 2026-11-20}\n"
	for day, holds := range map[time.Time]bool{
		time.Date(2026, 11, 20, 23, 59, 0, 0, time.UTC): true,
		time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC):   true,
		time.Date(2026, 11, 21, 0, 0, 1, 0, time.UTC):   false,
		time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC):   false,
	} {
		p, err := Parse("policy.yaml", []byte(text), day)
		if err != nil {
			t.Fatal(err)
		}
		found, err := p.Judge(facts("a.gguf"), []report.Finding{{Rule: "length-unstated", Level: report.LevelWarning}})
		if err != nil || len(found) == 0 || (found[0].Waived != nil) != holds {
			t.Errorf("%v: %+v, %v; holds: %v", day, found, err, holds)
		}
	}
}

// TestVersions: a policy says which version of the form it is of, and there is one.
func TestVersions(t *testing.T) {
	for text, ok := range map[string]bool{"version: 1\n": true, "version: 2\n": false, "version: 0\n": false, "rules: {}\n": false} {
		if _, err := Parse("policy.yaml", []byte(text), today); (err == nil) != ok {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestUnmatchedPatterns: a pattern that no file matches is an error of the policy, unless a file
// below its folder would, which this run did not look at.
func TestUnmatchedPatterns(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "other.gguf"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	text := `
version: 1
for:
  - {files: ["*.gguf", "modles/**"], rules: {length-unstated: off}}
  - {files: ["other.*", "hf://org/**"], rules: {length-unstated: off}}
`
	p, err := Parse(filepath.Join(folder, "policy.yaml"), []byte(text), today)
	if err != nil {
		t.Fatal(err)
	}
	judged(t, p, filepath.Join(folder, "m.gguf"))
	own := p.Own()
	if len(own) != 1 || own[0].Rule != rules.PatternUnmatched || own[0].Level != report.LevelError || !strings.HasPrefix(own[0].Message, `the pattern "modles/**" in line 4 matches no file`) {
		t.Errorf("%+v", own)
	}
}

// TestFingerprintBelowPolicy: a finding is the same one for a run in another folder.
func TestFingerprintBelowPolicy(t *testing.T) {
	finding := report.Finding{Rule: "gguf-key-ignored", Level: report.LevelWarning, Message: "x"}
	folder := t.TempDir()
	p := &Policy{folder: folder}
	want := judged(t, &Policy{}, "models/m.gguf", finding)[0].Fingerprint
	t.Chdir(folder)
	for _, path := range []string{"./models//m.gguf", filepath.Join(folder, "models", "m.gguf")} {
		if got := judged(t, p, path, finding)[0].Fingerprint; got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}

// TestMistakes: each is told with its line.
func TestMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"":                                 "p.yaml: the policy is empty",
		"version: 1\nversion: 1":           "p.yaml:2: \"version\" stands here twice",
		"- 1":                              "p.yaml:1: a mapping is expected here",
		"version: 1\nfor:\n  - rules: {}":  "p.yaml:3: the entry names no files",
		"version: 1\nfor: {files: a}":      "p.yaml:2: a list is expected here",
		"version: 1\nfor: [{files: '[a'}]": "p.yaml:2: \"[a\" is no pattern of paths",
		"version: 1\nbaseline: [a]":        "p.yaml:2: \"\" is not a path",
		"version: 1\nrules: {gguf-key-ignored: fatal}":                                      "p.yaml:2: \"fatal\" is no level",
		"version: 1\nwaivers: [{rule: gguf-key-ignored, files: a, reason: b, until: soon}]": "p.yaml:2: \"soon\" is no day",
		"\tversion: 1": "p.yaml: not YAML",
		"version: 1\nfor: [{files: a, expect: [{length: 4}]}]":                                                            "p.yaml:2: an expectation needs an id",
		"version: 1\nfor: [{files: a, expect: [{id: x, expr: 'none(encodings, .scheme == \"ropee\")'}]}]":                 `p.yaml:2: the expression cannot be read: scheme is never "ropee"; did you mean rope?`,
		"version: 1\nfor: [{files: a, expect: [{id: x, expr: 'all(encodings, .scaling.type in [\"none\", \"yarm\"])'}]}]": `p.yaml:2: the expression cannot be read: type is never "yarm"; did you mean yarn?`,
		"version: 1\nfor: [{files: a, expect: [{id: x, expr: 'nonne(encodings, .scheme == \"rope\")'}]}]":                 `p.yaml:2: the expression cannot be read: no function is called nonne`,
		"version: 1\nfor: [{files: a, expect: [{id: x, expr: '\"fails\" != length.beyond'}]}]":                            `p.yaml:2: the expression cannot be read: beyond is never "fails"`,
		"version: 1\nfor: [{files: a, expect: [{id: x, expr: 'format == \"ggml\"'}]}]":                                    `p.yaml:2: the expression cannot be read: format is never "ggml"`,
		"version: 1\nfor: [{files: a, expect: [{id: x}]}]":                                                                `p.yaml:2: the expectation "x" expects nothing`,
		"version: 1\nfor: [{files: a, expect: [{id: x, scheme: [rope, ropee]}]}]":                                         `p.yaml:2: no scheme is called "ropee"`,
		"version: 1\nfor: [{files: a, expect: [{id: x, scaling: yarm}]}]":                                                 `p.yaml:2: no scaling is called "yarm"`,
		"version: 1\nfor: [{files: a, expect: [{id: x, format: ggml}]}]":                                                  `p.yaml:2: no format is called "ggml"`,
		"version: 1\nfor: [{files: a, expect: [{id: x, expr: length.stated + 1}]}]":                                       "p.yaml:2: the expression cannot be read: expected bool",
	} {
		_, err := Parse("p.yaml", []byte(text), today)
		if _, ok := errors.AsType[*Error](err); !ok || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// TestFailingExpression: one that fails while it runs is an error of the policy, never a
// pass.
func TestFailingExpression(t *testing.T) {
	p := parse(t, "version: 1\nfor: [{files: '**', expect: [{id: x, expr: 'encodings[5].base > 1'}]}]")
	if _, err := p.Judge(facts("m.gguf"), nil); err == nil || !strings.Contains(err.Error(), `policy.yaml:2: the expression of "x" fails for m.gguf`) {
		t.Error(err)
	}
}

// TestBaseline: what it holds does not count, whatever lengths have become since.
func TestBaseline(t *testing.T) {
	path := filepath.Join(t.TempDir(), "known.json")
	finding := report.Finding{Rule: "gguf-key-ignored", Level: report.LevelWarning, Message: "x is 1", Where: &report.Where{Key: "k"}}
	b := Baseline{}
	for _, f := range judged(t, &Policy{}, "m.gguf", finding, finding) {
		b[f.Fingerprint] = Known{f.Rule, "m.gguf"}
	}
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(b.Write(file), file.Close()); err != nil || len(b) != 2 {
		t.Fatal(err, len(b))
	}
	read, err := LoadBaseline(path)
	if err != nil {
		t.Fatal(err)
	}
	finding.Message = "x is 2"
	other := report.Finding{Rule: "gguf-key-ignored", Level: report.LevelWarning, Message: "y", Where: &report.Where{Key: "l"}}
	found := judged(t, &Policy{}, "m.gguf", finding, other, finding)
	read.Mark(found)
	if !found[0].Baseline || found[1].Baseline || !found[2].Baseline {
		t.Errorf("%+v", found)
	}
	if b, err := LoadBaseline(filepath.Join(t.TempDir(), "absent.json")); err != nil || len(b) != 0 {
		t.Error(b, err)
	}
}
