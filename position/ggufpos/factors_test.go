package ggufpos

import (
	"testing"

	"github.com/modelpatch/modelpatch/gguf"
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
	}{{128, 500000, 8, 4, 8192}, {64, 500000, 32, 4, 8192}, {128, 500000, 16, 8, 4096}} {
		want := schemes.Rotary{Base: float64(c.base), Dim: c.dims, Scaling: schemes.Scaling{Type: schemes.ScalingLlama3, Factor: c.factor,
			LowFreqFactor: 1, HighFreqFactor: c.high, OriginalLength: c.length}}
		divisors := make([]float32, c.dims/2)
		plain, f := want.PlainFrequencies(), want.InverseFrequencies()
		for i := range divisors {
			divisors[i] = float32(plain[i] / f[i])
		}
		arch := archOf("llama")
		k := fixture(arch, c.dims)
		put(k, arch, keys{keyBase: gguf.Float32(c.base)})
		got := make1(t, k, map[string][]float32{nameFreqs: divisors}).sites[0].(*rope).scheme.Scaling
		if got.Type != schemes.ScalingLlama3 || got.Factor != c.factor || got.LowFreqFactor != 1 || got.HighFreqFactor != c.high || got.OriginalLength != c.length {
			t.Errorf("read as %v, low %.9g, high %.9g; want %v", got, got.LowFreqFactor, got.HighFreqFactor, want.Scaling)
		}
	}
}
