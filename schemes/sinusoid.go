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
		return s.InverseAxisFrequencies(0)
	}
	return s.formula(s.firsts(), s.den())
}

// InverseAxisFrequencies are those of an axis of a grid: Base^(−k/den), half as many as the axis
// has columns, which is den, or den one less.
func (s Sinusoid) InverseAxisFrequencies(axis int) []float64 {
	pairs := len(s.axisColumns()[axis]) / 2
	if s.Denominator == DenominatorHalfMinusOne {
		return s.formula(pairs, float64(pairs-1))
	}
	return s.formula(pairs, float64(pairs))
}

// axisColumns are AxisColumns, those that are meant where there are none.
func (s Sinusoid) axisColumns() [][]int {
	if s.AxisColumns != nil {
		return s.AxisColumns
	}
	out := make([][]int, len(s.Grid))
	each := s.Dim / len(s.Grid)
	for axis := range out {
		for c := range each {
			out[axis] = append(out[axis], axis*each+c)
		}
	}
	return out
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
	t := &SinusoidTable{Sinusoid: s, frequencies: s.InverseFrequencies()}
	if s.Grid != nil {
		t.AxisColumns = s.axisColumns()
		for axis := range s.Grid {
			t.ofAxes = append(t.ofAxes, s.InverseAxisFrequencies(axis))
		}
	}
	return t
}

// SinusoidTable computes rows of a Sinusoid.
type SinusoidTable struct {
	Sinusoid
	frequencies []float64
	ofAxes      [][]float64 // of a grid
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
			sin, cos := t.sinCos(float64(p)+t.Start, t.frequencies[k])
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

// AxisPlaces are the places of the k-th sine and cosine among the columns of an axis.
func (s Sinusoid) AxisPlaces(columns []int, k int) (sin, cos int) {
	half := len(columns) / 2
	switch s.Layout {
	case LayoutInterleaved:
		return columns[2*k], columns[2*k+1]
	case LayoutInterleavedCosSin:
		return columns[2*k+1], columns[2*k]
	case LayoutCosSin:
		return columns[half+k], columns[k]
	}
	return columns[k], columns[half+k]
}

// gridRow is a row of a table of a grid (MAE, ViT, DiT; LoFTR; video transformers): sines and
// cosines of the cell's place on each axis.
func (t *SinusoidTable) gridRow(cell int, dst []float64) {
	if cell < 0 {
		return
	}
	for axis := len(t.Grid) - 1; axis >= 0; axis-- {
		step, start := t.columnSteps()
		if axis == 0 {
			step, start = orDefault(t.Step, 1), t.Start
		}
		place := float64(cell%t.Grid[axis])*step + start
		if axis == 0 {
			place = float64(cell)*step + start
		}
		cell /= t.Grid[axis]
		for k, f := range t.ofAxes[axis] {
			i, j := t.AxisPlaces(t.AxisColumns[axis], k)
			dst[i], dst[j] = t.sinCos(place, f)
		}
	}
}

// columnSteps are how far the columns of a grid are apart, and where they start.
func (s Sinusoid) columnSteps() (step, start float64) {
	if s.ColumnStep != 0 {
		return s.ColumnStep, s.ColumnStart
	}
	return orDefault(s.Step, 1), s.Start
}

func (t *SinusoidTable) sinCos(position, frequency float64) (sin, cos float64) {
	if t.Recipe == RecipeExact {
		sin, cos = math.Sincos(position * frequency)
		return sin * t.amplitude(), cos * t.amplitude()
	}
	s, c := sinCosf(times(float32(position), float32(frequency)))
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
		slices.Equal(s.Grid, o.Grid) && near(orDefault(s.Step, 1), orDefault(o.Step, 1)) && s.sameColumns(o) && s.Prefix == o.Prefix &&
		slices.EqualFunc(s.exactFrequencies(), o.exactFrequencies(), near)
}

// sameColumns reports whether the axes of two grids have the same columns.
func (s Sinusoid) sameColumns(o Sinusoid) bool {
	return len(s.Grid) == len(o.Grid) && (s.Grid == nil || slices.EqualFunc(s.axisColumns(), o.axisColumns(), slices.Equal[[]int]))
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
		said += ", grid " + Sizes(s.Grid)
	}
	if s.Step != 0 {
		said += fmt.Sprintf(" of patches %s apart from %s", Text(s.Step), Text(s.Start))
	}
	if s.ColumnStep != 0 {
		said += fmt.Sprintf(" down and %s apart from %s across", Text(s.ColumnStep), Text(s.ColumnStart))
	}
	return said
}
