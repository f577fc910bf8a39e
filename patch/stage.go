package patch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// stage is where outputs are made: beside the target as one file, or as a
// folder when there are several, so that they find each other by name. It is
// locked while its maker lives.
type stage struct {
	fs     FS
	path   string   // the temporary file, or the folder of them
	names  []string // in the folder; nil: path is a file
	lock   File     // nil where the system has no locks
	target string
}

// takeLock locks the stage by a handle of its own, which outlives the outputs'.
func (s *stage) takeLock(open func(string) (File, error)) error {
	f, err := open(s.path)
	if err != nil {
		return &OutputError{Op: "lock", Path: s.target, Err: err}
	}
	free, err := f.TryLock()
	if errors.Is(err, errors.ErrUnsupported) {
		f.Close() // Windows could not rename a file that is open
		return nil
	}
	s.lock = f
	if err == nil && free {
		err = s.stillThere()
	} else if err == nil {
		err = fmt.Errorf("locked by another process")
	}
	if err != nil {
		return &OutputError{Op: "lock", Path: s.target, Err: err}
	}
	return nil
}

// stillThere guards against another run that took the new file for a stale one
// in the moment before it was locked.
func (s *stage) stillThere() error {
	held, err := s.lock.Stat()
	if err != nil {
		return err
	}
	named, err := s.fs.Lstat(s.path)
	if err != nil {
		return err
	}
	if !sameFile(held, named) {
		return errors.New("another run took its place")
	}
	return nil
}

// remove clears away whatever still stands on the stage, then unlocks it.
func (s *stage) remove() error {
	var all error
	gone := func(err error) {
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			all = errors.Join(all, &OutputError{Op: "remove temporary file", Path: s.target, Err: err})
		}
	}
	switch {
	case s.path == "":
	case s.names == nil:
		gone(s.fs.Remove(s.path))
	default:
		gone(removeFolder(s.fs, s.path))
	}
	if s.lock != nil {
		s.lock.Close()
	}
	return all
}

// removeFolder removes a folder of plain files. No stage holds others, so one
// that does is left as it is.
func removeFolder(fs FS, path string) error {
	entries, err := fs.ReadDir(path)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.Type().IsRegular() {
			return fmt.Errorf("%s holds %s, which no edit puts there", path, e.Name())
		}
	}
	for _, e := range entries {
		if err := fs.Remove(filepath.Join(path, e.Name())); err != nil {
			return err
		}
	}
	return fs.Remove(path)
}

// removeStale removes temporary files of target whose makers are dead, which
// their free locks tell, and reports whether there were any. Failing to remove
// them is no reason not to go on.
func removeStale(fs FS, target string) (some bool) {
	if hasJournal(target, fs) {
		return false // it may still need them
	}
	folder := filepath.Dir(target)
	entries, err := fs.ReadDir(folder)
	if err != nil {
		return false
	}
	for _, e := range entries {
		if !isTemp(e.Name(), target) {
			continue
		}
		path := filepath.Join(folder, e.Name())
		removed := false
		if e.Type().IsRegular() {
			removed = removeIfFree(fs, path, fs.Open, fs.Remove)
		} else if e.IsDir() {
			removed = removeIfFree(fs, path, fs.OpenDir, func(path string) error { return removeFolder(fs, path) })
		}
		some = some || removed
	}
	return some
}

// removeIfFree removes a file or folder that nobody has locked, unless the path
// is a link by now.
func removeIfFree(fs FS, path string, open func(string) (File, error), remove func(string) error) bool {
	f, err := open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	if free, err := f.TryLock(); err != nil || !free {
		return false
	}
	held, err1 := f.Stat()
	named, err2 := fs.Lstat(path)
	return err1 == nil && err2 == nil && sameFile(held, named) && remove(path) == nil
}
