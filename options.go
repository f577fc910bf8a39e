package modelpatch

import (
	"github.com/modelpatch/modelpatch/internal/change"
	"github.com/modelpatch/modelpatch/internal/source"
	"github.com/modelpatch/modelpatch/internal/target"
	"github.com/modelpatch/modelpatch/internal/verdict"
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
	// content, which hubs take for commits without the whole file.
	Edits string
	// PatchOnly writes Output.mpatch in place of Output: a patch file that Apply
	// and Revert take. FullDigest has it tell the SHA-256 of whole files too.
	PatchOnly  bool
	FullDigest bool
	// Parts writes the folder Output in place of a file: the parts of an upload to S3 that the old file
	// does not have, and a script that uploads them and copies the rest inside the store.
	Parts   bool
	Force   bool  // an existing Output may be replaced; a file that engines refuse is written
	Backup  bool  // an existing Output may be replaced, and is kept under another name
	Digest  bool  // SHA-256 of what was written
	NoUndo  bool  // InPlace leaves no patch file that takes the change back
	Reserve int64 // bytes of room to leave in a GGUF file for later keys
	// Verify has a complete new file compared with the old one before it gets its name: structure,
	// bytes, tables and attention. Another verdict than the plan's own expectation drops it; nil: it
	// must be readable and have the wanted encodings. Not with InPlace, which leaves no old file.
	Verify *VerifyOptions
	// Provenance has the inputs hashed before the change, and the change held to these very files,
	// so that [Provenance] can speak of them.
	Provenance bool
	// Fetching is told before bytes of a model at an address are fetched only to be copied into a new
	// file, and how many; nil: nobody is.
	Fetching func(path string, bytes int64)
	// Progress is told of bytes written so far and in all.
	Progress func(done, total int64)
	// Outputs are the other files that the modelpatch command writes in the same run; nil: none.
	Outputs *target.Set
}

// inner are the same options, as the change takes them.
func (w WriteOptions) inner(open OpenOptions) change.WriteOptions {
	out := change.WriteOptions{Sidecars: w.Sidecars, Output: w.Output, InPlace: w.InPlace, DryRun: w.DryRun, Edits: w.Edits, Outputs: w.Outputs, PatchOnly: w.PatchOnly, FullDigest: w.FullDigest,
		Parts: w.Parts, Force: w.Force, Backup: w.Backup, Digest: w.Digest || w.Provenance, NoUndo: w.NoUndo, Reserve: w.Reserve, Fetching: w.Fetching, Progress: w.Progress}
	if w.Verify != nil {
		out.Check = verdict.Check(source.Options(open), w.Verify.inner())
	}
	return out
}

// Result is what a change came to.
type Result struct {
	Plan report.Plan
	// Nothing, when set, says why there was nothing to do; no file is written.
	Nothing string

	inputs []change.Resource // that were hashed; see WriteOptions.Provenance
}
