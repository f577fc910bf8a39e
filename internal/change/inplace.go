package change

import (
	"context"
	"fmt"
	"os"

	"github.com/modelpatch/modelpatch/internal/source"
	"github.com/modelpatch/modelpatch/patch"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
)

// undoSuffix is added to a file's name for the patch that takes a change back;
// later ones are numbered: .undo.2.mpatch.
const undoSuffix = ".undo"

// writeInPlace changes the input itself, under a journal. Changes that would
// move data are refused by package patch.
func (c *writing) writeInPlace(ctx context.Context) error {
	changed := editedFiles(c.plan)
	if len(changed) == 0 {
		c.beside.Leave("nothing changes in the model")
		return nil
	}
	path := changed[0]
	o := patch.InPlaceOptions{Change: c.command, Expect: report.Expected(c.out.Changes), Request: c.out.RequestJSON(), Check: func(path string) error { return c.checkInPlace(ctx, path) },
		Data: dataSpans(c.old, path), Replace: rootIsSmall(c.old, c.plan)}
	o.Files, o.Locked = c.beside.Following(path), c.w.locked
	if !c.w.NoUndo {
		o.Undo, o.Beside = freeUndo(path), c.beside.Numbers()
		c.beside.KeptIn(o.Undo)
	}
	undo, err := patch.InPlace(ctx, c.plan, o)
	if err == nil || alreadyDone(err) {
		c.beside.Followed()
	}
	if err != nil {
		return err
	}
	return noteInPlace(changed, undo, c.w.Digest, c.out)
}

// checkInPlace checks the model when one of its files was changed: by the name
// under which it was opened, unless that is another name of a new root.
func (c *writing) checkInPlace(ctx context.Context, changed string) error {
	path := changed
	for _, f := range c.out.Edits {
		if f.File == report.Name(changed) {
			path = c.path
		}
	}
	return c.check(ctx, path, func() (position.Model, error) {
		if e, ok := c.old.(position.EditedOpener); ok {
			return e.OpenEdited(path)
		}
		return source.OpenUnfinished(ctx, path, c.open) // Open would stop at the journal, which stands until this is done
	})
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
	name := path + undoSuffix + patch.Suffix
	for n := 2; ; n++ {
		if _, err := os.Lstat(name); err != nil {
			return name
		}
		name = fmt.Sprintf("%s%s.%d%s", path, undoSuffix, n, patch.Suffix)
	}
}
