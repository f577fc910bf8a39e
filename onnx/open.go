package onnx

import (
	"cmp"
	"errors"
	"io"
	"io/fs"

	"github.com/modelpatch/modelpatch/internal/regular"
	"github.com/modelpatch/modelpatch/internal/watched"
)

// maxIndex bounds the index in bytes where no option does: 700,000 nodes of two
// inputs.
const maxIndex = 1 << 29

// Open opens an ONNX model. Weights are not read.
func Open(path string, options Options) (*File, error) {
	file, info, err := regular.Open(path)
	if _, is := errors.AsType[*regular.Error](err); is {
		return nil, &FormatError{Path: path, What: err.Error()}
	}
	if err != nil {
		return nil, err
	}
	f, err := newFile(file, info.Size(), path, options)
	if err != nil {
		file.Close()
		return nil, err
	}
	f.closer, f.info = file, info
	return f, nil
}

// NewFile reads a model from r. External data cannot be found without a path.
func NewFile(r io.ReaderAt, size int64) (*File, error) {
	return newFile(r, size, "", Options{})
}

// OpenReader reads a model that is no file on a disk. name is what messages call it. r is closed
// with the model, or when it cannot be opened, if it is an io.Closer.
func OpenReader(r io.ReaderAt, size int64, name string, options Options) (*File, error) {
	if options.Companions == nil {
		options.Companions = func(string) (io.ReaderAt, int64, error) { return nil, 0, fs.ErrNotExist }
	}
	failure := new(watched.Failure)
	companions := options.Companions
	options.Companions = func(name string) (io.ReaderAt, int64, error) {
		r, size, err := companions(name)
		if err != nil {
			return nil, 0, err
		}
		return failure.Reader(r), size, nil
	}
	f, err := newFile(failure.Reader(r), size, name, options)
	closer, ok := r.(io.Closer)
	if failure.Err() != nil {
		err = failure.Err()
	}
	if err != nil {
		if ok {
			closer.Close()
		}
		return nil, err
	}
	f.closer, f.failure = closer, failure
	return f, nil
}

// ReadError is the first error of reading a model that is no file on a disk; nil: there was none. What
// was found out about a model whose reading failed may be wrong.
func (f *File) ReadError() error { return f.failure.Err() }

func newFile(r io.ReaderAt, size int64, path string, options Options) (*File, error) {
	f := &File{Path: path, Size: size, r: r, Opsets: map[string]int64{}, options: options,
		external: map[string]*externalFile{}, top: &frame{end: size}}
	p := &parser{cursor: newCursor(r, size), file: f, words: map[string]string{}, most: cmp.Or(options.MostIndex, maxIndex)}
	err := p.model()
	if err == nil {
		err = f.finish()
	}
	if err != nil {
		if fe, ok := err.(*FormatError); ok && fe.Path == "" {
			fe.Path = path
		}
		return nil, err
	}
	return f, nil
}

// Describe is the producer's name and version in one word, "" when unstated.
func (f *File) Describe() string {
	switch {
	case f.Producer == "":
		return ""
	case f.ProducerVersion == "":
		return f.Producer
	}
	return f.Producer + " " + f.ProducerVersion
}

// finish refuses a file in which a part is missing, and wires its graphs.
func (f *File) finish() error {
	missing := func(what string) error {
		return &FormatError{Offset: f.Size, Place: what, What: "missing: not a complete ONNX model",
			Hint: "the download may be incomplete, or the file is of another format"}
	}
	switch {
	case f.Graph == nil:
		return missing("graph")
	case f.IRVersion == 0:
		return missing("ir_version")
	case len(f.Opsets) == 0:
		return missing("opset_import")
	}
	f.Graphs((*Graph).sort)
	functions, err := f.checkFunctions()
	if err != nil {
		return err
	}
	f.asOperators(functions)
	f.Graphs(func(g *Graph) {
		f.asConcat(g)
		g.seeThrough(f)
		g.finish()
	})
	return nil
}
