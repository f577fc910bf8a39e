package patch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
)

// change makes the edit and lets the disk have it.
func (t *placed) change(ctx context.Context, j *journal) error {
	if j.back() {
		return t.makeLow(j)
	}
	// First what is appended: its source may read this file, of which nothing
	// else has changed yet.
	if err := t.append(ctx, j); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return t.makeHigh(j)
}

func (t *placed) append(ctx context.Context, j *journal) error {
	if j.tail == nil {
		return nil
	}
	c := copier{ctx: ctx, buffer: make([]byte, bufferSize), done: func(int64) {}, out: t.file, target: t.path}
	if err := c.writeNew(Segment{At: j.Before, Size: j.tail.Size(), New: j.tail}); err != nil {
		return err
	}
	if j.Shift == nil {
		return nil
	}
	// Recovery tells a file that is being shifted by its size.
	if err := t.file.Sync(); err != nil {
		return &OutputError{Op: "sync", Path: t.path, Err: err}
	}
	return nil
}

// makeHigh inserts the blocks and writes the new bytes.
func (t *placed) makeHigh(j *journal) error {
	if s := j.Shift; s != nil {
		err := t.file.InsertRange(s.At, s.Bytes)
		if errors.Is(err, errors.ErrUnsupported) {
			return &RefusedError{t.path, "the file system does not insert blocks into this file", writeNewInstead}
		}
		if err != nil {
			return &OutputError{Op: "insert blocks", Path: t.path, Err: err}
		}
		if err := t.write(j.inserted, s.At); err != nil {
			return err
		}
	}
	return t.fillHigh(j)
}

func (t *placed) write(b []byte, at int64) error {
	if _, err := t.file.WriteAt(b, at); err != nil {
		return &OutputError{Op: "write", Path: t.path, Err: err}
	}
	return nil
}

// fillHigh writes the new bytes of a file whose blocks are in place.
func (t *placed) fillHigh(j *journal) error {
	for _, r := range j.ranges {
		if err := t.write(r.new, j.Shift.high(r.at)); err != nil {
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
	low := j.low(t.file, !j.back())
	differs := func(err error) error {
		return &OutputError{Op: "read back", Path: t.path, Err: err}
	}
	for _, r := range j.ranges {
		want := r.new
		if j.back() {
			want = r.old
		}
		got, err := readRange(low, r.at, int64(len(want)))
		if err == nil && !bytes.Equal(got, want) {
			err = errors.New("reads differently from what was written")
		}
		if err != nil {
			return differs(err)
		}
	}
	if j.back() {
		return nil
	}
	for _, whole := range []func() (bool, error){
		func() (bool, error) { return j.tailIsWhole(low) },
		func() (bool, error) { return j.insertedIsWhole(t.file) },
	} {
		ok, err := whole()
		if err == nil && !ok {
			err = errors.New("new bytes read differently")
		}
		if err != nil {
			return differs(err)
		}
	}
	return nil
}

// undo takes back what change did, or as much of it as was done. An interrupt
// does not interrupt it.
func (t *placed) undo(j *journal) error {
	if !j.back() {
		return t.putBack(j)
	}
	stage, _, err := t.findShift(j)
	if err != nil {
		return err
	}
	again := func(j *journal) error {
		if err := t.append(context.Background(), j); err != nil {
			return err
		}
		return t.makeHigh(j)
	}
	switch stage {
	case shiftNone:
	case shiftDone: // the blocks could not be removed
		if whole, err := j.insertedIsWhole(t.file); err != nil || !whole {
			return errors.Join(err, t.foreign("lost what an edit was to remove"))
		}
		again = t.fillHigh
	default:
		if err := t.makeLow(j); err != nil {
			return err
		}
	}
	if err := again(j); err != nil {
		return err
	}
	return t.conclude(j, false)
}

// putBack makes the file the low one, and concludes.
func (t *placed) putBack(j *journal) error {
	if err := t.makeLow(j); err != nil {
		return err
	}
	if j.Shift != nil {
		// What could not be seen while blocks were moving.
		if err := t.fits(j, t.file); err != nil {
			return err
		}
	}
	return t.conclude(j, j.back())
}

// makeLow takes inserted blocks out, wherever their insertion came to, writes
// the old bytes, and lets the disk have them: only then may the journal go.
func (t *placed) makeLow(j *journal) error {
	if err := t.unshift(j); err != nil {
		return err
	}
	fault := func(err error) error { return &OutputError{Op: "put back", Path: t.path, Err: err} }
	for _, r := range j.ranges {
		if j.Shift != nil {
			if _, err := t.oldOrNew(r, t.file); err != nil {
				return err
			}
		}
		if _, err := t.file.WriteAt(r.old, r.at); err != nil {
			return fault(err)
		}
	}
	if j.cut != nil {
		if _, err := t.file.WriteAt(j.cut, j.After); err != nil {
			return fault(err)
		}
	}
	if err := t.file.Truncate(j.Before); err != nil {
		return fault(err)
	}
	if err := t.file.Sync(); err != nil {
		return &OutputError{Op: "sync", Path: t.path, Err: err}
	}
	return nil
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
		return errors.Join(err, t.forget(endedUntouched)) // nothing is written, so nothing is put back
	}
	if err := t.placeUndo(); err != nil {
		return errors.Join(err, t.forget(endedUntouched))
	}
	err := t.change(ctx, j)
	if err == nil {
		err = t.compare(j)
	}
	if err == nil && check != nil {
		err = check(t.path)
	}
	if err == nil {
		err = t.settle(true)
	}
	if err != nil {
		if undone := t.undo(j); undone != nil {
			// Not wrapped: an interrupt that left the file changed is a failure.
			return &OutputError{Op: "edit", Path: t.path, Err: fmt.Errorf("%v; putting the old bytes back: %w", err, undone), Hint: "modelpatch recover puts the old bytes back"}
		}
		return err
	}
	return t.end(j, true)
}
