package change

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/modelpatch/modelpatch/gguf"
	"github.com/modelpatch/modelpatch/internal/sidecar"
	"github.com/modelpatch/modelpatch/internal/target"
	"github.com/modelpatch/modelpatch/patch"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
)

// WriteOptions say where a change goes: to Output, InPlace, or nowhere but on
// paper (DryRun, Edits). The first two exclude each other.
type WriteOptions struct {
	// Sidecars has files beside the model that state its length, such as
	// config.json, follow it; they are mentioned in the plan either way. With
	// InPlace they are edited and the undo patch takes them back too; with Output
	// in another folder they are copied there, and one that is there already is
	// replaced, and kept as NAME.bak, only with Force or Backup. In the same
	// folder they stay as they are, for the old model needs them.
	Sidecars bool
	Output   string // a new file
	InPlace  bool   // the input itself, under a journal
	DryRun   bool   // nothing: the plan is returned
	// Edits is a file for the plan as a list of byte ranges with their new
	// content, which hubs take for commits without the whole file. Outputs writes it, and knows
	// what else the run writes; nil: nothing.
	Edits   string
	Outputs *target.Set
	// PatchOnly writes Output.mpatch in place of Output: a patch file that Apply
	// and Revert take. FullDigest has it tell the SHA-256 of whole files too.
	PatchOnly  bool
	FullDigest bool
	// Parts writes the folder Output in place of a file: the parts of an upload to S3 that the old file
	// does not have, and a script that uploads them and copies the rest inside the store.
	Parts   bool
	Force   bool  // an existing Output may be replaced
	Backup  bool  // and is kept under another name
	Digest  bool  // SHA-256 of what was written
	NoUndo  bool  // InPlace leaves no patch file that takes the change back
	Reserve int64 // bytes of room to leave in a GGUF file for later keys
	// Check looks at a complete new file before it gets its name: an error drops it. The verdict goes
	// into the plan. It comes after the check that the file can be read and has the wanted encodings.
	// Not with InPlace, which leaves no old file to compare with. nil: there is none.
	Check func(ctx context.Context, before, after string, plan report.Plan) (*report.Verify, error)
	// Fetching is told before bytes of a model at an address are fetched only to be copied into a new
	// file, and how many; nil: nobody is.
	Fetching func(path string, bytes int64)
	// Progress is told of bytes written so far and in all.
	Progress func(done, total int64)

	// Inputs are what Digests told of the model: a change that would be made of other files, or
	// that was while they changed, is an error.
	Inputs []Resource

	locked *patch.Locks // what a change in place has locked
}

// Result is what a change came to.
type Result struct {
	Plan report.Plan
	// Nothing, when set, says why there was nothing to do; no file is written.
	Nothing string
}

// check refuses destinations that contradict each other.
func (w WriteOptions) check() error {
	switch {
	case target.IsStream(w.Output):
		return target.NoStream(w.Output)
	case w.Output != "" && w.InPlace:
		return &position.UsageError{What: "a new file and a change in place contradict each other", Hint: "choose one of them"}
	case w.Check != nil && w.InPlace:
		return &position.UsageError{What: "a change in place leaves no old file to verify against", Remedies: []report.Remedy{report.Do("", "writes a new file", "output", "NEW")}}
	case w.PatchOnly && w.Output == "":
		return &position.UsageError{What: "a patch needs the name of the new file that it makes", Remedies: []report.Remedy{report.Do("", "writes NEW"+patch.Suffix, "output", "NEW")}}
	case w.Parts && (w.Output == "" || w.PatchOnly || w.InPlace):
		return &position.UsageError{What: "an upload in parts needs the name of the folder that it makes", Remedies: []report.Remedy{report.Do("", "writes that folder", "output", "FOLDER")}}
	case w.Reserve < 0 || w.Reserve > gguf.MaxReserve:
		return &position.UsageError{What: fmt.Sprintf("a reserve of %d bytes", w.Reserve), Hint: fmt.Sprintf("from 1 to %d bytes", gguf.MaxReserve)}
	}
	return nil
}

// aims refuses to end without a destination. It is asked when the change is
// known to be possible: a file that cannot be changed needs no destination.
func (w WriteOptions) aims() error {
	if w.Output == "" && !w.InPlace && !w.DryRun && w.Edits == "" {
		return &position.UsageError{What: "no destination", Remedies: []report.Remedy{report.Do("", "writes a new file", "output", "NEW"), report.Do("", "changes this one", "in-place", ""), report.Do("", "only shows the plan", "dry-run", "")}}
	}
	return nil
}

// suits refuses a name for the new file that is one of the other format: readers go by it.
func (w WriteOptions) suits(format string) error {
	named := strings.ToLower(strings.TrimPrefix(filepath.Ext(w.Output), "."))
	if w.PatchOnly || named == format || named != position.FormatONNX && named != position.FormatGGUF {
		return nil
	}
	return &position.UsageError{What: fmt.Sprintf("%s is a name of %s files, and the model is one of %s", report.Printable(w.Output), strings.ToUpper(named), strings.ToUpper(format)),
		Hint: "name the new file ." + format}
}

// fetches tells how many bytes of inputs at addresses a plan copies.
func (w WriteOptions) fetches(plan patch.Plan) {
	if w.Fetching == nil {
		return
	}
	for i, o := range plan.Outputs {
		in := plan.Inputs[o.Input]
		if in.Reader == nil {
			continue
		}
		kept := int64(0)
		for s := range plan.Segments(i) {
			if s.New == nil {
				kept += s.Size
			}
		}
		w.Fetching(in.Path, kept)
	}
}

// sidecars says where the change goes, for the files beside the model.
func (w WriteOptions) sidecars() sidecar.Destination {
	return sidecar.Destination{Follow: w.Sidecars, Output: w.Output, InPlace: w.InPlace, ModelAlone: w.PatchOnly || w.Parts, DryRun: w.DryRun, Force: w.Force, Backup: w.Backup, Locked: w.locked}
}

// saving are the options that package patch takes for every new file.
func (w WriteOptions) saving() patch.WriteOptions {
	return patch.WriteOptions{Force: w.Force, Backup: w.Backup, Digest: w.Digest}
}

// outputs are those of the run.
func (w WriteOptions) outputs() *target.Set {
	if w.Outputs == nil {
		return &target.Set{}
	}
	return w.Outputs
}

// lock locks a model and the files beside it that a change in place may change, from before they are
// read until the returned function is called. A run that did so already has done it.
func (w *WriteOptions) lock(model string) (unlock func(), err error) {
	if !w.InPlace || w.DryRun || w.locked != nil {
		return func() {}, nil
	}
	w.locked, err = patch.Lock(nil, append([]string{model}, sidecar.Paths(model)...)...)
	return w.locked.Close, err
}

// stillHashed is hashed when the change is made.
func (w WriteOptions) stillHashed(plan patch.Plan) error {
	var changed []string
	if w.InPlace {
		changed = editedFiles(plan)
	}
	err := hashed(w.Inputs, plan, changed)
	if in, ok := errors.AsType[*patch.InputError](err); ok {
		return &patch.OutputError{Op: "state what it was made of", Path: in.Path, Err: in.Err, Done: true, State: "the change is made"}
	}
	return err
}
