package patch

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
)

var (
	errCut     = errors.New("changed while reading: the file became shorter")
	errChanged = errors.New("changed while reading")
)

// PlanError is the error of a plan that contradicts itself or its inputs'
// sizes: a mistake of whoever made the plan.
type PlanError struct {
	Edit int // index into Plan.Edits; -1: the plan as a whole
	Why  string
}

// Error says which edit is wrong, and why.
func (e *PlanError) Error() string {
	if e.Edit < 0 {
		return "plan: " + e.Why
	}
	return fmt.Sprintf("plan: edit %d: %s", e.Edit, e.Why)
}

// InputError is the error of a file that cannot be read, or that changed
// while it was being read (exit code 3).
type InputError struct {
	Path string // empty where a reader without a name failed
	Err  error
}

// Error says the file and what is wrong with it.
func (e *InputError) Error() string {
	if e.Path == "" {
		return e.Err.Error()
	}
	return e.Path + ": " + cause(e.Path, e.Err)
}

// cause says an error without the path and the deed, which were said already.
func cause(path string, err error) string {
	if p, ok := err.(*fs.PathError); ok && (p.Path == path || strings.Contains(filepath.Base(p.Path), tempInfix)) {
		return p.Err.Error() // of a temporary file, whose name says nothing to anybody
	}
	return strings.TrimPrefix(err.Error(), path+": ")
}

// Unwrap is the cause.
func (e *InputError) Unwrap() error { return e.Err }

// adviceError adds to an error what would help.
type adviceError struct {
	error
	hint string
}

// Unwrap is the error.
func (e *adviceError) Unwrap() error { return e.error }

// Hints returns what would help, for printing under the error.
func (e *adviceError) Hints() []string { return hints(e.hint) }

// OutputError is the error of a file that could not be written (exit code 5).
// The target is as it was, unless Done or State say otherwise.
type OutputError struct {
	Op   string // what was being done: "create", "write", "sync", "rename" …
	Path string
	Err  error
	Hint string // what would help; may be empty
	// Done tells that the change is made: what failed came after it.
	Done bool
	// State says in words what stands and what is not certain about it, for
	// the message. Empty: the target is as it was.
	State string
}

// Error says the file, what stands when that is not the old file, what was
// being done, and what went wrong.
func (e *OutputError) Error() string {
	if e.State != "" {
		return fmt.Sprintf("%s: %s: %s: %s", e.Path, e.State, e.Op, cause(e.Path, e.Err))
	}
	return fmt.Sprintf("%s: %s: %s", e.Path, e.Op, cause(e.Path, e.Err))
}

// Unwrap is the cause.
func (e *OutputError) Unwrap() error { return e.Err }

// Hints returns what would help, for printing under the error.
func (e *OutputError) Hints() []string {
	if e.Hint == "" && e.Op == "create" && errors.Is(e.Err, fs.ErrNotExist) {
		return []string{"there is no folder " + filepath.Dir(e.Path) + ": make it first"}
	}
	if e.Hint == "" && e.Op == "create" && errors.Is(e.Err, fs.ErrPermission) {
		return []string{"no file may be made in this folder: write to another one, or ask for the right to write there"}
	}
	return hints(e.Hint)
}

// RefusedError is the error of a target that must not be written to, though
// it could be: a link, a file with several names (exit code 4).
type RefusedError struct {
	Path    string
	Why     string
	Instead string
}

// Error is the path and why it is refused.
func (e *RefusedError) Error() string { return e.Path + ": refused: " + e.Why }

// Hints returns what would work instead, for printing under the error.
func (e *RefusedError) Hints() []string { return hints(e.Instead) }

// SameFileError is the error of an output that is one of the inputs (exit code 2).
type SameFileError struct {
	Path    string
	What    string
	Instead string
}

// Error is the path and what is wrong with it.
func (e *SameFileError) Error() string { return e.Path + ": " + e.What }

// Hints returns what would work instead, for printing under the error.
func (e *SameFileError) Hints() []string { return hints(e.Instead) }

func hints(h string) []string {
	if h == "" {
		return nil
	}
	return []string{h}
}

const writeNewInstead = "write a new file with -o"

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// decided reports whether an error came when the change was made already: then
// what belongs to it must stay.
func decided(err error) bool {
	o, ok := errors.AsType[*OutputError](err)
	return ok && o.Done
}
