// Package onnx reads and edits ONNX model files without loading them: an index
// over the wire format with weights left on disk, and an Editor that turns
// changes into byte-range edits of the original.
//
// Open (or NewFile over any io.ReaderAt) gives a File; File.Graph is the main
// graph with nodes, initializers and sub-graphs. Tensor values are read when
// asked for. The package knows nothing of positions, and it does not run
// models: package onnx/eval evaluates shapes and integers.
package onnx
