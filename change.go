package modelpatch

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/modelpatch/modelpatch/patch"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
	"github.com/modelpatch/modelpatch/verify"
)

// change is one run of a changing command: what was asked for.
type change struct {
	path    string
	command string
	request *report.Request // the same, for the plan; nil where verify cannot make it again
	length  int             // that was asked for; 0: none
	open    OpenOptions
	w       WriteOptions
	verb    func(position.Model) (position.Outcome, error)
	expect  func(position.Model) error // of the new file, where the outcome does not tell; or nil
}

// run makes the change in one pass: it opens the model, has the verb decide, plans
// where every byte goes, writes, checks what is written before that gets its name,
// and reports. An error ends it; the result tells how far it came.
func (c *change) run(ctx context.Context) (result Result, err error) {
	if err := c.w.check(); err != nil {
		return Result{}, err
	}
	if c.w.InPlace && IsAddress(c.path) {
		return Result{}, notInPlace()
	}
	unlock, err := c.w.lock(c.path)
	if err != nil {
		return Result{}, err
	}
	defer unlock()
	m, err := OpenContext(ctx, c.path, c.open)
	if err != nil {
		return Result{}, err
	}
	defer m.Close()
	d, err := c.decide(m)
	if lost := ReadError(m); lost != nil {
		return Result{}, lost
	}
	if err != nil {
		return Result{}, c.named(err)
	}
	result = Result{Plan: c.report(d), Nothing: d.Nothing}
	if d.Nothing != "" && (c.w.Output == "" || c.w.PatchOnly) {
		return result, nil
	}
	plan, err := c.plan(m, d, &result.Plan)
	if lost := ReadError(m); lost != nil {
		return Result{}, lost
	}
	if err != nil {
		return result, c.named(err)
	}
	if err := hashed(c.w.Inputs, plan, nil); err != nil {
		return result, err
	}
	result.Plan.Notes = append(result.Plan.Notes, c.signed()...)
	beside := c.beside(d)
	to := writing{path: c.path, command: c.command, open: c.open, w: c.w, old: m, plan: plan, beside: beside, out: &result.Plan,
		held: func(m position.Model) error { return c.check(m, d) }}
	if err = to.write(ctx); err != nil && ReadError(m) != nil {
		err = ReadError(m) // what came of it says less
	}
	result.Plan.Sidecars = sidecarReports(beside)
	return result, cmp.Or(err, c.w.stillHashed(plan))
}

// decision is what the verb came to, and what it came from.
type decision struct {
	position.Outcome
	was    []schemes.Scheme // the encodings before the verb
	counts int              // how far the model counted; 0: nothing tells
	faulty []report.Finding // findings of level error in the old file
}

// decide lets the verb change the model, in memory.
func (c *change) decide(m position.Model) (d *decision, err error) {
	d = &decision{counts: counts(m)}
	for _, s := range m.Sites() {
		d.was = append(d.was, s.Encoding().Scheme)
	}
	d.Outcome, err = c.verb(m)
	return d, err
}

// plan lays the edits out, and refuses what is not to be written. It says in the
// report how far it came.
func (c *change) plan(m position.Model, d *decision, out *report.Plan) (patch.Plan, error) {
	plan, err := layOut(m, c.w, c.length)
	if err != nil {
		return plan, err
	}
	out.Edits = edits(plan)
	if err := plan.Check(); err != nil {
		return plan, err
	}
	d.faulty = errorsOf(m)
	if err := faults(m, d.faulty, plan, c.w.Force, out); err != nil {
		return plan, err
	}
	return plan, c.w.aims()
}

// beside are the files beside the model that state the old length.
func (c *change) beside(d *decision) []*sidecar {
	if c.length == 0 || d.counts == 0 || d.counts == c.length {
		return nil
	}
	return findSidecars(c.path, d.counts, c.length, c.open)
}

// check holds a new model against what was decided: the encodings that the verb
// gave new numbers have them, all others are what they were. Where there was
// nothing to do, the new file is a copy.
func (c *change) check(m position.Model, d *decision) error {
	if c.expect != nil && d.Nothing == "" {
		if err := c.expect(m); err != nil {
			return err
		}
	}
	if err := newFault(m, d.faulty); err != nil {
		return err
	}
	return verify.Held(d.was, m, d.Becomes)
}

// report is the plan's report without edits.
func (c *change) report(d *decision) report.Plan {
	p := report.Plan{Schema: report.SchemaPlan, Path: report.Name(ShownPath(c.path)), Command: c.command, Changes: d.Changes,
		Edits: []report.Edit{}, Sidecars: []report.Sidecar{}, Written: []report.Written{}, Notes: d.Notes, Request: c.request}
	if p.Changes == nil || d.Nothing != "" {
		p.Changes = []report.Change{}
	}
	return p
}

// named adds the path to errors that do not know it.
func (c *change) named(err error) error {
	if is[*position.Refusal](err) || is[*patch.PlanError](err) {
		return &refused{c.path, err}
	}
	return err
}

// request says a verb and its options in a plan, so that verify can make the change
// again.
func request(verb string, options any) *report.Request {
	b, err := json.Marshal(options)
	if err != nil {
		return nil // no number that an option may be, and the verb refuses it
	}
	return &report.Request{Verb: verb, Options: b}
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
