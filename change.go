package modelpatch

import (
	"context"
	"errors"
	"fmt"

	"github.com/modelpatch/modelpatch/gguf"
	"github.com/modelpatch/modelpatch/patch"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
	"github.com/modelpatch/modelpatch/verify"
)

// WriteOptions say where a change goes: to Output, InPlace, or nowhere but on
// paper (DryRun, Edits). The first two exclude each other.
type WriteOptions struct {
	// Sidecars has files beside the model that state its length, such as
	// config.json, follow it; they are mentioned in the plan either way. With
	// InPlace they are edited and the undo patch takes them back too; with Output
	// in another folder they are copied there, and one that is there already is
	// replaced, and kept as NAME.bak, only with Force or Backup. In the same
	// folder they stay as they are, for the old model needs them.
	Sidecars bool
	Output   string // a new file
	InPlace  bool   // the input itself, under a journal
	DryRun   bool   // nothing: the plan is returned
	// Edits is a file for the plan as a list of byte ranges with their new
	// content, which hubs take for commits without the whole file.
	Edits string
	// PatchOnly writes Output.mpatch in place of Output: a patch file that Apply
	// and Revert take. FullDigest has it tell the SHA-256 of whole files too.
	PatchOnly  bool
	FullDigest bool
	Force      bool  // an existing Output may be replaced
	Backup     bool  // and is kept under another name
	Digest     bool  // SHA-256 of what was written
	NoUndo     bool  // InPlace leaves no patch file that takes the change back
	Reserve    int64 // bytes of room to leave in a GGUF file for later keys
	// Check looks at a complete new file before it gets its name: an error
	// drops it. The verdict goes into the plan. It comes after the check that
	// the file can be read and has the wanted encodings. Not with InPlace, which
	// leaves no old file to compare with.
	Check func(ctx context.Context, before, after string, plan report.Plan) (*report.Verify, error)
	// Progress is told of bytes written so far and in all.
	Progress func(done, total int64)
}

// Result is what a change came to.
type Result struct {
	Plan report.Plan
	// Nothing, when set, says why there was nothing to do; no file is written.
	Nothing string
}

// ExtendOptions say how far a model should count; see position.Extend.
type ExtendOptions = position.ExtendOptions

// RescaleOptions say how a rotary encoding should turn; see position.Rescale.
type RescaleOptions = position.RescaleOptions

// ALiBiOptions say which bias to add; see position.AddALiBi.
type ALiBiOptions = position.ALiBiOptions

// Extend makes a model count to another length.
func Extend(ctx context.Context, path string, o ExtendOptions, open OpenOptions, w WriteOptions) (Result, error) {
	c := change{path: path, open: open, w: w, command: fmt.Sprintf("extend --len %d", o.Length)}
	if o.Method != "" {
		c.command += " --method " + o.Method
	}
	c.verb = func(m position.Model) (position.Outcome, error) { return position.Extend(m, o) }
	c.expect, c.length = func(m position.Model) error { return reaches(m, o.Length) }, o.Length
	return c.run(ctx)
}

// Rescale changes base and scaling of a model's rotary encodings.
func Rescale(ctx context.Context, path string, o RescaleOptions, open OpenOptions, w WriteOptions) (Result, error) {
	c := change{path: path, open: open, w: w, command: rescaleCommand(o)}
	c.verb = func(m position.Model) (position.Outcome, error) { return position.Rescale(m, o) }
	return c.run(ctx)
}

// AddALiBi adds ALiBi's bias to a model's attentions.
func AddALiBi(ctx context.Context, path string, o ALiBiOptions, open OpenOptions, w WriteOptions) (Result, error) {
	c := change{path: path, open: open, w: w, command: "alibi"}
	if o.Replace {
		c.command += " --replace"
	}
	c.verb = func(m position.Model) (position.Outcome, error) { return position.AddALiBi(m, o) }
	return c.run(ctx)
}

// rescaleCommand says the options as flags.
func rescaleCommand(o RescaleOptions) string {
	out := "rope"
	for _, f := range []struct {
		name  string
		value float64
	}{
		{"base", o.Base}, {"factor", o.Factor}, {"original-length", float64(o.OriginalLength)}, {"low-freq-factor", o.LowFreqFactor},
		{"high-freq-factor", o.HighFreqFactor}, {"beta-fast", o.BetaFast}, {"beta-slow", o.BetaSlow},
		{"attention-factor", o.AttentionFactor}, {"len", float64(o.Length)},
	} {
		if f.name == "factor" && o.Scaling != "" {
			out += " --scaling " + o.Scaling
		}
		if f.value != 0 {
			out += fmt.Sprintf(" --%s %v", f.name, f.value)
		}
	}
	return out
}

// reaches checks that a model counts as far as was asked.
func reaches(m position.Model, length int) error {
	l := position.Length(m, m.Describe())
	switch {
	case l.Stated != nil && *l.Stated != length:
		return fmt.Errorf("the new file states a length of %d, not %d", *l.Stated, length)
	case l.Capacity != nil && *l.Capacity < length:
		return fmt.Errorf("the new file counts to %d, not %d", *l.Capacity, length)
	}
	return nil
}

// check holds a new model against what was decided: the encodings that the verb
// gave new numbers have them, all others are what they were.
func (c *change) check(m position.Model) error {
	if c.expect != nil {
		if err := c.expect(m); err != nil {
			return err
		}
	}
	if err := c.newFault(m); err != nil {
		return err
	}
	return verify.Held(c.was, m, c.becomes)
}

// change is one run of a changing command.
type change struct {
	path    string
	command string
	length  int // that was asked for; 0: none
	open    OpenOptions
	w       WriteOptions
	verb    func(position.Model) (position.Outcome, error)
	expect  func(position.Model) error // of the new file, where the outcome does not tell; or nil
	beside  []*sidecar                 // files that state the old length
	was     []schemes.Scheme           // the encodings before the verb
	becomes []position.Becoming        // what it decided about them
	faulty  []report.Finding           // findings of level error in the old file
}

// run opens the model, lets the verb decide, and writes.
func (c *change) run(ctx context.Context) (Result, error) {
	if err := c.w.check(); err != nil {
		return Result{}, err
	}
	m, err := OpenContext(ctx, c.path, c.open)
	if err != nil {
		return Result{}, err
	}
	defer m.Close()
	was := counts(m)
	for _, s := range m.Sites() {
		c.was = append(c.was, s.Encoding().Scheme)
	}
	outcome, err := c.verb(m)
	if err != nil {
		return Result{}, c.named(err)
	}
	c.becomes = outcome.Becomes
	result := Result{Plan: c.newPlan(outcome), Nothing: outcome.Nothing}
	if outcome.Nothing != "" && (c.w.Output == "" || c.w.PatchOnly) {
		return result, nil
	}
	if outcome.Nothing != "" {
		c.expect = nil // -o asked for a file: it gets a copy
	}
	if err := c.reserve(m); err != nil {
		return result, c.named(err)
	}
	plan, err := c.plan(m)
	if err != nil {
		return result, c.named(err)
	}
	result.Plan.Edits = edits(plan)
	if err := plan.Check(); err != nil {
		return result, c.named(err)
	}
	if err := c.faults(m, plan, &result.Plan); err != nil {
		return result, c.named(err)
	}
	if err := c.w.aims(); err != nil {
		return result, err
	}
	if c.length != 0 && was != 0 && was != c.length {
		c.beside = findSidecars(c.path, was, c.length)
	}
	err = c.carryOut(ctx, m, plan, &result.Plan)
	result.Plan.Sidecars = sidecarReports(c.beside)
	return result, err
}

// carryOut writes what was asked for: the list of edits, the model, and the
// files beside it.
func (c *change) carryOut(ctx context.Context, m position.Model, plan patch.Plan, out *report.Plan) error {
	if err := c.aimSidecars(); err != nil {
		return err
	}
	if c.w.Edits != "" {
		if err := c.writeEdits(ctx, plan, out); err != nil {
			return err
		}
	}
	if c.w.DryRun || c.w.Output == "" && !c.w.InPlace {
		return nil
	}
	err := c.write(ctx, m, plan, out)
	if err != nil && !stands(err) {
		return err
	}
	return errors.Join(err, writeSidecars(ctx, c.beside, c.w.InPlace))
}

// stands reports whether an error came when the change was made already.
func stands(err error) bool {
	o, ok := errors.AsType[*patch.OutputError](err)
	return ok && o.Done
}

// counts is how far a model counts, 0 when nothing tells.
func counts(m position.Model) int {
	l := position.Length(m, m.Describe())
	switch {
	case l.Capacity != nil:
		return *l.Capacity
	case l.Stated != nil:
		return *l.Stated
	}
	return 0
}

// plan lays the change out for its destination.
func (c *change) plan(m position.Model) (patch.Plan, error) {
	switch n, ok := m.(position.DataNamer); {
	case c.w.InPlace:
		return c.planInPlace(m)
	case ok && c.w.Output != "" && !c.w.PatchOnly:
		return c.planData(m, n)
	}
	return m.Edits()
}

func (c *change) reserve(m position.Model) error {
	if c.w.Reserve == 0 {
		return nil
	}
	r, ok := m.(position.Reserver)
	if !ok {
		return &position.Refusal{Why: "room for later keys can be left in GGUF files alone", Instead: "leave it out"}
	}
	r.Reserve(c.w.Reserve)
	return nil
}

// aims refuses to end without a destination. It is asked when the change is
// known to be possible: a file that cannot be changed needs no destination.
func (w WriteOptions) aims() error {
	if w.Output == "" && !w.InPlace && !w.DryRun && w.Edits == "" {
		return &UsageError{What: "no destination", Remedies: []report.Remedy{report.Do("", "writes a new file", "output", "NEW"), report.Do("", "changes this one", "in-place", ""), report.Do("", "only shows the plan", "dry-run", "")}}
	}
	return nil
}

// check refuses destinations that contradict each other.
func (w WriteOptions) check() error {
	switch {
	case w.Output != "" && w.InPlace:
		return &UsageError{What: "a new file and a change in place contradict each other", Hint: "choose one of them"}
	case w.Check != nil && w.InPlace:
		return &UsageError{What: "a change in place leaves no old file to verify against", Remedies: []report.Remedy{report.Do("", "writes a new file", "output", "NEW")}}
	case w.PatchOnly && w.Output == "":
		return &UsageError{What: "a patch needs the name of the new file that it makes", Remedies: []report.Remedy{report.Do("", "writes NEW"+patchSuffix, "output", "NEW")}}
	case w.Reserve < 0 || w.Reserve > gguf.MaxReserve:
		return &UsageError{What: fmt.Sprintf("a reserve of %d bytes", w.Reserve), Hint: fmt.Sprintf("from 1 to %d bytes", gguf.MaxReserve)}
	}
	return nil
}

// named adds the path to errors that do not know it.
func (c *change) named(err error) error {
	if is[*position.Refusal](err) || is[*patch.PlanError](err) {
		return &refused{c.path, err}
	}
	return err
}

// newPlan is the plan's report without edits.
func (c *change) newPlan(o position.Outcome) report.Plan {
	p := report.Plan{Schema: report.SchemaPlan, Path: report.Name(c.path), Command: c.command, Changes: o.Changes,
		Edits: []report.Edit{}, Sidecars: []report.Sidecar{}, Written: []report.Written{}, Notes: o.Notes}
	if p.Changes == nil {
		p.Changes = []report.Change{}
	}
	return p
}

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

func printablePath(path string) string { return report.Printable(path) }
