// Package onnxruntime runs ONNX models in ONNX Runtime's own C library, which it loads
// while it runs (without cgo, by purego) and does not bring along. A model that makes
// the library crash ends the process: modelpatch-engine alone imports this.
//
// Source: include/onnxruntime/core/session/onnxruntime_c_api.h of ONNX Runtime.
package onnxruntime

const (
	maxRank   = 64      // of a tensor
	maxOutput = 1 << 30 // bytes of one output
	maxName   = 1 << 16 // bytes of a name
)

// Type is an element type: ONNXTensorElementDataType.
type Type int

// The types that inputs of models have.
const (
	Float32 Type = 1
	Uint8   Type = 2
	Int8    Type = 3
	Uint16  Type = 4
	Int16   Type = 5
	Int32   Type = 6
	Int64   Type = 7
	String  Type = 8
	Bool    Type = 9
	Float16 Type = 10
	Float64 Type = 11
	Uint32  Type = 12
	Uint64  Type = 13
	BFloat  Type = 16
)

// Size is the number of bytes of an element; 0 for types that are not read.
func (t Type) Size() int {
	switch t {
	case Uint8, Int8, Bool:
		return 1
	case Uint16, Int16, Float16, BFloat:
		return 2
	case Float32, Int32, Uint32:
		return 4
	case Int64, Float64, Uint64:
		return 8
	}
	return 0
}

// Input is what a model takes.
type Input struct {
	Name   string
	Type   Type
	Dims   []int64  // −1: not fixed
	Labels []string // of dimensions that are not fixed; "": no name
}

// Tensor is an input or output: little-endian elements.
type Tensor struct {
	Name string
	Type Type
	Dims []int64
	Data []byte
}
