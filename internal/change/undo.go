package change

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/modelpatch/modelpatch/internal/source"
	"github.com/modelpatch/modelpatch/patch"
	"github.com/modelpatch/modelpatch/report"
)

// Undo takes the newest change in place of a model back, by the undo patch that it left
// (FILE.undo.mpatch, FILE.undo.2.mpatch …), and removes that patch. The patches of all files of
// the model are tried, the newest first; the first that fits the file as it is is taken. With
// DryRun nothing is written, and with Output a new file gets the old state and the patch stays.
func Undo(ctx context.Context, path string, w WriteOptions) (Result, error) {
	if err := cmp.Or(w.check(), w.aims()); err != nil {
		return Result{}, err
	}
	unlock, err := w.lock(path)
	if err != nil {
		return Result{}, err
	}
	defer unlock()
	if err := source.Unfinished(path); err != nil {
		return Result{}, err
	}
	if _, err := os.Stat(path); err != nil {
		return Result{}, source.CannotOpen(path, err)
	}
	found := UndosOf(path)
	if m, err := source.Open(ctx, path, source.Options{}); err == nil {
		for _, f := range m.Describe().Files {
			if f.Path != path {
				found = append(found, UndosOf(f.Path)...)
			}
		}
		if err := m.Close(); err != nil {
			return Result{}, err
		}
	}
	slices.SortStableFunc(found, func(a, b UndoPatch) int { return cmp.Or(b.made.Compare(a.made), cmp.Compare(b.Number, a.Number)) })
	var misfit error
	for _, u := range found {
		dry := w
		dry.DryRun = true
		_, err := Revert(ctx, u.Path, u.file, source.Options{}, dry)
		switch {
		case is[*patch.RefusedError](err):
			misfit = cmp.Or(misfit, err)
		case err != nil:
			return Result{}, err
		default:
			return Revert(ctx, u.Path, u.file, source.Options{}, w)
		}
	}
	if misfit != nil {
		return Result{}, misfit
	}
	return Result{}, &patch.RefusedError{Path: path, Why: "no undo patch is beside it", Instead: "a change in place leaves " + report.Printable(filepath.Base(path)) + undoSuffix + patch.Suffix + "; revert takes a patch of another name back"}
}

// UndoPatch is an undo patch that a change in place left beside a file.
type UndoPatch struct {
	Path, file string
	Number     int // 1 is the oldest
	made       time.Time
}

// UndosOf lists the undo patches beside a file. A link's lie beside the file that it leads to.
func UndosOf(path string) (out []UndoPatch) {
	if real, err := filepath.EvalSymlinks(path); err == nil && len(undosBeside(path)) == 0 {
		path = real
	}
	return undosBeside(path)
}

func undosBeside(path string) (out []UndoPatch) {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return nil
	}
	for _, e := range entries {
		n := undoNumber(path, e.Name())
		info, err := e.Info()
		if n == 0 || err != nil || !info.Mode().IsRegular() {
			continue
		}
		out = append(out, UndoPatch{Path: filepath.Join(filepath.Dir(path), e.Name()), file: path, Number: n, made: info.ModTime()})
	}
	return out
}

// undoNumber is the number of an undo patch of the file at path by the patch's base name; 0:
// it is none.
func undoNumber(path, name string) int {
	m := regexp.MustCompile(`^` + regexp.QuoteMeta(filepath.Base(path)+undoSuffix) + `(?:\.(\d{1,9}))?` + regexp.QuoteMeta(patch.Suffix) + `$`).FindStringSubmatch(name)
	switch {
	case m == nil:
		return 0
	case m[1] == "":
		return 1
	}
	n, err := strconv.Atoi(m[1])
	if err != nil {
		return 0
	}
	return n
}

// isUndo reports whether a patch is an undo patch that a change of this file left. One of another
// name, or in another folder, is its owner's.
func (r *patchRun) isUndo() bool {
	info, err := os.Lstat(r.name)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	return slices.ContainsFunc(UndosOf(r.path), func(u UndoPatch) bool {
		other, err := os.Lstat(u.Path)
		return err == nil && os.SameFile(info, other)
	})
}

// spent is the undo patch that goes when a change is taken back, for it would fit nothing any more; ""
// where there is none.
func (r *patchRun) spent() string {
	if !r.revert || !r.isUndo() {
		return ""
	}
	return filepath.Join(filepath.Dir(r.path), filepath.Base(r.name))
}
