package ggufpos

import (
	"math"
	"testing"

	"github.com/modelpatch/modelpatch/gguf"
	"github.com/modelpatch/modelpatch/position/ggufpos/arch"
	"github.com/modelpatch/modelpatch/position/ggufpos/operator"
	"github.com/modelpatch/modelpatch/schemes"
)

// TestLlama3IsReadBack: the numbers that the configuration had, not ones that
// a line through float32 divisors comes near to.
func TestLlama3IsReadBack(t *testing.T) {
	for _, c := range []struct {
		dims         int
		base         float32
		factor, high float64
		length       int
	}{{128, 500000, 8, 4, 8192}, {64, 500000, 32, 4, 8192}, {128, 500000, 32, 4, 8192}, {128, 1e6, 64, 4, 131072}, {128, 500000, 16, 8, 4096}} {
		want := schemes.Rotary{Base: float64(c.base), Dim: c.dims, Scaling: schemes.Scaling{Type: schemes.ScalingLlama3, Factor: c.factor,
			LowFreqFactor: 1, HighFreqFactor: c.high, OriginalLength: c.length}}
		divisors := converted(want)
		entry := arch.Of("llama")
		k := fixture(entry, c.dims)
		put(k, entry, keys{arch.KeyBase: gguf.Float32(c.base)})
		site := make1(t, k, map[string][]float32{operator.FreqsTensor: divisors}).sites[0]
		got := rotation(site).Scaling
		if got.Type != schemes.ScalingLlama3 || got.Factor != c.factor || got.LowFreqFactor != 1 || got.HighFreqFactor != c.high || got.OriginalLength != c.length {
			t.Errorf("read as %v, low %.9g, high %.9g; want %v", got, got.LowFreqFactor, got.HighFreqFactor, want.Scaling)
		}
	}
}

// converted are the divisors as llama.cpp's convert_hf_to_gguf.py makes them,
// every step in float32 (LlamaModel.generate_extra_tensors).
func converted(r schemes.Rotary) []float32 {
	s := r.Scaling
	factor, low, high, length := float32(s.Factor), float32(s.LowFreqFactor), float32(s.HighFreqFactor), float32(s.OriginalLength)
	out := make([]float32, r.Dim/2)
	for i := range out {
		f := 1 / float32(math.Pow(r.Base, float64(float32(2*i)/float32(r.Dim))))
		switch wave := float32(2*math.Pi) / f; {
		case wave < length/high:
			out[i] = 1
		case wave > length/low:
			out[i] = factor
		default:
			smooth := (length/wave - low) / (high - low)
			out[i] = 1 / ((1-smooth)/factor + smooth)
		}
	}
	return out
}
