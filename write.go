package modelpatch

import (
	"cmp"
	"context"
	"errors"
	"os"

	"github.com/modelpatch/modelpatch/patch"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
)

// write puts a plan on disk and notes what was written.
func (c *change) write(ctx context.Context, m position.Model, plan patch.Plan, out *report.Plan) error {
	if c.w.InPlace {
		return c.writeInPlace(ctx, m, plan, out)
	}
	target := c.w.Output
	if target == "" || os.IsPathSeparator(target[len(target)-1]) {
		return &patch.OutputError{Op: "create", Path: target, Err: errors.New("the output is a folder"), Hint: "name the file inside it"}
	}
	if n, ok := m.(position.OutputNamer); ok {
		root, further := n.OutputNames(target)
		target = root
		for i, name := range further {
			plan.Outputs[i+1].Name = name
		}
	}
	if c.w.PatchOnly {
		return c.writePatches(ctx, m, plan, target, out)
	}
	data, kept := c.oldData(plan, target)
	o := c.writeOptions()
	o.Progress, o.Check = c.w.Progress, func(path string) error {
		return c.checkNew(ctx, path, func() (position.Model, error) { return open(ctx, path, c.open) }, out)
	}
	written, err := patch.WriteNew(ctx, plan, target, o)
	if err != nil {
		return err
	}
	for _, f := range written {
		noteWritten(out, f, "new")
	}
	return removeData(data, kept, out)
}

func (c *change) writeOptions() patch.WriteOptions {
	return patch.WriteOptions{Force: c.w.Force, Backup: c.w.Backup, Digest: c.w.Digest}
}

// noteWritten says in the report what was written.
func noteWritten(out *report.Plan, f patch.WrittenFile, how string) {
	w := report.Written{Path: report.Name(f.Path), Bytes: f.Bytes, How: how}
	if f.SHA256 != "" {
		w.SHA256 = report.Pointer(f.SHA256)
	}
	out.Written = append(out.Written, w)
}

// checkNew reads a complete new file before it gets its name: it must parse,
// have what was asked for, and pass the caller's own check.
func (c *change) checkNew(ctx context.Context, path string, reopen func() (position.Model, error), out *report.Plan) error {
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
	err = c.check(m)
	m.Close()
	if err != nil {
		return fault(err)
	}
	if c.w.Check == nil {
		return nil
	}
	verdict, err := c.w.Check(ctx, c.path, path, *out)
	out.Verified = verdict
	return err
}
