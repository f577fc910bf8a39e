package position

import (
	"errors"
	"fmt"

	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// Baker is implemented by sites whose encoding may be computed when the model runs, and
// can become tables then from which positions select.
type Baker interface {
	// Bake stores tables of so many positions, as edits. Beyond them the model must
	// fail to run. It returns a *Refusal where that cannot be.
	Bake(positions int) error
}

// Unbaker is implemented by sites whose encoding may be tables that a formula explains,
// which the model can compute when it runs.
type Unbaker interface {
	// Unbake puts the computation in the place of the tables, as edits, and returns
	// the scheme that is computed then. It returns a *Refusal where that cannot be.
	Unbake() (schemes.Scheme, error)
}

// BakeOptions say how long the tables are to be.
type BakeOptions struct{ Length int }

// Bake makes every encoding that a model computes when it runs a table of constants.
// Outputs stay what they are up to the length; beyond it the new model fails to run.
func Bake(m Model, o BakeOptions) (_ Outcome, err error) {
	defer caught(&err)
	if o.Length < 1 || int64(o.Length) > MaxLength {
		return Outcome{}, &UsageError{What: fmt.Sprintf("--len %d: the tables need a length between 1 and %d", o.Length, MaxLength)}
	}
	if err := ready(m); err != nil {
		return Outcome{}, err
	}
	var out Outcome
	for i, s := range m.Sites() {
		e := s.Encoding()
		if e.Form != report.FormRuntime || e.Scheme.Name() == report.SchemeNone {
			continue
		}
		b, ok := s.(Baker)
		if !ok {
			return Outcome{}, &Refusal{Why: fmt.Sprintf("encoding %s (%s) is computed when the model runs, and no table can take its place", ID(i), e.Scheme.Name()),
				Instead: "export the model with tables"}
		}
		if err := b.Bake(o.Length); err != nil {
			return Outcome{}, err
		}
		p := Parameters(e.Scheme)
		out.Changes = append(out.Changes, report.Change{Encoding: ID(i), What: fmt.Sprintf("%s as tables of %d positions", EncodingName(e.Scheme), o.Length), Expect: report.ExpectSameOnPrefix, To: &p})
		out.Becomes = append(out.Becomes, Becoming{Site: i, Scheme: e.Scheme, Positions: o.Length})
	}
	if out.Changes == nil {
		out.Nothing = "no encoding of the model is computed when it runs"
		return out, nil
	}
	out.note(fmt.Sprintf("beyond %d positions the new model fails to run", o.Length))
	return out, nil
}

// Unbake makes every table that a formula explains a computation, which has no end.
func Unbake(m Model) (_ Outcome, err error) {
	defer caught(&err)
	if err := ready(m); err != nil {
		return Outcome{}, err
	}
	var out Outcome
	var stays error
	for i, s := range m.Sites() {
		e := s.Encoding()
		if e.Form != report.FormTable && e.Form != report.FormCache && e.Form != report.FormBaked {
			continue
		}
		u, ok := s.(Unbaker)
		if !ok {
			stays = &Refusal{Why: fmt.Sprintf("encoding %s (%s) cannot be computed when the model runs", ID(i), e.Scheme.Name())}
			continue
		}
		scheme, err := u.Unbake()
		if is[*Refusal](err) {
			stays = err
			continue
		}
		if err != nil {
			return Outcome{}, err
		}
		p := Parameters(scheme)
		out.Changes = append(out.Changes, report.Change{Encoding: ID(i), What: EncodingName(scheme) + " computed when the model runs", Expect: report.ExpectSameOnPrefix, To: &p})
		out.Becomes = append(out.Becomes, Becoming{Site: i, Scheme: scheme})
	}
	switch {
	case stays != nil && out.Changes != nil:
		out.note("a table stays: " + stays.Error())
	case stays != nil:
		return Outcome{}, stays
	case out.Changes == nil:
		out.Nothing = "the model has no tables of positions"
	}
	return out, nil
}

// ready refuses files that are no whole models.
func ready(m Model) error {
	if err := needsModel(m.Describe()); err != nil {
		return err
	}
	if m.Describe().Format == FormatGGUF {
		return &Refusal{Why: "a GGUF file has no graph: the engine computes every rotation from keys, and learned tables are trained",
			Remedies: []report.Remedy{report.Do("rope", "writes divisors where keys cannot say a scaling", "scaling", "TYPE")}}
	}
	return whole(m)
}

// is reports whether an error is of a type, or holds one.
func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}
