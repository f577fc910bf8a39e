package schemes

import "slices"

// Programs that compute scalings, some of them otherwise than the others (facts/NUMERICS
// §4: transformers 5.23, llama.cpp 11434, the model builder of ONNX Runtime GenAI 0.18).
const (
	// EngineTransformers rounds the bounds of YaRN's ramp outwards unless truncate is
	// false, and chooses LongRoPE's list by the greatest position.
	EngineTransformers = "transformers"
	// EngineLlamaCpp always rounds the bounds, and chooses LongRoPE's list by the size
	// of the context that was asked for.
	EngineLlamaCpp = "llama.cpp"
	// EngineORTGenAI never rounds the bounds, takes half the head size for the number
	// of pairs, and stops where the ramp does not lie within them.
	EngineORTGenAI = "ort-genai"
)

// Engines are all of them.
var Engines = []string{EngineTransformers, EngineLlamaCpp, EngineORTGenAI}

// Precedent is a model that was published with a scaling.
type Precedent struct {
	Factor float64
	By     string // the model, or the paper
}

// ScalingType is a type of rotary scaling: its words, its parameters and what
// it computes. Each has a file of its own, scaling_NAME.go, which needs nothing of the
// list of them, Scalings (scaling.go).
//
// Functions that are nil say that the type has nothing of its own there. A type
// that has Frequencies alone is complete: the recipes round its frequencies, and
// llama.cpp gets them as divisors in the tensor rope_freqs.
type ScalingType struct {
	Name    string   // the word in reports and for the verbs
	Title   string   // the name in sentences
	Aliases []string // further words that config.json has for it
	Source  string   // paper and equation, or the program that it is from

	// Settable tells that the verb rope may set this type by its parameters.
	Settable bool
	// Extends tells that a factor and an original length are enough for the verb
	// extend to reach another length by this type.
	Extends bool
	// Continues tells that extend goes on with this type where a model has it.
	Continues bool
	// NeedsFactor tells that there is no scaling without a factor.
	NeedsFactor bool
	// Published is a published model with a large factor; a factor of 0: there is none, or it says nothing.
	Published Precedent
	// Parameters are those that it reads beside factor and attention factor.
	Parameters []Parameter
	// Uniform tells that the factor divides every frequency alike: the length that
	// a model has, over the factor, is the one that it was trained with.
	Uniform bool
	// Listed tells that the type is a list of as many numbers as there are pairs:
	// trained or found, given by no formula.
	Listed bool
	// ByLength tells that frequencies depend on the length of the input.
	ByLength bool
	// OwnAmplitude tells that the amplitude which a file states belongs to the
	// scaling, and goes with it; otherwise it stays when another scaling comes.
	OwnAmplitude bool
	// Engines are the programs that compute the type; nil: all of them do.
	Engines []string
	// NoFurther says why the scaling cannot be computed for another length.
	NoFurther string

	// Complete reports whether the parameters are enough to compute frequencies.
	Complete func(Scaling) bool
	// Base is the base that the scaling comes to; nil: the rotation's own.
	Base func(r Rotary, length int) float64
	// Frequencies scales the plain frequencies of the base in place, in float64.
	Frequencies func(r Rotary, f []float64, length int)
	// Float32 does so in the float32 steps of transformers; power are the
	// reciprocals of f before rounding. nil: Frequencies, rounded once.
	Float32 func(r Rotary, f, power []float32, length int)
	// ggml sets the parameters of ggml's rope operator; nil: divisors.
	ggml func(r Rotary, g *ggmlSteps)
	// Amplitude is the factor of cos and sin unless one is stated; nil: 1.
	Amplitude func(Scaling) float64
	// FactorOf is the factor of which the type computes an amplitude, where that alone hangs on
	// it; nil: the frequencies do.
	FactorOf func(amplitude float64, original int) float64
	// MScale is the amplitude of a factor and a weight k that configurations call
	// mscale; nil: the type has none.
	MScale func(factor, k float64) float64
	// Reach is how many positions the scaling was made for; nil: not known.
	Reach func(Scaling) float64
	// Bounds are the rounded numbers through which alone the original length acts
	// on the frequencies of a base; nil: every length gives its own frequencies.
	Bounds func(r Rotary, base float64, length int) [2]float64
	// RampPairs are the pairs, and RampWaves the wavelengths in positions, between which the
	// type goes over from kept to divided frequencies; nil: it does not, or not by these.
	RampPairs, RampWaves func(r Rotary) (from, to float64)
	// Unread says what is lost of a scaling that was read back from numbers and
	// does not give them; asked are the parameters that were given beside. nil:
	// nothing is known to get lost.
	Unread func(read, asked Scaling) Loss
	// Anew is the scaling for another factor, of a rotation that had was.
	// nil: of the parameters alone.
	Anew func(was Scaling, factor, longer float64, original int) (Scaling, error)
}

// Loss says which parameter could not be read back from numbers.
type Loss struct {
	Why  string
	Give string // the one parameter that would do; "": all are needed
	Says string // what is to be known of it
}

// Error is why.
func (l Loss) Error() string { return l.Why }

// Freezes reports whether the type is a base for each length: a file holds that of one.
func (t *ScalingType) Freezes() bool { return t.Base != nil && t.ByLength }

// IsBase reports whether the type is nothing but another base.
func (t *ScalingType) IsBase() bool { return t.Base != nil && !t.ByLength }

// Reads reports whether the type reads a parameter.
func (t *ScalingType) Reads(name string) bool {
	return slices.ContainsFunc(t.Parameters, func(p Parameter) bool { return p.Name == name })
}

// With is the type's scaling with the parameters that it reads, out of those
// given; those not given have the type's defaults, the amplitude included.
func (t *ScalingType) With(given Scaling) Scaling {
	out := Scaling{Type: t.Name, Factor: given.Factor, AttentionFactor: given.AttentionFactor}
	for _, p := range t.Parameters {
		p.Set(&out, orDefault(p.Get(given), p.Default))
	}
	if out.AttentionFactor == 0 && t.Amplitude != nil {
		out.AttentionFactor = t.Amplitude(out)
	}
	return out
}

func orDefault(x, otherwise float64) float64 {
	if x == 0 {
		return otherwise
	}
	return x
}

// factor is Factor with "not known" as 1.
func (s Scaling) factor() float64 { return orDefault(s.Factor, 1) }

// isLong reports whether an input of the given length is beyond the original.
func (s Scaling) isLong(length int) bool { return length > s.OriginalLength }

// always is Complete of types that need nothing.
func always(Scaling) bool { return true }

// fromOriginal is Complete of types that need factor and original length.
func fromOriginal(s Scaling) bool { return s.Factor > 0 && s.OriginalLength > 0 }
