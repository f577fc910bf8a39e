package output

import (
	"bufio"
	"fmt"

	"github.com/modelpatch/modelpatch/report"
)

// text is for people: a line a finding, what to do below it, and a last line with counts.
type text struct {
	w       *bufio.Writer
	o       Options
	printed bool
}

func newText(w *bufio.Writer, o Options) Writer {
	if o.Colour == nil {
		o.Colour = func(level string) string { return level }
	}
	return &text{w: w, o: o}
}

// File writes the findings of a file; one without any is silent.
func (t *text) File(c report.Checked) {
	for _, f := range c.Findings {
		if t.o.Only != nil && !t.o.Only(f) {
			continue
		}
		t.printed = true
		fmt.Fprintf(t.w, "%s: %s: %s [%s]%s\n", report.Printable(c.Path), t.o.Colour(f.Level), message(f), f.Rule, whyNot(f))
		if f.Counts() && f.Level != report.LevelNote {
			if says := t.o.advice(f); says != "" {
				fmt.Fprintf(t.w, "    %s\n", says)
			}
		}
	}
}

// whyNot says why a finding does not count, behind it; "" where it does.
func whyNot(f report.CheckedFinding) string {
	switch {
	case f.Waived != nil:
		return " (waived: " + report.Printable(*f.Waived) + ")"
	case f.Baseline:
		return " (in the baseline)"
	}
	return ""
}

// Close writes the counts.
func (t *text) Close(s Summary) error {
	if t.o.Only != nil && !t.printed {
		return t.w.Flush()
	}
	fmt.Fprintf(t.w, "%s: %s", s.Verdict, s)
	if s.Policy != "" {
		fmt.Fprintf(t.w, "; policy %s", report.Printable(s.Policy))
	}
	fmt.Fprintln(t.w)
	if s.Errors+s.Warnings > 0 {
		fmt.Fprintln(t.w, "modelpatch explain RULE says more about the name in brackets")
	}
	return t.w.Flush()
}

// lines is NDJSON: one object a file.
type lines struct {
	w   *bufio.Writer
	o   Options
	err error
}

func newJSON(w *bufio.Writer, o Options) Writer { return &lines{w: w, o: o} }

// File writes one object.
func (l *lines) File(c report.Checked) {
	b, err := report.Stamped(c, l.o.Version)
	if err != nil {
		l.err = err
		return
	}
	l.w.Write(b)
	if err := l.w.Flush(); err != nil && l.err == nil { // a line at a time: several processes may share an output
		l.err = err
	}
}

// Close writes out what is left; counts are the reader's.
func (l *lines) Close(Summary) error {
	if l.err != nil {
		return l.err
	}
	return l.w.Flush()
}
