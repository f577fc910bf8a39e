package change

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/modelpatch/modelpatch/internal/source"
	"github.com/modelpatch/modelpatch/patch"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
)

// oldData returns the data files of the model at target, which is going to be
// replaced, that lie beside it and are named after it. They stay: no look at a
// folder tells which models elsewhere read them. With a backup there are none to
// speak of, for it needs them.
func oldData(plan patch.Plan, target string, o source.Options, w WriteOptions) (data []string) {
	if !w.Force || w.Backup || len(plan.Outputs) < 2 || patch.CanEdit(target, nil, nil) != nil {
		return nil
	}
	old, err := source.OpenUnfinished(context.Background(), target, o)
	if err != nil {
		return nil
	}
	defer old.Close()
	if _, ok := old.(position.DataNamer); !ok {
		return nil
	}
	folder, base := filepath.Split(filepath.Clean(target))
	named := regexp.MustCompile(`^` + regexp.QuoteMeta(base) + `(\.\d+)?\.data(\.\d+)?$`)
	for _, f := range old.Describe().Files {
		path := folder + filepath.Base(f.Path)
		if filepath.Clean(f.Path) == filepath.Clean(path) && named.MatchString(filepath.Base(path)) && !isInput(plan, path) {
			data = append(data, path)
		}
	}
	return data
}

// noteOldData says in the report which data of a replaced model are left.
func noteOldData(data []string, out *report.Plan) {
	for _, path := range data {
		if !slices.ContainsFunc(out.Written, func(w report.Written) bool { return w.Path == report.Name(path) }) {
			out.Notes = append(out.Notes, report.Name(path)+", the data of the replaced model, is still there: remove it if no other model uses it")
		}
	}
}

// isInput reports whether a path is one of the plan's own files.
func isInput(plan patch.Plan, path string) bool {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() {
		return true
	}
	for _, in := range plan.Inputs {
		if other, err := os.Stat(in.Path); err != nil || os.SameFile(info, other) {
			return true
		}
	}
	return false
}
