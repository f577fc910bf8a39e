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
	// Head is what stands before the content: type and shape of a tensor.
	Head string
	Size int64
	Open func() io.Reader // the content; of Size bytes
}

// Parted is implemented by models whose files can be compared part by part.
type Parted interface {
	// Parts lists every part in file order.
	Parts() ([]Part, error)
}
