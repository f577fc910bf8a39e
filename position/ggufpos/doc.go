// Package ggufpos finds the places in a GGUF file that encode position, and
// changes them.
//
// Open returns a position.Model. The architecture decides which scheme an
// engine uses and which keys and tensors it reads (archs.json, from llama.cpp
// build 11434); then come the tensors, then the keys. A key that the
// architecture does not read is a finding, never a scheme.
//
// One file is one mechanism: rope.go, learned.go, alibi.go, t5.go, clip.go.
// Architectures that differ in kind and not in data have arch_NAME.go.
package ggufpos
