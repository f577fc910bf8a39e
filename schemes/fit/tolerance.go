package fit

// Every tolerance of this package. Errors of frequencies are relative, those of
// table entries relative to the table's amplitude.
const (
	// frequencyError is what float32 formulas lose of a frequency, whatever it
	// is stored in: powf 2.7e-7, expf 8.5e-7, and a margin (NUMERICS §1).
	frequencyError = 1.2e-6
	// acceptance times its standard error is how far a number may lie from the
	// formula that is to explain it (NUMERICS §8).
	acceptance = 1.6
	// sineError times a table's step is the relative error of a frequency read
	// from its phases, for differences of up to one radian; it shrinks with
	// the phase beyond.
	sineError = 3
	// independentRows is how many rows count as one when errors are averaged.
	independentRows = 6
	// subnormal16 is the spacing of the smallest float16 numbers, halved.
	subnormal16 = 1.0 / (1 << 25)
	// computedSteps is by how many steps of its precision an exponent may be off, relatively, that was computed in it:
	// the logarithm of the base, its product with the pair's number, and the quotient by the width are each rounded once.
	computedSteps = 2
	// lostSteps is how many steps of 8 bits a frequency must have to say anything.
	lostSteps = 4
	// fewTelling is how many frequencies of 8 bits tell a base at the least.
	fewTelling = 3
	// lost16 is the frequency below which a float16 number says nothing: four of the smallest steps.
	lost16 = 8 * subnormal16

	// roundDigits is how many significant digits a number may have to count
	// as one that a person chose.
	roundDigits = 4
	// rounderBy is how many digits fewer a base must have under the
	// denominator d/2−1 to be believed.
	rounderBy = 2

	// angleError is the error per position of a phase that was computed in
	// float32 (exp recipe; ggml loses 2e-6).
	angleError = 2.5e-6
	// entrySteps is how many steps of its precision a table's entry may be off
	// apart from that.
	entrySteps = 4

	// divisorError is how far divisors that are to be one number may differ: they
	// are stored as float32.
	divisorError = 1e-5
	// notTurned is what a divisor is above where its pair does not turn.
	notTurned = 1e20

	// bfloatSlope is the relative error of slopes in bfloat16 (Falcon).
	bfloatSlope = 2e-2
	// farAngleError is the rounding of float32 angles of some hundred radians, which
	// sines of distances are made of.
	farAngleError = 3e-5
	// mostUnclear is the relative error from which on a turn says nothing.
	mostUnclear = 0.3
	// noSine is how far sin² + cos² may be from 1, as a root.
	noSine = 1e-2

	// slopeError is the relative error of ALiBi slopes made in float32: powers
	// of a rounded base (NUMERICS §7).
	slopeError = 2e-6

	// stillFrequency is the frequency below which a pair is meant not to turn:
	// GGUF files divide the angle of such pairs by 1e30.
	stillFrequency = 1e-15
	// greatestFrequency is the largest angle per position that is believed:
	// beyond π positions alias.
	greatestFrequency = 3.2
)

// circleError is how far S²+C² of one pair may lie from the square of the
// amplitude, relatively (NUMERICS §8: 2e-5, 6e-3, 4e-2).
func (p Precision) circleError() float64 {
	switch p {
	case Float16:
		return 6e-3
	case BFloat16, Int8:
		return 4e-2
	}
	return 2e-5
}

// amplitudeError is how far the mean amplitude of a table may lie from a
// formula's, relatively.
func (p Precision) amplitudeError() float64 {
	switch p {
	case Float16:
		return 5e-4
	case BFloat16, Int8:
		return 4e-3
	}
	return 2e-6
}
