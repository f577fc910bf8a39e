// Package ggufpos finds the places in a GGUF file that encode position, and
// changes them.
//
// Open returns a position.Model. The architecture decides which scheme an
// engine uses and which keys and tensors it reads (package arch); then come the
// tensors, then the keys. A key that the architecture does not read is a
// finding, never a scheme.
//
// A package below is one noun: arch and hparams are what llama.cpp reads,
// rotary, relative, table and tower are encodings, attention is where they act
// (decision 0010). This package decides which of them a file has (find.go), and
// holds the file as a whole: lengths, parts, findings, edits in place.
// Architectures that differ in kind and not in data have arch_NAME.go here.
package ggufpos
