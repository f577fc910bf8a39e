// Package target writes the files of a run that are not models, none of which may be an input of the
// run, the target of another flag, or something else than text or a picture.
package target

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/modelpatch/modelpatch/internal/sidecar"
	"github.com/modelpatch/modelpatch/internal/source"
	"github.com/modelpatch/modelpatch/patch"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
)

// Set writes the files of one run that are not models: reports, baselines, pictures, lists of
// edits, statements. Each is a temporary file beside its target until it is complete and synced. A
// target may not be an input of the run, the target of another flag, a link, a device or a pipe, nor
// a file that holds anything but text or a picture, such as a model. The zero value is ready for use.
type Set struct {
	// Follow lets a target be a link: what it leads to is written.
	Follow bool

	targets []place
	inputs  []fs.FileInfo // that were read before there was a target
}

// place is a place that a flag names.
type place struct {
	flag, real string
	before     fs.FileInfo // nil: nothing is there
}

// File is a file of [Outputs] that is being written, or a standard stream.
type File struct {
	io.Writer
	pending *patch.Pending // nil: a stream
}

// streams are the names of standard streams.
var streams = map[string]*os.File{source.Stdin: os.Stdout, "/dev/stdout": os.Stdout, "/dev/stderr": os.Stderr}

// IsStream reports whether a target names standard output or standard error.
func IsStream(path string) bool { return streams[path] != nil }

// NoStream is the error of a model or a patch that is to go to a standard stream.
func NoStream(path string) error {
	return &position.UsageError{What: path + " is no place for a model or a patch: it is written beside its name, read again, and only then gets that", Hint: "name a file; reports and pictures go to " + source.Stdin}
}

// Reads notes inputs of the run, and fails where one of them is a target. The files beside a model
// that state its length are inputs too. Paths that are no files count for nothing.
func (o *Set) Reads(paths ...string) error {
	there := slices.ContainsFunc(o.targets, func(t place) bool { return t.before != nil })
	for _, path := range paths {
		if path == "" || source.IsAddress(path) || path == source.Stdin || len(o.targets) > 0 && !there {
			continue
		}
		beside := []string{path}
		for _, name := range sidecar.Names(path) {
			beside = append(beside, source.PathBeside(path, name))
		}
		for _, p := range beside {
			info, err := os.Stat(p)
			if err != nil || !info.Mode().IsRegular() {
				continue
			}
			for _, t := range o.targets {
				if t.before != nil && os.SameFile(t.before, info) {
					return isAnInput(t.flag, t.real)
				}
			}
			if len(o.targets) == 0 {
				o.inputs = append(o.inputs, info)
			}
		}
	}
	return nil
}

func isAnInput(flag, path string) error {
	return &position.UsageError{What: fmt.Sprintf("%s: %s is an input of this run", flag, report.Printable(path)), Hint: "choose another name"}
}

// Claim notes a target that something else writes. Another flag that names it is a *position.UsageError.
func (o *Set) Claim(flag, path string) error {
	_, err := o.claim(flag, path)
	if _, ok := errors.AsType[*patch.OutputError](err); ok {
		return nil // whoever writes it says so
	}
	return err
}

func (o *Set) claim(flag, path string) (t place, err error) {
	t = place{flag: flag, real: path}
	if !IsStream(path) {
		folder, err := filepath.EvalSymlinks(filepath.Dir(path))
		if err == nil {
			folder, err = filepath.Abs(folder)
		}
		if err != nil {
			return t, &patch.OutputError{Op: "create", Path: path, Err: reasonOf(err)}
		}
		t.real = filepath.Join(folder, filepath.Base(path))
		t.before, _ = os.Lstat(t.real)
	}
	for _, other := range o.targets {
		if other.real == t.real || streams[path] != nil && streams[path] == streams[other.real] ||
			t.before != nil && other.before != nil && os.SameFile(t.before, other.before) {
			return t, &position.UsageError{What: fmt.Sprintf("%s and %s both write %s", other.flag, flag, report.Printable(path)), Hint: "give each a file of its own"}
		}
	}
	for _, in := range o.inputs {
		if t.before != nil && os.SameFile(in, t.before) {
			return t, isAnInput(flag, path)
		}
	}
	o.targets = append(o.targets, t)
	return t, nil
}

// Check refuses a target that must not be written, of a flag that opens the file itself. It returns
// the path to be opened.
func (o *Set) Check(flag, path string) (string, error) {
	if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		if !o.Follow {
			return path, &patch.RefusedError{Path: path, Why: "the output is a link", Instead: "name the file itself, or say that links are followed (--follow)"}
		}
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return path, &patch.OutputError{Op: "create", Path: path, Err: reasonOf(err)}
		}
	}
	t, err := o.claim(flag, path)
	if err != nil || t.before == nil {
		return path, err
	}
	if !t.before.Mode().IsRegular() {
		return path, &patch.OutputError{Op: "create", Path: path, Err: errors.New("exists and is not a regular file"), Hint: "standard output is -, standard error /dev/stderr"}
	}
	what, err := binaryIn(path)
	if err != nil {
		return path, &patch.OutputError{Op: "create", Path: path, Err: reasonOf(err)}
	}
	if what != "" {
		return path, &patch.RefusedError{Path: path, Why: flag + " would replace " + what, Instead: "choose another name, or remove it"}
	}
	return path, nil
}

// Create begins the file that a flag names, or a standard stream. One that is there already is
// replaced only if that is asked for.
func (o *Set) Create(ctx context.Context, flag, path string, replace bool) (*File, error) {
	return o.CreateOf(ctx, flag, path, nil, patch.WriteOptions{Force: replace, Shared: true})
}

// CreateOf is Create of a file that is made of inputs.
func (o *Set) CreateOf(ctx context.Context, flag, path string, inputs []patch.Input, w patch.WriteOptions) (*File, error) {
	if IsStream(path) {
		if err := o.Claim(flag, path); err != nil {
			return nil, err
		}
		return &File{Writer: streams[path]}, nil
	}
	path, err := o.Check(flag, path)
	if err != nil {
		return nil, err
	}
	if _, err := os.Lstat(path); err == nil && !w.Force && !w.Backup {
		return nil, &patch.OutputError{Op: "create", Path: path, Err: fs.ErrExist, Hint: "force replaces it"}
	}
	p, err := patch.Create(ctx, inputs, path, w)
	if err != nil {
		return nil, err
	}
	return &File{p, p}, nil
}

// Commit lets the disk have the file and gives it its name.
func (o *File) Commit() (patch.WrittenFile, error) {
	if o.pending == nil {
		return patch.WrittenFile{}, nil
	}
	return o.pending.Commit()
}

// Close removes what was not committed.
func (o *File) Close() error {
	if o.pending == nil {
		return nil
	}
	return o.pending.Close()
}

// binaryIn says what a file is that holds anything but text or a picture; "" for these.
func binaryIn(path string) (string, error) {
	head, err := source.Sniff(path)
	if _, ok := errors.AsType[*source.InputError](err); ok && head == nil {
		return "", err
	}
	switch ext := strings.ToLower(filepath.Ext(path)); {
	case source.IsGGUF(head):
		return "a GGUF model", nil
	case slices.Contains([]string{".gguf", ".onnx", ".ort", patch.Suffix}, ext):
		return "a file that is named like a model", nil
	case bytes.HasPrefix(head, []byte("\x89PNG\r\n")):
		return "", nil
	}
	if len(head) == source.HeadBytes {
		for n := 1; n < utf8.UTFMax && !utf8.Valid(head); n++ {
			head = head[:len(head)-1] // a rune that was cut
		}
	}
	if !utf8.Valid(head) || bytes.ContainsFunc(head, func(r rune) bool { return r < ' ' && !strings.ContainsRune("\t\n\f\r\x1b", r) }) {
		return "binary data, as a model is", nil
	}
	return "", nil
}

// reasonOf is an error without the path that it repeats.
func reasonOf(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}
