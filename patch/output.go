package patch

import (
	"errors"
	"fmt"
	"path/filepath"
	"syscall"
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

// openStage makes the stage and its empty outputs.
func (w *writer) openStage() error {
	root := w.targets[0]
	w.stage = &stage{fs: w.fs, target: root.path}
	if len(w.targets) == 1 {
		return w.openFileStage(root)
	}
	return w.openFolderStage(root)
}

func (w *writer) openFileStage(root target) error {
	for {
		path := tempName(root.real)
		create := w.fs.Create
		if w.o.Shared {
			create = w.fs.CreateShared
		}
		f, err := create(path)
		if errors.Is(err, errExist) {
			continue
		}
		if err != nil {
			return &OutputError{Op: "create", Path: root.path, Err: err}
		}
		w.stage.path = path
		w.outputs = []*output{newOutput(w.plan, 0, f, path, root.path)}
		return w.stage.takeLock(w.fs.Open)
	}
}

func (w *writer) openFolderStage(root target) error {
	for {
		path := tempName(root.real)
		err := w.fs.Mkdir(path)
		if errors.Is(err, errExist) {
			continue
		}
		if err != nil {
			return &OutputError{Op: "create", Path: root.path, Err: err}
		}
		w.stage.path, w.stage.names = path, []string{}
		break
	}
	if err := w.stage.takeLock(w.fs.OpenDir); err != nil {
		return err
	}
	for i, t := range w.targets {
		path := filepath.Join(w.stage.path, filepath.Base(t.real))
		f, err := w.fs.Create(path)
		if err != nil {
			return &OutputError{Op: "create", Path: t.path, Err: err}
		}
		w.stage.names = append(w.stage.names, path)
		w.outputs = append(w.outputs, newOutput(w.plan, i, f, path, t.path))
	}
	return nil
}
