package patch

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
)

// Recovered says what Recover found and did.
type Recovered string

// Outcomes of Recover.
const (
	RecoveredNothing Recovered = "nothing to recover"
	RecoveredNew     Recovered = "the edit was complete and is kept"
	RecoveredOld     Recovered = "the old bytes are back"
	// RecoveredTemporary: no edit was cut short in place, but a run that was
	// killed had left temporary files.
	RecoveredTemporary Recovered = "temporary files of a killed run were removed"
)

// Unfinished reports whether path has the journal of an edit that was cut
// short. Reading such a file is not safe: bytes may be old and new.
func Unfinished(path string, files FS) bool {
	if files == nil {
		files = OS
	}
	if _, err := files.Lstat(journalPath(path)); err != nil {
		return false
	}
	if len(filepath.Base(path)) < longestStem {
		return true
	}
	// The journal's name is cut; it may be of another file that begins alike.
	target, err := journalTarget(files, journalPath(path))
	return err != nil || target == filepath.Base(path)
}

// UnfinishedIn lists the files in a folder that have the journal of an edit that
// was cut short; see Unfinished. Journals that cannot be read are left out.
func UnfinishedIn(folder string, files FS) []string {
	if files == nil {
		files = OS
	}
	entries, err := files.ReadDir(folder)
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), tempInfix+"journal") {
			continue
		}
		// The stem may be cut short; the journal knows the whole name.
		path := filepath.Join(folder, e.Name())
		if target, err := journalTarget(files, path); err == nil && journalPath(filepath.Join(folder, target)) == path {
			out = append(out, filepath.Join(folder, target))
		}
	}
	return out
}

// Recover finishes or undoes an edit in place that a crash cut short, by its
// journal. It writes nothing unless every byte of the edited ranges is the old
// one or the new one and the ends of the file are as they were: otherwise
// somebody else changed the file, a *RefusedError. A damaged journal, and one
// that is not what an edit of this file leaves, is an *InputError: it may have
// come from anybody. It changes path alone with the JSON files beside it that the
// edit changed too, or the shards of the model that path is a shard of, and removes
// no more than an undo patch of path. A file that is being edited is an *OutputError. Temporary files
// of killed runs are removed as well, also where path itself was never made.
// files is the file system; nil: OS.
func Recover(path string, files FS) (Recovered, error) {
	if files == nil {
		files = OS
	}
	if !Unfinished(path, files) {
		if removeStale(files, path) {
			return RecoveredTemporary, nil
		}
		return RecoveredNothing, nil
	}
	if j, err := (&placed{fs: files, path: path}).readJournal(); err == nil && j != nil && len(j.Names) > 0 {
		if err := recoverNames(files, path, j); err != nil {
			return RecoveredNothing, err
		}
		removeStale(files, path)
		return RecoveredNew, nil
	}
	t, err := openTarget(files, path, nil)
	if err != nil {
		return RecoveredNothing, err
	}
	defer t.close()
	did, err := t.recover()
	if err == nil {
		removeStale(files, path)
	}
	return did, err
}

// recover is Recover of a locked file.
func (t *placed) recover() (Recovered, error) {
	j, err := t.readJournal()
	if err != nil || j == nil {
		return RecoveredNothing, err
	}
	if len(j.Names) > 0 {
		return RecoveredNew, recoverNames(t.fs, t.path, j)
	}
	if err := t.openBeside(j, nil); err != nil {
		return RecoveredNothing, err
	}
	for _, b := range t.beside {
		if err := b.inspect(); err != nil {
			return RecoveredNothing, err
		}
	}
	if j.Swap != nil {
		new, err := t.swapped(j)
		if err == nil {
			err = t.conclude(j, new)
		}
		if err != nil {
			return RecoveredNothing, err
		}
		return outcome(new), nil
	}
	complete, err := t.inspect(j)
	if err != nil {
		return RecoveredNothing, err
	}
	if !complete {
		if err := t.putBack(j); err != nil {
			return RecoveredNothing, err
		}
		return outcome(j.back()), t.restat()
	}
	// The bytes may still be in memory only.
	if err := t.file.Sync(); err != nil {
		return RecoveredNothing, &OutputError{Op: "sync", Path: t.path, Err: err}
	}
	if err := t.conclude(j, !j.back()); err != nil {
		return RecoveredNothing, err
	}
	return outcome(!j.back()), t.restat()
}

func outcome(new bool) Recovered {
	if new {
		return RecoveredNew
	}
	return RecoveredOld
}

func (t *placed) restat() (err error) {
	if t.info, err = t.file.Stat(); err != nil {
		return &InputError{t.path, err}
	}
	return nil
}

// readJournal returns the journal of the file, nil where there is none.
func (t *placed) readJournal() (*journal, error) {
	path := journalPath(t.path)
	fault := func(err error) error {
		return &InputError{path, &adviceError{err, fmt.Sprintf("if %s is as you want it, remove the journal", t.path)}}
	}
	f, size, err := openJournal(t.fs, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fault(err)
	}
	defer f.Close()
	errOther := errors.New("of another file")
	j, err := decodeJournal(f, size, func(j *journal) error {
		switch base := filepath.Base(t.path); {
		case j.Target == base:
			return t.likely(j)
		case tempPrefix(j.Target) == tempPrefix(base): // both names are cut
			return errOther
		}
		return fmt.Errorf("the journal is of another file, %q", j.Target)
	})
	switch {
	case errors.Is(err, errOther):
		return nil, nil
	case is[*RefusedError](err):
		return nil, err
	case err != nil:
		return nil, fault(err)
	}
	return j, nil
}

// likely sees by its size that the file can be one that the edit has left,
// before the journal's bytes are read: there are at most as many.
func (t *placed) likely(j *journal) error {
	if len(j.Names) > 0 {
		return nil
	}
	info, err := t.fs.Lstat(t.path)
	if err != nil {
		return err
	}
	if size := info.Size(); size < min(j.Before, j.lowSize()) || size > max(j.Before, j.After) {
		return t.foreign("has another size")
	}
	return nil
}

// inspect sees that the file is one that the edit can have left, and whether
// it has all that the journal would add to the low file. While blocks are
// moving, only the hole tells; putBack sees to the rest when they stand again.
func (t *placed) inspect(j *journal) (complete bool, err error) {
	stage, _, err := t.findShift(j)
	if err != nil {
		return false, err
	}
	switch stage {
	case shiftOther:
		return false, t.foreign("is not one that an insertion can leave")
	case shiftGrown, shiftMoving:
		return false, nil
	}
	low := j.low(t.file, stage == shiftDone)
	size := t.info.Size()
	if stage == shiftDone {
		size -= j.Shift.Bytes
	}
	if size < min(j.Before, j.lowSize()) || size > max(j.Before, j.lowSize()) {
		return false, t.foreign("has another size")
	}
	if err := t.fits(j, low); err != nil {
		return false, err
	}
	complete = size == j.lowSize() && (j.Shift == nil || stage == shiftDone)
	for _, r := range j.ranges {
		now, err := t.oldOrNew(r, low)
		if err != nil {
			return false, err
		}
		complete = complete && bytes.Equal(now, r.new)
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
	for _, whole := range []func() (bool, error){
		func() (bool, error) { return j.tailIsWhole(low) },
		func() (bool, error) { return j.insertedIsWhole(t.file) },
	} {
		if !complete {
			break
		}
		if complete, err = whole(); err != nil {
			return false, &InputError{t.path, err}
		}
	}
	return complete, nil
}

// openPlanned opens and locks a file to be changed in place and sees that it is
// the one that the plan was made for.
func openPlanned(files FS, in Input, locks *Locks) (*placed, error) {
	t, err := openTarget(files, in.Path, locks)
	if err != nil {
		return nil, err
	}
	outcome, err := t.recover()
	switch {
	case err != nil:
	case outcome != RecoveredNothing:
		err = &InputError{t.path, fmt.Errorf("an unfinished edit was found; %s. Run the command again", outcome)}
	case t.info.Size() != in.Size, in.Info != nil && !Unchanged(in.Info, t.info):
		err = &InputError{t.path, errChanged}
	}
	if err != nil {
		t.close()
		return nil, err
	}
	return t, nil
}
