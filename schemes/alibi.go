package schemes

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// DefaultMaxBias is the exponent of ALiBi's last slope in the paper.
const DefaultMaxBias = 8

// alibiSlope is the slope of one head of Press et al. 2022 for any number of heads: with
// N the greatest power of two ≤ heads, 2^(−maxBias·k/N) for k = 1 … N, then every other
// slope of 2N heads for the rest (facts/NUMERICS §7).
func alibiSlope(head, heads int, maxBias float64) float64 {
	n := 1 << (bits.Len(uint(max(heads, 1))) - 1)
	if head < n {
		return math.Exp2(-maxBias * float64(head+1) / float64(n))
	}
	return math.Exp2(-maxBias / 2 * float64(2*(head-n)+1) / float64(n))
}

// ALiBiSlopes are the slopes of all heads.
func ALiBiSlopes(heads int, maxBias float64) []float64 {
	slopes := make([]float64, max(heads, 0))
	for i := range slopes {
		slopes[i] = alibiSlope(i, heads, maxBias)
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

// Slope is the slope of one head. A number of heads is a claim of a file: see [ALiBi.Sample].
func (a ALiBi) Slope(head int) float64 {
	if a.Slopes != nil {
		return a.Slopes[head]
	}
	return alibiSlope(head, a.Heads, orDefault(a.MaxBias, DefaultMaxBias))
}

// sampledHeads is how many heads are looked at where a formula gives the slopes of all.
const sampledHeads = 64

// Sample lists the heads whose slopes stand for all: every one where they are in the file, and
// some, the last of both series among them, where a formula gives them to as many heads as a file claims.
func (a ALiBi) Sample() []int {
	n := len(a.Slopes)
	if a.Slopes == nil {
		n = min(max(a.Heads, 0), sampledHeads)
	}
	out := make([]int, n)
	for i := range out {
		out[i] = i
		if a.Slopes == nil && a.Heads > n {
			out[i] = i * (a.Heads - 1) / (n - 1)
		}
	}
	if a.Slopes == nil && a.Heads > n {
		out = append(out, 1<<(bits.Len(uint(a.Heads))-1)-1)
		slices.Sort(out)
		out = slices.Compact(out)
	}
	return out
}

// Bias is what is added to the score of a key at a query: −slope·|query−key|.
func (a ALiBi) Bias(head, query, key int) float64 {
	return -a.Slope(head) * math.Abs(float64(query-key))
}

// sameSlope is the relative difference below which slopes are the same: BLOOM
// and ggml raise a float32 base to a power, which drifts by 11 steps at worst.
const sameSlope = 1e-6

// Equal reports whether other has the same slopes.
func (a ALiBi) Equal(other Scheme) bool {
	o, ok := other.(ALiBi)
	if !ok || a.Count() != o.Count() {
		return false
	}
	heads := a.Sample()
	if a.Slopes == nil {
		heads = o.Sample() // all, where the other's are in the file
	}
	return !slices.ContainsFunc(heads, func(i int) bool {
		x, y := a.Slope(i), o.Slope(i)
		return !(math.Abs(x-y) <= sameSlope*math.Abs(x))
	})
}

// Count is the number of slopes.
func (a ALiBi) Count() int {
	if a.Slopes != nil {
		return len(a.Slopes)
	}
	return max(a.Heads, 0)
}

// String says the encoding in a line.
func (a ALiBi) String() string {
	if a.Slopes != nil && a.MaxBias == 0 {
		return fmt.Sprintf("alibi, %d slopes of its own", len(a.Slopes))
	}
	heads := fmt.Sprint(max(a.Heads, len(a.Slopes)))
	if biased := slices.Index(a.Slopes, 0); biased > 0 {
		heads = fmt.Sprintf("%d of %s", biased, heads)
	}
	return fmt.Sprintf("ALiBi, %s heads, max bias %s", heads, Text(orDefault(a.MaxBias, DefaultMaxBias)))
}
