package change

import (
	"context"
	"os"

	"github.com/modelpatch/modelpatch/internal/source"
	"github.com/modelpatch/modelpatch/patch"
	"github.com/modelpatch/modelpatch/report"
)

// edits says a plan's edits in the report's words.
func edits(p patch.Plan) []report.Edit {
	out := []report.Edit{}
	for _, e := range p.Normalize().Edits {
		r := report.Edit{File: report.Name(p.Inputs[e.File].Path), Range: [2]int64{e.At, e.At + e.Old}, Why: e.Why}
		if e.New != nil {
			r.Bytes = e.New.Size()
		}
		out = append(out, r)
	}
	return out
}

// noteWritten says in the report what was written.
func noteWritten(out *report.Plan, f patch.WrittenFile, how string) {
	w := report.Written{Path: report.Name(f.Path), Bytes: f.Bytes, How: how}
	if f.SHA256 != "" {
		w.SHA256 = report.Pointer(f.SHA256)
	}
	out.Written = append(out.Written, w)
}

// noteInPlace says in the report which files were changed in place, and which
// patch takes that back.
func noteInPlace(paths []string, undo patch.Undo, withDigest bool, out *report.Plan) error {
	for _, path := range paths {
		w := report.Written{Path: report.Name(path), How: "in-place"}
		info, err := os.Stat(path)
		if err != nil {
			return source.CannotOpen(path, err)
		}
		w.Bytes = info.Size()
		if withDigest {
			sum, err := FileDigest(context.Background(), path)
			if err != nil {
				return source.CannotOpen(path, err)
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
