package schemes

import (
	"fmt"
	"math"
	"slices"
)

// DefaultMaxBias is the exponent of ALiBi's last slope in the paper.
const DefaultMaxBias = 8

// ALiBiSlopes are the slopes of Press et al. 2022 for any number of heads: with
// N the greatest power of two ≤ heads, 2^(−maxBias·k/N) for k = 1 … N, then
// every other slope of 2N heads for the rest (facts/NUMERICS §7).
func ALiBiSlopes(heads int, maxBias float64) []float64 {
	slopes := make([]float64, 0, max(heads, 0))
	n := 1
	for 2*n <= heads {
		n *= 2
	}
	for k := 1; k <= n && len(slopes) < heads; k++ {
		slopes = append(slopes, math.Exp2(-maxBias*float64(k)/float64(n)))
	}
	for j := 1; len(slopes) < heads; j++ {
		slopes = append(slopes, math.Exp2(-maxBias/2*float64(2*j-1)/float64(n)))
	}
	return slopes
}

// Name is "alibi".
func (ALiBi) Name() string { return NameAlibi }

// SlopeValues are the slopes, one a head: Slopes, or computed.
func (a ALiBi) SlopeValues() []float64 {
	if a.Slopes != nil {
		return slices.Clone(a.Slopes)
	}
	return ALiBiSlopes(a.Heads, orDefault(a.MaxBias, DefaultMaxBias))
}

// Bias is what is added to the score of a key at a query: −slope·|query−key|.
func (a ALiBi) Bias(head, query, key int) float64 {
	return -a.SlopeValues()[head] * math.Abs(float64(query-key))
}

// sameSlope is the relative difference below which slopes are the same: BLOOM
// and ggml raise a float32 base to a power, which drifts by 11 steps at worst.
const sameSlope = 1e-6

// Equal reports whether other has the same slopes.
func (a ALiBi) Equal(other Scheme) bool {
	o, ok := other.(ALiBi)
	return ok && slices.EqualFunc(a.SlopeValues(), o.SlopeValues(), func(x, y float64) bool {
		return math.Abs(x-y) <= sameSlope*math.Abs(x)
	})
}

// String says the encoding in a line.
func (a ALiBi) String() string {
	if a.Slopes != nil && a.MaxBias == 0 {
		return fmt.Sprintf("alibi, %d slopes of its own", len(a.Slopes))
	}
	return fmt.Sprintf("ALiBi, %d heads, max bias %s", max(a.Heads, len(a.Slopes)), Text(orDefault(a.MaxBias, DefaultMaxBias)))
}
