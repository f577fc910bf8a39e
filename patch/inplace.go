package patch

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"regexp"
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
	// Check is given the changed file's path before the change is final. An
	// error brings the old bytes back and is returned.
	Check func(path string) error
	// FS is the file system; nil: OS.
	FS FS
}

// Undo says how an edit in place is taken back.
type Undo struct {
	Path  string // the patch file; empty: none was asked for
	Bytes int64
}

// InPlace changes the plan's one edited input itself. Edits must keep their
// sizes, but for the end of the file, where bytes may be added or removed. A
// journal `.NAME.modelpatch-journal` is on disk before the first byte changes,
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
	if err != nil {
		return Undo{}, err
	}
	t, err := openTarget(o.FS, p.Inputs[file].Path)
	if err != nil {
		return Undo{}, err
	}
	defer t.close()
	if outcome, err := t.recover(); err != nil {
		return Undo{}, err
	} else if outcome != RecoveredNothing {
		return Undo{}, &InputError{t.path, fmt.Errorf("an unfinished edit was found; %s. Run the command again", outcome)}
	}
	in := p.Inputs[file]
	if t.info.Size() != in.Size || in.Info != nil && !unchanged(in.Info, t.info) {
		return Undo{}, &InputError{t.path, errChanged}
	}
	j, err := t.plan(ctx, p, file)
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
		if undo.Path != "" {
			err = errors.Join(err, o.FS.Remove(undo.Path))
		}
		return Undo{}, err
	}
	return undo, nil
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
var digestName = regexp.MustCompile(`^(sha256[-:])?[0-9a-fA-F]{64}$`)

func openTarget(files FS, path string) (*placed, error) {
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
	case digestName.MatchString(filepath.Base(path)) || filepath.Base(filepath.Dir(path)) == "blobs":
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
	removeStale(files, path)
	return t, nil
}

func (t *placed) close() { t.file.Close() }

// plan reads what is to be replaced and what by, and turns it into a journal.
func (t *placed) plan(ctx context.Context, p Plan, file int) (*journal, error) {
	j := &journal{Target: filepath.Base(t.path), Before: t.info.Size(), After: t.info.Size()}
	var held int64
	var tail []Source
	for _, e := range p.Normalize().Edits {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		size := sizeOf(e.New)
		switch {
		case e.Old == size:
			if held += e.Old; held > MostInPlace {
				return nil, tooMuch(t.path)
			}
			old, err := readRange(t.file, e.At, e.Old)
			if err != nil {
				return nil, &InputError{t.path, err}
			}
			new, err := readSource(e.New)
			if err != nil {
				return nil, err
			}
			j.add(e.At, old, new)
		case e.Old == 0 && e.At == j.Before:
			tail = append(tail, e.New)
			j.After += size
		case size == 0 && e.At+e.Old == j.Before && len(tail) == 0:
			if held += e.Old; held > MostInPlace {
				return nil, tooMuch(t.path)
			}
			old, err := readRange(t.file, e.At, e.Old)
			if err != nil {
				return nil, &InputError{t.path, err}
			}
			j.cut, j.After = old, e.At
		default:
			return nil, &RefusedError{t.path, fmt.Sprintf("%s: would move the bytes after offset %d", e.Why, e.At), "write a new file with -o"}
		}
	}
	if j.cut != nil && len(tail) > 0 {
		return nil, &RefusedError{t.path, "the end is both cut and added to", "write a new file with -o"}
	}
	return j, t.planTail(ctx, j, tail)
}

func tooMuch(path string) error {
	return &RefusedError{path, fmt.Sprintf("more than %d bytes would be replaced", MostInPlace), "write a new file with -o"}
}

// planTail reads appended bytes once for their sum, by which recovery tells
// whether they are all there, and the sum of what stays.
func (t *placed) planTail(ctx context.Context, j *journal, tail []Source) error {
	if len(tail) > 0 {
		j.tail = Concat(tail...)
		sum := sha256.New()
		if _, err := io.Copy(sum, contextReader{ctx, newExactReader(j.tail)}); err != nil {
			return err
		}
		j.Appended = sum.Sum(nil)
	}
	outside, err := j.outside(t.file)
	if err != nil {
		return &InputError{t.path, err}
	}
	j.Outside = outside
	return nil
}

type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (c contextReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}

func readRange(r io.ReaderAt, at, n int64) ([]byte, error) {
	b := make([]byte, n)
	got, err := r.ReadAt(b, at)
	if got == len(b) {
		return b, nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = errCut
	}
	return nil, err
}

func readSource(s Source) ([]byte, error) {
	if s == nil {
		return nil, nil
	}
	b := make([]byte, s.Size())
	r := newExactReader(s)
	if _, err := io.ReadFull(r, b); err != nil {
		return nil, err
	}
	if _, err := r.Read(nil); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return b, nil
}

// edit journals the change, makes it, looks at it, and forgets the journal.
func (t *placed) edit(ctx context.Context, j *journal, check func(string) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := t.publish(j); err != nil {
		return err
	}
	if err := t.unchangedSince(); err != nil {
		return errors.Join(err, t.forget()) // nothing is written, so nothing is put back
	}
	err := t.change(ctx, j)
	if err == nil {
		err = t.compare(j)
	}
	if err == nil && check != nil {
		err = check(t.path)
	}
	if err != nil {
		if undone := t.putBack(j); undone != nil {
			return &OutputError{Op: "edit", Path: t.path, Err: errors.Join(err, undone), Hint: "recover puts the old bytes back"}
		}
		return err
	}
	return t.forget()
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
	}
	if err != nil {
		return errors.Join(err, ignoreAbsent(t.fs.Remove(temp)))
	}
	if step(syncDir(t.fs, filepath.Dir(t.path))); err != nil {
		return errors.Join(err, t.forget())
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

// change writes the new bytes and lets the disk have them.
func (t *placed) change(ctx context.Context, j *journal) error {
	for _, r := range j.ranges {
		if err := ctx.Err(); err != nil {
			return err
		}
		if _, err := t.file.WriteAt(r.new, r.at); err != nil {
			return &OutputError{Op: "write", Path: t.path, Err: err}
		}
	}
	if j.tail != nil {
		c := copier{ctx: ctx, buffer: make([]byte, bufferSize), done: func(int64) {}, out: t.file, target: t.path}
		if err := c.writeNew(Segment{At: j.Before, Size: j.tail.Size(), New: j.tail}); err != nil {
			return err
		}
	}
	if j.After < j.Before {
		if err := t.file.Truncate(j.After); err != nil {
			return &OutputError{Op: "write", Path: t.path, Err: err}
		}
	}
	if err := t.file.Sync(); err != nil {
		return &OutputError{Op: "sync", Path: t.path, Err: err}
	}
	return nil
}

// compare reads the change back.
func (t *placed) compare(j *journal) error {
	for _, r := range j.ranges {
		got, err := readRange(t.file, r.at, int64(len(r.new)))
		if err == nil && !bytes.Equal(got, r.new) {
			err = errors.New("reads differently from what was written")
		}
		if err != nil {
			return &OutputError{Op: "read back", Path: t.path, Err: err}
		}
	}
	whole, err := j.tailIsWhole(t.file)
	if err == nil && !whole {
		err = errors.New("appended bytes read differently")
	}
	if err != nil {
		return &OutputError{Op: "read back", Path: t.path, Err: err}
	}
	return nil
}

// putBack writes the old bytes and forgets the journal.
func (t *placed) putBack(j *journal) error {
	for _, r := range j.ranges {
		if _, err := t.file.WriteAt(r.old, r.at); err != nil {
			return &OutputError{Op: "put back", Path: t.path, Err: err}
		}
	}
	if j.cut != nil {
		if _, err := t.file.WriteAt(j.cut, j.After); err != nil {
			return &OutputError{Op: "put back", Path: t.path, Err: err}
		}
	}
	if err := t.file.Truncate(j.Before); err != nil {
		return &OutputError{Op: "put back", Path: t.path, Err: err}
	}
	// The journal may go only when the disk has the old bytes.
	if err := t.file.Sync(); err != nil {
		return &OutputError{Op: "sync", Path: t.path, Err: err}
	}
	return t.forget()
}

// forget removes the journal.
func (t *placed) forget() error {
	err := t.fs.Remove(journalPath(t.path))
	if err == nil {
		err = syncDir(t.fs, filepath.Dir(t.path))
	}
	if err != nil {
		return &OutputError{Op: "remove journal", Path: t.path, Err: err, Hint: "recover finishes the edit"}
	}
	return nil
}
