package patch

import (
	"errors"
	"io/fs"
	"path/filepath"
	"regexp"
	"sync"
)

// ending is how an edit of the target ended, for errors that come after that.
type ending struct {
	done bool // the change is made
	what string
}

var (
	endedNew       = ending{true, "the change is made"}
	endedOld       = ending{false, "the old bytes are back"}
	endedUntouched = ending{false, "nothing is changed"}
)

// placed is a file that is being changed in place, locked.
type placed struct {
	fs      FS
	path    string
	file    File
	info    fs.FileInfo
	locked  *Locks       // what the caller has locked
	wayBack *pendingUndo // of the change; nil: none was asked for
	beside  []*besidePlaced
}

// pendingUndo is an undo patch that waits under a temporary name for the journal
// of its change: without one, a kill would leave a patch of no change.
type pendingUndo struct {
	path, temp string // temp is "" when it has its name
	bytes      int64
}

// placeUndo gives the undo patch its name, and lets the disk have that.
func (t *placed) placeUndo() error {
	if t.wayBack == nil {
		return nil
	}
	err := t.fs.RenameNew(t.wayBack.temp, t.wayBack.path)
	if err == nil {
		t.wayBack.temp = ""
		err = syncDir(t.fs, filepath.Dir(t.wayBack.path))
	}
	if err != nil {
		return &OutputError{Op: "write", Path: t.wayBack.path, Err: err}
	}
	return nil
}

// dropUndo removes the undo patch of a change that was not made.
func (t *placed) dropUndo() error {
	if t.wayBack == nil {
		return nil
	}
	name := t.wayBack.temp
	if name == "" {
		name = t.wayBack.path
	}
	return ignoreAbsent(t.fs.Remove(name))
}

// digestName are names that are a digest of the content: changing the bytes
// makes them lie (hub caches, ollama).
var digestName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(sha256[-:])?[0-9a-fA-F]{64}$`)
})

// CanEdit reports whether InPlace may change the file at path at all: nil, a
// *RefusedError that says what speaks against it, or that it cannot be opened or
// is locked by others than locks. files is the file system; nil: OS.
func CanEdit(path string, locks *Locks, files FS) error {
	if files == nil {
		files = OS
	}
	t, err := openLocked(files, path, locks)
	if err == nil {
		t.close()
	}
	return err
}

// openTarget opens and locks a file that is to be changed, and removes what
// killed runs left beside it.
func openTarget(files FS, path string, locks *Locks) (*placed, error) {
	t, err := openLocked(files, path, locks)
	if err == nil {
		removeStale(files, path)
	}
	return t, err
}

func openLocked(files FS, path string, locks *Locks) (*placed, error) {
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
	t := &placed{fs: files, path: path, file: f, locked: locks}
	free := locks.has(info)
	if !free {
		free, err = f.TryLock()
	}
	if err == nil && !free {
		err = errors.New("locked by another process")
	}
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		t.close()
		return nil, &OutputError{Op: "lock", Path: path, Err: err}
	}
	if t.info, err = f.Stat(); err == nil && !sameFile(info, t.info) {
		err = errChanged
	}
	if err != nil {
		t.close()
		return nil, &InputError{path, err}
	}
	return t, nil
}

func (t *placed) close() {
	t.file.Close()
	for _, b := range t.beside {
		b.close()
	}
	t.beside = nil
}

func (t *placed) unchangedSince() error {
	now, err := t.fs.Lstat(t.path)
	if err != nil {
		return &InputError{t.path, err}
	}
	if !Unchanged(t.info, now) {
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
		return errors.Join(err, t.forget(endedUntouched))
	}
	return nil
}

// forgotten reports whether the journal is surely gone.
func (t *placed) forgotten() bool {
	_, err := t.fs.Lstat(journalPath(t.path))
	return errors.Is(err, fs.ErrNotExist)
}

// forget removes the journal of a file in the given state.
func (t *placed) forget(s ending) error {
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
