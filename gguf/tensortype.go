package gguf

import (
	"fmt"
	"strings"
)

// TensorType is the storage type of a tensor's elements (ggml_type).
type TensorType uint32

// Storage types of llama.cpp build 11434 (facts/GGUF-FACTS §a).
const (
	F32     TensorType = 0
	F16     TensorType = 1
	Q4_0    TensorType = 2
	Q4_1    TensorType = 3
	Q5_0    TensorType = 6
	Q5_1    TensorType = 7
	Q8_0    TensorType = 8
	Q8_1    TensorType = 9
	Q2_K    TensorType = 10
	Q3_K    TensorType = 11
	Q4_K    TensorType = 12
	Q5_K    TensorType = 13
	Q6_K    TensorType = 14
	Q8_K    TensorType = 15
	IQ2_XXS TensorType = 16
	IQ2_XS  TensorType = 17
	IQ3_XXS TensorType = 18
	IQ1_S   TensorType = 19
	IQ4_NL  TensorType = 20
	IQ3_S   TensorType = 21
	IQ2_S   TensorType = 22
	IQ4_XS  TensorType = 23
	I8      TensorType = 24
	I16     TensorType = 25
	I32     TensorType = 26
	I64     TensorType = 27
	F64     TensorType = 28
	IQ1_M   TensorType = 29
	BF16    TensorType = 30
	TQ1_0   TensorType = 34
	TQ2_0   TensorType = 35
	MXFP4   TensorType = 39
	NVFP4   TensorType = 40
	Q1_0    TensorType = 41
	Q2_0    TensorType = 42
)

// layout is how a type packs elements: block elements in bytes bytes.
type layout struct {
	name         string
	block, bytes uint64
}

// tensorTypes lists every type of llama.cpp build 11434 (facts/GGUF-FACTS §a).
// Numbers below its length that are missing were removed from the format.
var tensorTypes = [...]layout{
	0: {"F32", 1, 4}, 1: {"F16", 1, 2}, 2: {"Q4_0", 32, 18}, 3: {"Q4_1", 32, 20},
	6: {"Q5_0", 32, 22}, 7: {"Q5_1", 32, 24}, 8: {"Q8_0", 32, 34}, 9: {"Q8_1", 32, 36},
	10: {"Q2_K", 256, 84}, 11: {"Q3_K", 256, 110}, 12: {"Q4_K", 256, 144}, 13: {"Q5_K", 256, 176},
	14: {"Q6_K", 256, 210}, 15: {"Q8_K", 256, 292}, 16: {"IQ2_XXS", 256, 66}, 17: {"IQ2_XS", 256, 74},
	18: {"IQ3_XXS", 256, 98}, 19: {"IQ1_S", 256, 50}, 20: {"IQ4_NL", 32, 18}, 21: {"IQ3_S", 256, 110},
	22: {"IQ2_S", 256, 82}, 23: {"IQ4_XS", 256, 136}, 24: {"I8", 1, 1}, 25: {"I16", 1, 2},
	26: {"I32", 1, 4}, 27: {"I64", 1, 8}, 28: {"F64", 1, 8}, 29: {"IQ1_M", 256, 56}, 30: {"BF16", 1, 2},
	34: {"TQ1_0", 256, 54}, 35: {"TQ2_0", 256, 66}, 39: {"MXFP4", 32, 17}, 40: {"NVFP4", 64, 36},
	41: {"Q1_0", 128, 18}, 42: {"Q2_0", 64, 18},
}

// layout returns the packing of a type this package knows.
func (t TensorType) layout() (layout, bool) {
	if int64(t) >= int64(len(tensorTypes)) || tensorTypes[t].block == 0 {
		return layout{}, false
	}
	return tensorTypes[t], true
}

// Removed reports whether the format once had the type and dropped it: its
// size is not defined any more, unlike that of a type newer than this table.
func (t TensorType) Removed() bool {
	_, known := t.layout()
	return !known && int64(t) < int64(len(tensorTypes))
}

// String is ggml's name, or the number of a type that is not known.
func (t TensorType) String() string {
	if l, ok := t.layout(); ok {
		return l.name
	}
	return fmt.Sprintf("type %d", uint32(t))
}

// Dtype is the type in the words of the report contract.
func (t TensorType) Dtype() string {
	switch t {
	case F32:
		return "float32"
	case F16:
		return "float16"
	case BF16:
		return "bfloat16"
	case F64:
		return "float64"
	case I8, I16, I32, I64:
		return "int" + t.String()[1:]
	}
	return strings.ToLower(t.String())
}
