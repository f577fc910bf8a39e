// Package gguf reads and edits GGUF files without loading them: the container
// of llama.cpp and its relatives. It knows keys, tensors and their places, and
// nothing of what they mean.
//
// Open and NewFile read the header in one pass; arrays and long strings stay
// spans, tensors stay in the file until ReadRows asks for rows. File.Edit
// returns an Editor whose Plan is a set of byte-range edits for package patch.
// Split models are one File of several parts.
//
// Nothing that a header claims is believed before the bytes are there: counts,
// lengths and shapes are bounded by the file's size (facts/BAD-INPUTS §1, §4).
package gguf
