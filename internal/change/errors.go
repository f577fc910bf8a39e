package change

import (
	"errors"

	"github.com/modelpatch/modelpatch/internal/source"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
)

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// refused puts the path before a refusal, which does not know it.
type refused struct {
	path string
	err  error
}

// Error puts the path before the refusal.
func (e *refused) Error() string {
	return report.Printable(source.ShownPath(e.path)) + ": refused: " + e.err.Error()
}

// Unwrap is the refusal without the path.
func (e *refused) Unwrap() error { return e.err }

// notInPlace refuses to change a file on a server.
func notInPlace() error {
	return &position.UsageError{What: "a model at an address is not changed in place", Remedies: []report.Remedy{
		report.Do("", "writes a new file here", "output", "NEW"), report.Do("", "writes just the change", "output", "NEW", "patch-only", ""), report.Do("", "writes the change for a commit on a hub", "edits", "FILE")}}
}
