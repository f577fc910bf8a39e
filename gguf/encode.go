package gguf

import (
	"encoding/binary"
	"fmt"
	"math"
)

// EncodeRow stores one row of values in a storage type: F32, F16, BF16, F64,
// Q8_0, Q4_0, Q4_1, Q5_0 or Q5_1. dst must have the row's bytes. A value that the type cannot hold is an
// error: it would become infinite (facts/BAD-INPUTS C04).
func EncodeRow(t TensorType, order binary.ByteOrder, row []float64, dst []byte) error {
	encode := encoders[t]
	if encode == nil {
		return fmt.Errorf("rows cannot be written in storage type %s", t)
	}
	for i, v := range row {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("value %d of the row is %v", i, v)
		}
	}
	return encode(order, row, dst)
}

// Writable reports whether EncodeRow knows a storage type.
func (t TensorType) Writable() bool { return encoders[t] != nil }

type encoder func(order binary.ByteOrder, row []float64, dst []byte) error

// encoders lists the storage types that EncodeRow knows.
var encoders = map[TensorType]encoder{
	F32: encodeF32, F16: encodeF16, BF16: encodeBF16, F64: encodeF64,
	Q8_0: encodeQ80, Q4_0: encodeQ40, Q4_1: encodeQ41, Q5_0: encodeQ50, Q5_1: encodeQ51,
}

func tooLarge(i int, v float64, t string) error {
	return fmt.Errorf("value %d of the row, %g, is too large for %s", i, v, t)
}

func encodeF32(o binary.ByteOrder, row []float64, dst []byte) error {
	for i, v := range row {
		f := float32(v)
		if math.IsInf(float64(f), 0) {
			return tooLarge(i, v, "F32")
		}
		o.PutUint32(dst[4*i:], math.Float32bits(f))
	}
	return nil
}

func encodeF64(o binary.ByteOrder, row []float64, dst []byte) error {
	for i, v := range row {
		o.PutUint64(dst[8*i:], math.Float64bits(v))
	}
	return nil
}

func encodeF16(o binary.ByteOrder, row []float64, dst []byte) error {
	for i, v := range row {
		h := toHalf(v)
		if h&0x7C00 == 0x7C00 {
			return tooLarge(i, v, "F16")
		}
		o.PutUint16(dst[2*i:], h)
	}
	return nil
}

func encodeBF16(o binary.ByteOrder, row []float64, dst []byte) error {
	for i, v := range row {
		h := toBrain(v)
		if h&0x7F80 == 0x7F80 {
			return tooLarge(i, v, "BF16")
		}
		o.PutUint16(dst[2*i:], h)
	}
	return nil
}
