package gguf

import "fmt"

// ValueType is the type of a key's value.
type ValueType uint32

// The value types of versions 2 and 3.
const (
	TypeUint8 ValueType = iota
	TypeInt8
	TypeUint16
	TypeInt16
	TypeUint32
	TypeInt32
	TypeFloat32
	TypeBool
	TypeString
	TypeArray
	TypeUint64
	TypeInt64
	TypeFloat64
)

var valueTypes = [...]struct {
	name  string
	bytes uint64
}{
	TypeUint8: {"u8", 1}, TypeInt8: {"i8", 1}, TypeUint16: {"u16", 2}, TypeInt16: {"i16", 2},
	TypeUint32: {"u32", 4}, TypeInt32: {"i32", 4}, TypeFloat32: {"f32", 4}, TypeBool: {"bool", 1},
	TypeString: {"string", 0}, TypeArray: {"array", 0},
	TypeUint64: {"u64", 8}, TypeInt64: {"i64", 8}, TypeFloat64: {"f64", 8},
}

// Known reports whether the type is one of the format's.
func (t ValueType) Known() bool { return int64(t) < int64(len(valueTypes)) }

// String is the name that llama.cpp prints.
func (t ValueType) String() string {
	if !t.Known() {
		return fmt.Sprintf("type %d", uint32(t))
	}
	return valueTypes[t].name
}

// size is the number of bytes of a scalar, 0 for strings and arrays.
func (t ValueType) size() uint64 { return valueTypes[t].bytes }

// IsInteger reports whether values of the type are integers.
func (t ValueType) IsInteger() bool {
	switch t {
	case TypeUint8, TypeInt8, TypeUint16, TypeInt16, TypeUint32, TypeInt32, TypeUint64, TypeInt64:
		return true
	}
	return false
}
