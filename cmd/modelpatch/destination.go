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
	write  modelpatch.WriteOptions
	asJSON bool
	verify bool
}

// addFlags adds them to a command.
func (d *destination) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVarP(&d.write.Output, "output", "o", "", "write a new file")
	f.BoolVar(&d.write.InPlace, "in-place", false, "change the file itself, under a journal")
	f.BoolVarP(&d.write.DryRun, "dry-run", "n", false, "only show the plan")
	f.BoolVarP(&d.write.Force, "force", "f", false, "replace an existing output")
	f.BoolVar(&d.write.Backup, "backup", false, "replace an existing output and keep it as NAME.bak")
	f.BoolVar(&d.write.Digest, "digest", false, "compute the SHA-256 of what was written")
	f.BoolVar(&d.asJSON, "json", false, "print the plan as one JSON object")
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
		{w.Force && w.InPlace && w.Edits == "", "--force with --in-place", "there is no output to replace"},
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
			c.say("modelpatch: %s: nothing to do: %s", text(path), oneLine(r.Nothing))
		}
	case r.Nothing != "":
		c.printf("%s: nothing to do: %s\n", text(path), oneLine(r.Nothing))
	default:
		c.plan(r.Plan, d.write.DryRun)
	}
	return nil
}

// plan prints what changed, what did not, and what to look at.
func (c *console) plan(p report.Plan, dry bool) {
	c.printf("%s\n", c.bold(text(p.Path)))
	changed := slices.ContainsFunc(p.Changes, func(ch report.Change) bool { return ch.Expect == report.ExpectChanged })
	for _, ch := range p.Changes {
		label, line := ch.Encoding, text(ch.What)
		if label == "" {
			label = "file"
		}
		if !changed || ch.Expect == report.ExpectChanged { // one that keeps outputs promises nothing beside one that does not
			line += expectText(ch.Expect)
		}
		c.field(label, line)
	}
	c.edits(p.Edits, p.Path)
	for _, s := range p.Sidecars {
		line := text(s.Path) + " " + s.Pointer + ": " + numberText(s.From) + " → " + numberText(s.To)
		switch {
		case s.Written && s.Backup != "":
			line += "; the old value is in " + text(filepath.Base(s.Backup))
		case s.Why != "":
			line += ", not written: " + text(s.Why)
		}
		c.field("beside", line)
	}
	if dry {
		c.field("written", "nothing: --dry-run")
	}
	for _, w := range p.Written {
		line := text(w.Path) + ", " + bytesText(w.Bytes)
		if w.SHA256 != nil {
			line += ", sha256 " + *w.SHA256
		}
		c.field("written", line)
	}
	for _, r := range p.Removed {
		c.field("removed", text(r)+", data of the replaced model, which nothing else uses")
	}
	if p.Verified != nil {
		c.field("verified", p.Verified.Verdict)
	}
	for _, n := range p.Notes {
		c.field("note", text(n))
	}
	for _, a := range advice(p) {
		c.field("check", a)
	}
}

// aroundWhy is what the plan says of edits that only follow others: lengths of
// the messages around them in ONNX files.
const aroundWhy = "length of the message around it"

// edits says how much of the file the plan touches: edits of one purpose on one
// line.
func (c *console) edits(edits []report.Edit, path string) {
	const most = 6
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
	for i, why := range purposes {
		if i == most && len(purposes) > most+1 {
			c.field("", "and edits for "+plural(len(purposes)-most, "more purpose"))
			break
		}
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
	if around > 0 {
		c.field("", plural(around, "length")+" of messages around them")
	}
	if len(edits) > 0 {
		c.field("kept", "every other byte")
	}
}

func expectText(expect string) string {
	switch expect {
	case report.ExpectSame:
		return "; outputs stay equal"
	case report.ExpectSameOnPrefix:
		return "; outputs within the old length stay equal"
	case report.ExpectChanged:
		return "; outputs change"
	}
	return ""
}

// advice is what the owner should try before trusting the result.
func advice(p report.Plan) []string {
	if strings.HasPrefix(p.Command, "apply ") || strings.HasPrefix(p.Command, "revert ") {
		return nil // it was given with the change itself
	}
	var out []string
	if slices.ContainsFunc(p.Edits, func(e report.Edit) bool { return strings.HasPrefix(e.Why, "fixed length of") }) {
		out = append(out, "what was folded for the old length: a window or clamp wider than it is not in the file, and scales and averages by the length stay as they are")
	}
	switch {
	case slices.ContainsFunc(p.Changes, func(c report.Change) bool { return c.Expect == report.ExpectChanged }):
		out = append(out, "quality at short and long inputs: numbers change on purpose, and a model may need fine-tuning for them")
	case slices.ContainsFunc(p.Changes, func(c report.Change) bool { return strings.HasPrefix(c.What, "learned rows") }):
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
