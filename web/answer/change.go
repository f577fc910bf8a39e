package answer

import (
	"context"
	"fmt"
	"path"

	"github.com/modelpatch/modelpatch"
	"github.com/modelpatch/modelpatch/report"
)

// Request is a change that is asked for. Zero values are not asked for.
type Request struct {
	Path   string `json:"path"`   // of the model
	Folder string `json:"folder"` // for what is written
	Verb   string `json:"verb"`   // extend or rope
	Whole  bool   `json:"whole"`  // the new model as well

	Length         int     `json:"length"`
	Method         string  `json:"method"` // of extend
	Base           float64 `json:"base"`   // of rope, as what follows
	Scaling        string  `json:"scaling"`
	Factor         float64 `json:"factor"`
	OriginalLength int     `json:"original_length"`
}

// Changed is the answer: what was done, and the files that were written.
type Changed struct {
	Nothing string   `json:"nothing"` // why there was nothing to do
	Changes []string `json:"changes"`
	Notes   []string `json:"notes"`
	Files   []string `json:"files"`
	Failure
}

// Change makes a change as a patch file, with the command's own checks, and the new model
// where that is asked for.
func Change(ctx context.Context, q Request) (out Changed) {
	defer func() {
		if p := recover(); p != nil {
			out = Changed{Failure: Failure{Error: fmt.Sprintf("a mistake in modelpatch: %v", p), Hints: []string{"please report it"}}}
		}
	}()
	target := path.Join(q.Folder, path.Base(q.Path))
	r, err := q.make(ctx, modelpatch.WriteOptions{Output: target, PatchOnly: true})
	if err != nil {
		return Changed{Failure: failure(err)}
	}
	out = Changed{Nothing: report.Printable(r.Nothing), Changes: []string{}, Notes: []string{}, Files: []string{}}
	for _, c := range r.Plan.Changes {
		out.Changes = append(out.Changes, report.Printable(c.What))
	}
	for _, n := range r.Plan.Notes {
		out.Notes = append(out.Notes, report.Printable(n))
	}
	for _, f := range r.Plan.Findings {
		out.Notes = append(out.Notes, report.Printable(f.Message))
	}
	files := r.Plan.Written
	if q.Whole && r.Nothing == "" {
		if r, err = q.make(ctx, modelpatch.WriteOptions{Output: target}); err != nil {
			return Changed{Failure: failure(err)}
		}
		files = append(files, r.Plan.Written...)
	}
	for _, f := range files {
		out.Files = append(out.Files, f.Path)
	}
	return out
}

// make carries a request out.
func (q Request) make(ctx context.Context, w modelpatch.WriteOptions) (modelpatch.Result, error) {
	switch q.Verb {
	case "extend":
		return modelpatch.Extend(ctx, q.Path, modelpatch.ExtendOptions{Length: q.Length, Method: q.Method, OriginalLength: q.OriginalLength}, modelpatch.OpenOptions{}, w)
	case "rope":
		return modelpatch.Rescale(ctx, q.Path, modelpatch.RescaleOptions{Base: q.Base, Scaling: q.Scaling, Factor: q.Factor, OriginalLength: q.OriginalLength, Length: q.Length}, modelpatch.OpenOptions{}, w)
	}
	return modelpatch.Result{}, &modelpatch.UsageError{What: fmt.Sprintf("verb %q: it is extend or rope", q.Verb)}
}
