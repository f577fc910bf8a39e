package schemes

// ScalingDynamic is NTK-aware scaling by the length of the input.
const ScalingDynamic = "dynamic"

// followsNoFormula is why lists of frequencies, and those that a runtime chooses,
// go no further.
const followsNoFormula = "the frequencies follow no formula that could be taken further"

var typeDynamic = ScalingType{Name: ScalingDynamic, Title: "Dynamic NTK scaling", Source: "emozilla 2023; facts/NUMERICS §4",
	Engines: []string{EngineTransformers}, Settable: true, NeedsFactor: true, Parameters: []Parameter{ParameterOriginalLength},
	ByLength: true, OwnAmplitude: true, NoFurther: followsNoFormula, Complete: fromOriginal,
	Base: func(r Rotary, length int) float64 {
		if s := r.Scaling; s.OriginalLength > 0 {
			return DynamicBase(r.Base, s.factor(), r.Dim, s.OriginalLength, length)
		}
		return r.Base
	},
	ggml: func(Rotary, *ggmlSteps) {}}

// DynamicBase is the base of dynamic NTK scaling for an input of the given
// length, of a model made for original positions (facts/NUMERICS §4).
func DynamicBase(base, factor float64, dim, original, length int) float64 {
	m, l := float64(max(length, original)), float64(original)
	return NTKBase(base, factor*m/l-(factor-1), dim)
}
