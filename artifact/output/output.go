// Package output writes what modelpatch check found, in the formats that people, CI systems
// and scripts read. Files come one after the other, in the order of their paths; nothing is
// held that a format does not force to be.
//
// Names inside models are an attacker's text: what a format gives meaning to (newlines, "::",
// "%", markup, control and bidirectional characters) is escaped in each.
package output

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/modelpatch/modelpatch/artifact/rules"
	"github.com/modelpatch/modelpatch/report"
)

// Writer writes one report.
type Writer interface {
	// File adds what was found in one file.
	File(report.Checked)
	// Close ends the report; errors of writing come out here.
	Close(Summary) error
}

// Summary counts what was found in all files.
type Summary struct {
	Files                   int    // that were looked at
	Errors, Warnings, Notes int    // that count
	Waived, Baseline        int    // findings that do not count
	Verdict                 string // passed, failed, or that nothing was judged
	Policy                  string // path of the policy file; "": none
}

// Add counts one file's findings.
func (s *Summary) Add(c report.Checked) {
	s.Files++
	for _, f := range c.Findings {
		switch {
		case f.Waived != nil:
			s.Waived++
		case f.Baseline:
			s.Baseline++
		case f.Level == report.LevelError:
			s.Errors++
		case f.Level == report.LevelWarning:
			s.Warnings++
		default:
			s.Notes++
		}
	}
}

// String is the last line of a report: "3 files: 1 error, 2 warnings; 1 waived".
func (s Summary) String() string {
	says := fmt.Sprintf("%s: %s, %s, %s", count(s.Files, "file"), count(s.Errors, "error"), count(s.Warnings, "warning"), count(s.Notes, "note"))
	if s.Errors+s.Warnings+s.Notes == 0 {
		says = count(s.Files, "file") + ": nothing found"
	}
	if s.Waived > 0 {
		says += fmt.Sprintf("; %d waived", s.Waived)
	}
	if s.Baseline > 0 {
		says += fmt.Sprintf("; %d in the baseline", s.Baseline)
	}
	return says
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Options are what reports tell besides findings.
type Options struct {
	Version string                     // of the tool
	Colour  func(level string) string  // marks a level in text for terminals; nil: not
	Remedy  func(report.Remedy) string // words a remedy; nil: without the syntax of a command line

	// Only chooses the findings that text tells, and has it say nothing where it tells none; nil: all.
	Only func(report.CheckedFinding) bool
}

// formats are the writers by name.
var formats = []struct {
	name, says string
	open       func(w *bufio.Writer, o Options) Writer
}{
	{"text", "for people", newText},
	{"json", "one object a file and line (modelpatch.check/1)", newJSON},
	{"sarif", "SARIF 2.1.0, for GitHub's code scanning", newSARIF},
	{"junit", "JUnit XML, for dashboards of tests", newJUnit},
	{"github", "annotations of GitHub Actions", newGitHub},
	{"gitlab", "GitLab's Code Quality", newGitLab},
	{"markdown", "a table, for a job summary or a comment", newMarkdown},
}

// Names are the names of all formats.
func Names() []string {
	var out []string
	for _, f := range formats {
		out = append(out, f.name)
	}
	return out
}

// New begins a report of a format; nil when there is no such format.
func New(format string, w io.Writer, o Options) Writer {
	for _, f := range formats {
		if f.name == format {
			return words{f.open(bufio.NewWriter(w), o)}
		}
	}
	return nil
}

// words is a writer whose findings have no more in their short words than in their
// sentences: they may have been read back from a journal, which is a file like another.
type words struct{ Writer }

// File hands on the findings of a file.
func (w words) File(c report.Checked) {
	c.Findings = slices.Clone(c.Findings)
	for i := range c.Findings {
		f := &c.Findings[i]
		f.Rule, f.Level, f.Fingerprint = report.Printable(f.Rule), report.Printable(f.Level), report.Printable(f.Fingerprint)
	}
	w.Writer.File(c)
}

// counting are the findings that are neither waived nor in the baseline.
func counting(c report.Checked) []report.CheckedFinding {
	return slices.DeleteFunc(slices.Clone(c.Findings), func(f report.CheckedFinding) bool { return !f.Counts() })
}

// message is a finding's sentence with its place, on one line.
func message(f report.CheckedFinding) string {
	says := f.Message
	if w := f.Where; w != nil {
		for _, at := range []struct{ what, name string }{{"tensor", w.Tensor}, {"node", w.Node}, {"key", w.Key}} {
			if at.name != "" && !strings.Contains(says, at.name) {
				says += fmt.Sprintf(" (%s %s)", at.what, at.name)
				break
			}
		}
	}
	return report.Printable(strings.ReplaceAll(says, "\n", " "))
}

// advice is what to do about a finding, on one line; the rule's own where the finding has
// none.
func (o Options) advice(f report.CheckedFinding) string {
	var parts []string
	if f.Hint != "" {
		parts = append(parts, f.Hint)
	}
	for _, r := range f.Remedies {
		word := report.Remedy.String
		if o.Remedy != nil {
			word = o.Remedy
		}
		parts = append(parts, word(r))
	}
	if len(parts) == 0 {
		if r, ok := rules.Find(f.Rule); ok {
			return r.Mend
		}
	}
	return report.Printable(strings.ReplaceAll(strings.Join(parts, "; "), "\n", " "))
}

// gravest keeps findings up to a bound, errors before warnings before notes.
type gravest struct {
	most    int
	kept    [4][]placed // by weight
	dropped int
}

type placed struct {
	path    string
	finding report.CheckedFinding
}

func (g *gravest) add(path string, f report.CheckedFinding) {
	w := rules.Weight(f.Level)
	if len(g.kept[w]) < g.most {
		g.kept[w] = append(g.kept[w], placed{path, f})
		return
	}
	g.dropped++
}

// all are those that are kept, gravest first.
func (g *gravest) all() []placed {
	var out []placed
	for w := len(g.kept) - 1; w >= 0; w-- {
		out = append(out, g.kept[w]...)
	}
	if len(out) > g.most {
		g.dropped += len(out) - g.most
		out = out[:g.most]
	}
	return out
}
