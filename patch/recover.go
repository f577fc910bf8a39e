package patch

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
)

// Recovered says what Recover found and did.
type Recovered string

// Outcomes of Recover.
const (
	RecoveredNothing Recovered = "nothing to recover"
	RecoveredNew     Recovered = "the edit was complete and is kept"
	RecoveredOld     Recovered = "the old bytes are back"
)

// Unfinished reports whether path has the journal of an edit that was cut
// short. Reading such a file is not safe: bytes may be old and new.
func Unfinished(path string, files FS) bool {
	if files == nil {
		files = OS
	}
	_, err := files.Lstat(journalPath(path))
	return err == nil
}

// Recover finishes or undoes an edit in place that a crash cut short, by its
// journal. It writes nothing unless every byte of the edited ranges is the old
// one or the new one and the ends of the file are as they were: otherwise
// somebody else changed the file, a *RefusedError. A damaged journal is an
// *InputError; a file that is being edited, an *OutputError. Temporary files of
// killed runs are removed as well. files is the file system; nil: OS.
func Recover(path string, files FS) (Recovered, error) {
	if files == nil {
		files = OS
	}
	if !Unfinished(path, files) {
		removeStale(files, path)
		return RecoveredNothing, nil
	}
	t, err := openTarget(files, path)
	if err != nil {
		return RecoveredNothing, err
	}
	defer t.close()
	return t.recover()
}

// recover is Recover of a locked file.
func (t *placed) recover() (Recovered, error) {
	j, err := t.readJournal()
	if err != nil || j == nil {
		return RecoveredNothing, err
	}
	allNew, err := t.inspect(j)
	if err != nil {
		return RecoveredNothing, err
	}
	if !allNew {
		if err := t.putBack(j); err != nil {
			return RecoveredNothing, err
		}
		return RecoveredOld, t.restat()
	}
	// The new bytes may still be in memory only.
	if err := t.file.Sync(); err != nil {
		return RecoveredNothing, &OutputError{Op: "sync", Path: t.path, Err: err}
	}
	if err := t.forget(); err != nil {
		return RecoveredNothing, err
	}
	return RecoveredNew, t.restat()
}

func (t *placed) restat() (err error) {
	if t.info, err = t.file.Stat(); err != nil {
		return &InputError{t.path, err}
	}
	return nil
}

// readJournal is nil where there is none.
func (t *placed) readJournal() (*journal, error) {
	f, err := t.fs.Open(journalPath(t.path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, &InputError{journalPath(t.path), err}
	}
	defer f.Close()
	info, err := f.Stat()
	// Twice what may be replaced, and room for the header.
	if err == nil && info.Size() > 3*MostInPlace {
		err = fmt.Errorf("%d bytes are too many for a journal", info.Size())
	}
	var b []byte
	if err == nil {
		b, err = readRange(f, 0, info.Size())
	}
	var j *journal
	if err == nil {
		j, err = decodeJournal(b)
	}
	if err != nil {
		return nil, &InputError{journalPath(t.path), err}
	}
	return j, nil
}

// inspect sees that the file is one that the edit can have left, and whether
// the edit is complete.
func (t *placed) inspect(j *journal) (allNew bool, err error) {
	size := t.info.Size()
	least, most := min(j.Before, j.After), max(j.Before, j.After)
	if size < least || size > most {
		return false, t.foreign("has another size")
	}
	outside, err := j.outside(t.file)
	if err != nil {
		return false, &InputError{t.path, err}
	}
	if !bytes.Equal(outside, j.Outside) {
		return false, t.foreign("differs outside of the edit")
	}
	allNew = size == j.After
	for _, r := range j.ranges {
		now, err := readRange(t.file, r.at, int64(len(r.old)))
		if err != nil {
			return false, &InputError{t.path, err}
		}
		for i, b := range now {
			if b != r.old[i] && b != r.new[i] {
				return false, t.foreign(fmt.Sprintf("byte %d is neither the old nor the new one", r.at+int64(i)))
			}
		}
		allNew = allNew && bytes.Equal(now, r.new)
	}
	if j.cut != nil && size > j.After {
		now, err := readRange(t.file, j.After, size-j.After)
		if err != nil {
			return false, &InputError{t.path, err}
		}
		if !bytes.Equal(now, j.cut[:len(now)]) {
			return false, t.foreign("ends differently")
		}
	}
	if allNew {
		if allNew, err = j.tailIsWhole(t.file); err != nil {
			return false, &InputError{t.path, err}
		}
	}
	return allNew, nil
}

func (t *placed) foreign(how string) error {
	return &RefusedError{t.path, "changed since the unfinished edit: it " + how,
		"if the file is as you want it, remove " + journalPath(t.path)}
}
