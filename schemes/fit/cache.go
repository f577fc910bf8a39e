package fit

import (
	"math"

	"github.com/modelpatch/modelpatch/schemes"
)

// Words for how a cos or sin table's columns hold the pairs.
const (
	ColumnsHalf                  = "half"                   // one column a pair
	ColumnsHalfDuplicated        = "half-duplicated"        // all pairs, then all again (Hugging Face)
	ColumnsInterleavedDuplicated = "interleaved-duplicated" // each pair twice (Cohere, GPT-J)
)

// Words for the order of sines and cosines in a packed table: all of one, then
// all of the other, or in turns, pair by pair (torchtune, ChatGLM, complex
// numbers stored as two).
const (
	PackedSinCos      = "sin-cos"
	PackedCosSin      = "cos-sin"
	PackedSinCosTurns = "sin-cos-turns"
	PackedCosSinTurns = "cos-sin-turns"
)

// PackedColumn is the column of pair k's sine or cosine in a packed row of n
// pairs.
func PackedColumn(order string, k, n int, sine bool) int {
	second := sine == (order == PackedCosSin || order == PackedCosSinTurns)
	turns := order == PackedSinCosTurns || order == PackedCosSinTurns
	switch {
	case turns && second:
		return 2*k + 1
	case turns:
		return 2 * k
	case second:
		return n + k
	}
	return k
}

// CacheResult is an explanation of cos and sin tables.
type CacheResult struct {
	// Rotary is the encoding; its Scaling.Frequencies reproduce the rows best
	// under Recipe, and its AttentionFactor is the tables' amplitude. Layout is
	// set where duplicated columns tell it.
	Rotary    schemes.Rotary
	Amplitude float64
	Columns   string
	Start     float64 // position of row 0
	Recipe    schemes.Recipe
	// Different is how many of the Compared entries are not bit-equal to those
	// that Recipe gives.
	Different, Compared int
	// Residual is the largest difference from Recipe's entries, relative to
	// the amplitude.
	Residual float64
	// Frequencies is the explanation of the frequencies: what else fits, why.
	Frequencies Result
	Packed      string // PackedRotaryCache: the order
}

// RotaryCache explains tables of cos and sin by position that were stored in
// the given precision: [N, pairs], or [N, 2·pairs] with every pair twice. It
// reports false for tables of anything else, also when cos and sin are
// exchanged (facts/NUMERICS §8 B).
func RotaryCache(cos, sin Matrix, p Precision) (CacheResult, bool) {
	if cos.Rows() != sin.Rows() || cos.Cols() != sin.Cols() || cos.Rows() < 2 || cos.Cols() < 1 {
		return CacheResult{}, false
	}
	rows := someRows(cos)
	for _, c := range columnOrders(cos, sin, rows) {
		t := &phases{rows: cos.Rows(), pairs: c.pairs, precision: p,
			cos: func(r, k int) float64 { return cos.At(r, c.column(k)) },
			sin: func(r, k int) float64 { return sin.At(r, c.column(k)) },
		}
		if out, ok := t.explainCache(rows); ok {
			out.Columns, out.Rotary.Layout = c.name, c.layout
			return out, true
		}
	}
	return CacheResult{}, false
}

// PackedRotaryCache explains one table whose rows hold the sines and the
// cosines, in any of the orders above (GPT-J: sin, cos).
func PackedRotaryCache(m Matrix, p Precision) (out CacheResult, ok bool) {
	if m.Cols()%2 != 0 || m.Cols() == 0 {
		return CacheResult{}, false
	}
	n := m.Cols() / 2
	for _, order := range []string{PackedSinCos, PackedCosSin, PackedCosSinTurns, PackedSinCosTurns} {
		cos := columns(m, n, func(k int) int { return PackedColumn(order, k, n, false) })
		sin := columns(m, n, func(k int) int { return PackedColumn(order, k, n, true) })
		if out, ok = RotaryCache(cos, sin, p); ok {
			out.Packed = order
			return out, true
		}
	}
	return out, false
}

// columnOrder is a way to find the column of a pair.
type columnOrder struct {
	name, layout string
	pairs        int
	column       func(k int) int
}

// columnOrders are the ways that the tables allow. Exact duplicates are no
// accident, except of pairs that do not turn.
func columnOrders(cos, sin Matrix, rows []int) []columnOrder {
	n := cos.Cols()
	var all []columnOrder
	if n%2 == 0 {
		halves := columnOrder{ColumnsHalfDuplicated, schemes.LayoutHalf, n / 2, func(k int) int { return k }}
		pairs := columnOrder{ColumnsInterleavedDuplicated, schemes.LayoutInterleaved, n / 2, func(k int) int { return 2 * k }}
		if duplicated(cos, sin, rows, func(k int) (int, int) { return k, n/2 + k }) {
			all = append(all, halves)
		}
		if duplicated(cos, sin, rows, func(k int) (int, int) { return 2 * k, 2*k + 1 }) {
			all = append(all, pairs)
		}
	}
	return append(all, columnOrder{ColumnsHalf, "", n, func(k int) int { return k }})
}

func duplicated(cos, sin Matrix, rows []int, twins func(k int) (int, int)) bool {
	for _, r := range rows {
		for k := range cos.Cols() / 2 {
			a, b := twins(k)
			if cos.At(r, a) != cos.At(r, b) || sin.At(r, a) != sin.At(r, b) {
				return false
			}
		}
	}
	return true
}

// explainCache goes from phases to frequencies, to the scheme, and back to the
// rows.
func (t *phases) explainCache(rows []int) (CacheResult, bool) {
	if !t.isCircle(rows) {
		return CacheResult{}, false
	}
	f, sigma := t.frequencies()
	t.still(f)
	out := CacheResult{Start: t.start(f, sigma)}
	t.sharpenAmplitude(out.Start)
	measured := t.amplitude
	for _, o := range []Options{{Amplitude: measured}, {Amplitude: measured, asMeasured: true}} {
		found := explain(f, sigma, t.precision, o)
		if !found.OK {
			return CacheResult{}, false
		}
		t.amplitude = measured
		t.nameAmplitude(&found)
		out.Frequencies, out.Rotary, out.Amplitude = found, found.Rotary, t.amplitude
		if t.chooseRecipe(&out, rows) {
			return out, true
		}
		// A rounder number than the rows allow was taken.
	}
	return CacheResult{}, false
}

// still sets frequencies to zero whose column never moves.
func (t *phases) still(f []float64) {
	last := t.rows - 1
	for k := range f {
		moved := false
		for _, r := range []int{last, last / 2} {
			moved = moved || t.sin(r, k) != t.sin(0, k)
		}
		if !moved && math.Abs(f[k])*float64(t.rows) < t.precision.Step() {
			f[k] = 0
		}
	}
}

// sharpenAmplitude takes 1, or the cosine of angle 0, for the mean amplitude
// where that is as near as rounding lets it be.
func (t *phases) sharpenAmplitude(start float64) {
	limit := t.precision.amplitudeError()
	if math.Abs(t.amplitude-1) <= limit {
		t.amplitude = 1
	} else if start == 0 && len(t.skip) == 0 && off1(t.cos(0, 0), t.amplitude) <= limit {
		t.amplitude = t.cos(0, 0)
	}
}

func off1(got, want float64) float64 { return math.Abs(got/want - 1) }

// nameAmplitude replaces the measured amplitude by that of the scheme's formula
// when the two agree.
func (t *phases) nameAmplitude(r *Result) {
	s := &r.Rotary.Scaling
	if own := s.Kind().Amplitude; own != nil && s.Factor > 1 {
		formula := own(*s)
		if off1(formula, t.amplitude) <= t.precision.amplitudeError() {
			t.amplitude = formula
		}
	}
	s.AttentionFactor = t.amplitude
}

// chooseRecipe finds, on a sample, the rounding steps that give the table back,
// and confirms them on the given rows.
func (t *phases) chooseRecipe(out *CacheResult, rows []int) bool {
	sample := spread(t.rows, rowsToCompare)
	formula := out.Rotary
	formula.Scaling.Frequencies = nil
	var best replay
	chosen := -1
	computable := !formula.Scaling.Kind().Listed && t.computes(formula, out.Rotary)
	if computable {
		for i, recipe := range recipes {
			got := t.replay(formula.Rotator(recipe, 0), out.Start, sample)
			if chosen < 0 || got.better(best) {
				best, chosen = got, i
			}
		}
		out.Recipe = recipes[chosen]
		out.Rotary.Scaling.Frequencies = frequenciesUnder(formula, out.Recipe)
	}
	if !computable || best.different > 0 && out.Recipe != schemes.RecipeGGML {
		t.refineRecipe(out, &best, sample, chosen >= 0)
	}
	if len(rows) > len(sample) {
		best = t.replay(out.Rotator(), out.Start, rows)
	}
	out.Different, out.Residual, out.Compared = best.different, best.worst, 2*t.pairs*len(rows)
	return !best.beyond
}

// Rotator computes rows as the result claims that the tables' were made, those
// beyond their end too. Row r of the tables is position r + Start.
func (c CacheResult) Rotator() *schemes.Rotator { return c.Rotary.Rotator(c.Recipe, 0) }

// computes reports whether a formula is complete enough to compute with: its
// frequencies are those that were found.
func (t *phases) computes(formula, found schemes.Rotary) bool {
	for i, f := range formula.InverseFrequencies() {
		if math.IsNaN(f) || off1(f, found.Scaling.Frequencies[i]) > 1e-2 && f != found.Scaling.Frequencies[i] && found.Scaling.Frequencies[i] > lost16 {
			return false
		}
	}
	return true
}

// frequenciesUnder are the frequencies of a recipe, those of powf where the
// recipe has none.
func frequenciesUnder(r schemes.Rotary, recipe schemes.Recipe) []float64 {
	if recipe == schemes.RecipeGGML {
		recipe = schemes.RecipeExact
	}
	return r.Rotator(recipe, 0).Frequencies()
}

// refineRecipe tries the frequencies themselves, as float32 numbers.
func (t *phases) refineRecipe(out *CacheResult, best *replay, rows []int, hasFormula bool) {
	refined := out.Rotary
	refined.Scaling.Frequencies = t.refine(out.Rotary.Scaling.Frequencies, out.Start)
	got := t.replay(refined.Rotator(schemes.RecipePow, 0), out.Start, rows)
	if !hasFormula || got.better(*best) {
		*best, out.Recipe = got, schemes.RecipePow
		out.Rotary.Scaling.Frequencies = refined.Scaling.Frequencies
	}
}

// replay compares a rotator's rows with the table's.
func (t *phases) replay(r *schemes.Rotator, start float64, rows []int) replay {
	cos, sin := make([]float64, t.pairs), make([]float64, t.pairs)
	var out replay
	for _, i := range rows {
		position := float64(i) + start
		r.Row(position, cos, sin)
		for k := range t.pairs {
			out.see(cos[k], t.cos(i, k), t.precision, t.amplitude, position)
			out.see(sin[k], t.sin(i, k), t.precision, t.amplitude, position)
		}
	}
	return out
}
