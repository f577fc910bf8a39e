package modelpatch

import (
	"context"
	"errors"

	"github.com/modelpatch/modelpatch/internal/source"
	"github.com/modelpatch/modelpatch/internal/verdict"
	"github.com/modelpatch/modelpatch/patch"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
)

// Exit codes of the command line tool.
const (
	ExitDone        = 0   // done; the answer is yes
	ExitNo          = 1   // the answer is no
	ExitUsage       = 2   // a flag or parameter is wrong
	ExitInput       = 3   // an input cannot be read
	ExitRefused     = 4   // this change cannot be made to this model
	ExitOutput      = 5   // output failed; files are as they were, unless the error says otherwise
	ExitInterrupted = 130 // interrupted; the target is as it was
)

// UsageError is the error of a parameter that is wrong, or of parameters that contradict each other
// (exit code 2).
type UsageError = position.UsageError

// InputError is the error of an input that is no model file that can be read (exit code 3): its
// fields say which file, what is wrong, why, and what to do.
type InputError = source.InputError

// ExitCode is the exit code for an error of this module.
func ExitCode(err error) int {
	switch {
	case err == nil:
		return ExitDone
	case errors.Is(err, context.Canceled):
		return ExitInterrupted
	case is[*verdict.Error](err):
		return ExitNo
	case is[*position.UsageError](err), is[*patch.SameFileError](err):
		return ExitUsage
	case is[*position.Refusal](err), is[*patch.RefusedError](err):
		return ExitRefused
	case is[*patch.OutputError](err), is[*patch.PlanError](err):
		return ExitOutput
	}
	return ExitInput // malformed, unsupported, unreadable
}

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// Advice returns what an error says to do about it: sentences, and remedies as values, for callers
// who word them.
func Advice(err error) (sentences []string, remedies []report.Remedy) { return report.Advice(err) }
