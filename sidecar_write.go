package modelpatch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/modelpatch/modelpatch/internal/regular"
	"github.com/modelpatch/modelpatch/patch"
	"github.com/modelpatch/modelpatch/report"
)

// Reasons for which a file beside a model is not written.
const (
	whyNotAsked = "it is changed where sidecars are asked for"
	whyPatch    = "a patch holds the change of the model alone"
)

// aimSidecars decides for each file beside a model where its new version
// goes, or why it is not written, before anything is.
func aimSidecars(all []*sidecar, model string, w WriteOptions) error {
	for _, s := range all {
		switch {
		case !w.Sidecars:
			s.why = whyNotAsked
		case w.PatchOnly:
			s.why = whyPatch
		case w.InPlace:
			if err := s.aimInPlace(w.held); err != nil {
				return err
			}
		case w.Output != "":
			if err := s.aimBeside(model, w); err != nil && !w.DryRun {
				return err
			}
		}
	}
	return nil
}

// aimInPlace has the file edited as it lies. A link stays and its target is
// edited, unless that lies elsewhere and may serve others.
func (s *sidecar) aimInPlace(held *patch.Hold) error {
	real, err := within(s.path)
	if err != nil {
		s.why = err.Error()
		return nil
	}
	err = patch.CanEdit(real, held, nil)
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
func (s *sidecar) aimBeside(model string, w WriteOptions) error {
	at := filepath.Join(filepath.Dir(w.Output), s.name)
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
		s.why = "it also belongs to " + filepath.Base(model)
		return nil
	case !info.Mode().IsRegular():
		s.why = "it is there already and is not a regular file"
		return nil
	case info.Size() <= maxSidecar && s.isWritten(real):
		s.why = "it says so already"
		return nil
	case !w.Force && !w.Backup:
		s.why = "it is there already; force replaces it"
		return &patch.OutputError{Op: "create", Path: at, Err: fs.ErrExist,
			Hint: "force replaces it and keeps the old one as " + s.name + ".bak; it stays as it is where sidecars are not asked for"}
	}
	s.target, s.replaces = real, true
	return nil
}

// isWritten reports whether a file has the new content already.
func (s *sidecar) isWritten(path string) bool {
	b, _, err := regular.Read(path, maxSidecar)
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

// besides are the numbers that are changed beside a model in place, for its
// undo patch.
func besides(all []*sidecar) []patch.PatchBeside {
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

// writeSidecars writes the files that have a target. The model is written by
// then, which an error says, and no interrupt parts them from it.
func writeSidecars(ctx context.Context, all []*sidecar) error {
	ctx = context.WithoutCancel(ctx)
	for _, s := range all {
		if s.target == "" {
			continue
		}
		if err := s.writeNew(ctx); err != nil {
			return s.unwritten(err)
		}
	}
	followed(all)
	return nil
}

// followed notes that files beside a model are written.
func followed(all []*sidecar) {
	for _, s := range all {
		for i := range s.edits {
			if s.target != "" {
				s.edits[i].Written, s.edits[i].Backup = true, report.Name(s.backup)
			}
		}
	}
}

// following are the files that change in place together with the file at path, under its journal:
// those of its folder.
func following(all []*sidecar, path string) (out []patch.Beside) {
	folder, err := filepath.EvalSymlinks(filepath.Dir(path))
	for _, s := range all {
		switch {
		case s.target == "":
		case err != nil || filepath.Dir(s.target) != folder:
			s.target, s.why = "", "it lies in another folder than the file that changes"
		default:
			out = append(out, patch.Beside{Path: s.target, Info: s.info, Old: s.data, New: s.changed()})
		}
	}
	return out
}

// unwritten is the error of a file that does not follow the model.
func (s *sidecar) unwritten(err error) error {
	var values []string
	for _, e := range s.edits {
		values = append(values, e.Pointer+" "+e.new)
	}
	return &patch.OutputError{Op: "write", Path: s.path, Err: err, Done: true,
		State: "the model is written, but this file beside it is not", Hint: "it should say " + strings.Join(values, ", ")}
}

// writeNew writes a changed copy, and keeps a file that it may replace as
// NAME.bak. One that has come since is not replaced.
func (s *sidecar) writeNew(ctx context.Context) error {
	in := patch.Input{Path: s.path, Size: int64(len(s.data)), Info: s.info}
	if s.info == nil {
		in.Reader = bytes.NewReader(s.data)
	}
	p := patch.Plan{Inputs: []patch.Input{in}, Outputs: []patch.Output{{}}}
	for _, e := range s.edits {
		p.Edits = append(p.Edits, patch.Edit{At: e.at, Old: int64(len(e.old)), New: patch.Text(e.new), Why: "stated length"})
	}
	written, err := patch.WriteNew(ctx, p, s.target, patch.WriteOptions{Backup: s.replaces})
	if err == nil {
		s.backup = written[0].Backup
	}
	return err
}

// sidecarReports says what became of the files beside a model.
func sidecarReports(all []*sidecar) []report.Sidecar {
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
