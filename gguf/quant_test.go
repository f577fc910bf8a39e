package gguf

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"testing"
)

// quantTolerance allows for gguf-py's float32 arithmetic; ours is float64.
const quantTolerance = 2e-6

func TestDequantiseAsGGUFPy(t *testing.T) {
	raw, err := os.ReadFile("testdata/quants.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Type   TensorType
		Raw    string
		Values []float64
	}
	if err := json.Unmarshal(raw, &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.Type.String(), func(t *testing.T) {
			blocks, _ := base64.StdEncoding.DecodeString(c.Raw)
			got := make([]float64, len(c.Values))
			decoders[c.Type](binary.LittleEndian, blocks, got)
			for i, want := range c.Values {
				if math.Abs(got[i]-want) > quantTolerance*(1+math.Abs(want)) {
					t.Fatalf("value %d: %v, want %v", i, got[i], want)
				}
			}
			if c.Type == F16 || c.Type == BF16 { // reading and writing are inverse
				back := make([]byte, len(blocks))
				if err := EncodeRow(c.Type, binary.LittleEndian, got, back); err != nil || string(back) != string(blocks) {
					t.Fatalf("written back differently: %v", err)
				}
			}
		})
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

func TestQ80HoldsItsOwnValues(t *testing.T) {
	row := make([]float64, 64)
	for i := range row {
		row[i] = math.Sin(float64(i)) * float64(i)
	}
	raw, back := make([]byte, 68), make([]float64, 64)
	if err := EncodeRow(Q8_0, binary.LittleEndian, row, raw); err != nil {
		t.Fatal(err)
	}
	decodeQ80(binary.LittleEndian, raw, back)
	for i := range row {
		if math.Abs(row[i]-back[i]) > 64.0/127*0.51 {
			t.Fatalf("value %d: %v became %v", i, row[i], back[i])
		}
	}
	if EncodeRow(Q8_0, binary.LittleEndian, []float64{1e30, 31: 0}, make([]byte, 34)) == nil {
		t.Error("a scale beyond F16 is stored")
	}
}
