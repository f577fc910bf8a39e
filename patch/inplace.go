package patch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"sync"
)

// MostInPlace is how many bytes InPlace replaces at most: the journal holds
// them twice. What is appended does not count.
const MostInPlace = 256 << 20

// InPlaceOptions are choices of InPlace.
type InPlaceOptions struct {
	// Undo is the path of a patch file that takes the change back; empty: none.
	// It must not exist.
	Undo string
	// Change says in words what the plan does, for the undo file.
	Change string
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
	// Beside are what the caller changes beside the file, for the undo file.
	Beside []PatchBeside
	// FS is the file system; nil: OS.
	FS FS
}

// Undo says how an edit in place is taken back.
type Undo struct {
	Path  string // the patch file; empty: none was asked for
	Bytes int64
}

// InPlace changes the plan's one edited input itself. Edits must keep their
// sizes, but for the end of the file, where bytes may be added or removed, and
// for one edit that adds or removes whole blocks (see InsertBlock), which the
// file system then moves without copying what follows. A journal `.NAME.modelpatch-journal` is on disk before the first byte changes,
// so that after a crash Recover gives the old bytes or the new ones; after an
// error or when ctx is done the file is as it was (facts/BAD-INPUTS §5).
//
// A link, a file of several names, and a blob that is named by its digest are a
// *RefusedError: other programs rely on them. Other errors are those of
// WriteNew.
func InPlace(ctx context.Context, p Plan, o InPlaceOptions) (Undo, error) {
	if o.FS == nil {
		o.FS = OS
	}
	if err := p.Check(); err != nil {
		return Undo{}, err
	}
	file, err := p.onlyEdited()
	if err != nil && o.Replace && p.replaceable() {
		return replace(ctx, p, o)
	}
	if err != nil {
		return Undo{}, err
	}
	t, err := openPlanned(o.FS, p.Inputs[file])
	if err != nil {
		return Undo{}, err
	}
	defer t.close()
	j, err := t.plan(ctx, p, file)
	if is[*RefusedError](err) && o.Replace && p.replaceable() {
		t.close()
		return replace(ctx, p, o)
	}
	if err != nil {
		return Undo{}, err
	}
	var undo Undo
	if o.Undo != "" {
		if undo, err = t.writeUndo(p, file, o); err != nil {
			return Undo{}, err
		}
	}
	if err := t.edit(ctx, j, o.Check); err != nil {
		if undo.Path != "" && !decided(err) && t.forgotten() {
			err = errors.Join(err, o.FS.Remove(undo.Path))
		}
		return Undo{}, err
	}
	return undo, nil
}

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// onlyEdited is the input that the plan's edits are of.
func (p Plan) onlyEdited() (int, error) {
	file := p.Outputs[0].Input
	for i, e := range p.Edits {
		if i > 0 && e.File != file {
			return 0, &RefusedError{p.Inputs[e.File].Path, "the change is to several files, which cannot be changed in place together", "write new files with -o"}
		}
		file = e.File
	}
	return file, nil
}

// placed is a file that is being changed in place, locked.
type placed struct {
	fs   FS
	path string
	file File
	info fs.FileInfo
}

// digestName are names that are a digest of the content: changing the bytes
// makes them lie (hub caches, ollama).
var digestName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(sha256[-:])?[0-9a-fA-F]{64}$`)
})

// CanEdit reports whether InPlace may change the file at path at all: nil, a
// *RefusedError that says what speaks against it, or that it cannot be opened or
// is locked. files is the file system; nil: OS.
func CanEdit(path string, files FS) error {
	if files == nil {
		files = OS
	}
	t, err := openLocked(files, path)
	if err == nil {
		t.close()
	}
	return err
}

// openTarget opens and locks a file that is to be changed, and removes what
// killed runs left beside it.
func openTarget(files FS, path string) (*placed, error) {
	t, err := openLocked(files, path)
	if err == nil {
		removeStale(files, path)
	}
	return t, err
}

func openLocked(files FS, path string) (*placed, error) {
	info, err := files.Lstat(path)
	if err != nil {
		return nil, &InputError{path, err}
	}
	const instead = "write a new file with -o"
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		return nil, &RefusedError{path, "is a link: what it points to may serve others", instead}
	case !info.Mode().IsRegular():
		return nil, &InputError{path, errors.New("not a regular file")}
	case linkCount(info) > 1:
		return nil, &RefusedError{path, "has several names (hard links)", instead}
	case digestName().MatchString(filepath.Base(path)) || filepath.Base(filepath.Dir(path)) == "blobs":
		return nil, &RefusedError{path, "is a blob of a cache: its name states its content", instead}
	}
	f, err := files.OpenWrite(path)
	if err != nil {
		return nil, &OutputError{Op: "open for writing", Path: path, Err: err}
	}
	t := &placed{fs: files, path: path, file: f}
	free, err := f.TryLock()
	if err == nil && !free {
		err = errors.New("locked by another process")
	}
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		t.close()
		return nil, &OutputError{Op: "lock", Path: path, Err: err}
	}
	if t.info, err = f.Stat(); err != nil {
		t.close()
		return nil, &InputError{path, err}
	}
	return t, nil
}

func (t *placed) close() { t.file.Close() }

// edit journals the change, makes it, looks at it, and forgets the journal.
func (t *placed) edit(ctx context.Context, j *journal, check func(string) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := t.publish(j); err != nil {
		return err
	}
	if err := t.unchangedSince(); err != nil {
		return errors.Join(err, t.forget(standsUntouched)) // nothing is written, so nothing is put back
	}
	err := t.change(ctx, j)
	if err == nil {
		err = t.compare(j)
	}
	if err == nil && check != nil {
		err = check(t.path)
	}
	if err != nil {
		if undone := t.undo(j); undone != nil {
			// Not wrapped: an interrupt that left the file changed is a failure.
			return &OutputError{Op: "edit", Path: t.path, Err: fmt.Errorf("%v; putting the old bytes back: %w", err, undone), Hint: "modelpatch recover puts the old bytes back"}
		}
		return err
	}
	return t.forget(standsNew)
}

func (t *placed) unchangedSince() error {
	now, err := t.fs.Lstat(t.path)
	if err != nil {
		return &InputError{t.path, err}
	}
	if !unchanged(t.info, now) {
		return &InputError{t.path, errChanged}
	}
	return nil
}

// publish puts the journal on disk under its name.
func (t *placed) publish(j *journal) (err error) {
	temp := tempName(t.path)
	f, err := t.fs.Create(temp)
	if err != nil {
		return &OutputError{Op: "write journal", Path: t.path, Err: err}
	}
	step := func(e error) {
		if err == nil && e != nil {
			err = &OutputError{Op: "write journal", Path: t.path, Err: e}
		}
	}
	step(writeAll(f, j.encode()))
	if err == nil {
		step(f.Sync())
	}
	step(f.Close())
	if err == nil {
		step(t.fs.RenameNew(temp, journalPath(t.path)))
		if o, ok := err.(*OutputError); ok && errors.Is(err, errExist) {
			o.Hint = "recover the file that it belongs to first: modelpatch recover " + filepath.Dir(t.path) + " names it"
		}
	}
	if err != nil {
		return errors.Join(err, ignoreAbsent(t.fs.Remove(temp)))
	}
	if step(syncDir(t.fs, filepath.Dir(t.path))); err != nil {
		return errors.Join(err, t.forget(standsUntouched))
	}
	return nil
}

func ignoreAbsent(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func writeAll(f File, b []byte) error {
	_, err := f.WriteAt(b, 0)
	return err
}

// forgotten reports whether the journal is surely gone: while it may be there,
// recovery may keep the new bytes, and their undo patch must stay.
func (t *placed) forgotten() bool {
	_, err := t.fs.Lstat(journalPath(t.path))
	return errors.Is(err, fs.ErrNotExist)
}

// forget removes the journal of a file in the given state.
func (t *placed) forget(s standing) error {
	e := &OutputError{Op: "remove journal", Path: t.path, Done: s.done, State: s.what + ", but its journal is still there", Hint: "modelpatch recover removes it"}
	if e.Err = t.fs.Remove(journalPath(t.path)); e.Err != nil {
		return e
	}
	if e.Err = syncDir(t.fs, filepath.Dir(t.path)); e.Err != nil {
		e.State, e.Hint = s.what+", but a power cut may bring its journal back", "modelpatch recover removes it then"
		return e
	}
	return nil
}
