package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelpatch/modelpatch/report"
)

// TestProgressWritesOver: nothing is shown while patience lasts, then lines of
// one length over each other, and at the end none is left.
func TestProgressWritesOver(t *testing.T) {
	var screen bytes.Buffer
	p := &progress{to: &screen, columns: 30, next: time.Now().Add(time.Hour)}
	p.wrote(1, 40e9)
	p.wrote(40e9, 40e9)
	p.end()
	if screen.Len() > 0 {
		t.Fatalf("%q was shown of a short run", screen.String())
	}
	p.next = time.Time{}
	p.wrote(12345678901, 40e9)
	p.wrote(12345678902, 40e9) // too soon
	p.wrote(40e9, 40e9)
	p.end()
	lines := strings.Split(screen.String(), "\r")
	want := []string{"", "writing: 31%, 12.35 GB of 40.0", "waiting for the disk", "", ""}
	if len(lines) != len(want) {
		t.Fatalf("%q are %d lines, not %d", screen.String(), len(lines), len(want))
	}
	for i, line := range lines {
		if strings.TrimRight(line, " ") != want[i] {
			t.Errorf("line %d is %q, not %q", i, line, want[i])
		}
		if i > 0 && i < len(lines)-1 && len(line) != p.columns {
			t.Errorf("line %d %q has %d columns", i, line, len(line))
		}
	}
}

// TestProgressOfComparing says what a comparison has come to.
func TestProgressOfComparing(t *testing.T) {
	var screen bytes.Buffer
	p := &progress{to: &screen, columns: 40}
	p.compared(3e9, 12e9)
	p.compared(4e9, 12e9) // too soon
	p.end()
	if first := strings.Split(screen.String(), "\r")[1]; strings.TrimRight(first, " ") != "comparing: 25%, 3.00 GB of 12.00 GB" || strings.Contains(screen.String(), "4.00") {
		t.Errorf("%q", screen.String())
	}
}

// TestProgressOfFiles: nothing in the first second, then how many are done; results are printed
// on a line of their own, and nothing is shown behind the end.
func TestProgressOfFiles(t *testing.T) {
	var screen bytes.Buffer
	begun := time.Now()
	n := &counter{progress: &progress{to: &screen, columns: 30, next: begun.Add(patience)}, verb: "checked", total: 3, stop: make(chan struct{})}
	n.at(begun)
	if screen.Len() > 0 {
		t.Fatalf("%q was shown at once", screen.String())
	}
	n.printing()()
	n.at(begun.Add(patience))
	printed := n.printing()
	screen.WriteString("result\n")
	printed()
	n.total = 0
	n.at(begun.Add(2 * patience))
	n.end()
	n.at(begun.Add(3 * patience))
	var lines []string
	for _, line := range strings.FieldsFunc(screen.String(), func(r rune) bool { return r == '\r' || r == '\n' }) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	if want := []string{"1 of 3 files checked", "result", "2 files checked"}; !slices.Equal(lines, want) {
		t.Errorf("%q, want %q", lines, want)
	}
	if !strings.HasSuffix(screen.String(), "\r") {
		t.Error("a line is left")
	}
}

// TestProgressNowhere: without a terminal nothing is written, and nothing fails.
func TestProgressNowhere(t *testing.T) {
	var written bytes.Buffer
	p := newProgress(&console{err: &written})
	p.next = time.Time{}
	p.wrote(1, 2)
	p.end()
	if written.Len() > 0 {
		t.Errorf("written: %q", written.String())
	}
}

// TestProgressAsObjects: programs are told at once, then now and then, and at the end.
func TestProgressAsObjects(t *testing.T) {
	var written bytes.Buffer
	p := newProgress(&console{err: &written, progress: progressJSON})
	p.wrote(0, 8)
	p.wrote(4, 8) // too soon
	p.fetched(1, 100)
	p.wrote(8, 8)
	p.end()
	want := []string{`"doing":"writing","done":0,"total":8`, `"doing":"writing","done":8,"total":8`}
	lines := strings.Split(strings.TrimSuffix(written.String(), "\n"), "\n")
	if len(lines) != len(want) {
		t.Fatalf("%q", lines)
	}
	for i, line := range lines {
		if !strings.Contains(line, want[i]) || !strings.HasPrefix(line, `{"schema":"`+report.SchemaProgress+`"`) {
			t.Errorf("line %d is %s", i, line)
		}
	}
}
