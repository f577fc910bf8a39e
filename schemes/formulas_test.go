package schemes

import (
	"math"
	"slices"
	"testing"
)

// YaRN's ramp, by the formulas of Peng et al. 2023 (§3.2) and with the ends of transformers'
// _compute_yarn_parameters: it may end at dim − 1, far behind the last pair.
func TestYaRNRamp(t *testing.T) {
	for _, c := range []struct {
		base     float64
		dim, len int
		truncate bool
		low, hi  float64
	}{
		{10000, 128, 4096, true, 20, 46}, {10000, 128, 4096, false, 20.9445, 45.0269},
		{10000, 16, 100000, true, 5, 9}, // beyond the last pair, 7
		{500, 8, 1 << 22, true, 6, 7},   // cut at dim − 1
	} {
		low, high := YaRNRamp(c.base, c.dim, c.len, 32, 1, c.truncate)
		if math.Abs(low-c.low) > 5e-4 || math.Abs(high-c.hi) > 5e-4 {
			t.Errorf("%+v: %.4f to %.4f", c, low, high)
		}
	}
}

// One of LongRoPE's lists for every length.
func TestUsing(t *testing.T) {
	s := Scaling{Type: ScalingLongRoPE, Factor: 8, OriginalLength: 16, ShortFactor: []float64{1, 2}, LongFactor: []float64{3, 4}}
	for list, want := range map[string][]float64{ListShort: s.ShortFactor, ListLong: s.LongFactor} {
		got, ok := s.Using(list)
		if !ok || !slices.Equal(got.ShortFactor, want) || !slices.Equal(got.LongFactor, want) || got.ByLength() {
			t.Errorf("%s: %+v, %v", list, got, ok)
		}
		if _, again := got.Using(list); again {
			t.Error("one list is taken for two")
		}
	}
	r := Rotary{Base: 100, Dim: 4, Scaling: s}
	for length, divisors := range map[int][]float64{16: s.ShortFactor, 17: s.LongFactor} {
		for i, f := range r.InverseFrequenciesAt(length) {
			if want := math.Pow(100, -float64(i)/2) / divisors[i]; math.Abs(f-want) > 1e-12 {
				t.Errorf("length %d, pair %d: %g, want %g", length, i, f, want)
			}
		}
	}
}

// The bucket of every distance, by T5's own formula in integers (Raffel et al. 2020): the first half of the
// buckets are single distances.
func TestBucketEdges(t *testing.T) {
	b := Buckets{Buckets: 32, MaxDistance: 128, Bidirectional: true}
	for distance, want := range map[int]int{0: 0, 1: 17, -1: 1, 7: 23, 8: 24, -8: 8, 11: 24, 12: 25, 127: 31, 128: 31, 5000: 31, -5000: 15} {
		if got := b.Bucket(distance); got != want {
			t.Errorf("distance %d: bucket %d, want %d", distance, got, want)
		}
	}
	one := Buckets{Buckets: 8, MaxDistance: 9}
	for distance, want := range map[int]int{3: 0, 0: 0, -1: 1, -3: 3, -4: 4, -5: 5, -8: 7, -100: 7} {
		if got := one.Bucket(distance); got != want {
			t.Errorf("one direction, distance %d: bucket %d, want %d", distance, got, want)
		}
	}
}
