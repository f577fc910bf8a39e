package onnx

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// TestHalfExhaustive converts all 65536 half-precision values there and back.
func TestHalfExhaustive(t *testing.T) {
	for i := range 1 << 16 {
		h := uint16(i)
		v := HalfToFloat(h)
		back := FloatToHalf(v)
		switch {
		case h&0x7c00 == 0x7c00 && h&0x3ff != 0:
			if !math.IsNaN(v) || back&0x7c00 != 0x7c00 || back&0x3ff == 0 {
				t.Fatalf("%#04x: NaN became %v, %#04x", h, v, back)
			}
		case back != h:
			t.Fatalf("%#04x is %v, which is %#04x", h, v, back)
		}
	}
	for h, want := range map[uint16]float64{0: 0, 0x3c00: 1, 0xc000: -2, 0x7bff: 65504, 1: 0x1p-24, 0x0400: 0x1p-14, 0x7c00: math.Inf(1), 0x3555: 0.333251953125} {
		if got := HalfToFloat(h); got != want {
			t.Errorf("%#04x is %v, want %v", h, got, want)
		}
	}
}

// TestHalfRounds rounds the numbers around each boundary between two halves.
func TestHalfRounds(t *testing.T) {
	for h := uint16(0); h < 0x7bff; h++ {
		a, b := HalfToFloat(h), HalfToFloat(h+1)
		middle := a + (b-a)/2
		even := h + h&1
		for _, c := range []struct {
			v    float64
			want uint16
		}{{middle, even}, {math.Nextafter(middle, 0), h}, {math.Nextafter(middle, math.Inf(1)), h + 1}} {
			if got := FloatToHalf(c.v); got != c.want {
				t.Fatalf("%v between %v and %v is %#04x, want %#04x", c.v, a, b, got, c.want)
			}
			if got := FloatToHalf(-c.v); got != c.want|0x8000 {
				t.Fatalf("%v is %#04x, want %#04x", -c.v, got, c.want|0x8000)
			}
		}
	}
	for v, want := range map[float64]uint16{65519.99: 0x7bff, 65520: 0x7c00, 1e300: 0x7c00, 5e-324: 0, math.Inf(-1): 0xfc00} {
		if got := FloatToHalf(v); got != want {
			t.Errorf("%v is %#04x, want %#04x", v, got, want)
		}
	}
}

// brain is the nearest bfloat16 by exact arithmetic.
func brain(v float64) uint16 {
	var f big.Float
	f.SetPrec(8).SetMode(big.ToNearestEven).SetFloat64(v)
	x, _ := f.Float32()
	return uint16(math.Float32bits(x) >> 16)
}

func TestBFloatRounds(t *testing.T) {
	for i := range 1 << 16 {
		h := uint16(i)
		v := float64(math.Float32frombits(uint32(h) << 16))
		if math.IsNaN(v) {
			if got := FloatToBFloat(v); got&0x7f80 != 0x7f80 || got&0x7f == 0 {
				t.Fatalf("%#04x: NaN became %#04x", h, got)
			}
			continue
		}
		if got := FloatToBFloat(v); got != h {
			t.Fatalf("%#04x is %v, which is %#04x", h, v, got)
		}
		next := float64(math.Float32frombits(uint32(h+1) << 16))
		if h&0x7fff >= 0x7f7f || math.IsInf(next, 0) {
			continue
		}
		middle := v + (next-v)/2
		up := math.Nextafter(middle, next)
		down := math.Nextafter(middle, v)
		if got := FloatToBFloat(middle); got != h+h&1 {
			t.Fatalf("%v between %v and %v is %#04x, want the even one", middle, v, next, got)
		}
		// A rounding to float32 first would make these ties.
		if got := FloatToBFloat(up); got != h+1 {
			t.Fatalf("%v is %#04x, want %#04x", up, got, h+1)
		}
		if got := FloatToBFloat(down); got != h {
			t.Fatalf("%v is %#04x, want %#04x", down, got, h)
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 100000 {
		v := math.Ldexp(r.NormFloat64(), r.IntN(200)-100)
		if got, want := FloatToBFloat(v), brain(v); got != want {
			t.Fatalf("%v is %#04x, want %#04x", v, got, want)
		}
	}
}

// TestEncodeOverflow refuses values that a type cannot hold, and only those.
func TestEncodeOverflow(t *testing.T) {
	for _, c := range []struct {
		dtype DataType
		v     float64
		ok    bool
	}{
		{Float16, 65504, true}, {Float16, 65519, true}, {Float16, 65520, false}, {Float16, -1e9, false}, {Float16, math.Inf(1), true},
		{Float, 3.4028234e38, true}, {Float, 3.5e38, false}, {Float, math.Inf(-1), true}, {Float, 1e-60, true},
		{BFloat16, 3.38e38, true}, {BFloat16, 3.4e38, false}, {BFloat16, 1e39, false}, {BFloat16, math.Inf(1), true},
		{Double, math.MaxFloat64, true}, {Int64, 1, false}, {String, 1, false},
	} {
		b, err := EncodeFloats(c.dtype, []float64{0, c.v}, nil)
		if (err == nil) != c.ok {
			t.Errorf("%v as %v: %v, %x", c.v, c.dtype, err, b)
		}
	}
	for _, c := range []struct {
		dtype DataType
		v     int64
		ok    bool
	}{{Int8, 127, true}, {Int8, 128, false}, {Uint8, 255, true}, {Uint8, -1, false}, {Int32, math.MaxInt32, true}, {Int32, math.MaxInt32 + 1, false},
		{Uint32, math.MaxUint32, true}, {Int64, math.MinInt64, true}, {Bool, 1, true}, {Bool, 2, false}, {Float, 1, false}, {Int16, -32769, false}} {
		if _, err := EncodeInts(c.dtype, []int64{c.v}, nil); (err == nil) != c.ok {
			t.Errorf("%v as %v: %v", c.v, c.dtype, err)
		}
	}
}

// TestNotFinite finds the first NaN or infinity of each type.
func TestNotFinite(t *testing.T) {
	for _, dtype := range []DataType{Float, Double, Float16, BFloat16} {
		for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			b, err := EncodeFloats(dtype, []float64{1, -2, 0, 65504, 1e-7, v, v}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := notFinite(dtype, b); got != 5 {
				t.Errorf("%v of %v at %d", v, dtype, got)
			}
		}
	}
	if notFinite(Int32, binary.LittleEndian.AppendUint32(nil, 0x7f800000)) != -1 {
		t.Error("an integer is not finite")
	}
}

// TestNibbles reads parts of numbers of which a byte holds two.
func TestNibbles(t *testing.T) {
	for kind, want := range map[DataType]string{Int4: "[-8 1 -1] [1 -1 7]", Uint4: "[8 1 15] [1 15 7]"} {
		model := NewModel{Opset: 21, Initializers: []NewTensor{{Name: "t", Type: kind, Dims: []int64{5}, Raw: []byte{0x18, 0x7f, 0x02}}}}.Build()
		f, err := NewFile(bytes.NewReader(model), int64(len(model)))
		if err != nil {
			t.Fatal(err)
		}
		c := f.Graph.Initializers[0]
		first, err := c.Ints(0, 3)
		second, err2 := c.Floats(1, 3)
		if got := fmt.Sprint(first, " ", second); got != want || err != nil || err2 != nil {
			t.Errorf("%v: %s, want %s (%v, %v)", kind, got, want, err, err2)
		}
		if x, err := c.Ints(4, 2); err == nil {
			t.Errorf("beyond the end: %v", x)
		}
	}
}
