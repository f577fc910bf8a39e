package fit

import (
	"math"
	"testing"

	"github.com/modelpatch/modelpatch/schemes"
)

// TestResonance reads back what was rounded, from frequencies and from divisors.
// The wavelengths are written out: round(2π·10000^(2i/8)) by Python.
func TestResonance(t *testing.T) {
	waves := []float64{6, 63, 628, 6283}
	r := schemes.Rotary{Base: 10000, Dim: 8, Scaling: schemes.Scaling{Type: schemes.ScalingResonance}}
	for i, f := range r.InverseFrequencies() {
		if math.Abs(f-2*math.Pi/waves[i]) > 1e-15 {
			t.Errorf("frequency %d is %v, the wavelength %v", i, f, 2*math.Pi/f)
		}
	}
	for _, base := range []float64{10000, 500000, 1e6, 123457} {
		for _, dim := range []int{16, 64, 128} {
			r := schemes.Rotary{Base: base, Dim: dim, Scaling: schemes.Scaling{Type: schemes.ScalingResonance}}
			f, plain := r.InverseFrequencies(), r.PlainFrequencies()
			divisors := make([]float64, len(f))
			for i := range f {
				divisors[i] = float64(float32(plain[i] / f[i]))
				f[i] = float64(float32(f[i]))
			}
			for name, found := range map[string]Result{
				"frequencies": InverseFrequencies(f, Float32, Options{}),
				"divisors":    func() Result { found, _ := Divisors(divisors, base, Options{}); return found }(),
			} {
				if !found.OK || found.Rotary.Scaling.Type != schemes.ScalingResonance || math.Abs(found.Rotary.Base/base-1) > 1e-4 {
					t.Errorf("%s of base %g, %d: %v (%s)", name, base, dim, found.Rotary, found.Why)
				}
			}
			f[1] *= 1.01
			if found := InverseFrequencies(f, Float32, Options{}); found.Rotary.Scaling.Type == schemes.ScalingResonance {
				t.Errorf("base %g, %d: a wavelength that is not whole passes", base, dim)
			}
		}
	}
}
