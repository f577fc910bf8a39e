package patch

import (
	"bufio"
	"context"
	"io"
)

// Save makes a file whose size is known only when it is written: a patch file,
// a list of edits. It follows WriteNew's protocol and options, but for Check
// and Progress. inputs are files that target must not be.
func Save(ctx context.Context, inputs []Input, target string, o WriteOptions, write func(io.Writer) error) (written WrittenFile, err error) {
	p := Plan{Inputs: append([]Input{{}}, inputs...), Outputs: []Output{{}}}
	w := &writer{ctx: ctx, plan: p, o: o, fs: o.fs()}
	files, err := w.run([]func() error{
		func() error { return w.findTargets(target) },
		w.openInputs,
		w.refuseInputsAsTargets,
		w.refuseTargets,
		w.openStage,
		func() error { return w.outputs[0].save(ctx, write) },
		w.finish,
		w.inputsUnchanged,
		w.commit,
	})
	if err != nil {
		return WrittenFile{}, err
	}
	return files[0], nil
}

// save fills an output by a function.
func (out *output) save(ctx context.Context, write func(io.Writer) error) error {
	to := &offsetWriter{file: out.file}
	b := bufio.NewWriterSize(contextWriter{ctx, outputWriter{to, out.target}}, bufferSize)
	if err := write(b); err != nil {
		return err
	}
	if err := b.Flush(); err != nil {
		return err
	}
	out.size = to.at
	return nil
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
