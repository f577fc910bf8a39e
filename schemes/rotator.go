package schemes

import "math"

// Rotator computes cos and sin row by row from frequencies worked out once, in
// the rounding steps of a recipe. Its fields do not change after it is made, so
// it may be used by several goroutines.
type Rotator struct {
	recipe    Recipe
	amplitude float64
	exact     []float64 // frequencies of RecipeExact
	rounded   []float32 // frequencies of RecipePow and RecipeExp
	ggml      ggmlSteps
}

// Rotator prepares rows of this encoding for an input of the given length.
// RecipeExact gives float64 numbers; the others give float32 numbers, bit for
// bit those of the program they name, but for its powf, expf, cosf and sinf,
// which differ from correct rounding now and then (facts/NUMERICS §1).
func (r Rotary) Rotator(recipe Recipe, length int) *Rotator {
	t := &Rotator{recipe: recipe, amplitude: r.Amplitude()}
	switch recipe {
	case RecipePow, RecipeExp:
		t.rounded = r.float32Frequencies(recipe, length)
	case RecipeGGML:
		t.ggml = r.ggmlSteps(length)
	default:
		t.exact = r.InverseFrequenciesAt(length)
	}
	return t
}

// CacheRow is one row of a cos and sin cache made by the given recipe, for an
// input within the original length. The slices have Pairs elements.
func (r Rotary) CacheRow(recipe Recipe, p int, cos, sin []float64) {
	r.Rotator(recipe, 0).Row(float64(p), cos, sin)
}

// Row computes cos and sin of position p, amplitude included.
func (t *Rotator) Row(p float64, cos, sin []float64) {
	switch t.recipe {
	case RecipePow, RecipeExp:
		for i, f := range t.rounded {
			s, c := sinCosf(times(float32(p), f))
			a := float32(t.amplitude)
			cos[i], sin[i] = float64(times(c, a)), float64(times(s, a))
		}
	case RecipeGGML:
		t.ggml.row(float32(p), cos, sin)
	default:
		for i, f := range t.exact {
			s, c := math.Sincos(p * f)
			cos[i], sin[i] = c*t.amplitude, s*t.amplitude
		}
	}
}

// Frequencies are the frequencies that the rows turn by, as the recipe rounds
// them; RecipeGGML has none, for it multiplies its way from pair to pair.
func (t *Rotator) Frequencies() []float64 {
	if t.rounded == nil {
		return t.exact
	}
	f := make([]float64, len(t.rounded))
	for i, x := range t.rounded {
		f[i] = float64(x)
	}
	return f
}

// float32Frequencies takes the steps of transformers' rope initialisers, or
// with RecipeExp starts from expf instead of powf.
func (r Rotary) float32Frequencies(recipe Recipe, length int) []float32 {
	s := r.Scaling
	if given := s.given(length); given != nil {
		return toFloat32(given)
	}
	f := make([]float32, r.Pairs())
	power := make([]float32, len(f)) // base^(2i/dim), of which f is the reciprocal
	base := r.effectiveBase(length)
	for i := range f {
		power[i] = powf(float32(base), float32(float32(2*i)/float32(r.Dim)))
		f[i] = inverse(power[i])
		if recipe == RecipeExp {
			f[i] = expFrequency(base, i, float64(r.Dim)/2)
			power[i] = inverse(f[i])
		}
	}
	switch t := s.Kind(); {
	case t.Float32 != nil:
		t.Float32(r, f, power, length)
	case t.Frequencies != nil:
		return toFloat32(r.InverseFrequenciesAt(length))
	}
	clear(f[s.rotated(len(f)):])
	return f
}

// standStill is the divisor by which GGUF files keep a pair from turning.
const standStill = 1e30

func (r Rotary) ggmlSteps(length int) ggmlSteps {
	if r.Scaling.isFormula() {
		// The operator starts from the parameters, not from frequencies.
		r.Scaling.Frequencies, r.Scaling.LongFrequencies = nil, nil
	}
	s, n := r.Scaling, r.Pairs()
	g := ggmlSteps{
		thetaScale: powf(float32(r.effectiveBase(length)), float32(-2/float32(r.Dim))),
		freqScale:  1,
		amplitude:  float32(r.Amplitude()),
		pairs:      n,
	}
	if t := s.Kind(); t.ggml != nil && s.given(length) == nil {
		t.ggml(r, &g)
	} else {
		g.divisor = r.divisors(length)
	}
	return g
}

// divisors are what rope_freqs.weight holds: plain frequency over wanted one.
func (r Rotary) divisors(length int) []float32 {
	wanted, plain := r.InverseFrequenciesAt(length), r.PlainFrequencies()
	d := make([]float32, len(wanted))
	for i, f := range wanted {
		d[i] = standStill
		if f != 0 {
			d[i] = float32(plain[i] / f)
		}
	}
	return d
}
