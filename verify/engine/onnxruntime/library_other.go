//go:build !darwin && !linux

package onnxruntime

import "errors"

// errSystem says that this system's libraries are not loaded.
var errSystem = errors.New("no ONNX Runtime: its library is loaded on Linux and macOS only")

// Library is not there.
type Library struct{ Path, Version string }

// Load says so.
func Load() (*Library, error) { return nil, errSystem }

// Session is not there.
type Session struct{ Inputs []Input }

// Open says so.
func (*Library) Open(string, int) (*Session, error) { return nil, errSystem }

// Close does nothing.
func (*Session) Close() {}

// Run says so.
func (*Session) Run([]Tensor) ([]Tensor, error) { return nil, errSystem }
