package places

import (
	"fmt"
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/schemes"
	"github.com/modelpatch/modelpatch/schemes/fit"
)

// maxToBest bounds the nodes between the places of the best and an index of them, maxDivisors the numbers that something is divided by.
const (
	maxToBest   = 40
	maxDivisors = 64
)

// maxAnchors bounds the numbers of an input that are read as those of places.
const maxAnchors = 1 << 22

// anchors gives an operator that wants inputs of one size, for numbers of places those of the places that are there now.
func (z *Places) anchors(n *onnx.Node, inputs []*eval.Value) {
	for i, v := range inputs {
		before := z.old.Input(n, i)
		if v == nil || v.Len() < 2 || v.Len() > maxAnchors || !slices.Equal(v.Shape, before.Shape) {
			continue
		}
		for j, data := range inputs {
			was := z.old.Input(n, j)
			if i == j || data == nil || !data.Ranked || len(data.Shape) != len(was.Shape) {
				continue
			}
			if n.Op == "Concat" && (len(v.Shape) != len(was.Shape) || !apartFrom(v.Shape, was.Shape, int(n.Int("axis", 0)))) {
				continue
			}
			if at, end, l, ok := z.alongLevels(v.Shape, was.Shape, data.Shape); ok && before.Known() {
				z.regrid(n, inputs, i, at, end, l)
				break
			}
		}
	}
}

// picked gives a node that picks, of numbers of places, those of the best places of data, the numbers of the places that there are now.
func (z *Places) picked(n *onnx.Node, inputs []*eval.Value) {
	v := z.old.Input(n, 0)
	if len(inputs) < 2 || inputs[0] == nil || !v.Known() || v.Len() > maxAnchors || !v.Type.IsFloat() || !slices.Equal(v.Shape, inputs[0].Shape) || z.old.Input(n, 1).Known() || !z.ofBest(n.Input(1)) {
		return
	}
	for axis, size := range v.Shape {
		l := z.levels[size]
		if was, is := l.places(); len(l.was) == 0 || was == is {
			continue
		}
		z.regrid(n, inputs, 0, axis, axis+1, l)
		if why := z.Doubts[n]; why != "" {
			z.Stuck[n] = why
		}
		return
	}
}

// ofBest reports whether an index is made of places that a TopK or the like has chosen.
func (z *Places) ofBest(name string) bool {
	names, seen := []string{name}, map[string]bool{}
	for i := 0; i < len(names) && i < maxToBest; i++ {
		n, at := z.old.Find(names[i])
		if n == nil || at != z.old || seen[names[i]] {
			continue
		}
		seen[names[i]] = true
		if eval.Is(n, eval.Ranking) {
			return true
		}
		if eval.Is(n, eval.Layout|eval.Repetition|eval.ByElement|eval.Elements|eval.Joining|eval.Choice) {
			names = append(names, n.Inputs...)
		}
	}
	return false
}

// alongLevels finds the axes of numbers that met as many places of data before, and meet others now: one of all places, or rows and
// columns. They are those from at to before end.
func (z *Places) alongLevels(shape, was, is []int) (at, end int, l levels, ok bool) {
	lead := len(was) - len(shape)
	changed := func(d int) bool {
		return d+lead >= 0 && shape[d] > 1 && shape[d] == was[d+lead] && is[d+lead] != shape[d] && is[d+lead] != 1
	}
	for d := range shape {
		switch {
		case !changed(d):
		case d+1 < len(shape) && changed(d+1):
			return d, d + 2, levels{[][2]int{{shape[d], shape[d+1]}}, [][2]int{{is[d+lead], is[d+1+lead]}}}, true
		default:
			l := z.levels[shape[d]]
			if _, now := l.places(); now != is[d+lead] { // of no grid
				l = levels{[][2]int{{shape[d], 1}}, [][2]int{{is[d+lead], 1}}}
			}
			return d, d + 1, l, true
		}
	}
	return 0, 0, levels{}, false
}

// apartFrom reports whether shapes are equal but for one axis.
func apartFrom(a, b []int, axis int) bool {
	axis = onnx.Dimension(int64(axis), len(a))
	for d := range a {
		if d != axis && a[d] != b[d] {
			return false
		}
	}
	return true
}

// regrid gives an input of a node its numbers for other places: by the formula of a site of sines and cosines, or, line by line, by
// that of anchors.
func (z *Places) regrid(n *onnx.Node, inputs []*eval.Value, input, at, end int, l levels) {
	key := meeting{n.Input(input), at, end, fmt.Sprint(l)}
	if made := z.made[key]; made != nil { // layers share it
		inputs[input], z.Placed[Input{n, input}] = made, made
		return
	}
	v := z.old.Input(n, input) // what the graph has computed of it now may be of both sizes
	inner, outer := onnx.Size(v.Shape[end:]), onnx.Size(v.Shape[:at])
	was, is := l.places()
	doubt := func(why any) {
		if z.Doubts[n] == "" {
			z.Doubts[n] = fmt.Sprintf("input %d holds numbers of %d places, and those of %d others cannot be told: %v", input, was, is, why)
		}
	}
	switch {
	case is < 1 || is > maxPlaced/(outer*inner):
		doubt("they are too many")
		return
	case z.old.IsQuantised(n, input):
		doubt("they are quantised as the graph runs")
		return
	}
	x := make([]float64, outer*is*inner)
	line := make([]float64, was)
	wave := z.waveOf(v, inner, l)
	for o := range outer {
		for k := range inner {
			var to []float64
			if wave != nil {
				to = column(wave, k)
			} else {
				for p := range line {
					line[p] = v.Number((o*was+p)*inner + k)
				}
				var err error
				if to, err = along(line, l, fit.Precision(v.Type.String())); err != nil {
					doubt(err)
					return
				}
			}
			for p, value := range to {
				x[(o*is+p)*inner+k] = value
			}
		}
	}
	shape := slices.Concat(v.Shape[:at], []int{is}, v.Shape[end:])
	if end > at+1 {
		shape = slices.Concat(v.Shape[:at], l.is[0][:], v.Shape[end:])
	}
	made := valueOf(v.Type, shape, x)
	inputs[input], z.Placed[Input{n, input}], z.made[key] = made, made, made
}

// meeting is a value whose numbers of places meet others, and the grids that these are of.
type meeting struct {
	name    string
	at, end int
	grids   string
}

// maxPlaced bounds the numbers that are made for one value.
const maxPlaced = 1 << 24

// valueOf is a value of numbers, whole ones where the type is of those.
func valueOf(t onnx.DataType, shape []int, x []float64) *eval.Value {
	if t.IsFloat() {
		return eval.FloatValue(t, shape, x)
	}
	whole := make([]int64, len(x))
	for i := range x {
		whole[i] = int64(x[i])
	}
	return eval.IntValue(t, shape, whole)
}

// along are the numbers of other places of one line, which were rounded to a precision.
func along(line []float64, l levels, p fit.Precision) ([]float64, error) {
	if grid := l.was[0]; grid[1] == 1 {
		if uniform(line) { // along an axis that is no grid
			return slices.Repeat(line[:1], l.is[0][0]), nil
		}
		return nil, fit.ErrAnchors
	}
	anchors, err := fit.AnchorsOf(line, l.was, p)
	if err != nil {
		return nil, err
	}
	return anchors.At(l.is)
}

func uniform(line []float64) bool {
	return !slices.ContainsFunc(line, func(x float64) bool { return x != line[0] })
}

// waveError is how far sines that a graph computes in float32 may be from their formula.
const waveError = 1e-5

func rowsOf(w schemes.Sinusoid, places int) [][]float64 {
	t, rows := w.Table(), make([][]float64, places)
	for p := range rows {
		rows[p] = make([]float64, w.Dim)
		t.Row(p, rows[p])
	}
	return rows
}

func column(rows [][]float64, k int) []float64 {
	out := make([]float64, len(rows))
	for p, row := range rows {
		out[p] = row[k]
	}
	return out
}

// waveOf are the rows of another grid of a value that is sines and cosines of a grid, in as many columns; nil for others.
func (z *Places) waveOf(v *eval.Value, columns int, l levels) [][]float64 {
	for _, w := range z.waves {
		places := v.Len() / columns
		if len(w.Grid) != 2 || len(l.was) != 1 || [2]int(w.Grid) != l.was[0] || columns != w.Dim || places != w.Grid[0]*w.Grid[1] {
			continue
		}
		same := true
		for p, row := range rowsOf(w, places) {
			for k, x := range row {
				d := x - v.Number(p*columns+k)
				same = same && max(d, -d) <= waveError
			}
		}
		if to, err := w.Regrid(l.is[0][:], false); same && err == nil {
			return rowsOf(to, l.is[0][0]*l.is[0][1])
		}
	}
	return nil
}
