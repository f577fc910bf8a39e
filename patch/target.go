package patch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// target is a place where an output will be.
type target struct {
	path   string   // as the user knows it
	real   string   // with its folder's links resolved
	before fileInfo // what is there now (Lstat); nil: nothing
	spare  string   // second name of what was there, once it is replaced
	backup string   // spare as the user knows it, if it stays
}

// findTargets names a target for each output. The folder's links are resolved
// once, lest somebody turn them while we work.
func (w *writer) findTargets(root string) error {
	if root == "" || os.IsPathSeparator(root[len(root)-1]) {
		return &OutputError{Op: "create", Path: root, Err: errors.New("the output is a folder"), Hint: "name the file inside it"}
	}
	folder, err := w.fs.EvalLinks(filepath.Dir(root))
	if err != nil {
		return &OutputError{Op: "create", Path: root, Err: err}
	}
	base := filepath.Base(root)
	// First, because a killed run may have left second names of the targets, or
	// renames to be finished.
	if Unfinished(filepath.Join(folder, base), w.fs) && !w.o.itself {
		did, err := Recover(filepath.Join(folder, base), w.fs)
		if err != nil {
			return err
		}
		return &OutputError{Op: "create", Path: root, Err: fmt.Errorf("an unfinished edit of it was found; %s", did), Hint: "run the command again"}
	}
	removeStale(w.fs, filepath.Join(folder, base))
	for i, o := range w.plan.Outputs {
		name := base
		if i > 0 {
			if name = o.Name; name == base {
				return &PlanError{-1, "output " + name + " has the root's name"}
			}
		}
		t := target{path: filepath.Join(filepath.Dir(root), name), real: filepath.Join(folder, name)}
		t.before, err = w.fs.Lstat(t.real)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return &OutputError{Op: "create", Path: t.path, Err: err}
		}
		if err != nil {
			t.before = nil
		}
		w.targets = append(w.targets, t)
	}
	return nil
}

// refuseInputsAsTargets holds the rule that no output may be an input, by
// whatever name (facts/BAD-INPUTS D10, D13).
func (w *writer) refuseInputsAsTargets() error {
	if w.o.itself {
		return nil
	}
	for _, t := range w.targets {
		if t.before == nil {
			continue
		}
		info, err := w.fs.Stat(t.real)
		if err != nil {
			continue // a dangling link is no input
		}
		for _, in := range w.inputs {
			if in.info != nil && sameFile(info, in.info) {
				return &SameFileError{t.path, "the output is an input", "choose another name, or work in place"}
			}
		}
	}
	return nil
}

// refuseTargets holds the rules for a target that is there already (D09, D11).
func (w *writer) refuseTargets() error {
	for i, t := range w.targets {
		if t.before == nil {
			continue
		}
		replaces := w.o.replaces() || w.plan.Outputs[i].Keep
		link := t.before.Mode()&fs.ModeSymlink != 0
		switch {
		case link && !replaces:
			return &RefusedError{t.path, "the output is a link", "force replaces the link itself"}
		case t.before.IsDir():
			return &OutputError{Op: "create", Path: t.path, Err: errors.New("the output is a folder"), Hint: "name the file inside it"}
		case !link && !t.before.Mode().IsRegular():
			return &OutputError{Op: "create", Path: t.path, Err: errors.New("exists and is not a regular file")}
		case linkCount(t.before) > 1 && !replaces:
			return &RefusedError{t.path, "the output has several names (hard links)", "force replaces this name alone"}
		case !replaces:
			return &OutputError{Op: "create", Path: t.path, Err: errExist, Hint: "force replaces it, backup also keeps the old one"}
		case i > 0 && !w.plan.Outputs[i].Keep && !areShards(filepath.Base(w.targets[0].real), []string{filepath.Base(t.real)}):
			return &OutputError{Op: "create", Path: t.path, Err: errExist, Hint: "only shards of one model are replaced together: choose another name, or remove it"}
		}
	}
	return nil
}

// targetUnchanged sees that nobody else wrote the target meanwhile (E03).
func (w *writer) targetUnchanged(t target) error {
	now, err := w.fs.Lstat(t.real)
	switch {
	case errors.Is(err, fs.ErrNotExist) && t.before == nil:
		return nil
	case err == nil && t.before != nil && Unchanged(t.before, now):
		return nil
	case err == nil || errors.Is(err, fs.ErrNotExist):
		err = errors.New("changed by somebody else meanwhile")
	}
	return &OutputError{Op: "rename", Path: t.path, Err: err}
}
