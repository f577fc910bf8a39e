// Package regular opens regular files: a pipe that is named in place of a file must not
// make a program wait for its other end, and a device must not be read for ever.
package regular

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Nonblocking is the flag of an open that does not wait for the other end of a pipe
// (POSIX O_NONBLOCK); 0 where pipes are not among the files.
const Nonblocking = nonblocking

// Error is the error of a file that is there and is no regular one.
type Error struct{ Mode fs.FileMode }

// Error says what it is.
func (e *Error) Error() string { return "not a regular file, but " + kind(e.Mode) }

// kind names what a file is when it is no regular one.
func kind(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "a folder"
	case mode&fs.ModeNamedPipe != 0:
		return "a pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	}
	return "a device"
}

// Open opens a regular file for reading; an *Error tells that it is none.
func Open(path string) (*os.File, fs.FileInfo, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|nonblocking, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &Error{info.Mode()}
	}
	if err != nil {
		f.Close()
		return nil, info, err
	}
	return f, info, nil
}

// Read reads a regular file of at most so many bytes.
func Read(path string, most int64) ([]byte, fs.FileInfo, error) {
	f, info, err := Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	if info.Size() > most {
		return nil, nil, fmt.Errorf("%d bytes are too many", info.Size())
	}
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(b)) != info.Size() {
		err = errors.New("changed while reading")
	}
	return b, info, err
}
