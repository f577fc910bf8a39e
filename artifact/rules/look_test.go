package rules

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelpatch/modelpatch"
	"github.com/modelpatch/modelpatch/internal/sidecar"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

func p[T any](v T) *T { return &v }

// model is a sound report about a GGUF model with RoPE, changed.
func model(change func(*report.Inspect)) *Facts {
	r := &report.Inspect{Format: "gguf", Kind: report.KindModel, Length: report.Length{Stated: p(4096), Beyond: report.BeyondContinues},
		Encodings: []report.Encoding{{Scheme: report.SchemeRope, Beyond: report.BeyondContinues, Parameters: report.Parameters{Base: p(report.Number(10000)), Scaling: &report.Scaling{Type: "none"}}}}}
	change(r)
	return &Facts{Path: "m.gguf", Report: r}
}

func yarn(r *report.Inspect, factor float64, original int, amplitude *report.Number) {
	r.Encodings[0].Parameters.Scaling = &report.Scaling{Type: "yarn", Factor: p(report.Number(factor)), OriginalLength: p(original), AttentionFactor: amplitude}
}

func learned(r *report.Inspect, capacity int, beyond string) {
	r.Encodings = []report.Encoding{{Scheme: report.SchemeLearned, Capacity: p(capacity), Beyond: beyond}}
	r.Length.Capacity, r.Length.Beyond = p(capacity), beyond
}

// TestLook: for every rule that reads facts, a model that violates it and one that just
// does not.
func TestLook(t *testing.T) {
	cases := []struct {
		rule             string
		violates, passes *Facts
	}{
		{"length-silently-wrong", model(func(r *report.Inspect) { learned(r, 4096, report.BeyondClamps) }), model(func(r *report.Inspect) { learned(r, 4096, report.BeyondError) })},
		{"capacity-below-stated", model(func(r *report.Inspect) { learned(r, 4095, report.BeyondError) }), model(func(r *report.Inspect) { learned(r, 4096, report.BeyondError) })},
		{"length-fixed-below-table", model(func(r *report.Inspect) { r.Format = "onnx"; learned(r, 4097, report.BeyondError) }), model(func(r *report.Inspect) { r.Format = "onnx"; learned(r, 4096, report.BeyondError) })},
		{"length-unstated", model(func(r *report.Inspect) { r.Length.Stated = nil }), model(func(r *report.Inspect) { r.Length.Stated = nil; r.Encodings[0].Scheme = report.SchemeNone })},
		{"encoding-unknown", model(func(r *report.Inspect) { r.Encodings[0].Scheme = report.SchemeUnknown }), model(func(*report.Inspect) {})},
		{"yarn-length-differs", model(func(r *report.Inspect) { yarn(r, 4, 1000, nil) }), model(func(r *report.Inspect) { yarn(r, 4, 1024, nil) })},
		{"scaling-custom", model(func(r *report.Inspect) { r.Encodings[0].Parameters.Scaling.Type = "custom" }), model(func(r *report.Inspect) { r.Encodings[0].Parameters.Scaling.Type = "longrope" })},
		{"scaling-one-list",
			model(func(r *report.Inspect) {
				r.Encodings[0].Parameters.Scaling = &report.Scaling{Type: "longrope", ShortFactor: report.Numbers([]float64{1})}
			}),
			model(func(r *report.Inspect) {
				r.Encodings[0].Parameters.Scaling = &report.Scaling{Type: "longrope", ShortFactor: report.Numbers([]float64{1}), LongFactor: report.Numbers([]float64{2})}
			})},
		{"amplitude-unusual", model(func(r *report.Inspect) { yarn(r, 4, 1024, p(report.Number(1.2))) }), model(func(r *report.Inspect) { yarn(r, 4, 1024, p(report.Number(1.1386294))) })},
		{"sidecar-length-differs",
			&Facts{Report: model(func(*report.Inspect) {}).Report, Stated: sidecar.Stated{Lengths: []sidecar.StatedLength{{Path: "config.json", Pointer: "/n_positions", Length: 4101}}}},
			&Facts{Report: model(func(*report.Inspect) {}).Report, Stated: sidecar.Stated{Lengths: []sidecar.StatedLength{{Path: "config.json", Pointer: "/n_positions", Length: 4100}}}}},
		{"sidecar-unreadable",
			&Facts{Report: model(func(*report.Inspect) {}).Report, Stated: sidecar.Stated{Unreadable: []error{&modelpatch.InputError{Path: "config.json", What: "there", Why: "it is no JSON"}}}},
			&Facts{Report: model(func(*report.Inspect) {}).Report}},
		{"sidecar-rope-differs",
			&Facts{Report: model(func(*report.Inspect) {}).Report, Config: &Config{Path: "config.json", Base: 500000}},
			&Facts{Report: model(func(*report.Inspect) {}).Report, Config: &Config{Path: "config.json", Base: 10000}}},
		{"sidecar-rope-differs",
			&Facts{Report: model(func(*report.Inspect) {}).Report, Config: &Config{Path: "config.json", Base: 10000, Scaling: "dynamic", Factor: 2}},
			&Facts{Report: model(func(*report.Inspect) {}).Report, Config: &Config{Path: "config.json", Base: 10000, Scaling: "linear", Factor: 1}}},
		{"table-zero-rows", tableOf(func(x [][]float64) { clear(x[7]) }), tableOf(func(x [][]float64) { clear(x[7][1:]) })},
		{"table-zero-rows", tableOf(func(x [][]float64) { clear(x[2]) }), tableOf(func(x [][]float64) { clear(x[1]) })}, // row 1 is before the first used one
		{"table-rows-repeated", tableOf(func(x [][]float64) { copy(x[9], x[5]) }), tableOf(func(x [][]float64) { copy(x[9], x[5]); x[9][0]++ })},
		{"table-norm-jump", tableOf(func(x [][]float64) { scale(x[10:14], 5) }), tableOf(func(x [][]float64) { scale(x[10:13], 5) })},
		{"gguf-table-not-finite", tableOf(func(x [][]float64) { x[30][1] /= 0 * x[30][1] }), tableOf(func(x [][]float64) { x[30][1] = 1e30 })},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			if !has(Look(c.violates), c.rule) {
				t.Errorf("%s is not found in %v", c.rule, Look(c.violates))
			}
			if has(Look(c.passes), c.rule) {
				t.Errorf("%s is found where it is not: %v", c.rule, Look(c.passes))
			}
		})
	}
}

// TestConfigured: a finding about config.json has the command that writes what it says.
func TestConfigured(t *testing.T) {
	for _, c := range []struct {
		config Config
		scaled string // that the model computes; "": none
		want   string
	}{
		{Config{Base: 500000}, "", "modelpatch rope --base 500000 "},
		{Config{Base: 10000, Scaling: "yarn", Factor: 4, Original: 4096}, "", "modelpatch rope --scaling yarn --factor 4 --original-length 4096 "},
		{Config{Base: 10000, Scaling: "linear", Factor: 2.5}, "", "modelpatch rope --scaling linear --factor 2.5 "},
		{Config{Base: 10000, Scaling: "dynamic"}, "", "modelpatch rope --scaling dynamic --factor S --original-length L --len N "},
		{Config{Path: "config.json", Base: 10000, Scaling: "longrope"}, "", "modelpatch rope --scaling longrope --factors config.json "},
		{Config{Base: 10000}, "yarn", "modelpatch rope --scaling none "},
		{Config{Base: 10000, Scaling: "mrope"}, "", ""},
	} {
		f := model(func(r *report.Inspect) {
			if c.scaled != "" {
				r.Encodings[0].Parameters.Scaling = &report.Scaling{Type: c.scaled}
			}
		})
		f.Config = &c.config
		got := ""
		for _, found := range Look(f) {
			if found.Rule == "sidecar-rope-differs" && len(found.Remedies) > 0 {
				got = found.Remedies[0].CommandLine()
			}
		}
		if (c.want == "") != (got == "") || !strings.HasPrefix(got, c.want) {
			t.Errorf("%+v: %q, want %q", c.config, got, c.want)
		}
	}
}

// TestZeroTable: a table of zeros is a warning where nothing else tells positions.
func TestZeroTable(t *testing.T) {
	alone := tableOf(func(x [][]float64) {
		for i := range x {
			clear(x[i])
		}
	})
	level := func(f *Facts) string {
		for _, found := range Look(f) {
			if found.Rule == "table-zero-rows" {
				return found.Level
			}
		}
		return ""
	}
	if got := level(alone); got != report.LevelWarning {
		t.Errorf("alone: %q", got)
	}
	beside := *alone
	r := *alone.Report
	r.Encodings = append(slices.Clone(r.Encodings), report.Encoding{ID: "e1", Scheme: report.SchemeAlibi})
	beside.Report = &r
	if got := level(&beside); got != report.LevelNote {
		t.Errorf("beside ALiBi: %q", got)
	}
}

// readOnlySite is an encoding that no verb changes.
type readOnlySite struct{ tableSite }

func (r *readOnlySite) ReadOnly() position.Site { return r }

// TestNoVerb: what no verb changes gets no command as advice.
func TestNoVerb(t *testing.T) {
	for _, c := range []struct {
		site position.Site
		want bool
	}{{tableSite{{1}}, true}, {&readOnlySite{tableSite{{1}}}, false}, {&struct{ *readOnlySite }{&readOnlySite{tableSite{{1}}}}, true}} {
		f := model(func(r *report.Inspect) { learned(r, 40, report.BeyondWrong); r.Length.Stated = p(40) })
		f.Model = fake{sites: []position.Site{c.site}}
		for _, found := range Look(f) {
			if found.Rule == "length-silently-wrong" && (len(found.Remedies) > 0 != c.want || found.Hint == "" != c.want) {
				t.Errorf("%T: %+v", c.site, found)
			}
		}
	}
}

func has(findings []report.Finding, rule string) bool {
	return slices.ContainsFunc(findings, func(f report.Finding) bool { return f.Rule == rule && f.Level != "" && f.Message != "" })
}

func scale(rows [][]float64, by float64) {
	for _, row := range rows {
		for i := range row {
			row[i] *= by
		}
	}
}

// tableOf is a model with a position table of 40 rows of which two stand before the first
// used one.
func tableOf(change func([][]float64)) *Facts {
	rows := make([][]float64, 40)
	for i := range rows {
		rows[i] = []float64{1, float64(i%7) / 100, float64(i) / 1000}
	}
	change(rows)
	f := model(func(r *report.Inspect) { learned(r, 38, report.BeyondError); r.Length.Stated = p(38) })
	f.Model = fake{sites: []position.Site{tableSite(rows)}}
	return f
}

// fake is a model of which only the sites are asked.
type fake struct {
	position.Model
	sites []position.Site
}

func (f fake) Sites() []position.Site { return f.sites }

type tableSite [][]float64

func (t tableSite) Encoding() position.Encoding {
	return position.Encoding{Scheme: schemes.Learned{Offset: 2}}
}
func (t tableSite) Store(position.Want) error { return nil }
func (t tableSite) Len() int                  { return len(t) }
func (t tableSite) Dim() int                  { return len(t[0]) }
func (t tableSite) Row(i int, dst []float64) error {
	copy(dst, t[i])
	return nil
}

// TestStaleSignature: a signature of OpenSSF model signing and lists of checksums, of this
// file and of another.
func TestStaleSignature(t *testing.T) {
	content := []byte("a model")
	sum := sha256.Sum256(content)
	right, wrong := hex.EncodeToString(sum[:]), fmt.Sprintf("%064d", 0)
	bundle := func(digest string) string {
		payload := fmt.Sprintf(`{"predicate":{"resources":[{"name":"m.gguf","algorithm":"sha256","digest":%q}]}}`, digest)
		return fmt.Sprintf(`{"dsseEnvelope":{"payload":%q}}`, base64.StdEncoding.EncodeToString([]byte(payload)))
	}
	for name, content2 := range map[string]func(string) string{
		"model.sig":     bundle,
		"m.gguf.sha256": func(d string) string { return d + "\n" },
		"SHA256SUMS":    func(d string) string { return fmt.Sprintf("%064d  other\n%s *m.gguf\n", 1, d) },
	} {
		folder := t.TempDir()
		path := filepath.Join(folder, "m.gguf")
		if err := os.WriteFile(path, content, 0o666); err != nil {
			t.Fatal(err)
		}
		for digest, stale := range map[string]bool{right: false, wrong: true} {
			if err := os.WriteFile(filepath.Join(folder, name), []byte(content2(digest)), 0o666); err != nil {
				t.Fatal(err)
			}
			f := model(func(*report.Inspect) {})
			f.Path, f.Model = path, fake{}
			if got := has(Look(f), "signature-stale"); got != stale {
				t.Errorf("%s: stale %v, want %v", name, got, stale)
			}
		}
	}
}

// TestUnreadable: each reason for which a file cannot be read is a rule of its own.
func TestUnreadable(t *testing.T) {
	folder := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	shard, err := os.ReadFile("../../testdata/gguf/split-gpt2-nofirst-00001-of-00003.gguf")
	if err != nil {
		t.Fatal(err)
	}
	external, err := os.ReadFile("../../testdata/onnx/genai-llama-fp32-ext.onnx")
	if err != nil {
		t.Fatal(err)
	}
	for path, rule := range map[string]string{
		write("broken.gguf", "GGUFxxxx"):                                              ruleUnreadable,
		write("pointer.gguf", "version https://git-lfs.github.com/spec/v1\nsize 3\n"): rulePointer,
		write("split-gpt2-nofirst-00001-of-00003.gguf", string(shard)):                ruleShard,
		write("genai-llama-fp32-ext.onnx", string(external)):                          ruleExternal,
		"../../testdata/gguf/llama-plain.gguf":                                        "",
	} {
		f := Read(t.Context(), path, modelpatch.OpenOptions{})
		found := Look(f)
		f.Close()
		if rule == "" && f.Err != nil || rule != "" && (len(found) != 1 || found[0].Rule != rule) {
			t.Errorf("%s: %v, want %s", path, found, rule)
		}
	}
}

// TestConfig: what config.json says of RoPE, as transformers 4 and 5 write it.
func TestConfig(t *testing.T) {
	for content, want := range map[string]Config{
		`{"rope_theta": 500000}`: {Base: 500000},
		`{"rope_theta": 1e4, "rope_scaling": {"type": "su", "factor": 4}}`:                           {Base: 1e4, Scaling: "longrope", Factor: 4},
		`{"rope_parameters": {"rope_type": "yarn", "rope_theta": 1000000, "factor": 2}}`:             {Base: 1e6, Scaling: "yarn", Factor: 2},
		`{"rope_parameters": {"rope_type": "default", "rope_theta": 1000000}}`:                       {Base: 1e6},
		`{"rope_parameters": {"full_attention": {"rope_type": "linear"}}, "text_config": null}`:      {},
		`{"rope_theta": 1, "text_config": {"rope_theta": 5000, "rope_scaling": {"type":"dynamic"}}}`: {Base: 5000, Scaling: "dynamic"},
	} {
		const path = "config.json"
		want.Path = path
		if got := readConfig([]byte(content), path); got == nil || *got != want {
			t.Errorf("%s: %+v, want %+v", content, got, want)
		}
	}
}

// TestUnstated says that nothing ends of a model alone of which that is known.
func TestUnstated(t *testing.T) {
	for beyond, want := range map[string]string{report.BeyondContinues: "and nothing in the file ends", report.BeyondUnknown: "and how far the model reaches is not known"} {
		found := Look(model(func(r *report.Inspect) { r.Length = report.Length{Beyond: beyond} }))
		if i := slices.IndexFunc(found, func(f report.Finding) bool { return f.Rule == "length-unstated" }); i < 0 || !strings.HasSuffix(found[i].Message, want) {
			t.Errorf("%s: %+v, want %q", beyond, found, want)
		}
	}
}
