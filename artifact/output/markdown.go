package output

import (
	"bufio"
	"fmt"
	"strings"

	"github.com/modelpatch/modelpatch/report"
)

// maxMarkdown is how many findings a table has: a summary of GitHub Actions ends at 1 MiB,
// and a row has some hundred bytes.
const maxMarkdown = 1000

// markdown is a table, for a job's summary or a comment.
type markdown struct {
	w    *bufio.Writer
	kept gravest
}

func newMarkdown(w *bufio.Writer, _ Options) Writer {
	return &markdown{w: w, kept: gravest{most: maxMarkdown}}
}

// File keeps the findings that count.
func (m *markdown) File(c report.Checked) {
	for _, f := range counting(c) {
		m.kept.add(c.Path, f)
	}
}

// code is text that no renderer takes for markup: a code span whose fence is longer than
// any run of backticks inside.
func code(s string) string {
	s = strings.ReplaceAll(report.Printable(strings.ReplaceAll(s, "\n", " ")), "|", `\|`)
	const most = 400
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "…"
	}
	longest, run := 0, 0
	for _, r := range s {
		if r == '`' {
			run++
			longest = max(longest, run)
		} else {
			run = 0
		}
	}
	fence := strings.Repeat("`", longest+1)
	return fence + " " + s + " " + fence
}

// Close writes the table and the counts.
func (m *markdown) Close(s Summary) error {
	fmt.Fprintf(m.w, "### modelpatch check %s\n\n%s\n", s.Verdict, s)
	found := m.kept.all()
	if len(found) > 0 {
		fmt.Fprint(m.w, "\n| level | file | finding | rule |\n|---|---|---|---|\n")
	}
	for _, p := range found {
		fmt.Fprintf(m.w, "| %s | %s | %s | %s |\n", p.finding.Level, code(p.path), code(message(p.finding)), p.finding.Rule)
	}
	if m.kept.dropped > 0 {
		fmt.Fprintf(m.w, "\n%d further findings are left out.\n", m.kept.dropped)
	}
	return m.w.Flush()
}
