package modelpatch

import (
	"context"
	"errors"

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

// ExitCode is the exit code for an error of this module.
func ExitCode(err error) int {
	switch {
	case err == nil:
		return ExitDone
	case errors.Is(err, context.Canceled):
		return ExitInterrupted
	case is[*verdictError](err):
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

// Hints are the lines of advice that an error carries.
func Hints(err error) []string {
	var h interface{ Hints() []string }
	if errors.As(err, &h) {
		return h.Hints()
	}
	return nil
}

// Advice returns the advice that an error carries: sentences, and remedies as
// values for callers who word them; Hints words them itself.
func Advice(err error) (sentences []string, remedies []report.Remedy) {
	var a interface {
		Advice() (string, []report.Remedy)
	}
	if !errors.As(err, &a) {
		return Hints(err), nil
	}
	sentence, remedies := a.Advice()
	if sentence != "" {
		sentences = []string{sentence}
	}
	return sentences, remedies
}

// refused puts the path before a refusal, which does not know it.
type refused struct {
	path string
	err  error
}

// Error puts the path before the refusal.
func (e *refused) Error() string {
	return report.Printable(ShownPath(e.path)) + ": refused: " + e.err.Error()
}

// Unwrap is the refusal without the path.
func (e *refused) Unwrap() error { return e.err }

// verdictError is the error of a change that verify judged to be another than
// was planned, or could not judge as it was required to: nothing was written.
type verdictError struct{ path, why, hint string }

// Error says which check failed, or was not made.
func (e *verdictError) Error() string { return report.Printable(ShownPath(e.path)) + ": " + e.why }

// Hints says what became of the file.
func (e *verdictError) Hints() []string { return []string{e.hint} }

// notInPlace refuses to change a file on a server.
func notInPlace() error {
	return &position.UsageError{What: "a model at an address is not changed in place", Remedies: []report.Remedy{
		report.Do("", "writes a new file here", "output", "NEW"), report.Do("", "writes just the change", "output", "NEW", "patch-only", ""), report.Do("", "writes the change for a commit on a hub", "edits", "FILE")}}
}
