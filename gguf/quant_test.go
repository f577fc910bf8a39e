package gguf

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"slices"
	"testing"
)

// quantCases reads testdata/quants.json, which quants.py there describes.
func quantCases(t *testing.T) (cases []quantCase) {
	raw, err := os.ReadFile("testdata/quants.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &cases); err != nil {
		t.Fatal(err)
	}
	return cases
}

type quantCase struct {
	Type                TensorType
	Raw, Values, Source []byte // base64 in the file
}

func singles(raw []byte) []float64 {
	values := make([]float64, len(raw)/4)
	decodeF32(binary.LittleEndian, raw, values)
	return values
}

// Every type's values are those of gguf-py or ggml, bit for bit.
func TestDequantiseAsOthers(t *testing.T) {
	seen := map[TensorType]bool{}
	for _, c := range quantCases(t) {
		seen[c.Type] = true
		if c.Type == Q8_1 {
			continue // nobody reads it: TestQ81
		}
		t.Run(c.Type.String(), func(t *testing.T) {
			want := singles(c.Values)
			got := make([]float64, len(want))
			decoders[c.Type](binary.LittleEndian, c.Raw, got)
			for i := range want {
				if math.Float64bits(got[i]) != math.Float64bits(want[i]) && !(math.IsNaN(got[i]) && math.IsNaN(want[i])) {
					t.Fatalf("value %d: %v, want %v", i, got[i], want[i])
				}
			}
		})
	}
	for number := range tensorTypes {
		typ := TensorType(number)
		if _, known := typ.layout(); known && decoders[typ] == nil {
			t.Errorf("%s is not read", typ)
		} else if l, _ := typ.layout(); known && l.block > 1 && !seen[typ] {
			t.Errorf("%s has no golden blocks", typ)
		}
	}
}

// What is written has the bytes that gguf-py makes of the same values.
func TestQuantiseAsGGUFPy(t *testing.T) {
	seen := map[TensorType]bool{}
	for _, c := range quantCases(t) {
		if c.Source == nil || c.Type == Q8_1 {
			continue
		}
		seen[c.Type] = true
		for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
			t.Run(c.Type.String()+order.String(), func(t *testing.T) {
				row := singles(c.Source)
				got := make([]byte, len(c.Raw))
				if err := EncodeRow(c.Type, order, row, got); err != nil {
					t.Fatal(err)
				}
				if order == binary.LittleEndian && !bytes.Equal(got, c.Raw) {
					t.Fatalf("written as\n%x, not\n%x", got, c.Raw)
				}
				back := make([]float64, len(row))
				decoders[c.Type](order, got, back)
				if !slices.Equal(back, singles(c.Values)) {
					t.Fatalf("read back as %v", back)
				}
			})
		}
	}
	for typ := range encoders {
		if l, _ := typ.layout(); l.block > 1 && !seen[typ] {
			t.Errorf("%s has no golden rows", typ)
		}
	}
}

// Q8_1 is read by no other library: ggml's quantiser made the blocks, and its
// own sum of each block must be the sum of the values read.
func TestQ81(t *testing.T) {
	for _, c := range quantCases(t) {
		if c.Type != Q8_1 {
			continue
		}
		source := singles(c.Values)
		got := make([]float64, len(source))
		decodeQ81(binary.LittleEndian, c.Raw, got)
		for n := 0; n < len(got); n += block {
			raw, sum := c.Raw[n/block*36:], 0.0
			d := half(binary.LittleEndian.Uint16(raw))
			for i := n; i < n+block; i++ {
				sum += got[i]
				if math.Abs(got[i]-source[i]) > 0.51*d {
					t.Fatalf("value %d: %v, made from %v", i, got[i], source[i])
				}
			}
			const halfSum = 2e-3 // the sum is a half-float and uses the scale before rounding
			if want := half(binary.LittleEndian.Uint16(raw[2:])); math.Abs(sum-want) > halfSum*(1+math.Abs(want)) {
				t.Fatalf("block %d sums to %v, stored %v", n/block, sum, want)
			}
		}
	}
}

func TestHalfRoundTrip(t *testing.T) {
	for bits := range 1 << 16 {
		v := half(uint16(bits))
		if math.IsNaN(v) {
			continue
		}
		if got := toHalf(v); int(got) != bits {
			t.Fatalf("%#x is %v is %#x", bits, v, got)
		}
		if bits&0x7FFF < 0x7BFF { // half-way to the next value rounds to even
			next := half(uint16(bits + 1))
			even := uint16(bits + bits&1)
			if got := toHalf((v + next) / 2); got != even {
				t.Fatalf("half-way above %#x rounds to %#x", bits, got)
			}
		}
	}
}

func TestBrainRoundsOnce(t *testing.T) {
	for _, c := range []struct {
		v    float64
		want uint16
	}{
		{1, 0x3F80}, {1 + 1.0/256, 0x3F80}, {1 + 3.0/256, 0x3F82}, // ties to even
		{1 + 1.0/256 + math.Ldexp(1, -40), 0x3F81},  // just above a tie that float32 cannot see
		{1 + 3.0/256 - math.Ldexp(1, -40), 0x3F81},  // just below one
		{-1 - 1.0/256 - math.Ldexp(1, -40), 0xBF81}, // and its mirror
	} {
		if got := toBrain(c.v); got != c.want {
			t.Errorf("%v: %#x, want %#x", c.v, got, c.want)
		}
	}
}

func TestScaleTooLarge(t *testing.T) {
	for _, typ := range []TensorType{Q8_0, Q4_0, Q4_1, Q5_0, Q5_1} {
		if EncodeRow(typ, binary.LittleEndian, []float64{1e30, 31: 0}, make([]byte, 34)) == nil {
			t.Errorf("%s: a scale beyond F16 is stored", typ)
		}
		if EncodeRow(typ, binary.LittleEndian, make([]float64, 33), make([]byte, 68)) == nil {
			t.Errorf("%s: a row of 33 values is stored", typ)
		}
	}
}
