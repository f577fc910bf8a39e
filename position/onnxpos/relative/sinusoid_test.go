package relative

import (
	"math"
	"slices"
	"testing"

	"github.com/modelpatch/modelpatch/position/onnxpos/rows"
)

// TestUnsigned fits sines and cosines of distances without their signs, and nothing else.
func TestUnsigned(t *testing.T) {
	of := func(distances ...float64) (m rows.Matrix) {
		for _, d := range distances {
			var row []float64
			for k := range 8 {
				a := d * math.Pow(10000, -float64(k)/8)
				row = append(row, math.Sin(a), math.Cos(a))
			}
			m = append(m, row)
		}
		return m
	}
	both := of(4, 3, 2, 1, 0, 1, 2, 3, 4)
	changed := slices.Clone(both)
	changed[8] = of(3.5)[0]
	for name, c := range map[string]struct {
		m  rows.Matrix
		ok bool
	}{
		"back and forth": {both, true}, "with signs": {of(4, 3, 2, 1, 0, -1, -2, -3, -4), false}, "an even number": {both[:8], false},
		"one row of its own": {changed, false}, "no formula": {of(7, 2, 0, 2, 7), false},
	} {
		got := unsigned(c.m)
		if got.ok != c.ok || c.ok && (math.Abs(got.base/10000-1) > 1e-6 || !got.unsigned) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
