package source

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"github.com/modelpatch/modelpatch/patch"
	"github.com/modelpatch/modelpatch/report"
)

// InputError is the error of an input that is no model file that can be read
// (exit code 3).
type InputError struct {
	Path string
	What string
	Why  string
	Hint string
	Err  error
}

// Error says it in a line.
func (e *InputError) Error() string {
	return fmt.Sprintf("%s: %s: %s", report.Printable(ShownPath(e.Path)), e.What, e.Why)
}

// Unwrap returns the cause.
func (e *InputError) Unwrap() error { return e.Err }

// Hints returns what to do about it.
func (e *InputError) Hints() []string {
	if e.Hint == "" {
		return nil
	}
	return []string{e.Hint}
}

// OfMachine reports whether an error tells of the machine, the moment or the options, and nothing of
// the file: it may be read well in another folder for temporary files, by another user, or in a
// minute.
func OfMachine(err error) bool {
	_, system := errors.AsType[syscall.Errno](err)
	_, output := errors.AsType[*patch.OutputError](err)
	return system || output || errors.Is(err, errLimit) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// errLimit marks an error of what the caller allows.
var errLimit = errors.New("more than the limit")
