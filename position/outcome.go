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

// note adds a sentence, once; an empty one is none.
func (o *Outcome) note(says string) {
	if says != "" && !slices.Contains(o.Notes, says) {
		o.Notes = append(o.Notes, says)
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
}

// decide notes that site i was given what was wanted.
func (o *Outcome) decide(m Model, i int, want Want, what, expect string) {
	to := want.Scheme
	if h, ok := m.Sites()[i].(Substituter); ok {
		to = h.Stored()
	}
	o.becomes(Becoming{Site: i, Scheme: to, Positions: want.Positions, Cut: want.Cut, Rows: want.Rows}, what, expect)
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
	for _, says := range deviation.Planned(to, d, deviations(s)) {
		o.note(says)
	}
}
