package modelpatch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/modelpatch/modelpatch/gguf"
	"github.com/modelpatch/modelpatch/patch"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
)

// undoSuffix is added to a file's name for the patch that takes a change back;
// later ones are numbered: .undo.2.mpatch.
const undoSuffix = ".undo"

// planInPlace lays a change out for the file as it lies.
func (c *change) planInPlace(m position.Model) (patch.Plan, error) {
	p, ok := m.(position.Placer)
	if !ok {
		return m.Edits()
	}
	plan, err := p.EditsInPlace(0)
	e, ok := errors.AsType[*gguf.PlaceError](err)
	if !ok {
		return plan, err
	}
	block, why := patch.InsertBlock(e.Path, nil)
	switch {
	case why == nil:
		plan, err = p.EditsInPlace(block)
	case is[*patch.OutputError](why), is[*patch.InputError](why):
		return plan, why // of the disk, and not of the file system's kind
	}
	if e, ok := errors.AsType[*gguf.PlaceError](err); ok {
		return plan, c.misplaced(e, why)
	}
	return plan, err
}

// misplaced says why a change cannot be made in place, and what can.
func (c *change) misplaced(e *gguf.PlaceError, why error) error {
	r := &position.Refusal{Why: "not in place: " + e.Why, Remedies: []report.Remedy{report.Do("", "writes a new file", "output", "NEW")}}
	if why != nil {
		r.Why += "; " + why.Error()
	}
	if e.Tensor == nil {
		r.Remedies = append(r.Remedies, report.Do("", "leaves room in it for later changes", "output", "NEW", "reserve", "4096"))
	}
	for _, rows := range e.Fit {
		if c.length > 0 {
			r.Remedies = append(r.Remedies, report.Do("", "fits in place", "len", fmt.Sprint(int64(c.length)+rows-e.Rows)))
		}
	}
	return r
}

// writeInPlace changes the input itself, under a journal. Changes that would
// move data are refused by package patch.
func (c *change) writeInPlace(ctx context.Context, m position.Model, plan patch.Plan, out *report.Plan) error {
	changed := editedFiles(plan)
	if len(changed) == 0 {
		return nil
	}
	path := changed[0]
	o := patch.InPlaceOptions{Change: c.command, Check: func(path string) error { return c.checkInPlace(ctx, m, path, out) },
		Data: dataSpans(m, path), Replace: rootIsSmall(m, plan)}
	if !c.w.NoUndo {
		o.Undo, o.Beside = freeUndo(path), c.besides()
		for _, s := range c.beside {
			s.backup = o.Undo
		}
	}
	undo, err := patch.InPlace(ctx, plan, o)
	if err != nil {
		return err
	}
	return noteInPlace(changed, undo, c.w.Digest, out)
}

// checkInPlace checks the model when one of its files was changed: by the name
// under which it was opened, unless that is another name of a new root.
func (c *change) checkInPlace(ctx context.Context, before position.Model, changed string, out *report.Plan) error {
	path := changed
	for _, f := range out.Edits {
		if f.File == report.Name(changed) {
			path = c.path
		}
	}
	return c.checkNew(ctx, path, func() (position.Model, error) {
		if e, ok := before.(position.EditedOpener); ok {
			return e.OpenEdited(path)
		}
		return open(ctx, path, c.open) // Open would stop at the journal, which stands until this is done
	}, out)
}

// editedFiles are the paths of the files that a plan edits, the root first.
func editedFiles(plan patch.Plan) []string {
	var out []string
	for i, o := range plan.Outputs {
		if len(plan.Edited(i)) > 0 {
			out = append(out, plan.Inputs[o.Input].Path)
		}
	}
	return out
}

// dataSpans returns which ranges of a model's file hold tensor data; nil where
// the model does not know.
func dataSpans(m position.Model, path string) [][2]int64 {
	if d, ok := m.(position.DataSpanner); ok {
		return d.DataSpans(path)
	}
	return nil
}

// rootIsSmall reports whether a model keeps its weights in data files, so that
// its root can be replaced at little cost.
func rootIsSmall(m position.Model, plan patch.Plan) bool {
	_, ok := m.(position.DataNamer)
	return ok && len(plan.Inputs) > 1
}

// freeUndo is the first name for an undo file that is not taken. None is ever
// replaced: each takes back one change of a chain.
func freeUndo(path string) string {
	name := path + undoSuffix + patchSuffix
	for n := 2; ; n++ {
		if _, err := os.Lstat(name); err != nil {
			return name
		}
		name = fmt.Sprintf("%s%s.%d%s", path, undoSuffix, n, patchSuffix)
	}
}

// noteInPlace says what was written.
func noteInPlace(paths []string, undo patch.Undo, withDigest bool, out *report.Plan) error {
	for _, path := range paths {
		w := report.Written{Path: report.Name(path), How: "in-place"}
		info, err := os.Stat(path)
		if err != nil {
			return cannotOpen(path, err)
		}
		w.Bytes = info.Size()
		if withDigest {
			sum, err := digest(path)
			if err != nil {
				return cannotOpen(path, err)
			}
			w.SHA256 = &sum
		}
		out.Written = append(out.Written, w)
	}
	if undo.Path != "" {
		out.Written = append(out.Written, report.Written{Path: report.Name(undo.Path), Bytes: undo.Bytes, How: "patch"})
	}
	return nil
}

// digest is the SHA-256 of a file in hex.
func digest(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
