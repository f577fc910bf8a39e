// Package watched remembers that reading failed. What looks at a model takes a constant that cannot be read as
// one that says nothing; of a file on a server, whose reading may fail at any time, the report
// would then be another one than the file's.
package watched

import (
	"errors"
	"io"
	"sync"
)

// Failure is the first error of several readers. The zero value has none; it may be used by
// several goroutines.
type Failure struct {
	mu  sync.Mutex
	err error
}

// Err returns the first error; nil: there was none.
func (f *Failure) Err() error {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// Reader is r, whose errors but io.EOF are remembered.
func (f *Failure) Reader(r io.ReaderAt) io.ReaderAt { return &reader{f, r} }

type reader struct {
	failure *Failure
	r       io.ReaderAt
}

// ReadAt reads from the reader inside.
func (r *reader) ReadAt(p []byte, at int64) (int, error) {
	n, err := r.r.ReadAt(p, at)
	if err != nil && !errors.Is(err, io.EOF) {
		r.failure.mu.Lock()
		defer r.failure.mu.Unlock()
		if r.failure.err == nil {
			r.failure.err = err
		}
	}
	return n, err
}

// Version is what the reader inside says of its version; "": it says nothing.
func (r *reader) Version() string {
	if v, ok := r.r.(interface{ Version() string }); ok {
		return v.Version()
	}
	return ""
}

// Close closes the reader inside, if it can be closed.
func (r *reader) Close() error {
	if c, ok := r.r.(io.Closer); ok {
		return c.Close()
	}
	return nil
}
