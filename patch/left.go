package patch

import (
	"bytes"
	"fmt"
	"io"
)

// stageOfShift is how far a shift has come.
type stageOfShift int

const (
	shiftNone   stageOfShift = iota // the file is the low one
	shiftGrown                      // it has the new size, nothing moved
	shiftMoving                     // a hole of the shift's size stands at hole
	shiftDone                       // it is the high one; the blocks may be unwritten
	shiftOther                      // no shift leaves such a file
)

// findShift sees by the moving hole how far the shift has come. The file had no
// hole before it (facts/BAD-INPUTS §5 "Block insertion"; tested here besides:
// that nothing follows the hole of a file that only grew, and that the holes
// of a shift that is done are in the inserted blocks alone).
func (t *placed) findShift(j *journal) (stage stageOfShift, hole int64, err error) {
	info, err := t.file.Stat()
	if err != nil {
		return 0, 0, &InputError{t.path, err}
	}
	s, low, size := j.Shift, j.lowSize(), info.Size()
	switch {
	case s == nil || size <= max(low, j.Before):
		return shiftNone, 0, nil
	case size != low+s.Bytes:
		return shiftOther, 0, nil
	}
	after, data := int64(0), int64(0)
	for _, look := range []func() error{
		func() (err error) { hole, err = t.file.NextHole(0); return err },
		func() (err error) { data, err = t.file.NextData(hole); return err },
		func() (err error) { after, err = t.file.NextHole(s.At + s.Bytes); return err },
	} {
		if err := look(); err != nil {
			return 0, 0, &InputError{t.path, fmt.Errorf("looking for holes: %w", err)}
		}
	}
	switch {
	case hole >= size:
		return shiftDone, 0, nil
	case hole >= low && data < 0:
		return shiftGrown, 0, nil
	case hole >= s.At && hole < s.At+s.Bytes && after >= size:
		return shiftDone, 0, nil
	case data == hole+s.Bytes:
		return shiftMoving, hole, nil
	}
	return shiftOther, 0, nil
}

// unshift makes the file the low one, from wherever the shift came.
func (t *placed) unshift(j *journal) error {
	if j.Shift == nil {
		return nil
	}
	for {
		stage, hole, err := t.findShift(j)
		if err != nil {
			return err
		}
		switch stage {
		case shiftNone:
			return nil
		case shiftGrown:
			err = t.file.Truncate(j.lowSize())
		case shiftMoving:
			err = t.file.CollapseRange(hole, j.Shift.Bytes)
		case shiftDone:
			err = t.file.CollapseRange(j.Shift.At, j.Shift.Bytes)
		case shiftOther:
			return t.foreign("is not one that an insertion can leave")
		}
		if err != nil {
			return &OutputError{Op: "put back", Path: t.path, Err: err}
		}
	}
}

// fits sees that the ends of the file are those that the journal knows.
func (t *placed) fits(j *journal, low io.ReaderAt) error {
	outside, err := j.outside(low)
	if err != nil {
		return &InputError{t.path, err}
	}
	if !bytes.Equal(outside, j.Outside) {
		return t.foreign("differs outside of the edit")
	}
	return nil
}

// oldOrNew reads a range and sees that each byte is the old or the new one.
func (t *placed) oldOrNew(r journalRange, low io.ReaderAt) ([]byte, error) {
	now, err := readRange(low, r.at, int64(len(r.old)))
	if err != nil {
		return nil, &InputError{t.path, err}
	}
	for i, b := range now {
		if b != r.old[i] && b != r.new[i] {
			return nil, t.foreign(fmt.Sprintf("byte %d is neither the old nor the new one", r.at+int64(i)))
		}
	}
	return now, nil
}

func (t *placed) foreign(how string) error {
	return &RefusedError{t.path, "changed since the unfinished edit: it " + how,
		"if the file is as you want it, remove " + journalPath(t.path)}
}
