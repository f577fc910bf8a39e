package change

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/modelpatch/modelpatch/gguf"
	"github.com/modelpatch/modelpatch/patch"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
)

// layOut lays the edits that a model has recorded out for their destination.
// length is what was asked for, 0: none.
func layOut(m position.Model, w WriteOptions, length int) (patch.Plan, error) {
	if err := reserve(m, w.Reserve); err != nil {
		return patch.Plan{}, err
	}
	switch n, ok := m.(position.DataNamer); {
	case w.InPlace:
		return layOutInPlace(m, length)
	case ok && w.Output != "" && !w.PatchOnly && !w.Parts:
		return layOutWithData(m, n, w)
	}
	return m.Edits()
}

// reserve leaves room for later keys, where the format can.
func reserve(m position.Model, bytes int64) error {
	if bytes == 0 {
		return nil
	}
	r, ok := m.(position.Reserver)
	if !ok {
		return &position.Refusal{Why: "room for later keys can be left in GGUF files alone", Instead: "leave it out"}
	}
	r.Reserve(bytes)
	return nil
}

// layOutInPlace lays a change out for the file as it lies.
func layOutInPlace(m position.Model, length int) (patch.Plan, error) {
	p, ok := m.(position.Placer)
	if !ok {
		return m.Edits()
	}
	plan, err := p.EditsInPlace(0)
	e, ok := errors.AsType[*gguf.PlaceError](err)
	if !ok {
		return plan, err
	}
	block, why := patch.InsertBlock(e.Path, nil)
	switch {
	case why == nil:
		plan, err = p.EditsInPlace(block)
	case is[*patch.OutputError](why), is[*patch.InputError](why):
		return plan, why // of the disk, and not of the file system's kind
	}
	if e, ok := errors.AsType[*gguf.PlaceError](err); ok {
		return plan, misplaced(e, why, length)
	}
	return plan, err
}

// misplaced says why a change cannot be made in place, and what can.
func misplaced(e *gguf.PlaceError, why error, length int) error {
	r := &position.Refusal{Why: "not in place: " + e.Why, Remedies: []report.Remedy{report.Do("", "writes a new file", "output", "NEW")}}
	if why != nil {
		r.Why += "; " + why.Error()
	}
	if e.Tensor == nil {
		r.Remedies = append(r.Remedies, report.Do("", "leaves room in it for later changes", "output", "NEW", "reserve", "4096"))
	}
	for _, rows := range e.Fit {
		if length > 0 {
			r.Remedies = append(r.Remedies, report.Do("", "fits in place", "len", fmt.Sprint(int64(length)+rows-e.Rows)))
		}
	}
	return r
}

// mostDataNames is how many names for data files are tried.
const mostDataNames = 1000

// layOutWithData names the data files of a new model after it. Where those of an
// older model stand under these names and may be replaced, others are taken:
// the old root stays whole until the new one takes its name, and what it
// pointed to goes afterwards (facts/BAD-INPUTS §5 "Several files").
func layOutWithData(m position.Model, n position.DataNamer, w WriteOptions) (patch.Plan, error) {
	name := w.Output
	for try := 1; try <= mostDataNames; try++ {
		n.NameData(name)
		plan, err := m.Edits()
		if err != nil || !w.Force && !w.Backup {
			return plan, err
		}
		switch busy, err := taken(plan, w.Output); {
		case err != nil:
			return plan, err
		case !busy:
			return plan, nil
		}
		name = fmt.Sprintf("%s.%d", w.Output, try)
	}
	return patch.Plan{}, &patch.OutputError{Op: "create", Path: w.Output, Err: fs.ErrExist,
		Hint: fmt.Sprintf("%d names for its data file are taken: remove the files that no model uses", mostDataNames)}
}

// taken reports whether one of the further outputs of a plan for target exists.
// Where that cannot be told, nothing can be written either.
func taken(plan patch.Plan, target string) (bool, error) {
	for _, o := range plan.Outputs[1:] {
		path := filepath.Join(filepath.Dir(target), o.Name)
		switch _, err := os.Lstat(path); {
		case err == nil:
			return true, nil
		case !errors.Is(err, fs.ErrNotExist):
			return false, &patch.OutputError{Op: "create", Path: path, Err: err}
		}
	}
	return false, nil
}
