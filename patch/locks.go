package patch

import (
	"errors"
	"io/fs"
)

// Locks keep files locked from the first look at them to the last byte written,
// so that no other run of this program changes them between. The zero value and
// nil lock nothing.
type Locks struct {
	files []File
	infos []fs.FileInfo
}

// Lock locks those of the given files that are there and may be written; what
// speaks against the others is said by whoever opens them. Links are followed.
// A file that another process has locked is an *OutputError. files is the file
// system; nil: OS.
func Lock(files FS, paths ...string) (*Locks, error) {
	if files == nil {
		files = OS
	}
	l := &Locks{}
	for _, path := range paths {
		if err := l.add(files, path); err != nil {
			l.Close()
			return nil, err
		}
	}
	return l, nil
}

// add locks one file. One that was replaced before its lock was there is not it.
func (l *Locks) add(files FS, path string) error {
	const tries = 100
	for range tries {
		info, err := files.Stat(path)
		if err != nil || !info.Mode().IsRegular() || l.has(info) {
			return nil
		}
		f, err := files.OpenWrite(path)
		if err != nil {
			return nil
		}
		free, err := f.TryLock()
		if errors.Is(err, errors.ErrUnsupported) {
			f.Close()
			return nil
		}
		if err == nil && !free {
			err = errors.New("locked by another process")
		}
		if err != nil {
			f.Close()
			return &OutputError{Op: "lock", Path: path, Err: err}
		}
		now, err := files.Stat(path)
		if err == nil {
			if info, err = f.Stat(); err == nil && sameFile(now, info) {
				l.files, l.infos = append(l.files, f), append(l.infos, info)
				return nil
			}
		}
		f.Close()
	}
	return &OutputError{Op: "lock", Path: path, Err: errChanged}
}

// has reports whether a file is locked.
func (l *Locks) has(info fs.FileInfo) bool {
	if l == nil {
		return false
	}
	for _, locked := range l.infos {
		if sameFile(locked, info) {
			return true
		}
	}
	return false
}

// Close lets go of the files.
func (l *Locks) Close() {
	if l == nil {
		return
	}
	for _, f := range l.files {
		f.Close()
	}
	l.files, l.infos = nil, nil
}
