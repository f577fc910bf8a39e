package patch

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
)

// shift is the insertion of Bytes whole blocks at At, in a journal. The file
// without it is called low here, the one with it high; all other offsets of a
// journal are those of the low file. An edit that removes blocks is journalled
// as the insertion that would bring them back, with Back set: then the low
// file is the new one.
type shift struct {
	At     int64  `json:"at"`
	Bytes  int64  `json:"bytes"`
	SHA256 []byte `json:"sha256"` // of what stands in the inserted blocks
	Back   bool   `json:"back,omitempty"`
}

// size is the number of bytes that the shift inserts; 0 without one.
func (s *shift) size() int64 {
	if s == nil {
		return 0
	}
	return s.Bytes
}

// high is where an offset of the low file lies in the high one.
func (s *shift) high(at int64) int64 {
	if s != nil && at >= s.At {
		at += s.Bytes
	}
	return at
}

// lowReader reads a high file by the offsets of the low one.
type lowReader struct {
	r io.ReaderAt
	s *shift
}

// ReadAt reads at offsets of the low file, in two pieces across the shift.
func (l lowReader) ReadAt(p []byte, at int64) (int, error) {
	if at >= l.s.At || at+int64(len(p)) <= l.s.At {
		return l.r.ReadAt(p, l.s.high(at))
	}
	n, err := l.r.ReadAt(p[:l.s.At-at], at)
	if err != nil {
		return n, err
	}
	m, err := l.r.ReadAt(p[n:], l.s.high(l.s.At))
	return n + m, err
}

// lowSize is the size of the low file: what is appended is appended to it,
// before the shift.
func (j *journal) lowSize() int64 { return j.After - j.Shift.size() }

// back reports whether the edit removes blocks.
func (j *journal) back() bool { return j.Shift != nil && j.Shift.Back }

// low is the file by the offsets of the low one, whichever it is now.
func (j *journal) low(r io.ReaderAt, shifted bool) io.ReaderAt {
	if j.Shift == nil || !shifted {
		return r
	}
	return lowReader{r, j.Shift}
}

// insertedIsWhole reports whether the inserted blocks hold what they should.
func (j *journal) insertedIsWhole(f io.ReaderAt) (bool, error) {
	if j.Shift == nil {
		return true, nil
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, io.NewSectionReader(f, j.Shift.At, j.Shift.Bytes)); err != nil {
		return false, err
	}
	return bytes.Equal(sum.Sum(nil), j.Shift.SHA256), nil
}

// stage is how far a shift has come.
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
