package fit

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/modelpatch/modelpatch/schemes"
)

// tableOf makes a table of rows in a precision.
func tableOf(rows, cols int, p Precision, row func(r int, dst []float64)) Matrix {
	values := make([]float64, rows*cols)
	for r := range rows {
		row(r, values[r*cols:(r+1)*cols])
	}
	return Dense(rows, cols, rounded(values, p))
}

func randomSinusoid(r *rand.Rand, dims []int) schemes.Sinusoid {
	s := schemes.Sinusoid{
		Base:        []float64{10000, 10000, 10000, 1000, 100000, 500}[r.IntN(6)],
		Dim:         dims[r.IntN(len(dims))],
		Layout:      []string{schemes.LayoutInterleaved, schemes.LayoutSinCos, schemes.LayoutCosSin, schemes.LayoutInterleavedCosSin}[r.IntN(4)],
		Denominator: []string{schemes.DenominatorHalf, schemes.DenominatorHalfMinusOne}[r.IntN(2)],
		Start:       []float64{0, 0, 0, 1, 2}[r.IntN(5)],
		Recipe:      []schemes.Recipe{schemes.RecipeExact, schemes.RecipeExp, schemes.RecipePow}[r.IntN(3)],
	}
	switch r.IntN(4) {
	case 0:
		s.Amplitude = math.Sqrt(float64(s.Dim))
	case 1:
		s.ZeroRows, s.Offset = []int{1}, 2
	}
	return s
}

func TestAdditiveTables(t *testing.T) {
	for _, size := range []struct {
		name    string
		rows    []int
		dims    []int
		mayMiss float64
	}{
		{"small", []int{16, 24, 60}, []int{16, 32, 64}, 0.03},
		{"usual", []int{128, 512}, []int{64, 128}, 0},
	} {
		for _, p := range []Precision{Float32, Float16, BFloat16} {
			t.Run(fmt.Sprintf("%s %s", size.name, p), func(t *testing.T) {
				const draws = 150
				r := rand.New(rand.NewPCG(5, 6))
				missed, unequal := 0, 0
				for range draws {
					want := randomSinusoid(r, size.dims)
					n := size.rows[r.IntN(len(size.rows))]
					want.Rows = n
					got, ok := AdditiveTable(tableOf(n, want.Dim, p, want.Table().Row), p)
					s := got.Sinusoid
					if !ok || s.Layout != want.Layout || off(s.Base, want.Base) > 1e-9 || s.Denominator != want.Denominator ||
						s.Start != want.Start || s.Offset != want.Offset {
						missed++
						t.Logf("%v (recipe %q, start %v) is read as %v (recipe %q, start %v, %v): %s", want, want.Recipe, want.Start, s, s.Recipe, s.Start, ok, got.Why)
						continue
					}
					if !p.sameRows(want, s, n, 2*n) {
						unequal++
						t.Logf("%v (recipe %q): rows beyond the table differ under %q: %s", want, want.Recipe, s.Recipe, got.Why)
					}
				}
				t.Logf("%d missed, %d not bit-equal beyond the table, of %d", missed, unequal, draws)
				if float64(missed) > size.mayMiss*draws {
					t.Error("too many missed")
				}
				if p == Float32 && size.name == "usual" && unequal > 0 {
					t.Error("extension would not be bit-equal")
				}
			})
		}
	}
}

// sameRows reports whether two sinusoids agree in a precision on some rows.
func (p Precision) sameRows(a, b schemes.Sinusoid, first, end int) bool {
	x, y := make([]float64, a.Dim), make([]float64, a.Dim)
	for r := first; r < end; r++ {
		a.Row(r, x)
		b.Row(r, y)
		for c := range x {
			if p.Round(x[c]) != p.Round(y[c]) {
				return false
			}
		}
	}
	return true
}

// cacheOf makes cos and sin tables of an encoding.
func cacheOf(r schemes.Rotary, recipe schemes.Recipe, rows int, start float64, columns string, p Precision) (cos, sin Matrix) {
	rotator, n := r.Rotator(recipe, 0), r.Pairs()
	c, s := make([]float64, n), make([]float64, n)
	cols := n
	if columns != ColumnsHalf {
		cols = 2 * n
	}
	make1 := func(of *[]float64) Matrix {
		return tableOf(rows, cols, p, func(row int, dst []float64) {
			rotator.Row(float64(row)+start, c, s)
			for k, x := range *of {
				switch columns {
				case ColumnsHalf:
					dst[k] = x
				case ColumnsHalfDuplicated:
					dst[k], dst[n+k] = x, x
				default:
					dst[2*k], dst[2*k+1] = x, x
				}
			}
		})
	}
	return make1(&c), make1(&s)
}

func TestRotaryCaches(t *testing.T) {
	recipes := []schemes.Recipe{schemes.RecipePow, schemes.RecipeExact, schemes.RecipeExp, schemes.RecipeGGML}
	for _, p := range []Precision{Float32, Float16, BFloat16} {
		t.Run(string(p), func(t *testing.T) {
			const draws = 200
			mayMiss := map[Precision]float64{Float32: 0.03, Float16: 0.25, BFloat16: 0.25}[p]
			r := rand.New(rand.NewPCG(7, 8))
			missed, unequal := map[string]int{}, 0
			for range draws {
				want := randomRotary(r)
				recipe := recipes[r.IntN(len(recipes))]
				rows := []int{11, 16, 64, 192}[r.IntN(4)]
				columns := []string{ColumnsHalf, ColumnsHalfDuplicated, ColumnsInterleavedDuplicated}[r.IntN(3)]
				cos, sin := cacheOf(want, recipe, rows, 0, columns, p)
				got, ok := RotaryCache(cos, sin, p)
				if !ok || got.Columns != columns || got.Start != 0 {
					t.Errorf("%v, recipe %q, %d rows, %s: %v, start %v, %s", want, recipe, rows, columns, got.Rotary, got.Start, got.Frequencies.Why)
					continue
				}
				fits := scalingType(got.Rotary) == scalingType(want)
				for _, a := range got.Frequencies.Also {
					fits = fits || scalingType(a) == scalingType(want)
				}
				if !fits || scalingType(got.Rotary) == scalingType(want) && off(got.Rotary.Base, want.Base) > 2e-2 {
					missed[scalingType(want)+" as "+scalingType(got.Rotary)]++
					if p == Float32 {
						t.Logf("%v, recipe %q, %d rows is read as %v: %s", want, recipe, rows, got.Rotary, got.Frequencies.Why)
					}
				}
				if p == Float32 && recipe != schemes.RecipeGGML && !sameCache(want, recipe, got, rows, 4*rows, p) {
					unequal++
					t.Logf("%v, recipe %q, %d rows: beyond the table %q differs, within it %d of %d", want, recipe, rows, got.Recipe, got.Different, got.Compared)
				}
			}
			n := 0
			for _, k := range missed {
				n += k
			}
			t.Logf("%d missed %v, %d not bit-equal beyond the table, of %d", n, missed, unequal, draws)
			if float64(n) > mayMiss*draws {
				t.Error("too many missed")
			}
		})
	}
}

func sameCache(want schemes.Rotary, recipe schemes.Recipe, got CacheResult, first, end int, p Precision) bool {
	n := want.Pairs()
	a, b := want.Rotator(recipe, 0), got.Rotator()
	c1, s1, c2, s2 := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	for r := first; r < end; r++ {
		a.Row(float64(r), c1, s1)
		b.Row(float64(r), c2, s2)
		for k := range n {
			if p.Round(c1[k]) != p.Round(c2[k]) || p.Round(s1[k]) != p.Round(s2[k]) {
				return false
			}
		}
	}
	return true
}

func TestSmallRotaryCaches(t *testing.T) {
	for _, p := range []Precision{Float32, Float16, BFloat16} {
		for _, dim := range []int{4, 8, 16, 32} {
			for _, rows := range []int{11, 32, 192} {
				for _, start := range []float64{0, 1, 3} {
					want := schemes.Rotary{Base: 10000, Dim: dim}
					cos, sin := cacheOf(want, schemes.RecipePow, rows, start, ColumnsHalf, p)
					got, ok := RotaryCache(cos, sin, p)
					if !ok || got.Rotary.Base != 10000 || got.Start != start || scalingType(got.Rotary) != schemes.ScalingNone {
						t.Errorf("%s, dim %d, %d rows from %v: %v %v, start %v, %s", p, dim, rows, start, ok, got.Rotary, got.Start, got.Frequencies.Why)
					}
					if _, ok := RotaryCache(sin, cos, p); ok {
						t.Errorf("%s, dim %d, %d rows from %v: passes with cos and sin exchanged", p, dim, rows, start)
					}
				}
			}
		}
	}
}

func TestPackedRotaryCache(t *testing.T) {
	want := schemes.Rotary{Base: 10000, Dim: 64}
	cos, sin := cacheOf(want, schemes.RecipePow, 100, 0, ColumnsHalf, Float32)
	for order, isCos := range map[string]func(c int) (bool, int){
		PackedSinCos:      func(c int) (bool, int) { return c >= 32, c % 32 },
		PackedCosSin:      func(c int) (bool, int) { return c < 32, c % 32 },
		PackedSinCosTurns: func(c int) (bool, int) { return c%2 == 1, c / 2 },
		PackedCosSinTurns: func(c int) (bool, int) { return c%2 == 0, c / 2 },
	} {
		m := Func(100, 64, func(r, c int) float64 {
			which, k := isCos(c)
			if PackedColumn(order, k, 32, !which) != c {
				t.Fatalf("%s: pair %d is in column %d, not %d", order, k, c, PackedColumn(order, k, 32, !which))
			}
			if which {
				return cos.At(r, k)
			}
			return sin.At(r, k)
		})
		got, ok := PackedRotaryCache(m, Float32)
		if !ok || got.Packed != order || got.Rotary.Base != 10000 || got.Different != 0 {
			t.Errorf("%s: %v %+v", order, ok, got)
		}
	}
}

func TestLearnedTablesAreRefused(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	sinusoid := schemes.Sinusoid{Base: 10000, Dim: 32, Layout: schemes.LayoutSinCos, Denominator: schemes.DenominatorHalf}
	row := make([]float64, 32)
	decoys := map[string]func(i, c int) float64{
		"normal":   func(_, _ int) float64 { return r.NormFloat64() * 0.02 },
		"constant": func(_, _ int) float64 { return 1 },
		"zero":     func(_, _ int) float64 { return 0 },
		"line":     func(i, c int) float64 { return float64(i) * float64(c) },
		"trained a little": func(i, c int) float64 {
			sinusoid.Row(i, row)
			return row[c] + r.NormFloat64()*1e-3
		},
		"one entry changed": func(i, c int) float64 {
			sinusoid.Row(i, row)
			if i == 7 && c == 3 {
				return row[c] + 1e-3
			}
			return row[c]
		},
		"one row repeated": func(i, c int) float64 {
			sinusoid.Row(min(i, 60), row)
			return row[c]
		},
		"random phases": func(i, c int) float64 {
			return math.Cos(float64((i*i*31)%97) + float64(c/2) - float64(c%2)*math.Pi/2)
		},
		"random signs": func(i, c int) float64 { return float64(2*r.IntN(2) - 1) },
		"not a number": func(i, c int) float64 { return math.NaN() },
	}
	for name, at := range decoys {
		values := make([]float64, 64*32)
		for i := range values {
			values[i] = at(i/32, i%32)
		}
		m := Dense(64, 32, rounded(values, Float32))
		if got, ok := AdditiveTable(m, Float32); ok {
			t.Errorf("%s passes as a sinusoid: %v", name, got.Sinusoid)
		}
		if got, ok := PackedRotaryCache(m, Float32); ok {
			t.Errorf("%s passes as a cache: %v", name, got.Rotary)
		}
	}
}

func TestOddSinusoids(t *testing.T) {
	for _, den := range []string{schemes.DenominatorHalf, schemes.DenominatorHalfMinusOne} {
		for _, layout := range []string{schemes.LayoutSinCos, schemes.LayoutInterleaved} {
			want := schemes.Sinusoid{Base: 10000, Dim: 33, Layout: layout, Denominator: den, Rows: 80}
			got, ok := AdditiveTable(tableOf(80, 33, Float32, want.Table().Row), Float32)
			if !ok || !want.Equal(got.Sinusoid) {
				t.Errorf("%v is read as %v, %v", want, got.Sinusoid, got.Why)
			}
		}
	}
}

// TestNegativeAmplitude reads sines whose trained factor lies below zero.
func TestNegativeAmplitude(t *testing.T) {
	for _, amplitude := range []float64{-1, -0.0625, -0.0440385} {
		want := schemes.Sinusoid{Base: 10000, Dim: 32, Layout: schemes.LayoutInterleaved, Denominator: schemes.DenominatorHalf, Rows: 64, Amplitude: amplitude}
		got, ok := AdditiveTable(tableOf(64, 32, Float32, want.Table().Row), Float32)
		if !ok || off(got.Sinusoid.Base, 10000) > 1e-9 || off(got.Sinusoid.Amplitude, amplitude) > 1e-6 {
			t.Errorf("%v is read as %v, %v, %v", want, got.Sinusoid, ok, got.Why)
		}
	}
}

func TestSlopes(t *testing.T) {
	for heads := 1; heads <= 128; heads++ {
		for _, bias := range []float64{8, 4, 16} {
			for _, p := range []Precision{Float32, Float16, BFloat16} {
				s := rounded(schemes.ALiBiSlopes(heads, bias), p)
				if heads%2 == 0 {
					for i := range s {
						s[i] = -s[i]
					}
				}
				a, residual, ok := Slopes(s, p)
				if p != Float16 && (!ok || a.MaxBias != bias || a.Heads != heads) {
					t.Fatalf("%d heads, %g, %s: %v, residual %g, %v", heads, bias, p, a, residual, ok)
				}
			}
		}
	}
	for _, s := range [][]float64{nil, {0}, {1, 2, 3}, {0.5, 0.25, -0.125}, {math.NaN()}, {0.7, 0.5, 0.1, 0.01}} {
		if a, _, ok := Slopes(s, Float32); ok {
			t.Errorf("%v passes as %v", s, a)
		}
	}
}

// FuzzTables holds that no table brings a fit down.
func FuzzTables(f *testing.F) {
	f.Add([]byte{0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8}, uint8(3))
	f.Add(make([]byte, 64), uint8(4))
	f.Add([]byte("\x00\x3c\x00\x00\x38\x3c\x11\x0f\x00\x7c\x00\x80"), uint8(2))
	precisions := []Precision{Float32, Float16, BFloat16}
	f.Fuzz(func(t *testing.T, b []byte, cols uint8) {
		n := max(int(cols%40), 1)
		rows := min(len(b)/n, 200)
		m := Func(rows, n, func(r, c int) float64 { return math.Sin(float64(b[r*n+c]) / 20) })
		if rows > 2 && b[0]%5 == 0 {
			m = Func(rows, n, func(r, c int) float64 {
				return math.Cos(float64(r)*float64(b[c])/99 + float64(b[n+c]%2)*math.Pi/2)
			})
		}
		if rows == 0 {
			return
		}
		p := precisions[int(b[0])%3]
		AdditiveTable(m, p)
		PackedRotaryCache(m, p)
		RotaryCache(m, m, p)
		GridTable(m, p, nil)
		s := make([]float64, n)
		for c := range s {
			s[c] = m.At(0, c)
		}
		Slopes(s, p)
	})
}

// TestNumbersThatHardlyDiffer holds that large numbers which differ by little more
// than their rounding from row to row are no sinusoids.
func TestNumbersThatHardlyDiffer(t *testing.T) {
	for i := 1; i < 250_000; i += 977 {
		m := Func(5, 4, func(r, c int) float64 { k := 4*r + c; return float64(float32(i*100 + k*k)) })
		if found, ok := AdditiveTable(m, Float32); ok {
			t.Fatalf("table %d: %v", i, found.Sinusoid)
		}
	}
}
