package gguf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// window is how much of a file is read at once. Half a million tokenizer
// strings pass through it in a few dozen reads.
const window = 256 << 10

// distantWindow is the same of a file that is no file on a disk: what is read of it beyond the
// header may have to be fetched.
const distantWindow = 64 << 10

// cursor walks a file through one buffer. The first fault sticks: later reads
// return zeros, so that a parser checks err where it would act on a value.
type cursor struct {
	r     io.ReaderAt
	size  int64
	order binary.ByteOrder
	buf   []byte
	base  int64 // offset of buf[0]
	pos   int   // next byte in buf
	what  string
	key   string
	name  string // tensor
	err   *FormatError
	lists map[string]*Pair // lists of strings whose size is known, by key
}

func newCursor(r io.ReaderAt, size int64) *cursor {
	return &cursor{r: r, size: size, order: binary.LittleEndian, buf: make([]byte, 0, min(size, window))}
}

// at is the offset of the next byte.
func (c *cursor) at() int64 { return c.base + int64(c.pos) }

// rest is the number of bytes left in the file.
func (c *cursor) rest() uint64 { return uint64(c.size - c.at()) }

// fail records the first fault, at an offset.
func (c *cursor) fail(at int64, format string, args ...any) {
	if c.err == nil {
		c.err = &FormatError{What: c.what, Why: fmt.Sprintf(format, args...), At: at, Key: c.key, Tensor: c.name}
	}
}

// hint adds advice to the fault just recorded.
func (c *cursor) hint(text string) {
	if c.err != nil && c.err.Hint == "" {
		c.err.Hint = text
	}
}

// cut records that the file ends where something should be.
func (c *cursor) cut(need uint64, what string) {
	c.fail(c.at(), "truncated: %s needs %d bytes, the file has %d more", what, need, c.rest())
	c.hint("the file is incomplete: download or copy it again")
}

// take returns the next n bytes, n ≤ window, or nil. They are valid until the
// next call.
func (c *cursor) take(n int, what string) []byte {
	if c.err != nil {
		return nil
	}
	if uint64(n) > c.rest() {
		c.cut(uint64(n), what)
		return nil
	}
	if len(c.buf)-c.pos < n && !c.fill(n) {
		return nil
	}
	b := c.buf[c.pos : c.pos+n]
	c.pos += n
	return b
}

// fill moves the window to the next byte and makes n bytes available.
func (c *cursor) fill(n int) bool {
	c.base, c.pos = c.at(), 0
	want := min(int64(cap(c.buf)), c.size-c.base)
	c.buf = c.buf[:want]
	got, err := c.r.ReadAt(c.buf, c.base)
	c.buf = c.buf[:got]
	if got >= n {
		return true
	}
	if err == nil || errors.Is(err, io.EOF) {
		c.fail(c.base+int64(got), "the file became shorter while it was read")
		return false
	}
	c.fail(c.base, "cannot be read: %v", err)
	c.err.Err = err
	return false
}

// skip passes over n bytes without reading what lies beyond the window.
func (c *cursor) skip(n uint64, what string) {
	switch {
	case c.err != nil:
	case n > c.rest():
		c.cut(n, what)
	case n <= uint64(len(c.buf)-c.pos):
		c.pos += int(n)
	default:
		c.base, c.pos, c.buf = c.at()+int64(n), 0, c.buf[:0]
	}
}

func (c *cursor) u32(what string) uint32 {
	if b := c.take(4, what); b != nil {
		return c.order.Uint32(b)
	}
	return 0
}

func (c *cursor) u64(what string) uint64 {
	if b := c.take(8, what); b != nil {
		return c.order.Uint64(b)
	}
	return 0
}

// name reads a string of at most MaxNameBytes.
func (c *cursor) short(what string) string {
	at := c.at()
	n := c.u64("length of " + what)
	switch {
	case c.err != nil:
		return ""
	case n > MaxNameBytes:
		c.fail(at, "length %d of %s is more than %d bytes", n, what, MaxNameBytes)
		return ""
	}
	return string(c.take(int(n), what))
}
