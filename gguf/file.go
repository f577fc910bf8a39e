package gguf

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/modelpatch/modelpatch/internal/regular"
	"github.com/modelpatch/modelpatch/internal/watched"
)

// File is a model: one part, or the parts of a split one in order. Its keys
// are those of the first part, its tensors those of all.
type File struct {
	Parts   []*Part
	closers []io.Closer
	index   map[string]*Tensor
	failure *watched.Failure // of readers; nil: the files are on a disk
}

// NewFile reads the header of one file of the given size. A shard of a split
// model is read as what it is by itself; Open finds its companions.
func NewFile(r io.ReaderAt, size int64) (*File, error) {
	p, err := readPart(newCursor(r, size), "")
	if err != nil {
		return nil, err
	}
	return join([]*Part{p})
}

// Open opens a model by any of its files.
func Open(path string) (*File, error) { return open(path, &opener{}) }

// Companions gives the other files of a model that is read from an io.ReaderAt, by
// their names: the shards of a split model. The error of a file that is not there is
// fs.ErrNotExist. A reader that is an io.Closer is closed with the model.
type Companions func(name string) (io.ReaderAt, int64, error)

// OpenReader opens a model that is no file on a disk. name is what messages call it, and
// says of a shard which one it is; companions may be nil where the model is one file.
func OpenReader(r io.ReaderAt, size int64, name string, companions Companions) (*File, error) {
	failure := new(watched.Failure)
	f, err := open(name, &opener{readers: func(path string) (io.ReaderAt, int64, error) {
		switch {
		case path == name:
			return failure.Reader(r), size, nil
		case companions == nil:
			return nil, 0, fs.ErrNotExist
		}
		r, size, err := companions(path)
		if err != nil {
			return nil, 0, err
		}
		return failure.Reader(r), size, nil
	}})
	if failure.Err() != nil {
		if err == nil {
			f.Close()
		}
		return nil, failure.Err()
	}
	if err != nil {
		return nil, err
	}
	f.failure = failure
	return f, nil
}

// ReadError is the first error of reading a model that is no file on a disk; nil: there was none. What
// was found out about a model whose reading failed may be wrong.
func (f *File) ReadError() error { return f.failure.Err() }

// OpenEdited opens a model whose files were edited in place since before was
// opened. Lists of strings, the tokenizer's, are not walked through again where
// the same file had one of that key and length: no edit reaches into them, so they
// take the bytes that they took. What follows one is read, and would make no
// sense were it not so.
func OpenEdited(path string, before *File) (*File, error) {
	return open(path, &opener{before: before.Parts})
}

// lists are the lists of strings of the part that a file was before it was
// edited, by key; nil when it is none of them.
func (o *opener) lists(info os.FileInfo) map[string]*Pair {
	for _, part := range o.before {
		if part.Info == nil || !os.SameFile(part.Info, info) {
			continue
		}
		out := map[string]*Pair{}
		for i := range part.Pairs {
			if p := &part.Pairs[i]; p.Type == TypeArray && p.Elem == TypeString {
				out[p.Key] = p
			}
		}
		return out
	}
	return nil
}

func open(path string, o *opener) (*File, error) {
	first, err := o.part(path)
	if err != nil {
		o.close()
		return nil, err
	}
	parts := []*Part{first}
	if first.splitCount() > 1 {
		parts, err = o.companions(first)
	}
	if err != nil {
		o.close()
		return nil, err
	}
	f, err := join(parts)
	if err != nil {
		o.close()
		return nil, err
	}
	f.closers = o.files
	return f, nil
}

// Close closes the files that Open opened.
func (f *File) Close() error {
	var errs []error
	for _, c := range f.closers {
		errs = append(errs, c.Close())
	}
	f.closers = nil
	return errors.Join(errs...)
}

// Find returns a key's pair, or nil.
func (f *File) Find(key string) *Pair { return f.Parts[0].Find(key) }

// Tensor returns a tensor by name, or nil.
func (f *File) Tensor(name string) *Tensor { return f.index[name] }

// TensorCount is the number of tensors in all parts.
func (f *File) TensorCount() int { return len(f.index) }

// Oddities returns what is unusual about the files.
func (f *File) Oddities() []Oddity {
	var out []Oddity
	for _, p := range f.Parts {
		out = append(out, p.Oddities...)
	}
	return out
}

// Range returns the bytes [first, end) of a tensor's data in its part.
func (f *File) Range(t *Tensor) [2]int64 {
	at := f.Parts[t.Part].DataStart + t.Offset
	return [2]int64{at, at + t.Size}
}

// join makes a file of parts.
func join(parts []*Part) (*File, error) {
	f := &File{Parts: parts, index: map[string]*Tensor{}}
	for n, p := range parts {
		for i := range p.Tensors {
			t := &p.Tensors[i]
			t.Part = n
			if other, twice := f.index[t.Name]; twice {
				return nil, &FormatError{Path: p.Path, What: "split model", At: t.infoAt, Tensor: t.Name,
					Why: "duplicate tensor name " + clip(t.Name) + ", also in " + clip(parts[other.Part].Path)}
			}
			f.index[t.Name] = t
		}
	}
	return f, nil
}

// opener opens the files of one model and closes them when it fails.
type opener struct {
	files  []io.Closer
	before []*Part // what the files were before they were edited
	// readers gives files that are not on a disk; nil: they are.
	readers func(path string) (io.ReaderAt, int64, error)
}

func (o *opener) close() {
	for _, f := range o.files {
		f.Close()
	}
}

// part opens and reads one file. O_NONBLOCK keeps a FIFO from blocking the
// open; only regular files are read (facts/BAD-INPUTS §1.4).
func (o *opener) part(path string) (*Part, error) {
	if o.readers != nil {
		r, size, err := o.readers(path)
		if err != nil {
			return nil, openError(path, err)
		}
		if c, ok := r.(io.Closer); ok {
			o.files = append(o.files, c)
		}
		c := newCursor(r, size)
		c.buf = make([]byte, 0, min(size, distantWindow))
		p, err := readPart(c, path)
		if err == nil {
			p.distant = r
		}
		return p, err
	}
	file, err := os.OpenFile(path, os.O_RDONLY|regular.Nonblocking, 0)
	if err != nil {
		return nil, openError(path, err)
	}
	o.files = append(o.files, file)
	info, err := file.Stat()
	if err != nil {
		return nil, openError(path, err)
	}
	if !info.Mode().IsRegular() {
		return nil, &FormatError{Path: path, What: "cannot be opened", At: -1, Why: fmt.Sprintf("not a regular file (%s)", info.Mode().Type())}
	}
	c := newCursor(file, info.Size())
	c.lists = o.lists(info)
	p, err := readPart(c, path)
	if err != nil {
		return nil, err
	}
	p.Info = info
	return p, nil
}

// openError says why a file could not be opened, without repeating its path.
func openError(path string, err error) error {
	why := err
	if p, ok := errors.AsType[*os.PathError](err); ok {
		why = p.Err
	}
	return &FormatError{Path: path, What: "cannot be opened", Why: why.Error(), At: -1, Err: err}
}
