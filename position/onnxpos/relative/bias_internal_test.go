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
