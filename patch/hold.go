package patch

import (
	"errors"
	"io/fs"
)

// Hold keeps files locked from the first look at them to the last byte written,
// so that no other run of this program changes them between. The zero value and
// nil hold nothing.
type Hold struct {
	files []File
	infos []fs.FileInfo
}

// Lock locks those of the given files that are there and may be written; what
// speaks against the others is said by whoever opens them. Links are followed.
// A file that another process has locked is an *OutputError. files is the file
// system; nil: OS.
func Lock(files FS, paths ...string) (*Hold, error) {
	if files == nil {
		files = OS
	}
	h := &Hold{}
	for _, path := range paths {
		if err := h.add(files, path); err != nil {
			h.Close()
			return nil, err
		}
	}
	return h, nil
}

// add locks one file. One that was replaced before its lock was there is not it.
func (h *Hold) add(files FS, path string) error {
	const tries = 100
	for range tries {
		info, err := files.Stat(path)
		if err != nil || !info.Mode().IsRegular() || h.has(info) {
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
				h.files, h.infos = append(h.files, f), append(h.infos, info)
				return nil
			}
		}
		f.Close()
	}
	return &OutputError{Op: "lock", Path: path, Err: errChanged}
}

// has reports whether a file is held.
func (h *Hold) has(info fs.FileInfo) bool {
	if h == nil {
		return false
	}
	for _, held := range h.infos {
		if sameFile(held, info) {
			return true
		}
	}
	return false
}

// Close lets go of the files.
func (h *Hold) Close() {
	if h == nil {
		return
	}
	for _, f := range h.files {
		f.Close()
	}
	h.files, h.infos = nil, nil
}
