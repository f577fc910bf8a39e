package onnx

import (
	"fmt"
	"io"
	"os"
	"syscall"
)

// maxItems bounds nodes, initializers and value infos together, so that a
// file of empty messages cannot fill the memory (facts/BAD-INPUTS §4).
const maxItems = 1 << 22

// maxText bounds names and other strings that are held.
const maxText = 1 << 20

// Open opens an ONNX model. Weights are not read.
func Open(path string, options Options) (*File, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil {
		file.Close()
		return nil, err
	}
	if !info.Mode().IsRegular() {
		file.Close()
		return nil, &FormatError{Path: path, What: "not a regular file"}
	}
	f, err := newFile(file, info.Size(), path, options)
	if err != nil {
		file.Close()
		return nil, err
	}
	f.closer = file
	return f, nil
}

// NewFile reads a model from r. External data cannot be found without a path.
func NewFile(r io.ReaderAt, size int64) (*File, error) {
	return newFile(r, size, "", Options{})
}

func newFile(r io.ReaderAt, size int64, path string, options Options) (*File, error) {
	f := &File{Path: path, Size: size, r: r, Opsets: map[string]int64{}, options: options,
		external: map[string]*externalFile{}, top: &frame{end: size}}
	p := &parser{cursor: newCursor(r, size), file: f}
	if err := p.model(); err != nil {
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

func (p *parser) finish() error {
	f := p.file
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
	return f.checkFunctions()
}

// checkFunctions refuses model-local functions that call each other in a
// circle: there is no order in which they could be evaluated.
func (f *File) checkFunctions() error {
	const visiting, done = 1, 2
	state := map[*Function]int{}
	var visit func(*Function) error
	visit = func(fn *Function) error {
		switch state[fn] {
		case done:
			return nil
		case visiting:
			return &FormatError{Place: fmt.Sprintf("functions[%q]", fn.Name), What: "functions call each other in a circle"}
		}
		state[fn] = visiting
		var err error
		fn.Graph.walk(func(g *Graph) {
			for _, n := range g.Nodes {
				if callee := f.Function(n); callee != nil && err == nil {
					err = visit(callee)
				}
			}
		})
		state[fn] = done
		return err
	}
	for _, fn := range f.Functions {
		if err := visit(fn); err != nil {
			return err
		}
	}
	return nil
}

// Function returns the model-local function that a node calls, nil when it
// calls an operator.
func (f *File) Function(n *Node) *Function {
	for _, fn := range f.Functions {
		if fn.Name == n.Op && fn.Domain == n.Domain {
			return fn
		}
	}
	return nil
}
