package patch

import (
	"errors"
	"fmt"
	"path/filepath"
)

// commit gives the outputs their names.
func (w *writer) commit() error {
	if w.replacesSeveral() {
		return w.commitJournalled()
	}
	order := make([]int, 0, len(w.targets))
	for i := len(w.targets) - 1; i >= 0; i-- {
		order = append(order, i)
	}
	for k, i := range order {
		if i == 0 && k > 0 {
			// The root must not reach the disk before what it refers to.
			if err := syncDir(w.fs, filepath.Dir(w.targets[0].real)); err != nil {
				err = &OutputError{Op: "sync new files", Path: w.targets[0].path, Err: err}
				return errors.Join(err, w.rollBack(order[:k]))
			}
		}
		if err := w.place(i); err != nil {
			return errors.Join(err, w.rollBack(order[:k]))
		}
	}
	w.committed = true
	return w.syncFolder()
}

func (w *writer) place(i int) error {
	t, out := &w.targets[i], w.outputs[i]
	if err := w.targetUnchanged(*t); err != nil {
		return err
	}
	if t.before == nil {
		if err := w.fs.RenameNew(out.path, t.real); err != nil {
			return &OutputError{Op: "rename", Path: t.path, Err: err}
		}
		return nil
	}
	if err := w.keepOld(i); err != nil {
		return err
	}
	if err := w.replaceOld(*t, out); err != nil {
		if t.spare != "" {
			err = errors.Join(err, w.fs.Remove(t.spare))
		}
		return err
	}
	return nil
}

// replaceOld renames an output over the old file, whose backup must be on the
// disk before.
func (w *writer) replaceOld(t target, out *output) error {
	if t.backup != "" {
		if err := syncDir(w.fs, filepath.Dir(t.real)); err != nil {
			return &OutputError{Op: "sync the old file's new name", Path: t.path, Err: err}
		}
	}
	if err := w.fs.Rename(out.path, t.real); err != nil {
		return &OutputError{Op: "rename", Path: t.path, Err: err}
	}
	return nil
}

// keepOld gives the file that is to be replaced a second name, for the user
// who wants a backup, or for rollBack.
func (w *writer) keepOld(i int) error {
	t := &w.targets[i]
	if !w.o.Backup && !w.plan.Outputs[i].Keep {
		if i == 0 {
			return nil // nothing can fail after the root's rename
		}
		spare := filepath.Join(w.stage.path, fmt.Sprintf(".replaced-%d", i))
		if err := w.fs.Link(t.real, spare); err != nil {
			return &OutputError{Op: "keep the old file", Path: t.path, Err: err}
		}
		t.spare = spare
		return nil
	}
	for n := 1; ; n++ {
		suffix := ".bak"
		if n > 1 {
			suffix = fmt.Sprintf(".bak.%d", n)
		}
		err := w.fs.Link(t.real, t.real+suffix)
		if errors.Is(err, errExist) && n < 1000 {
			continue
		}
		if err != nil {
			return &OutputError{Op: "keep the old file", Path: t.path + suffix, Err: err}
		}
		t.spare, t.backup = t.real+suffix, t.path+suffix
		return nil
	}
}

// rollBack undoes place for the given outputs.
func (w *writer) rollBack(placed []int) error {
	var all error
	for _, i := range placed {
		t := w.targets[i]
		var err error
		if t.spare != "" {
			err = w.fs.Rename(t.spare, t.real)
		} else {
			err = w.fs.Remove(t.real)
		}
		if err != nil {
			all = errors.Join(all, &OutputError{Op: "put back", Path: t.path, Err: err})
		}
	}
	return all
}

// syncFolder puts the new names on the disk. They stand when it fails.
func (w *writer) syncFolder() error {
	err := syncDir(w.fs, filepath.Dir(w.targets[0].real))
	if err == nil {
		return nil
	}
	state, hint := "the new file is in place, but a power cut may take it away again", "sync makes sure of it; the command need not run again"
	switch {
	case w.replacesSeveral():
		state, hint = "the new files are in place, but their journal is still there", "modelpatch recover finishes the change"
	case w.targets[0].before != nil:
		state = "the new file is in place, but a power cut may bring the old one back"
	}
	return &OutputError{Op: "sync folder", Path: w.targets[0].path, Err: err, Hint: hint, Done: true, State: state}
}

// replacesSeveral reports whether files other than the root replace old ones, or
// must not be there without it. Else the root's rename decides alone: what it
// refers to is new.
func (w *writer) replacesSeveral() bool {
	for i, t := range w.targets {
		if i > 0 && (t.before != nil || w.plan.Outputs[i].Beside) {
			return true
		}
	}
	return false
}

// commitJournalled gives several outputs the names of old files. The journal's
// own name is what decides: from then on the renames are finished, by this run
// or by Recover, or taken back before the journal goes.
func (w *writer) commitJournalled() error {
	for i, t := range w.targets {
		if err := w.targetUnchanged(t); err != nil {
			return err
		}
		if t.before == nil {
			continue
		}
		if err := w.keepOld(i); err != nil {
			return errors.Join(err, w.dropBackups())
		}
	}
	root := &placed{fs: w.fs, path: w.targets[0].real}
	j := &journal{Target: filepath.Base(root.path), Stage: filepath.Base(w.stage.path)}
	for _, t := range w.targets {
		j.Names = append(j.Names, filepath.Base(t.real))
	}
	err := w.syncStage()
	if err == nil {
		err = root.publish(j)
	}
	if err != nil {
		return errors.Join(err, w.dropBackups())
	}
	for i := len(w.targets) - 1; i >= 0; i-- { // the root last
		t := w.targets[i]
		if err := w.fs.Rename(w.outputs[i].path, t.real); err != nil {
			err = &OutputError{Op: "rename", Path: t.path, Err: err}
			undone := w.takeBack(i + 1)
			if undone == nil {
				undone = errors.Join(root.forget(endedOld), w.dropBackups())
			}
			if undone != nil {
				w.committed, w.stage.path = true, "" // for recover
			}
			return errors.Join(err, undone)
		}
	}
	w.committed = true
	if err := w.syncFolder(); err != nil {
		w.stage.path = ""
		return err
	}
	return root.forget(endedNew)
}

// syncStage puts the outputs' temporary names on the disk.
func (w *writer) syncStage() error {
	for _, dir := range []string{w.stage.path, filepath.Dir(w.stage.path)} {
		if err := syncDir(w.fs, dir); err != nil {
			return &OutputError{Op: "sync temporary files", Path: w.targets[0].path, Err: err}
		}
	}
	return nil
}

// takeBack undoes the renames from output n on. The new files go back to where the
// journal finds them, so that a crash here still ends in all new ones.
func (w *writer) takeBack(n int) error {
	for i := n; i < len(w.targets); i++ {
		t := w.targets[i]
		if err := w.fs.Rename(t.real, w.outputs[i].path); err != nil {
			return &OutputError{Op: "put back", Path: t.path, Err: err}
		}
		if t.spare == "" {
			continue
		}
		if err := w.fs.Link(t.spare, t.real); err != nil {
			return &OutputError{Op: "put back", Path: t.path, Err: err}
		}
	}
	return nil
}

// dropBackups removes backups of files that were not replaced after all.
func (w *writer) dropBackups() error {
	var all error
	for _, t := range w.targets {
		if t.backup != "" {
			all = errors.Join(all, w.fs.Remove(t.spare))
		}
	}
	return all
}
