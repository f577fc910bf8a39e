package patch

import (
	"errors"
	"fmt"
	"io"
	"sort"
	"sync"
)

// NewReader returns a reader of output i as the plan makes it of in, the
// input's bytes. Nothing is written and nothing is held.
func (p Plan) NewReader(i int, in io.ReaderAt) io.Reader {
	name := p.Inputs[p.Outputs[i].Input].Path
	var parts []Source
	for s := range p.Segments(i) {
		if s.New != nil {
			parts = append(parts, s.New)
		} else {
			parts = append(parts, region{name, in, s.From, s.Size})
		}
	}
	return Concat(parts...).Open()
}

// keptSource is the size up to which a View keeps an edit's new bytes. A
// larger source is read again from its start when a caller goes backwards.
const keptSource = 1 << 20

// View returns output i as the plan makes it of in, readable at any offset, so
// that a format can open a planned result before it is written. It may be used
// by several goroutines. Reading at the end gives io.EOF.
func (p Plan) View(i int, in io.ReaderAt) io.ReaderAt {
	v := &view{in: in, size: p.OutputSize(i)}
	for s := range p.Segments(i) {
		v.parts = append(v.parts, &viewPart{Segment: s})
	}
	return v
}

type view struct {
	in    io.ReaderAt
	size  int64
	parts []*viewPart
}

// ReadAt reads the bytes that the planned file has at an offset.
func (v *view) ReadAt(p []byte, at int64) (int, error) {
	if at < 0 {
		return 0, fmt.Errorf("offset %d", at)
	}
	var done int
	first := sort.Search(len(v.parts), func(k int) bool { return v.parts[k].At+v.parts[k].Size > at })
	for _, part := range v.parts[min(first, len(v.parts)):] {
		if done == len(p) {
			break
		}
		skip := at + int64(done) - part.At
		want := p[done:min(int64(len(p)), int64(done)+part.Size-skip)]
		n, err := part.readAt(v.in, want, skip)
		done += n
		if err != nil {
			return done, err
		}
	}
	if done < len(p) {
		return done, io.EOF
	}
	return done, nil
}

// viewPart is a segment and what is known of its new bytes so far.
type viewPart struct {
	Segment
	mu     sync.Mutex
	loaded []byte    // all of a small source
	r      io.Reader // of a large source, at offset pos
	pos    int64
}

func (s *viewPart) readAt(in io.ReaderAt, p []byte, skip int64) (int, error) {
	if s.New == nil {
		n, err := in.ReadAt(p, s.From+skip)
		if n == len(p) {
			return n, nil
		}
		if err == nil || errors.Is(err, io.EOF) {
			err = &InputError{Err: errCut}
		}
		return n, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Size <= keptSource {
		if err := s.load(); err != nil {
			return 0, err
		}
		return copy(p, s.loaded[skip:]), nil
	}
	if s.r == nil || skip < s.pos {
		s.r, s.pos = newExactReader(s.New), 0
	}
	n, err := io.CopyN(io.Discard, s.r, skip-s.pos)
	s.pos += n
	if err == nil {
		n, err2 := io.ReadFull(s.r, p)
		s.pos += int64(n)
		return n, err2
	}
	return 0, err
}

func (s *viewPart) load() error {
	if s.loaded != nil {
		return nil
	}
	b := make([]byte, s.Size)
	if _, err := io.ReadFull(newExactReader(s.New), b); err != nil {
		return err
	}
	s.loaded = b
	return nil
}

// exactReader holds a source to its word: it fails when the reader ends before
// the source's size or goes on after it.
type exactReader struct {
	r    io.Reader
	size int64
	left int64
}

func newExactReader(s Source) io.Reader {
	return &exactReader{s.Open(), s.Size(), s.Size()}
}

// Read reads from the source; fewer or more bytes than it promised are an error.
func (e *exactReader) Read(p []byte) (int, error) {
	if e.left == 0 {
		return 0, e.atEnd()
	}
	n, err := e.r.Read(p[:min(int64(len(p)), e.left)])
	e.left -= int64(n)
	if errors.Is(err, io.EOF) {
		if e.left > 0 {
			return n, fmt.Errorf("new bytes end after %d of %d", e.size-e.left, e.size)
		}
		err = nil
	}
	return n, err
}

func (e *exactReader) atEnd() error {
	var one [1]byte
	n, err := e.r.Read(one[:])
	switch {
	case n > 0:
		return fmt.Errorf("more than %d new bytes", e.size)
	case err != nil && !errors.Is(err, io.EOF):
		return err
	}
	return io.EOF
}

// Edited returns the edits of output i in the order of their places, for
// showing and for checking what was changed.
func (p Plan) Edited(i int) []Edit {
	edits, _ := p.editsOf(p.Outputs[i].Input)
	return edits
}
