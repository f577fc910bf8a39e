package patch

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
)

// InPlaceOptions are choices of InPlace.
type InPlaceOptions struct {
	// Undo is the path of a patch file that takes the change back; empty: none.
	// It must not exist.
	Undo string
	// Change says in words what the plan does, Expect what it promises of outputs and Request the
	// verb that made it (PatchHeader), for the undo file.
	Change, Expect string
	Request        json.RawMessage
	// Data are the ranges of the file that hold tensor data, for the undo file:
	// they identify the file only near the edits.
	Data [][2]int64
	// Check is given the changed file's path before the change is final. An
	// error brings the old bytes back and is returned.
	Check func(path string) error
	// Replace lets the root file be replaced by a new one, where it cannot be
	// changed as it lies and the plan only adds to the ends of its other files:
	// the small root of a model whose weights lie in data files.
	Replace bool
	// Files are in the folder of the file that changes and follow it, under the
	// same journal; Beside says what changes in them, for the undo file.
	Files  []Beside
	Beside []PatchBeside
	// Spent is the undo patch of the change that this one takes back, in the
	// folder of the file: it goes with that change. Empty: none.
	Spent string
	// Locked are files that the caller has locked; nil: none.
	Locked *Locks
	// FS is the file system; nil: OS.
	FS FS
}

// Undo says how an edit in place is taken back.
type Undo struct {
	Path  string // the patch file; empty: none was asked for
	Bytes int64
}

// writeUndo writes a patch file that can take the edit back.
func (t *placed) writeUndo(p Plan, file int, o InPlaceOptions) error {
	if o.Undo == "" {
		return nil
	}
	if _, err := t.fs.Lstat(o.Undo); !errors.Is(err, fs.ErrNotExist) {
		if err == nil {
			err = errExist
		}
		return &OutputError{Op: "create", Path: o.Undo, Err: err}
	}
	temp := filepath.Join(filepath.Dir(o.Undo), filepath.Base(tempName(t.path)))
	f, err := t.fs.Create(temp)
	if err != nil {
		return &OutputError{Op: "create", Path: o.Undo, Err: err}
	}
	w := &offsetWriter{file: f}
	err = p.WritePatch(w, p.outputOf(file), t.file, PatchOptions{Change: o.Change, Expect: o.Expect, Request: o.Request, Data: o.Data, Replace: o.Replace, Beside: o.Beside})
	if err == nil {
		err = f.CopyAttributes(t.file)
	}
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return errors.Join(&OutputError{Op: "write", Path: o.Undo, Err: err}, ignoreAbsent(t.fs.Remove(temp)))
	}
	t.wayBack = &pendingUndo{path: o.Undo, temp: temp, bytes: w.at}
	return nil
}

// made is the undo patch of a change that was made.
func (t *placed) made() Undo {
	if t.wayBack == nil {
		return Undo{}
	}
	return Undo{t.wayBack.path, t.wayBack.bytes}
}

// offsetWriter writes a File from its start.
type offsetWriter struct {
	file File
	at   int64
}

// Write continues where the last one ended.
func (w *offsetWriter) Write(p []byte) (int, error) {
	n, err := w.file.WriteAt(p, w.at)
	w.at += int64(n)
	return n, err
}
