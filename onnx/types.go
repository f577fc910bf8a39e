package onnx

// DataType is the element type of a tensor (TensorProto.DataType).
type DataType int32

// Element types, by the numbers of the format.
const (
	Undefined  DataType = 0
	Float      DataType = 1
	Uint8      DataType = 2
	Int8       DataType = 3
	Uint16     DataType = 4
	Int16      DataType = 5
	Int32      DataType = 6
	Int64      DataType = 7
	String     DataType = 8
	Bool       DataType = 9
	Float16    DataType = 10
	Double     DataType = 11
	Uint32     DataType = 12
	Uint64     DataType = 13
	Complex64  DataType = 14
	Complex128 DataType = 15
	BFloat16   DataType = 16
	Uint4      DataType = 21
	Int4       DataType = 22
)

type typeInfo struct {
	name string
	bits int // per element; 0: no fixed size or unknown
}

// typeInfos is the table of element types, small ones included: packed
// 4-bit and 2-bit types share bytes.
var typeInfos = [...]typeInfo{
	Float: {"float32", 32}, Uint8: {"uint8", 8}, Int8: {"int8", 8}, Uint16: {"uint16", 16}, Int16: {"int16", 16},
	Int32: {"int32", 32}, Int64: {"int64", 64}, String: {"string", 0}, Bool: {"bool", 8}, Float16: {"float16", 16},
	Double: {"float64", 64}, Uint32: {"uint32", 32}, Uint64: {"uint64", 64}, Complex64: {"complex64", 64},
	Complex128: {"complex128", 128}, BFloat16: {"bfloat16", 16}, Uint4: {"uint4", 4}, Int4: {"int4", 4}, 17: {"float8e4m3fn", 8}, 18: {"float8e4m3fnuz", 8},
	19: {"float8e5m2", 8}, 20: {"float8e5m2fnuz", 8}, 23: {"float4e2m1", 4},
	24: {"float8e8m0", 8}, 25: {"uint2", 2}, 26: {"int2", 2},
}

// String is the report's word for the type ("float32", "bfloat16", …).
func (t DataType) String() string {
	if t.Known() {
		return typeInfos[t].name
	}
	return "unknown"
}

// Known reports whether the type is one that this package has heard of.
func (t DataType) Known() bool {
	return t > Undefined && int(t) < len(typeInfos) && typeInfos[t].name != ""
}

// Bits is the number of bits of one element, 0 for strings and unknown types.
func (t DataType) Bits() int {
	if t.Known() {
		return typeInfos[t].bits
	}
	return 0
}

// Size is the number of bytes of n elements, −1 when the type has no fixed size.
func (t DataType) Size(n int64) int64 {
	bits := int64(t.Bits())
	if bits == 0 {
		return -1
	}
	if bits >= 8 {
		return n * (bits / 8)
	}
	perByte := 8 / bits
	return (n + perByte - 1) / perByte
}

// IsFloat reports whether elements are floating-point numbers.
func (t DataType) IsFloat() bool {
	return t == Float || t == Float16 || t == BFloat16 || t == Double
}

// IsInteger reports whether elements are whole numbers or truth values.
func (t DataType) IsInteger() bool {
	switch t {
	case Uint8, Int8, Uint16, Int16, Int32, Int64, Uint32, Uint64, Bool, Uint4, Int4:
		return true
	}
	return false
}

// IsSigned reports whether elements are whole numbers that may be negative.
func (t DataType) IsSigned() bool {
	switch t {
	case Int4, Int8, Int16, Int32, Int64:
		return true
	}
	return false
}
