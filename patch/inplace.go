package patch

import (
	"context"
	"errors"
	"path/filepath"
)

// InPlace changes the plan's one edited input itself. Edits must keep their
// sizes, but for the end of the file, where bytes may be added or removed, and
// for one edit that adds or removes whole blocks (see InsertBlock), which the
// file system then moves without copying what follows. A journal `.NAME.modelpatch-journal` is on disk before the first byte changes,
// so that after a crash Recover gives the old bytes or the new ones; after an
// error or when ctx is done the file is as it was (facts/BAD-INPUTS §5).
//
// A link, a file of several names, and a blob that is named by its digest are a
// *RefusedError: other programs rely on them. Other errors are those of
// WriteNew.
func InPlace(ctx context.Context, p Plan, o InPlaceOptions) (Undo, error) {
	if o.FS == nil {
		o.FS = OS
	}
	if err := p.Check(); err != nil {
		return Undo{}, err
	}
	file, err := p.onlyEdited()
	if err != nil && o.Replace && p.replaceable() {
		return replace(ctx, p, o)
	}
	if err != nil {
		return Undo{}, err
	}
	t, err := openPlanned(o.FS, p.Inputs[file], o.Locked)
	if err != nil {
		return Undo{}, err
	}
	defer t.close()
	j, err := t.plan(ctx, p, file)
	if is[*RefusedError](err) && o.Replace && p.replaceable() {
		t.close()
		return replace(ctx, p, o)
	}
	if err != nil {
		return Undo{}, err
	}
	own := o.journal(t)
	j.Beside, j.Made, j.Spent = own.Beside, own.Made, own.Spent
	if err = t.writeUndo(p, file, o); err == nil {
		err = t.openBeside(j, o.Files)
	}
	if err == nil {
		err = t.edit(ctx, j, o.Check)
	}
	return t.outcome(err)
}

// CanInPlace reports whether InPlace could make the plan's change: nil, or the error with which it would end
// before the first byte changes. It changes nothing.
func CanInPlace(ctx context.Context, p Plan, o InPlaceOptions) error {
	if o.FS == nil {
		o.FS = OS
	}
	if err := p.Check(); err != nil {
		return err
	}
	file, err := p.onlyEdited()
	if err == nil {
		err = p.fits(ctx, file, o)
	}
	if is[*RefusedError](err) && o.Replace && p.replaceable() {
		return nil
	}
	return err
}

// fits reports whether the edits of one input can be made in it as it lies.
func (p Plan) fits(ctx context.Context, file int, o InPlaceOptions) error {
	t, err := openLocked(o.FS, p.Inputs[file].Path, o.Locked)
	if err != nil {
		return err
	}
	defer t.close()
	_, err = t.plan(ctx, p, file)
	return err
}

// outcome is what InPlace returns; the undo patch goes where the change was not
// made. While the journal may be there, recovery may keep the new bytes, and their
// undo patch must stay.
func (t *placed) outcome(err error) (Undo, error) {
	if err == nil || decided(err) {
		return t.made(), err
	}
	if t.forgotten() {
		err = errors.Join(err, t.dropUndo())
	}
	return Undo{}, err
}

// journal is what the journals of a change of t have in common.
func (o InPlaceOptions) journal(t *placed) *journal {
	j := &journal{Target: filepath.Base(t.path), Swap: new(swap)}
	j.takes(o.Files)
	for _, undo := range []struct {
		path string
		to   *string
	}{{o.Undo, &j.Made}, {o.Spent, &j.Spent}} {
		if name := filepath.Base(undo.path); undo.path != "" && filepath.Dir(undo.path) == filepath.Dir(t.path) && j.isUndo(name) {
			*undo.to = name
		}
	}
	return j
}

// onlyEdited is the input that the plan's edits are of.
func (p Plan) onlyEdited() (int, error) {
	file := p.Outputs[0].Input
	for i, e := range p.Edits {
		if i > 0 && e.File != file {
			return 0, &RefusedError{p.Inputs[e.File].Path, "the change is to several files, which cannot be changed in place together", "write new files with -o"}
		}
		file = e.File
	}
	return file, nil
}
