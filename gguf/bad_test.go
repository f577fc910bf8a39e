package gguf

import (
	"bytes"
	"encoding/binary"
	"math"
	"strings"
	"testing"
)

// sample is a file in the making: what a case spoils is a field, what it adds
// is bytes.
type sample struct {
	magic string
	order interface {
		binary.ByteOrder
		binary.AppendByteOrder
	}
	version        uint32
	pairs, tensors uint64 // counts that the header claims
	body           []byte // pairs and tensor infos
	align          int64  // that data is padded to
	data           []byte
}

// newSample is a file without pairs and tensors.
func newSample() *sample {
	return &sample{magic: "GGUF", order: binary.LittleEndian, version: 3, align: 32}
}

func (s *sample) u32(v uint32) *sample { s.body = s.order.AppendUint32(s.body, v); return s }
func (s *sample) u64(v uint64) *sample { s.body = s.order.AppendUint64(s.body, v); return s }

// text adds a string whose length is told as claimed, or as it is with truly.
func (s *sample) text(v string, claimed uint64) *sample {
	if claimed == math.MaxUint64-1 {
		claimed = uint64(len(v))
	}
	s.u64(claimed)
	s.body = append(s.body, v...)
	return s
}

const truly = math.MaxUint64 - 1

// pair adds a key with a value that is already encoded.
func (s *sample) pair(key string, typ uint32, value []byte) *sample {
	s.pairs++
	s.text(key, truly).u32(typ)
	s.body = append(s.body, value...)
	return s
}

func (s *sample) number(key string, v uint32) *sample {
	return s.pair(key, 4, s.order.AppendUint32(nil, v))
}

// array adds an array whose length is claimed.
func (s *sample) array(key string, element uint32, n uint64, data []byte) *sample {
	return s.pair(key, 9, append(s.order.AppendUint64(s.order.AppendUint32(nil, element), n), data...))
}

// tensor adds an info.
func (s *sample) tensor(name string, dims []uint64, typ uint32, offset uint64) *sample {
	s.tensors++
	s.text(name, truly).u32(uint32(len(dims)))
	for _, d := range dims {
		s.u64(d)
	}
	return s.u32(typ).u64(offset)
}

// holding adds n bytes of tensor data.
func (s *sample) holding(n int) *sample { s.data = append(s.data, make([]byte, n)...); return s }

func (s *sample) bytes() []byte {
	b := []byte(s.magic)
	b = s.order.AppendUint32(b, s.version)
	b = s.order.AppendUint64(b, s.tensors)
	b = s.order.AppendUint64(b, s.pairs)
	b = append(b, s.body...)
	if len(s.data) > 0 {
		b = append(b, make([]byte, pad(int64(len(b)), s.align)-int64(len(b)))...)
	}
	return append(b, s.data...)
}

// with is a new sample with some fields spoiled.
func with(edit func(*sample)) func() *sample {
	return func() *sample { s := newSample(); edit(s); return s }
}

// nested is an array of arrays, depth deep.
func nested(depth int) []byte {
	var b []byte
	for range depth {
		b = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint32(b, 9), 1)
	}
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint32(b, 4), 0)
}

// one is the dims of a tensor of eight values, 32 bytes in F32.
var one = []uint64{8}

// bad lists files that must be refused: the rows of facts/BAD-INPUTS §3 A, and
// the files that llama.cpp's test-gguf builds by hand, under the names it uses.
var bad = []struct {
	name  string
	build func() *sample
	want  string // words of the error
}{
	{"A01 HEADER_BAD_MAGIC", with(func(s *sample) { s.magic = "FUGG" }), "not a GGUF file"},
	{"A03 HEADER_BAD_VERSION_0", with(func(s *sample) { s.version = 0 }), "version 0"},
	{"A03 HEADER_BAD_VERSION_1", with(func(s *sample) { s.version = 1 }), "version 1"},
	{"A03 HEADER_BAD_VERSION_FUTURE", with(func(s *sample) { s.version = 4 }), "version 4"},
	{"A05 HEADER_BAD_N_TENSORS", with(func(s *sample) { s.tensors = math.MaxUint64 }), "tensor count"},
	{"A05 a thousand million tensors", with(func(s *sample) { s.tensors = 1e9 }), "tensor count"},
	{"A05 more tensors than bytes", with(func(s *sample) { s.tensors = 1000 }), "truncated: the tensor count"},
	{"A06 HEADER_BAD_N_KV", with(func(s *sample) { s.pairs = math.MaxUint64 }), "key-value pair count"},
	{"A06 2^40 pairs", with(func(s *sample) { s.pairs = 1 << 40 }), "key-value pair count"},
	{"A07 array of 2^63", with(func(s *sample) { s.array("k", 4, 1<<63, nil) }), "array"},
	{"A08 array whose bytes wrap", with(func(s *sample) { s.array("k", 10, 1<<61, nil) }), "array"},
	{"A08 2^28 strings", with(func(s *sample) { s.array("k", 8, 1<<28, nil) }), "truncated"},
	{"A09 KV_BAD_KEY_SIZE", with(func(s *sample) { s.pairs++; s.text("key", math.MaxUint64).u32(4).u32(1) }), "key"},
	{"A09 string of 2^32+1", with(func(s *sample) { s.pairs++; s.text("k", truly).u32(8).text("v", 1<<32+1) }), "string"},
	{"A10 KV_EMPTY_KEY", with(func(s *sample) { s.number("", 1) }), "key"},
	{"A11 KV_DUPLICATE_KEY", with(func(s *sample) { s.number("twice", 1).number("twice", 1) }), "twice"},
	{"A12 KV_BAD_TYPE", with(func(s *sample) { s.pair("k", 13, []byte{1}) }), "type 13"},
	{"A12 array of a bad type", with(func(s *sample) { s.array("k", 13, 1, []byte{1}) }), "type 13"},
	{"A13 arrays 5000 deep", with(func(s *sample) { s.pair("k", 9, nested(5000)) }), "nest"},
	{"A16 key of 65536 bytes", with(func(s *sample) { s.number(strings.Repeat("k", 65536), 1) }), "65536"},
	{"A31 KV_BAD_ALIGN", with(func(s *sample) { s.number("general.alignment", 13) }), "alignment"},
	{"A31 alignment 0", with(func(s *sample) { s.number("general.alignment", 0) }), "alignment"},
	{"A31 alignment 2^21", with(func(s *sample) { s.number("general.alignment", 1<<21) }), "alignment"},
	{"A31 KV_WRONG_TYPE_ALIGN", with(func(s *sample) { s.pair("general.alignment", 5, []byte{32, 0, 0, 0}) }), "alignment"},
	{"A17 TENSORS_BAD_N_DIMS", with(func(s *sample) { s.tensor("t", []uint64{1, 1, 1, 1, 1}, 0, 0) }), "dimensions"},
	{"A17 2^32-1 dimensions", with(func(s *sample) { s.tensors++; s.text("t", truly).u32(math.MaxUint32).u64(1).u64(1) }), "dimensions"},
	{"A18 TENSORS_BAD_SHAPE", with(func(s *sample) { s.tensor("t", []uint64{math.MaxUint64}, 0, 0) }), "larger than any file"},
	{"A18 TENSORS_NE_TOO_BIG", with(func(s *sample) { s.tensor("t", []uint64{4 * math.MaxInt32, 4 * math.MaxInt32}, 0, 0) }), "product of its dimensions overflows"},
	{"A18 TENSORS_NBYTES_TOO_BIG", with(func(s *sample) { s.tensor("t", []uint64{1 << 31, 1 << 31}, 27, 0) }), "size in bytes overflows"},
	{"A18 TENSORS_NBYTES_PAD_WRAP", with(func(s *sample) { s.tensor("t", []uint64{4, 1<<30 - 1, 1<<30 + 1}, 0, 0) }), "size in bytes overflows"},
	{"A18 2^32 by 2^32", with(func(s *sample) { s.tensor("t", []uint64{1 << 32, 1 << 32}, 0, 0) }), "product of its dimensions overflows"},
	{"A20 Q4_0 row of 33", with(func(s *sample) { s.tensor("t", []uint64{33}, 2, 0).holding(64) }), "32"},
	{"A21 type 4", with(func(s *sample) { s.tensor("t", one, 4, 0).holding(32) }), "removed"},
	{"A21 type 38", with(func(s *sample) { s.tensor("t", one, 38, 0).holding(32) }), "removed"},
	{"A22 offset not aligned", with(func(s *sample) { s.tensor("t", one, 0, 16).holding(64) }), "multiple of the alignment"},
	{"A23 TENSORS_BAD_OFFSET", with(func(s *sample) { s.tensor("t", one, 0, math.MaxUint64).holding(32) }), "lies beyond the file"},
	{"A23 offset past the end", with(func(s *sample) { s.tensor("t", one, 0, 64).holding(32) }), "truncated"},
	{"A23 offset and size wrap", with(func(s *sample) { s.tensor("t", one, 0, math.MaxUint64-31).holding(32) }), "lies beyond the file"},
	{"A23 DATA_NOT_ENOUGH_DATA", with(func(s *sample) { s.tensor("t", one, 0, 0).holding(31) }), "needs 32 bytes, the file has 31"},
	{"A23 DATA_MEM_SIZE_OVERFLOW", with(func(s *sample) {
		s.tensor("a", []uint64{0x7FFFFFFFFFFFFFC0}, 24, 0).tensor("b", []uint64{0x7FFFFFFFFFFFFFC0}, 24, 0x7FFFFFFFFFFFFFC0).holding(32)
	}), "overflows"},
	{"A24 overlap", with(func(s *sample) { s.tensor("a", []uint64{16}, 0, 0).tensor("b", one, 0, 32).holding(64) }), "overlap"},
	{"A24 TENSORS_INCONSISTENT_ALIGN", with(func(s *sample) { s.tensor("a", []uint64{1}, 0, 0).tensor("b", one, 0, 4).holding(64) }), "multiple of the alignment"},
	{"A24 TENSORS_BAD_ALIGN", with(func(s *sample) { s.number("general.alignment", 13).tensor("t", one, 0, 0).holding(32) }), "alignment"},
	{"A33 TENSORS_DUPLICATE_NAME", with(func(s *sample) { s.tensor("t", one, 0, 0).tensor("t", one, 0, 32).holding(64) }), "duplicate tensor name t"},
}

func TestBad(t *testing.T) {
	for _, c := range bad {
		t.Run(c.name, func(t *testing.T) {
			b := c.build().bytes()
			_, err := NewFile(bytes.NewReader(b), int64(len(b)))
			if err == nil {
				t.Fatal("it is read")
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Fatalf("%v: does not say %q", err, c.want)
			}
		})
	}
}

// odd lists files that are read; rule is what is noted about them, "" nothing.
// Where llama.cpp's test wants a refusal, why says what speaks for reading.
var odd = []struct {
	name  string
	build func() *sample
	rule  string
	why   string
}{
	{"HEADER_EMPTY, A29, A30", newSample, "", ""},
	{"A02 big-endian", with(func(s *sample) { s.order = binary.BigEndian; s.number("k", 1).tensor("t", one, 0, 0).holding(32) }), "gguf-big-endian", "hosts of that order run it"},
	{"A03 version 2", with(func(s *sample) { s.version = 2; s.number("k", 1) }), "", ""},
	{"KV_SUCCESS", with(func(s *sample) { s.number("k", 1).array("a", 4, 2, make([]byte, 8)) }), "", ""},
	{"A13 nested array", with(func(s *sample) { s.pair("k", 9, nested(2)) }), "gguf-nested-array", "the format allows it; only the value is opaque"},
	{"A14 bool 2", with(func(s *sample) { s.pair("k", 7, []byte{2}) }), "", ""},
	{"A15 strings of any bytes", with(func(s *sample) { s.pairs++; s.text("k\n\x00\xff", truly).u32(8).text("v\xfe", truly) }), "", ""},
	{"A17 scalar", with(func(s *sample) { s.tensor("t", nil, 0, 0).holding(4) }), "", ""},
	{"A19 TENSORS_ZERO_DIM", with(func(s *sample) { s.tensor("t", []uint64{8, 0}, 0, 0).holding(1) }), "", ""},
	{"A21 TENSORS_BAD_TYPE", with(func(s *sample) { s.tensor("t", one, 43, 0).holding(32) }), "gguf-tensor-type-unknown", "new types come often; the bytes are kept untouched"},
	{"A25 gap", with(func(s *sample) { s.tensor("a", one, 0, 0).tensor("b", one, 0, 64).holding(96) }), "gguf-data-gap", "nothing is lost by reading it"},
	{"A26 order", with(func(s *sample) { s.tensor("a", one, 0, 32).tensor("b", one, 0, 0).holding(64) }), "gguf-data-order", "nothing is lost by reading it"},
	{"A27 bytes after the end", with(func(s *sample) { s.tensor("t", one, 0, 0).holding(40) }), "", ""},
	{"A28 no padding at the end", with(func(s *sample) { s.tensor("t", []uint64{1}, 0, 0).holding(4) }), "", ""},
	{"TENSORS_SUCCESS, DATA_SUCCESS", with(func(s *sample) { s.tensor("a", one, 0, 0).tensor("b", one, 0, 32).holding(64) }), "", ""},
	{"TENSORS_CUSTOM_ALIGN, DATA_CUSTOM_ALIGN", with(func(s *sample) {
		s.align = 1
		s.number("general.alignment", 1).tensor("a", []uint64{1}, 0, 0).tensor("b", one, 0, 4).holding(36)
	}), "gguf-alignment-small", ""},
	{"A34 TENSORS_BAD_NAME_SIZE", with(func(s *sample) { s.tensor(strings.Repeat("n", 200), one, 0, 0).holding(32) }), "gguf-tensor-name-long", "image models have such names"},
	{"A35 empty name", with(func(s *sample) { s.tensor("", one, 0, 0).holding(32) }), "gguf-tensor-name-empty", ""},
}

func TestOdd(t *testing.T) {
	for _, c := range odd {
		t.Run(c.name, func(t *testing.T) {
			b := c.build().bytes()
			f, err := NewFile(bytes.NewReader(b), int64(len(b)))
			if err != nil {
				t.Fatal(err)
			}
			var rules []string
			for _, o := range f.Oddities() {
				rules = append(rules, o.Rule)
			}
			if got := strings.Join(rules, " "); got != c.rule {
				t.Errorf("noted: %q, want %q", got, c.rule)
			}
		})
	}
}
