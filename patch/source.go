package patch

import (
	"bytes"
	"errors"
	"io"
	"strings"
)

// Bytes is a source of the given bytes, which must not change afterwards.
func Bytes(b []byte) Source { return memory(b) }

// Text is a source of the bytes of s.
func Text(s string) Source { return text(s) }

// Zeros is a source of n zero bytes.
func Zeros(n int64) Source { return zeros(n) }

// Func is a source of size bytes that open produces afresh each time it is
// called. A reader that ends early, or does not end at size, is an error when
// the plan is applied.
func Func(size int64, open func() io.Reader) Source { return produced{size, open} }

// Region is a source of the n bytes of r from offset at: rows that a file
// already has, copied as they are. Bytes that are missing when it is read are
// an *InputError.
func Region(r io.ReaderAt, at, n int64) Source { return region{"", r, at, n} }

// Concat is a source of the bytes of several sources, one after another.
func Concat(sources ...Source) Source { return concat(sources) }

type memory []byte

// Size is the number of bytes.
func (m memory) Size() int64 { return int64(len(m)) }

// Open reads them from the start.
func (m memory) Open() io.Reader { return bytes.NewReader(m) }

type text string

// Size is the number of bytes.
func (t text) Size() int64 { return int64(len(t)) }

// Open reads them from the start.
func (t text) Open() io.Reader { return strings.NewReader(string(t)) }

type zeros int64

// Size is the number of zeros.
func (z zeros) Size() int64 { return int64(z) }

// Open reads as many zeros.
func (z zeros) Open() io.Reader { return io.LimitReader(zeroReader{}, int64(z)) }

type zeroReader struct{}

// Read gives zeros without end.
func (zeroReader) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

type produced struct {
	size int64
	open func() io.Reader
}

// Size is what the caller of Func said.
func (f produced) Size() int64 { return f.size }

// Open calls the function.
func (f produced) Open() io.Reader { return f.open() }

type region struct {
	path  string // for messages; may be ""
	from  io.ReaderAt
	at, n int64
}

// Size is the length of the region.
func (r region) Size() int64 { return r.n }

// Open reads it from its start.
func (r region) Open() io.Reader {
	return &regionReader{region: r}
}

type regionReader struct {
	region
	done int64
}

// Outer is what is read, from where on and how far, as io.SectionReader's is.
func (r *regionReader) Outer() (from io.ReaderAt, at, n int64) { return r.from, r.at, r.n }

// Read gives an *InputError where bytes are missing.
func (r *regionReader) Read(p []byte) (int, error) {
	if r.done == r.n {
		return 0, io.EOF
	}
	p = p[:min(int64(len(p)), r.n-r.done)]
	got, err := r.from.ReadAt(p, r.at+r.done)
	r.done += int64(got)
	switch {
	case r.done == r.n:
		return got, nil
	case errors.Is(err, io.EOF):
		err = errCut
	}
	if err != nil {
		return got, &InputError{Path: r.path, Err: err}
	}
	return got, nil
}

type concat []Source

// Size is the sum of the parts.
func (c concat) Size() int64 {
	var n int64
	for _, s := range c {
		n += s.Size()
	}
	return n
}

// Open reads the parts in order.
func (c concat) Open() io.Reader { return &concatReader{rest: c} }

type concatReader struct {
	rest []Source
	now  io.Reader
}

// Read gives an error where a part does not end at its size.
func (c *concatReader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil // lest the loop wait for a byte that has no place
	}
	for {
		if c.now == nil {
			if len(c.rest) == 0 {
				return 0, io.EOF
			}
			c.now, c.rest = newExactReader(c.rest[0]), c.rest[1:]
		}
		n, err := c.now.Read(p)
		if errors.Is(err, io.EOF) {
			c.now, err = nil, nil
		}
		if n > 0 || err != nil {
			return n, err
		}
	}
}
