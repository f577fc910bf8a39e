package onnx

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
)

// Raw reads the bytes of n elements from element first, little-endian. Types
// below one byte must be read whole.
func (t *Tensor) Raw(first, n int64) ([]byte, error) {
	b, err := t.read(first, n)
	if t.small != nil {
		b = bytes.Clone(b)
	}
	return b, err
}

// read is Raw for those who leave the bytes as they are.
func (t *Tensor) read(first, n int64) ([]byte, error) {
	total := t.Len()
	if first < 0 || n < 0 || first > total || n > total-first {
		return nil, fmt.Errorf("tensor %s: elements %d to %d of %d", quoted(t.Name), first, first+n, total)
	}
	bits := int64(t.Type.Bits())
	if bits < 8 && (first*bits%8 != 0 || bits != 4 && n != total) {
		return nil, &UnsupportedError{Place: fmt.Sprintf("tensor %s", quoted(t.Name)), What: "parts of " + t.Type.String()}
	}
	if at, size := first*bits/8, t.Type.Size(n); !t.isExt && size > 0 && at+size <= int64(len(t.small)) {
		return t.small[at : at+size], nil
	}
	r, _, err := t.reader()
	if err != nil {
		return nil, err
	}
	b := make([]byte, t.Type.Size(n))
	if len(b) == 0 {
		return b, nil
	}
	if got, err := r.ReadAt(b, first*bits/8); got < len(b) {
		return nil, fmt.Errorf("tensor %s: reading: %w", quoted(t.Name), err)
	}
	return b, nil
}

// Floats reads n elements from element first as float64. Integers and truth
// values are converted.
func (t *Tensor) Floats(first, n int64) ([]float64, error) {
	if t.Type.Bits() == 4 && t.Type.IsInteger() {
		whole, err := t.Ints(first, n)
		out := make([]float64, len(whole))
		for i, x := range whole {
			out[i] = float64(x)
		}
		return out, err
	}
	b, err := t.read(first, n)
	if err != nil {
		return nil, err
	}
	out := make([]float64, n)
	if !decodeFloats(t.Type, b, out) {
		return nil, &UnsupportedError{Place: fmt.Sprintf("tensor %s", quoted(t.Name)), What: "elements of type " + t.Type.String() + " are not read as numbers"}
	}
	return out, nil
}

// Ints reads n elements from element first as int64.
func (t *Tensor) Ints(first, n int64) ([]int64, error) {
	if t.Type.Bits() == 4 && t.Type.IsInteger() {
		return t.nibbles(first, n)
	}
	b, err := t.read(first, n)
	if err != nil {
		return nil, err
	}
	out := make([]int64, n)
	if !decodeInts(t.Type, b, out) {
		return nil, &UnsupportedError{Place: fmt.Sprintf("tensor %s", quoted(t.Name)), What: "elements of type " + t.Type.String() + " are not read as integers"}
	}
	return out, nil
}

// nibbles reads whole numbers of which a byte holds two, the first one in its lower half.
func (t *Tensor) nibbles(first, n int64) ([]int64, error) {
	skip := first & 1
	if n < 0 || first > t.Len()-n {
		return nil, fmt.Errorf("tensor %s: elements %d to %d of %d", quoted(t.Name), first, first+n, t.Len())
	}
	b, err := t.read(first-skip, n+skip)
	if err != nil {
		return nil, err
	}
	out := make([]int64, n)
	for i := range out {
		at := i + int(skip)
		x := b[at/2] >> (4 * (at % 2)) & 15
		if out[i] = int64(x); t.Type.IsSigned() {
			out[i] = int64(int8(x<<4) >> 4)
		}
	}
	return out, nil
}

func decodeFloats(t DataType, b []byte, out []float64) bool {
	switch t {
	case Float:
		for i := range out {
			out[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:])))
		}
	case Double:
		for i := range out {
			out[i] = math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
		}
	case Float16:
		for i := range out {
			out[i] = HalfToFloat(binary.LittleEndian.Uint16(b[2*i:]))
		}
	case BFloat16:
		for i := range out {
			out[i] = float64(math.Float32frombits(uint32(binary.LittleEndian.Uint16(b[2*i:])) << 16))
		}
	case Uint64:
		for i := range out {
			out[i] = float64(binary.LittleEndian.Uint64(b[8*i:]))
		}
	default:
		ints := make([]int64, len(out))
		if !decodeInts(t, b, ints) {
			return false
		}
		for i, v := range ints {
			out[i] = float64(v)
		}
	}
	return true
}

func decodeInts(t DataType, b []byte, out []int64) bool {
	for i := range out {
		switch t {
		case Int64, Uint64:
			out[i] = int64(binary.LittleEndian.Uint64(b[8*i:]))
		case Int32:
			out[i] = int64(int32(binary.LittleEndian.Uint32(b[4*i:])))
		case Uint32:
			out[i] = int64(binary.LittleEndian.Uint32(b[4*i:]))
		case Int16:
			out[i] = int64(int16(binary.LittleEndian.Uint16(b[2*i:])))
		case Uint16:
			out[i] = int64(binary.LittleEndian.Uint16(b[2*i:]))
		case Int8:
			out[i] = int64(int8(b[i]))
		case Uint8:
			out[i] = int64(b[i])
		case Bool:
			if b[i] != 0 {
				out[i] = 1
			}
		default:
			return false
		}
	}
	return true
}

// EncodeFloats rounds values once to the storage type, appending to b. It
// reports an error for a value that the type cannot hold: overflow would be
// silent otherwise.
func EncodeFloats(t DataType, values []float64, b []byte) ([]byte, error) {
	for i, v := range values {
		switch t {
		case Float:
			f := float32(v)
			if math.IsInf(float64(f), 0) && !math.IsInf(v, 0) {
				return nil, fmt.Errorf("value %d: %g does not fit float32", i, v)
			}
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(f))
		case Double:
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
		case Float16:
			h := FloatToHalf(v)
			if h&0x7fff == 0x7c00 && !math.IsInf(v, 0) {
				return nil, fmt.Errorf("value %d: %g does not fit float16", i, v)
			}
			b = binary.LittleEndian.AppendUint16(b, h)
		case BFloat16:
			h := FloatToBFloat(v)
			if h&0x7fff == 0x7f80 && !math.IsInf(v, 0) {
				return nil, fmt.Errorf("value %d: %g does not fit bfloat16", i, v)
			}
			b = binary.LittleEndian.AppendUint16(b, h)
		default:
			return nil, &UnsupportedError{Place: "writing", What: "numbers as " + t.String()}
		}
	}
	return b, nil
}

// EncodeInts stores integers in the type, appending to b. Those that do not
// fit are an error. 64-bit types take the bits as they are.
func EncodeInts(t DataType, values []int64, b []byte) ([]byte, error) {
	low, high := intRange(t)
	for i, v := range values {
		if v < low || v > high {
			return nil, fmt.Errorf("value %d: %d does not fit %s", i, v, t)
		}
		switch t {
		case Int64, Uint64:
			b = binary.LittleEndian.AppendUint64(b, uint64(v))
		case Int32, Uint32:
			b = binary.LittleEndian.AppendUint32(b, uint32(v))
		case Int16, Uint16:
			b = binary.LittleEndian.AppendUint16(b, uint16(v))
		case Int8, Uint8, Bool:
			b = append(b, byte(v))
		default:
			return nil, &UnsupportedError{Place: "writing", What: "integers as " + t.String()}
		}
	}
	return b, nil
}

// intRange is the range of an integer type.
func intRange(t DataType) (low, high int64) {
	bits := min(t.Bits(), 64)
	switch t {
	case Bool:
		return 0, 1
	case Uint8, Uint16, Uint32:
		return 0, 1<<bits - 1
	case Int8, Int16, Int32:
		return -1 << (bits - 1), 1<<(bits-1) - 1
	}
	return math.MinInt64, math.MaxInt64
}

// HalfToFloat converts an IEEE 754 binary16 value.
func HalfToFloat(h uint16) float64 {
	sign, exponent, fraction := h>>15, int(h>>10&31), float64(h&1023)
	var v float64
	switch exponent {
	case 0:
		v = math.Ldexp(fraction, -24)
	case 31:
		if fraction != 0 {
			return math.NaN()
		}
		v = math.Inf(1)
	default:
		v = math.Ldexp(1024+fraction, exponent-25)
	}
	if sign != 0 {
		return -v
	}
	return v
}

// FloatToHalf rounds to the nearest binary16 value, ties to even.
func FloatToHalf(v float64) uint16 {
	var sign uint16
	if math.Signbit(v) {
		sign = 0x8000
	}
	a := math.Abs(v)
	switch {
	case math.IsNaN(v):
		return sign | 0x7e00
	case a >= 65520: // half a step above the largest finite value
		return sign | 0x7c00
	case a < 0x1p-14:
		return sign | uint16(math.RoundToEven(a*0x1p24))
	}
	fraction, exponent := math.Frexp(a) // a = fraction · 2^exponent, fraction in [½, 1)
	m := uint16(math.RoundToEven(fraction * 2048))
	if m == 2048 {
		m, exponent = 1024, exponent+1
	}
	return sign | uint16(exponent+14)<<10 | (m - 1024)
}

// FloatToBFloat rounds to the nearest bfloat16 value, ties to even. The value
// goes through float32 to odd, so that it is rounded only once in effect.
func FloatToBFloat(v float64) uint16 {
	if math.IsNaN(v) {
		return 0x7fc0
	}
	f := float32(v)
	u := math.Float32bits(f)
	if float64(f) != v && !math.IsInf(float64(f), 0) { // round to odd
		if (float64(f) > v) == (v > 0) {
			u--
		}
		u |= 1
	}
	u += 0x7fff + u>>16&1
	return uint16(u >> 16)
}

// NotFinite returns the first of the leading limit elements that is NaN or
// infinite, −1 when there is none.
func (t *Tensor) NotFinite(limit int64) (int64, error) {
	const step = 1 << 16
	for at, n := int64(0), min(limit, t.Len()); at < n; at += step {
		b, err := t.Raw(at, min(step, n-at))
		if err != nil {
			return -1, err
		}
		if i := notFinite(t.Type, b); i >= 0 {
			return at + int64(i), nil
		}
	}
	return -1, nil
}

// notFinite finds an element whose exponent bits are all set.
func notFinite(t DataType, b []byte) int {
	width, exponent := t.Bits()/8, uint64(0)
	switch t {
	case Float:
		exponent = 0x7f800000
	case Double:
		exponent = 0x7ff << 52
	case Float16:
		exponent = 0x7c00
	case BFloat16:
		exponent = 0x7f80
	default:
		return -1
	}
	for i := range len(b) / width {
		var v uint64
		switch e := b[i*width:]; width {
		case 2:
			v = uint64(binary.LittleEndian.Uint16(e))
		case 4:
			v = uint64(binary.LittleEndian.Uint32(e))
		case 8:
			v = binary.LittleEndian.Uint64(e)
		}
		if v&exponent == exponent {
			return i
		}
	}
	return -1
}

// scalar is the one element of a constant that stands in the model file.
func (t *Tensor) scalar() (float64, bool) {
	if t == nil || t.isExt {
		return 0, false
	}
	return t.number()
}

// number is the one number of a tensor, wherever it is stored; not ok of nil and of others.
func (t *Tensor) number() (float64, bool) {
	if t == nil || t.Len() != 1 {
		return 0, false
	}
	if t.Type.IsInteger() {
		x, err := t.Ints(0, 1)
		return float64(append(x, 0)[0]), err == nil
	}
	x, err := t.Floats(0, 1)
	return append(x, 0)[0], err == nil
}
