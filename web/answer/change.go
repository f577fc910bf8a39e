package answer

import (
	"context"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/modelpatch/modelpatch"
	"github.com/modelpatch/modelpatch/patch"
	"github.com/modelpatch/modelpatch/position"
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
	Outputs string   `json:"outputs"` // what the model's outputs do
	Check   []string `json:"check"`   // what to try before trusting the new model
	Notes   []string `json:"notes"`
	Files   []File   `json:"files"`
	Failure
}

// File is a file that was written.
type File struct {
	Path  string `json:"path"`
	Apply string `json:"apply"` // the command that applies it; "" where it is no patch file
}

// Change makes a change as a patch file, with the command's own checks, and the new model
// where that is asked for. Both are named after the change: beside the old model they
// replace nothing.
func Change(ctx context.Context, q Request) (out Changed) {
	defer func() {
		if p := recover(); p != nil {
			out = Changed{Failure: mistake(fmt.Sprint(p))}
		}
	}()
	target := path.Join(q.Folder, q.name())
	r, err := q.make(ctx, modelpatch.WriteOptions{Output: target, PatchOnly: true})
	if err != nil {
		return Changed{Failure: q.failure(err)}
	}
	out = Changed{Nothing: sentence(r.Nothing), Changes: []string{}, Check: append([]string{}, r.Plan.ToCheck()...), Notes: []string{}, Files: []File{}}
	if r.Nothing == "" {
		out.Outputs = "outputs " + r.Plan.Promise()
	}
	for _, c := range r.Plan.Changes {
		out.Changes = append(out.Changes, report.Printable(c.What))
	}
	for _, n := range r.Plan.Notes {
		out.Notes = append(out.Notes, sentence(n))
	}
	for _, f := range r.Plan.Findings {
		out.Notes = append(out.Notes, sentence(f.Message))
	}
	for _, f := range r.Plan.Written {
		p, err := patch.OpenPatch(f.Path)
		if err != nil {
			return Changed{Failure: q.failure(err)}
		}
		p.Close()
		to := "-o " + quoted(p.Target.Name)
		if p.Target.Name == p.Source.Name { // a data file, whose name the model holds
			to = "--in-place"
		}
		out.Files = append(out.Files, File{f.Path, fmt.Sprintf("modelpatch apply %s %s %s", quoted(path.Base(f.Path)), quoted(p.Source.Name), to)})
	}
	if q.Whole && r.Nothing == "" {
		if r, err = q.make(ctx, modelpatch.WriteOptions{Output: target}); err != nil {
			return Changed{Failure: q.failure(err)}
		}
		for _, f := range r.Plan.Written {
			out.Files = append(out.Files, File{Path: f.Path})
		}
	}
	return out
}

// failure is an error with its advice, without the page's folders.
func (q Request) failure(err error) Failure {
	f := failure(err)
	f.Error = strings.ReplaceAll(f.Error, path.Dir(q.Path)+"/", "")
	return f
}

// name is what the new model is called: the old name with the change before its ending, and
// before the number of a shard.
func (q Request) name() string {
	old := path.Base(q.Path)
	stem := strings.TrimSuffix(old, path.Ext(old))
	if at := shard.FindStringIndex(stem); at != nil {
		stem = stem[:at[0]]
	}
	what := ""
	if q.Base > 0 {
		what = "-base" + strconv.FormatFloat(q.Base, 'f', -1, 64)
	}
	if q.Scaling != "" {
		what += "-" + q.Scaling
		if q.Factor > 0 {
			what += "-x" + strconv.FormatFloat(q.Factor, 'f', -1, 64)
		}
	}
	if q.Method != "" {
		what += "-" + q.Method
	}
	if q.Length > 0 {
		what += "-" + strconv.Itoa(q.Length)
	}
	if what == "" {
		what = "-changed"
	}
	return stem + what + old[len(stem):]
}

// shard is how the name of a shard ends.
var shard = regexp.MustCompile(`-\d{5}-of-\d{5}$`)

// quoted is a name as shells take it.
func quoted(name string) string {
	if plain.MatchString(name) {
		return name
	}
	return "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
}

var plain = regexp.MustCompile(`^[\w./][\w./-]*$`)

// make carries a request out.
func (q Request) make(ctx context.Context, w modelpatch.WriteOptions) (modelpatch.Result, error) {
	switch q.Verb {
	case "extend":
		return modelpatch.Extend(ctx, q.Path, modelpatch.ExtendOptions{Write: w, ExtendOptions: position.ExtendOptions{Length: q.Length, Method: q.Method, OriginalLength: q.OriginalLength}})
	case "rope":
		return modelpatch.Rescale(ctx, q.Path, modelpatch.RescaleOptions{Write: w, RescaleOptions: position.RescaleOptions{Base: q.Base, Scaling: q.Scaling, Factor: q.Factor, OriginalLength: q.OriginalLength, Length: q.Length}})
	}
	return modelpatch.Result{}, &position.UsageError{What: fmt.Sprintf("verb %q: it is extend or rope", q.Verb)}
}
