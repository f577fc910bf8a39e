package output

import (
	"bufio"
	"encoding/json"
	"path/filepath"

	"github.com/modelpatch/modelpatch/report"
)

// gitlab is GitLab's Code Quality report: a JSON list, written while files come.
type gitlab struct {
	w    *bufio.Writer
	o    Options
	any  bool
	err  error
	seen map[string]bool
}

func newGitLab(w *bufio.Writer, o Options) Writer {
	w.WriteString("[")
	return &gitlab{w: w, o: o, seen: map[string]bool{}}
}

type gitlabFinding struct {
	Description string `json:"description"`
	Check       string `json:"check_name"`
	Fingerprint string `json:"fingerprint"`
	Severity    string `json:"severity"`
	Location    struct {
		Path  string `json:"path"`
		Lines struct {
			Begin int `json:"begin"`
		} `json:"lines"`
	} `json:"location"`
}

// File writes the findings that count.
func (g *gitlab) File(c report.Checked) {
	for _, f := range counting(c) {
		if g.seen[f.Fingerprint] {
			continue // GitLab shows the first of a fingerprint alone
		}
		g.seen[f.Fingerprint] = true
		out := gitlabFinding{Description: sentences(message(f), g.o.advice(f)), Check: f.Rule, Fingerprint: f.Fingerprint,
			Severity: map[string]string{report.LevelError: "major", report.LevelWarning: "minor"}[f.Level]}
		if out.Severity == "" {
			out.Severity = "info"
		}
		out.Location.Path, out.Location.Lines.Begin = filepath.ToSlash(report.Printable(c.Path)), 1
		b, err := json.Marshal(out)
		if err != nil {
			g.err = err
			return
		}
		if g.any {
			g.w.WriteString(",")
		}
		g.any = true
		g.w.WriteString("\n ")
		g.w.Write(b)
	}
}

// Close ends the list.
func (g *gitlab) Close(Summary) error {
	if g.err != nil {
		return g.err
	}
	g.w.WriteString("\n]\n")
	return g.w.Flush()
}
