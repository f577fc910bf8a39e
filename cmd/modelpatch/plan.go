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
	c.field("outputs", outputsText(p))
	if verbose {
		c.edits(p.Edits, p.Path)
	}
	for _, s := range p.Sidecars {
		line := text(s.Path) + " " + s.Pointer + ": " + numberText(s.From) + " → " + numberText(s.To)
		switch {
		case s.Written && s.Backup != "":
			line += "; the old value is in " + text(filepath.Base(s.Backup))
		case s.Why != "":
			line += ", not written: " + sentence(optionWords.Replace(s.Why))
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
		if i == 0 && len(p.Edits) > 0 {
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
		c.field("note", optionWords.Replace(sentence(n)))
	}
	for _, a := range toCheck(p) {
		c.field("check", a)
	}
	c.findings(p.Findings)
}

// outputsText says what the model's outputs do with a change.
func outputsText(p report.Plan) string {
	if strings.HasPrefix(p.Command, "revert ") {
		return "as before the change"
	}
	switch report.Expected(p.Changes) {
	case report.ExpectChanged:
		return "change, on purpose, at every length"
	case report.ExpectSameOnPrefix:
		return "stay equal for inputs within the old length"
	}
	return "stay equal"
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

// toCheck is what the owner should try before trusting the result.
func toCheck(p report.Plan) []string {
	if strings.HasPrefix(p.Command, "apply ") || strings.HasPrefix(p.Command, "revert ") {
		return nil // it was given with the change itself
	}
	var out []string
	if i := slices.IndexFunc(p.Edits, func(e report.Edit) bool { return strings.HasPrefix(e.Why, "fixed length of") }); i >= 0 {
		out = append(out, "the graph was exported for one length: a sliding window or clamp longer than that would not be visible in this file, and factors of the length stay as they are")
	}
	switch {
	case slices.ContainsFunc(p.Changes, func(c report.Change) bool { return c.Expect == report.ExpectChanged }):
		out = append(out, "quality at short and long inputs: the model may need fine-tuning")
	case slices.ContainsFunc(p.Changes, func(c report.Change) bool { return strings.HasPrefix(c.What, "position table") }):
		out = append(out, "quality beyond the old length: the new rows are computed, not trained")
	}
	return out
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
