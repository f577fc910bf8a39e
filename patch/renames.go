package patch

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
)

// recoverNames finishes the renames of a journal.
func recoverNames(files FS, path string, j *journal) error {
	fault := func(err error) error { return &OutputError{Op: "rename", Path: path, Err: err} }
	folder := filepath.Dir(path)
	names, lock, err := staged(files, folder, j)
	if err != nil {
		return err
	}
	if lock != nil {
		defer lock.Close()
		if free, err := lock.TryLock(); err == nil && !free {
			return &OutputError{Op: "lock", Path: path, Err: errors.New("locked by another process")}
		}
	}
	for _, name := range names {
		err := files.RenameIn(folder, filepath.Join(j.Stage, name), name)
		if ignoreAbsent(err) != nil {
			return fault(err)
		}
	}
	if err := syncDir(files, folder); err != nil {
		return fault(err)
	}
	return (&placed{fs: files, path: path}).forget(endedNew)
}

// staged lists the files of a journal that still wait in its stage, and opens
// the stage; nil where it is gone. The stage must be a folder and what it holds
// plain files: a link in their place was not made by an edit.
func staged(files FS, folder string, j *journal) (names []string, lock File, err error) {
	stage := filepath.Join(folder, j.Stage)
	strange := func(what string) error {
		return &InputError{stage, fmt.Errorf("the journal of an edit wants %s here", what)}
	}
	named, err := files.Lstat(stage)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil, nil
	case err != nil:
		return nil, nil, &InputError{stage, err}
	case !named.IsDir():
		return nil, nil, strange("a folder")
	}
	if lock, err = files.OpenDir(stage); err != nil {
		return nil, nil, &InputError{stage, err}
	}
	held, err := lock.Stat()
	if err == nil && !sameFile(held, named) {
		err = &InputError{stage, errChanged}
	}
	for _, name := range j.Names {
		if err != nil {
			break
		}
		info, lerr := files.Lstat(filepath.Join(stage, name))
		switch {
		case errors.Is(lerr, fs.ErrNotExist):
		case lerr != nil:
			err = &InputError{stage, lerr}
		case !info.Mode().IsRegular():
			err = strange("a file " + name)
		default:
			names = append(names, name)
		}
	}
	if err != nil {
		lock.Close()
		return nil, nil, err
	}
	return names, lock, nil
}
