package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/modelpatch/modelpatch"
	"github.com/modelpatch/modelpatch/report"
)

// destination is the flags that all changing commands share.
type destination struct {
	write   modelpatch.WriteOptions
	asJSON  bool
	verbose bool
	verify  bool
}

// addFlags adds them to a command.
func (d *destination) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVarP(&d.write.Output, "output", "o", "", "write a new file")
	f.BoolVar(&d.write.InPlace, "in-place", false, "change the file itself, under a journal")
	f.BoolVarP(&d.write.DryRun, "dry-run", "n", false, "only show the plan")
	f.BoolVarP(&d.write.Force, "force", "f", false, "replace an existing output; write a file that engines refuse")
	f.BoolVar(&d.write.Backup, "backup", false, "replace an existing output and keep it as NAME.bak")
	f.BoolVar(&d.write.Digest, "digest", false, "compute the SHA-256 of what was written")
	f.BoolVar(&d.asJSON, "json", false, "print the plan as one JSON object")
	f.BoolVarP(&d.verbose, "verbose", "v", false, "also list the byte ranges that change")
}

// addPatchFlags adds those that only commands have which make changes
// themselves, not out of a patch file.
func (d *destination) addPatchFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&d.verify, "verify", false, "compare the new file with the old one, as verify does, before it gets its name")
	f.BoolVar(&d.write.NoUndo, "no-undo", false, "with --in-place: leave no FILE.undo.mpatch")
	f.BoolVar(&d.write.PatchOnly, "patch-only", false, "with -o NEW: write just the change, as NEW.mpatch")
	f.BoolVar(&d.write.FullDigest, "full-digest", false, "with --patch-only: the patch tells the SHA-256 of whole files")
	f.StringVar(&d.write.Edits, "edits", "", "write the plan as JSON list of byte ranges {start, end, content}")
	f.Int64Var(&d.write.Reserve, "reserve", 0, "leave this many bytes of room for keys in a GGUF file, for later changes in place")
}

// run makes a change and prints what it came to, unless a flag would be ignored.
func (d *destination) run(c *console, path string, change func() (modelpatch.Result, error)) error {
	if err := d.ignored(); err != nil {
		return d.finish(c, path, modelpatch.Result{}, err)
	}
	end := d.begin(c)
	r, err := change()
	end()
	return d.finish(c, path, r, err)
}

// ignored refuses flags that would have no effect beside the others. Those that
// say how a file is written may stand beside --dry-run, so that a command can
// be tried by adding it; those that promise a result may not.
func (d *destination) ignored() error {
	w := d.write
	nothingWritten := w.DryRun && w.Edits == ""
	for _, f := range []struct {
		ignored   bool
		what, why string
	}{
		{w.NoUndo && !w.InPlace, "--no-undo without --in-place", "a new file leaves the old one as it was: there is no undo patch to leave out"},
		{w.FullDigest && !w.PatchOnly, "--full-digest without --patch-only", "only a patch file tells these digests; --digest prints that of a new file"},
		{w.Sidecars && w.PatchOnly, "--sidecars with --patch-only", "a patch changes the model file alone"},
		{d.verify && w.DryRun && !w.InPlace, "--verify with --dry-run", "there is no new file to compare: leave one of them out"},
		{d.verify && w.PatchOnly, "--verify with --patch-only", "there is no new file to compare: apply the patch, then run verify"},
		{d.verify && w.Output == "" && w.Edits != "" && !w.InPlace, "--verify without -o", "there is no new file to compare"},
		{w.Digest && nothingWritten, "--digest with --dry-run", "nothing is written that could be hashed: leave one of them out"},
		{w.Backup && w.InPlace && w.Edits == "", "--backup with --in-place", "FILE.undo.mpatch takes a change in place back; -o NEW leaves the old file"},
	} {
		if f.ignored {
			return &modelpatch.UsageError{What: f.what, Hint: f.why}
		}
	}
	return nil
}

// begin shows progress on a terminal from now on; the returned function ends it.
func (d *destination) begin(c *console) (end func()) {
	p := newProgress(c)
	d.write.Progress = p.tell
	if d.verify {
		d.write.Check = modelpatch.CheckByVerify(modelpatch.OpenOptions{})
	}
	return p.end
}

// finish prints what a change came to.
func (d *destination) finish(c *console, path string, r modelpatch.Result, err error) error {
	c.changed = len(r.Plan.Written) > 0
	switch {
	case err != nil:
		c.fail(path, err, d.asJSON)
		return &codedError{modelpatch.ExitCode(err)}
	case d.asJSON:
		c.json(r.Plan)
		if r.Nothing != "" {
			c.say("modelpatch: %s: nothing to change: %s", text(path), oneLine(r.Nothing))
		}
	case r.Nothing != "":
		c.printf("%s: nothing to change: %s\n", c.bold(text(path)), oneLine(r.Nothing))
		for _, w := range r.Plan.Written {
			c.field("written", text(w.Path)+", "+bytesText(w.Bytes)+", a copy")
		}
	default:
		c.plan(r.Plan, d.write.DryRun, d.verbose)
	}
	return nil
}

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
	c.field("outputs", outputsText(p.Changes))
	if verbose {
		c.edits(p.Edits, p.Path)
	}
	for _, s := range p.Sidecars {
		line := text(s.Path) + " " + s.Pointer + ": " + numberText(s.From) + " → " + numberText(s.To)
		switch {
		case s.Written && s.Backup != "":
			line += "; the old value is in " + text(filepath.Base(s.Backup))
		case s.Why != "":
			line += ", not written: " + sentence(s.Why)
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
		c.field("removed", text(r)+", data of the replaced model, which nothing else uses")
	}
	if p.Verified != nil {
		c.field("verified", p.Verified.Verdict+": "+oneLine(p.Verified.Summary))
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
func outputsText(changes []report.Change) string {
	worst := report.ExpectSame
	for _, ch := range changes {
		switch {
		case ch.Expect == report.ExpectChanged:
			return "change, on purpose, at every length"
		case ch.Expect == report.ExpectSameOnPrefix:
			worst = ch.Expect
		}
	}
	if worst == report.ExpectSameOnPrefix {
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

func plural(n int, what string) string {
	if n == 1 {
		return fmt.Sprintf("1 %s", what)
	}
	return fmt.Sprintf("%d %ss", n, what)
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
