package fit

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/modelpatch/modelpatch/schemes"
)

// classesOf numbers the distances of a window of positions as biases in T5's
// buckets would.
func classesOf(b schemes.Buckets, length int, masked bool) map[int]int {
	classes := map[int]int{}
	for q := range length {
		for k := range length {
			if !masked || k <= q {
				classes[k-q] = 1000 - b.Bucket(k-q)
			}
		}
	}
	return classes
}

func TestBuckets(t *testing.T) {
	for _, b := range []schemes.Buckets{
		{Buckets: 32, MaxDistance: 128, Bidirectional: true}, {Buckets: 32, MaxDistance: 128}, {Buckets: 16, MaxDistance: 64, Bidirectional: true},
		{Buckets: 16, MaxDistance: 64}, {Buckets: 8, MaxDistance: 20, Bidirectional: true}, {Buckets: 64, MaxDistance: 256, Bidirectional: true}, {Buckets: 8, MaxDistance: 32},
		{Buckets: 32, MaxDistance: 100}, {Buckets: 320, MaxDistance: 800, Bidirectional: true},
	} {
		for _, length := range []int{11, 24, 300, 1200} {
			for _, masked := range []bool{false, true} {
				if masked && b.Bidirectional || length < b.Buckets/2+4 {
					continue
				}
				name := fmt.Sprintf("%v of %d positions, masked %v", b, length, masked)
				classes := classesOf(b, length, masked)
				r, ok := Buckets(classes)
				switch {
				case !ok:
					t.Errorf("%s: not found", name)
				case r.Buckets.Buckets != b.Buckets || r.Bidirectional != b.Bidirectional:
					t.Errorf("%s: found %v", name, r.Buckets)
				case r.MaxDistance != b.MaxDistance && !slices.ContainsFunc(r.Also, func(o schemes.Buckets) bool { return o.MaxDistance == b.MaxDistance }):
					t.Errorf("%s: found %v, and not the true one among %d others", name, r.Buckets, len(r.Also))
				case r.MaxDistance != b.MaxDistance && b.MaxDistance == 4*b.Buckets:
					t.Errorf("%s: preferred %v", name, r.Buckets)
				}
			}
		}
	}
}

// TestNoBuckets are biases by distance that have no buckets of T5's: those that
// end, repeat or all differ.
func TestNoBuckets(t *testing.T) {
	window := func(class func(relative int) int) map[int]int {
		out := map[int]int{}
		for d := -10; d <= 10; d++ {
			out[d] = class(d)
		}
		return out
	}
	for name, classes := range map[string]map[int]int{
		"all differ":         window(func(d int) int { return d }),
		"one number":         window(func(int) int { return 0 }),
		"distances up to 5":  window(func(d int) int { return min(max(d, -5), 5) }),
		"every third":        window(func(d int) int { return d % 3 }),
		"far ones come back": window(func(d int) int { return map[bool]int{true: 0, false: d}[d == 9 || d == 10] }),
		"nothing":            {},
	} {
		if r, ok := Buckets(classes); ok {
			t.Errorf("%s: found %v", name, r.Buckets)
		}
	}
}

// TestLike asks for distances beyond those that were seen: what shares a bucket
// with them is known once every bucket was seen, and the readings agree.
func TestLike(t *testing.T) {
	for _, c := range []struct {
		buckets        schemes.Buckets
		length, beyond int
		known          bool
	}{
		{schemes.Buckets{Buckets: 32, MaxDistance: 128, Bidirectional: true}, 128, 2000, true},
		{schemes.Buckets{Buckets: 32, MaxDistance: 128, Bidirectional: true}, 100, 101, true},
		{schemes.Buckets{Buckets: 32, MaxDistance: 128, Bidirectional: true}, 64, 80, false}, // the last bucket begins at 91
		{schemes.Buckets{Buckets: 32, MaxDistance: 128, Bidirectional: true}, 11, 11, false},
		{schemes.Buckets{Buckets: 32, MaxDistance: 128}, 128, 500, true},
		{schemes.Buckets{Buckets: 16, MaxDistance: 64}, 24, 40, false},
	} {
		classes := classesOf(c.buckets, c.length, !c.buckets.Bidirectional)
		r, ok := Buckets(classes)
		if !ok {
			t.Fatalf("%v of %d not found", c.buckets, c.length)
		}
		like, known := r.Like(classes, -c.beyond)
		if known != c.known || known && c.buckets.Bucket(like) != c.buckets.Bucket(-c.beyond) {
			t.Errorf("%v of %d: %d is like %d, %v", c.buckets, c.length, -c.beyond, like, known)
		}
	}
}

// half rounds to float16, of ordinary numbers.
func half(x float64) float64 {
	if x == 0 {
		return 0
	}
	step := math.Exp2(math.Floor(math.Log2(math.Abs(x))) - 10)
	return math.RoundToEven(x/step) * step
}

// TestBucketTableRounded: T5's formula by a logarithm that is stored in float16 puts distances at a border into a neighbour of their bucket; it is
// recognised as what it was rounded from, with its rounding alone, and other buckets are not.
func TestBucketTableRounded(t *testing.T) {
	const rows, most = 32, 128
	for _, bidirectional := range []bool{true, false} {
		exact := rows / 2
		if bidirectional {
			exact = rows / 4
		}
		divisor := half(math.Log(float64(most) / float64(exact)))
		buckets := map[int]int{}
		for relative := -299; relative < 300; relative++ {
			distance, first := max(-relative, 0), 0
			if bidirectional {
				if distance = max(relative, -relative); relative > 0 {
					first = rows / 2
				}
			}
			if buckets[relative] = first + distance; distance >= exact {
				x := math.Log(float64(distance)/float64(exact)) / divisor * float64(exact)
				buckets[relative] = first + min(exact+int(x), 2*exact-1)
			}
		}
		b := BucketTable(buckets, rows, []float64{divisor}, Float16)
		if b.MaxDistance != most || b.Bidirectional != bidirectional {
			t.Errorf("bidirectional %v: %+v", bidirectional, b)
		}
		if bidirectional && (GivesBuckets(b, buckets) || BucketTable(buckets, rows, []float64{divisor}, Float32).MaxDistance == most) { // with 8 exact buckets 16, 32 and 64 lie on borders
			t.Error("rounded buckets are taken for exact ones")
		}
		buckets[-20]++
		if b := BucketTable(buckets, rows, []float64{divisor}, Float16); b.MaxDistance != 0 {
			t.Errorf("bidirectional %v: a bucket that no rounding explains gives %+v", bidirectional, b)
		}
	}
}
