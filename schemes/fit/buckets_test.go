package fit

import (
	"fmt"
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
