package schemes

import (
	"fmt"
	"math"
	"slices"
)

// Name is "sinusoidal".
func (Sinusoid) Name() string { return NameSinusoidal }

// firsts is how many columns the kind that comes first has, sines or cosines.
// With the denominator d/2 an odd width gives it one more (Marian); with d/2−1
// the last column is zero instead (fairseq).
func (s Sinusoid) firsts() int {
	if s.Denominator == DenominatorHalfMinusOne {
		return s.Dim / 2
	}
	return (s.Dim + 1) / 2
}

// den is the denominator of the exponent.
func (s Sinusoid) den() float64 {
	if s.Denominator == DenominatorHalfMinusOne {
		return float64(s.Dim/2 - 1)
	}
	return float64(s.Dim) / 2
}

func (s Sinusoid) amplitude() float64 { return orDefault(s.Amplitude, 1) }

// InverseFrequencies are the angles per position, one per pair, as the recipe
// rounds them: Frequencies if they are set, else Base^(−k/den).
func (s Sinusoid) InverseFrequencies() []float64 {
	if s.Frequencies != nil {
		return slices.Clone(s.Frequencies)
	}
	if s.Grid != nil {
		return s.InverseGridFrequencies()
	}
	return s.formula(s.firsts(), s.den())
}

// InverseGridFrequencies are those of either axis of a two-dimensional table:
// Base^(−k/den), a quarter of the columns.
func (s Sinusoid) InverseGridFrequencies() []float64 {
	if s.Denominator == DenominatorHalfMinusOne {
		return s.formula(s.Dim/4, float64(s.Dim/4-1))
	}
	return s.formula(s.Dim/4, float64(s.Dim)/4)
}

func (s Sinusoid) formula(n int, den float64) []float64 {
	f := make([]float64, n)
	for k := range f {
		switch s.Recipe {
		case RecipeExp:
			f[k] = float64(expFrequency(s.Base, k, den))
		case RecipePow:
			f[k] = float64(powFrequency(s.Base, float64(2*k), 2*den))
		default:
			f[k] = math.Pow(s.Base, -float64(k)/den)
		}
	}
	return f
}

// Row computes row p of the table, p counted from its first row, into dst
// (Dim elements). With RecipeExact the numbers are float64; the other recipes
// give the float32 numbers of the programs they name.
func (s Sinusoid) Row(p int, dst []float64) { s.Table().Row(p, dst) }

// Table prepares rows, the frequencies worked out once.
func (s Sinusoid) Table() *SinusoidTable {
	return &SinusoidTable{s, s.InverseFrequencies()}
}

// SinusoidTable computes rows of a Sinusoid.
type SinusoidTable struct {
	Sinusoid
	frequencies []float64
}

// Row is Sinusoid.Row.
func (t *SinusoidTable) Row(p int, dst []float64) {
	clear(dst)
	switch {
	case slices.Contains(t.ZeroRows, p):
	case t.Grid != nil:
		t.gridRow(p-t.Prefix, dst)
	default:
		for k := range t.frequencies {
			sin, cos := t.sinCos(float64(p)+t.Start, k)
			i, j := t.columns(k)
			if i < len(dst) {
				dst[i] = sin
			}
			if j < len(dst) {
				dst[j] = cos
			}
		}
	}
}

// Places are the columns of the k-th sine and cosine in a row; one of the last two may
// lie outside of an odd width.
func (t *SinusoidTable) Places(k int) (sin, cos int) { return t.columns(k) }

// columns are the places of the k-th sine and cosine in a row; one of the last
// two may lie outside of an odd width.
func (t *SinusoidTable) columns(k int) (sin, cos int) {
	switch t.Layout {
	case LayoutSinCos:
		return k, t.firsts() + k
	case LayoutCosSin:
		return t.firsts() + k, k
	case LayoutInterleavedCosSin:
		return 2*k + 1, 2 * k
	}
	return 2 * k, 2*k + 1
}

// GridColumns are the places of the k-th sine and cosine of an axis in its half of
// a two-dimensional row.
func (s Sinusoid) GridColumns(k int) (sin, cos int) {
	q := s.Dim / 4
	switch s.Layout {
	case LayoutInterleaved:
		return 2 * k, 2*k + 1
	case LayoutInterleavedCosSin:
		return 2*k + 1, 2 * k
	case LayoutCosSin:
		return q + k, k
	}
	return k, q + k
}

// gridRow is a row of a two-dimensional table (MAE, ViT, DiT): half of the row
// each for the sines and cosines of y and of x.
func (t *SinusoidTable) gridRow(cell int, dst []float64) {
	if cell < 0 {
		return
	}
	step, start := t.columnSteps()
	first, second := float64(cell/t.Grid[1])*orDefault(t.Step, 1)+t.Start, float64(cell%t.Grid[1])*step+start
	if t.WidthFirst {
		first, second = second, first
	}
	half := t.Dim / 2
	for k := range t.frequencies {
		i, j := t.GridColumns(k)
		dst[i], dst[j] = t.sinCos(first, k)
		dst[half+i], dst[half+j] = t.sinCos(second, k)
	}
}

// columnSteps are how far the columns of a grid are apart, and where they start.
func (s Sinusoid) columnSteps() (step, start float64) {
	if s.ColumnStep != 0 {
		return s.ColumnStep, s.ColumnStart
	}
	return orDefault(s.Step, 1), s.Start
}

func (t *SinusoidTable) sinCos(position float64, k int) (sin, cos float64) {
	if t.Recipe == RecipeExact {
		sin, cos = math.Sincos(position * t.frequencies[k])
		return sin * t.amplitude(), cos * t.amplitude()
	}
	s, c := sinCosf(times(float32(position), float32(t.frequencies[k])))
	a := float32(t.amplitude())
	return float64(times(s, a)), float64(times(c, a))
}

// Equal reports whether other gives the same rows, but for rounding.
func (s Sinusoid) Equal(other Scheme) bool {
	o, ok := other.(Sinusoid)
	step, start := s.columnSteps()
	otherStep, otherStart := o.columnSteps()
	return ok && near(step, otherStep) && near(start, otherStart) && s.Dim == o.Dim && s.Layout == o.Layout && s.firsts() == o.firsts() &&
		near(s.amplitude(), o.amplitude()) && near(s.Start, o.Start) &&
		s.Rows == o.Rows && s.Offset == o.Offset && slices.Equal(s.ZeroRows, o.ZeroRows) &&
		slices.Equal(s.Grid, o.Grid) && near(orDefault(s.Step, 1), orDefault(o.Step, 1)) && s.WidthFirst == o.WidthFirst && s.Prefix == o.Prefix &&
		slices.EqualFunc(s.exactFrequencies(), o.exactFrequencies(), near)
}

// exactFrequencies are the formula's, without a recipe's rounding.
func (s Sinusoid) exactFrequencies() []float64 {
	if s.Base > 0 {
		s.Frequencies = nil
	}
	s.Recipe = RecipeExact
	return s.InverseFrequencies()
}

// String says the encoding in a line.
func (s Sinusoid) String() string {
	said := fmt.Sprintf("sinusoids of base %s, dim %d, %s, denominator d/2", Text(s.Base), s.Dim, s.Layout)
	if s.Denominator == DenominatorHalfMinusOne {
		said += "−1"
	}
	if s.Rows > 0 {
		said += fmt.Sprintf(", %d rows", s.Rows)
	}
	if s.Offset > 0 {
		said += fmt.Sprintf(", position 0 at row %d", s.Offset)
	}
	if s.amplitude() != 1 {
		said += ", amplitude " + Text(s.amplitude())
	}
	if s.Grid != nil {
		said += ", grid " + between("×", s.Grid)
	}
	if s.Step != 0 {
		said += fmt.Sprintf(" of patches %s apart from %s", Text(s.Step), Text(s.Start))
	}
	if s.ColumnStep != 0 {
		said += fmt.Sprintf(" down and %s apart from %s across", Text(s.ColumnStep), Text(s.ColumnStart))
	}
	return said
}
