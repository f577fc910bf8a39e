package change

import (
	"cmp"
	"context"
	"errors"
	"os"

	"github.com/modelpatch/modelpatch/internal/sidecar"
	"github.com/modelpatch/modelpatch/internal/source"
	"github.com/modelpatch/modelpatch/patch"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
)

// writing is a plan on its way to a file: in place, to a new file, or to a patch.
type writing struct {
	path       string // of the old model
	command    string // for patches: what makes the change
	open       source.Options
	w          WriteOptions
	old        position.Model
	plan       patch.Plan
	beside     sidecar.Files              // files that follow the model
	checkModel func(position.Model) error // that a new model is what was decided
	out        *report.Plan               // where it is noted what was written
}

// write writes what was asked for: the list of edits, the model, and the files
// beside it. A new model is checked before it gets its name.
func (c *writing) write(ctx context.Context) error {
	if err := c.beside.Aim(c.path, c.w.sidecars()); err != nil {
		return err
	}
	if c.w.Edits != "" {
		if err := c.writeEdits(ctx); err != nil {
			return err
		}
	}
	switch {
	case c.w.DryRun && c.w.InPlace && len(c.plan.Edits) > 0:
		return patch.CanInPlace(ctx, c.plan, patch.InPlaceOptions{Replace: rootIsSmall(c.old, c.plan), Locked: c.w.locked})
	case c.w.DryRun || c.w.Output == "" && !c.w.InPlace:
		return nil
	}
	return c.writeModel(ctx)
}

// alreadyDone reports whether an error came when the change was made already.
func alreadyDone(err error) bool {
	o, ok := errors.AsType[*patch.OutputError](err)
	return ok && o.Done
}

// writeModel writes the model, or patches that make it, and notes what was written.
func (c *writing) writeModel(ctx context.Context) error {
	if c.w.InPlace {
		return c.writeInPlace(ctx)
	}
	target := c.w.Output
	if target == "" || os.IsPathSeparator(target[len(target)-1]) {
		return &patch.OutputError{Op: "create", Path: target, Err: errors.New("the output is a folder"), Hint: "name the file inside it"}
	}
	plan := c.plan
	if n, ok := c.old.(position.OutputNamer); ok {
		root, further := n.OutputNames(target)
		target = root
		for i, name := range further {
			plan.Outputs[i+1].Name = name
		}
	}
	if c.w.Parts {
		return c.writeParts(ctx, c.w.Output)
	}
	if c.w.PatchOnly {
		return c.writePatches(ctx, target)
	}
	left := oldData(plan, target, c.open, c.w)
	o := c.w.saving()
	o.Progress, o.Check = c.w.Progress, func(path string) error {
		return c.check(ctx, path, func() (position.Model, error) { return source.OpenUnfinished(ctx, path, c.open) })
	}
	c.w.fetches(plan)
	written, err := patch.WriteNew(ctx, c.beside.With(plan, target), target, o)
	if err == nil || alreadyDone(err) {
		c.beside.Followed()
	}
	if err != nil {
		return err
	}
	for _, f := range written[:len(plan.Outputs)] {
		noteWritten(c.out, f, "new")
	}
	c.beside.Replaced(written[len(plan.Outputs):])
	noteOldData(left, c.out)
	return nil
}

// check reads a complete new file before it gets its name: it must parse,
// have what was asked for, and pass the caller's own check.
func (c *writing) check(ctx context.Context, path string, reopen func() (position.Model, error)) error {
	fault := func(err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return &patch.OutputError{Op: "check", Path: cmp.Or(c.w.Output, c.path), Err: err, Hint: "this is a mistake of modelpatch: please report it; nothing was written"}
	}
	m, err := reopen()
	if err != nil {
		return fault(err)
	}
	err = c.checkModel(m)
	m.Close()
	if err != nil {
		return fault(err)
	}
	if c.w.Check == nil {
		return nil
	}
	verdict, err := c.w.Check(ctx, c.path, path, *c.out)
	c.out.Verified = verdict
	return err
}
