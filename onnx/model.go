package onnx

import (
	"io"
	"io/fs"

	"github.com/modelpatch/modelpatch/internal/watched"
	"github.com/modelpatch/modelpatch/patch"
)

// File is an opened ONNX model.
type File struct {
	Path            string // "" when opened from a reader
	Size            int64
	IRVersion       int64
	Producer        string
	ProducerVersion string
	Opsets          map[string]int64 // domain ("" for ai.onnx) → version
	Graph           *Graph
	Functions       []*Function
	// Repeats are places that occur twice where one answer is meant:
	// readable, and not to be edited.
	Repeats []Repeat

	r         io.ReaderAt
	closer    io.Closer
	info      fs.FileInfo      // as it was when it was opened; nil: it is no file on a disk
	failure   *watched.Failure // of readers; nil: the file is on a disk
	external  map[string]*externalFile
	options   Options
	functions map[functionName]*Function
	top       *frame  // the whole file
	rest      []field // its fields apart from graph and functions
}

// Repeat is a place of a model that gives two answers. Readers differ in
// which of them counts.
type Repeat struct {
	Kind   RepeatKind
	Tensor *Tensor // nil where it is no tensor
	What   string
}

// RepeatKind is what occurs twice.
type RepeatKind int

// Kinds of Repeat.
const (
	RepeatInitializer RepeatKind = iota + 1 // two initializers of one name
	RepeatData                              // raw and typed data of one tensor
	RepeatAttribute                         // two attributes of one name
	RepeatFunction                          // two functions of one name
)

// Options change how a model is opened.
type Options struct {
	// ExternalRoot is a folder in which external data may lie besides the
	// model's own; "" allows only that.
	ExternalRoot string
	// MostIndex is how many bytes nodes, constants and their names may take in
	// memory, by estimate; 0: 512 MiB, some 700,000 nodes.
	MostIndex int64
	// Companions gives the data files of a model that is read from an io.ReaderAt, by
	// their location in the model; nil: they are looked for beside its path. The error of one that is not
	// there is fs.ErrNotExist. A reader that is an io.Closer is closed with the model.
	Companions func(name string) (io.ReaderAt, int64, error)
	// Distant tells that reading is dear: what only large tables would show is not looked for
	// (File.Distant).
	Distant bool
}

// Distant reports whether reading is dear, as Options.Distant says.
func (f *File) Distant() bool { return f.options.Distant }

// Reader gives the bytes of a model file that is no file on a disk; nil: it is one.
func (f *File) Reader() io.ReaderAt {
	if f.options.Companions == nil {
		return nil
	}
	return f.r
}

// Function is a model-local function.
type Function struct {
	Domain, Name    string
	Inputs, Outputs []string
	Attributes      []string
	Defaults        []*Attribute // attributes that a call may leave out
	Opsets          map[string]int64
	Graph           *Graph // the body: Nodes only
}

// Graph is a graph: the main one, an attribute's, or a function's body.
type Graph struct {
	Name         string
	Nodes        []*Node
	Initializers []*Tensor
	Sparse       []*SparseTensor
	Inputs       []*ValueInfo
	Outputs      []*ValueInfo
	ValueInfos   []*ValueInfo
	Parent       *Graph // the graph around a sub-graph; nil for the main graph and functions
	Owner        *Node  // the node whose attribute holds this graph

	frame   *frame
	wiring  Wiring
	passing []bool        // by Node.Index: nodes that are seen through; nil: none is
	order   []*Node       // with copies of an Editor at their place; nil: as Nodes
	places  map[*Node]int // in order
	nested  bool          // a node's attribute holds a graph
}

// Node is one operator call. Inputs are the values that it reads, do-nothing
// nodes between them seen through (Written has the names in the file).
type Node struct {
	Name, Op, Domain string
	Inputs, Outputs  []string
	Attributes       []*Attribute
	Graph            *Graph

	index  int // in Graph.Nodes
	frame  *frame
	inputs []input // where Inputs are
	makes  []int32 // the numbers of Outputs in the graph's wiring, −1 for absent ones
	calls  bool    // it calls a function that is this operator, or joins
	joins  *Node   // the other one of two nodes that are one operator
}

// input is one input of a node: the bytes that name it, and the number of the
// value in the graph's wiring, −1 for an absent one.
type input struct {
	tag, end int64
	value    int32 // do-nothing nodes seen through
	written  int32 // as it stands in the file
}

// Index is the node's place in the list of its graph's nodes, which is an order in which they run.
func (n *Node) Index() int { return n.index }

// Attribute is a node's attribute. Type is AttributeProto's enumeration:
// 1 float, 2 int, 3 string, 4 tensor, 5 graph, 6 floats, 7 ints, 8 strings, …
type Attribute struct {
	Name   string
	Type   int
	I      int64
	F      float32
	S      []byte
	Ints   []int64
	Floats []float32
	Tensor *Tensor
	Graph  *Graph
	Graphs []*Graph
	Strs   [][]byte
	Ref    string // the function attribute that it stands for
	// Long tells that S is a text of megabytes, which was not read.
	Long bool

	file  *File
	frame *frame
}

// Source is the attribute as it is encoded in the file.
func (a *Attribute) Source() patch.Source {
	return patch.Region(a.file.r, a.frame.start, a.frame.end-a.frame.start)
}

// Attribute returns the attribute of that name, nil when absent.
func (n *Node) Attribute(name string) *Attribute {
	for _, a := range n.Attributes {
		if a.Name == name {
			return a
		}
	}
	return nil
}

// Int returns an integer attribute, or otherwise when it is absent.
func (n *Node) Int(name string, otherwise int64) int64 {
	if a := n.Attribute(name); a != nil {
		return a.I
	}
	return otherwise
}

// Ints returns a list attribute, nil when it is absent.
func (n *Node) Ints(name string) []int64 {
	if a := n.Attribute(name); a != nil {
		return a.Ints
	}
	return nil
}

// Float returns a float attribute, or otherwise when it is absent.
func (n *Node) Float(name string, otherwise float64) float64 {
	if a := n.Attribute(name); a != nil {
		return float64(a.F)
	}
	return otherwise
}

// Input returns the name of input i, "" when it is absent.
func (n *Node) Input(i int) string {
	if i < len(n.Inputs) {
		return n.Inputs[i]
	}
	return ""
}

// Written returns the name of input i as it stands in the file: the output of a
// do-nothing node, where Input sees through that.
func (n *Node) Written(i int) string {
	if i < len(n.inputs) {
		return n.Graph.wiring.text(n.inputs[i].written)
	}
	return ""
}

// Passes reports whether the node gives an input back as it is (Identity,
// Dropout outside of training, a product with 1, a Squeeze that undoes an
// Unsqueeze), so that its readers read that input; or is the first of such a
// pair, and nobody else reads it.
func (n *Node) Passes() bool { return n.Graph.passing != nil && n.Graph.passing[n.index] }

// Output returns the name of output i, "" when it is absent.
func (n *Node) Output(i int) string {
	if i < len(n.Outputs) {
		return n.Outputs[i]
	}
	return ""
}

// Range is the bytes that hold the node, its tag included.
func (n *Node) Range() [2]int64 { return [2]int64{n.frame.tag, n.frame.end} }

// ValueInfo is the declared type of a graph input, output or inner value.
type ValueInfo struct {
	Name string
	Type DataType // 0 when it is no tensor
	Dims []Dim
	// Ranked tells a tensor of no dimensions from one of unknown rank.
	Ranked bool

	frame *frame
}

// InputAxis is a dimension of a graph input.
type InputAxis struct {
	Input string
	Axis  int
}

// Dim is one declared dimension: a fixed size, a name, or neither (−1, "").
type Dim struct {
	Value int64 // −1 when not fixed
	Param string

	frame  *frame
	fields []field // those that hold value or name
}

// SparseTensor is a sparse initializer.
type SparseTensor struct {
	Values, Indices *Tensor
	Dims            []int64
}

// Properties are the fields of the model beside graph, functions, operator sets and
// Descriptions, as they stand in the file.
func (f *File) Properties() patch.Source {
	return f.fields(func(number int) bool { return number != operatorSets && !describes(number) })
}

// Descriptions are the fields that say who made the model and what it is for, and that
// no engine computes with: producer, domain, model version, documentation, metadata.
func (f *File) Descriptions() patch.Source { return f.fields(describes) }

// operatorSets is the field opset_import of ModelProto (onnx.proto).
const operatorSets = 8

// describes reports whether a field of ModelProto is producer_name, producer_version,
// domain, model_version, doc_string or metadata_props.
func describes(number int) bool { return number >= 2 && number <= 6 || number == 14 }

func (f *File) fields(wanted func(number int) bool) patch.Source {
	var parts []patch.Source
	for _, r := range f.rest {
		if wanted(int(r.number)) {
			parts = append(parts, patch.Region(f.r, r.tag, r.end-r.tag))
		}
	}
	return patch.Concat(parts...)
}

// Close releases the file and its external data.
func (f *File) Close() error {
	var err error
	for _, e := range f.external {
		if c, ok := e.file.(io.Closer); ok {
			err = c.Close()
		}
	}
	if f.closer != nil {
		err = f.closer.Close()
	}
	return err
}

// Graphs calls visit for the main graph, function bodies and every sub-graph
// inside them, outer graphs before inner ones.
func (f *File) Graphs(visit func(*Graph)) {
	f.Graph.walk(visit)
	for _, fn := range f.Functions {
		fn.Graph.walk(visit)
	}
}

func (g *Graph) walk(visit func(*Graph)) {
	visit(g)
	if !g.nested {
		return
	}
	for _, n := range g.Nodes {
		for _, a := range n.Attributes {
			if a.Graph != nil {
				a.Graph.walk(visit)
			}
			for _, sub := range a.Graphs {
				sub.walk(visit)
			}
		}
	}
}
