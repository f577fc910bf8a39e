package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/modelpatch/modelpatch"
	"github.com/modelpatch/modelpatch/internal/source"
	"github.com/modelpatch/modelpatch/patch"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/verify"
)

// destination is the flags that all changing commands share.
type destination struct {
	write       modelpatch.WriteOptions
	asJSON      bool
	verbose     bool
	verify      verification
	required    bool
	llamaServer string
	provenance  string // file for the statement; "": none
	open        modelpatch.OpenOptions
	outputs     outputs
	to          string // how the new file is written; "": as a file
}

// toS3Parts is what --to may say.
const toS3Parts = "s3-parts"

// verification is the flag --verify: how much of the new file is verified before it gets
// its name.
type verification string

// What --verify may say: nothing, what needs no engine, or all.
const (
	verifyNone  verification = ""
	verifyUsual verification = "usual"
	verifyFull  verification = "full"
)

// String is the flag's value.
func (v *verification) String() string { return string(*v) }

// Type names the values in the help text.
func (v *verification) Type() string { return "full" }

// Set reads a value; those of a flag that is on or off are known, too.
func (v *verification) Set(s string) error {
	switch s {
	case string(verifyUsual), "true":
		*v = verifyUsual
	case string(verifyFull):
		*v = verifyFull
	case "false":
		*v = verifyNone
	default:
		return fmt.Errorf("--verify alone, or --verify=full")
	}
	return nil
}

// addFlags adds them to a command.
func (d *destination) addFlags(c *console, cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVarP(&d.write.Output, "output", "o", "", "write a new file")
	f.BoolVar(&d.write.InPlace, "in-place", false, "change the file itself, under a journal")
	f.BoolVarP(&d.write.DryRun, "dry-run", "n", false, "only show the plan")
	f.BoolVarP(&d.write.Force, "force", "f", false, "replace an existing output; write a file that engines refuse")
	f.BoolVar(&d.write.Backup, "backup", false, "replace an existing output and keep it as NAME.bak")
	f.BoolVar(&d.write.Digest, "digest", false, "compute the SHA-256 of what was written")
	f.StringVar(&d.provenance, "provenance", "", "write an in-toto statement (SLSA provenance v1) about the change to this `FILE`")
	d.outputs.addFlags(cmd)
	f.BoolVar(&d.asJSON, "json", false, "print the plan as one JSON object")
	c.progressFlag(cmd)
	f.BoolVarP(&d.verbose, "verbose", "v", false, "also list the byte ranges that change")
	group(cmd, flagsWritten, "output", "in-place", "dry-run", "force", "backup", "follow")
	group(cmd, flagsProof, "digest", "provenance")
}

// addPatchFlags adds those that only commands have which make changes
// themselves, not out of a patch file.
func (d *destination) addPatchFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.Var(&d.verify, "verify", "compare the new file with the old one, as verify does, before it gets its name; full: all of the attention, and both files run by their engine")
	f.Lookup("verify").NoOptDefVal = string(verifyUsual)
	f.BoolVar(&d.required, "require-engine", false, "with --verify=full: write nothing, and exit 1, where no engine ran both files")
	f.StringVar(&d.llamaServer, "llama-server", "", "with --verify=full: the llama-server that runs GGUF (usually that of PATH)")
	f.BoolVar(&d.write.NoUndo, "no-undo", false, "with --in-place: leave no FILE.undo.mpatch")
	f.BoolVar(&d.write.PatchOnly, "patch-only", false, "with -o NEW: write just the change, as NEW.mpatch")
	f.BoolVar(&d.write.FullDigest, "full-digest", false, "with --patch-only: the patch tells the SHA-256 of whole files")
	f.BoolVar(&d.write.Sidecars, "sidecars", false, "config.json, tokenizer_config.json and their like follow the change: in place, or copied to the folder of -o where that is another one")
	f.StringVar(&d.write.Edits, "edits", "", "write the plan as JSON list of byte ranges {start, end, content}")
	f.StringVar(&d.to, "to", "", "with -o FOLDER: "+toS3Parts+" writes an upload script for S3 and the parts that the old file has not")
	f.Int64Var(&d.write.Reserve, "reserve", 0, "leave this many bytes of room for keys in a GGUF file, for later changes in place")
	group(cmd, flagsWritten, "no-undo", "patch-only", "full-digest", "sidecars", "edits", "to", "reserve")
	group(cmd, flagsProof, "verify", "require-engine", "llama-server")
	takes(cmd, "to", toS3Parts)
	suggests(cmd, "verify", string(verifyUsual), string(verifyFull))
}

// run makes a change of a model, with what else it reads, and prints what it came to, unless a flag
// would be ignored.
func (d *destination) run(c *console, path string, change func() (modelpatch.Result, error), further ...string) error {
	r, err := modelpatch.Result{}, d.ignored()
	if err == nil {
		err = d.aim(append(further, path))
	}
	switch {
	case err != nil:
	case d.provenance != "":
		r, err = d.attested(c, path, change)
	default:
		end := d.begin(c)
		r, err = change()
		end()
	}
	return d.finish(c, path, r, err)
}

// aim refuses flags that would write over an input, or over each other.
func (d *destination) aim(inputs []string) error {
	w := &d.write
	w.Outputs = &d.outputs.Set
	err := w.Outputs.Reads(inputs...)
	if err == nil && w.Output != "" {
		err = w.Outputs.Claim("-o", w.Output)
		if err == nil && w.PatchOnly {
			err = w.Outputs.Claim("--patch-only", w.Output+patch.Suffix)
		}
	}
	return err
}

// attested makes a change and writes the statement about it. A statement that cannot be written is found before anything is.
func (d *destination) attested(c *console, path string, change func() (modelpatch.Result, error)) (r modelpatch.Result, err error) {
	d.write.Digest, d.write.Provenance = true, true
	began := time.Now()
	target, err := d.outputs.Create(context.Background(), "--provenance", d.provenance, d.write.Force)
	if err != nil {
		return r, err
	}
	defer target.Close()
	end := d.begin(c)
	r, err = change()
	end()
	if err != nil || r.Nothing != "" {
		return r, err
	}
	statement, err := modelpatch.Provenance(r, version(), began, time.Now())
	if err == nil {
		err = complete(target, statement)
	}
	if e, ok := errors.AsType[*patch.OutputError](err); ok && !e.Done {
		e.Done, e.State = true, "the model is written, but not the statement about it"
	}
	return r, err
}

// ignored refuses flags that would have no effect beside the others. Those that
// say how a file is written may stand beside --dry-run, so that a command can
// be tried by adding it; those that promise a result may not.
func (d *destination) ignored() error {
	w := d.write
	nothingWritten := w.DryRun && w.Edits == ""
	d.write.Parts = d.to == toS3Parts
	for _, f := range []struct {
		ignored   bool
		what, why string
	}{
		{w.NoUndo && !w.InPlace, "--no-undo without --in-place", "a new file leaves the old one as it was: there is no undo patch to leave out"},
		{w.FullDigest && !w.PatchOnly, "--full-digest without --patch-only", "only a patch file tells these digests; --digest prints that of a new file"},
		{d.to != "" && d.verify != verifyNone, "--verify with --to", "there is no new file here to compare"},
		{d.to != "" && (w.Sidecars || w.Digest || d.provenance != ""), "--sidecars, --digest or --provenance with --to", "the new file is put together in the store"},
		{w.Sidecars && w.PatchOnly, "--sidecars with --patch-only", "a patch changes the model file alone"},
		{d.verify != verifyNone && w.DryRun && !w.InPlace, "--verify with --dry-run", "there is no new file to compare: leave one of them out"},
		{d.verify != verifyNone && w.PatchOnly, "--verify with --patch-only", "there is no new file to compare: apply the patch, then run verify"},
		{d.verify != verifyNone && w.Output == "" && w.Edits != "" && !w.InPlace, "--verify without -o", "there is no new file to compare"},
		{d.required && d.verify != verifyFull, "--require-engine without --verify=full", "an engine runs the new file in --verify=full alone"},
		{d.llamaServer != "" && d.verify != verifyFull, "--llama-server without --verify=full", "an engine runs the new file in --verify=full alone"},
		{d.provenance != "" && (w.DryRun || w.PatchOnly), "--provenance with --dry-run or --patch-only", "there is no new model to speak of: leave one of them out"},
		{w.Digest && nothingWritten, "--digest with --dry-run", "nothing is written that could be hashed: leave one of them out"},
		{w.Backup && w.InPlace && w.Edits == "", "--backup with --in-place", "FILE.undo.mpatch takes a change in place back; -o NEW leaves the old file"},
	} {
		if f.ignored {
			return &position.UsageError{What: f.what, Hint: f.why}
		}
	}
	return nil
}

// begin shows progress from now on; the returned function ends it.
func (d *destination) begin(c *console) (end func()) {
	p := newProgress(c)
	d.write.Progress = p.wrote
	d.write.Fetching = func(path string, bytes int64) {
		c.say("modelpatch: %s: %s are fetched for the new file (--patch-only and --edits need less)", text(path), bytesText(bytes))
	}
	switch d.verify {
	case verifyUsual:
		d.write.Verify = &modelpatch.VerifyOptions{NoEngine: true}
	case verifyFull:
		d.write.Verify = &modelpatch.VerifyOptions{Engine: true, RequireEngine: d.required, LlamaServer: d.llamaServer, Sample: verify.Sample{Full: true}}
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
			c.say("modelpatch: %s: nothing to change: %s", text(source.ShownPath(path)), oneLine(r.Nothing))
		}
	case r.Nothing != "":
		c.printf("%s: nothing to change: %s\n", c.bold(text(source.ShownPath(path))), oneLine(r.Nothing))
		for _, w := range r.Plan.Written {
			c.field("written", text(w.Path)+", "+bytesText(w.Bytes)+", a copy")
		}
	default:
		c.plan(r.Plan, d.write.DryRun, d.verbose)
	}
	return nil
}
