package fit

import (
	"math"
	"slices"

	"github.com/modelpatch/modelpatch/schemes"
)

// BucketResult is what Buckets found.
type BucketResult struct {
	schemes.Buckets
	// Also are other maximal distances that put the same distances together.
	Also []schemes.Buckets
}

// Buckets recovers T5's buckets (facts/NUMERICS §6) from which relative
// positions, key − query, share a bias: classes maps those that were seen to
// numbers that are equal where the biases are. The nearest distances must have
// buckets of their own and some of the others share one, else it is not ok.
//
// Few distances leave the maximal distance open: the usual ones are preferred,
// and the others are told. A single shared bucket could also be where a table of
// distances ends, and is taken for T5's only if usual numbers explain it.
func Buckets(classes map[int]int) (r BucketResult, ok bool) {
	zero, seen := classes[0]
	if !seen || len(classes) < 4 {
		return r, false
	}
	bidirectional := classes[1] != zero && has(classes, 1)
	behind := -1
	if !has(classes, -1) || !bidirectional && classes[-1] == zero { // told the other way round
		behind = 1
	}
	first := 1 // the first distance that shares a bucket with the next
	for ; has(classes, behind*(first+1)); first++ {
		if classes[behind*first] == classes[behind*(first+1)] {
			break
		}
	}
	if !has(classes, behind*(first+1)) {
		return r, false
	}
	for single := first; single >= 1 && r.MaxDistance == 0; single-- {
		n := 2 * single
		if bidirectional {
			n *= 2
		}
		for _, d := range UsualDistances(n, single) {
			b := schemes.Buckets{Buckets: n, MaxDistance: d, Bidirectional: bidirectional}
			together, fits := sharing(b, classes)
			switch {
			case !fits || together < 2 && !usual(b):
			case r.MaxDistance == 0:
				r.Buckets = b
			default:
				r.Also = append(r.Also, b)
			}
		}
	}
	return r, r.MaxDistance > 0
}

// Like finds, for a relative position that was not seen, one that was and whose
// bucket it shares under every reading. It is not ok where the bucket was not
// seen, or where readings differ.
func (r BucketResult) Like(classes map[int]int, relative int) (seen int, ok bool) {
	readings := append([]schemes.Buckets{r.Buckets}, r.Also...)
	if len(readings) > mostReadings {
		return 0, false
	}
	for i, b := range readings {
		found := false
		for _, sign := range []int{1, -1} {
			if _, fits := sharingAt(b, classes, sign); !fits {
				continue
			}
			like, shared := sharer(b, classes, sign, relative)
			if !shared || (i > 0 || found) && classes[like] != classes[seen] {
				return 0, false
			}
			seen, found = like, true
		}
		if !found {
			return 0, false
		}
	}
	return seen, true
}

// mostReadings bounds the readings that are compared.
const mostReadings = 64

// sharer is the nearest relative position that was seen in a bucket.
func sharer(b schemes.Buckets, classes map[int]int, sign, relative int) (seen int, ok bool) {
	bucket := b.Bucket(sign * relative)
	for distance := max(relative, -relative); distance >= 0; distance-- {
		for _, d := range []int{distance, -distance} {
			if has(classes, d) && b.Bucket(sign*d) == bucket {
				return d, true
			}
		}
	}
	return 0, false
}

// BucketTable recovers the parameters of a table of the given rows, one a bucket,
// from the buckets of relative positions, key − query or the other way round.
// Several maximal distances can give the same: what the graph divides logarithms
// by, ln(max_distance / exact), decides, else the usual ones come first.
// MaxDistance is 0 when the buckets are not T5's. Of logarithms that are computed in 16 bits, distances at the border of two
// buckets may fall into either, and the maximal distance may be a little another than its logarithm says.
func BucketTable(buckets map[int]int, rows int, divisors []float64, p Precision) schemes.Buckets {
	epsilon := 0.0
	if p == Float16 || p == BFloat16 {
		epsilon = p.Step()
	}
	b := schemes.Buckets{Buckets: rows}
	single := rows / 2
	for relative, bucket := range buckets {
		b.Bidirectional = b.Bidirectional || relative > 0 && bucket != buckets[0]
	}
	if b.Bidirectional {
		single = rows / 4
	}
	var candidates []int
	usual := UsualDistances(rows, single)
	for _, k := range divisors {
		if d := math.Round(float64(single) * math.Exp(k)); d > float64(single) && d < 1e6 {
			if at := slices.IndexFunc(usual, func(u int) bool { return epsilon > 0 && math.Abs(float64(u)-d) <= d*k*2*epsilon }); at >= 0 {
				d = float64(usual[at])
			}
			candidates = append(candidates, int(d))
		}
	}
	for _, b.MaxDistance = range append(candidates, usual...) {
		if gives(b, buckets, 1, epsilon) || gives(b, buckets, -1, epsilon) {
			return b
		}
	}
	b.MaxDistance = 0
	return b
}

// GivesBuckets reports whether T5's formula gives just these buckets of relative positions, told either way round.
func GivesBuckets(b schemes.Buckets, buckets map[int]int) bool {
	return gives(b, buckets, 1, 0) || gives(b, buckets, -1, 0)
}

func gives(b schemes.Buckets, buckets map[int]int, sign int, epsilon float64) bool {
	for relative, bucket := range buckets {
		if want := b.Bucket(sign * relative); want != bucket && !(epsilon > 0 && borders(b, relative, want, bucket, epsilon)) {
			return false
		}
	}
	return true
}

// borders reports whether rounding may put a distance into either of two buckets: ln(distance/exact) /
// ln(max_distance/exact) · exact of T5's formula is that near to the higher one.
func borders(b schemes.Buckets, relative, one, other int, epsilon float64) bool {
	n := b.Buckets
	if b.Bidirectional {
		n /= 2
	}
	if one-other != 1 && other-one != 1 || one/n != other/n || n < 2 {
		return false
	}
	exact, distance := float64(n/2), math.Abs(float64(relative))
	x := exact + math.Log(distance/exact)/math.Log(float64(b.MaxDistance)/exact)*exact
	return math.Abs(x-float64(max(one, other)%n)) <= roundings*epsilon*exact
}

// roundings is how often the number of a bucket is rounded on its way: quotient, logarithm, its quotient, product.
const roundings = 4

func has(classes map[int]int, relative int) bool {
	_, ok := classes[relative]
	return ok
}

// farthest bounds the maximal distances that are tried.
const farthest = 2048

// UsualDistances are maximal distances beyond the single buckets in the order in
// which they are preferred: four times the buckets, as T5 has it (128 of 32),
// powers of two, tens, the others up to 2048.
func UsualDistances(buckets, single int) []int {
	out := []int{4 * buckets}
	for d := 4; d <= farthest; d *= 2 {
		out = append(out, d)
	}
	for d := 10; d <= farthest; d += 10 {
		out = append(out, d)
	}
	for d := 2; d <= farthest; d++ {
		out = append(out, d)
	}
	tried := make(map[int]bool, farthest)
	return slices.DeleteFunc(out, func(d int) bool {
		again := tried[d]
		tried[d] = true
		return again || d <= single
	})
}

// usual reports whether the maximal distance is T5's four times the buckets, or
// another small power of two of it.
func usual(b schemes.Buckets) bool {
	return b.Buckets&(b.Buckets-1) == 0 && (b.MaxDistance == 2*b.Buckets || b.MaxDistance == 4*b.Buckets || b.MaxDistance == 8*b.Buckets)
}

// sharing reports whether buckets put together just the distances that share a
// class, in either direction, and how many buckets of several distances were
// seen on the side that has more.
func sharing(b schemes.Buckets, classes map[int]int) (together int, ok bool) {
	for _, sign := range []int{1, -1} {
		if n, fits := sharingAt(b, classes, sign); fits {
			together, ok = max(together, n), true
		}
	}
	return together, ok
}

func sharingAt(b schemes.Buckets, classes map[int]int, sign int) (together int, ok bool) {
	classOf, bucketOf := map[int]int{}, map[int]int{}
	members := map[int]int{}
	for relative, class := range classes {
		bucket := b.Bucket(sign * relative)
		if c, seen := classOf[bucket]; seen && c != class {
			return 0, false
		}
		if o, seen := bucketOf[class]; seen && o != bucket {
			return 0, false
		}
		classOf[bucket], bucketOf[class] = class, bucket
		if sign*relative <= 0 {
			members[bucket]++
		}
	}
	single := b.Bucket(0)
	for bucket, n := range members {
		if n > 1 && bucket != single {
			together++
		}
	}
	return together, true
}
