// Package patch holds changes to files as byte-range edits and puts them on
// disk so that a crash leaves the old bytes or the new, never a mixture.
//
// A Plan lists edits against named input files, all in offsets of the original
// bytes, in the manner of a diff. Plan.Check proves it sound before a byte is
// written. WriteNew makes new files beside their targets, InPlace changes the
// inputs themselves under a journal that Recover finishes or undoes. View and
// NewReader give a planned result without writing it; WritePatch and ReadPatch
// keep a plan as a file that can be applied and reverted.
//
// Edits may be listed in any order. Inserts at one place keep theirs, and come
// before a replacement that starts there; overlapping edits are refused.
//
// The package knows nothing of model formats.
package patch

import (
	"io"
	"io/fs"
)

// Source gives the new bytes of an edit. It is read when the edit is applied,
// possibly more than once, and each time it must give the same Size bytes.
type Source interface {
	// Size is the number of bytes that Open's reader gives.
	Size() int64
	// Open returns a reader at the first byte.
	Open() io.Reader
}

// Edit replaces the Old bytes at offset At of input File by New.
// Old 0 inserts; a New of size 0 (or nil) deletes.
type Edit struct {
	File int    // index into Plan.Inputs
	At   int64  // offset in the original file
	Old  int64  // number of bytes replaced
	New  Source // nil: nothing
	Why  string // for people: what this edit does
}

// Input is a file that a plan reads. One with neither path nor size is empty:
// the start of an output that is all new bytes.
type Input struct {
	Path string
	Size int64
	// Info is the file as the maker of the plan saw it; nil: not known. A file
	// that no longer looks so when the plan is applied is an *InputError.
	Info fs.FileInfo
	// Reader gives the bytes of an input that is no file of the file system, which is only named
	// by Path; nil: it is one. Who gives it sees to it that it does not change, and closes it.
	// Such an input is not changed in place.
	Reader io.ReaderAt
}

// Output is a file that a plan makes from one input with that input's edits.
// Name is the base name that the new file must bear when it is written beside
// the root output, or empty where the caller chooses (the root itself).
//
// Beside marks a JSON file that is not of the model: it gets its name together with
// the root, both or none. Keep lets it replace an existing file, which is kept under
// a free name (NAME.bak).
type Output struct {
	Input        int
	Name         string
	Beside, Keep bool
}

// Plan is a whole change: every edit that one command makes. Outputs[0] is
// the root file (the .onnx, or shard 1); it is renamed into place last.
type Plan struct {
	Inputs  []Input
	Outputs []Output
	Edits   []Edit
}

// outputOf is the index of the output that a file becomes.
func (p Plan) outputOf(file int) int {
	for i, o := range p.Outputs {
		if o.Input == file {
			return i
		}
	}
	return 0
}
