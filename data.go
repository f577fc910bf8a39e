package modelpatch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/modelpatch/modelpatch/internal/regular"
	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/patch"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
)

// oldData returns the data files of the model at target, which is going to be
// replaced, that lie beside it and are named after it, and the names beside it
// that do not count when others are looked for which use them. With a backup
// there are none, for it needs them.
func oldData(plan patch.Plan, target string, o OpenOptions, w WriteOptions) (data, kept []string) {
	if !w.Force || w.Backup || len(plan.Outputs) < 2 || patch.CanEdit(target, nil) != nil {
		return nil, nil
	}
	old, err := open(context.Background(), target, o)
	if err != nil {
		return nil, nil
	}
	defer old.Close()
	if _, ok := old.(position.DataNamer); !ok {
		return nil, nil
	}
	folder, base := filepath.Split(filepath.Clean(target))
	kept = []string{base}
	for _, out := range plan.Outputs {
		kept = append(kept, out.Name)
	}
	named := regexp.MustCompile(`^` + regexp.QuoteMeta(base) + `(\.\d+)?\.data(\.\d+)?$`)
	for _, f := range old.Describe().Files {
		name := filepath.Base(f.Path)
		path := folder + name
		if filepath.Clean(f.Path) == filepath.Clean(path) && named.MatchString(name) && !slices.Contains(kept, name) && !isInput(plan, path) {
			data = append(data, path)
		}
	}
	for _, path := range data {
		kept = append(kept, filepath.Base(path))
	}
	return data, kept
}

// removeData removes the data of a model that was replaced, those that are seen
// to be its alone, to which nothing points by now. It says in the report which
// are gone, and why the others stay.
func removeData(data, kept []string, out *report.Plan) error {
	for _, path := range data {
		if why := whyNotAlone(path, kept); why != "" {
			out.Notes = append(out.Notes, report.Name(path)+", the data of the replaced model, is still there: "+why)
			continue
		}
		if err := os.Remove(path); err != nil {
			return &patch.OutputError{Op: "remove it", Path: path, Err: err, Done: true,
				State: "the new model is in place, but data of the replaced one are still here"}
		}
		out.Removed = append(out.Removed, report.Name(path))
	}
	return nil
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

const (
	// mostNeighbours is how many files of a folder are looked into.
	mostNeighbours = 1000
	// searched is the size up to which a file is searched for a name; of a
	// larger one, the places are read where an ONNX model names its data.
	searched = 16 << 20
)

// whyNotAlone says why the data file at path may belong to others than the model
// that is replaced: "" when it has one name, and no other file of its folder and
// no model in the two folders above mentions it. kept are names in its folder
// that do not count.
func whyNotAlone(path string, kept []string) string {
	if err := patch.CanEdit(path, nil); err != nil {
		return err.Error()
	}
	data, err := os.Lstat(path)
	if err != nil {
		return err.Error()
	}
	folder, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return err.Error()
	}
	for level := range 3 {
		entries, err := os.ReadDir(folder)
		if err != nil {
			return err.Error()
		}
		looked := 0
		for _, e := range entries {
			name := e.Name()
			if e.IsDir() || level == 0 && (name == filepath.Base(path) || slices.Contains(kept, name)) || level > 0 && !strings.HasSuffix(name, ".onnx") {
				continue
			}
			if looked++; looked > mostNeighbours {
				return "there are too many files beside it to see whether others use it"
			}
			if why := mentions(filepath.Join(folder, name), data); why != "" {
				return why
			}
		}
		above := filepath.Dir(folder)
		if above == folder {
			break
		}
		folder = above
	}
	return ""
}

// mentions says how a file points to the data file of the given name, "" when it
// does not.
func mentions(path string, data fs.FileInfo) string {
	name := report.Name(filepath.Base(path))
	unseen := func(err error) string { return fmt.Sprintf("whether %s uses it cannot be seen: %v", name, err) }
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist): // a link that leads nowhere
		return ""
	case err != nil:
		return unseen(err)
	case os.SameFile(info, data):
		return name + " is a link to it"
	case strings.HasPrefix(filepath.Base(path), data.Name()):
		return name + " is named after it"
	case !info.Mode().IsRegular() || strings.HasSuffix(path, patchSuffix):
		return ""
	}
	f, _, err := regular.Open(path)
	if err != nil {
		return unseen(err)
	}
	defer f.Close()
	head := make([]byte, headBytes)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return unseen(err)
	}
	if packing(head[:n]) != "" {
		return unseen(errors.New("it is compressed"))
	}
	if info.Size() > searched {
		return located(path, data.Name())
	}
	rest, err := io.ReadAll(io.LimitReader(f, searched))
	if err != nil {
		return unseen(err)
	}
	if bytes.Contains(append(head[:n], rest...), []byte(data.Name())) {
		return name + " mentions it"
	}
	return ""
}

// located says whether an ONNX model has data in a file of the given name.
func located(path, data string) string {
	name := report.Name(filepath.Base(path))
	f, err := onnx.Open(path, onnx.Options{})
	if err != nil {
		if strings.HasSuffix(path, ".onnx") {
			return fmt.Sprintf("whether %s uses it cannot be seen: %v", name, err)
		}
		return ""
	}
	defer f.Close()
	why := ""
	f.Tensors(func(t *onnx.Tensor, _ *onnx.Graph) {
		if filepath.Base(t.DataFile()) == data {
			why = name + " uses it"
		}
	})
	return why
}
