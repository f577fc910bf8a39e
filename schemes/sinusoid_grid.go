package schemes

import (
	"fmt"
	"math"
)

// normalised is how many patches a grid whose sines span one turn, whatever the picture, may differ from
// those of the turn: DETR's normalize divides by the last place and 1e-6 (scale 2π).
const normalised = 1e-3

// Regrid is the formula for a grid of other sizes, rows and columns. It is an error where the patches span a number of
// positions that no formula of the grid gives.
func (s Sinusoid) Regrid(to [2]int) (Sinusoid, error) {
	from := s.Grid
	if s.ColumnStep == 0 {
		s.ColumnStep, s.ColumnStart = s.Step, s.Start
	}
	s.Grid = to[:]
	for axis, of := range []struct{ step, start *float64 }{{&s.Step, &s.Start}, {&s.ColumnStep, &s.ColumnStart}} {
		if *of.step == 0 {
			continue // 1
		}
		turn := 2 * math.Pi / *of.step
		if math.Abs(turn-float64(from[axis])) >= normalised {
			return s, fmt.Errorf("its patches are %g positions apart, so that a grid of another size spans as many: what the new one should span is not in the file", *of.step)
		}
		step := 2 * math.Pi / (turn + float64(to[axis]-from[axis]))
		*of.start *= step / *of.step
		*of.step = step
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
