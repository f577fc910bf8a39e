package fit

import (
	"fmt"
	"math"
	"slices"

	"github.com/modelpatch/modelpatch/schemes"
)

// Places are tables of cosines and sines of the places of a grid, row after row, of which each column turns along one axis
// by one angle from place to place, whatever base the angles follow from.
type Places struct {
	Grid      []int
	Prefix    int // rows ahead of the grid, which stay
	Amplitude float64
	columns   []placeColumn
}

// cells is how many places a grid has.
func cells(grid []int) int {
	n := 1
	for _, size := range grid {
		n *= size
	}
	return n
}

// placeColumn is a column of the angles.
type placeColumn struct {
	axis        int // −1: no place turns
	first, turn float64
}

// PlacesOf reads the columns of tables of cosines and sines of the places of a grid; false where one turns along
// several axes, or by other angles from place to place.
func PlacesOf(cos, sin Matrix, p Precision, grid []int) (out Places, ok bool) {
	n := cells(grid)
	out = Places{Grid: grid, Prefix: cos.Rows() - n, columns: make([]placeColumn, cos.Cols())}
	if out.Prefix < 0 || n < 1 || cos.Rows() != sin.Rows() || cos.Cols() != sin.Cols() {
		return out, false
	}
	for k := range out.columns {
		a := math.Hypot(cos.At(out.Prefix, k), sin.At(out.Prefix, k))
		if k == 0 {
			out.Amplitude = a
		}
		column, ok := out.column(k, cos, sin, p)
		if !ok || a == 0 || math.Abs(a/out.Amplitude-1) > axialError {
			return out, false
		}
		out.columns[k] = column
	}
	return out, true
}

// column measures one column along each axis in turn, and holds all places against what it found.
func (l *Places) column(k int, cos, sin Matrix, p Precision) (placeColumn, bool) {
	at := func(place int) (c, s float64) { return cos.At(l.Prefix+place, k), sin.At(l.Prefix+place, k) }
	n := cells(l.Grid)
	limit := l.Amplitude * (axialError + 2*entrySteps*p.Step())
	c, s := at(0)
	stride := n
	for axis := 0; axis <= len(l.Grid); axis++ {
		found := placeColumn{axis: -1, first: math.Atan2(s, c)}
		if axis < len(l.Grid) {
			stride /= l.Grid[axis]
			if l.Grid[axis] < 2 {
				continue
			}
			along := &phases{rows: l.Grid[axis], pairs: 1, precision: p, amplitude: l.Amplitude,
				cos: func(r, _ int) float64 { c, _ := at(r * stride); return c }, sin: func(r, _ int) float64 { _, s := at(r * stride); return s }}
			found.axis = axis
			if found.turn, _ = along.frequency(0); found.turn == 0 {
				continue
			}
		}
		fits := true
		for place := 0; place < n && fits; place++ {
			c, s := at(place)
			angle := found.angle(l.Grid, place)
			fits = math.Abs(c-l.Amplitude*math.Cos(angle)) <= limit && math.Abs(s-l.Amplitude*math.Sin(angle)) <= limit
		}
		if fits {
			return found, true
		}
	}
	return placeColumn{}, false
}

// angle of a place of a grid.
func (c placeColumn) angle(grid []int, place int) float64 {
	if c.axis < 0 {
		return c.first
	}
	for axis := len(grid) - 1; axis > c.axis; axis-- {
		place /= grid[axis]
	}
	return c.first + c.turn*float64(place%grid[c.axis])
}

// Len is how many places the grid has.
func (l *Places) Len() int { return cells(l.Grid) }

// Turn reports whether any column turns.
func (l *Places) Turn() bool {
	return slices.ContainsFunc(l.columns, func(c placeColumn) bool { return c.axis >= 0 })
}

// Along is the one axis along which all columns turn that do; alone is false where they turn along several.
func (l *Places) Along() (axis int, alone bool) {
	axis = -1
	for _, c := range l.columns {
		if c.axis >= 0 && axis >= 0 && c.axis != axis {
			return axis, false
		}
		axis = max(axis, c.axis)
	}
	return axis, axis >= 0
}

// Same reports whether the places of two grids of one size turn alike, but for rounding.
func (l *Places) Same(other Places) bool {
	if l.Len() != other.Len() || len(l.columns) != len(other.columns) {
		return false
	}
	for place := range l.Len() {
		for k := range l.columns {
			c, s := l.At(place, k)
			d, t := other.At(place, k)
			if math.Abs(c-d) > axialError*l.Amplitude || math.Abs(s-t) > axialError*l.Amplitude {
				return false
			}
		}
	}
	return true
}

// At is the cosine and sine of a column at a place of the grid.
func (l *Places) At(place, k int) (cos, sin float64) {
	angle := l.columns[k].angle(l.Grid, place)
	return l.Amplitude * math.Cos(angle), l.Amplitude * math.Sin(angle)
}

// countedError is how far the first angle of places that are counted from 0, or from the middle, may lie from what it should
// be, in turns from place to place or in radians, whichever is more.
const countedError = 1e-4

// Resize gives the tables the places of another grid of as many axes. Places that are counted from 0 by 1, as the fastest column tells,
// go on; squeezed, they keep their span. Places from −1 to 1, the middle at 0, stay between them, as halves of a patch
// from the borders (DINOv3) or at them (linspace). says is which of these it was. Of other places it is not known where those of another grid are.
func (l *Places) Resize(to []int, base float64, squeezed bool) (out Places, says string, err error) {
	out = *l
	out.Grid, out.columns = to, slices.Clone(l.columns)
	for axis := range l.Grid {
		unfold(out.columns, axis, base)
	}
	var how []string
	for axis, was := range l.Grid {
		is := to[axis]
		fastest, counted, middle := 0.0, true, true
		turns := map[float64]bool{}
		for _, c := range out.columns {
			if c.axis != axis {
				continue
			}
			turn := math.Abs(c.turn)
			fastest = max(fastest, turn)
			turns[turn] = true
			counted = counted && math.Abs(wrap(c.first)) <= countedError*max(turn, 1)
			middle = middle && math.Abs(wrap(c.first+c.turn*float64(was-1)/2)) <= countedError*max(turn, 1)
		}
		if was == is || len(turns) == 0 {
			continue
		}
		scale, step, exact := 1.0, "", fastest
		one, isOne := oneOf(fastest, base, len(turns), len(l.Grid))
		switch {
		case counted && squeezed:
			scale, step = float64(was)/float64(is), "places keep their span"
		case counted && isOne:
			step, exact = schemes.PlacesGoOn, one
		case counted:
			return out, "", fmt.Errorf("its places are counted from 0 by %.4g: %w", fastest, schemes.ErrStep)
		case middle && isWhole(fastest*float64(was)/math.Pi):
			scale, step, exact = float64(was)/float64(is), "places stay between −1 and 1", math.Pi*math.Round(fastest*float64(was)/math.Pi)/float64(was)
		case middle && was > 1 && is > 1 && isWhole(fastest*float64(was-1)/math.Pi):
			scale, step, exact = float64(was-1)/float64(is-1), "places stay from −1 to 1", math.Pi*math.Round(fastest*float64(was-1)/math.Pi)/float64(was-1)
		default:
			return out, "", fmt.Errorf("its places begin elsewhere than at 0, as those of a crop do, and where those of another grid begin is not in the file")
		}
		for k := range out.columns {
			if c := &out.columns[k]; c.axis == axis {
				c.turn = exactTurn(c.turn, exact, base, len(turns)) * scale
				if !counted {
					c.first = -c.turn * float64(is-1) / 2
				}
			}
		}
		if !slices.Contains(how, step) {
			how = append(how, step)
		}
	}
	if len(how) > 1 {
		return out, "", fmt.Errorf("its axes are counted in several ways: %s, and %s", how[0], how[1])
	}
	if len(how) == 1 {
		says = how[0]
	}
	return out, says, nil
}

// oneOf is 1 where the fastest of the columns of an axis turns by that, or, where axes take the columns of one list of
// frequencies in turns (Pixtral), another one of the first of the list.
func oneOf(turn, base float64, columns, axes int) (of float64, ok bool) {
	for i := range axes {
		if of = math.Pow(max(base, 1), -float64(i)/float64(axes*columns)); math.Abs(turn-of) <= countedError {
			return of, true
		}
	}
	return turn, false
}

// unfold gives the columns of an axis that turn by more than half a turn, of which less was measured, what they turn by: their
// base tells, from that of the slowest.
func unfold(columns []placeColumn, axis int, base float64) {
	slowest, turns := math.Inf(1), map[float64]bool{}
	for _, c := range columns {
		if c.axis == axis {
			slowest = min(slowest, math.Abs(c.turn))
			turns[math.Abs(c.turn)] = true
		}
	}
	for k := range columns {
		c := &columns[k]
		if c.axis != axis || base <= 1 {
			continue
		}
		for i := range len(turns) {
			turn := slowest * math.Pow(base, float64(i)/float64(len(turns)))
			if turn >= math.Pi-countedError && math.Abs(wrap(turn-c.turn)) <= axialError {
				c.turn = turn
			}
		}
	}
}

// exactTurn is a measured turn as it follows from the fastest one by a base, where it does.
func exactTurn(turn, fastest, base float64, columns int) float64 {
	if base <= 1 || turn == 0 {
		return turn
	}
	i := math.Round(-math.Log(math.Abs(turn)/fastest) / math.Log(base) * float64(columns))
	exact := fastest * math.Pow(base, -i/float64(columns))
	if math.Abs(exact/math.Abs(turn)-1) > axialError {
		return turn
	}
	return math.Copysign(exact, turn)
}

func isWhole(x float64) bool {
	return x > 0.5 && math.Abs(x-math.Round(x)) <= countedError*x
}
