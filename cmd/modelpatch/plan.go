package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/modelpatch/modelpatch/report"
)

// plan prints what changed, in a sentence, what the outputs do, and what to look
// at; the bytes with verbose.
func (c *console) plan(p report.Plan, dry, verbose bool) {
	what := make([]string, len(p.Changes))
	for i, ch := range p.Changes {
		what[i] = sentence(ch.What)
	}
	head := strings.Join(what, "; ")
	if len(what) == 0 {
		head = "no encoding changes"
	}
	c.headline(text(p.Path), head)
	c.field("outputs", p.Promise())
	if verbose {
		c.edits(p.Edits, p.Path)
	}
	for _, s := range p.Sidecars {
		line := text(s.Path) + " " + s.Pointer + ": " + numberText(s.From) + " → " + numberText(s.To)
		switch {
		case s.Written && s.Backup != "":
			line += "; the old value is in " + text(filepath.Base(s.Backup))
		case s.Why != "":
			line += ", not written: " + sentence(optionWords().Replace(s.Why))
		}
		c.field("beside", line)
	}
	if dry {
		c.field("written", "nothing: --dry-run")
	}
	for i, w := range p.Written {
		line := text(w.Path) + ", " + bytesText(w.Bytes)
		if w.SHA256 != nil {
			line += ", sha256 " + *w.SHA256
		}
		if i == 0 && w.How == "patch" {
			line += ", the change alone"
		} else if w.How != "patch" && len(p.Edits) > 0 && report.Expected(p.Changes) != report.ExpectUnknown {
			line += "; every other byte is as it was"
		}
		c.field("written", line)
	}
	for _, r := range p.Removed {
		c.field("removed", text(r)+", whose change is taken back")
	}
	if p.Verified != nil {
		c.field("verified", p.Verified.Verdict+": "+oneLine(p.Verified.Summary))
		if slices.ContainsFunc(p.Verified.Checks, func(k report.Check) bool { return k.Name == report.CheckEngine }) {
			c.checks(p.Verified.Checks, verbose)
		}
	}
	for _, n := range p.Notes {
		c.field("note", optionWords().Replace(sentence(n)))
	}
	for _, a := range p.ToCheck() {
		c.field("check", a)
	}
	c.findings(p.Findings)
}

// aroundWhy is what the plan says of edits that only follow others: lengths of
// the messages around them in ONNX files.
const aroundWhy = "protobuf length prefix"

// edits lists the byte ranges that a plan replaces: those of one purpose on one
// line.
func (c *console) edits(edits []report.Edit, path string) {
	var purposes []string
	by := map[string][]report.Edit{}
	around := 0
	for _, e := range edits {
		if e.Why == aroundWhy {
			around++
			continue
		}
		if by[e.Why] == nil {
			purposes = append(purposes, e.Why)
		}
		by[e.Why] = append(by[e.Why], e)
	}
	for _, why := range purposes {
		first := by[why][0]
		where := rangeText(first)
		if first.File != path { // a shard, or external data
			where += " of " + text(filepath.Base(first.File))
		}
		if more := len(by[why]) - 1; more > 0 {
			where += " and " + plural(more, "more place")
		}
		c.field("bytes", where+": "+text(why))
	}
	switch around {
	case 0:
	case 1:
		c.field("bytes", "1 protobuf length prefix")
	default:
		c.field("bytes", fmt.Sprintf("%d protobuf length prefixes", around))
	}
}

// rangeText says which bytes of the old file become how many new ones.
func rangeText(e report.Edit) string {
	old := e.Range[1] - e.Range[0]
	switch {
	case old == 0:
		return fmt.Sprintf("%d new at %d", e.Bytes, e.Range[0])
	case e.Bytes == 0:
		return fmt.Sprintf("%d fewer at %d", old, e.Range[0])
	case old == e.Bytes:
		return fmt.Sprintf("%d at %d", old, e.Range[0])
	}
	return fmt.Sprintf("%d at %d become %d", old, e.Range[0], e.Bytes)
}
