package probe

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
)

// maxFollowed bounds the readers of an input that are followed.
const maxFollowed = 256

// IsCoordinates reports whether an input holds positions by what is done with it: besides bringing it into
// shape and multiplying it with constants, sines and cosines are taken of it, or rows of a table of them; or its name says nothing, and it
// takes rows of a table that are added to those of tokens. A number for each sequence of a batch is a time and none.
func IsCoordinates(f *onnx.File, in *onnx.ValueInfo) bool {
	rank := len(in.Dims)
	if in.Type == onnx.Bool || rank == 0 || rank > 3 || rank == 1 && in.Dims[0].Value < 2 && !hasPlacesOf(f, in) || isOfBatch(f, in) {
		return false
	}
	w := f.Graph.Wiring()
	number, used := w.Number(in.Name)
	if !used {
		return false
	}
	if isPlaceBesideContent(f, in) || anonymous(in) && embedded(f, in) || AssumesPositions(f, in) || placesByColumns(f, in) || in.Type.IsInteger() && differs(w, number) {
		return true
	}
	waves, rows := false, int64(0)
	queue, seen := []int{number}, map[int]bool{number: true}
	for i := 0; i < len(queue); i++ {
		for _, n := range w.Readers(queue[i]) {
			switch {
			case i >= maxFollowed:
				return false
			case n.Op == "Sin" || n.Op == "Cos":
				waves = true
				continue
			case in.Type.IsFloat() && IsPositions(in.Name) && n.Op == "Gather" && indexedBy(w, n, queue[i]): // made whole numbers first
				waves = true
				continue
			case in.Type.IsInteger() && takesWaves(w, n, queue[i]) != nil:
				table := takesWaves(w, n, queue[i])
				if rows > 0 && rows != rowsOf(table) {
					return false // hours and days: a position is one number along each axis
				}
				waves, rows = true, rowsOf(table)
				continue
			case !passes(n) && in.Type.IsInteger():
				continue // where a key is written, or which it sees, as well
			case !passes(n):
				return false
			case eval.Is(n, eval.Sizes):
				continue
			}
			for k := range n.Outputs {
				if out, ok := w.Output(n, k); ok && !seen[out] {
					seen[out] = true
					queue = append(queue, out)
				}
			}
		}
	}
	return waves
}

// isOfBatch reports whether an input has few numbers for each sequence or picture, by an axis that says so by its name: two others of more axes begin
// with it, or one beside an input that has nothing else, the time. They are sizes of the picture, and the like (SDXL's conditions).
func isOfBatch(f *onnx.File, in *onnx.ValueInfo) bool {
	if len(in.Dims) != 2 || in.Dims[0].Param == "" || in.Dims[1].Value < 1 || in.Dims[1].Value > maxConditions {
		return false
	}
	sequences, times := 0, 0
	for _, other := range Given(f) {
		switch {
		case other.Name == in.Name:
		case len(other.Dims) > 1 && slices.ContainsFunc(other.Dims[1:], func(d onnx.Dim) bool { return d.Param == in.Dims[0].Param }):
			return false
		case len(other.Dims) > 2 && other.Dims[0].Param == in.Dims[0].Param:
			sequences++
		case len(other.Dims) == 1 && other.Dims[0].Param == in.Dims[0].Param:
			times++
		}
	}
	return sequences > 1 || sequences == 1 && times > 0
}

// maxConditions is how many numbers a picture may have beside it: sizes and corners.
const maxConditions = 8

// hasPlacesOf reports whether the one axis of an input is, by its name, one of another that is not its first; or that of tokens, where they have
// one axis, as those of several sequences packed into one.
func hasPlacesOf(f *onnx.File, in *onnx.ValueInfo) bool {
	isOfThese := func(d onnx.Dim) bool { return d.Value < 0 && d.Param == in.Dims[0].Param }
	given := Given(f)
	return in.Dims[0].Param != "" && (slices.ContainsFunc(given, func(other *onnx.ValueInfo) bool {
		return len(other.Dims) > 1 && slices.ContainsFunc(other.Dims[1:], isOfThese)
	}) || !slices.ContainsFunc(given, func(other *onnx.ValueInfo) bool { return len(other.Dims) > 1 && isOfThese(other.Dims[0]) }) &&
		slices.ContainsFunc(given, func(other *onnx.ValueInfo) bool {
			return len(other.Dims) == 1 && other.Name != in.Name && isOfThese(other.Dims[0]) && len(rowsTaken(f.Graph.Wiring(), other.Name)) > 0
		}))
}

// differs reports whether numbers of a value are subtracted from each other, each brought into shape alone, and the difference is more than compared:
// distances.
func differs(w *onnx.Wiring, number int) bool {
	queue, seen := []int{number}, map[int]bool{number: true}
	var apart []*onnx.Node
	for i := 0; i < len(queue) && i < maxFollowed; i++ {
		for _, n := range w.Readers(queue[i]) {
			out, ok := w.Output(n, 0)
			switch {
			case !ok:
			case n.Op == "Sub":
				apart = append(apart, n)
			case !seen[out] && (n.Op == "Cast" || eval.Is(n, eval.Layout|eval.Repetition)):
				seen[out] = true
				queue = append(queue, out)
			}
		}
	}
	return slices.ContainsFunc(apart, func(n *onnx.Node) bool {
		a, one := w.Input(n, 0)
		b, two := w.Input(n, 1)
		out, _ := w.Output(n, 0)
		return one && two && a != b && seen[a] && seen[b] && slices.ContainsFunc(w.Readers(out), func(r *onnx.Node) bool { return !eval.Is(r, eval.Comparison) && r.Op != "Equal" })
	})
}

// hasColumns reports whether whole numbers stand in few columns, beside an axis of any size: a row and a column for each patch of a pack.
func hasColumns(in *onnx.ValueInfo) bool {
	k := len(in.Dims)
	if k < 2 || !in.Type.IsInteger() {
		return false
	}
	columns, places := in.Dims[k-1].Value, in.Dims[k-2].Value
	return columns > 0 && columns <= maxCoordinates && (places < 0 || places > maxCoordinates)
}

// placesByColumns reports whether each column of an input takes rows of a table, and its name says that it holds places, or all have as many and
// it stands beside other data: hours and days have tables of other sizes, and what has more columns than a video has axes, with a table each, are
// kinds of something.
func placesByColumns(f *onnx.File, in *onnx.ValueInfo) bool {
	taken, alike := columnsTakeRows(f, in)
	return taken && (namesPlaces(in.Name) || alike && !namesTokens(in.Name) && besideData(f, in))
}

// besideData reports whether a graph has other inputs than one, of two axes or more, that are no masks.
func besideData(f *onnx.File, in *onnx.ValueInfo) bool {
	return slices.ContainsFunc(Given(f), func(other *onnx.ValueInfo) bool {
		return other.Name != in.Name && !isMask(other) && len(other.Dims) > 1
	})
}

// namesTokens reports whether an input's name says that it holds tokens: codebooks have columns as well.
func namesTokens(name string) bool {
	name = strings.ToLower(name)
	return strings.Contains(name, "ids") || strings.Contains(name, "token") || strings.Contains(name, "code")
}

// namesPlaces reports whether an input's name says that it holds positions, or places in a grid.
func namesPlaces(name string) bool {
	name = strings.ToLower(name)
	return IsPositions(name) || strings.Contains(name, "coord") || strings.Contains(name, "grid")
}

// IsColumn reports whether a value is one of several columns of an input as they come in: coordinates, of which there are as many as are given.
func IsColumn(f *onnx.File, value string) bool {
	w := f.Graph.Wiring()
	number, used := w.Number(value)
	for i := 0; used && i < maxOnTheWay; i++ {
		name := w.Name(number)
		for _, in := range Given(f) {
			if in.Name == name {
				return isPlaceBesideContent(f, in) || hasColumns(in) && in.Dims[len(in.Dims)-1].Value > 1
			}
		}
		n := w.Producer(number)
		if n == nil || !eval.Is(n, eval.Elements|eval.Layout|eval.Selection) {
			return false
		}
		number, used = w.Input(n, 0)
	}
	return false
}

// indexedBy reports whether a value is the index of a node.
func indexedBy(w *onnx.Wiring, n *onnx.Node, value int) bool {
	index, ok := w.Input(n, 1)
	return ok && index == value
}

// columnsTakeRows reports whether each column of an input takes rows of a table, and whether all of these have as many, and are no more than axes.
func columnsTakeRows(f *onnx.File, in *onnx.ValueInfo) (taken, alike bool) {
	if !hasColumns(in) {
		return false, false
	}
	w := f.Graph.Wiring()
	picked, rows := map[int]bool{}, int64(0) // values of one column
	var tables []*onnx.Tensor
	taken, alike = true, true
	read(f, in, func(n *onnx.Node, of int, _ bool) (on, turns bool) {
		last := int64(len(in.Dims) - 1)
		axis := n.Int("axis", 0)
		data, _ := w.Input(n, 0)
		index, indexed := w.Input(n, 1)
		switch {
		case n.Op == "Gather" && data == of && indexed && !picked[of] && (axis == last || axis == -1):
			at := w.ConstantOf(index)
			out, ok := w.Output(n, 0)
			if ok && at != nil && at.Len() == 1 {
				picked[out] = true
				return true, false
			}
		case n.Op == "Gather" && indexed && index == of && picked[of]:
			if t := w.ConstantOf(data); t != nil && t.Type.IsFloat() && len(t.Dims) == 2 {
				if !slices.Contains(tables, t) {
					tables = append(tables, t)
				}
				alike = alike && (rows == 0 || rows == t.Dims[0]) && len(tables) < maxCoordinates
				rows = t.Dims[0]
				return false, false
			}
		case eval.Is(n, eval.Elements|eval.Layout):
			out, ok := w.Output(n, 0)
			if ok && picked[of] {
				picked[out] = true
			}
			return true, false
		}
		taken = taken && eval.Is(n, eval.Sizes)
		return false, false
	})
	return taken && rows > fewKinds && len(picked) > 1, alike
}

// areSizes reports whether each column of an input is taken by itself, and no rows of a table by it: sizes of pictures (grid_thw of Qwen2-VL).
func areSizes(f *onnx.File, in *onnx.ValueInfo) bool {
	w, picked, whole := f.Graph.Wiring(), false, in.Dims[len(in.Dims)-1].Value < 2 || in.Dims[len(in.Dims)-1].Value > maxCoordinates
	read(f, in, func(n *onnx.Node, of int, _ bool) (on, turns bool) {
		data, _ := w.Input(n, 0)
		axis := n.Int("axis", 0)
		if n.Op == "Gather" && data == of && isSingle(w, n, 1) && (axis == int64(len(in.Dims)-1) || axis == -1) {
			picked = true
			return false, false
		}
		on = eval.Is(n, eval.Elements)
		whole = whole || !on && !eval.Is(n, eval.Sizes)
		return on, false
	})
	return picked && !whole
}

// AssumesPositions reports whether an input is taken for positions only as its name says nothing and rows that it takes are added to those of tokens.
func AssumesPositions(f *onnx.File, in *onnx.ValueInfo) bool {
	return anonymous(in) && !IsPositions(in.Name) && namesNothing(in.Name) && besideTokens(f, in) && !hasOwnRows(f, in)
}

// hasOwnRows reports whether rows of a table by an index of the graph's own are added to those of tokens ahead of an input: these are of
// positions, and what the input takes is of something else, of the hour or the day.
func hasOwnRows(f *onnx.File, in *onnx.ValueInfo) bool {
	w := f.Graph.Wiring()
	for _, tokens := range Given(f) {
		if tokens.Name == in.Name {
			break
		}
		for n := range rowsTaken(w, tokens.Name) {
			for steps := 0; steps < maxOnTheWay; steps++ {
				next := -1
				for _, r := range w.Readers(n) {
					for i := range r.Inputs {
						if other, ok := w.Input(r, i); ok && other != n && eval.Is(r, eval.Addition) && isOwnRow(w, other) {
							return true
						}
					}
					if made, ok := w.Output(r, 0); ok && eval.Is(r, eval.Addition|eval.Elements|eval.Layout|eval.Scaling) {
						next = made
					}
				}
				n = next
				if n < 0 {
					break
				}
			}
		}
	}
	return false
}

// isOwnRow reports whether a value is rows of a constant, by an index in which sizes count and nothing that an input holds.
func isOwnRow(w *onnx.Wiring, value int) bool {
	for range maxOnTheWay {
		n := w.Producer(value)
		if n == nil {
			return false
		}
		table, index, picks := picksRows(w, n)
		if t := w.Constant(table); picks && t != nil && len(t.Dims) == 2 && t.Dims[0] > fewKinds {
			return countsSizes(w, index)
		}
		if next, ok := w.Input(n, 0); ok && eval.Is(n, eval.Elements|eval.Layout|eval.Repetition) {
			value = next
			continue
		}
		return false
	}
	return false
}

// countsSizes reports whether a value is made of sizes and constants alone.
func countsSizes(w *onnx.Wiring, value int) bool {
	queue, seen := []int{value}, map[int]bool{value: true}
	for i := 0; i < len(queue); i++ {
		n := w.Producer(queue[i])
		switch {
		case w.Constant(queue[i]) != nil || n != nil && eval.Is(n, eval.Sizes):
			continue
		case n == nil || i >= maxFollowed:
			return false
		}
		for k := range n.Inputs {
			if in, ok := w.Input(n, k); ok && !seen[in] {
				seen[in] = true
				queue = append(queue, in)
			}
		}
	}
	return true
}

// madeUp are the words of names that exporters give inputs which have none (in_1, input.3, args_0, l_args_1_, keras_tensor_4,
// serving_default_inputs_1:0, onnx::Gather_2), and of numbers of places.
var madeUp = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(in|inputs?|args?|x|y|p|t|v|l|onnx|self|data|tensor|keras|serving|default|model|placeholder|var|variable|param|idx|index|indices|offsets?|order|place|loc|coords?|times?|steps?|timesteps?|pos|cur|current|frames?|residues?|residx)?$`)
})

// namesNothing reports whether no word of a name says what else than positions an input holds.
func namesNothing(name string) bool {
	return strings.HasPrefix(name, "onnx::") || !slices.ContainsFunc(strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return !unicode.IsLetter(r) }), func(word string) bool { return !madeUp().MatchString(word) })
}

// fewKinds is how many rows a table of kinds of tokens has at the most: BERT's has two, others one a language or a speaker.
const fewKinds = 8

// besideTokens reports whether an input takes rows of a table of its own, which are added to those that another input takes, as
// rows of positions are to those of tokens.
func besideTokens(f *onnx.File, in *onnx.ValueInfo) bool {
	w := f.Graph.Wiring()
	for taken := range rowsTaken(w, in.Name) {
		for n, steps := taken, 0; steps < maxOnTheWay; steps++ {
			readers := w.Readers(n)
			for _, r := range readers {
				for i := range r.Inputs {
					if other, ok := w.Input(r, i); ok && other != n && eval.Is(r, eval.Addition) && (takesRowsOf(w, f, in, other) || isOfAnother(w, f, in, other)) {
						return true
					}
				}
			}
			if len(readers) != 1 || !eval.Is(readers[0], eval.Addition|eval.Elements|eval.Layout|eval.Scaling) {
				break
			}
			made, ok := w.Output(readers[0], 0)
			if !ok {
				break
			}
			n = made
		}
	}
	return false
}

// embedded reports whether an input is that of the positions of an operator that sums rows for tokens and positions
// (EmbedLayerNormalization of com.microsoft, position_ids).
func embedded(f *onnx.File, in *onnx.ValueInfo) (yes bool) {
	w := f.Graph.Wiring()
	read(f, in, func(n *onnx.Node, of int, _ bool) (on, turns bool) {
		const positionIDs = 8
		at, ok := w.Input(n, positionIDs)
		yes = yes || ok && at == of && n.Op == "EmbedLayerNormalization"
		return eval.Is(n, eval.Elements|eval.Layout), false
	})
	return yes
}

// maxOnTheWay bounds the nodes between rows that are taken and where they are added.
const maxOnTheWay = 8

// rowsTaken are the values that Gathers take of constants by an input, each of more rows than tokens have kinds.
func rowsTaken(w *onnx.Wiring, input string) map[int]bool {
	out := map[int]bool{}
	number, used := w.Number(input)
	for i := 0; used && i < maxOnTheWay; i++ { // behind Casts, and what is added for rows of padding
		next := -1
		for _, n := range w.Readers(number) {
			made, ok := w.Output(n, 0)
			table, index, picks := picksRows(w, n)
			switch {
			case !ok:
			case picks && index == number:
				if t := w.Constant(table); t != nil && len(t.Dims) == 2 && t.Dims[0] > fewKinds && (t.Type.IsFloat() || t.Type.Bits() <= 8) { // quantised, perhaps
					out[made] = true
				}
			case eval.Is(n, eval.Elements|eval.Layout), eval.Is(n, eval.Addition) && (isSingle(w, n, 0) || isSingle(w, n, 1)):
				next = made
			}
		}
		if next < 0 {
			break
		}
		number = next
	}
	return out
}

// takesRowsOf reports whether a value is made, element by element, of rows that an input ahead of another one takes.
func takesRowsOf(w *onnx.Wiring, f *onnx.File, in *onnx.ValueInfo, value int) bool {
	for _, other := range Given(f) {
		if other.Name == in.Name {
			return false
		}
		if taken := rowsTaken(w, other.Name); len(taken) > 0 && leadsTo(w, taken, value, maxOnTheWay) {
			return true
		}
	}
	return false
}

// isOfAnother reports whether a value is another input of numbers, or a product of it and weights, but for what is added to it: states of a
// trajectory, or embeddings.
func isOfAnother(w *onnx.Wiring, f *onnx.File, in *onnx.ValueInfo, value int) bool {
	for range maxOnTheWay {
		n := w.Producer(value)
		if n == nil {
			name := w.Name(value)
			return name != in.Name && slices.ContainsFunc(Given(f), func(other *onnx.ValueInfo) bool { return other.Name == name && other.Type.IsFloat() })
		}
		data := 0
		if first, ok := w.Input(n, 0); ok && w.ConstantOf(first) != nil {
			data = 1 // x + b as well as b + x
		}
		next, ok := w.Input(n, data)
		if weighs := eval.Is(n, eval.Product) || n.Op == "Gemm"; !ok || !weighs && !eval.Is(n, eval.Addition|eval.Elements|eval.Layout|eval.Scaling) {
			return false
		}
		value = next
	}
	return false
}

// leadsTo reports whether one of some values is a value, or the nodes before it make it of them element by element.
func leadsTo(w *onnx.Wiring, from map[int]bool, value, most int) bool {
	if from[value] {
		return true
	}
	made := w.Producer(value)
	if most == 0 || made == nil || !eval.Is(made, eval.Addition|eval.Elements|eval.Layout|eval.Scaling) {
		return false
	}
	for i := range made.Inputs {
		if in, ok := w.Input(made, i); ok && leadsTo(w, from, in, most-1) {
			return true
		}
	}
	return false
}

// picksRows is the table of which a node takes rows, and their index: by Gather, by GatherND of one coordinate, as torch.export
// writes an index of two axes, or by GatherElements.
func picksRows(w *onnx.Wiring, n *onnx.Node) (table, index int, ok bool) {
	table, has := w.Input(n, 0)
	index, indexed := w.Input(n, 1)
	rows := n.Op == "Gather" && n.Int("axis", 0) == 0 || n.Op == "GatherElements"
	if indexed && n.Op == "GatherND" && n.Int("batch_dims", 0) == 0 {
		from := w.Producer(index)
		rows = from == nil || from.Op == "Unsqueeze" // an input has the axis itself
	}
	return table, index, has && indexed && rows
}

// picksAmong reports whether a list picks places of other inputs, as that of the beams that go on: of each there may be one alone.
func picksAmong(f *onnx.File, in *onnx.ValueInfo) (picks bool) {
	if !in.Type.IsInteger() || len(in.Dims) != 1 {
		return false
	}
	w := f.Graph.Wiring()
	read(f, in, func(n *onnx.Node, of int, _ bool) (on, turns bool) {
		data, index, rows := picksRows(w, n)
		picks = picks || rows && index == of && w.Producer(data) == nil && w.Constant(data) == nil
		return eval.Is(n, eval.Elements|eval.Layout), false
	})
	return picks
}

// takesWaves is the table of sines or cosines of which a node takes rows by an index, nil where it takes none.
func takesWaves(w *onnx.Wiring, n *onnx.Node, index int) *onnx.Tensor {
	data, at, ok := picksRows(w, n)
	if !ok || at != index {
		return nil
	}
	t := storedBehind(w, data)
	if t == nil || !t.Type.IsFloat() || len(t.Dims) < 2 || t.Complete() != nil {
		return nil
	}
	columns := int(t.Len() / max(rowsOf(t), 1))
	if rowsOf(t) < 4 || columns < 1 {
		return nil
	}
	x, err := t.Floats(0, 4*int64(columns))
	if err != nil || !turns(x, columns) {
		return nil
	}
	return t
}

// rowsOf is the size of the first axis of a constant that has several places.
func rowsOf(t *onnx.Tensor) int64 {
	if i := slices.IndexFunc(t.Dims, func(d int64) bool { return d != 1 }); i >= 0 {
		return t.Dims[i]
	}
	return 1
}

// storedBehind is the constant that a value is, or is the first rows of, brought into shape.
func storedBehind(w *onnx.Wiring, number int) *onnx.Tensor {
	for range maxOnTheWay {
		if t := w.ConstantOf(number); t != nil {
			return t
		}
		made := w.Producer(number)
		if made == nil || !eval.Is(made, eval.Elements|eval.Layout|eval.Runs|eval.Repetition) {
			return nil
		}
		var ok bool
		if number, ok = w.Input(made, 0); !ok {
			return nil
		}
	}
	return nil
}

// turns reports whether the first four rows of a table go on as sines or cosines do, of one amplitude or another: each follows
// from the two before it by twice the cosine of the step.
func turns(x []float64, columns int) bool {
	largest, moves := 0.0, 0.0
	for i, v := range x {
		largest = max(largest, math.Abs(v))
		moves = max(moves, math.Abs(v-x[i%columns]))
	}
	told := 0 // columns whose step is told
	for i := range columns {
		x0, x1, x2, x3 := x[i], x[columns+i], x[2*columns+i], x[3*columns+i]
		if math.Abs(x1) <= waveTolerance*largest { // too little to tell the step
			continue
		}
		twice := (x2 + x0) / x1
		if math.Abs(twice) > 2+waveTolerance || math.Abs(twice*x2-x1-x3) > waveTolerance*largest {
			return false
		}
		told++
	}
	return 4*told >= columns && moves > turned*largest
}

// waveTolerance is how far sines that are rounded to 16 bits may be from their formula, as a part of their amplitude; turned is how
// far the fastest has to go from where it began, within three positions.
const (
	waveTolerance = 1e-2
	turned        = 0.3
)

// passes reports whether positions may go through a node on their way to sines and cosines.
func passes(n *onnx.Node) bool {
	return n.Op == "Neg" ||
		eval.Is(n, eval.Layout|eval.Repetition|eval.Elements|eval.Sizes|eval.Scaling|eval.Product|eval.Joining|eval.Selection)
}

// placesBesideContent are the places that columns of an input of numbers hold, beside the content of each element (row and column of a
// patch ahead of its pixels: Pix2Struct, arXiv:2210.03347 §2.2), as inputs of their own: two columns or more are made whole numbers and
// take rows of tables of as many rows. Categories have tables of different sizes.
func placesBesideContent(f *onnx.File, in *onnx.ValueInfo) (out []*onnx.ValueInfo) {
	k := len(in.Dims)
	if !in.Type.IsFloat() || k < 2 || in.Dims[k-1].Value <= maxCoordinates {
		return nil
	}
	w := f.Graph.Wiring()
	column, whole := map[int]bool{}, map[int]*onnx.ValueInfo{} // values of one column, and those that are whole numbers
	rows, alike := int64(0), true
	read(f, in, func(n *onnx.Node, of int, _ bool) (on, turns bool) {
		made, ok := w.Output(n, 0)
		switch {
		case !ok:
			return false, false
		case !column[of] && whole[of] == nil:
			column[made] = picksColumn(w, n, of, k-1)
			return column[made], false
		case column[of] && n.Op == "Cast" && onnx.DataType(n.Int("to", 0)).IsInteger():
			whole[made] = &onnx.ValueInfo{Name: w.Name(made), Type: onnx.DataType(n.Int("to", 0)), Ranked: true, Dims: in.Dims[:k-1]}
			return true, false
		case column[of] && eval.Is(n, eval.Elements):
			column[made] = true
			return true, false
		}
		if kinds := kindsTaken(w, n, of); kinds > fewKinds && whole[of] != nil {
			alike = alike && (rows == 0 || rows == kinds)
			rows = kinds
			if !slices.Contains(out, whole[of]) {
				out = append(out, whole[of])
			}
		} else if whole[of] != nil && eval.Is(n, eval.Layout) {
			whole[made] = whole[of]
			return true, false
		}
		return false, false
	})
	if len(out) < 2 || !alike {
		return nil
	}
	return out
}

// picksColumn reports whether a node takes one place of an axis, which goes.
func picksColumn(w *onnx.Wiring, n *onnx.Node, of, axis int) bool {
	data, _ := w.Input(n, 0)
	index, ok := w.Input(n, 1)
	if n.Op != "Gather" || data != of || !ok {
		return false
	}
	t, at := w.ConstantOf(index), int(n.Int("axis", 0))
	return t != nil && len(t.Dims) == 0 && (at == axis || at == -1)
}

// kindsTaken is of how many rows a node takes some by an index, or how many numbers it tells apart; 0 where it does neither.
func kindsTaken(w *onnx.Wiring, n *onnx.Node, index int) int64 {
	if first, _ := w.Input(n, 0); n.Op == "OneHot" && first == index {
		if depth, ok := w.Input(n, 1); ok && w.ConstantOf(depth) != nil {
			if x, err := w.ConstantOf(depth).Ints(0, 1); err == nil {
				return x[0]
			}
		}
		return 0
	}
	table, at, ok := picksRows(w, n)
	if t := w.Constant(table); ok && at == index && t != nil && t.Type.IsFloat() && len(t.Dims) == 2 {
		return t.Dims[0]
	}
	return 0
}

// isPlaceBesideContent reports whether an input is a column of another one.
func isPlaceBesideContent(f *onnx.File, in *onnx.ValueInfo) bool {
	return !slices.Contains(f.Graph.Inputs, in) && slices.ContainsFunc(f.Graph.Inputs, func(of *onnx.ValueInfo) bool {
		return slices.ContainsFunc(placesBesideContent(f, of), func(other *onnx.ValueInfo) bool { return other.Name == in.Name })
	})
}
