package report

// SchemaDiff is the schema of Diff.
const SchemaDiff = "modelpatch.diff/1"

// Words for what became of an encoding, a key, a tensor, a node or a declared value.
const (
	DiffAdded      = "added"
	DiffRemoved    = "removed"
	DiffChanged    = "changed"    // encodings, keys, declarations
	DiffResized    = "resized"    // tensors: another shape
	DiffRetyped    = "retyped"    // tensors, keys: another type
	DiffBytes      = "bytes"      // tensors: the same type and shape, other content
	DiffRenamed    = "renamed"    // tensors, nodes: equal under another name
	DiffRewired    = "rewired"    // nodes: other inputs or outputs
	DiffAttributes = "attributes" // nodes: another operator or other attributes
)

// Diff is what diff says about two models.
type Diff struct {
	Schema    string         `json:"schema"`
	A         string         `json:"a"`
	B         string         `json:"b"`
	Same      bool           `json:"same"`    // no part differs
	Summary   string         `json:"summary"` // in a sentence
	Encodings []EncodingDiff `json:"encodings"`
	Keys      []KeyDiff      `json:"keys"`
	Tensors   []TensorDiff   `json:"tensors"`
	Nodes     []NodeDiff     `json:"nodes"`
	// Declared are what a graph states beside its nodes: types of inputs, outputs and values, operator
	// sets, functions, producer and metadata.
	Declared []DeclaredDiff `json:"declared"`
	// Length is there where what the files state or encode differs.
	Length *LengthDiff `json:"length,omitempty"`
	// Identical tells that all files are equal byte for byte, and not just part by part.
	Identical bool `json:"identical"`
	// Parts counts keys, tensors, nodes and declarations of either file, Differ those that differ.
	Parts  int `json:"parts"`
	Differ int `json:"differ"`
	// Written are patch files.
	Written []Written `json:"written,omitempty"`
}

// LengthDiff is how far both models count.
type LengthDiff struct {
	From Length `json:"from"`
	To   Length `json:"to"`
}

// EncodingDiff is what became of an encoding. ID is that of A's; of B's where it is new.
type EncodingDiff struct {
	ID     string    `json:"id"`
	Change string    `json:"change"` // added, removed or changed
	From   *Encoding `json:"from"`
	To     *Encoding `json:"to"`
	// Says are the differences in words.
	Says []string `json:"says"`
}

// KeyDiff is what became of a metadata key. From and To are bool, number or string, nil where
// the key is not there; arrays and long strings are told by type and length.
type KeyDiff struct {
	Key      string `json:"key"`
	From     any    `json:"from"`
	To       any    `json:"to"`
	Change   string `json:"change"` // added, removed, retyped or changed
	FromType string `json:"from_type,omitempty"`
	ToType   string `json:"to_type,omitempty"`
}

// TensorDiff is what became of a tensor. From and To are types and shapes, empty where there
// is none. Bytes counts those that differ, or for other changes those of the greater of both.
type TensorDiff struct {
	Name   string `json:"name"`
	Change string `json:"change"` // added, removed, resized, retyped, bytes or renamed
	From   string `json:"from"`
	To     string `json:"to"`
	Bytes  int64  `json:"bytes"`
	// Count is the number of places with other bytes, At the first 16 of them: [first, end) in
	// the tensor's content.
	Count int        `json:"count,omitempty"`
	At    [][2]int64 `json:"at,omitempty"`
	// Position tells a tensor that belongs to a position encoding, or may hold shapes or a mask.
	Position bool   `json:"position"`
	NewName  string `json:"new_name,omitempty"` // of renamed
}

// NodeDiff is what became of a node. It is named by its first output.
type NodeDiff struct {
	Node    string `json:"node"`
	Change  string `json:"change"` // added, removed, rewired, attributes or renamed
	From    string `json:"from"`
	To      string `json:"to"`
	NewName string `json:"new_name,omitempty"` // of renamed
}

// DeclaredDiff is another thing that a graph states.
type DeclaredDiff struct {
	What   string `json:"what"` // input, output, type, value, description, order, function or attribute
	Name   string `json:"name"`
	Change string `json:"change"` // added, removed or changed
	From   string `json:"from"`
	To     string `json:"to"`
}
