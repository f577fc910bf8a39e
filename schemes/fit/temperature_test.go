package fit

import (
	"math"
	"testing"

	"github.com/modelpatch/modelpatch/schemes"
)

// TestTemperature reads temperatures back from their factors in float32, and takes no other numbers for one.
func TestTemperature(t *testing.T) {
	const n = 1 << 16
	for _, want := range []schemes.Temperature{
		{Scale: 0.1, Length: 8192, Offset: 1}, // Llama 4
		{Scale: 0.1, Length: 16384},           // Ministral 3
		{Scale: 0.25, Length: 100},
		{Scale: 1, Length: 2048, Logarithm: true}, // Qwen
	} {
		factors := make([]float64, n)
		for p := range factors {
			factors[p] = float64(float32(want.At(p)))
		}
		got, ok := Temperature(factors)
		if !ok || got.Scale != want.Scale || got.Length != want.Length || got.Offset != want.Offset && !want.Logarithm || got.Logarithm != want.Logarithm {
			t.Errorf("%+v is read as %+v, %v", want, got, ok)
		}
	}
	for name, of := range map[string]func(p int) float64{
		"ones":       func(int) float64 { return 1 },
		"a mask":     func(p int) float64 { return float64(1 - p/40000) },
		"a slope":    func(p int) float64 { return 1 + float64(p)/1000 },
		"a cosine":   func(p int) float64 { return math.Cos(float64(p)) },
		"one step":   func(p int) float64 { return 1 + float64(p/40000) },
		"a root":     func(p int) float64 { return math.Sqrt(1 + float64(p)/4096) },
		"not finite": func(p int) float64 { return math.NaN() },
	} {
		factors := make([]float64, n)
		for p := range factors {
			factors[p] = of(p)
		}
		if got, ok := Temperature(factors); ok {
			t.Errorf("%s is read as %+v", name, got)
		}
	}
	if _, ok := Temperature(nil); ok {
		t.Error("nothing is a temperature")
	}
}
