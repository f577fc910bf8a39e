// Package change makes one change of a model from the decision to the report: it has a verb decide,
// lays the edits out, writes a new file, a patch, parts or the file itself, checks it, and makes a change
// again that a plan tells of.
package change

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"path/filepath"

	"github.com/modelpatch/modelpatch/gguf"
	"github.com/modelpatch/modelpatch/internal/sidecar"
	"github.com/modelpatch/modelpatch/internal/source"
	"github.com/modelpatch/modelpatch/patch"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
	"github.com/modelpatch/modelpatch/verify"
)

// Change is a change of any model: what was asked for, as [Verb] makes it.
type Change struct {
	command string          // as a command line says it
	request *report.Request // the same, for the plan; nil where verify cannot make it again
	length  int             // that was asked for; 0: none
	states  int             // length that the change states beside what it is about; 0: none
	// fixes tells that free axes become numbers, declares that nothing else is changed.
	fixes, declares bool
	grid            *position.GridOptions // the picture that was asked for; nil: none
	decide          func(position.Model) (position.Outcome, error)
	expect          func(position.Model) error // of the new file, where the outcome does not tell; or nil

	configured int           // length that the configuration beside a model states that has none; 0: none
	configure  func(int) any // tells it the verb, before the plan, and gives its options then; nil: the verb does not ask
}

// run is a change of one model.
type run struct {
	*Change
	path string
	open source.Options
	w    WriteOptions
}

// Run makes the change of the model at a path in one pass: it opens the model, has the verb
// decide, plans where every byte goes, writes, checks what is written before that gets its
// name, and reports. An error ends it; the result tells how far it came.
func (c *Change) Run(ctx context.Context, path string, open source.Options, w WriteOptions) (Result, error) {
	return (&run{c, path, open, w}).run(ctx)
}

func (c *run) run(ctx context.Context) (result Result, err error) {
	if err := c.w.check(); err != nil {
		return Result{}, err
	}
	if c.w.InPlace && source.IsAddress(c.path) {
		return Result{}, notInPlace()
	}
	unlock, err := c.w.lock(c.path)
	if err != nil {
		return Result{}, err
	}
	defer unlock()
	m, err := source.Open(ctx, c.path, c.open)
	if err != nil {
		return Result{}, err
	}
	defer m.Close()
	if err := c.w.suits(m.Describe().Format); err != nil {
		return Result{}, err
	}
	c.readConfigured(ctx, m)
	d, err := c.decided(m)
	if lost := source.ReadError(m); lost != nil {
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
	if lost := source.ReadError(m); lost != nil {
		return Result{}, lost
	}
	if err != nil {
		return result, c.named(err)
	}
	if err := hashed(c.w.Inputs, plan, nil); err != nil {
		return result, err
	}
	result.Plan.Notes = append(result.Plan.Notes, sidecar.StaleSignatures(c.path, c.w.InPlace, c.w.Output != "" && !c.w.PatchOnly)...)
	beside, notes, err := c.beside(ctx, d)
	if err != nil {
		return result, err
	}
	result.Plan.Notes = append(result.Plan.Notes, notes...)
	to := writing{path: c.path, command: c.command, open: c.open, w: c.w, old: m, plan: plan, beside: beside, out: &result.Plan,
		checkModel: func(m position.Model) error { return c.check(m, d) }}
	if err = to.write(ctx); err != nil && source.ReadError(m) != nil {
		err = source.ReadError(m) // what came of it says less
	}
	result.Plan.Sidecars = beside.Reports()
	return result, cmp.Or(err, c.w.stillHashed(plan))
}

// readConfigured reads the length that a model has by its configuration, where nothing in the file
// tells one.
func (c *run) readConfigured(ctx context.Context, m position.Model) {
	if Counts(m) != 0 {
		return
	}
	for _, s := range sidecar.ReadStated(ctx, c.path, c.open).Lengths {
		if filepath.Base(s.Path) == "config.json" {
			c.configured = s.Length
			break
		}
	}
	if c.configure != nil && c.configured != 0 {
		c.request = Request(c.request.Verb, c.configure(c.configured))
	}
}

// decision is what the verb came to, and what it came from.
type decision struct {
	position.Outcome
	was     []schemes.Scheme // the encodings before the verb
	counts  int              // how far the model counted; 0: nothing tells
	picture [2]int           // height and width in pixels; zeros: none, or not known
	patch   int              // side of a patch in pixels; 0: not known
	faulty  []report.Finding // findings of level error in the old file
	assumed string           // the architecture that the file was taken for; "": its own
}

// decided lets the verb change the model, in memory.
func (c *run) decided(m position.Model) (d *decision, err error) {
	defer position.Caught(&err) // what a model too large to be looked at is asked before the verb refuses it
	d = &decision{counts: Counts(m)}
	if a, ok := m.(position.Assumer); ok {
		d.assumed = a.Assumption()
	}
	if g, ok := m.(position.Gridder); ok && c.grid != nil {
		grid := g.PatchGrid()
		d.patch = g.PatchSize()
		d.picture = [2]int{grid[1] * d.patch, grid[2] * d.patch}
	}
	for _, s := range m.Sites() {
		d.was = append(d.was, s.Encoding().Scheme)
	}
	d.Outcome, err = c.decide(m)
	return d, err
}

// plan lays the edits out, and refuses what is not to be written. It says in the
// report how far it came.
func (c *run) plan(m position.Model, d *decision, out *report.Plan) (patch.Plan, error) {
	plan, err := layOut(m, c.w, c.length)
	if err != nil {
		return plan, err
	}
	out.Edits = edits(plan)
	if r, ok := m.(position.Reserver); ok && c.w.InPlace && r.Room() > 0 {
		out.Notes = append(out.Notes, fmt.Sprintf("%s of room for later keys are part of it (key %s), so that the weights stay where they lie", report.Size(r.Room()), gguf.ReserveKey))
	}
	if err := plan.Check(); err != nil {
		return plan, err
	}
	d.faulty = errorsOf(m)
	if err := faults(m, d.faulty, plan, c.w.Force, out); err != nil {
		return plan, err
	}
	return plan, c.w.aims()
}

// beside are the files beside the model that state what changes, and sentences about those that do
// not follow. One that cannot be read is an error where all are to follow.
func (c *run) beside(ctx context.Context, d *decision) (all sidecar.Files, notes []string, err error) {
	if d.Nothing != "" {
		return nil, nil, nil
	}
	all, strays, unread := sidecar.Find(ctx, c.path, c.restated(d), c.open)
	if c.w.Sidecars {
		if len(unread) > 0 {
			return nil, nil, unread[0]
		}
		notes = append(notes, strays...)
	}
	for _, err := range unread {
		notes = append(notes, err.Error()+": whether it states what changes is not known")
	}
	if to := d.scaled(); to != nil {
		if data, err := source.ReadBeside(ctx, c.path, "config.json", c.open); err == nil {
			does := "states no rope_scaling"
			if sidecar.StatesScaling(data) {
				does = "keeps its rope_scaling"
			}
			notes = append(notes, fmt.Sprintf("config.json %s: what builds RoPE from it needs the new one (%s)", does, to))
		}
	}
	return all, notes, nil
}

// restated lists what of the numbers that files beside a model state becomes another.
func (c *run) restated(d *decision) (out []sidecar.Restated) {
	if was, is := cmp.Or(d.counts, c.configured), c.restatedLength(d); is != 0 {
		if was != 0 && was != is {
			out = append(out, sidecar.Restated{Of: sidecar.Positions, From: float64(was), To: float64(is)})
		}
	}
	if was, is, ok := d.rebased(); ok {
		out = append(out, sidecar.Restated{Of: sidecar.RopeBase, From: was, To: is})
	}
	if was, is := d.picture, c.picture(d); was != is && was[0]*was[1]*is[0]*is[1] > 0 {
		out = append(out, sidecar.Restated{Of: sidecar.PictureHeight, From: float64(was[0]), To: float64(is[0])}, sidecar.Restated{Of: sidecar.PictureWidth, From: float64(was[1]), To: float64(is[1])})
		if was[0] == was[1] && is[0] == is[1] {
			out = append(out, sidecar.Restated{Of: sidecar.PictureSide, From: float64(was[0]), To: float64(is[0])})
		}
	}
	return out
}

// restatedLength is the length that was asked for or, where none was, the least that an encoding
// ends at now; 0: no other.
func (c *run) restatedLength(d *decision) int {
	if n := cmp.Or(c.length, c.states); n != 0 || c.grid != nil {
		return n
	}
	least := 0
	for _, b := range d.Becomes {
		if b.Positions > 0 && (least == 0 || b.Positions < least) {
			least = b.Positions
		}
	}
	return least
}

// picture is the size in pixels that was asked for, zeros where none was.
func (c *run) picture(d *decision) [2]int {
	switch {
	case c.grid == nil:
		return [2]int{}
	case c.grid.Image != 0:
		return c.grid.Picture()
	}
	return [2]int{c.grid.Height * d.patch, c.grid.Width * d.patch}
}

// rebased is the base that RoPE had and has, where one does that and is not scaled anew.
func (d *decision) rebased() (was, is float64, ok bool) {
	for from, to := range d.rotations() {
		if from.Base != to.Base && (!ok || was == from.Base && is == to.Base) {
			was, is, ok = from.Base, to.Base, true
		}
	}
	return was, is, ok
}

// scaled is a rotation whose scaling is another, or nil.
func (d *decision) scaled() (out *schemes.Rotary) {
	for from, to := range d.rotations() {
		if from.Scaling.Kind() != to.Scaling.Kind() || from.Scaling.Factor != to.Scaling.Factor {
			out = &to
		}
	}
	return out
}

// rotations are the rotations that change, before and after.
func (d *decision) rotations() iter.Seq2[schemes.Rotary, schemes.Rotary] {
	return func(yield func(schemes.Rotary, schemes.Rotary) bool) {
		for _, b := range d.Becomes {
			if b.Site < 0 {
				continue
			}
			from, ok1 := d.was[b.Site].(schemes.Rotary)
			to, ok2 := b.Scheme.(schemes.Rotary)
			if ok1 && ok2 && !yield(from, to) {
				return
			}
		}
	}
}

// check holds a new model against what was decided: the encodings that the verb
// gave new numbers have them, all others are what they were. Where there was
// nothing to do, the new file is a copy.
func (c *run) check(m position.Model, d *decision) (err error) {
	defer func() { // a question that has no place for an error
		switch r := recover().(type) {
		case nil:
		case position.Abandoned:
			err = r
		default:
			panic(r)
		}
	}()
	if c.expect != nil && d.Nothing == "" {
		if err := c.expect(m); err != nil {
			return err
		}
	}
	if err := newFault(m, d.faulty); err != nil {
		return err
	}
	if c.declares {
		return nil // no node and no constant is another: encodings may be read otherwise at the sizes that are stated now
	}
	err = cmp.Or(verify.CheckDecision(d.was, m, d.Becomes), verify.CheckWindow(m, d.Window))
	if cut := fewest(d.Becomes); err != nil && cut > 0 {
		return &position.Refusal{Why: fmt.Sprintf("of %d positions the new file is not read as planned: %v", cut, err), Instead: fmt.Sprintf("a length of %d or more", leastRead)}
	}
	if err != nil && c.fixes {
		return &position.Refusal{Why: "where its axes are numbers the new file is not read as planned: " + err.Error(), Instead: "give it the length first, and fix the axes of that file"}
	}
	return err
}

// leastRead is of how many positions a file is read for certain: of fewer, numbers of an encoding may be those of anything else.
const leastRead = 8

// fewest is to how many positions encodings are cut, where these are fewer than are read for certain; 0: they are not.
func fewest(of []position.Becoming) int {
	for _, b := range of {
		if b.Cut && b.Positions < leastRead {
			return b.Positions
		}
	}
	return 0
}

// report is the plan's report without edits.
func (c *run) report(d *decision) report.Plan {
	p := report.Plan{Schema: report.SchemaPlan, Path: report.Name(source.ShownPath(c.path)), Command: c.command, Changes: d.Changes,
		Edits: []report.Edit{}, Sidecars: []report.Sidecar{}, Written: []report.Written{}, Notes: d.Notes, Request: c.request}
	if d.assumed != "" {
		p.Command += " --assume " + d.assumed
		p.Notes = append([]string{fmt.Sprintf("what llama.cpp reads is assumed: as of %s, as was asked", d.assumed)}, p.Notes...)
		if p.Request != nil {
			r := *p.Request
			r.Assume, p.Request = d.assumed, &r
		}
	}
	if p.Changes == nil || d.Nothing != "" {
		p.Changes = []report.Change{}
	}
	return p
}

// named adds the path to errors that do not know it.
func (c *run) named(err error) error {
	if is[*position.Refusal](err) || is[*patch.PlanError](err) {
		return &refused{c.path, err}
	}
	return err
}

// Counts is how far a model counts, 0 when nothing tells.
func Counts(m position.Model) int {
	l := position.Length(m, m.Describe())
	switch {
	case l.Capacity != nil:
		return *l.Capacity
	case l.Stated != nil:
		return *l.Stated
	}
	return 0
}
