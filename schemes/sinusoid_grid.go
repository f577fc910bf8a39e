package schemes

import (
	"errors"
	"fmt"
	"math"
)

// normalised is how many patches a grid whose sines span one turn, whatever the picture, may differ from
// those of the turn: DETR's normalize divides by the last place and 1e-6 (scale 2π).
const normalised = 1e-3

// PlaceMethods are how the places of another grid are counted: they go on, or are squeezed into the span of the old ones, as positions
// are by linear interpolation (EVA-02 and PixArt give larger pictures such places).
var PlaceMethods = []string{"none", PlacesSqueezed}

// PlacesSqueezed is one of PlaceMethods; PlacesGoOn says what the other one does where places are counted by 1.
const (
	PlacesSqueezed = "linear"
	PlacesGoOn     = "places go on by 1"
)

// What a file does not tell of the places of another grid: of those that are counted by 1, and of rows in a table.
const (
	PlacesUntold = "whether the places of a larger picture go on by 1 is not in the file: models that squeeze them into the span that they had (EVA-02, PixArt) want --method linear"
	RowsUntold   = "the file does not say how the model itself resamples its rows (--kernel names another way), nor whether an export resampled them from a larger grid, which is no more in the file"
)

// ErrStep is that of places that are counted from 0 by a step that a grid of another size may change: squeezed, they need not know.
var ErrStep = errors.New("what the places of another grid are counted by is not in the file")

// Regrid is the formula for a grid of other sizes, of as many axes. Places that are counted by 1 go on; squeezed, they
// keep the span that they had. It is an error where the patches span a number of positions that no formula of the grid
// gives, or begin at a whole number, as those of a crop do.
func (s Sinusoid) Regrid(to []int, squeezed bool) (Sinusoid, error) {
	from := s.Grid
	sides := len(from) - 2 // the first of the two axes that have steps of their own
	one := s.Step == 0 && s.ColumnStep == 0
	if s.ColumnStep == 0 {
		s.ColumnStep, s.ColumnStart = s.Step, s.Start
	}
	s.Grid = to
	if sides > 0 && (squeezed || !one || s.Start != 0) {
		return s, fmt.Errorf("its patches are not counted from 0 by 1 along each of its %d axes", len(from))
	}
	for i, of := range []struct{ step, start *float64 }{{&s.Step, &s.Start}, {&s.ColumnStep, &s.ColumnStart}} {
		was, is := from[sides+i], to[sides+i]
		counted := *of.step == 0
		turn := 2 * math.Pi / *of.step
		switch {
		case was == is:
		case counted && *of.start >= 1 && *of.start == math.Trunc(*of.start):
			return s, fmt.Errorf("its patches begin at %g, as those of a crop do, and where those of another crop begin is not in the file", *of.start)
		case squeezed && *of.start == 0:
			if counted {
				*of.step = 1
			}
			*of.step *= float64(was) / float64(is)
		case counted:
		case math.Abs(turn-float64(was)) >= normalised:
			return s, fmt.Errorf("its patches are %g positions apart: %w", *of.step, ErrStep)
		default:
			step := 2 * math.Pi / (turn + float64(is-was))
			*of.start *= step / *of.step
			*of.step = step
		}
	}
	if s.Step == s.ColumnStep && s.Start == s.ColumnStart {
		s.ColumnStep, s.ColumnStart = 0, 0
	}
	return s, nil
}

// InTable is a formula as a table holds it: where the first position has a whole number of its own, it takes the row of
// that number.
func InTable(scheme Scheme) Scheme {
	if wave, ok := scheme.(Sinusoid); ok && wave.Grid == nil && wave.Start > 0 && wave.Start == math.Trunc(wave.Start) {
		wave.Offset, wave.Start = int(wave.Start), 0
		return wave
	}
	return scheme
}
