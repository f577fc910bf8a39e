package onnx

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"syscall"
)

// maxHeld bounds the index in bytes where no option does: 700,000 nodes of two
// inputs.
const maxHeld = 1 << 29

// maxCalls bounds functions that call functions that call functions.
const maxCalls = 1000

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
	p := &parser{cursor: newCursor(r, size), file: f, words: map[string]string{}, most: cmp.Or(options.MostIndex, maxHeld)}
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
	if err := f.checkFunctions(); err != nil {
		return err
	}
	f.Graphs(func(g *Graph) {
		g.seeThrough(f)
		g.finish()
	})
	return nil
}

// checkFunctions refuses model-local functions that call each other in a
// circle: there is no order in which they could be evaluated.
func (f *File) checkFunctions() error {
	f.functions = map[functionName]*Function{}
	for _, fn := range f.Functions {
		name := functionName{fn.Domain, fn.Name}
		if f.functions[name] != nil {
			f.Repeats = append(f.Repeats, Repeat{Kind: RepeatFunction, What: fmt.Sprintf("function %s occurs twice", quoted(fn.Name))})
			continue
		}
		f.functions[name] = fn
	}
	const visiting, done = 1, 2
	state := map[*Function]int{}
	var visit func(fn *Function, depth int) error
	visit = func(fn *Function, depth int) error {
		bad := func(what string) error {
			return &FormatError{Path: f.Path, Offset: fn.Graph.frame.start, Place: fmt.Sprintf("functions[%s]", quoted(fn.Name)), What: what}
		}
		switch {
		case state[fn] == done:
			return nil
		case state[fn] == visiting:
			return bad("functions call each other in a circle")
		case depth > maxCalls:
			return bad(fmt.Sprintf("functions nested more than %d deep", maxCalls))
		}
		state[fn] = visiting
		var err error
		fn.Graph.walk(func(g *Graph) {
			for _, n := range g.Nodes {
				if callee := f.Function(n); callee != nil && err == nil {
					err = visit(callee, depth+1)
				}
			}
		})
		state[fn] = done
		return err
	}
	for _, fn := range f.Functions {
		if err := visit(fn, 0); err != nil {
			return err
		}
	}
	return nil
}

type functionName struct{ domain, name string }

// Function returns the model-local function that a node calls, nil when it
// calls an operator.
func (f *File) Function(n *Node) *Function {
	return f.functions[functionName{n.Domain, n.Op}]
}
