package relative

import (
	"math"
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position/onnxpos/trace"
	"github.com/modelpatch/modelpatch/schemes"
	"github.com/modelpatch/modelpatch/schemes/fit"
)

// coordinates are known numbers of the distances in a window, of which weights make biases (continuous position bias, Liu et al.
// 2022, "Swin Transformer V2", §3.3): coordinates along rows and columns, or what a first layer made of them. A row is base
// and what its distance along each axis adds, by a spacing.
type coordinates struct {
	eval    *eval.Evaluator
	bias    string // that the weights make
	table   readTable
	name    string
	value   *eval.Value
	places  []int // of each row, the pair of distances as schemes.WindowIndex counts them
	base    []float64
	adds    [2][]float64
	spacing [2]fit.Spacing
	turned  [2]bool // farther places of a window have lesser coordinates
	// squeezed tells that distances of another window have the span of the old ones.
	squeezed bool
}

// readTable reads a bias off as a row for each pair of distances in a window, with a number a head.
type readTable func(v *eval.Value) ([][]float64, error)

// coordinatesOf finds the coordinates of the distances in a window behind a bias, those that are nearest to their constant; nil where there
// are none.
func coordinatesOf(e *eval.Evaluator, s *eval.Scope, bias string, table readTable, window [2]int) *coordinates {
	type value struct {
		name    string
		weighed bool
	}
	queue, seen := []value{{bias, false}}, map[value]bool{}
	var found *coordinates
	for i := 0; i < len(queue) && i < trace.MaxSteps; i++ {
		at := queue[i]
		if seen[at] {
			continue
		}
		seen[at] = true
		if at.weighed {
			if c := readCoordinates(s.Value(at.name), window); c != nil {
				c.eval, c.bias, c.table, c.name = e, bias, table, at.name
				found = c
			}
		}
		n, in := s.Find(at.name)
		if n == nil || in != s {
			continue
		}
		for _, name := range trace.DataInputs(n) {
			queue = append(queue, value{name, at.weighed || eval.Is(n, eval.Product)})
		}
	}
	if found == nil {
		return nil
	}
	return found.turn(s.Value(bias), window)
}

// maxCoordinates bounds the numbers that are looked at.
const maxCoordinates = 1 << 22

// coordinateError is what coordinates of float32 are off, and sums of a few of them, of the largest.
const coordinateError = 5e-6

// readCoordinates reads a value as coordinates of the distances in a window, a row for each pair of distances or for each pair of
// places; nil for others.
func readCoordinates(v *eval.Value, window [2]int) *coordinates {
	k := len(v.Shape)
	if !v.Known() || v.Floats == nil || k < 2 || v.Len() == 0 || v.Len() > maxCoordinates {
		return nil
	}
	width := v.Shape[k-1]
	rows, columns := 2*window[0]-1, 2*window[1]-1
	c := &coordinates{value: v}
	switch places := window[0] * window[1]; v.Len() / width {
	case rows * columns:
		for i := range rows * columns {
			c.places = append(c.places, i)
		}
	case places * places:
		c.places = slices.Concat(schemes.WindowIndex(window[0], window[1], false)...)
	default:
		return nil
	}
	row := make([]int, rows*columns) // one of each place
	for i, place := range c.places {
		row[place] = i
	}
	number := func(y, x, channel int) float64 { return v.Number(row[y*columns+x]*width + channel) }
	middle, last := [2]int{window[0] - 1, window[1] - 1}, [2]int{rows - 1, columns - 1}
	largest := 0.0
	for i := range v.Len() {
		largest = max(largest, math.Abs(v.Number(i)))
	}
	for channel := range width {
		base := number(middle[0], middle[1], channel)
		c.base = append(c.base, base)
		c.adds[0] = append(c.adds[0], number(last[0], middle[1], channel)-base)
		c.adds[1] = append(c.adds[1], number(middle[0], last[1], channel)-base)
	}
	for axis, side := range [2]int{rows, columns} {
		along, norm := make([]float64, side), 0.0
		for channel, add := range c.adds[axis] {
			norm += add * add
			for d := range along {
				at := middle
				at[axis] = d
				along[d] += add * (number(at[0], at[1], channel) - c.base[channel])
			}
		}
		for d := range along {
			along[d] /= norm
		}
		var ok bool
		if c.spacing[axis], ok = fit.SpacingOf(along); !ok || math.Sqrt(norm) <= largest*coordinateError {
			return nil
		}
	}
	for i, place := range c.places {
		for channel := range width {
			if want := c.at(float64(place/columns-middle[0]), float64(place%columns-middle[1]), channel); !(math.Abs(v.Number(i*width+channel)-want) <= coordinateError*largest) {
				return nil
			}
		}
	}
	return c
}

// byOwnSide reports whether distances are measured by the side of the window: the slope of the spacing is 8 from end to end
// (relative_coords_table of Swin v2).
func (c *coordinates) byOwnSide(window [2]int) bool {
	const slope, apart = 8, 1e-2
	return math.Abs(c.spacing[0].Slope*float64(window[0]-1)-slope) < apart && math.Abs(c.spacing[1].Slope*float64(window[1]-1)-slope) < apart
}

// at is a coordinate of a pair of distances.
func (c *coordinates) at(y, x float64, channel int) float64 {
	return c.base[channel] + c.spacing[0].At(y)*c.adds[0][channel] + c.spacing[1].At(x)*c.adds[1][channel]
}

// moved is the table of biases where every distance is by so many places farther along rows and columns, times a ratio.
func (c *coordinates) moved(window, by [2]int, ratio [2]float64) ([][]float64, error) {
	for axis, turned := range c.turned {
		if turned {
			by[axis] = -by[axis]
		}
	}
	given, columns := *c.value, 2*window[1]-1
	given.Type, given.Floats = onnx.Double, nil
	for _, place := range c.places {
		for channel := range c.base {
			given.Floats = append(given.Floats, c.at(float64(place/columns-window[0]+1+by[0])*ratio[0], float64(place%columns-window[1]+1+by[1])*ratio[1], channel))
		}
	}
	trial := c.eval.Trial(map[string]*eval.Value{c.name: &given})
	return c.table(trial.Main.Value(c.bias))
}

// turn tells which way the coordinates run, by a move of which the biases are known; nil where it gives others than those.
func (c *coordinates) turn(known *eval.Value, window [2]int) *coordinates {
	table, err := c.table(known)
	if err != nil {
		return nil
	}
	made, err := c.moved(window, [2]int{1, 1}, [2]float64{1, 1})
	if err != nil {
		return nil
	}
	largest := 0.0
	for _, row := range table {
		for _, x := range row {
			largest = max(largest, math.Abs(x))
		}
	}
	rows, columns := 2*window[0]-1, 2*window[1]-1
	for _, turned := range [][2]bool{{}, {true, true}, {true, false}, {false, true}} {
		by := [2]int{1, 1}
		for axis, t := range turned {
			if t {
				by[axis] = -1
			}
		}
		same := true
		for y := max(0, -by[0]); y < min(rows, rows-by[0]); y++ {
			for x := max(0, -by[1]); x < min(columns, columns-by[1]); x++ {
				for h, made := range made[y*columns+x] {
					same = same && math.Abs(made-table[(y+by[0])*columns+x+by[1]][h]) <= biasError*largest
				}
			}
		}
		if same {
			c.turned = turned
			return c
		}
	}
	return nil
}

// biasError is what biases lose by coordinates of float32, of the largest of them.
const biasError = 1e-4

// resized is the table of another window: of what the network makes of its distances.
func (c *coordinates) resized(from, to [2]int) ([][]float64, error) {
	out := make([][]float64, schemes.WindowRows(to[0], to[1], false))
	var class [][]float64 // the rows of a token that stands before the places
	rows, columns, ratio := 2*to[0]-1, 2*to[1]-1, [2]float64{1, 1}
	for axis := range ratio {
		if c.squeezed {
			ratio[axis] = float64(from[axis]-1) / float64(to[axis]-1)
		}
	}
	for _, y := range moves(from[0], to[0]) {
		for _, x := range moves(from[1], to[1]) {
			table, err := c.moved(from, [2]int{y, x}, ratio)
			if err != nil {
				return nil, err
			}
			pairs := schemes.WindowRows(from[0], from[1], false)
			class = table[pairs:]
			for i, biases := range table[:pairs] {
				row, column := i/(2*from[1]-1)-from[0]+to[0]+y, i%(2*from[1]-1)-from[1]+to[1]+x
				if row >= 0 && row < rows && column >= 0 && column < columns {
					out[row*columns+column] = biases
				}
			}
		}
	}
	return append(out, class...), nil
}

// moves are by how many places the distances of a window side have to be moved to cover those of another.
func moves(from, to int) (out []int) {
	for at := 0; ; at += 2*from - 1 {
		out = append(out, at)
		if at > 0 {
			out = append(out, -at)
		}
		if at+from >= to {
			return out
		}
	}
}
