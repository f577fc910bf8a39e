package gguf

import (
	"fmt"
	"math"
)

// Text returns a string value. Long ones are read from the file, up to
// MaxLoad bytes.
func (p *Part) Text(key string) (string, error) {
	pair := p.Find(key)
	switch {
	case pair == nil:
		return "", &FormatError{Path: p.Path, What: "keys", Why: "missing", At: -1, Key: key}
	case pair.Type != TypeString:
		return "", &FormatError{Path: p.Path, What: "keys", Why: fmt.Sprintf("a %s, not a string", pair.Type), At: pair.TypeAt, Key: key}
	case pair.Count <= shortText:
		return pair.text, nil
	case pair.Count > MaxLoad:
		return "", &FormatError{Path: p.Path, What: "keys", Why: fmt.Sprintf("a string of %d bytes, more than %d", pair.Count, MaxLoad), At: pair.ValueAt, Key: key}
	}
	b, err := p.read(pair.ValueAt+8, int64(pair.Count))
	return string(b), err
}

// String returns a string value, or ok false when it is absent, no string or
// cannot be read.
func (f *File) String(key string) (s string, ok bool) {
	s, err := f.Parts[0].Text(key)
	return s, err == nil
}

// MaxNumbers is the longest numeric array that Numbers loads.
const MaxNumbers = 1 << 20

// Numbers returns an array of numbers or bools as float64, or ok false when
// the key is absent, of another type, longer than MaxNumbers or unreadable.
func (f *File) Numbers(key string) (values []float64, ok bool) {
	p := f.Parts[0]
	pair := p.Find(key)
	if pair == nil || pair.Type != TypeArray || pair.Count > MaxNumbers {
		return nil, false
	}
	size := pair.Elem.size()
	if size == 0 {
		return nil, false
	}
	b, err := p.read(pair.ValueAt+12, int64(size*pair.Count))
	if err != nil {
		return nil, false
	}
	values = make([]float64, pair.Count)
	for i := range values {
		values[i] = p.number(pair.Elem, b[uint64(i)*size:])
	}
	return values, true
}

// number decodes one scalar of a numeric type.
func (p *Part) number(t ValueType, b []byte) float64 {
	one := Pair{Type: t}
	switch t.size() {
	case 1:
		one.bits = uint64(b[0])
	case 2:
		one.bits = uint64(p.Order.Uint16(b))
	case 4:
		one.bits = uint64(p.Order.Uint32(b))
	default:
		one.bits = p.Order.Uint64(b)
	}
	if t == TypeBool {
		return math.Min(float64(one.bits), 1)
	}
	v, _ := one.Float()
	return v
}

// read returns n bytes at an offset that the header has been checked to hold.
func (p *Part) read(at, n int64) ([]byte, error) {
	b := make([]byte, n)
	got, err := p.r.ReadAt(b, at)
	if int64(got) == n {
		return b, nil
	}
	return nil, &FormatError{Path: p.Path, What: "file", Why: fmt.Sprintf("changed while it was read: %v", err), At: at, Err: err}
}
