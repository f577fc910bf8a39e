package patch

import (
	"bufio"
	"context"
	"errors"
	"io"
)

// Save makes a file whose size is known only when it is written: a patch file,
// a list of edits. It follows WriteNew's protocol and options, but for Check
// and Progress. inputs are files that target must not be.
func Save(ctx context.Context, inputs []Input, target string, o WriteOptions, write func(io.Writer) error) (written WrittenFile, err error) {
	p, err := Create(ctx, inputs, target, o)
	if err != nil {
		return WrittenFile{}, err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	if err := write(p); err != nil {
		return WrittenFile{}, err
	}
	return p.Commit()
}

// Pending is a file that is being written under a temporary name.
type Pending struct {
	w  *writer
	at *offsetWriter
	b  *bufio.Writer
}

// Create begins what Save does, for a file that is written while other things
// happen. What refuses the target does so now. The caller ends it with Commit or
// Close.
func Create(ctx context.Context, inputs []Input, target string, o WriteOptions) (*Pending, error) {
	p := Plan{Inputs: append([]Input{{}}, inputs...), Outputs: []Output{{}}}
	w := &writer{ctx: ctx, plan: p, o: o, fs: o.fs()}
	err := w.take([]func() error{
		func() error { return w.findTargets(target) },
		w.openInputs,
		w.refuseInputsAsTargets,
		w.refuseTargets,
		w.openStage,
	})
	if err != nil {
		return nil, errors.Join(err, w.close())
	}
	at := &offsetWriter{file: w.outputs[0].file}
	return &Pending{w, at, bufio.NewWriterSize(contextWriter{ctx, outputWriter{at, target}}, bufferSize)}, nil
}

// Write writes to the temporary file, until the context ends.
func (p *Pending) Write(b []byte) (int, error) { return p.b.Write(b) }

// Commit lets the disk have the file and gives it its name. After an error the
// target is as it was, unless the error says otherwise.
func (p *Pending) Commit() (WrittenFile, error) {
	if err := p.b.Flush(); err != nil {
		return WrittenFile{}, errors.Join(err, p.Close())
	}
	p.w.outputs[0].size = p.at.at
	w := p.w
	p.w = nil
	files, err := w.run([]func() error{w.finish, w.inputsUnchanged, w.commit})
	if err != nil {
		return WrittenFile{}, err
	}
	return files[0], nil
}

// Close removes the temporary file of what was not committed.
func (p *Pending) Close() error {
	if p.w == nil {
		return nil
	}
	w := p.w
	p.w = nil
	return w.close()
}

// outputWriter gives errors of writing their type.
type outputWriter struct {
	w    io.Writer
	path string
}

// Write is that of the writer inside; what fails is an *OutputError.
func (o outputWriter) Write(p []byte) (int, error) {
	n, err := o.w.Write(p)
	if err != nil {
		err = &OutputError{Op: "write", Path: o.path, Err: err}
	}
	return n, err
}

type contextWriter struct {
	ctx context.Context
	w   io.Writer
}

// Write is that of the writer inside, until the context ends; then its error.
func (c contextWriter) Write(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.w.Write(p)
}
