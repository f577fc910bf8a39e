package patch

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"path/filepath"
)

// layout is a plan for one file on its way to a journal.
type layout struct {
	t        *placed
	ctx      context.Context
	j        *journal
	result   io.ReaderAt // the file as planned
	edits    []Edit
	moves    *Edit // the edit that moves what follows it
	ends     []Edit
	retained int64
}

// plan reads what is to be replaced and what by, and turns it into a journal.
func (t *placed) plan(ctx context.Context, p Plan, file int) (*journal, error) {
	output := p.outputOf(file)
	size := t.info.Size()
	l := &layout{t: t, ctx: ctx, result: p.View(output, t.file), edits: p.Edited(output),
		j: &journal{Target: filepath.Base(t.path), Before: size, After: p.OutputSize(output)}}
	steps := []func() error{l.sort, l.shift, l.ranges, l.end, l.outside}
	for _, step := range steps {
		if err := step(); err != nil {
			return nil, err
		}
	}
	if len(l.j.Ranges) > mostRanges {
		return nil, &RefusedError{t.path, fmt.Sprintf("more than %d places would be replaced", mostRanges), writeNewInstead}
	}
	return l.j, nil
}

// sort parts the edits: those that keep their size, the one that moves what
// follows it, and those at the end of the file.
func (l *layout) sort() error {
	var same []Edit
	for _, e := range l.edits {
		switch {
		case sizeOf(e.New) == e.Old:
			same = append(same, e)
		case e.At+e.Old == l.j.Before:
			l.ends = append(l.ends, e)
		case l.moves == nil:
			l.moves = &e
		default:
			return l.refuse(e, "it changes the file's length near offset %d, as another part of the change does elsewhere; in place, that can be at one place only", e.At+e.Old)
		}
	}
	l.edits = same
	return nil
}

func (l *layout) refuse(e Edit, format string, args ...any) error {
	return &RefusedError{l.t.path, "not in place: " + e.Why + ": " + fmt.Sprintf(format, args...), writeNewInstead}
}

// shift lays out the edit that moves what follows it, as an insertion of whole
// blocks at a block's start: bytes from there to the edit are written again.
func (l *layout) shift() error {
	if l.moves == nil {
		return nil
	}
	e, grows := *l.moves, sizeOf(l.moves.New)-l.moves.Old
	block, err := probeBlock(l.t.fs, l.t.path)
	switch {
	case err != nil && errors.As(err, new(*OutputError)):
		return err
	case err != nil:
		return l.refuse(e, "would move the bytes after offset %d; %v", e.At+e.Old, err)
	case grows%block != 0:
		return l.refuse(e, "would move the bytes after offset %d by %d, no whole number of blocks of %d", e.At+e.Old, grows, block)
	}
	s := &shift{At: e.At &^ (block - 1), Bytes: max(grows, -grows), Back: grows < 0}
	l.j.Shift = s
	if s.Back {
		l.j.Before, l.j.After = l.j.After, l.j.Before
	}
	if err := l.ready(block); is[*OutputError](err) || is[*InputError](err) {
		return err
	} else if err != nil {
		return l.refuse(e, "would move the bytes after offset %d: %v", e.At+e.Old, err)
	}
	// Held, because sources may read this file, whose bytes are going to move.
	high := l.result
	if s.Back {
		high = l.t.file
	}
	if l.retained += s.Bytes; l.retained > MostInPlace {
		return tooMuch(l.t.path)
	}
	if l.j.inserted, err = readRange(high, s.At, s.Bytes); err != nil {
		return l.unread(err)
	}
	sum := sha256.Sum256(l.j.inserted)
	s.SHA256 = sum[:]
	return nil
}

// ready sees that the file is one into which blocks can be inserted, and out
// of which recovery could take them again.
func (l *layout) ready(block int64) error {
	if l.j.Shift.At >= l.j.Before || l.j.Before <= block {
		return errors.New("the file is too short for that")
	}
	if err := l.t.file.Sync(); err != nil { // holes are told of what is on the disk
		return &OutputError{Op: "sync", Path: l.t.path, Err: err}
	}
	return withoutHoles(l.t.file, l.t.path, l.t.info.Size())
}

// ranges records what changes in the low file's offsets, old and new bytes.
func (l *layout) ranges() error {
	type span struct{ at, end int64 }
	var spans []span
	s := l.j.Shift
	if s != nil { // what is written again beside the inserted blocks
		spans = append(spans, span{s.At, l.moves.At + min(l.moves.Old, sizeOf(l.moves.New))})
	}
	for _, e := range l.edits {
		at, end := e.At, e.At+e.Old
		switch {
		case s == nil:
		case at >= l.moves.At+l.moves.Old: // after the edit that moves
			if s.Back {
				at, end = at-s.Bytes, end-s.Bytes
			}
		default: // before it; from the shift on, it is written again anyway
			end = min(end, s.At)
		}
		spans = append(spans, span{at, end})
	}
	for _, e := range l.ends {
		at := e.At
		if l.j.back() {
			at -= s.Bytes
		}
		spans = append(spans, span{at, at + min(e.Old, sizeOf(e.New))})
	}
	low, high := io.ReaderAt(l.t.file), l.result
	if s != nil && s.Back {
		low, high = high, low
	}
	high = l.j.low(high, true)
	for _, r := range spans {
		if r.at >= r.end {
			continue
		}
		if err := l.ctx.Err(); err != nil {
			return err
		}
		if l.retained += r.end - r.at; l.retained > MostInPlace {
			return tooMuch(l.t.path)
		}
		old, err := readRange(low, r.at, r.end-r.at)
		if err != nil {
			return l.unread(err)
		}
		new, err := readRange(high, r.at, r.end-r.at)
		if err != nil {
			return l.unread(err)
		}
		l.j.add(r.at, old, new)
	}
	return nil
}

// unread names the file in errors of readers that do not know it.
func (l *layout) unread(err error) error {
	if errors.Is(err, errCut) {
		return &InputError{l.t.path, err}
	}
	return err
}

func tooMuch(path string) error {
	return &RefusedError{path, fmt.Sprintf("more than %d bytes would be replaced", MostInPlace), writeNewInstead}
}

// end lays out what is appended or cut off. Appended bytes are read once for
// their sum, by which recovery tells whether they are all there. With a shift,
// what is cut off is journalled as what was appended.
func (l *layout) end() error {
	j := l.j
	shifted := j.Before + j.Shift.size()
	switch {
	case len(l.ends) == 0:
		return nil
	case j.After < shifted && j.Shift != nil:
		return l.refuse(l.ends[0], "would change the end while other bytes move the other way")
	case j.After < shifted || j.back():
		from, n := min(shifted, j.After), max(shifted, j.After)-min(shifted, j.After)
		if l.retained += n; l.retained > MostInPlace {
			return tooMuch(l.t.path)
		}
		cut, err := readRange(l.t.file, from, n)
		if err != nil {
			return &InputError{l.t.path, err}
		}
		if j.Shift == nil {
			j.cut = cut
			return nil
		}
		j.tail = Bytes(cut)
	case j.After > shifted:
		j.tail = Region(l.result, shifted, j.After-shifted)
	default:
		return nil
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, contextReader{l.ctx, newExactReader(j.tail)}); err != nil {
		return err
	}
	j.Appended = sum.Sum(nil)
	return nil
}

// outside sums what stays at both ends.
func (l *layout) outside() error {
	outside, err := l.j.outside(l.j.low(l.t.file, l.j.back()))
	if err != nil {
		return &InputError{l.t.path, err}
	}
	l.j.Outside = outside
	return nil
}
