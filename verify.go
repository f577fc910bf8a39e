package modelpatch

import (
	"cmp"
	"context"

	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/verify"
	"github.com/modelpatch/modelpatch/verify/engine"
)

// VerifyOptions say what a comparison may expect.
type VerifyOptions struct {
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
	// RequireEngine has CheckWith refuse a file that no engine ran; see EngineRan.
	RequireEngine bool
}

// EngineRan reports whether the engine that serves the format ran both files: where it
// did not, a check named engine was skipped and says why.
func EngineRan(v report.Verify) bool { return engine.Ran(v) }

// Verify says whether the file after is the file before but for a change of
// position encoding.
func Verify(ctx context.Context, before, after string, open OpenOptions, o VerifyOptions) (report.Verify, error) {
	if o.Plan != nil && o.Plan.Request != nil {
		open.Assume = cmp.Or(open.Assume, o.Plan.Request.Assume)
	}
	a, err := OpenContext(ctx, before, open)
	if err != nil {
		return report.Verify{}, err
	}
	defer a.Close()
	b, err := OpenContext(ctx, after, open)
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
	v.Before, v.After = report.Name(ShownPath(before)), report.Name(ShownPath(after))
	if o.Engine {
		addWhole(ctx, o.LlamaServer, a, b, before, after, &v)
	}
	return v, cmp.Or(ctx.Err(), ReadError(a), ReadError(b))
}

// options are those of package verify: with foreign code where it is there.
func (o VerifyOptions) options(ctx context.Context) verify.Options {
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

// VerifyFile checks one file against itself.
func VerifyFile(path string, open OpenOptions) (report.Verify, error) {
	return VerifyFileContext(context.Background(), path, open)
}

// VerifyFileContext is VerifyFile until a context ends.
func VerifyFileContext(ctx context.Context, path string, open OpenOptions) (report.Verify, error) {
	return VerifyFileWith(ctx, path, open, VerifyOptions{NoEngine: true})
}

// VerifyFileWith is VerifyFileContext with so much of the attention run, and a second
// opinion on it by modelpatch-crosscheck where that is there.
func VerifyFileWith(ctx context.Context, path string, open OpenOptions, o VerifyOptions) (report.Verify, error) {
	m, err := OpenContext(ctx, path, open)
	if err != nil {
		return report.Verify{}, err
	}
	defer m.Close()
	v := verify.InspectWith(m, o.options(ctx))
	v.Before, v.After = report.Name(ShownPath(path)), report.Name(ShownPath(path))
	return v, cmp.Or(ctx.Err(), ReadError(m))
}

// CheckByVerify is a WriteOptions.Check that compares the new file with the old
// one: structure, bytes, tables and attention, by the plan's own expectation.
func CheckByVerify(open OpenOptions) func(ctx context.Context, before, after string, plan report.Plan) (*report.Verify, error) {
	return CheckWith(open, VerifyOptions{NoEngine: true})
}

// CheckWith is CheckByVerify with as much of the attention and as many engines as o says.
func CheckWith(open OpenOptions, o VerifyOptions) func(ctx context.Context, before, after string, plan report.Plan) (*report.Verify, error) {
	return func(ctx context.Context, before, after string, plan report.Plan) (*report.Verify, error) {
		o.Plan = &plan
		v, err := Verify(ctx, before, after, open, o)
		switch {
		case err != nil:
			return nil, err
		case v.Verdict == report.VerdictDifferent || v.Verdict == report.VerdictBroken:
			return &v, &verdictError{path: before, why: "the new file is not what was planned: " + firstFailure(v), hint: "nothing was written; please report it, with the plan"}
		case o.RequireEngine && !engine.Ran(v):
			return &v, &verdictError{path: before, why: "no engine ran the new file: " + notRun(v), hint: "nothing was written; where no engine is required, it is, and the report says what was not checked"}
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
