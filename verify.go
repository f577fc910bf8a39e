package modelpatch

import (
	"context"

	"github.com/modelpatch/modelpatch/internal/source"
	"github.com/modelpatch/modelpatch/internal/verdict"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/verify"
)

// VerifyOptions say what a model is compared with, and what the comparison may expect.
type VerifyOptions struct {
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
	// RequireEngine has a change fail (WriteOptions.Verify) whose new file no engine ran.
	RequireEngine bool
	Open          OpenOptions
}

// inner are the same options, as package verdict takes them.
func (o VerifyOptions) inner() verdict.Options {
	return verdict.Options{Before: o.Before, Plan: o.Plan, Expect: o.Expect, Sample: o.Sample, Progress: o.Progress, NoEngine: o.NoEngine, Engine: o.Engine, LlamaServer: o.LlamaServer, RequireEngine: o.RequireEngine}
}

// Verify says whether the model at a path is the one before but for a change of position encoding:
// by structure, by bytes, by the numbers of the encodings and by attention that it runs itself.
func Verify(ctx context.Context, path string, o VerifyOptions) (report.Verify, error) {
	return verdict.Verify(ctx, path, source.Options(o.Open), o.inner())
}
