package modelpatch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"

	"github.com/modelpatch/modelpatch/patch"
	"github.com/modelpatch/modelpatch/report"
)

// undoSuffix is added to a file's name for the patch that takes a change back.
const undoSuffix = ".undo.mpatch"

// writeInPlace changes the input itself, under a journal. Changes that would
// move data are refused by package patch.
func (c *change) writeInPlace(ctx context.Context, plan patch.Plan, out *report.Plan) error {
	path := plan.Inputs[plan.Outputs[0].Input].Path
	if len(plan.Edits) > 0 {
		path = plan.Inputs[plan.Edits[0].File].Path
	}
	o := patch.InPlaceOptions{Change: c.command, Check: func(path string) error { return c.checkNew(ctx, path, out) }}
	if c.w.Backup {
		o.Undo = path + undoSuffix
	}
	undo, err := patch.InPlace(ctx, plan, o)
	if err != nil {
		return err
	}
	return c.noteInPlace(path, undo, out)
}

// noteInPlace says what was written.
func (c *change) noteInPlace(path string, undo patch.Undo, out *report.Plan) error {
	w := report.Written{Path: report.Name(path), How: "in-place"}
	info, err := os.Stat(path)
	if err != nil {
		return cannotOpen(path, err)
	}
	w.Bytes = info.Size()
	if c.w.Digest {
		sum, err := digest(path)
		if err != nil {
			return cannotOpen(path, err)
		}
		w.SHA256 = &sum
	}
	out.Written = append(out.Written, w)
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
