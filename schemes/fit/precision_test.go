package fit

import (
	"math"
	"testing"
)

// A number just beside a tie of the narrow type is a tie after it went through
// float32, and is then rounded to even: the wrong way half of the time.
func TestRoundOnce(t *testing.T) {
	for p, bits := range map[Precision]int{Float16: 11, BFloat16: 8} {
		unit := math.Ldexp(1, 1-bits)
		for k := range 64 {
			below := 1 + float64(k)*unit
			tie := below + unit/2
			for _, c := range []struct{ x, want float64 }{
				{tie + 1e-12, below + unit}, {tie - 1e-12, below}, {-tie - 1e-12, -below - unit}, {below, below},
			} {
				if got := p.Round(c.x); got != c.want {
					t.Errorf("%s.Round(%.17g) = %.17g, want %.17g", p, c.x, got, c.want)
				}
			}
			if even, got := below+unit*float64(k%2), p.Round(tie); got != even {
				t.Errorf("%s.Round(%.17g) = %.17g, a tie, want %.17g", p, tie, got, even)
			}
		}
	}
}
