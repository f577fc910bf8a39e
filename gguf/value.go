package gguf

import (
	"encoding/binary"
	"math"
	"strconv"
)

// Value is a value to be stored in a key, in the exact type that it has here:
// engines refuse a key of another type (facts/GGUF-FACTS §a).
type Value struct {
	Type ValueType
	bits uint64
	text string
	list []int32
	of   ValueType // of list: i32 or bool
}

// Uint32 is a u32 value.
func Uint32(v uint32) Value { return Value{Type: TypeUint32, bits: uint64(v)} }

// Int32 is an i32 value.
func Int32(v int32) Value { return Value{Type: TypeInt32, bits: uint64(uint32(v))} }

// Float32 is an f32 value.
func Float32(v float32) Value { return Value{Type: TypeFloat32, bits: uint64(math.Float32bits(v))} }

// Bool is a bool value.
func Bool(v bool) Value {
	if v {
		return Value{Type: TypeBool, bits: 1}
	}
	return Value{Type: TypeBool}
}

// String is a string value.
func String(s string) Value { return Value{Type: TypeString, text: s} }

// Int32s is an array of i32.
func Int32s(v ...int32) Value { return Value{Type: TypeArray, of: TypeInt32, list: v} }

// Bools is an array of bool.
func Bools(v ...bool) Value {
	out := Value{Type: TypeArray, of: TypeBool}
	for _, b := range v {
		out.list = append(out.list, int32(Bool(b).bits))
	}
	return out
}

// bytes is the value as stored, its type not included.
func (v Value) bytes(o binary.ByteOrder) []byte {
	switch v.Type {
	case TypeString:
		return append(u64(o, uint64(len(v.text))), v.text...)
	case TypeArray:
		b := append(u32(o, uint32(v.of)), u64(o, uint64(len(v.list)))...)
		for _, n := range v.list {
			b = append(b, Value{Type: v.of, bits: uint64(uint32(n))}.bytes(o)...)
		}
		return b
	}
	switch v.Type.size() {
	case 1:
		return []byte{byte(v.bits)}
	case 4:
		return u32(o, uint32(v.bits))
	}
	return u64(o, v.bits)
}

// String says the value for people.
func (v Value) String() string {
	switch {
	case v.Type == TypeString:
		return v.text
	case v.Type == TypeFloat32:
		return strconv.FormatFloat(float64(math.Float32frombits(uint32(v.bits))), 'g', -1, 32)
	case v.Type == TypeBool:
		return strconv.FormatBool(v.bits != 0)
	case v.Type == TypeInt32:
		return strconv.Itoa(int(int32(v.bits)))
	case v.Type == TypeArray:
		return "[" + strconv.Itoa(len(v.list)) + "]" + v.of.String()
	}
	return strconv.FormatUint(v.bits, 10)
}

// equal reports whether a pair already holds the value.
func (v Value) equal(p *Pair) bool {
	switch {
	case v.Type != p.Type || v.Type == TypeArray:
		return false
	case v.Type == TypeString:
		return p.Count <= shortText && v.text == p.text
	}
	return v.bits == p.bits
}

func u32(o binary.ByteOrder, v uint32) []byte {
	b := make([]byte, 4)
	o.PutUint32(b, v)
	return b
}

func u64(o binary.ByteOrder, v uint64) []byte {
	b := make([]byte, 8)
	o.PutUint64(b, v)
	return b
}

// stored is a string as stored: its length, then its bytes.
func stored(o binary.ByteOrder, s string) []byte { return append(u64(o, uint64(len(s))), s...) }
