package output

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/modelpatch/modelpatch/report"
)

// hostile are names that mean something to a format, a terminal or a reader.
var hostile = []string{
	"a\nb", "a\r\n::set-env name=PATH::/evil", "::error file=x::y", "%0A::stop-commands::x", "%25", "a,b:c=d",
	"<img src=x onerror=alert(1)>", "</testsuite><testsuite>", "]]>", "&amp;", "`` ` ```", "| a | b |", "[x](javascript:alert(1))",
	"\x1b[2J\x1b]0;title\x07", "\x00nul", "\u202egnp.exe", "\u2028line", "\xff\xfe", `"quoted"`, `back\slash`, "{{template}}", "${{ secrets.X }}",
	strings.Repeat("long", 500),
}

func hostileReports() []report.Checked {
	var out []report.Checked
	for i, name := range hostile {
		waived := name
		findings := []report.CheckedFinding{
			{Finding: report.Finding{Rule: "gguf-key-type", Level: report.LevelError, Message: "the tensor " + name + " is odd", Hint: "mend " + name,
				Where: &report.Where{Tensor: name, Range: &[2]int64{4, 8}}}, Fingerprint: fmt.Sprintf("a%d", i)},
			{Finding: report.Finding{Rule: "table-zero-rows", Level: report.LevelWarning, Message: name, Where: &report.Where{Node: name}}, Fingerprint: fmt.Sprintf("b%d", i)},
			{Finding: report.Finding{Rule: "length-unstated", Level: report.LevelNote, Message: name, Where: &report.Where{Key: name}}, Fingerprint: fmt.Sprintf("c%d", i)},
			{Finding: report.Finding{Rule: "gguf-key-ignored", Level: report.LevelError, Message: name}, Fingerprint: fmt.Sprintf("d%d", i), Waived: &waived},
		}
		out = append(out, report.Checked{Schema: report.SchemaCheck, Path: report.Name("models/" + name + ".gguf"), Level: report.LevelError, Findings: findings,
			Facts: &report.CheckedFacts{Format: "gguf", Schemes: []string{"rope"}}})
	}
	return out
}

// written is a report of the given files in a format.
func written(t *testing.T, format string, files []report.Checked) string {
	t.Helper()
	var b bytes.Buffer
	w := New(format, &b, Options{Version: "v1.2.3"})
	var s Summary
	for _, f := range files {
		w.File(f)
		s.Add(f)
	}
	s.Verdict = "failed"
	if err := w.Close(s); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestHostileNames: whatever a model calls its tensors, every format stays well formed and
// nothing of a name takes effect.
func TestHostileNames(t *testing.T) {
	files := hostileReports()
	for _, format := range Names() {
		out := written(t, format, files)
		for _, r := range out {
			if r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028') {
				t.Errorf("%s: the rune %U stands in it as it is", format, r)
				break
			}
		}
	}
	t.Run("github", func(t *testing.T) {
		lines := strings.Split(strings.TrimSuffix(written(t, "github", files), "\n"), "\n")
		command := regexp.MustCompile(`^::(error|warning|notice) (file=[^:,]*,)?title=[^:,]*::[^\r]*$`)
		for _, l := range lines {
			if !command.MatchString(l) {
				t.Errorf("not one command: %q", l)
			}
		}
		if len(lines) != 3*maxAnnotations+1 {
			t.Errorf("%d lines", len(lines))
		}
	})
	t.Run("junit", func(t *testing.T) {
		d := xml.NewDecoder(strings.NewReader(written(t, "junit", files)))
		suites, depth := 0, 0
		for {
			token, err := d.Token()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			switch e := token.(type) {
			case xml.StartElement:
				if depth++; e.Name.Local == "testsuite" && depth == 2 {
					suites++
				}
			case xml.EndElement:
				depth--
			}
		}
		if suites != len(files) {
			t.Errorf("%d suites for %d files", suites, len(files))
		}
	})
	t.Run("sarif", func(t *testing.T) {
		out := written(t, "sarif", files)
		var log struct {
			Runs []struct {
				Results []struct{ RuleID, Level string }
			}
		}
		if err := json.Unmarshal([]byte(out), &log); err != nil {
			t.Fatal(err)
		}
		if n := len(log.Runs[0].Results); n != 3*len(files) || strings.Contains(out, "startLine") {
			t.Errorf("%d results, and startLine: %v", n, strings.Contains(out, "startLine"))
		}
		if log.Runs[0].Results[0].Level != "error" || log.Runs[0].Results[n(log.Runs[0].Results)-1].Level != "note" {
			t.Error("the gravest do not come first")
		}
	})
	t.Run("gitlab", func(t *testing.T) {
		var list []map[string]any
		if err := json.Unmarshal([]byte(written(t, "gitlab", files)), &list); err != nil {
			t.Fatal(err)
		}
		if len(list) != 3*len(files) {
			t.Errorf("%d findings", len(list))
		}
	})
	t.Run("json", func(t *testing.T) {
		for line := range strings.Lines(written(t, "json", files)) {
			var c report.Checked
			if err := json.Unmarshal([]byte(line), &c); err != nil || len(c.Findings) != 4 {
				t.Fatalf("%v in %q", err, line)
			}
		}
	})
	t.Run("markdown", func(t *testing.T) {
		for line := range strings.Lines(written(t, "markdown", files)) {
			if strings.HasPrefix(line, "| ") && strings.Count(strings.ReplaceAll(line, `\|`, ""), "|") != 5 {
				t.Errorf("not four cells: %q", line)
			}
		}
	})
	t.Run("text", func(t *testing.T) {
		for line := range strings.Lines(written(t, "text", files)) {
			if !regexp.MustCompile(`^(models/|    |failed: |modelpatch explain)`).MatchString(line) {
				t.Errorf("a name begins a line: %q", line)
			}
		}
	})
}

func n[T any](s []T) int { return len(s) }

// TestBounds: a report of a million findings has those that its reader takes, and says
// how many it leaves out.
func TestBounds(t *testing.T) {
	many := report.Checked{Path: "m.gguf"}
	for i := range 3 * maxResults {
		level := report.LevelNote
		if i%3 == 0 {
			level = report.LevelError
		}
		many.Findings = append(many.Findings, report.CheckedFinding{Finding: report.Finding{Rule: "table-zero-rows", Level: level, Message: "x"}, Fingerprint: fmt.Sprint(i)})
	}
	sarif := written(t, "sarif", []report.Checked{many})
	if got := strings.Count(sarif, `"ruleId"`); got != maxResults || !strings.Contains(sarif, "10000 further results are left out") {
		t.Errorf("sarif has %d results", got)
	}
	if got := strings.Count(sarif, `"level": "error",`); got < maxResults {
		t.Errorf("%d errors of %d are kept", got, maxResults)
	}
	if out := written(t, "markdown", []report.Checked{many}); len(out) > 1<<20 || !strings.Contains(out, "further findings are left out") {
		t.Errorf("markdown has %d bytes", len(out))
	}
	if out := written(t, "github", []report.Checked{many}); strings.Count(out, "\n") != 2*maxAnnotations+1 || !strings.Contains(out, "findings more than are shown here") {
		t.Errorf("github has %d lines", strings.Count(out, "\n"))
	}
}

// agents say which lines the agents of CI systems take for commands.
var agents = map[string]*regexp.Regexp{
	"GitHub Actions (own command)": regexp.MustCompile(`^\s*::(add-mask|add-matcher|add-path|debug|echo|endgroup|error|group|notice|remove-matcher|save-state|set-env|set-output|stop-commands|warning)\b`),
	"GitHub Actions, Azure":        regexp.MustCompile(`##\[`),
	"Azure Pipelines":              regexp.MustCompile(`(?i)##vso\[`),
	"TeamCity":                     regexp.MustCompile(`##teamcity\[`),
	"Buildkite":                    regexp.MustCompile(`^(---|\+\+\+|~~~|\^\^\^ \+\+\+)( |$)`),
	"GitLab":                       regexp.MustCompile("section_(start|end):[0-9]+:[^\r]*\r\x1b\\[0K"),
	"terminals":                    regexp.MustCompile("[\x00-\x08\x0b-\x1f\x7f]"),
}

// commands are what makes an agent do something, written into files by a stranger.
var commands = []string{
	"::error::x", "::set-output name=a::b", "::stop-commands::deadbeef", "::add-mask::m", " ::warning file=a::x", "##[error]x", "##[group]x",
	"##vso[task.setvariable variable=PATH]/evil", "x##VSO[task.complete result=Succeeded;]", "##teamcity[buildStatus status='SUCCESS']", "###teamcity[##vso[x]",
	"--- group", "+++ group", "~~~ group", "^^^ +++", "section_start:1700000000:evil[collapsed=true]\r\x1b[0Ktitle", "section_end:1700000000:evil\r\x1b[0K",
	"a\n::error::x", "a\r##vso[task.x]", "a\n--- group",
}

// TestCommands: no command of a CI system takes effect, in whichever field of whichever format.
func TestCommands(t *testing.T) {
	for _, command := range commands {
		fields := map[string]func(c *report.Checked, f *report.CheckedFinding){
			"path":    func(c *report.Checked, _ *report.CheckedFinding) { c.Path = command },
			"name":    func(c *report.Checked, _ *report.CheckedFinding) { c.Names = []string{command} },
			"message": func(_ *report.Checked, f *report.CheckedFinding) { f.Message = command },
			"hint":    func(_ *report.Checked, f *report.CheckedFinding) { f.Hint = command },
			"remedy": func(_ *report.Checked, f *report.CheckedFinding) {
				f.Remedies = []report.Remedy{{Verb: command, Says: command, Options: []report.Option{{Name: command, Value: command}}}}
			},
			"tensor":      func(_ *report.Checked, f *report.CheckedFinding) { f.Where.Tensor = command },
			"node":        func(_ *report.Checked, f *report.CheckedFinding) { f.Where.Node = command },
			"key":         func(_ *report.Checked, f *report.CheckedFinding) { f.Where.Key = command },
			"file":        func(_ *report.Checked, f *report.CheckedFinding) { f.Where.File = command },
			"waiver":      func(_ *report.Checked, f *report.CheckedFinding) { f.Waived = &command },
			"rule":        func(_ *report.Checked, f *report.CheckedFinding) { f.Rule = command },
			"level":       func(_ *report.Checked, f *report.CheckedFinding) { f.Level = command },
			"fingerprint": func(_ *report.Checked, f *report.CheckedFinding) { f.Fingerprint = command },
			"schemes": func(c *report.Checked, _ *report.CheckedFinding) {
				c.Facts = &report.CheckedFacts{Format: command, Schemes: []string{command}}
			},
		}
		for field, fill := range fields {
			f := report.CheckedFinding{Finding: report.Finding{Rule: "gguf-key-type", Level: report.LevelError, Message: "m", Where: &report.Where{}}, Fingerprint: "a"}
			c := report.Checked{Schema: report.SchemaCheck, Path: "m.gguf", Level: report.LevelError}
			fill(&c, &f)
			c.Findings = []report.CheckedFinding{f}
			for _, format := range Names() {
				out := written(t, format, []report.Checked{c})
				for line := range strings.Lines(out) {
					line = strings.TrimSuffix(line, "\n")
					if format == "github" && regexp.MustCompile(`^::(error|notice) (file=[^:]*,)?title=[^:]*::[^\n\r]*$`).MatchString(line) {
						line = line[1:] // its own command
					}
					for agent, obeys := range agents {
						if obeys.MatchString(line) {
							t.Errorf("%s, %q as %s: %s obeys %q", format, command, field, agent, line)
						}
					}
				}
			}
		}
	}
}
