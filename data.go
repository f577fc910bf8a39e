package modelpatch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/modelpatch/modelpatch/patch"
	"github.com/modelpatch/modelpatch/position"
)

// planData names the data files of a new model after it. Where those of an
// older model stand under these names and may be replaced, others are taken:
// the old root stays whole until the new one takes its name, and what it
// pointed to goes afterwards (facts/BAD-INPUTS §5 "Several files").
func (c *change) planData(m position.Model, n position.DataNamer) (patch.Plan, error) {
	name := c.w.Output
	for try := 1; ; try++ {
		n.NameData(name)
		plan, err := m.Edits()
		if err != nil || !c.w.Force && !c.w.Backup || !taken(plan, filepath.Dir(c.w.Output)) {
			return plan, err
		}
		name = fmt.Sprintf("%s.%d", c.w.Output, try)
	}
}

// taken reports whether one of a plan's further outputs exists.
func taken(plan patch.Plan, folder string) bool {
	for _, o := range plan.Outputs[1:] {
		if _, err := os.Lstat(filepath.Join(folder, o.Name)); !errors.Is(err, fs.ErrNotExist) {
			return true
		}
	}
	return false
}

// oldData are the data files that belong to a model which is going to be
// replaced, and bear its name: with the new root nothing points to them. With a
// backup they stay, for it needs them.
func (c *change) oldData(plan patch.Plan, target string) []string {
	if !c.w.Force || c.w.Backup || len(plan.Outputs) < 2 {
		return nil
	}
	old, err := open(context.Background(), target, c.open)
	if err != nil {
		return nil
	}
	defer old.Close()
	if _, ok := old.(position.DataNamer); !ok {
		return nil
	}
	folder, base := filepath.Split(target)
	kept := map[string]bool{}
	for _, o := range plan.Outputs {
		kept[o.Name] = true
	}
	var out []string
	for _, f := range old.Describe().Files {
		name := filepath.Base(f.Path)
		if !kept[name] && strings.HasPrefix(name, base+".") && strings.Contains(name, ".data") && !isInput(plan, folder+name) {
			out = append(out, folder+name)
		}
	}
	return out
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
