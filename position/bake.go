package position

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/modelpatch/modelpatch/position/parameters"
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

// DivisorBaker is implemented by sites of rotary encodings that an engine computes from
// keys, and whose scaling can be stored as divisors of the frequencies.
type DivisorBaker interface {
	// BakeDivisors stores the scaling as divisors and takes its keys away; false
	// where there is nothing to store. It is a *Refusal where the engine does not
	// take divisors, or has two lists of them.
	BakeDivisors() (bool, error)
	// UnbakeDivisors stores the scaling that explains the divisors in keys; false
	// where there are no divisors. It is a *Refusal where no keys say it.
	UnbakeDivisors() (bool, error)
}

// TypedBaker is implemented by sites whose tables can be stored in another type than the
// graph computes in, where it rounds to that type at once.
type TypedBaker interface {
	// BakeAs is Bake with tables of one of TableTypes. It is a *Refusal where the
	// graph goes on with the numbers as they were computed.
	BakeAs(positions int, dtype string) error
}

// TableTypes are the words of BakeOptions.Dtype.
var TableTypes = []string{"float32", "float16", "bfloat16"}

// BakeOptions say how long the tables are to be.
type BakeOptions struct {
	Length int
	// Dtype is the element type of the tables, one of TableTypes; "": that in which
	// the graph computes.
	Dtype string
}

// rounding is how far outputs may be off, of their scale, where the same numbers are computed in another order or
// by another operator in float32.
const rounding = 1e-5

// Bake makes every encoding that a model computes when it runs a table of constants.
// Outputs stay what they are up to the length; beyond it the new model fails to run.
func Bake(m Model, o BakeOptions) (_ Outcome, err error) {
	defer Caught(&err)
	if m.Describe().Format == FormatGGUF {
		if o.Dtype != "" {
			return Outcome{}, &UsageError{What: "--dtype: llama.cpp takes divisors of the frequencies in float32 alone"}
		}
		if o.Length != 0 {
			return Outcome{}, &UsageError{What: "--len: a GGUF file gets divisors of the frequencies, which hold for every length", Hint: "leave --len out"}
		}
		return divisors(m, "%s: %s as divisors of the frequencies", "the model has no scaling in keys", DivisorBaker.BakeDivisors)
	}
	if o.Dtype != "" && !slices.Contains(TableTypes, o.Dtype) {
		return Outcome{}, &UsageError{What: fmt.Sprintf("--dtype %q: it is one of %s", o.Dtype, strings.Join(TableTypes, ", "))}
	}
	if o.Length == 0 {
		return Outcome{}, &UsageError{What: "no --len: tables in an ONNX file end somewhere", Hint: "--len N: how many positions the tables are to have"}
	}
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
		if err := o.bake(b, i); err != nil {
			return Outcome{}, err
		}
		p := parameters.Of(e.Scheme)
		out.Changes = append(out.Changes, report.Change{Encoding: ID(i), What: fmt.Sprintf("%s as tables of %d positions", EncodingName(e.Scheme), o.Length), Expect: report.ExpectSameOnPrefix, Tolerance: rounding, To: &p})
		out.Becomes = append(out.Becomes, Becoming{Site: i, Scheme: schemes.InTable(e.Scheme), Positions: o.Length})
	}
	if out.Changes == nil {
		out.Nothing = "no encoding of the model is computed when it runs"
		return out, nil
	}
	out.note(fmt.Sprintf("beyond %d positions the new model fails to run", o.Length))
	return out, nil
}

// bake makes one encoding tables of the type that is asked for.
func (o BakeOptions) bake(b Baker, i int) error {
	if o.Dtype == "" {
		return b.Bake(o.Length)
	}
	t, ok := b.(TypedBaker)
	if !ok {
		return &Refusal{Why: fmt.Sprintf("the table of encoding %s is of the type in which the graph adds it", ID(i)), Instead: "leave --dtype out"}
	}
	return t.BakeAs(o.Length, o.Dtype)
}

// Unbake makes every table that a formula explains a computation, which has no end.
func Unbake(m Model) (_ Outcome, err error) {
	defer Caught(&err)
	if m.Describe().Format == FormatGGUF {
		return divisors(m, "%s: %s in keys", "the model has no divisors of frequencies that scale", DivisorBaker.UnbakeDivisors)
	}
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
		out.becomes(Becoming{Site: i, Scheme: scheme}, EncodingName(scheme)+" computed when the model runs", report.ExpectSameOnPrefix).Tolerance = rounding
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

// divisors moves the scaling of every rotation of a GGUF file between keys and divisors.
func divisors(m Model, says, nothing string, move func(DivisorBaker) (bool, error)) (Outcome, error) {
	if err := needsModel(m.Describe()); err != nil {
		return Outcome{}, err
	}
	if err := whole(m); err != nil {
		return Outcome{}, err
	}
	var out Outcome
	rotates := false
	for i, s := range m.Sites() {
		b, ok := s.(DivisorBaker)
		if !ok {
			continue
		}
		rotates = true
		done, err := move(b)
		if err != nil {
			return Outcome{}, err
		}
		if !done {
			continue
		}
		scheme := s.Encoding().Scheme.(schemes.Rotary)
		if err := turns(scheme); err != nil {
			return Outcome{}, err
		}
		out.becomes(Becoming{Site: i, Scheme: scheme}, fmt.Sprintf(says, EncodingName(scheme), "scaling "+scheme.Scaling.Words()), report.ExpectSame).Tolerance = rounding
	}
	switch {
	case !rotates:
		return Outcome{}, &Refusal{Why: "a GGUF file has no graph: what could move is the scaling of RoPE between keys and divisors, and this model has no RoPE"}
	case out.Changes == nil:
		out.Nothing = nothing
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
