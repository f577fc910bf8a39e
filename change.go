package modelpatch

import (
	"context"
	"fmt"

	"github.com/modelpatch/modelpatch/patch"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
)

// WriteOptions say where a change goes. Exactly one of Output, InPlace and
// DryRun must be chosen.
type WriteOptions struct {
	Output  string // a new file
	InPlace bool   // the input itself, under a journal
	DryRun  bool   // nothing: the plan is returned
	Force   bool   // an existing Output may be replaced
	Backup  bool   // and is kept under another name
	Digest  bool   // SHA-256 of what was written
	// Check looks at a complete new file before it gets its name: an error
	// drops it. The verdict goes into the plan. It comes after the check that
	// the file can be read and has the wanted encodings.
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
	c.expect = func(m position.Model) error { return reaches(m, o.Length) }
	return c.run(ctx)
}

// Rescale changes base and scaling of a model's rotary encodings.
func Rescale(ctx context.Context, path string, o RescaleOptions, open OpenOptions, w WriteOptions) (Result, error) {
	c := change{path: path, open: open, w: w, command: rescaleCommand(o)}
	c.verb = func(m position.Model) (position.Outcome, error) { return position.Rescale(m, o) }
	c.expect = func(position.Model) error { return nil }
	return c.run(ctx)
}

// AddALiBi adds ALiBi's bias to a model's attentions.
func AddALiBi(ctx context.Context, path string, o ALiBiOptions, open OpenOptions, w WriteOptions) (Result, error) {
	c := change{path: path, open: open, w: w, command: "alibi"}
	if o.Replace {
		c.command += " --replace"
	}
	c.verb = func(m position.Model) (position.Outcome, error) { return position.AddALiBi(m, o) }
	c.expect = func(position.Model) error { return nil }
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

// change is one run of a changing command.
type change struct {
	path    string
	command string
	open    OpenOptions
	w       WriteOptions
	verb    func(position.Model) (position.Outcome, error)
	expect  func(position.Model) error // of the new file
}

// run opens the model, lets the verb decide, and writes.
func (c *change) run(ctx context.Context) (Result, error) {
	if err := c.w.check(); err != nil {
		return Result{}, err
	}
	m, err := Open(c.path, c.open)
	if err != nil {
		return Result{}, err
	}
	defer m.Close()
	outcome, err := c.verb(m)
	if err != nil {
		return Result{}, c.named(err)
	}
	result := Result{Plan: c.newPlan(outcome), Nothing: outcome.Nothing}
	if outcome.Nothing != "" {
		return result, nil
	}
	if n, ok := m.(position.DataNamer); ok && c.w.Output != "" {
		n.NameData(c.w.Output)
	}
	plan, err := m.Edits()
	if err != nil {
		return result, c.named(err)
	}
	result.Plan.Edits = edits(plan)
	if err := plan.Check(); err != nil {
		return result, c.named(err)
	}
	if c.w.DryRun {
		return result, nil
	}
	return result, c.write(ctx, m, plan, &result.Plan)
}

// check refuses destinations that contradict each other.
func (w WriteOptions) check() error {
	chosen := 0
	for _, yes := range []bool{w.Output != "", w.InPlace, w.DryRun} {
		if yes {
			chosen++
		}
	}
	switch {
	case chosen == 0:
		return &UsageError{What: "no destination", Hint: "-o NEW writes a new file, --in-place changes this one, --dry-run only shows the plan"}
	case w.Output != "" && w.InPlace:
		return &UsageError{What: "-o and --in-place contradict each other", Hint: "choose one of them"}
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
		Edits: []report.Edit{}, Sidecars: []report.Sidecar{}, Written: []report.Written{}}
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
