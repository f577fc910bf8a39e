package fit

import (
	"fmt"
	"math"
	"slices"

	"github.com/modelpatch/modelpatch/schemes"
)

// SinusoidResult is an explanation of an additive table.
type SinusoidResult struct {
	// Sinusoid has the table's Rows, the rows of zeros and what follows from
	// them for the Offset. Its Recipe, with its Frequencies if they are set,
	// gives the rows back best.
	Sinusoid schemes.Sinusoid
	// Different is how many of the Compared entries are not bit-equal to those
	// that the recipe gives; Residual the largest difference, relative to the
	// amplitude.
	Different, Compared int
	Residual            float64
	// Also are other parameters that fit alike.
	Also []schemes.Sinusoid
	Why  string
}

// manyColumns is with how many columns three rows tell a formula: each pair has a circle and a turn
// to fit in them.
const manyColumns = 16

// mostZeroRows is how many rows a table may reserve; more are no padding.
const mostZeroRows = 8

// AdditiveTable explains a table of sines and cosines of positions that was
// stored in the given precision. It reports false for any other table: learned
// ones, random ones, bags of waves (facts/NUMERICS §2, §8 B).
func AdditiveTable(m Matrix, p Precision) (SinusoidResult, bool) {
	if r, ok := additiveTable(m, p); ok {
		return r, true
	}
	if !OnCircles(m, p) {
		return SinusoidResult{}, false
	}
	r, ok := additiveTable(Func(m.Rows(), m.Cols(), func(r, c int) float64 { return -m.At(r, c) }), p)
	if a := r.Sinusoid.Amplitude; a == 0 {
		r.Sinusoid.Amplitude = -1
	} else {
		r.Sinusoid.Amplitude = -a // a trained factor may come to lie below zero
	}
	return r, ok
}

// additiveTable is AdditiveTable where the amplitude is no less than zero.
func additiveTable(m Matrix, p Precision) (SinusoidResult, bool) {
	rows := someRows(m)
	least := 4
	if m.Cols() >= manyColumns {
		least = 3
	}
	if m.Rows() < least || m.Cols() < 2 {
		return SinusoidResult{}, false
	}
	zero := zeroRows(m)
	if len(zero) > mostZeroRows || m.Rows()-len(zero) < least {
		return SinusoidResult{}, false
	}
	var best SinusoidResult
	ok := false
	for _, pairing := range pairings(m, rows) {
		t := pairing.phases(m, p, zero)
		found, fits := t.explainAdditive(m, pairing, rows)
		if fits && (!ok || found.Different < best.Different) {
			best, ok = found, true
		}
	}
	return best, ok
}

// zeroRows are the rows that hold nothing but zeros.
func zeroRows(m Matrix) []int {
	var zero []int
	for r := range m.Rows() {
		if isZero(m, r) {
			if zero = append(zero, r); len(zero) > mostZeroRows {
				break
			}
		}
	}
	return zero
}

// isZero reports whether a row holds nothing but zeros.
func isZero(m Matrix, r int) bool {
	c := 0
	for c < m.Cols() && m.At(r, c) == 0 {
		c++
	}
	return c == m.Cols()
}

// pairing is a way in which columns belong together; a and b are those of a
// pair, of which either may be the sine.
type pairing struct {
	interleaved bool
	pairs       int
	a, b        func(k int) int
	zeroLast    bool // the last column of an odd width is empty
}

// pairings are the ways that a width allows. In an odd width the kind that
// comes first has a column more, or the last column is empty.
func pairings(m Matrix, rows []int) []pairing {
	d := m.Cols()
	n := d / 2
	second := (d + 1) / 2
	zeroLast := d%2 == 1
	for _, r := range rows {
		zeroLast = zeroLast && m.At(r, d-1) == 0
	}
	if zeroLast {
		second = n
	}
	return []pairing{
		{true, n, func(k int) int { return 2 * k }, func(k int) int { return 2*k + 1 }, zeroLast},
		{false, n, func(k int) int { return k }, func(k int) int { return second + k }, zeroLast},
	}
}

func (g pairing) phases(m Matrix, p Precision, zero []int) *phases {
	return &phases{rows: m.Rows(), pairs: g.pairs, precision: p, skip: zero,
		sin: func(r, k int) float64 { return m.At(r, g.a(k)) },
		cos: func(r, k int) float64 { return m.At(r, g.b(k)) },
	}
}

func (g pairing) layout(cosFirst bool) string {
	switch {
	case g.interleaved && cosFirst:
		return schemes.LayoutInterleavedCosSin
	case g.interleaved:
		return schemes.LayoutInterleaved
	case cosFirst:
		return schemes.LayoutCosSin
	}
	return schemes.LayoutSinCos
}

// leastTurn is the least angle, in radians from row to row, of a sinusoid's fastest
// pair: it is 1 (Vaswani et al. 2017, §3.5), less where positions were interpolated.
// Large numbers that hardly differ from row to row lie on circles too, whose turns
// are as small as their rounding.
const leastTurn = 1e-3

func (t *phases) explainAdditive(m Matrix, g pairing, rows []int) (SinusoidResult, bool) {
	if !t.isCircle(rows) {
		return SinusoidResult{}, false
	}
	f, sigma := t.frequencies()
	cosFirst := f[0] < 0
	if cosFirst {
		t.cos, t.sin = t.sin, t.cos
		for k := range f {
			f[k] = -f[k]
		}
	}
	if implausible(f) != "" || !descends(f, sigma) || slices.Max(f) < leastTurn {
		return SinusoidResult{}, false
	}
	start := t.start(f, sigma)
	t.sharpenAdditive(m.Cols())
	base := schemes.Sinusoid{
		Dim: m.Cols(), Layout: g.layout(cosFirst), Start: start, Rows: m.Rows(),
		ZeroRows: slices.Clone(t.skip), Denominator: schemes.DenominatorHalf,
	}
	if t.amplitude != 1 {
		base.Amplitude = t.amplitude
	}
	if n := len(t.skip); n > 0 && t.skip[n-1] < mostZeroRows {
		base.Offset = t.skip[n-1] + 1
	}
	v := newVector(f, sigma, Options{})
	candidates := v.sinusoids(base, g)
	if len(candidates) == 0 {
		return t.freeSinusoid(base, f, g, m, rows)
	}
	return t.chooseSinusoid(candidates, m, rows)
}

// sharpenAdditive takes 1, or the root of the width, its inverse, or any round
// number, for the amplitude where rounding allows it.
func (t *phases) sharpenAdditive(width int) {
	limit := t.precision.amplitudeError()
	root := math.Sqrt(float64(width))
	for _, a := range []float64{1, root, 1 / root} {
		if off1(t.amplitude, a) <= limit {
			t.amplitude = a
			return
		}
	}
	if round, digits := roundest(t.amplitude, limit); digits <= roundDigits {
		t.amplitude = round
	}
}

// sinusoids are the formulas that the frequencies allow, under both
// denominators; the rounder base first.
func (v vector) sinusoids(base schemes.Sinusoid, g pairing) []schemes.Sinusoid {
	n := len(v.f)
	if n == 1 {
		base.Base = DefaultBase
		if math.Abs(v.y[0]) <= v.limit(0) {
			return []schemes.Sinusoid{base}
		}
		return nil
	}
	l := v.fitLine(0, n, true)
	if v.telling() < 2 || !v.onLine(l, 0, n) || l.slope <= 0 {
		return nil
	}
	relative := v.baseError(n) / float64(n) // of the slope, per unit of denominator
	type candidate struct {
		schemes.Sinusoid
		digits int
	}
	var all []candidate
	add := func(denominator string, den float64) {
		s := base
		s.Denominator = denominator
		exact := math.Exp(l.slope * den)
		_, digits := roundest(exact, relative*den)
		s.Base = v.snap(exact, relative*den)
		if !v.allows(s.Base, den) {
			s.Base, digits = exact, 17
		}
		all = append(all, candidate{s, digits})
	}
	odd := base.Dim%2 == 1
	if !odd || !g.zeroLast {
		add(schemes.DenominatorHalf, float64(base.Dim)/2)
	}
	if n > 2 && (!odd || g.zeroLast) {
		add(schemes.DenominatorHalfMinusOne, float64(n-1))
	}
	slices.SortStableFunc(all, func(a, b candidate) int { return a.digits - b.digits })
	out := make([]schemes.Sinusoid, 0, len(all))
	for i, c := range all {
		// A base of many digits is the other denominator's in disguise.
		if i == 0 || c.digits < all[0].digits+rounderBy {
			out = append(out, c.Sinusoid)
		}
	}
	return out
}

// allows reports whether a base under a denominator explains the frequencies.
func (v vector) allows(base, den float64) bool {
	f := make([]float64, len(v.f))
	for k := range f {
		f[k] = math.Pow(base, -float64(k)/den)
	}
	_, ok := v.explains(f)
	return ok
}

// chooseSinusoid finds, on a sample, the formula and rounding steps that give
// the table back, and confirms them on the given rows.
func (t *phases) chooseSinusoid(candidates []schemes.Sinusoid, m Matrix, rows []int) (SinusoidResult, bool) {
	var out SinusoidResult
	var best replay
	chosen := -1
	sample := spread(t.rows, rowsToCompare)
	for i, c := range candidates {
		for _, recipe := range []schemes.Recipe{schemes.RecipeExact, schemes.RecipeExp, schemes.RecipePow} {
			c.Recipe = recipe
			got := replaySinusoid(c, m, t.precision, t.amplitude, sample)
			if chosen < 0 || got.better(best) {
				best, chosen, out.Sinusoid = got, i, c
			}
		}
	}
	if best.different > 0 {
		t.refineSinusoid(&out.Sinusoid, &best, m, sample)
	}
	for i, c := range candidates {
		if i != chosen && !replaySinusoid(c, m, t.precision, t.amplitude, sample).beyond {
			out.Also = append(out.Also, c)
		}
	}
	if len(rows) > len(sample) {
		best = replaySinusoid(out.Sinusoid, m, t.precision, t.amplitude, rows)
	}
	out.Different, out.Residual, out.Compared = best.different, best.worst, m.Cols()*len(rows)
	out.Why = fmt.Sprintf("%d pairs of columns on circles, %d of %d entries bit-equal",
		t.pairs, out.Compared-out.Different, out.Compared)
	return out, !best.beyond
}

// refineSinusoid tries float32 frequencies of its own.
func (t *phases) refineSinusoid(s *schemes.Sinusoid, best *replay, m Matrix, rows []int) {
	if s.Dim%2 == 1 && s.Denominator == schemes.DenominatorHalf {
		return // the last column stands alone, and its frequency with it
	}
	refined := *s
	from := *s
	if from.Recipe == schemes.RecipeExact {
		from.Recipe = schemes.RecipeExp
	}
	refined.Recipe = from.Recipe
	refined.Frequencies = t.refine(from.InverseFrequencies(), s.Start)
	got := replaySinusoid(refined, m, t.precision, t.amplitude, rows)
	if got.better(*best) {
		*s, *best = refined, got
	}
}

// freeSinusoid is a table of waves whose frequencies follow no formula of ours
// and yet run through all its rows.
func (t *phases) freeSinusoid(s schemes.Sinusoid, f []float64, g pairing, m Matrix, rows []int) (SinusoidResult, bool) {
	if g.zeroLast || s.Dim%2 == 1 || len(f) < 2 {
		return SinusoidResult{}, false
	}
	s.Recipe = schemes.RecipeExp
	s.Frequencies = t.refine(f, s.Start)
	got := replaySinusoid(s, m, t.precision, t.amplitude, rows)
	return SinusoidResult{
		Sinusoid: s, Different: got.different, Residual: got.worst, Compared: m.Cols() * len(rows),
		Why: "waves whose frequencies follow no formula",
	}, !got.beyond
}

func replaySinusoid(s schemes.Sinusoid, m Matrix, p Precision, amplitude float64, rows []int) replay {
	table, row := s.Table(), make([]float64, s.Dim)
	var out replay
	for _, r := range rows {
		table.Row(r, row)
		for c := range row {
			out.see(row[c], m.At(r, c), p, amplitude, float64(r)+s.Start)
		}
	}
	return out
}
