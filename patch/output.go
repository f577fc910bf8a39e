package patch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"syscall"
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

// output is a file being made.
type output struct {
	file   File
	path   string // where it is made
	target string // for messages
	size   int64
	sha256 string
	parts  []outputPart
}

// outputPart is a segment of which a range in the middle may be there already,
// because it was cloned. Offsets are within the segment.
type outputPart struct {
	Segment
	cloned, clonedEnd int64
}

func newOutput(p Plan, i int, f File, path, target string) *output {
	out := &output{file: f, path: path, target: target, size: p.OutputSize(i)}
	for s := range p.Segments(i) {
		out.parts = append(out.parts, outputPart{Segment: s})
	}
	return out
}

func (out *output) close() error {
	if out.file == nil {
		return nil
	}
	err := out.file.Close()
	out.file = nil
	return err
}

// fill writes all outputs' bytes.
func (w *writer) fill() error {
	var total, cloned int64
	var fresh []*output // nothing of them is shared
	for i, out := range w.outputs {
		shared := out.clone(w.inputs[w.plan.Outputs[i].Input].file)
		if shared == 0 {
			fresh = append(fresh, out)
		}
		total, cloned = total+out.size, cloned+shared
	}
	if err := w.checkRoom(total - cloned); err != nil {
		return err
	}
	for _, out := range fresh {
		if err := out.allocate(); err != nil {
			return err
		}
	}
	c := copier{ctx: w.ctx, buffer: make([]byte, bufferSize), done: func(int64) {}}
	if w.o.Progress != nil {
		done := int64(0)
		c.done = func(n int64) { done += n; w.o.Progress(done, total) }
	}
	c.done(cloned)
	for i, out := range w.outputs {
		if err := w.fillOne(c, i, out); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) fillOne(c copier, i int, out *output) error {
	input := w.plan.Outputs[i].Input
	c.out, c.target = out.file, out.target
	c.in, c.input = w.inputs[input].file, w.plan.Inputs[input].Path
	for _, part := range out.parts {
		if err := c.write(part); err != nil {
			if part.New != nil && w.plan.Edits[part.Edit].Why != "" {
				err = fmt.Errorf("%s: %w", w.plan.Edits[part.Edit].Why, err)
			}
			return err
		}
	}
	if err := out.file.Truncate(out.size); err != nil {
		return &OutputError{Op: "write", Path: out.target, Err: err}
	}
	return nil
}

// clone shares as much of in as the file system allows and returns how many
// bytes that is.
func (out *output) clone(in File) (shared int64) {
	if in == nil {
		return 0
	}
	for k := range out.parts {
		s := &out.parts[k]
		first := -s.From & (cloneBlock - 1)
		end := s.Size - (s.From+s.Size)&(cloneBlock-1)
		if s.New != nil || (s.From-s.At)%cloneBlock != 0 || end-first < bufferSize {
			continue
		}
		if out.file.CloneRange(s.At+first, in, s.From+first, end-first) != nil {
			return shared
		}
		s.cloned, s.clonedEnd = first, end
		shared += end - first
	}
	return shared
}

// allocate reserves the whole file: a full disk is found at once.
func (out *output) allocate() error {
	if out.size == 0 {
		return nil
	}
	err := out.file.Allocate(out.size)
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return &OutputError{Op: "reserve room", Path: out.target, Err: err}
	}
	return nil
}

// checkRoom compares the bytes to be stored with what is free, before anything
// is allocated: the message can tell both numbers.
func (w *writer) checkRoom(need int64) error {
	free, err := w.fs.Free(filepath.Dir(w.targets[0].real))
	if err != nil || free < 0 || need <= free {
		return nil
	}
	return &OutputError{
		Op: "create", Path: w.targets[0].path, Err: syscall.ENOSPC,
		Hint: fmt.Sprintf("%d bytes are needed, %d are free", need, free),
	}
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
