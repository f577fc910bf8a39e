package fit

import (
	"math"
	"testing"
)

// TestDamagedCache: one entry that is off is found with its place, wherever it stands, in
// every storage; a sound cache and one of no formula have none.
func TestDamagedCache(t *testing.T) {
	const rows, pairs = 64, 8
	for _, p := range []Precision{Float32, Float16, BFloat16} {
		cos, sin := make([]float64, rows*pairs), make([]float64, rows*pairs)
		for r := range rows {
			for k := range pairs {
				angle := float64(r) * math.Pow(10000, -float64(k)/pairs)
				cos[r*pairs+k], sin[r*pairs+k] = p.Round(math.Cos(angle)), p.Round(math.Sin(angle))
			}
		}
		if d, ok := DamagedCache(Dense(rows, pairs, cos), Dense(rows, pairs, sin), p); ok {
			t.Errorf("%s: %+v in a sound cache", p, d)
		}
		for _, at := range []struct {
			row, column int
			sine        bool
		}{{0, 1, true}, {3, 0, false}, {31, 7, true}, {63, 2, false}} {
			table := cos
			if at.sine {
				table = sin
			}
			i := at.row*pairs + at.column
			was := table[i]
			table[i] = was*0.7 + 0.2
			d, ok := DamagedCache(Dense(rows, pairs, cos), Dense(rows, pairs, sin), p)
			if !ok || d.Row != at.row || d.Column != at.column || d.Sine != at.sine || d.Rows != 1 || math.Abs(d.Want-was) > 0.02 {
				t.Errorf("%s: %+v, %v for %+v that was %v", p, d, ok, at, was)
			}
			table[i] = was
		}
		table := make([]float64, rows*pairs)
		for i := range table {
			table[i] = math.Mod(float64(i)*0.7391, 1)
		}
		if d, ok := DamagedCache(Dense(rows, pairs, table), Dense(rows, pairs, table), p); ok {
			t.Errorf("%s: %+v in a table of no formula", p, d)
		}
	}
}
