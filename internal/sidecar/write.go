package sidecar

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/modelpatch/modelpatch/internal/regular"
	"github.com/modelpatch/modelpatch/internal/source"
	"github.com/modelpatch/modelpatch/patch"
	"github.com/modelpatch/modelpatch/report"
)

// Reasons for which a file beside a model is not written.
const (
	whyNotRequested = "it is changed where sidecars are asked for"
	whyPatch        = "a patch holds the change of the model alone"
	whyAbove        = "it lies in the folder above the model's: change it there"
)

// Destination says where a change of a model goes, and whether the files beside it follow.
type Destination struct {
	Follow        bool         // they were asked for
	Output        string       // the new model; "": none
	InPlace       bool         // the model itself
	ModelAlone    bool         // a patch or an upload, which hold nothing else
	DryRun        bool         // nothing is written: what could not be is no error
	Force, Backup bool         // an existing file may be replaced
	Locked        *patch.Locks // what a change in place has locked
}

// Aim decides for each file where its new version goes, or why it is not written, before
// anything is.
func (all Files) Aim(model string, to Destination) error {
	for _, s := range all {
		switch {
		case s.above:
			s.why = whyAbove
		case !to.Follow && to.Output != "" && s.isIn(filepath.Dir(to.Output)):
			s.why = s.shared(model)
		case !to.Follow:
			s.why = whyNotRequested
		case to.ModelAlone:
			s.why = whyPatch
		case to.InPlace:
			if err := s.aimInPlace(to.Locked); err != nil {
				return err
			}
		case to.Output != "":
			if err := s.aimBeside(model, to); err != nil && !to.DryRun {
				return err
			}
		}
	}
	return nil
}

// AimInPlace has each file edited as it lies, where it can be.
func (all Files) AimInPlace(locked *patch.Locks) error {
	for _, s := range all {
		if err := s.aimInPlace(locked); err != nil {
			return err
		}
	}
	return nil
}

// Leave has no file written, and says why.
func (all Files) Leave(why string) {
	for _, s := range all {
		s.target, s.why = "", why
	}
}

// KeptIn notes the patch file from which old values can be had again.
func (all Files) KeptIn(patch string) {
	for _, s := range all {
		s.backup = patch
	}
}

// aimInPlace has the file edited as it lies. A link stays and its target is
// edited, unless that lies elsewhere and may serve others.
func (s *file) aimInPlace(locked *patch.Locks) error {
	real, err := within(s.path)
	if err != nil {
		s.why = err.Error()
		return nil
	}
	err = patch.CanEdit(real, locked, nil)
	if refused, ok := errors.AsType[*patch.RefusedError](err); ok {
		s.why = "it " + refused.Why
		return nil
	}
	s.target = real
	return err
}

// aimBeside has a changed copy written beside a new model. The file itself is
// never changed, for the old model needs it, and another model's file is not
// replaced unless that was asked for.
func (s *file) aimBeside(model string, to Destination) error {
	at := filepath.Join(filepath.Dir(to.Output), s.name)
	for i := range s.edits {
		s.edits[i].Path = report.Name(at)
	}
	if _, err := os.Lstat(at); errors.Is(err, fs.ErrNotExist) {
		s.target = at
		return nil
	}
	real, err := within(at)
	if err != nil {
		s.why = err.Error()
		return nil
	}
	info, err := os.Stat(real)
	switch {
	case err != nil:
		return &patch.OutputError{Op: "read", Path: at, Err: err}
	case os.SameFile(info, s.info):
		s.why = s.shared(model)
		return nil
	case !info.Mode().IsRegular():
		s.why = "it is there already and is not a regular file"
		return nil
	case s.isWritten(real):
		s.why = "it says so already"
		return nil
	case !to.Force && !to.Backup:
		s.why = "it is there already; force replaces it"
		return &patch.OutputError{Op: "create", Path: at, Err: fs.ErrExist,
			Hint: "force replaces it and keeps the old one as " + s.name + ".bak; it stays as it is where sidecars are not asked for"}
	}
	s.target, s.replaces = real, true
	return nil
}

// shared says that the old model needs the file, and what has it follow.
func (s *file) shared(model string) string {
	return "it also belongs to " + filepath.Base(model) + ": beside a new file in another folder a changed copy is written, where sidecars are asked for"
}

// isIn reports whether the file of that name in a folder is this one.
func (s *file) isIn(folder string) bool {
	info, err := os.Stat(filepath.Join(folder, s.name))
	return err == nil && s.info != nil && os.SameFile(info, s.info)
}

// isWritten reports whether a file has the new content already.
func (s *file) isWritten(path string) bool {
	b, _, err := regular.Read(path, source.MaxBeside(s.name))
	return err == nil && bytes.Equal(b, s.changed())
}

// within follows a link and sees that it stays in its folder: a file elsewhere,
// such as a blob of a hub's cache, may serve others.
func within(path string) (real string, err error) {
	folder, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return "", err
	}
	if real, err = filepath.EvalSymlinks(path); err != nil {
		return "", fmt.Errorf("it is a link that leads nowhere")
	}
	if inside, err := filepath.Rel(folder, real); err != nil || !filepath.IsLocal(inside) {
		return "", fmt.Errorf("it is a link out of the folder, to %s", real)
	}
	return real, nil
}

// Numbers are the numbers that are changed beside a model in place, for its
// undo patch.
func (all Files) Numbers() []patch.PatchBeside {
	var out []patch.PatchBeside
	for _, s := range all {
		if s.target == "" {
			continue
		}
		for _, e := range s.edits {
			out = append(out, patch.PatchBeside{Name: s.name, Pointer: e.Pointer, Old: e.old, New: e.new})
		}
	}
	return out
}

// Followed notes that the files are written.
func (all Files) Followed() {
	for _, s := range all {
		for i := range s.edits {
			if s.target != "" {
				s.edits[i].Written, s.edits[i].Backup = true, report.Name(s.backup)
			}
		}
	}
}

// Following are the files that change in place together with the file at path, under its journal:
// those of its folder.
func (all Files) Following(path string) (out []patch.Beside) {
	folder, err := filepath.EvalSymlinks(filepath.Dir(path))
	for _, s := range all {
		if s.target != "" && !s.strays(filepath.Dir(s.target), folder, err) {
			out = append(out, patch.Beside{Path: s.target, Info: s.info, Old: s.data, New: s.changed()})
		}
	}
	return out
}

// strays reports whether the file in a folder cannot be written together with the model in another, and
// then says so.
func (s *file) strays(at, model string, err error) bool {
	if err == nil && at == model && strings.HasSuffix(s.target, ".json") {
		return false
	}
	s.target, s.why = "", "it lies, or is a link to a file, elsewhere than beside the file that changes"
	return true
}

// With adds the changed copies that have a target to a plan of a new model: they get their names
// with it, and those that they replace are kept as NAME.bak.
func (all Files) With(plan patch.Plan, model string) patch.Plan {
	plan.Inputs, plan.Outputs, plan.Edits = slices.Clone(plan.Inputs), slices.Clone(plan.Outputs), slices.Clone(plan.Edits)
	folder, err := filepath.EvalSymlinks(filepath.Dir(model))
	for _, s := range all {
		if s.target == "" {
			continue
		}
		at, err2 := filepath.EvalSymlinks(filepath.Dir(s.target))
		if err == nil {
			err = err2
		}
		if s.strays(at, folder, err) {
			continue
		}
		in := patch.Input{Path: s.path, Size: int64(len(s.data)), Info: s.info}
		if s.info == nil {
			in.Reader = bytes.NewReader(s.data)
		}
		for _, e := range s.edits {
			plan.Edits = append(plan.Edits, patch.Edit{File: len(plan.Inputs), At: e.at, Old: int64(len(e.old)), New: patch.Text(e.new), Why: "stated length"})
		}
		plan.Outputs = append(plan.Outputs, patch.Output{Input: len(plan.Inputs), Name: filepath.Base(s.target), Beside: true, Keep: s.replaces})
		plan.Inputs = append(plan.Inputs, in)
	}
	return plan
}

// Replaced notes where the files are that those of a plan of With have replaced.
func (all Files) Replaced(written []patch.WrittenFile) {
	for _, w := range written {
		for _, s := range all {
			if s.target == "" || filepath.Base(w.Path) != filepath.Base(s.target) {
				continue
			}
			for i := range s.edits {
				s.edits[i].Backup = report.Name(w.Backup)
			}
		}
	}
}

// Reports say what became of each number.
func (all Files) Reports() []report.Sidecar {
	out := []report.Sidecar{}
	for _, s := range all {
		for _, e := range s.edits {
			if !e.Written {
				e.Why = report.Name(s.why)
			}
			out = append(out, e.Sidecar)
		}
	}
	return out
}
