// Package places follows what a graph of pictures keeps of its places, node by node while it is evaluated with a picture of another
// size: anchors of detectors, the grids that their numbers are of, what counts places. What cannot be told is a doubt; what runs all the
// same and is of the old picture is told as left over.
package places

import (
	"fmt"
	"math"
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position/onnxpos/trace"
	"github.com/modelpatch/modelpatch/schemes"
	"github.com/modelpatch/modelpatch/schemes/fit"
)

// Input is an input of a node.
type Input struct {
	Node  *onnx.Node
	Index int
}

// Places are those of one evaluation at another size of the picture.
type Places struct {
	old     *eval.Scope    // the main graph at its old size
	levels  map[int]levels // of which grids a number of places is made; of none where that cannot be told
	waves   []schemes.Sinusoid
	follows func(axis, was, is int) bool
	Placed  map[Input]*eval.Value // what inputs of nodes become
	Doubts  map[*onnx.Node]string // nodes of which it cannot be told what becomes of them, and why
	Stuck   map[*onnx.Node]string // those that run all the same
}

// New begins an evaluation beside that of the old size. waves are the sinusoids of grids that the graph computes; follows reports
// whether a size along an axis, 0 for rows, changed as the picture did.
func New(old *eval.Scope, waves []schemes.Sinusoid, follows func(axis, was, is int) bool) *Places {
	return &Places{old: old, levels: map[int]levels{}, waves: waves, follows: follows, Placed: map[Input]*eval.Value{}, Doubts: map[*onnx.Node]string{}, Stuck: map[*onnx.Node]string{}}
}

// Adjust gives a node, that computes element by element or picks places, the numbers of the places that there are now.
func (z *Places) Adjust(n *onnx.Node, inputs []*eval.Value) {
	if eval.Is(n, eval.Lookups) {
		z.picked(n, inputs)
	}
	if n.Op == "Concat" || eval.Is(n, eval.ByElement|eval.Choice|eval.Comparison) {
		z.anchors(n, inputs)
		z.divisor(n, inputs)
		z.rooted(n, inputs)
	}
}

// levels are grids of places whose places are joined in one axis, one grid behind the other, before and now.
type levels struct{ was, is [][2]int }

func (l levels) places() (was, is int) {
	for i := range l.was {
		was += l.was[i][0] * l.was[i][1]
		is += l.is[i][0] * l.is[i][1]
	}
	return was, is
}

// Join remembers that the places of one grid, of rows and columns, are joined in one axis.
func (z *Places) Join(was, is [2]int) { z.note(levels{[][2]int{was}, [][2]int{is}}) }

// note remembers of which grids a number of places is made; of none where that is not one and the same.
func (z *Places) note(l levels) {
	was, _ := l.places()
	if known, ok := z.levels[was]; ok && !(slices.Equal(known.was, l.was) && slices.Equal(known.is, l.is)) {
		l = levels{}
	}
	z.levels[was] = l
}

// Concat remembers the grids of which the places are put one behind the other.
func (z *Places) Concat(n *onnx.Node, inputs []*eval.Value) {
	made := z.old.Output(n, 0).Shape
	for axis := range made {
		var joined levels
		for i, v := range inputs {
			was := z.old.Input(n, i).Shape
			if v == nil || len(was) != len(made) || len(v.Shape) != len(made) {
				return
			}
			l, ok := z.levels[was[axis]]
			if _, now := l.places(); !ok || len(l.was) == 0 || now != v.Shape[axis] {
				joined = levels{}
				break
			}
			joined = levels{append(slices.Clone(joined.was), l.was...), append(slices.Clone(joined.is), l.is...)}
		}
		if was, is := joined.places(); was == made[axis] && was != is {
			z.note(joined)
		}
	}
}

// Split says which parts a Split makes now that made those of each grid; why says what cannot be told.
func (z *Places) Split(n *onnx.Node, inputs []*eval.Value, parts []int64) (to []int64, why string) {
	was := z.old.Input(n, 0).Shape
	if len(parts) == 0 || inputs[0] == nil || len(inputs[0].Shape) != len(was) {
		return nil, ""
	}
	axis := int(n.Int("axis", 0))
	if axis < 0 {
		axis += len(was)
	}
	if axis < 0 || axis >= len(was) || was[axis] == inputs[0].Shape[axis] {
		return nil, ""
	}
	l := z.levels[was[axis]]
	for i, part := range parts {
		if len(l.was) != len(parts) || int64(l.was[i][0]*l.was[i][1]) != part {
			return nil, fmt.Sprintf("into which parts %d is split, as %d was into %v, cannot be told", inputs[0].Shape[axis], was[axis], parts)
		}
		to = append(to, int64(l.is[i][0]*l.is[i][1]))
	}
	return to, ""
}

// Cut says where a Slice cuts places now that took whole grids of them.
func (z *Places) Cut(was, is int, start, end int64) (first, last int64, ok bool) {
	l := z.levels[was]
	if _, now := l.places(); len(l.was) < 2 || now != is {
		return 0, 0, false
	}
	bounds := map[int64]int64{0: 0}
	for i := range l.was {
		a, b := levels{l.was[:i+1], l.is[:i+1]}.places()
		bounds[int64(a)] = int64(b)
	}
	first, starts := bounds[start]
	last, ends := bounds[min(end, int64(was))]
	return first, last, starts && ends
}

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
		if before := z.old.Input(n, i); v == nil || !before.Known() || v.Len() < 2 || v.Len() > maxAnchors || !slices.Equal(v.Shape, before.Shape) {
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
			if at, end, l, ok := z.alongLevels(v.Shape, was.Shape, data.Shape); ok {
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

// divisor gives a Div by a side of the old picture, or by sides of grids, that of the new one: what the graph counts itself
// was as many, and is now others; or pairs of sides of all grids stand there, one behind the other.
func (z *Places) divisor(n *onnx.Node, inputs []*eval.Value) {
	if n.Op != "Div" || inputs[0] == nil || inputs[1] == nil || !inputs[1].Known() || inputs[1].Len() == 0 || inputs[1].Len() > maxDivisors || !slices.Equal(inputs[1].Shape, z.old.Input(n, 1).Shape) {
		return
	}
	by, was, is := inputs[1], z.old.Input(n, 0), inputs[0]
	to := make([]float64, by.Len())
	for i := range to {
		to[i] = by.Number(i)
	}
	x, one := uniformOf(by)
	if before, ok := uniformOf(was); ok && one && before == x && x > 1 {
		now, ok := uniformOf(is)
		_, places := z.levels[int(before)].places()
		if !ok || now == before || places != int(now) && !z.follows(0, int(before), int(now)) && !z.follows(1, int(before), int(now)) {
			return
		}
		for i := range to {
			to[i] = now
		}
	} else if same, why := z.sidesOf(to); why != "" {
		z.Stuck[n] = why
		return
	} else if !same {
		return
	}
	z.place(n, inputs, 1, to)
}

// place puts other numbers in the place of those of an input, of one shape.
func (z *Places) place(n *onnx.Node, inputs []*eval.Value, input int, to []float64) {
	by := inputs[input]
	made := eval.FloatValue(by.Type, by.Shape, to)
	if !by.Type.IsFloat() {
		whole := make([]int64, len(to))
		for i, x := range to {
			whole[i] = int64(x)
		}
		made = eval.IntValue(by.Type, by.Shape, whole)
	}
	inputs[input], z.Placed[Input{n, input}] = made, made
}

// sidesOf puts in the place of pairs of sides of several grids those that they have now; why says what cannot be told.
func (z *Places) sidesOf(x []float64) (same bool, why string) {
	for _, l := range z.levels {
		if len(l.was) < 2 || len(x) != 2*len(l.was) {
			continue
		}
		var is [2]bool
		for turned := range 2 { // height and width, or width and height
			is[turned] = true
			for i, g := range l.was {
				is[turned] = is[turned] && x[2*i] == float64(g[turned]) && x[2*i+1] == float64(g[1-turned])
			}
		}
		if is == [2]bool{true, true} && slices.ContainsFunc(l.is, func(g [2]int) bool { return g[0] != g[1] }) {
			return false, fmt.Sprintf("%v are sides of square grids, and which of two is the height is not in the file", x)
		}
		for turned := range 2 {
			if is[turned] {
				for i, g := range l.is {
					x[2*i], x[2*i+1] = float64(g[turned]), float64(g[1-turned])
				}
				return true, ""
			}
		}
	}
	return false, ""
}

// rooted has a factor that is one over the root of the number of places, over which what it scales is summed in the next product
// (attention between channels: DaViT), follow their number.
func (z *Places) rooted(n *onnx.Node, inputs []*eval.Value) {
	if n.Op != "Mul" && n.Op != "Div" || len(inputs) != 2 {
		return
	}
	for i, v := range inputs {
		data := inputs[1-i]
		if v == nil || data == nil || data.Known() || i == 0 && n.Op == "Div" {
			continue
		}
		x, ok := v.Scalar()
		if !ok || !v.Type.IsFloat() || x == 0 {
			continue
		}
		if n.Op == "Div" {
			x = 1 / x
		}
		before := z.old.Input(n, 1-i).Shape
		if len(before) != len(data.Shape) {
			return
		}
		was, is := summedOver(z.old, n.Output(0), before, data.Shape)
		for _, power := range []float64{-0.5, -0.25} { // of one side, or of each
			if was == is || was < 2 || math.Abs(x/math.Pow(float64(was), power)-1) > rootError {
				continue
			}
			to := math.Pow(float64(is), power)
			if n.Op == "Div" {
				to = 1 / to
			}
			z.place(n, inputs, i, []float64{to})
		}
		return
	}
}

// rootError is how far a factor that was rounded to float32 may be from its root.
const rootError = 1e-6

// summedOver is the size of the axis over which the next product sums a value, as it was, and what it is now, by the shapes of the
// value; zeros where that is not told.
func summedOver(s *eval.Scope, name string, before, after []int) (was, is int) {
	axes := make([]int64, len(before)) // where each axis came from
	for i := range axes {
		axes[i] = int64(i)
	}
	for range maxToProduct {
		n := trace.Only(s, name)
		switch k := len(axes); {
		case n == nil:
			return 0, 0
		case n.Op == "MatMul" && k > 1:
			d := axes[k-1]
			if n.Input(1) == name {
				d = axes[k-2]
			}
			return before[d], after[d]
		case n.Op == "Transpose" && len(n.Ints("perm")) == k:
			moved := make([]int64, k)
			for i, from := range n.Ints("perm") {
				if from < 0 || int(from) >= k {
					return 0, 0
				}
				moved[i] = axes[from]
			}
			axes = moved
		case !eval.Is(n, eval.Elements):
			return 0, 0
		}
		name = n.Output(0)
	}
	return 0, 0
}

// maxToProduct bounds the nodes between a factor and the product of what it scales.
const maxToProduct = 6

// uniformOf is the one number of a known value, of one or more elements.
func uniformOf(v *eval.Value) (x float64, ok bool) {
	if !v.Known() || v.Len() == 0 || v.Len() > maxAnchors {
		return 0, false
	}
	x = v.Number(0)
	for i := range v.Len() {
		if v.Number(i) != x {
			return 0, false
		}
	}
	return x, true
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
	if axis < 0 {
		axis += len(a)
	}
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
	v := z.old.Input(n, input) // what the graph has computed of it now may be of both sizes
	inner, outer := size(v.Shape[end:]), size(v.Shape[:at])
	was, is := l.places()
	x := make([]float64, outer*is*inner)
	line := make([]float64, was)
	wave := z.waveOf(v, inner, l)
	for o := range outer {
		for k := range inner {
			for p := range line {
				line[p] = v.Number((o*was+p)*inner + k)
			}
			to, err := along(line, l)
			if wave != nil {
				to, err = wave.column(k), nil
			}
			if err != nil {
				if z.Doubts[n] == "" {
					z.Doubts[n] = fmt.Sprintf("input %d holds numbers of %d places, and those of %d others cannot be told: %v", input, was, is, err)
				}
				return
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
	made := eval.FloatValue(v.Type, shape, x)
	if !v.Type.IsFloat() {
		whole := make([]int64, len(x))
		for i := range x {
			whole[i] = int64(x[i])
		}
		made = eval.IntValue(v.Type, shape, whole)
	}
	z.Placed[Input{n, input}] = made
	inputs[input] = made
}

// along are the numbers of other places of one line.
func along(line []float64, l levels) ([]float64, error) {
	if grid := l.was[0]; grid[1] == 1 {
		if uniform(line) { // along an axis that is no grid
			return slices.Repeat(line[:1], l.is[0][0]), nil
		}
		return nil, fit.ErrAnchors
	}
	anchors, err := fit.AnchorsOf(line, l.was)
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

// waveRows are rows of sines and cosines of a grid.
type waveRows struct {
	rows [][]float64
}

func rowsOf(w schemes.Sinusoid, places int) waveRows {
	t, out := w.Table(), waveRows{make([][]float64, places)}
	for p := range out.rows {
		out.rows[p] = make([]float64, w.Dim)
		t.Row(p, out.rows[p])
	}
	return out
}

func (w *waveRows) column(k int) []float64 {
	out := make([]float64, len(w.rows))
	for p, row := range w.rows {
		out[p] = row[k]
	}
	return out
}

// waveOf are the rows of another grid of a value that is sines and cosines of a grid, in as many columns; nil for others.
func (z *Places) waveOf(v *eval.Value, columns int, l levels) *waveRows {
	for _, w := range z.waves {
		places := v.Len() / columns
		if len(w.Grid) != 2 || len(l.was) != 1 || [2]int(w.Grid) != l.was[0] || columns != w.Dim || places != w.Grid[0]*w.Grid[1] {
			continue
		}
		same := true
		for p, row := range rowsOf(w, places).rows {
			for k, x := range row {
				d := x - v.Number(p*columns+k)
				same = same && max(d, -d) <= waveError
			}
		}
		if to, err := w.Regrid(l.is[0][:], false); same && err == nil {
			rows := rowsOf(to, l.is[0][0]*l.is[0][1])
			return &rows
		}
	}
	return nil
}

func size(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}
