// Package verdict says whether a model is another one but for a change of position encoding: it makes
// changes again that a plan tells of, or that could have made the one of the other, and has package verify
// compare.
package verdict

import (
	"cmp"
	"context"

	"github.com/modelpatch/modelpatch/internal/source"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/verify"
	"github.com/modelpatch/modelpatch/verify/engine"
)

// Options say what a comparison may expect.
type Options struct {
	Before string       // the model as it was; "": the file is checked against itself
	Plan   *report.Plan // what the change said it would do; nil: not known
	Expect string       // report.Expect…; "": from Plan, or judged from the files
	// Sample is how much of the attention is run.
	Sample verify.Sample
	// Progress is told of bytes of large tensors compared so far and in all.
	Progress func(done, total int64)
	// NoEngine leaves out what a second executable would check.
	NoEngine bool
	// Engine runs both files whole, in the engine that serves their format.
	Engine bool
	// LlamaServer is the llama-server that Engine starts; "": that of PATH.
	LlamaServer string
	// RequireEngine has a change fail whose new file no engine ran.
	RequireEngine bool
}

// Verify says whether the model at a path is the one before but for a change of position
// encoding. Without one before, it checks the file against itself.
func Verify(ctx context.Context, path string, open source.Options, o Options) (report.Verify, error) {
	if o.Before == "" {
		return verifyAlone(ctx, path, open, o)
	}
	before, after := o.Before, path
	if o.Plan != nil && o.Plan.Request != nil {
		open.Assume = cmp.Or(open.Assume, o.Plan.Request.Assume)
	}
	a, err := source.Open(ctx, before, open)
	if err != nil {
		return report.Verify{}, err
	}
	defer a.Close()
	b, err := source.Open(ctx, after, open)
	if err != nil {
		return report.Verify{}, err
	}
	defer b.Close()
	options := o.options(ctx)
	again, err := remade(ctx, before, after, a, b, open, o, &options)
	if err != nil {
		return report.Verify{}, err
	}
	if again != nil {
		defer again.Close()
		options.Again = again
	}
	v := verify.Compare(a, b, options)
	v.Before, v.After = report.Name(source.ShownPath(before)), report.Name(source.ShownPath(after))
	if o.Engine {
		addWhole(ctx, o.LlamaServer, a, b, before, after, &v)
	}
	return v, cmp.Or(ctx.Err(), source.ReadError(a), source.ReadError(b))
}

// options are those of package verify: with foreign code where it is there.
func (o Options) options(ctx context.Context) verify.Options {
	out := verify.Options{Plan: o.Plan, Expect: o.Expect, Sample: o.Sample, Compared: func(done, total int64) error {
		if o.Progress != nil {
			o.Progress(done, total)
		}
		return ctx.Err()
	}}
	switch path, err := engine.FindCrosscheck(); {
	case o.NoEngine:
	case err != nil:
		out.Absent = err.Error()
	default:
		out.SecondOpinion = func(c verify.Case) ([][]float64, error) { return engine.Crosscheck(ctx, path, c) }
	}
	return out
}

// verifyAlone checks one file against itself: its attention is run, with a second opinion by
// modelpatch-crosscheck where that is there.
func verifyAlone(ctx context.Context, path string, open source.Options, o Options) (report.Verify, error) {
	m, err := source.Open(ctx, path, open)
	if err != nil {
		return report.Verify{}, err
	}
	defer m.Close()
	v := verify.Inspect(m, o.options(ctx))
	v.Before, v.After = report.Name(source.ShownPath(path)), report.Name(source.ShownPath(path))
	return v, cmp.Or(ctx.Err(), source.ReadError(m))
}

// Check compares a complete new file with the old one before it gets its name, by the plan's own
// expectation, as change.WriteOptions takes it.
func Check(open source.Options, o Options) func(ctx context.Context, before, after string, plan report.Plan) (*report.Verify, error) {
	return func(ctx context.Context, before, after string, plan report.Plan) (*report.Verify, error) {
		o.Before, o.Plan = before, &plan
		v, err := Verify(ctx, after, open, o)
		switch {
		case err != nil:
			return nil, err
		case v.Verdict == report.VerdictDifferent || v.Verdict == report.VerdictBroken:
			return &v, &Error{path: before, why: "the new file is not what was planned: " + firstFailure(v), hint: "nothing was written; please report it, with the plan"}
		case o.RequireEngine && !engine.Ran(v):
			return &v, &Error{path: before, why: "no engine ran the new file: " + notRun(v), hint: "nothing was written; where no engine is required, it is, and the report says what was not checked"}
		}
		return &v, nil
	}
}

// notRun says why no engine ran both files.
func notRun(v report.Verify) string {
	for _, k := range v.Checks {
		if k.Name == report.CheckEngine && k.Verdict == report.CheckSkipped {
			return k.Why
		}
	}
	return "no engine was asked"
}

func firstFailure(v report.Verify) string {
	for _, k := range v.Checks {
		if k.Verdict == report.CheckFail {
			return k.Name + ": " + k.Why
		}
	}
	return v.Verdict
}

// Error is the error of a change that verify judged to be another than
// was planned, or could not judge as it was required to: nothing was written.
type Error struct{ path, why, hint string }

// Error says which check failed, or was not made.
func (e *Error) Error() string {
	return report.Printable(source.ShownPath(e.path)) + ": " + e.why
}

// Hints says what became of the file.
func (e *Error) Hints() []string { return []string{e.hint} }
