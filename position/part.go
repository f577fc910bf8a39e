package position

import (
	"io"

	"github.com/modelpatch/modelpatch/report"
)

// Part is one named piece of a model file, small enough to say where two files
// differ: a key, a tensor, a node.
type Part struct {
	Kind string // "key", "tensor", "node", "value"
	Name string // unique among parts of its kind
	// Position tells parts that may hold a length or numbers of a position
	// encoding; a difference elsewhere is never a position change.
	Position bool
	Where    report.Where
	// Sites are the encodings (indices into Model.Sites) that the part belongs to.
	Sites []int
	// Dims are the dimensions of a tensor, outermost first.
	Dims []int64
	// Number is the value of a key that is one, nil for other parts.
	Number *float64
	// Value is the value of a key, for people and for JSON: a bool, an int64 or uint64, a
	// report.Number, a string; of arrays and strings beyond 1 KiB, their type and length in words. nil for other parts.
	Value any
	// Graph numbers the graph of a tensor or node: 0 is the main one, others are those inside of nodes
	// and the bodies of functions.
	Graph int
	// Wires lists the names that a node reads and gives; nil for other parts.
	Wires func() (inputs, outputs []string)
	// Declared tells what a graph states of a value's type and Dims, 0 where one is
	// free; it has no content.
	Declared bool
	// Head is what stands before the content: type and shape of a tensor.
	Head string
	Size int64
	Open func() io.Reader // the content; of Size bytes
	// Buffer describes a constant that may follow the length without being
	// the table of an encoding: then only what the length explains may differ.
	Buffer *Buffer
}

// Buffer is a constant of shape entries, limits, positions, or a mask, or of what a
// graph of one length was folded to.
type Buffer struct {
	Dims    []int64
	Width   int  // bytes of an element, little-endian
	Integer bool // elements are whole numbers
	// Float tells floating-point numbers of other kinds than a mask's two: rows of
	// them repeat or go on along a line, or are none that the length explains.
	Float bool
}

// Parted is implemented by models whose files can be compared part by part.
type Parted interface {
	// Parts lists every part in file order.
	Parts() ([]Part, error)
}
