package fit

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// Anchors are numbers of the places of one or several grids, one grid behind the other and each row after row, as
// detectors keep them: anchor points, strides, proposals in (0, 1) or as their logits, and masks of the places near the
// border (gen_encoder_output_proposals of Deformable DETR, generate_anchors of RT-DETR, make_anchors of YOLOv8).
type Anchors struct {
	from   [][2]int // height and width of each grid
	made   func(level, row, column int, to [][2]int) float64
	hides  *border // nil where no place is hidden
	fill   float64 // what hidden places hold, NaN where that is not known
	square bool    // made of a side, and which of the two cannot be told
	parts  bool    // only parts of a side are meant, while they are read
	off    float64 // how far a number may be, as a part of the largest
}

// ErrAnchors is that of numbers of places that no formula explains.
var ErrAnchors = errors.New("no formula of places explains them")

const (
	// anchorError is what float32 formulas of places lose, of the largest number; anchorSteps is how many steps of a coarser type.
	anchorError = 4e-6
	anchorSteps = 4
	// borderMargin is how near to the border places are hidden, as a part of the picture: the 0.01 of the public
	// detectors above. It is taken where the numbers agree with it.
	borderMargin = 0.01
)

// IsAnchors reports whether every column of rows holds points or boxes on grids behind one another, as detectors have them.
func IsAnchors(m Matrix, grids [][2]int, p Precision) bool {
	if len(grids) == 0 {
		return false
	}
	line := make([]float64, m.Rows())
	for c := range m.Cols() {
		for p := range line {
			line[p] = m.At(p, c)
		}
		if _, err := AnchorsOf(line, grids, p); errors.Is(err, ErrAnchors) {
			return false
		}
	}
	return true
}

// AnchorsOf reads one number for each place of grids.
func AnchorsOf(x []float64, grids [][2]int, p Precision) (*Anchors, error) {
	a := &Anchors{from: grids, off: max(anchorError, anchorSteps*p.Step())}
	total := 0
	for _, g := range grids {
		total += g[0] * g[1]
	}
	if total != len(x) || total == 0 {
		return nil, ErrAnchors
	}
	for _, read := range []func([]float64) error{a.byGrid, a.mask, a.coordinates, a.logits} {
		if err := read(x); err == nil || !errors.Is(err, ErrAnchors) {
			return a, err
		}
	}
	return nil, ErrAnchors
}

// At gives the numbers of other grids, as many; it is an error where the old ones do not tell which places are hidden.
func (a *Anchors) At(to [][2]int) ([]float64, error) {
	var out []float64
	for level, g := range to {
		if a.square && g[0] != g[1] {
			return nil, errors.New("height and width were equal, and which of the two they are made of is not in the file")
		}
		for row := range g[0] {
			for column := range g[1] {
				hidden := false
				if a.hides != nil {
					var err error
					if hidden, err = a.hides.hidden(margin(g, row, column)); err != nil {
						return nil, err
					}
				}
				switch {
				case hidden && math.IsNaN(a.fill):
					return nil, fmt.Errorf("places %.4g of the picture from the border would come, where detectors hide them, and what stands for those is not in the file", margin(g, row, column))
				case hidden:
					out = append(out, a.fill)
				default:
					out = append(out, a.made(level, row, column, to))
				}
			}
		}
	}
	return out, nil
}

// each calls a function for every place of the grids that were read, with its index.
func (a *Anchors) each(visit func(i, level, row, column int)) {
	i := 0
	for level, g := range a.from {
		for row := range g[0] {
			for column := range g[1] {
				visit(i, level, row, column)
				i++
			}
		}
	}
}

// byGrid reads one number a grid: a stride, which stays, or what is made of the grid's height or width.
func (a *Anchors) byGrid(x []float64) error {
	of := make([]float64, len(a.from))
	first := make([]bool, len(a.from))
	same := true
	a.each(func(i, level, _, _ int) {
		if !first[level] {
			of[level], first[level] = x[i], true
		}
		same = same && x[i] == of[level]
	})
	if !same {
		return ErrAnchors
	}
	sides := []func(n int) float64{func(n int) float64 { return float64(n) }, func(n int) float64 { return 1 / float64(n) },
		func(n int) float64 { return logit(1/float64(n), logitMargin) }, func(n int) float64 { return logit(1/float64(n), 0) }}
	for axis := range 2 {
		for i, side := range sides {
			follows, strides := of[0] != 1, of[0] > 1
			for level, g := range a.from {
				follows = follows && a.near(of[level], side(g[axis]), side(g[axis]))
				strides = strides && of[level]*float64(g[axis]) == of[0]*float64(a.from[0][axis])
				a.square = a.square || follows && g[0] == g[1]
			}
			switch {
			case follows && strides:
				return fmt.Errorf("%g is the side of a grid, and may be a stride", of[0])
			case follows && i == len(sides)-1 && len(of) == 1:
				return fmt.Errorf("%g is the logit of a part of the side, and may be that of a box of one size", of[0])
			case follows:
				a.made = func(level, _, _ int, to [][2]int) float64 { return side(to[level][axis]) }
				return nil
			}
		}
	}
	a.square = false
	if !slices.ContainsFunc(of, func(v float64) bool { return v != 1 }) { // a mask that hides nothing
		a.hides = &border{shown: math.Inf(1)}
		a.each(func(_, level, row, column int) { a.hides.note(margin(a.from[level], row, column), false) })
	}
	a.made = func(level, _, _ int, _ [][2]int) float64 { return of[level] }
	return nil
}

// mask reads ones, and zeros near the border.
func (a *Anchors) mask(x []float64) error {
	if slices.ContainsFunc(x, func(v float64) bool { return v != 0 && v != 1 }) {
		return ErrAnchors
	}
	a.made = func(int, int, int, [][2]int) float64 { return 1 }
	return a.hide(x, x[0])
}

// hide reads which places hold a number that stands for none.
func (a *Anchors) hide(x []float64, fill float64) error {
	a.hides, a.fill = &border{shown: math.Inf(1)}, fill
	a.each(func(i, level, row, column int) { a.hides.note(margin(a.from[level], row, column), x[i] == fill) })
	if a.hides.hides >= a.hides.shown {
		a.hides = nil
		return ErrAnchors
	}
	return nil
}

// coordinates reads numbers that rise by one step along rows or columns; places near the border may hold one that stands for none.
func (a *Anchors) coordinates(x []float64) error {
	err := a.lines(x)
	if errors.Is(err, ErrAnchors) && a.hide(x, x[0]) == nil {
		if err = a.lines(x); err != nil {
			a.hides = nil
		}
	}
	return err
}

// logits reads the logits of coordinates, plain or kept from the ends.
func (a *Anchors) logits(x []float64) error {
	for _, margin := range []float64{0, logitMargin} {
		if err := a.logitsBy(x, margin); !errors.Is(err, ErrAnchors) {
			return err
		}
	}
	return ErrAnchors
}

func (a *Anchors) logitsBy(x []float64, kept float64) error {
	u := make([]float64, len(x))
	for i, v := range x {
		u[i] = v
		if v != x[0] || math.Abs(v) < 80 { // what stands for none is large, or infinite
			r := math.Exp(v)
			u[i] = (r*(1+kept) - kept) / (1 + r)
		}
	}
	a.parts = true
	err := a.coordinates(u)
	if a.parts = false; err != nil {
		return err
	}
	switch {
	case a.hides != nil:
		a.fill = x[0]
	case kept == 0: // formulas of logits leave out what is near the border
		a.hides, a.fill = &border{shown: math.Inf(1)}, math.NaN()
		a.each(func(_, level, row, column int) { a.hides.note(margin(a.from[level], row, column), false) })
	}
	made := a.made
	a.made = func(level, row, column int, to [][2]int) float64 { return logit(made(level, row, column, to), kept) }
	return nil
}

// logitMargin keeps logits finite where a part is 0 or 1 (OWL-ViT, compute_box_bias).
const logitMargin = 1e-4

func logit(u, kept float64) float64 { return math.Log(u+kept) - math.Log1p(kept-u) }

// ruler is v = first + step·k of one grid, along rows or columns.
type ruler struct {
	first, step float64
	n           int
	known       bool // the step
}

// lines reads a coordinate along one axis, of all grids.
func (a *Anchors) lines(x []float64) error {
	for axis := range 2 {
		lines, ok := a.along(x, axis)
		if !ok {
			continue
		}
		made, err := a.coordinate(lines)
		if errors.Is(err, ErrAnchors) {
			continue
		}
		if err != nil {
			return err
		}
		a.made = func(level, row, column int, to [][2]int) float64 {
			return made(level, [2]int{row, column}[axis], to[level][axis])
		}
		return nil
	}
	return ErrAnchors
}

// along reads a line for each grid from the places that are not hidden; all of them have to lie on it.
func (a *Anchors) along(x []float64, axis int) ([]ruler, bool) {
	lines := make([]ruler, len(a.from))
	type point struct {
		k int
		v float64
	}
	low, high := make([]point, len(lines)), make([]point, len(lines))
	seen := make([]bool, len(lines))
	shown := func(level, row, column int) bool {
		if a.hides == nil {
			return true
		}
		return margin(a.from[level], row, column) >= a.hides.shown
	}
	a.each(func(i, level, row, column int) {
		if !shown(level, row, column) {
			return
		}
		p := point{[2]int{row, column}[axis], x[i]}
		if !seen[level] {
			low[level], high[level], seen[level] = p, p, true
		}
		if p.k > high[level].k {
			high[level] = p
		}
		if p.k < low[level].k {
			low[level] = p
		}
	})
	steps, largest := false, 0.0
	for level := range lines {
		l := &lines[level]
		l.n = a.from[level][axis]
		if !seen[level] {
			return nil, false
		}
		l.first = low[level].v
		if l.known = high[level].k > low[level].k; l.known {
			l.step = (high[level].v - low[level].v) / float64(high[level].k-low[level].k)
			l.first -= l.step * float64(low[level].k)
			steps = true
		}
		largest = max(largest, math.Abs(low[level].v), math.Abs(high[level].v))
	}
	on := true
	a.each(func(i, level, row, column int) {
		l := lines[level]
		if shown(level, row, column) {
			on = on && a.near(x[i], l.first+l.step*float64([2]int{row, column}[axis]), largest)
		}
	})
	return lines, on && steps
}

// coordinate says how the lines of all grids go on: as parts of the side, from 0 to 1 or −1 to 1, or by the step that they have.
func (a *Anchors) coordinate(lines []ruler) (made func(level, k, n int) float64, err error) {
	var readings []func(level, k, n int) float64
	for _, span := range []struct{ start, length float64 }{{0, 1}, {-1, 2}} {
		for _, ends := range []int{0, 1} { // n steps, or n−1 from the first place to the last
			if offset, ok := a.partsOf(lines, span.start, span.length, ends); ok {
				readings = append(readings, func(_, k, n int) float64 {
					return span.start + span.length*(float64(k)+offset)/float64(max(n-ends, 1))
				})
			}
		}
	}
	whole := !slices.ContainsFunc(lines, func(l ruler) bool { return l.known && l.step != math.Trunc(l.step) }) // pixels, or places
	if by, ok := a.steps(lines); ok && !a.parts && (whole || len(readings) == 0) {
		readings = append(readings, by)
	}
	const beyond = 64 // readings that differ, do so in a larger grid
	for _, other := range readings[min(1, len(readings)):] {
		for level, l := range lines {
			for _, k := range []int{0, l.n} {
				if one, two := readings[0](level, k, l.n+beyond), other(level, k, l.n+beyond); !a.near(one, two, two) {
					return nil, errors.New("the numbers of places of so small grids follow from several formulas")
				}
			}
		}
	}
	if len(readings) == 0 {
		return nil, ErrAnchors
	}
	return readings[0], nil
}

// partsOf reports whether lines are parts of their sides, and by which part of a step the first place lies behind the start.
func (a *Anchors) partsOf(lines []ruler, start, length float64, ends int) (offset float64, ok bool) {
	offset = math.NaN()
	for _, l := range lines {
		step := length / float64(max(l.n-ends, 1))
		if l.known && !a.near(l.step, step, length) {
			return 0, false
		}
		first := (l.first - start) / step
		for _, o := range []float64{0, 0.5, 1} {
			if a.near(first, o, float64(l.n)) {
				first = o
			}
		}
		if math.IsNaN(offset) {
			offset = first
		}
		if first != offset || first != 0 && first != 0.5 && first != 1 || ends > 0 && first != 0 {
			return 0, false
		}
	}
	return offset, true
}

// steps reads lines of steps that have nothing to do with their sides: pixels, or places that count. A grid of one place
// has the step that makes the side of all of them as long, or that of all others.
func (a *Anchors) steps(lines []ruler) (made func(level, k, n int) float64, ok bool) {
	i := slices.IndexFunc(lines, func(l ruler) bool { return l.known })
	if i < 0 {
		return nil, false
	}
	lines, one := slices.Clone(lines), lines[i]
	for level := range lines {
		l := &lines[level]
		if l.known {
			continue
		}
		l.step = one.step
		if side := one.step * float64(one.n); !a.near(l.first/l.step, one.first/one.step, 1) {
			l.step = side / float64(l.n)
		}
		if !a.near(l.first/l.step, one.first/one.step, 1) {
			return nil, false
		}
	}
	return func(level, k, _ int) float64 { return lines[level].first + lines[level].step*float64(k) }, true
}

func (a *Anchors) near(x, y, of float64) bool {
	return math.Abs(x-y) <= a.off*max(math.Abs(of), 1e-3)
}

// border is how near to the border places are hidden, as far as the numbers tell: the largest margin of a hidden place, and the
// smallest of one that is shown.
type border struct{ hides, shown float64 }

// margin is how far the middle of a place is from the nearest side, as a part of the picture.
func margin(grid [2]int, row, column int) float64 {
	v, u := (float64(row)+0.5)/float64(grid[0]), (float64(column)+0.5)/float64(grid[1])
	return min(u, 1-u, v, 1-v)
}

func (b *border) note(margin float64, hidden bool) {
	if hidden {
		b.hides = max(b.hides, margin)
	} else {
		b.shown = min(b.shown, margin)
	}
}

// hidden reports whether a place of a margin is hidden.
func (b *border) hidden(margin float64) (bool, error) {
	switch {
	case b.hides > 0 && margin <= b.hides:
		return true, nil
	case margin >= b.shown:
		return false, nil
	case b.hides < borderMargin && borderMargin <= b.shown:
		return margin <= borderMargin*(1+1e-9), nil
	}
	return false, fmt.Errorf("places %.4g of the picture from the border would come, and whether those are hidden is not in the file", margin)
}
