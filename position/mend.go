package position

import "github.com/modelpatch/modelpatch/report"

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
