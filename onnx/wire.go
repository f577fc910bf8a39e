package onnx

import (
	"errors"
	"fmt"
	"io"

	"google.golang.org/protobuf/encoding/protowire"
)

// maxDepth bounds the nesting of messages and groups, as C++ protobuf does
// (facts/BAD-INPUTS §4).
const maxDepth = 100

// windowSize is how much of the file is read at a time, and firstWindow where
// the last window does not lead: behind weights that were jumped over, most often
// only a name and the next weights stand.
const (
	windowSize  = 16 << 10
	firstWindow = 1 << 10
)

// frame is one occurrence of a length-delimited field: a message in the file.
// Frames form the chain of enclosing messages whose length prefixes an edit
// inside must recompute.
type frame struct {
	parent *frame
	tag    int64 // offset of the field's tag
	length int64 // offset of the length prefix
	start  int64 // first byte of the content
	end    int64 // one past the last
}

// field is one field inside a message, with the bytes that hold it.
type field struct {
	number protowire.Number
	kind   protowire.Type
	tag    int64  // offset of the tag
	length int64  // offset of the length prefix (BytesType)
	start  int64  // offset of the value
	end    int64  // one past the value
	value  uint64 // VarintType, Fixed32Type, Fixed64Type
}

// cursor walks over the wire format of a file through a window.
type cursor struct {
	r      io.ReaderAt
	size   int64
	window []byte
	base   int64 // file offset of window[0]
}

func newCursor(r io.ReaderAt, size int64) *cursor {
	return &cursor{r: r, size: size, window: make([]byte, 0, windowSize)}
}

// at returns up to n bytes at offset, fewer only at the end of the file. The
// slice is valid until the next call.
func (c *cursor) at(offset int64, n int) ([]byte, error) {
	if left := c.size - offset; int64(n) > left {
		n = int(max(left, 0))
	}
	if n == 0 {
		return nil, nil
	}
	if !c.has(offset, offset+int64(n)) {
		if err := c.fill(offset, n); err != nil {
			return nil, err
		}
	}
	from := int(offset - c.base)
	return c.window[from : from+n], nil
}

func (c *cursor) fill(offset int64, n int) error {
	want := max(n, windowSize)
	if offset > c.base+int64(len(c.window)) {
		want = max(n, firstWindow)
	}
	if left := c.size - offset; int64(want) > left {
		want = int(left)
	}
	if cap(c.window) < want {
		c.window = make([]byte, want)
	}
	c.window = c.window[:want]
	c.base = offset
	got, err := c.r.ReadAt(c.window, offset)
	if got == want {
		return nil
	}
	c.window = c.window[:0]
	if err == nil || errors.Is(err, io.EOF) {
		return &FormatError{Offset: offset + int64(got), What: "the file became shorter while it was read"}
	}
	return fmt.Errorf("reading at byte %d: %w", offset, err)
}

// incomplete is the hint for a file that ends too soon.
const incomplete = "the file is incomplete: download or copy it again"

// uvarint reads a varint at offset that must end before end.
func (c *cursor) uvarint(offset, end int64) (uint64, int64, error) {
	if i := offset - c.base; i >= 0 && i < int64(len(c.window)) && offset < end && c.window[i] < 0x80 {
		return uint64(c.window[i]), offset + 1, nil // most are one byte
	}
	b, err := c.at(offset, int(min(10, end-offset)))
	if err != nil {
		return 0, 0, err
	}
	v, n := protowire.ConsumeVarint(b)
	if n < 0 {
		if len(b) == 10 {
			return 0, 0, &FormatError{Offset: offset, What: "a number has more than 10 bytes"}
		}
		return 0, 0, &FormatError{Offset: offset, What: "a number is cut off (file truncated?)", Hint: incomplete}
	}
	return v, offset + int64(n), nil
}

// next reads the field at offset inside a message that ends at end.
func (c *cursor) next(offset, end int64, depth int) (field, error) {
	tag, at, err := c.uvarint(offset, end)
	if err != nil {
		return field{}, err
	}
	f := field{tag: offset, kind: protowire.Type(tag & 7)}
	number := tag >> 3
	if number == 0 || number > uint64(protowire.MaxValidNumber) {
		what, hint := "not a field of a message", ""
		if tag == 0 {
			what, hint = "zero bytes where a field should start", "zeros at the end: an unfinished download?"
		}
		return field{}, &FormatError{Offset: offset, What: what, Hint: hint}
	}
	f.number = protowire.Number(number)
	f.start = at
	switch f.kind {
	case protowire.VarintType:
		f.value, f.end, err = c.uvarint(at, end)
		return f, err
	case protowire.Fixed32Type, protowire.Fixed64Type:
		return c.fixed(f, end)
	case protowire.BytesType:
		f.length = at
		n, at, err := c.uvarint(at, end)
		if err != nil {
			return f, err
		}
		if n > uint64(end-at) {
			return f, &FormatError{Offset: f.length,
				What: fmt.Sprintf("a field claims %d bytes and %d are left (file truncated?)", n, end-at), Hint: incomplete}
		}
		f.start, f.end = at, at+int64(n)
		return f, nil
	case protowire.StartGroupType:
		f.end, err = c.group(f.number, at, end, depth+1)
		return f, err
	default:
		return field{}, &FormatError{Offset: offset, What: "what stands here is no field of protobuf", Hint: "something was appended to the file, or it is damaged: download or copy it again"}
	}
}

func (c *cursor) fixed(f field, end int64) (field, error) {
	n := 4
	if f.kind == protowire.Fixed64Type {
		n = 8
	}
	b, err := c.at(f.start, int(min(int64(n), end-f.start)))
	if err != nil {
		return field{}, err
	}
	if len(b) < n {
		return field{}, &FormatError{Offset: f.start, What: "a number is cut off (file truncated?)", Hint: incomplete}
	}
	for i := n - 1; i >= 0; i-- {
		f.value = f.value<<8 | uint64(b[i])
	}
	f.end = f.start + int64(n)
	return f, nil
}

// group skips a group (kept byte for byte, never interpreted) and returns the
// offset after its end tag.
func (c *cursor) group(number protowire.Number, at, end int64, depth int) (int64, error) {
	begin := at
	if depth > maxDepth {
		return 0, &FormatError{Offset: at, What: fmt.Sprintf("groups nested more than %d deep", maxDepth)}
	}
	for at < end {
		tag, after, err := c.uvarint(at, end)
		if err != nil {
			return 0, err
		}
		if protowire.Type(tag&7) == protowire.EndGroupType {
			if protowire.Number(tag>>3) != number {
				return 0, &FormatError{Offset: at, What: "a group ends that did not start"}
			}
			return after, nil
		}
		f, err := c.next(at, end, depth)
		if err != nil {
			return 0, err
		}
		at = f.end
	}
	return 0, &FormatError{Offset: begin, What: "a group does not end"}
}

// has reports whether bytes of the file are in the window.
func (c *cursor) has(start, end int64) bool {
	return start >= c.base && end <= c.base+int64(len(c.window))
}

// content returns the value of a BytesType field, valid until the next call;
// longer than limit is an error, so that a claim never decides an allocation.
func (c *cursor) content(f field, limit int64) ([]byte, error) {
	if f.end-f.start > limit {
		return nil, &FormatError{Offset: f.start, What: fmt.Sprintf("%d bytes where at most %d make sense", f.end-f.start, limit)}
	}
	return c.at(f.start, int(f.end-f.start))
}

// bytes returns a copy of the value of a BytesType field, as content does.
func (c *cursor) bytes(f field, limit int64) ([]byte, error) {
	b, err := c.content(f, limit)
	if err != nil {
		return nil, err
	}
	return append([]byte(nil), b...), nil
}
