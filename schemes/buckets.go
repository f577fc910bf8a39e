package schemes

import (
	"fmt"
	"math"
	"math/big"
)

// Name is "t5-bias".
func (Buckets) Name() string { return NameT5Bias }

// Bucket is T5's bucket of a relative position, key − query (Raffel et al.
// 2020; facts/NUMERICS §6). Half of the buckets hold one distance each, the
// others grow by equal ratios up to MaxDistance; a bidirectional table keeps
// its second half for keys after the query. The arithmetic is exact, and is
// what float32 programs give.
func (b Buckets) Bucket(relative int) int {
	n, first, distance := b.Buckets, 0, max(-relative, 0)
	if b.Bidirectional {
		n /= 2
		distance = max(relative, -relative)
		if relative > 0 {
			first = n
		}
	}
	single := n / 2
	if distance < single {
		return first + distance
	}
	return first + min(single+logSteps(distance, single, b.MaxDistance, n-single, false), n-1)
}

// logSteps is ln(m/e)/ln(d/e)·steps, rounded down, or up if ceil, without
// rounding error. Floating point decides all but the cases that lie on a step.
func logSteps(m, e, d, steps int, ceil bool) int {
	switch {
	case m <= e:
		return 0
	case d <= e || e <= 0:
		return steps
	case m >= d && !ceil:
		return steps // or more; the caller limits it
	}
	x := math.Log(float64(m)/float64(e)) / math.Log(float64(d)/float64(e)) * float64(steps)
	k := math.Round(x)
	if math.Abs(x-k) < onAStep {
		switch compareSteps(m, e, d, steps, int(k)) {
		case 0:
			return int(k)
		case -1:
			x = k - 0.5
		default:
			x = k + 0.5
		}
	}
	if ceil {
		return int(math.Ceil(x))
	}
	return int(math.Floor(x))
}

// onAStep is how near to an integer float64 logarithms are not to be trusted.
const onAStep = 1e-7

// compareSteps compares (m/e)^steps with (d/e)^k.
func compareSteps(m, e, d, steps, k int) int {
	left := product(m, steps, e, k)
	right := product(d, k, e, steps)
	return left.Cmp(right)
}

// product is a^n · b^m.
func product(a, n, b, m int) *big.Int {
	x := new(big.Int).Exp(big.NewInt(int64(a)), big.NewInt(int64(n)), nil)
	y := new(big.Int).Exp(big.NewInt(int64(b)), big.NewInt(int64(m)), nil)
	return x.Mul(x, y)
}

// DebertaBucket is DeBERTa-v2's bucket of a relative position, query − key,
// for a table of the given position_buckets and max_relative_positions (He et
// al. 2021; facts/NUMERICS §6).
func DebertaBucket(relative, buckets, maxPositions int) int {
	mid := buckets / 2
	distance := max(relative, -relative)
	if distance <= mid {
		return relative
	}
	bucket := mid + logSteps(distance, mid, maxPositions-1, mid-1, true)
	if relative < 0 {
		return -bucket
	}
	return bucket
}

// Equal reports whether other puts every distance in the same bucket.
func (b Buckets) Equal(other Scheme) bool {
	o, ok := other.(Buckets)
	return ok && b.Buckets == o.Buckets && b.MaxDistance == o.MaxDistance &&
		b.Bidirectional == o.Bidirectional && (b.Heads == o.Heads || b.Heads == 0 || o.Heads == 0)
}

// AlikeWithin reports whether no distance between so many positions gets another bucket with another greatest distance.
func (b Buckets) AlikeWithin(positions, maxDistance int) bool {
	other := b
	other.MaxDistance = maxDistance
	for d := 1; d < positions; d++ {
		if b.Bucket(d) != other.Bucket(d) || b.Bucket(-d) != other.Bucket(-d) {
			return false
		}
	}
	return true
}

// String says the encoding in a line.
func (b Buckets) String() string {
	way := "causal"
	if b.Bidirectional {
		way = "bidirectional"
	}
	return fmt.Sprintf("t5 bias, %d buckets to distance %d, %s", b.Buckets, b.MaxDistance, way)
}
