package gguf

import "math"

// Pair is a key with its value. Scalars and short strings are held; arrays
// and long strings stay in the file.
type Pair struct {
	Key     string
	Type    ValueType
	Elem    ValueType // of an array
	Count   uint64    // elements of an array, bytes of a string
	At      int64     // offset of the pair
	TypeAt  int64     // offset of the value's type
	ValueAt int64     // offset of the value
	End     int64     // offset after the value
	bits    uint64    // a scalar's bits
	text    string    // a short string's bytes
	nested  bool      // an array of arrays
}

// shortText is the longest string value that is held.
const shortText = 1 << 10

// Uint returns a value of any integer type that is not negative.
func (p *Pair) Uint() (uint64, bool) {
	if p == nil || !p.Type.IsInteger() {
		return 0, false
	}
	n := p.signed()
	if n < 0 && p.Type != TypeUint64 {
		return 0, false
	}
	return uint64(n), true
}

// Int returns a value of any integer type that an int64 holds.
func (p *Pair) Int() (int64, bool) {
	if p == nil || !p.Type.IsInteger() {
		return 0, false
	}
	n := p.signed()
	return n, n >= 0 || p.Type != TypeUint64
}

// signed extends an integer's bits to 64.
func (p *Pair) signed() int64 {
	switch p.Type {
	case TypeInt8:
		return int64(int8(p.bits))
	case TypeInt16:
		return int64(int16(p.bits))
	case TypeInt32:
		return int64(int32(p.bits))
	}
	return int64(p.bits)
}

// Float returns a value of any numeric type.
func (p *Pair) Float() (float64, bool) {
	switch {
	case p == nil:
		return 0, false
	case p.Type == TypeFloat32:
		return float64(math.Float32frombits(uint32(p.bits))), true
	case p.Type == TypeFloat64:
		return math.Float64frombits(p.bits), true
	case p.Type == TypeUint64:
		return float64(p.bits), true
	case p.Type.IsInteger():
		return float64(p.signed()), true
	}
	return 0, false
}

// Bool returns a bool value; any byte but 0 is true.
func (p *Pair) Bool() (value, ok bool) {
	if p == nil || p.Type != TypeBool {
		return false, false
	}
	return p.bits != 0, true
}

// ShortText returns a string value of at most 1 KiB; a longer one is read by Part.Text.
func (p *Pair) ShortText() (string, bool) {
	if p == nil || p.Type != TypeString || p.Count > shortText {
		return "", false
	}
	return p.text, true
}
