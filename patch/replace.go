package patch

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
)

// replaceable reports whether a plan only adds to the ends of files other than
// the root: then the old root stays valid until a new one takes its name.
func (p Plan) replaceable() bool {
	root := p.Outputs[0].Input
	for _, e := range p.Edits {
		if e.File != root && (e.Old != 0 || e.At != p.Inputs[e.File].Size) {
			return false
		}
	}
	return true
}

// replace changes a model of several files without a journal: what is new goes
// to the ends of the data files, where no root points yet, then a new root file
// is renamed over the old one (facts/BAD-INPUTS §5 "ONNX with external data").
func replace(ctx context.Context, p Plan, o InPlaceOptions) (undo Undo, err error) {
	root := p.Outputs[0].Input
	r := replacing{ctx: ctx, plan: p.Normalize(), fs: o.FS, locked: o.Locked}
	defer func() { err = errors.Join(err, r.close(err != nil && !decided(err))) }()
	for i := range p.Outputs {
		if err := r.open(p.Outputs[i].Input); err != nil {
			return Undo{}, err
		}
	}
	t := r.files[0]
	defer func() { undo, err = t.outcome(err) }()
	if err := t.writeUndo(p, root, o); err != nil {
		return Undo{}, err
	}
	for _, t := range r.files[1:] {
		if err := r.append(t); err != nil {
			return Undo{}, err
		}
	}
	only := Plan{Inputs: []Input{p.Inputs[root]}, Outputs: []Output{{}}}
	for _, e := range p.Edits {
		if e.File == root {
			e.File = 0
			only.Edits = append(only.Edits, e)
		}
	}
	swap := func() error {
		_, err := WriteNew(ctx, only, p.Inputs[root].Path, WriteOptions{Force: true, Check: o.Check, FS: o.FS, itself: true})
		return err
	}
	return Undo{}, t.swap(only, o, swap)
}

// swap replaces the file under a journal that has what changes with it.
func (t *placed) swap(p Plan, o InPlaceOptions, replace func() error) error {
	j := o.journal(t)
	j.Before, j.After = t.info.Size(), p.OutputSize(0)
	sums := [2]*[]byte{&j.Swap.Old, &j.Swap.New}
	for i, r := range []io.Reader{io.NewSectionReader(t.file, 0, j.Before), p.NewReader(0, t.file)} {
		sum := sha256.New()
		if _, err := io.Copy(sum, r); err != nil {
			return &InputError{t.path, err}
		}
		*sums[i] = sum.Sum(nil)
	}
	if err := t.openBeside(j, o.Files); err != nil {
		return err
	}
	if err := t.publish(j); err != nil {
		return err
	}
	err := t.placeUndo()
	if err == nil {
		err = t.settle(true)
	}
	if err == nil {
		err = replace()
	}
	if err != nil && !decided(err) {
		return errors.Join(err, t.conclude(j, false))
	}
	return errors.Join(err, t.end(j, true))
}

// replacing is one run of replace. files[0] is the root, or absent.
type replacing struct {
	ctx    context.Context
	plan   Plan
	fs     FS
	locked *Locks
	files  []*placed
	input  []int
}

// open locks a file of the plan that is the root or has edits.
func (r *replacing) open(file int) error {
	edited := len(r.files) == 0
	for _, e := range r.plan.Edits {
		edited = edited || e.File == file
	}
	if !edited {
		return nil
	}
	t, err := openPlanned(r.fs, r.plan.Inputs[file], r.locked)
	if err != nil {
		return err
	}
	r.files, r.input = append(r.files, t), append(r.input, file)
	return nil
}

// append adds the plan's bytes to the end of a data file.
func (r *replacing) append(t *placed) error {
	var tail []Source
	for i, in := range r.input {
		for _, e := range r.plan.Edits {
			if r.files[i] == t && e.File == in {
				tail = append(tail, e.New)
			}
		}
	}
	c := copier{ctx: r.ctx, buffer: make([]byte, bufferSize), done: func(int64) {}, out: t.file, target: t.path}
	source := Concat(tail...)
	if err := c.writeNew(Segment{At: t.info.Size(), Size: source.Size(), New: source}); err != nil {
		return err
	}
	if err := t.file.Sync(); err != nil {
		return &OutputError{Op: "sync", Path: t.path, Err: err}
	}
	got, err := sumOf(io.NewSectionReader(t.file, t.info.Size(), source.Size()), source.Size())
	want, werr := sumOf(newExactReader(source), source.Size())
	if err == nil && werr == nil && got != want {
		err = errors.New("reads differently from what was written")
	}
	if err != nil {
		return &OutputError{Op: "read back", Path: t.path, Err: err}
	}
	return werr
}

// close unlocks the files; after a failure it takes off what was appended.
func (r *replacing) close(failed bool) error {
	var all error
	for i, t := range r.files {
		if failed && i > 0 {
			if err := t.file.Truncate(t.info.Size()); err != nil {
				all = errors.Join(all, &OutputError{Op: "put back", Path: t.path, Err: err})
			}
		}
		t.close()
	}
	return all
}
