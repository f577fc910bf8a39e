package onnx

import (
	"fmt"
	"strconv"
)

// quoted is a name as errors say it: in quotes, and cut when it is long.
func quoted(name string) string {
	const most = 120
	if r := []rune(name[:min(len(name), 4*most)]); len(r) > most {
		name = string(r[:most]) + "…"
	}
	return strconv.Quote(name)
}

// FormatError is the error of bytes that are not an ONNX model.
type FormatError struct {
	Path   string // file, "" when unknown
	Offset int64  // byte offset of what is wrong
	Place  string // place in the structure: "graph.initializer[3].dims"
	What   string
	Hint   string
}

// Error says the file and the place where known, what is wrong, and the byte.
func (e *FormatError) Error() string {
	text := e.What
	if e.Place != "" {
		text = e.Place + ": " + text
	}
	text = fmt.Sprintf("%s (byte %d)", text, e.Offset)
	if e.Path != "" {
		text = e.Path + ": " + text
	}
	return text
}

// Hints returns what the user can do, for printing under the error.
func (e *FormatError) Hints() []string {
	if e.Hint == "" {
		return nil
	}
	return []string{e.Hint}
}

// ExternalError is the error of external data that is absent, refused or
// does not hold what a tensor claims.
type ExternalError struct {
	Path   string // the model
	Tensor string
	What   string
	Hint   string
}

// Error says the model, the tensor and what is wrong with its data.
func (e *ExternalError) Error() string {
	return fmt.Sprintf("%s: tensor %s: external data: %s", e.Path, quoted(e.Tensor), e.What)
}

// Hints returns what the user can do, for printing under the error.
func (e *ExternalError) Hints() []string {
	if e.Hint == "" {
		return nil
	}
	return []string{e.Hint}
}

// UnsupportedError is the error of something that is well formed and that
// this package does not read or write.
type UnsupportedError struct {
	Place string
	What  string
}

// Error says the place and what is not supported there.
func (e *UnsupportedError) Error() string { return e.Place + ": " + e.What }
