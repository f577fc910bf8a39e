package position

import (
	"slices"

	"github.com/modelpatch/modelpatch/position/deviation"
	"github.com/modelpatch/modelpatch/position/parameters"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// Outcome is what a verb decided.
type Outcome struct {
	Changes []report.Change
	// Becomes is what encodings are to be in the new file, in the order of the
	// decisions; encodings that are not mentioned stay as they are.
	Becomes []Becoming
	// Window is what every attention sees at most in the new file; none: as before.
	Window schemes.SlidingWindow
	// Notes are sentences about the result: what was assumed, what is missing.
	Notes []string
	// Nothing, when set, says why there is nothing to do; no file is written.
	Nothing string
}

// note adds sentences, each once; an empty one is none.
func (o *Outcome) note(first string, further ...string) {
	for _, says := range append([]string{first}, further...) {
		if says != "" && !slices.Contains(o.Notes, says) {
			o.Notes = append(o.Notes, says)
		}
	}
}

// Becoming is what one encoding was to become: the new file is held against it.
type Becoming struct {
	Site   int            // its index in Model.Sites of the old file; −1: a new one
	Scheme schemes.Scheme // nil: without effect any more
	// Positions is how many it must encode at least, 0 where nothing bounds them.
	Positions int
	Cut       bool // and no more
	// Rows are those that no formula gives; nil: the scheme's formula.
	Rows RowSource
	// Split tells that some layers keep the encoding as it was: it is there twice.
	Split bool
	// Layers become it, where others of the encoding become something else or stay; nil: all.
	Layers []int
}

// decide notes that site i was given what was wanted.
func (o *Outcome) decide(m Model, i int, want Want, what, expect string) {
	to := want.Scheme
	if h, ok := m.Sites()[i].(Substituter); ok {
		to = h.Stored()
	}
	o.becomes(Becoming{Site: i, Scheme: to, Positions: want.Positions, Cut: want.Cut, Rows: want.Rows}, what, expect)
}

// changeOf is the index of the first change of an encoding, −1 where there is none.
func (o *Outcome) changeOf(site int) int {
	return slices.IndexFunc(o.Changes, func(c report.Change) bool { return c.Encoding == ID(site) })
}

// becomes notes what an encoding becomes, and returns the change that says so.
func (o *Outcome) becomes(b Becoming, what, expect string) *report.Change {
	p := parameters.Of(b.Scheme)
	o.Changes = append(o.Changes, report.Change{Encoding: ID(b.Site), What: what, Expect: expect, To: &p})
	o.Becomes = append(o.Becomes, b)
	return &o.Changes[len(o.Changes)-1]
}

// deviates notes what llama.cpp computes otherwise of an encoding that a site was given.
func (o *Outcome) deviates(s Site, to schemes.Scheme, d report.Inspect) {
	o.note("", deviation.Planned(to, d, deviations(s))...)
}

// Mender is implemented by models that can store what an engine refuses in the
// form that it reads, without another meaning: a number of the wrong type.
type Mender interface {
	// Mend records such edits and says each in a sentence. It comes after all others.
	Mend() []string
}

// mend has a model that is to be changed anyway mend what engines refuse.
func mend(m Model, out *Outcome) {
	if mender, ok := m.(Mender); ok {
		for _, what := range mender.Mend() {
			out.Changes = append(out.Changes, report.Change{What: what, Expect: report.ExpectSame, To: &report.Parameters{}})
		}
	}
}

// finished mends a model that was changed and tells what was done, or that nothing was and why.
func finished(m Model, out Outcome, nothing string) (Outcome, error) {
	mend(m, &out)
	plan, err := m.Edits()
	if err != nil {
		return Outcome{}, err
	}
	if len(plan.Edits) == 0 {
		out.Nothing = nothing
	}
	return out, nil
}
