package change

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/modelpatch/modelpatch/internal/sidecar"
	"github.com/modelpatch/modelpatch/internal/source"
	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/patch"
	"github.com/modelpatch/modelpatch/report"
)

// Apply makes the change of a patch file to the model at a path. Both may be named by addresses.
func Apply(ctx context.Context, patchPath, path string, open source.Options, w WriteOptions) (Result, error) {
	return applyPatch(ctx, patchPath, path, false, open, w)
}

// Revert takes the change of a patch file back: path is what Apply, or the
// change that the patch was made of, has given.
func Revert(ctx context.Context, patchPath, path string, open source.Options, w WriteOptions) (Result, error) {
	return applyPatch(ctx, patchPath, path, true, open, w)
}

// Recover finishes or undoes an edit in place of the file at path that was cut
// short, and removes what killed runs left, also of a file that they were still
// to make. A link is followed. It says what it did.
func Recover(path string) (patch.Recovered, error) {
	info, err := os.Lstat(path)
	if err == nil && info.IsDir() {
		return patch.RecoveredNothing, isFolder(path)
	}
	if edited, ok := source.UnfinishedFile(path); ok {
		path = edited
	}
	did, rerr := patch.Recover(path, nil)
	if err != nil && rerr == nil && did == patch.RecoveredNothing {
		return did, source.CannotOpen(path, err)
	}
	return did, rerr
}

// isFolder says that recover wants a file, and which ones of the folder need it.
func isFolder(path string) error {
	e := &source.InputError{Path: path, What: "cannot be recovered", Why: "it is a folder", Hint: "name a file: no file in this folder has an unfinished edit"}
	const most = 20
	found := patch.UnfinishedIn(path, nil)
	if len(found) > 0 {
		e.Hint = "modelpatch recover " + report.Printable(strings.Join(found[:min(len(found), most)], " "))
	}
	if len(found) > most {
		e.Hint += fmt.Sprintf(" (and %d more)", len(found)-most)
	}
	return e
}

// patchRun is one run of Apply or Revert.
type patchRun struct {
	patch  *patch.PatchFile
	name   string // of the patch
	path   string
	revert bool
	open   source.Options
	w      WriteOptions
	closed func() error // of a file at an address
}

func applyPatch(ctx context.Context, patchPath, path string, revert bool, open source.Options, w WriteOptions) (result Result, err error) {
	if err := cmp.Or(w.check(), w.aims()); err != nil {
		return Result{}, err
	}
	if source.IsAddress(path) && w.InPlace {
		return Result{}, notInPlace()
	}
	unlock, err := w.lock(path)
	if err != nil {
		return Result{}, err
	}
	defer unlock()
	if !source.IsAddress(path) {
		if err := source.Unfinished(path); err != nil {
			return Result{}, err
		}
	}
	f, err := source.OpenPatch(ctx, patchPath, open)
	if err != nil {
		return Result{}, err
	}
	defer f.Close()
	r := patchRun{patch: f, name: source.ShownPath(patchPath), path: path, revert: revert, open: open, w: w, closed: func() error { return nil }}
	defer func() { r.closed() }()
	plan, err := r.plan(ctx)
	if err != nil {
		return Result{}, err
	}
	if err := hashed(w.Inputs, plan, nil); err != nil {
		return Result{}, err
	}
	result = Result{Plan: r.report(plan)}
	beside := sidecar.OfPatch(ctx, r.path, r.patch.Beside, r.revert, r.open)
	if err := r.aimBeside(beside); err != nil {
		return Result{}, err
	}
	defer func() { result.Plan.Sidecars = beside.Reports() }()
	switch {
	case w.DryRun && w.InPlace:
		return result, r.another(patch.CanInPlace(ctx, plan, patch.InPlaceOptions{Replace: r.patch.Replace, Locked: w.locked}))
	case w.DryRun:
		return result, nil
	}
	if w.InPlace {
		return result, cmp.Or(r.inPlace(ctx, plan, beside, &result.Plan), w.stillHashed(plan))
	}
	w.fetches(plan)
	written, err := patch.WriteNew(ctx, plan, w.Output, patch.WriteOptions{Force: w.Force, Backup: w.Backup, Digest: w.Digest, Progress: w.Progress, Check: r.check})
	for _, file := range written {
		noteWritten(&result.Plan, file, "new")
	}
	if err == nil {
		result.Plan.Notes = append(result.Plan.Notes, absentData(w.Output)...)
	}
	return result, cmp.Or(err, w.stillHashed(plan))
}

// absentData says which data files a written ONNX graph names that are not beside it: a patch changes
// one file, and those that it leaves alone have to be copied, or have patches of their own.
func absentData(path string) (notes []string) {
	f, err := onnx.Open(path, onnx.Options{})
	if err != nil {
		return nil // of another format, or told elsewhere
	}
	defer f.Close()
	const most = 8
	for i, d := range f.DataFiles() {
		if _, err := os.Stat(d.Path); d.Err == nil || !errors.Is(err, os.ErrNotExist) {
			continue
		}
		if len(notes) == most {
			return append(notes, fmt.Sprintf("%d data files in all are to be looked for", len(f.DataFiles())-i+most))
		}
		notes = append(notes, fmt.Sprintf("the graph reads %s, which is not there: copy the old model's data file under this name, or apply the patch that was made for it", report.Name(d.Location)))
	}
	return notes
}

// plan is the patch's, once the file is seen to be the one that it is for.
func (r *patchRun) plan(ctx context.Context) (patch.Plan, error) {
	if source.IsAddress(r.path) {
		return r.distantPlan(ctx)
	}
	file, err := patch.OS.Open(r.path)
	if err != nil {
		return patch.Plan{}, source.CannotOpen(r.path, err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return patch.Plan{}, source.CannotOpen(r.path, err)
	}
	if !info.Mode().IsRegular() {
		_, err := source.Sniff(r.path)
		return patch.Plan{}, err
	}
	how, err := r.patch.Differs(file, info.Size(), r.revert)
	if err != nil {
		return patch.Plan{}, source.CannotOpen(r.path, err)
	}
	if how != "" {
		if _, err := source.Sniff(r.path); err != nil {
			return patch.Plan{}, err // a pointer to the model, a web page
		}
		return patch.Plan{}, r.misfit(file, info.Size(), how)
	}
	plan := r.patch.Plan(r.path)
	if r.revert {
		plan = r.patch.Reverse(r.path)
	}
	plan.Inputs[0].Info = info
	return plan, nil
}

// distantPlan is plan of a file at an address.
func (r *patchRun) distantPlan(ctx context.Context) (patch.Plan, error) {
	file, size, closed, err := source.OpenFile(ctx, r.path, source.ShownPath(r.path), r.open)
	if err != nil {
		return patch.Plan{}, err
	}
	r.closed = closed
	how, err := r.patch.Differs(file, size, r.revert)
	if err != nil {
		return patch.Plan{}, err
	}
	if how != "" {
		return patch.Plan{}, r.misfit(file, size, how)
	}
	plan := r.patch.Plan(source.ShownPath(r.path))
	if r.revert {
		plan = r.patch.Reverse(source.ShownPath(r.path))
	}
	plan.Inputs[0].Reader = file
	return plan, nil
}

// misfit says why the patch is not for the file; that it was applied before is
// the likeliest reason, and told by name.
func (r *patchRun) misfit(file io.ReaderAt, size int64, how string) error {
	e := &patch.RefusedError{Path: source.ShownPath(r.path), Why: fmt.Sprintf("the patch does not fit: %s", how),
		Instead: fmt.Sprintf("it was made for a file named %s (%s)", brief(r.patch.Source.Name), brief(r.patch.Change))}
	if r.revert {
		e.Instead = fmt.Sprintf("it takes back a change whose result was named %s (%s)", brief(r.patch.Target.Name), brief(r.patch.Change))
	}
	if other, err := r.patch.Differs(file, size, !r.revert); err == nil && other == "" {
		e.Why, e.Instead = "the patch is applied to it already", "modelpatch revert takes it back"
		if r.revert {
			e.Why = "already reverted: the file is in the state before the patch"
			e.Instead = report.Printable(r.name) + " can be deleted; modelpatch apply would make the change again"
		}
	}
	return e
}

// brief is a text of a patch file for a message; it may be of any length.
func brief(s string) string {
	const most = 120
	if r := []rune(s[:min(len(s), 4*most)]); len(r) > most {
		s = string(r[:most]) + "…"
	}
	return report.Printable(s)
}

func (r *patchRun) report(plan patch.Plan) report.Plan {
	verb, expect := "apply", cmp.Or(r.patch.Expect, report.ExpectUnknown)
	if r.revert {
		verb = "revert"
	}
	changes := []report.Change{{What: verb + ": " + report.Name(r.patch.Change), Expect: expect}}
	if r.revert && r.patch.Replace {
		changes = append(changes, report.Change{What: "what the change added at the ends of data files stays there, and no tensor uses it", Expect: report.ExpectSame})
	}
	return report.Plan{Schema: report.SchemaPlan, Path: report.Name(source.ShownPath(r.path)), Command: verb + " " + report.Name(r.name),
		Changes: changes,
		Edits:   edits(plan), Sidecars: []report.Sidecar{}, Written: []report.Written{}}
}

// check reads the written file back as the patch's other side.
func (r *patchRun) check(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return &patch.OutputError{Op: "check", Path: path, Err: err}
	}
	defer file.Close()
	info, err := file.Stat()
	how := ""
	if err == nil {
		how, err = r.patch.Differs(file, info.Size(), !r.revert)
	}
	if err == nil && how != "" {
		err = fmt.Errorf("the result is not what the patch promises: %s", how)
	}
	if err != nil {
		return &patch.OutputError{Op: "check", Path: path, Err: err}
	}
	return nil
}

// inPlace needs no undo file: the patch itself is the way back.
func (r *patchRun) inPlace(ctx context.Context, plan patch.Plan, beside sidecar.Files, out *report.Plan) error {
	o := patch.InPlaceOptions{Check: r.check, Replace: r.patch.Replace, Spent: r.spent(), Locked: r.w.locked, Files: beside.Following(r.path)}
	_, err := patch.InPlace(ctx, plan, o)
	if err != nil && !alreadyDone(err) {
		return r.another(err)
	}
	beside.Followed()
	if _, gone := os.Lstat(o.Spent); o.Spent != "" && gone != nil {
		out.Removed = append(out.Removed, report.Name(r.name))
	}
	if err != nil {
		return err
	}
	if r.revert {
		what := "the bytes of " + report.Name(filepath.Base(r.path)) + " that the change wrote are as they were before it"
		if o.Spent == "" {
			what += ": " + report.Name(filepath.Base(r.name)) + " is not needed any more"
		}
		out.Changes = append(out.Changes, report.Change{Expect: report.ExpectSame, What: what})
	}
	return noteInPlace([]string{r.path}, patch.Undo{}, r.w.Digest, out)
}

// another adds to the refusal of a change in place what may do instead: a command lays its change out anew for
// the file as it lies, where a patch holds the layout of a new file.
func (r *patchRun) another(err error) error {
	if e, ok := errors.AsType[*patch.RefusedError](err); ok && !r.revert && r.patch.Expect != "" {
		e.Instead = "-o NEW writes a new file; the change itself (" + brief(r.patch.Change) + "), made with --in-place, is laid out for the file as it lies"
	}
	return err
}

// aimBeside decides which files beside the model follow the patch: in place all
// that can be edited, beside a new file none.
func (r *patchRun) aimBeside(all sidecar.Files) error {
	if !r.w.InPlace {
		all.Leave("a change in place changes it; a new file is written alone")
		return nil
	}
	if !r.revert || !r.isUndo() { // else the patch goes when it is taken back
		all.KeptIn(r.name)
	}
	return all.AimInPlace(r.w.locked)
}
