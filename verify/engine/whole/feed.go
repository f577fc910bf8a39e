package whole

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/modelpatch/modelpatch/verify/engine/onnxruntime"
)

const (
	// vocabulary bounds token ids: a graph does not tell its own in one place.
	vocabulary = 30
	// picture is the edge of an image whose size is free, in pixels.
	picture = 32
	// maxInput bounds one input, in elements.
	maxInput = 1 << 26
)

// feed makes seeded inputs of so many positions, by the sizes that the graph demands, and
// else by their names, types and the labels of their dimensions, as exporters write them;
// caches are empty.
func feed(inputs []onnxruntime.Input, sizes map[string][]int, n int) ([]onnxruntime.Tensor, error) {
	var out []onnxruntime.Tensor
	for _, in := range inputs {
		t := onnxruntime.Tensor{Name: in.Name, Type: in.Type}
		elements := 1
		for axis := range in.Dims {
			d := dimension(in, axis, n)
			if demanded := sizes[in.Name]; axis < len(demanded) && demanded[axis] != 0 {
				d = max(demanded[axis], 0)
			}
			t.Dims = append(t.Dims, int64(d))
			if elements *= d; elements > maxInput {
				return nil, fmt.Errorf("input %s would have more than %d elements", in.Name, maxInput)
			}
		}
		size := in.Type.Size()
		if size == 0 {
			return nil, fmt.Errorf("input %s is of type %d, which is not made", in.Name, in.Type)
		}
		value := values(in, n, t.Dims)
		for i := range elements {
			t.Data = element(t.Data, in.Type, value(i))
		}
		out = append(out, t)
	}
	return out, nil
}

// dimension is the size of a dimension.
func dimension(in onnxruntime.Input, axis, n int) int {
	if d := in.Dims[axis]; d >= 0 {
		return int(min(d, maxInput+1))
	}
	label, name, rank := strings.ToLower(in.Labels[axis]), strings.ToLower(in.Name), len(in.Dims)
	has := func(s string, words ...string) bool {
		for _, w := range words {
			if strings.Contains(s, w) {
				return true
			}
		}
		return false
	}
	cache := has(name, "past", "cache.") && rank >= 3
	switch {
	case axis == 0 || has(label, "batch"):
		if rank == 1 && !has(label, "batch") && !has(name, "seqlens") {
			return n
		}
		return 1
	case cache && (axis == rank-2 || has(label, "past")):
		return 0
	case has(label, "+", "total"):
		return n
	case has(label, "past"):
		return 0
	case has(name, "pixel") && rank >= 4:
		if axis == 1 {
			return 3
		}
		return picture
	case has(label, "seq", "len", "token") || rank <= 3 && axis == 1 || has(name, "mask"):
		return n
	}
	return 1
}

// values says what stands at each place of an input.
func values(in onnxruntime.Input, n int, dims []int64) func(int) float64 {
	name := strings.ToLower(in.Name)
	last := 1
	if len(dims) > 0 {
		last = max(1, int(dims[len(dims)-1]))
	}
	constant := func(x float64) func(int) float64 { return func(int) float64 { return x } }
	whole := in.Type != onnxruntime.Float32 && in.Type != onnxruntime.Float64 && in.Type != onnxruntime.Float16 && in.Type != onnxruntime.BFloat
	r := rand.New(rand.NewPCG(seed, uint64(len(name))))
	switch {
	case strings.Contains(name, "use_cache"):
		return constant(0)
	case in.Type == onnxruntime.Bool:
		return constant(1)
	case strings.Contains(name, "seqlens"):
		return constant(float64(n - 1))
	case strings.Contains(name, "total_seq"):
		return constant(float64(n))
	case strings.Contains(name, "mask") && !whole && len(dims) == 4:
		return constant(0) // it is added
	case strings.Contains(name, "mask"):
		return constant(1)
	case strings.Contains(name, "pad"):
		return constant(0) // it marks what is none
	case whole && strings.Contains(name, "pos") && len(dims) == 2 && last == 1: // of one token, behind those that are cached
		return constant(float64(n - 1))
	case whole && strings.Contains(name, "pos"):
		return func(i int) float64 { return float64(i % last) }
	case whole && (strings.Contains(name, "type") || strings.Contains(name, "segment")):
		return constant(0)
	case whole:
		ids := tokensOf(max(1, elementsOf(dims)), vocabulary)
		return func(i int) float64 { return float64(ids[i]) }
	}
	return func(int) float64 { return r.NormFloat64() }
}

func elementsOf(dims []int64) int {
	n := 1
	for _, d := range dims {
		n *= int(d)
	}
	return n
}

// element appends a number as an element.
func element(data []byte, t onnxruntime.Type, x float64) []byte {
	switch t {
	case onnxruntime.Float32:
		return binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(x)))
	case onnxruntime.Float64:
		return binary.LittleEndian.AppendUint64(data, math.Float64bits(x))
	case onnxruntime.BFloat:
		return binary.LittleEndian.AppendUint16(data, uint16(math.Float32bits(float32(x))>>16))
	case onnxruntime.Float16:
		return binary.LittleEndian.AppendUint16(data, half(float32(x)))
	}
	switch t.Size() {
	case 1:
		return append(data, byte(int64(x)))
	case 2:
		return binary.LittleEndian.AppendUint16(data, uint16(int64(x)))
	case 4:
		return binary.LittleEndian.AppendUint32(data, uint32(int64(x)))
	}
	return binary.LittleEndian.AppendUint64(data, uint64(int64(x)))
}

// half cuts a number down to 16 bits; what is below the normal ones is 0.
func half(x float32) uint16 {
	b := math.Float32bits(x)
	sign, exponent := uint16(b>>16&0x8000), int(b>>23&255)-112
	if exponent <= 0 || exponent > 30 {
		return sign
	}
	return sign | uint16(exponent)<<10 | uint16(b>>13&1023)
}

// floats reads a tensor's numbers; nil where they are integers, or none.
func floats(t onnxruntime.Tensor) []float64 {
	size := t.Type.Size()
	var read func([]byte) float64
	switch t.Type {
	case onnxruntime.Float32:
		read = func(b []byte) float64 { return float64(math.Float32frombits(binary.LittleEndian.Uint32(b))) }
	case onnxruntime.Float64:
		read = func(b []byte) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(b)) }
	case onnxruntime.BFloat:
		read = func(b []byte) float64 {
			return float64(math.Float32frombits(uint32(binary.LittleEndian.Uint16(b)) << 16))
		}
	case onnxruntime.Float16:
		read = func(b []byte) float64 { return widened(binary.LittleEndian.Uint16(b)) }
	default:
		return nil
	}
	out := make([]float64, len(t.Data)/size)
	for i := range out {
		out[i] = read(t.Data[i*size:])
	}
	return out
}

// widened is a number of 16 bits.
func widened(h uint16) float64 {
	sign, exponent, fraction := 1.0, int(h>>10&31), float64(h&1023)
	if h>>15 == 1 {
		sign = -1
	}
	switch {
	case exponent == 31 && fraction > 0:
		return math.NaN()
	case exponent == 31:
		return math.Inf(int(sign))
	case exponent == 0:
		return sign * math.Ldexp(fraction, -24)
	}
	return sign * math.Ldexp(1024+fraction, exponent-25)
}

// fixedLength is the number of positions that a graph fixes for its tokens; 0: none.
func fixedLength(inputs []onnxruntime.Input) int {
	for _, in := range inputs {
		ids := in.Type == onnxruntime.Int64 || in.Type == onnxruntime.Int32
		if k := len(in.Dims); ids && (k == 1 || k == 2) && in.Dims[k-1] > 1 { // a list, or one for each sequence
			return int(in.Dims[k-1])
		}
	}
	return 0
}
