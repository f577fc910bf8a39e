package onnx

import (
	"fmt"
	"io"
	"math/bits"
	"path"

	"google.golang.org/protobuf/encoding/protowire"
)

// Tensor is a constant of the model: an initializer or an attribute's value.
// Its elements stay in the file until they are asked for.
type Tensor struct {
	Name string
	Type DataType
	Dims []int64

	file     *File
	frame    *frame
	raw      *field           // raw_data, the last one counts
	small    []byte           // its bytes where they are few, or nil
	typed    []field          // float_data, int32_data, int64_data, …
	dims     []field          // the fields that hold the dimensions
	decoded  []byte           // typed data as raw data, once they were asked for
	external map[string]field // key → its entry in external_data
	entries  map[string]string
	isExt    bool
	segment  bool
}

// maxDecoded bounds the typed data of a tensor that are kept as raw data: they must be
// decoded from the first element on for any part of them.
const maxDecoded = 1 << 25

// maxExternalEntries bounds the keys of one tensor's external data.
const maxExternalEntries = 64

func (p *parser) tensor(t *Tensor, fr *frame, list string, index int) error {
	t.frame = fr
	err := p.eachOf(fr, list, index, func(f field) (err error) {
		switch {
		case f.number == 1 && (f.kind == protowire.VarintType || f.kind == protowire.BytesType):
			if err = p.reserve(f, weightEntry); err != nil {
				return err
			}
			t.dims = append(t.dims, f)
			err = p.varints(f, &t.Dims)
		case isVarint(f, 2):
			t.Type = DataType(int32(f.value))
		case f.number == 3:
			t.segment = true
		case f.number >= 4 && f.number <= 7, f.number == 10, f.number == 11:
			if err = p.reserve(f, weightEntry); err != nil {
				return err
			}
			t.typed = append(t.typed, f)
		case isMessage(f, 8):
			t.Name, err = p.text(f)
		case isMessage(f, 9):
			t.raw = p.fields.One()
			*t.raw = f
			t.small, err = p.small(f)
		case isMessage(f, 13):
			err = p.externalEntry(t, p.sub(fr, f), f)
		case isVarint(f, 14):
			t.isExt = f.value == 1
		}
		return err
	})
	if err != nil {
		return err
	}
	if err = p.checkTensor(t); err != nil {
		return placed(err, placeOf(list, index))
	}
	return nil
}

// smallContent bounds raw data that is kept where it is read: the constants of
// shapes and indices, which nearly every question needs.
const smallContent = 64

// small is a copy of raw data that is small and has been read already, else
// nil.
func (p *parser) small(f field) ([]byte, error) {
	if f.end-f.start > smallContent || !p.has(f.start, f.end) {
		return nil, nil
	}
	b, err := p.content(f, smallContent)
	return p.contents.Copy(b), err
}

func (p *parser) externalEntry(t *Tensor, fr *frame, f field) error {
	var key, value string
	err := p.each(fr, "external_data", func(f field) (err error) {
		switch {
		case isMessage(f, 1):
			key, err = p.text(f)
		case isMessage(f, 2):
			value, err = p.text(f)
		}
		return err
	})
	if err != nil {
		return err
	}
	if t.external == nil {
		t.external, t.entries = map[string]field{}, map[string]string{}
	}
	if _, twice := t.external[key]; twice {
		return &FormatError{Offset: f.tag, Place: "external_data", What: fmt.Sprintf("key %s occurs twice", quoted(key))}
	}
	if len(t.external) == maxExternalEntries {
		return &FormatError{Offset: f.tag, Place: "external_data", What: fmt.Sprintf("more than %d keys", maxExternalEntries)}
	}
	t.external[key], t.entries[key] = f, value
	return nil
}

// checkTensor holds a tensor's claims against each other: dimensions, type
// and the bytes that are there.
func (p *parser) checkTensor(t *Tensor) error {
	bad := func(what string, args ...any) error {
		return &FormatError{Offset: t.frame.start, What: fmt.Sprintf("tensor %s: ", quoted(t.Name)) + fmt.Sprintf(what, args...)}
	}
	if t.Type == Undefined {
		return bad("no data type")
	}
	n, ok := t.elements()
	if !ok {
		return bad("dimensions %v are negative or their product does not fit", t.Dims)
	}
	if t.raw != nil && len(t.typed) > 0 {
		p.repeat(t, RepeatData, fmt.Sprintf("tensor %s has raw and typed data", quoted(t.Name)))
	}
	if t.raw == nil || t.isExt || !t.Type.Known() {
		return nil
	}
	if want := t.Type.Size(n); want >= 0 && want != t.raw.end-t.raw.start {
		return bad("%d bytes of raw data, and %v of %s need %d", t.raw.end-t.raw.start, t.Dims, t.Type, want)
	}
	return nil
}

// elements multiplies the dimensions; false when one is negative or the
// product in bytes could overflow.
func (t *Tensor) elements() (int64, bool) {
	n := uint64(1)
	for _, d := range t.Dims {
		if d < 0 {
			return 0, false
		}
		hi, lo := bits.Mul64(n, uint64(d))
		if hi != 0 || lo > 1<<58 {
			return 0, false
		}
		n = lo
	}
	return int64(n), true
}

// Len is the number of elements.
func (t *Tensor) Len() int64 { n, _ := t.elements(); return n }

// External reports whether the elements lie in another file.
func (t *Tensor) External() bool { return t.isExt }

// Editable says why the tensor cannot be replaced, "" when it can.
func (t *Tensor) Editable() string {
	switch {
	case t.raw != nil && len(t.typed) > 0:
		return "it has raw and typed data, and readers differ in which one counts"
	case t.segment:
		return "it is a segment of a larger tensor"
	case t.Type == String:
		return "it holds strings"
	case !t.Type.Known():
		return "its element type is unknown"
	}
	return ""
}

// Range is the bytes in the model file that hold the tensor's elements, or
// the whole tensor where they are not in one piece.
func (t *Tensor) Range() [2]int64 {
	if t.raw != nil {
		return [2]int64{t.raw.start, t.raw.end}
	}
	if t.isExt {
		if at, n, err := t.file.externalRange(t); err == nil {
			return [2]int64{at, at + n}
		}
	}
	return [2]int64{t.frame.start, t.frame.end}
}

// DataFile is the name of the external file that holds the elements, "" when
// they are in the model file. Different spellings of one path are one file.
func (t *Tensor) DataFile() string {
	if name := t.entries["location"]; t.isExt && name != "" {
		return path.Clean(name)
	}
	return ""
}

// reader returns the elements as the bytes of raw_data, little-endian.
func (t *Tensor) reader() (io.ReaderAt, int64, error) {
	n := t.Len()
	size := t.Type.Size(n)
	if size < 0 {
		return nil, 0, &UnsupportedError{Place: fmt.Sprintf("tensor %s", quoted(t.Name)), What: "elements of type " + t.Type.String() + " have no fixed size"}
	}
	switch {
	case t.isExt:
		return t.file.openExternal(t, size)
	case t.raw != nil:
		return io.NewSectionReader(t.file.r, t.raw.start, size), size, nil
	}
	if t.decoded == nil {
		b, err := t.typedBytes(size)
		if err != nil {
			return nil, 0, err
		}
		if size > maxDecoded {
			return bytesAt(b), size, nil
		}
		t.decoded = b
	}
	return bytesAt(t.decoded), size, nil
}

// bytesAt is an io.ReaderAt over bytes in memory.
type bytesAt []byte

// ReadAt reads from the bytes at an offset; io.EOF beyond them.
func (b bytesAt) ReadAt(p []byte, at int64) (int, error) {
	if at < 0 || at >= int64(len(b)) {
		return 0, io.EOF
	}
	n := copy(p, b[at:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// typedField is the number of the field that holds elements of a type where
// they are not raw: float_data, int32_data and so on.
func typedField(t DataType) protowire.Number {
	switch t {
	case Float, Complex64:
		return 4
	case String:
		return 6
	case Int64:
		return 7
	case Double, Complex128:
		return 10
	case Uint32, Uint64:
		return 11
	}
	return 5
}

// Complete is an error where the file holds fewer elements than the dimensions
// claim. It does not look into external data.
func (t *Tensor) Complete() error {
	if t.isExt || t.raw != nil && t.Type.Known() { // raw data were held against the claim when they were met
		return nil
	}
	var claimed int64
	for _, f := range t.typed {
		claimed += f.end - f.start
	}
	// Every element takes a byte or more in the file, packed small types and
	// complex numbers (two a element) included.
	if t.Len() > 2*claimed+1 {
		return &FormatError{Path: t.file.Path, Offset: t.frame.start, What: fmt.Sprintf("tensor %s: dimensions %v want %d elements and there are fewer", quoted(t.Name), t.Dims, t.Len())}
	}
	return nil
}

// typedBytes turns float_data, int64_data and their like into raw bytes.
func (t *Tensor) typedBytes(size int64) ([]byte, error) {
	for _, f := range t.typed {
		if f.number != typedField(t.Type) {
			return nil, &FormatError{Path: t.file.Path, Offset: f.tag, What: fmt.Sprintf("tensor %s: its elements are %s, and stand in field %d, which is for others", quoted(t.Name), t.Type, f.number)}
		}
	}
	if err := t.Complete(); err != nil {
		return nil, err
	}
	c := newCursor(t.file.r, t.file.Size)
	width := max(t.Type.Bits()/8, 1)
	out := make([]byte, 0, size)
	put := func(v uint64, bytes int) {
		for i := 0; i < bytes; i++ {
			out = append(out, byte(v>>(8*i)))
		}
	}
	one := func(f field, at int64) (int64, error) {
		step := 0
		switch f.number {
		case 4:
			step = 4
		case 10:
			step = 8
		default:
			v, next, err := c.uvarint(at, f.end)
			put(v, width)
			return next, err
		}
		b, err := c.at(at, int(min(int64(step), f.end-at)))
		if err == nil && len(b) < step {
			err = &FormatError{Path: t.file.Path, Offset: at, What: "typed data is cut off"}
		}
		out = append(out, b...)
		return at + int64(step), err
	}
	for _, f := range t.typed {
		if f.kind == protowire.StartGroupType {
			continue // an unknown field
		}
		if f.kind != protowire.BytesType {
			if _, err := one(f, f.start); err != nil {
				return nil, err
			}
			continue
		}
		for at := f.start; at < f.end; {
			next, err := one(f, at)
			if err != nil {
				return nil, err
			}
			at = next
		}
	}
	if int64(len(out)) != size {
		return nil, &FormatError{Path: t.file.Path, Offset: t.frame.start, What: fmt.Sprintf("tensor %s: %d bytes of typed data, and %v of %s need %d", quoted(t.Name), len(out), t.Dims, t.Type, size)}
	}
	return out, nil
}
