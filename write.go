package modelpatch

import (
	"context"

	"github.com/modelpatch/modelpatch/patch"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
)

// write puts a plan on disk and notes what was written.
func (c *change) write(ctx context.Context, m position.Model, plan patch.Plan, out *report.Plan) error {
	if c.w.InPlace {
		return c.writeInPlace(ctx, plan, out)
	}
	target := c.w.Output
	if n, ok := m.(position.OutputNamer); ok {
		root, further := n.OutputNames(target)
		target = root
		for i, name := range further {
			plan.Outputs[i+1].Name = name
		}
	}
	written, err := patch.WriteNew(ctx, plan, target, patch.WriteOptions{
		Force: c.w.Force, Backup: c.w.Backup, Digest: c.w.Digest, Progress: c.w.Progress,
		Check: func(path string) error { return c.checkNew(ctx, path, out) },
	})
	if err != nil {
		return err
	}
	for _, f := range written {
		w := report.Written{Path: report.Name(f.Path), Bytes: f.Bytes, How: "new"}
		if f.SHA256 != "" {
			w.SHA256 = report.Pointer(f.SHA256)
		}
		out.Written = append(out.Written, w)
	}
	return nil
}

// checkNew reads a complete new file before it gets its name: it must parse,
// have what was asked for, and pass the caller's own check.
func (c *change) checkNew(ctx context.Context, path string, out *report.Plan) error {
	fault := func(err error) error {
		return &patch.OutputError{Op: "check", Path: c.w.Output, Err: err, Hint: "this is a mistake of modelpatch: please report it; nothing was written"}
	}
	m, err := Open(path, c.open)
	if err != nil {
		return fault(err)
	}
	err = c.expect(m)
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
