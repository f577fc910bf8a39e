package patch

import (
	"context"
	"errors"
	"io"
)

const (
	bufferSize = 1 << 20
	// kernelCopy is the size from which a kept range is left to the kernel;
	// below it a system call more costs as much as the bytes.
	kernelCopy = 64 << 10
	// kernelChunk bounds one call, so that an interrupt is noticed.
	kernelChunk = 16 << 20
	// cloneBlock is the alignment that file systems want of shared ranges.
	cloneBlock = 4096
)

// outputPart is a segment of which a range in the middle may be there already,
// because it was cloned. Offsets are within the segment.
type outputPart struct {
	Segment
	cloned, clonedEnd int64
}

// copier writes segments into one output.
type copier struct {
	ctx    context.Context
	buffer []byte
	done   func(n int64)
	out    File
	target string
	in     File
	input  string
}

func (c copier) write(s outputPart) error {
	if s.New != nil {
		return c.writeNew(s.Segment)
	}
	if err := c.keep(s.At, s.From, s.cloned); err != nil {
		return err
	}
	return c.keep(s.At+s.clonedEnd, s.From+s.clonedEnd, s.Size-s.clonedEnd)
}

func (c copier) writeNew(s Segment) error {
	r := newExactReader(s.New)
	for at := s.At; ; {
		if err := c.ctx.Err(); err != nil {
			return err
		}
		n, err := io.ReadFull(r, c.buffer)
		if werr := c.writeAt(c.buffer[:n], at); werr != nil {
			return werr
		}
		at += int64(n)
		switch {
		case err == io.EOF, err == io.ErrUnexpectedEOF && at == s.At+s.Size:
			return nil
		case err != nil:
			return err
		}
	}
}

func (c copier) writeAt(p []byte, at int64) error {
	if len(p) == 0 {
		return nil
	}
	if _, err := c.out.WriteAt(p, at); err != nil {
		return &OutputError{Op: "write", Path: c.target, Err: err}
	}
	c.done(int64(len(p)))
	return nil
}

// keep copies n bytes of the input.
func (c copier) keep(at, from, n int64) error {
	for n > 0 {
		if err := c.ctx.Err(); err != nil {
			return err
		}
		got, err := c.keepSome(at, from, n)
		if err != nil {
			return err
		}
		at, from, n = at+got, from+got, n-got
	}
	return nil
}

func (c copier) keepSome(at, from, n int64) (int64, error) {
	if n >= kernelCopy {
		got, err := c.out.CopyRange(at, c.in, from, min(n, kernelChunk))
		if err == nil && got > 0 {
			c.done(got)
			return got, nil
		}
		// The kernel does not say which side failed; reading and writing does.
	}
	p := c.buffer[:min(n, bufferSize)]
	got, err := c.in.ReadAt(p, from)
	if got < len(p) {
		if err == nil || errors.Is(err, io.EOF) {
			err = errCut
		}
		return 0, &InputError{c.input, err}
	}
	return int64(got), c.writeAt(p, at)
}
