package relative

import (
	"math"
	"testing"
)

// TestLinear: a bias that falls with the distance behind the query is linear where it goes on ahead of it, turns or stays; where it falls otherwise
// ahead, no slope tells it.
func TestLinear(t *testing.T) {
	masked := math.Inf(-1)
	for name, c := range map[string]struct {
		ahead func(distance float64) float64 // of keys behind the query in the sequence
		want  bool
	}{
		"symmetric":        {func(d float64) float64 { return -d }, true},
		"by the key alone": {func(d float64) float64 { return d }, true},
		"flat":             {func(float64) float64 { return 0 }, true},
		"masked":           {func(float64) float64 { return masked }, true},
		"twice as steep":   {func(d float64) float64 { return -2 * d }, false},
		"curved":           {func(d float64) float64 { return -d * d }, false},
	} {
		m := make([][]float64, 6)
		for q := range m {
			m[q] = make([]float64, len(m))
			for k := range m[q] {
				if d := float64(k - q); d <= 0 {
					m[q][k] = 0.5 * d
				} else {
					m[q][k] = 0.5 * c.ahead(d)
				}
			}
		}
		if slope, ok := linear(m); ok != c.want || ok && math.Abs(slope-0.5) > 1e-12 {
			t.Errorf("%s: %g, %t", name, slope, ok)
		}
	}
}

// TestSlopeOfAnyLength: of a bias whose numbers were rounded once, the slope is the one number that all were made of, however many
// positions show it.
func TestSlopeOfAnyLength(t *testing.T) {
	slope := float64(float32(0.8543552756309509))
	for _, n := range []int{2, 11, 40} {
		m := make([][]float64, n)
		for q := range m {
			for k := range n {
				m[q] = append(m[q], float64(float32(-slope*math.Abs(float64(k-q)))))
			}
		}
		if got, ok := linear(m); !ok || got != slope {
			t.Errorf("%d positions: %.17g, not %.17g", n, got, slope)
		}
	}
}

// TestFirstPlaces reads the bucket of each distance off the places ahead, where those behind them are counted anew.
func TestFirstPlaces(t *testing.T) {
	positions := []int{0, 1, 2, 3, 4, 0, 1}
	var index []int64
	for _, q := range positions {
		for _, k := range positions {
			index = append(index, int64(10+k-q))
		}
	}
	by, places := first(index, len(positions))
	if places != 5 || len(by) != 9 || by[-4] != 6 || by[4] != 14 {
		t.Errorf("%d places, %v", places, by)
	}
	if _, whole := distances(index, len(positions), len(positions), 0); whole {
		t.Error("all places are one sequence")
	}
}

// TestGoesOn: far from the first keys a bias is as linear as between the first positions, or it is none of ALiBi's.
func TestGoesOn(t *testing.T) {
	row := func(at func(distance float64) float64) [][][]float64 {
		x := make([]float64, 64)
		for k := range x {
			x[k] = at(float64(1000 - k))
		}
		return [][][]float64{{x}}
	}
	for name, test := range map[string]struct {
		heads [][][]float64
		want  bool
	}{
		"straight":          {row(func(d float64) float64 { return -d / 4 }), true},
		"in 16 bits":        {row(func(d float64) float64 { return -math.Round(d/4*2) / 2 }), true},
		"clipped":           {row(func(d float64) float64 { return -min(d, 400) / 4 }), false},
		"steeper":           {row(func(d float64) float64 { return -d / 2 }), false},
		"masked":            {row(func(d float64) float64 { return math.Inf(-1) }), true},
		"masked in part":    {row(func(d float64) float64 { return map[bool]float64{true: math.Inf(-1), false: -d / 4}[d > 980] }), true},
		"of another number": {[][][]float64{{{0, 1}}, {{0, 1}}}, false},
	} {
		if got := goesOn(test.heads, []float64{0.25}); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
