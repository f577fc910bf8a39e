package fit

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/modelpatch/modelpatch/schemes"
)

// baseWithin is how near a base comes that is no round number.
const baseWithin = 2e-6

// typeOf is the report's word for a golden file's.
func typeOf(word string) string {
	word = strings.TrimPrefix(word, "rope/")
	switch word {
	case "default", "dynamic", "ntk_alpha":
		return schemes.ScalingNone
	case "per-dimension":
		return schemes.ScalingCustom
	}
	return word
}

func scalingType(r schemes.Rotary) string {
	if r.Scaling.Type == "" {
		return schemes.ScalingNone
	}
	return r.Scaling.Type
}

func TestIdentify(t *testing.T) {
	folders := []string{"testdata", "../../../shared/golden"}
	goldenCases(t, folders, "identify.json", func(t *testing.T, g golden) {
		r := InverseFrequencies(g.Values, g.Dtype, Options{})
		t.Logf("%v: %s, residual %.2g, also %v", r.Rotary, r.Why, r.Residual, r.Also)
		if !r.OK {
			t.Fatal(r.Why)
		}
		want := g.Expect
		if want.Scheme == "ambiguous" {
			types := []string{scalingType(r.Rotary)}
			for _, a := range r.Also {
				types = append(types, scalingType(a))
			}
			for _, c := range want.Candidates {
				if !slices.Contains(types, c) {
					t.Errorf("%s is not among %v", c, types)
				}
			}
		} else if got := scalingType(r.Rotary); got != typeOf(want.Scheme) {
			t.Fatalf("%s, want %s", got, want.Scheme)
		}
		base := r.Rotary.Base
		if want.Denominator == "d/2-1" {
			if r.Denominator != schemes.DenominatorHalfMinusOne {
				t.Error("denominator", r.Denominator)
			}
			base = r.BaseUnderDenominator
		}
		if want.Base != nil && off(base, *want.Base) > baseWithin {
			t.Errorf("base %v, want %v", base, *want.Base)
		}
		s := r.Rotary.Scaling
		if want.Factor != nil && off(s.Factor, *want.Factor) > 1e-9 || want.Scheme == "yarn" && want.Factor == nil && s.Factor != 0 {
			t.Errorf("factor %v", s.Factor)
		}
		if want.Low != nil && (off(r.RampLow, *want.Low) > 1e-3 || off(r.RampHigh, *want.High) > 1e-3) {
			t.Errorf("ramp %v to %v, want %v to %v", r.RampLow, r.RampHigh, *want.Low, *want.High)
		}
		if want.Truncate != nil && s.NoTruncate == *want.Truncate {
			t.Error("truncate", !s.NoTruncate)
		}
		if want.Scheme == "llama3" && (s.OriginalLength != 8192 || s.HighFreqFactor != 4 || s.LowFreqFactor != 1) {
			t.Errorf("%+v", s)
		}
		if want.RotatedPairs != 0 && s.Rotated != want.RotatedPairs {
			t.Error("rotated", s.Rotated)
		}
		if (want.Order != "") != r.Axial {
			t.Error("axial", r.Axial)
		}
	})
}

func TestRealModels(t *testing.T) {
	goldenCases(t, []string{"../testdata", "../../../shared/golden"}, "rope_inv_freq.json", func(t *testing.T, g golden) {
		if g.Values == nil || int(g.number("rotary_dim"))%2 == 1 {
			t.Skip("not a whole vector")
		}
		for _, p := range []Precision{Float32, Float16, BFloat16} {
			f := rounded(g.Values, p)
			r := InverseFrequencies(f, p, Options{Amplitude: g.AttentionFactor})
			t.Logf("%s: %v, L %d, %s, residual %.2g, also %v", p, r.Rotary, r.Rotary.Scaling.OriginalLength, r.Why, r.Residual, r.Also)
			if !r.OK {
				t.Fatal(p, r.Why)
			}
			s, want := r.Rotary.Scaling, typeOf(g.Scheme)
			if want == schemes.ScalingLongRoPE && scalingType(r.Rotary) == schemes.ScalingCustom {
				continue
			}
			if got := scalingType(r.Rotary); got != want {
				t.Errorf("%s: %s, want %s", p, got, want)
				continue
			}
			if base := g.number("rope_theta"); typeOf(g.Scheme) != schemes.ScalingNone || g.Scheme == "rope/default" {
				limit := map[Precision]float64{Float32: 0, Float16: 2e-3, BFloat16: 2e-2}[p]
				if off(r.Rotary.Base, base) > limit {
					t.Errorf("%s: base %v, want %v", p, r.Rotary.Base, base)
				}
			}
			if factor := g.number("factor"); factor != 0 && s.Factor != 0 && want != schemes.ScalingNone && want != schemes.ScalingLongRoPE && off(s.Factor, factor) > 1e-2 {
				t.Errorf("%s: factor %v, want %v", p, s.Factor, factor)
			}
			if length := g.number("original_max_position_embeddings"); p == Float32 && length != 0 && s.OriginalLength != 0 && float64(s.OriginalLength) != length {
				t.Errorf("%s: original length %d, want %v", p, s.OriginalLength, length)
			}
		}
	})
}

func rounded(f []float64, p Precision) []float64 {
	out := make([]float64, len(f))
	for i, x := range f {
		out[i] = p.Round(x)
	}
	return out
}

// randomRotary draws an encoding such as people make.
func randomRotary(r *rand.Rand) schemes.Rotary {
	bases := []float64{10000, 500000, 1e6, 5e6, 150000, 25000, 10001, float64(5000 + r.IntN(3000000))}
	dims := []int{32, 48, 64, 80, 96, 128, 192, 256}
	rotary := schemes.Rotary{Base: bases[r.IntN(len(bases))], Dim: dims[r.IntN(len(dims))]}
	factor := []float64{2, 3, 4, 8, 16, 32, 40}[r.IntN(7)]
	length := []int{2048, 4096, 8192, 32768}[r.IntN(4)]
	switch r.IntN(5) {
	case 1:
		rotary.Scaling = schemes.Scaling{Type: schemes.ScalingLinear, Factor: factor}
	case 2:
		rotary.Scaling = schemes.Scaling{Type: schemes.ScalingYaRN, Factor: factor, OriginalLength: length, NoTruncate: r.IntN(3) == 0}
	case 3:
		rotary.Scaling = schemes.Scaling{Type: schemes.ScalingLlama3, Factor: factor, OriginalLength: length, LowFreqFactor: 1, HighFreqFactor: 4}
	case 4:
		rotary.Scaling = schemes.Scaling{Type: schemes.ScalingProportional, Factor: 1, Rotated: rotary.Dim / 8}
	}
	return rotary
}

func TestRandomFrequencies(t *testing.T) {
	const (
		draws    = 3000
		mayMiss  = 0.05 // ramps of one point, or that leave the vector, are undecidable
		formulas = 3e-5 // of all: an answer that explains the numbers and yet is wrong
	)
	r := rand.New(rand.NewPCG(1, 2))
	for _, p := range []Precision{Float32, Float16, BFloat16} {
		missed, unexplained := map[string]int{}, 0
		for range draws {
			want := randomRotary(r)
			f := rounded(want.Rotator(schemes.RecipePow, 0).Frequencies(), p)
			got := InverseFrequencies(f, p, Options{})
			if !got.OK {
				unexplained++
				t.Logf("%s: %v: %s", p, want, got.Why)
				continue
			}
			fits := []string{scalingType(got.Rotary)}
			for _, a := range got.Also {
				fits = append(fits, scalingType(a))
			}
			if !slices.Contains(fits, scalingType(want)) {
				missed[scalingType(want)+" as "+fits[0]]++
				if p == Float32 && missed[scalingType(want)+" as "+fits[0]] < 4 {
					t.Logf("%s: %v is read as %v (%s)", p, want, got.Rotary, got.Why)
				}
			} else if p == Float32 && off(got.Rotary.Base, want.Base) > 1e-5 {
				t.Logf("%s: %v is read as %v (%s)", p, want, got.Rotary, got.Why)
				missed["base"]++
			}
		}
		n := 0
		for _, k := range missed {
			n += k
		}
		t.Logf("%s: %d of %d missed: %v", p, n, draws, missed)
		if unexplained > 0 || float64(n) > mayMiss*draws {
			t.Errorf("%s: too many: %d, %d unexplained", p, n, unexplained)
		}
	}
}

func TestNoFrequencies(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	noise := make([]float64, 32)
	for i := range noise {
		noise[i] = r.Float64()
	}
	rising := []float64{0.1, 0.2, 0.4, 0.8}
	for _, f := range [][]float64{nil, {math.NaN()}, {1, -0.5}, {0, 0}, {100, 10, 1}, noise, rising, {1, math.Inf(1)}} {
		if got := InverseFrequencies(f, Float32, Options{}); got.OK {
			t.Errorf("%v passes as %v", f, got.Rotary)
		}
	}
}

// TestTwoFrequencies: any two numbers are in one ratio, so that a factor is told where it is whole and the base is the usual one.
func TestTwoFrequencies(t *testing.T) {
	for _, c := range []struct {
		f      []float64
		factor float64 // 0: none is told
	}{
		{[]float64{0.25, 0.0025}, 4},
		{[]float64{0.5, 0.005}, 2},
		{[]float64{0.4, 0.004}, 0},
		{[]float64{0.25, 0.003}, 0},
	} {
		got := InverseFrequencies(c.f, Float32, Options{}).Rotary
		if linear := got.Scaling.Type == schemes.ScalingLinear; linear != (c.factor > 0) || linear && (got.Scaling.Factor != c.factor || got.Base != DefaultBase) {
			t.Errorf("%v is read as %s", c.f, got)
		}
	}
}

// FuzzInverseFrequencies holds that no numbers bring the fit down, and that an
// answer has as many frequencies as were given.
func FuzzInverseFrequencies(f *testing.F) {
	add := func(numbers ...float64) {
		var b []byte
		for _, x := range numbers {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
		}
		f.Add(b, uint8(len(numbers)), 1.0)
	}
	add(1, 0.1, 0.01, 0.001, 0, 0)
	add(0, 0, 0, 0)
	add(1, 0.5, 0.25, 0.05, 0.02, 0.01)
	add(0.25, 0.2, 0.1)
	add(1, 1e-300, 5e-324)
	precisions := []Precision{Float32, Float16, BFloat16, Float64, ""}
	f.Fuzz(func(t *testing.T, b []byte, which uint8, amplitude float64) {
		var numbers []float64
		for len(b) >= 8 && len(numbers) < 300 {
			numbers, b = append(numbers, math.Float64frombits(binary.LittleEndian.Uint64(b))), b[8:]
		}
		r := InverseFrequencies(numbers, precisions[int(which)%len(precisions)], Options{Amplitude: amplitude})
		if r.OK && len(r.Rotary.InverseFrequencies()) != len(numbers) {
			t.Errorf("%d frequencies for %d", len(r.Rotary.InverseFrequencies()), len(numbers))
		}
	})
}

// TestLowFrequenciesInHalf: float16 holds the last frequencies of a scaled rotation in a few of its smallest steps. What
// they say, with that error, is enough for the formula, also of few pairs.
func TestLowFrequenciesInHalf(t *testing.T) {
	for _, dim := range []int{16, 32, 64, 128} {
		for _, base := range []float64{1e4, 5e5, 1e6} {
			for _, s := range []schemes.Scaling{{}, {Type: schemes.ScalingLlama3, Factor: 8, OriginalLength: 8192, LowFreqFactor: 1, HighFreqFactor: 4},
				{Type: schemes.ScalingLlama3, Factor: 16, OriginalLength: 8192, LowFreqFactor: 1, HighFreqFactor: 4}, {Type: schemes.ScalingLlama3, Factor: 32, OriginalLength: 8192, LowFreqFactor: 1, HighFreqFactor: 4}} {
				want := schemes.Rotary{Base: base, Dim: dim, Scaling: s}
				if base == 1e4 && s.Type != "" { // Llama 3 has it with large bases
					continue
				}
				f := want.InverseFrequencies()
				for i := range f {
					f[i] = Float16.Round(f[i])
				}
				got := InverseFrequencies(f, Float16, Options{}).Rotary
				if got.Base != base || got.Scaling.Kind() != s.Kind() || got.Scaling.Factor != s.Factor || got.Scaling.OriginalLength != s.OriginalLength {
					t.Errorf("%s is read as %s", want, got)
				}
			}
		}
	}
}

// TestFrequenciesOfEightBits: quantisers store frequencies in 255 steps, of which the slow ones are lost; three that are left tell
// the base, and fewer tell nothing.
func TestFrequenciesOfEightBits(t *testing.T) {
	const step = 1.0 / 255
	stored := func(r schemes.Rotary) []float64 {
		f := r.PlainFrequencies()
		for i := range f {
			f[i] = math.Round(f[i]/step) * step
		}
		return f
	}
	for _, dim := range []int{16, 64, 128} {
		for _, base := range []float64{1e4, 5e5, 1e6} {
			got := InverseFrequencies(stored(schemes.Rotary{Base: base, Dim: dim}), Float32, Options{Step: step}).Rotary
			if got.Base != base || !got.Scaling.IsNone() {
				t.Errorf("base %g, dim %d: %s", base, dim, got)
			}
		}
	}
	if r := InverseFrequencies(stored(schemes.Rotary{Base: 5e5, Dim: 8}), Float32, Options{Step: step}); r.OK {
		t.Errorf("two frequencies tell %s", r.Rotary)
	}
}
