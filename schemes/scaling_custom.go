package schemes

// ScalingCustom is frequencies that no formula explains: Scaling.Frequencies, or what the base's are divided by,
// Scaling.ShortFactor and LongFactor, one list.
const ScalingCustom = "custom"

var typeCustom = ScalingType{Name: ScalingCustom, Title: "Custom frequencies", Source: "a file's own numbers",
	Listed: true, OwnAmplitude: true, NoFurther: followsNoFormula, ggml: func(Rotary, *ggmlSteps) {},
	Frequencies: func(r Rotary, f []float64, _ int) {
		for i, d := range r.Scaling.ShortFactor {
			f[i] /= d
		}
	}}

// Stated is r in parameters that give its frequencies: its own scaling, or where that was only read from its
// frequencies and does not give them, what these are the base's divided by.
func (r Rotary) Stated() Rotary {
	formula := r
	formula.Scaling.Frequencies, formula.Scaling.LongFrequencies = nil, nil
	if r.Scaling.Frequencies == nil || r.Scaling.LongFrequencies != nil || !r.Scaling.IsCustom() && formula.Equal(r) {
		return r
	}
	divisors := r.PlainFrequencies()
	for i, f := range r.InverseFrequencies() {
		divisors[i] /= f
	}
	r.Scaling = Scaling{Type: ScalingCustom, ShortFactor: divisors, LongFactor: divisors}.WithAttentionFactor(r.Amplitude())
	return r
}
