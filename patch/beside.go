package patch

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
)

// Beside is a small JSON file in the folder of a file that is changed in place,
// which gets another content together with it.
type Beside struct {
	Path     string // not of a link
	Info     fs.FileInfo
	Old, New []byte
}

// mostBeside bounds the files beside one that a journal holds.
const mostBeside = 16

// besideEntry is a file beside the target in a journal: sizes in the header,
// the old and the new content in the body.
type besideEntry struct {
	Name     string `json:"name"` // base name
	Old      int64  `json:"old"`  // sizes
	New      int64  `json:"new"`
	old, new []byte
}

// swap are the digests of a file before and after it is replaced as a whole.
type swap struct {
	Old []byte `json:"old"`
	New []byte `json:"new"`
}

// takes adds files beside the target to a journal.
func (j *journal) takes(all []Beside) {
	for _, b := range all {
		j.Beside = append(j.Beside, besideEntry{filepath.Base(b.Path), int64(len(b.Old)), int64(len(b.New)), b.Old, b.New})
	}
}

// isBeside reports whether a journal may name a file beside its target: no
// journal that came with a download reaches further.
func (j *journal) isBeside(name string) bool {
	return isBaseName(name) && name != j.Target && strings.HasSuffix(name, ".json")
}

// isUndo reports whether a journal may have a file removed: an undo patch of
// its target, or none.
func (j *journal) isUndo(name string) bool {
	return name == "" || isBaseName(name) && strings.HasPrefix(name, j.Target+".undo") && strings.HasSuffix(name, Suffix)
}

// openBeside opens and locks the files beside the target that a journal has.
// Those that are gone are left out, but where files that are expected are given.
func (t *placed) openBeside(j *journal, expected []Beside) error {
	for i, b := range j.Beside {
		path := filepath.Join(filepath.Dir(t.path), b.Name)
		p, err := openLocked(t.fs, path, t.locked)
		if errors.Is(err, fs.ErrNotExist) && expected == nil {
			continue
		}
		if err == nil {
			t.beside = append(t.beside, &besidePlaced{p, b})
		}
		if err == nil && expected != nil && !Unchanged(expected[i].Info, p.info) {
			err = &InputError{path, errChanged}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// besidePlaced is a file beside the target, locked.
type besidePlaced struct {
	*placed
	besideEntry
}

// inspect sees that the file is one that the edit can have left: bytes that
// both contents have a place for are of one of them.
func (b *besidePlaced) inspect() error {
	other := &RefusedError{b.path, "changed since the unfinished edit", "move it away, recover again, and put it back with the length that the model has then"}
	size := b.info.Size()
	if size < min(b.Old, b.New) || size > max(b.Old, b.New) {
		return other
	}
	now, err := readRange(b.file, 0, min(b.Old, b.New))
	if err != nil {
		return &InputError{b.path, err}
	}
	for i, c := range now {
		if c != b.old[i] && c != b.new[i] {
			return other
		}
	}
	return nil
}

// settle gives the file one of its contents.
func (b *besidePlaced) settle(content []byte) error {
	fault := func(err error) error { return &OutputError{Op: "write", Path: b.path, Err: err} }
	now, err := readRange(b.file, 0, b.info.Size())
	if err != nil {
		return &InputError{b.path, err}
	}
	if !bytes.Equal(now, content) {
		if err := writeAll(b.file, content); err != nil {
			return fault(err)
		}
		if err := b.file.Truncate(int64(len(content))); err != nil {
			return fault(err)
		}
	}
	if err := b.file.Sync(); err != nil { // an earlier run may have left it in memory only
		return fault(err)
	}
	return b.restat()
}

// conclude makes what belongs to the file agree with it, old or new, and
// forgets the journal.
func (t *placed) conclude(j *journal, new bool) error {
	if err := t.settle(new); err != nil {
		return err
	}
	return t.end(j, new)
}

// settle gives the files beside the target their old or new contents.
func (t *placed) settle(new bool) error {
	for _, b := range t.beside {
		content := b.old
		if new {
			content = b.new
		}
		if err := b.settle(content); err != nil {
			return err
		}
	}
	return nil
}

// end removes the undo patch that is of no use any more, and the journal.
func (t *placed) end(j *journal, new bool) error {
	s, gone := endedOld, j.Made
	if new {
		s, gone = endedNew, j.Spent
	}
	var left error
	if gone != "" {
		path := filepath.Join(filepath.Dir(t.path), gone)
		if err := ignoreAbsent(t.fs.Remove(path)); err != nil {
			left = &OutputError{Op: "remove it", Path: path, Err: err, Done: s.done, State: s.what + ", but an undo patch that fits it no more is still here"}
		}
	}
	return errors.Join(t.forget(s), left)
}

// swapped reports which of the two whole files that a replacement can leave the target is.
func (t *placed) swapped(j *journal) (new bool, err error) {
	sum := sha256.New()
	if _, err := io.Copy(sum, io.NewSectionReader(t.file, 0, t.info.Size())); err != nil {
		return false, &InputError{t.path, err}
	}
	switch got := sum.Sum(nil); {
	case bytes.Equal(got, j.Swap.New):
		return true, nil
	case bytes.Equal(got, j.Swap.Old):
		return false, nil
	}
	return false, t.foreign("is another one")
}
