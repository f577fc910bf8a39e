package fit

import (
	"math"
	"slices"

	"github.com/modelpatch/modelpatch/schemes"
)

// replay compares how a recipe's rows and a table's differ.
type replay struct {
	different int     // entries that are not bit-equal in the table's precision
	worst     float64 // largest difference, relative to the amplitude
	beyond    bool    // some entry lies further off than rounding explains
}

// better reports whether a recipe comes nearer than another.
func (a replay) better(b replay) bool {
	if a.beyond != b.beyond {
		return b.beyond
	}
	if a.different != b.different {
		return a.different < b.different
	}
	return a.worst < b.worst
}

// see compares one entry. position is that of its row.
func (a *replay) see(got, want float64, p Precision, amplitude, position float64) {
	d := math.Abs(p.Round(got)-want) / amplitude
	if d > 0 {
		a.different++
		a.worst = max(a.worst, d)
	}
	if !(d <= tableError(p, position)) {
		a.beyond = true
	}
}

// tableError is how far an entry may be from its formula: rounding of angles
// grows with the position, rounding of the entry does not.
func tableError(p Precision, position float64) float64 {
	return angleError*(1+math.Abs(position)) + entrySteps*p.Step()
}

// refine picks for each pair, of the float32 numbers around a frequency, the
// one whose float32 rows differ least from the table's. Makers' powf and expf
// are not always rounded correctly, and a bit of a frequency shows in all rows.
func (t *phases) refine(f []float64, start float64) []float64 {
	rows := spread(t.rows, rowsToCompare)
	out := slices.Clone(f)
	for k, centre := range f {
		least := math.MaxInt
		for _, candidate := range around(centre) {
			n := t.mismatches(k, candidate, start, rows, least)
			if n < least {
				least, out[k] = n, candidate
			}
			if n == 0 {
				break
			}
		}
	}
	return out
}

const (
	// rowsToCompare is the sample on which recipes are compared.
	rowsToCompare = 512
	// refineSteps is how many float32 numbers on either side are tried.
	refineSteps = 16
)

// around are the float32 numbers nearest to x, the nearest first.
func around(x float64) []float64 {
	centre := float32(x)
	near := []float64{float64(centre)}
	up, down := centre, centre
	for range refineSteps {
		up, down = math.Nextafter32(up, 2*centre), math.Nextafter32(down, 0)
		near = append(near, float64(up), float64(down))
	}
	return near
}

// mismatches counts the entries of a pair that a float32 frequency does not
// reproduce, up to a bound.
func (t *phases) mismatches(k int, f, start float64, rows []int, bound int) int {
	n := 0
	amplitude := float32(t.amplitude)
	for _, r := range rows {
		if slices.Contains(t.skip, r) {
			continue
		}
		angle := float32(float32(float64(r)+start) * float32(f))
		s, c := math.Sincos(float64(angle))
		if t.precision.Round(float64(float32(float32(s)*amplitude))) != t.sin(r, k) {
			n++
		}
		if t.precision.Round(float64(float32(float32(c)*amplitude))) != t.cos(r, k) {
			n++
		}
		if n >= bound {
			break
		}
	}
	return n
}

// recipes are tried in this order; the first of equals is told.
var recipes = []schemes.Recipe{schemes.RecipePow, schemes.RecipeExact, schemes.RecipeExp, schemes.RecipeGGML}
