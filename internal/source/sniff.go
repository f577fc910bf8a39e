package source

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/modelpatch/modelpatch/internal/regular"
	"github.com/modelpatch/modelpatch/report"
)

// HeadBytes is how much of a file is looked at to tell what it is.
const HeadBytes = 1024

// Sniff reads a file's first bytes and names files that are known to be
// something else (facts/BAD-INPUTS D01–D07). Only regular files go on.
func Sniff(path string) ([]byte, error) {
	f, info, err := regular.Open(path)
	if e, ok := errors.AsType[*regular.Error](err); ok {
		return nil, &InputError{Path: path, What: "cannot be opened", Why: e.Error(), Hint: hintFor(path, e.Mode)}
	}
	if err != nil {
		return nil, CannotOpen(path, err)
	}
	defer f.Close()
	head := make([]byte, min(info.Size(), HeadBytes))
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return nil, CannotOpen(path, err)
	}
	head = head[:n]
	return head, notAModel(path, head)
}

// CannotOpen says why, and where a dangling link points.
func CannotOpen(path string, err error) error {
	if path == Stdin {
		return &InputError{Path: path, What: "cannot be opened", Why: "this command does not read standard input", Err: err, Hint: pipeHint}
	}
	why := err.Error()
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		why = p.Err.Error()
	}
	if target, lerr := os.Readlink(path); lerr == nil {
		why += ", a link to " + report.Printable(target)
	}
	hint := storeHint(path)
	if hint == "" && errors.Is(err, fs.ErrNotExist) {
		hint = absentHint(path)
	}
	return &InputError{Path: path, What: "cannot be opened", Why: why, Err: err, Hint: hint}
}
