package patch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
)

// WriteOptions are choices of WriteNew. The zero value refuses targets that
// exist and checks nothing.
type WriteOptions struct {
	// Force lets existing targets be replaced. A link is replaced itself,
	// never what it points to.
	Force bool
	// Backup lets existing targets be replaced and keeps each old file under
	// a free name: NAME.bak, NAME.bak.2 …
	Backup bool
	// Check is given the path of the complete root file before it gets its
	// name. An error drops everything and is returned. With one output the
	// root lies beside its target, so that further files are found from it;
	// with several, all outputs lie under their names in one new folder.
	Check func(path string) error
	// Progress is told of bytes written so far and in all.
	Progress func(done, total int64)
	// Digest asks for the SHA-256 of each file written.
	Digest bool
	// Shared gives a file of Create the mode of the umask, or the mode and owner
	// of the file that it replaces, in place of those of the first input.
	Shared bool
	// FS is the file system; nil: OS.
	FS FS

	itself bool // the target is the input, which was opened and locked
}

func (o WriteOptions) replaces() bool { return o.Force || o.Backup }

func (o WriteOptions) fs() FS {
	if o.FS == nil {
		return OS
	}
	return o.FS
}

// WrittenFile is a file that a plan made.
type WrittenFile struct {
	Path   string
	Bytes  int64
	SHA256 string // lower-case hex; empty unless asked for
	Backup string // where the replaced file is now; empty unless kept
}

// WriteNew makes the plan's outputs: Outputs[0] as target, the others under
// their names beside it. Each is first a temporary file, which is synced,
// checked, and renamed at the end, the root last (facts/BAD-INPUTS §5). After
// an error, or when ctx is done, every target is as it was and no temporary
// file is left. When the process is killed, temporary files `.NAME.modelpatch-…`
// may be left; a later WriteNew of the same target removes them. Several outputs
// that replace old files get their names under a journal, which Recover follows
// to the end.
//
// Errors are *PlanError, *SameFileError, *InputError, *RefusedError, *OutputError,
// ctx's error, or what Check or a Source returned.
func WriteNew(ctx context.Context, p Plan, target string, o WriteOptions) (written []WrittenFile, err error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	w := &writer{ctx: ctx, plan: p.Normalize(), o: o, fs: o.fs()}
	return w.run([]func() error{
		func() error { return w.findTargets(target) },
		w.openInputs,
		w.refuseInputsAsTargets,
		w.refuseTargets,
		w.openStage,
		w.fill,
		w.check,
		w.finish,
		w.inputsUnchanged,
		w.commit,
	})
}

// run takes the steps until one fails, and clears up.
func (w *writer) run(steps []func() error) (written []WrittenFile, err error) {
	defer func() {
		if cerr := w.close(); cerr != nil {
			err = errors.Join(err, cerr)
		}
	}()
	if err := w.take(steps); err != nil {
		return nil, err
	}
	return w.written(), nil
}

// take takes steps until one fails.
func (w *writer) take(steps []func() error) error {
	for _, step := range steps {
		if err := w.ctx.Err(); err != nil {
			return err
		}
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// writer is one run of WriteNew.
type writer struct {
	ctx     context.Context
	plan    Plan
	o       WriteOptions
	fs      FS
	inputs  []openInput // as plan.Inputs
	targets []target    // as plan.Outputs
	stage   *stage
	outputs []*output // as plan.Outputs
	// committed: the root has its new name; the outcome is decided.
	committed bool
}

// close lets go of everything. Before the commit this also removes what was
// made; afterwards there is nothing left to remove.
func (w *writer) close() error {
	for _, in := range w.inputs {
		if in.file != nil {
			in.file.Close()
		}
	}
	for _, out := range w.outputs {
		out.close()
	}
	if w.stage == nil {
		return nil
	}
	err := w.stage.remove()
	if w.committed {
		return nil // what is left lies unlocked for the next run to remove
	}
	return err
}

func (w *writer) check() error {
	if w.o.Check == nil {
		return nil
	}
	return w.o.Check(w.outputs[0].path)
}

// finish gives the outputs their attributes and lets the disk have them.
func (w *writer) finish() error {
	for i, out := range w.outputs {
		if w.o.Digest {
			if err := out.digest(w.ctx); err != nil {
				return err
			}
		}
		if err := w.setAttributes(i); err != nil {
			return &OutputError{Op: "set mode", Path: w.targets[i].path, Err: err}
		}
		if err := out.file.Sync(); err != nil {
			return &OutputError{Op: "sync", Path: w.targets[i].path, Err: err}
		}
		if err := out.close(); err != nil {
			return &OutputError{Op: "close", Path: w.targets[i].path, Err: err}
		}
	}
	return nil
}

// setAttributes gives output i its mode and owner.
func (w *writer) setAttributes(i int) error {
	like := w.attributesFrom(i)
	if w.o.Shared {
		like = nil
		if t := w.targets[i]; t.before != nil && t.before.Mode().IsRegular() {
			old, err := w.fs.Open(t.real)
			if err != nil {
				return err
			}
			defer old.Close()
			like = old
		}
	}
	if like == nil {
		return nil
	}
	return w.outputs[i].file.CopyAttributes(like)
}

// attributesFrom is the file whose mode and owner output i shall have: its
// input, or the first there is.
func (w *writer) attributesFrom(i int) File {
	if in := w.inputs[w.plan.Outputs[i].Input]; in.info != nil {
		return in.file
	}
	for _, in := range w.inputs {
		if in.info != nil {
			return in.file
		}
	}
	return nil
}

func (w *writer) written() []WrittenFile {
	var files []WrittenFile
	for i, t := range w.targets {
		files = append(files, WrittenFile{t.path, w.outputs[i].size, w.outputs[i].sha256, t.backup})
	}
	return files
}

// digest reads an output back, so that the sum is of what the file holds.
func (out *output) digest(ctx context.Context) error {
	sum := sha256.New()
	buffer := make([]byte, bufferSize)
	for at := int64(0); at < out.size; {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := out.file.ReadAt(buffer[:min(bufferSize, out.size-at)], at)
		sum.Write(buffer[:n])
		at += int64(n)
		if err != nil && at < out.size {
			return &OutputError{Op: "read back", Path: out.target, Err: err}
		}
	}
	out.sha256 = hex.EncodeToString(sum.Sum(nil))
	return nil
}

// openInput is an input of the plan, held open so that its bytes and identity
// stay those of one file.
type openInput struct {
	file File     // nil: empty input
	info fileInfo // nil: it is no file of the file system
}

func (w *writer) openInputs() error {
	w.inputs = make([]openInput, len(w.plan.Inputs))
	for i, in := range w.plan.Inputs {
		switch {
		case in.Reader != nil:
			w.inputs[i] = openInput{file: distantFile{in.Reader}}
			continue
		case in.Path == "":
			continue
		}
		f, info, err := openInputFile(w.fs, in)
		if err != nil {
			return err
		}
		w.inputs[i] = openInput{f, info}
	}
	return nil
}

func openInputFile(fs FS, in Input) (File, fileInfo, error) {
	f, err := fs.Open(in.Path)
	if err != nil {
		return nil, nil, &InputError{in.Path, err}
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case !info.Mode().IsRegular():
		err = fmt.Errorf("not a regular file")
	case info.Size() != in.Size, in.Info != nil && !Unchanged(in.Info, info):
		err = errChanged
	}
	if err != nil {
		f.Close()
		return nil, nil, &InputError{in.Path, err}
	}
	return f, info, nil
}

// inputsUnchanged compares the inputs by name with what was opened: bytes that
// were copied while somebody wrote are of no use.
func (w *writer) inputsUnchanged() error {
	for i, in := range w.plan.Inputs {
		if w.inputs[i].info == nil {
			continue
		}
		info, err := w.fs.Stat(in.Path)
		if err != nil {
			return &InputError{in.Path, err}
		}
		if !Unchanged(w.inputs[i].info, info) {
			return &InputError{in.Path, errChanged}
		}
	}
	return nil
}
