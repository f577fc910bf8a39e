package schemes

import "math"

// The functions of this file repeat the float32 steps of other programs: each
// is computed in float64 and rounded once, which is what a good powf, expf or
// cosf gives (facts/NUMERICS §1). Products are converted explicitly, because Go
// may otherwise fuse a multiplication with the addition that follows.

// powf is base**e of float32 operands.
func powf(base, e float32) float32 { return float32(math.Pow(float64(base), float64(e))) }

// expf is e**x of a float32 operand.
func expf(x float32) float32 { return float32(math.Exp(float64(x))) }

// inverse is 1/x, PyTorch's reciprocal.
func inverse(x float32) float32 { return float32(1 / x) }

// times is the product of two float32 numbers, rounded.
func times(a, b float32) float32 { return float32(a * b) }

// sinCosf is the sine and cosine of a float32 angle, each rounded.
func sinCosf(angle float32) (sin, cos float32) {
	s, c := math.Sincos(float64(angle))
	return float32(s), float32(c)
}

// expFrequency is the k-th frequency as tensor2tensor, fairseq and Whisper make
// it: expf(k · (−ln base/den)).
func expFrequency(base float64, k int, den float64) float32 {
	return expf(times(float32(k), float32(-(math.Log(base) / den))))
}

// powFrequency is the reciprocal of base**(numerator/denominator), as
// transformers makes a frequency.
func powFrequency(base, numerator, denominator float64) float32 {
	return inverse(powf(float32(base), float32(float32(numerator)/float32(denominator))))
}

func toFloat32(f []float64) []float32 {
	out := make([]float32, len(f))
	for i, x := range f {
		out[i] = float32(x)
	}
	return out
}
