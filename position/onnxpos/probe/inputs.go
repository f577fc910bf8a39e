package probe

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position/onnxpos/formula"
	"github.com/modelpatch/modelpatch/position/onnxpos/turning"
)

// probeToken is the token id that probes feed: not 0, 1 or 2, which
// exporters use for padding, so that indices made from "ids ≠ pad" count.
const probeToken = 7

// Sizes are the sizes at which a graph is probed.
type Sizes struct {
	Batch, Length, past int                      // sequences, new tokens (samples of a recording), cached tokens
	Image               int                      // height of free image axes in pixels, and width where there is no other
	Width               int                      // 0: as Image
	Frames              int                      // of a video
	end                 int64                    // the token that each text ends with; 0: any
	otherwise           bool                     // truth values that stand alone are false, as `use_cache_branch` is in the first call of a merged decoder
	SequenceFirst       bool                     // of axes whose names do not say it, the first runs over tokens and the second over the batch
	exchanged           [2]string                // names of axes that were given the wrong way round
	pasts               *map[onnx.InputAxis]bool // axes that run over cached tokens, beside those that say so
	rows                *map[onnx.InputAxis]bool // first axes that run over tokens, and over no batch
	demanded            *map[onnx.InputAxis]int  // what the graph's operators demand; nil: nothing
	more                *map[onnx.InputAxis]int  // how many places axes have beside those of the tokens, at every length
}

// unnamed are names that exporters give axes which have none: torch.export's s0, s77; the unk__12 and dim_3 of converters and of shape
// inference, and torch.onnx's dynamic_axes_1, with the value's name ahead of it.
var unnamed = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(\?|none|(s|d|unk(nown)?|dyn(amic)?(_?dim(ension)?|_axes)?)?[_.]*\d*|(\w+_)?(dim|dynamic_axes)[_.]*\d*)$`)
})

// dimension chooses the size of a declared dimension of an input.
func (s Sizes) dimension(in *onnx.ValueInfo, axis int, of pictureAxis) int {
	d, rank := in.Dims[axis], len(in.Dims)
	if d.Value >= 0 {
		return int(d.Value)
	}
	if s.more != nil {
		if n := (*s.more)[onnx.InputAxis{Input: in.Name, Axis: axis}]; n > 0 {
			return s.Length + s.past + n
		}
	}
	if s.demanded != nil {
		if n := (*s.demanded)[onnx.InputAxis{Input: in.Name, Axis: axis}]; n > 0 {
			return n
		}
	}
	if s.pasts != nil && (*s.pasts)[onnx.InputAxis{Input: in.Name, Axis: axis}] {
		return s.past
	}
	if s.rows != nil && (*s.rows)[onnx.InputAxis{Input: in.Name, Axis: axis}] {
		return s.Length
	}
	if i := slices.Index(s.exchanged[:], d.Param); i >= 0 && d.Param != "" {
		d.Param = s.exchanged[1-i]
	}
	name, owner := strings.ToLower(d.Param), strings.ToLower(in.Name)
	last := axis > 0 && !slices.ContainsFunc(in.Dims[axis+1:], func(d onnx.Dim) bool { return d.Value < 0 })
	switch {
	case last && s.Length == 1 && (crossed().MatchString(name) || unnamed().MatchString(name) && crossed().MatchString(owner)):
		return across
	case rank > 3 && axis > 0 && (strings.Contains(owner, "past") || strings.Contains(owner, "cache")) && unnamed().MatchString(name):
		if last { // of those that are free it runs over tokens
			return s.past
		}
		return s.Batch
	case axis == 1 && !last && rank == 3 && in.Dims[0].Value > 1 && in.Type.IsInteger() && !strings.Contains(name, "seq") && !strings.Contains(name, "len") && !slices.ContainsFunc(in.Dims[2:], func(other onnx.Dim) bool { return d.Param != "" && other.Param == d.Param }):
		return s.Batch // rows of several kinds for each text, as M-RoPE's positions
	}
	return s.named(name, axis, rank, of)
}

func (s Sizes) named(name string, axis, rank int, of pictureAxis) int {
	switch {
	case of == frames:
		return s.Frames
	case strings.Contains(name, "batch"), strings.Contains(name, "images"):
		return s.Batch
	case strings.Contains(name, "total"):
		return s.Length + s.past
	case strings.Contains(name, "past"):
		return s.past
	case strings.Contains(name, "channel"):
		return 3
	case of == columns:
		return cmp.Or(s.Width, s.Image)
	case of == rows, strings.Contains(name, "height"), strings.Contains(name, "width"):
		return s.Image
	case of == channels:
		return 3
	case strings.Contains(name, "seq"), strings.Contains(name, "len"), name == "s", name == "t":
		return s.Length
	case rank > 1 && (axis == 0 && !s.SequenceFirst || axis == 1 && s.SequenceFirst):
		return s.Batch
	}
	return s.Length
}

// IsPositions reports whether an input's name says that it holds positions.
// Names of graph inputs survive exporters' renaming and break ties.
func IsPositions(name string) bool {
	n := strings.ToLower(name)
	return strings.Contains(n, "position") || n == "pos" || strings.HasPrefix(n, "pos_id") || strings.HasSuffix(n, "_pos")
}

// IsMask reports whether an input tells which tokens are there, by its name or type, or since the graph counts them.
func IsMask(f *onnx.File, in *onnx.ValueInfo) bool {
	return isMask(in) || isCounted(f, in) || in.Type.IsFloat() && len(in.Dims) == 2 && marksPadding(f, in)
}

// isMask reports whether an input's name or type says that it tells which tokens are there.
func isMask(in *onnx.ValueInfo) bool {
	return in.Type == onnx.Bool || strings.Contains(strings.ToLower(in.Name), "mask")
}

// isSwitch reports whether an input is a truth value alone, which an If may take its branch by.
func isSwitch(in *onnx.ValueInfo) bool {
	return in.Type == onnx.Bool && !slices.ContainsFunc(in.Dims, func(d onnx.Dim) bool { return d.Value != 1 })
}

// OfPairs reports whether an input has a number for each pair of places, by the names of its last two axes: how far apart nodes of a graph are,
// perhaps, and no positions, whatever its name.
func OfPairs(in *onnx.ValueInfo) bool {
	k := len(in.Dims)
	return k > 2 && repeats(in.Dims[k-2], in.Dims[k-1])
}

// IsCount reports whether an input holds how many tokens there are, in all or before the first one.
func IsCount(in *onnx.ValueInfo) bool {
	n := strings.ToLower(in.Name)
	before := in.Type.IsInteger() && len(in.Dims) < 2 && strings.Contains(n, "past")
	return before || strings.Contains(n, "seqlens") || strings.Contains(n, "seq_lens") || strings.Contains(n, "total_seq")
}

// Inputs are the values of the main graph's inputs at the given sizes.
func Inputs(f *onnx.File, s Sizes) map[string]*eval.Value {
	inputs := map[string]*eval.Value{}
	room := maxInputs
	given := slices.DeleteFunc(slices.Clone(Given(f)), func(in *onnx.ValueInfo) bool { return f.Graph.Initializer(in.Name) != nil }) // of a default value the initializer speaks
	turned := turning.Of(f.Graph.Wiring(), slices.DeleteFunc(slices.Clone(given), func(in *onnx.ValueInfo) bool { return !in.Type.IsFloat() || len(in.Dims) < 2 || isMask(in) }))
	sizes := s.shapes(given, func(in *onnx.ValueInfo) bool { return isMask(in) || marksTokens(f, in) })
	for i, in := range given {
		inputs[in.Name] = probeInput(in, s, sizes[i], room)
		if v := inputs[in.Name]; in.Type.IsFloat() && len(in.Dims) == 2 && !v.Known() && v.Ranked && v.Len() <= room && IsMask(f, in) {
			inputs[in.Name] = eval.FloatValue(in.Type, v.Shape, make([]float64, v.Len()))
		}
		room -= len(inputs[in.Name].Ints)
		switch v := inputs[in.Name]; {
		case v.Ranked && v.Len() <= room && turned[in.Name].Kind != turning.Mixed:
			inputs[in.Name] = turned[in.Name].Values(v, s.Length, s.past, room)
		case v.Ranked && v.Len() <= room+len(v.Ints) && IsCoordinates(f, in):
			inputs[in.Name] = coordinates(v, s.past, hasColumns(in) || len(in.Dims) == 2 && namesBatch(in.Dims[1]))
		case v.Known() && isLastKey(f, in):
			for i := range v.Ints {
				v.Ints[i] = int64(s.Length + s.past - 1)
			}
		case v.Known() && s.past == 0 && IsLength(f, in):
			v.Ints[0], v.Data = int64(s.Length), false
		case v.Known() && (marksPadding(f, in) || picksAmong(f, in)):
			clear(v.Ints)
			clear(v.Floats)
		case v.Known() && isCounted(f, in):
			v.Data = false
			for i := range v.Ints {
				v.Ints[i] = 1
			}
		case v.Known() && isLengths(f, given, in):
			for i := range v.Ints {
				v.Ints[i] = int64(s.Length + s.past)
			}
		case v.Known() && len(in.Dims) == 1 && in.Dims[0].Value == 1 && slices.ContainsFunc(given, func(other *onnx.ValueInfo) bool {
			return len(other.Dims) > 1 && other.Type.IsInteger() && !isMask(other)
		}):
			v.Data = false // a number beside tokens
		case marksTokens(f, in):
			for i := range v.Ints {
				v.Ints[i] = 1
			}
		}
		room -= len(inputs[in.Name].Floats)
	}
	return inputs
}

// coordinates are positions from a first one on for an input that holds them: each row its own number, in all
// of its columns.
func coordinates(v *eval.Value, first int, apart bool) *eval.Value {
	columns := 1
	if k := len(v.Shape); apart || k > 1 && v.Shape[k-1] <= maxCoordinates && !(k == 2 && v.Type.IsInteger()) {
		columns = v.Shape[k-1]
	}
	x := make([]float64, v.Len())
	for i := range x {
		x[i] = float64(first + i/columns)
		if k := len(v.Shape); columns == 1 && k > 1 && !apart && (v.Type.IsInteger() || k == 2 && v.Shape[1] > 1) {
			x[i] = float64(first + i%v.Shape[k-1])
		}
	}
	out := eval.FloatValue(v.Type, v.Shape, x)
	if v.Type.IsInteger() {
		counted := make([]int64, len(x))
		for i := range x {
			counted[i] = int64(x[i])
		}
		out = eval.IntValue(v.Type, v.Shape, counted)
	}
	return out
}

// maxCoordinates is how many axes a place has at the most: time, rows, columns and one more.
const maxCoordinates = 4

// maxInputs bounds the numbers of all inputs together: of more, inputs have a shape
// alone.
const maxInputs = 1 << 20

// shapes are those of inputs: what has one name has one size, the largest of those that its places would give it, and what a formula of
// names says follows from theirs.
func (s Sizes) shapes(given []*onnx.ValueInfo, masks func(*onnx.ValueInfo) bool) [][]int {
	out, named := make([][]int, len(given)), map[string]int{}
	alone := func(in *onnx.ValueInfo, d onnx.Dim) bool { // no other axis is said to be as long
		return d.Value < 0 && !slices.ContainsFunc(given, func(other *onnx.ValueInfo) bool {
			return other != in && d.Param != "" && slices.ContainsFunc(other.Dims, func(o onnx.Dim) bool { return o.Param == d.Param })
		})
	}
	for i, in := range given {
		name := strings.ToLower(in.Name)
		image := isPicture(in) && !strings.Contains(name, "bias") && !strings.Contains(name, "mask")
		for axis, d := range in.Dims {
			of := noPicture
			if image {
				of = axisOf(in, axis)
			}
			n := s.dimension(in, axis, of)
			if axis == 0 && d.Value < 0 && len(in.Dims) == 2 && namesPlaces(in.Name) && hasColumns(in) { // of a pack, without a batch
				n = s.Length
			}
			if axis > 0 && axis == len(in.Dims)-1 && s.pasts != nil && len(*s.pasts) > 0 && alone(in, d) && masks(in) { // of the tokens and those before
				n = s.past + s.Length
			}
			out[i] = append(out[i], n)
			if d.Value < 0 {
				named[d.Param] = max(named[d.Param], n)
			}
		}
	}
	for i, in := range given {
		for axis, d := range in.Dims {
			if n, ok := formula.Size(d.Param, named); d.Value < 0 && ok && n > 0 {
				if n == s.past+1 && masks(in) { // it is as long as the tokens and those before: "past + 1" says so of later calls alone
					n = s.past + s.Length
				}
				out[i][axis] = n
			} else if d.Value < 0 && d.Param != "" {
				out[i][axis] = named[d.Param]
			}
		}
	}
	return out
}

func probeInput(in *onnx.ValueInfo, s Sizes, shape []int, most int) *eval.Value {
	if !in.Ranked {
		return &eval.Value{Type: in.Type}
	}
	n := 1
	for _, size := range shape {
		if n <= most {
			n *= min(size, most+1) // lest it overflow
		}
	}
	if in.Type.IsFloat() && n <= most && strings.Contains(strings.ToLower(in.Name), "mask") { // all is there, or the same is added to all
		return eval.FloatValue(in.Type, shape, slices.Repeat([]float64{1}, n))
	}
	if !in.Type.IsInteger() || n > most {
		return eval.Shaped(in.Type, shape...)
	}
	content, fill := make([]int64, n), s.fill(in, shape)
	for i := range content {
		content[i] = fill(i)
	}
	v := eval.IntValue(in.Type, shape, content)
	v.Data = (!IsPositions(in.Name) || OfPairs(in)) && !IsCount(in) && !isMask(in) && len(shape) > 0
	return v
}

// anonymous reports whether an input is a list or a matrix of whole numbers whose name does not
// say what it holds.
func anonymous(in *onnx.ValueInfo) bool {
	name := strings.ToLower(in.Name)
	if strings.Contains(name, "ids") || strings.Contains(name, "token") || strings.Contains(name, "labels") {
		return false
	}
	return in.Type.IsInteger() && in.Type != onnx.Bool && (len(in.Dims) == 1 || len(in.Dims) == 2) && (Sizes{}).fill(in, []int{1, 2}[2-len(in.Dims):])(0) == probeToken
}

// marksTokens reports whether an integer matrix whose name does not say what it holds has a mask or a kind for each token of another, which alone
// takes rows of a table of more than kinds; where neither or both do, the first are tokens.
func marksTokens(f *onnx.File, in *onnx.ValueInfo) bool {
	takes := func(in *onnx.ValueInfo) bool { return len(rowsTaken(f.Graph.Wiring(), in.Name)) > 0 }
	if len(in.Dims) != 2 || !anonymous(in) || takes(in) {
		return false
	}
	given := slices.DeleteFunc(slices.Clone(Given(f)), func(other *onnx.ValueInfo) bool { return len(other.Dims) != 2 || !anonymous(other) })
	return given[0].Name != in.Name || slices.ContainsFunc(given, takes)
}

// fill gives the elements of an integer input by their places.
func (s Sizes) fill(in *onnx.ValueInfo, shape []int) func(i int) int64 {
	name, positions := strings.ToLower(in.Name), IsPositions(in.Name)
	last := 1
	if len(shape) > 0 {
		last = max(shape[len(shape)-1], 1)
	}
	all := func(number int) func(int) int64 { return func(int) int64 { return int64(number) } }
	switch {
	case s.otherwise && isSwitch(in):
		return all(0)
	case strings.Contains(name, "mask"), in.Type == onnx.Bool:
		return all(1)
	case strings.Contains(name, "seqlens"), strings.Contains(name, "seq_lens"), strings.Contains(name, "total"):
		return all(s.Length + s.past)
	case strings.Contains(name, "token_type"), strings.Contains(name, "segment") && !positions, strings.Contains(name, "slot"):
		return all(0)
	case strings.Contains(name, "past"):
		return all(s.past)
	case OfPairs(in):
		return all(0)
	case positions && len(shape) == 3 && in.Dims[0].Value != 3 && last != s.Length: // the places of each mention of an entity, say
		return func(i int) int64 { return int64(i%last + i/last%max(shape[1], 1) + s.past) }
	case positions && len(shape) == 2 && namesBatch(in.Dims[1]):
		return func(i int) int64 { return int64(i/last + s.past) }
	case positions && last > 1:
		return func(i int) int64 { return int64(i%last + s.past) }
	case positions, len(in.Dims) == 0, len(in.Dims) == 1 && in.Dims[0].Value == 1:
		return all(s.past) // a single number that is no length says where positions begin
	case s.end != 0:
		return func(i int) int64 {
			if (i+1)%last == 0 {
				return s.end
			}
			return probeToken
		}
	}
	return all(probeToken)
}

// IsLength reports whether an input is a single number up to which positions are counted from 0 on, or rows are taken from the first one on:
// how many tokens there are, whatever its name.
func IsLength(f *onnx.File, in *onnx.ValueInfo) (length bool) {
	if !in.Type.IsInteger() || in.Type == onnx.Bool || len(in.Dims) > 1 || len(in.Dims) == 1 && in.Dims[0].Value != 1 || IsPositions(in.Name) || IsCount(in) {
		return false
	}
	w := f.Graph.Wiring()
	other := false
	read(f, in, func(n *onnx.Node, of int, _ bool) (on, turns bool) {
		begins, ends := 0, 1 // of Range
		if eval.Is(n, eval.Runs) {
			begins, ends = 1, 2
		}
		end, _ := w.Input(n, ends)
		switch counts := n.Op == "Range" || eval.Is(n, eval.Runs); {
		case counts && end == of && isZero(w, n, begins):
			length = true
		case counts:
			other = true // where something begins, as well
		}
		return eval.Is(n, eval.Elements|eval.Layout), false
	})
	return length && !other
}

// isLastKey reports whether an input says where each sequence's last key is, as GroupQueryAttention takes it (seqlens_k of ONNX Runtime's
// ContribOperators.md: total length − 1).
func isLastKey(f *onnx.File, in *onnx.ValueInfo) (last bool) {
	if !in.Type.IsInteger() {
		return false
	}
	w := f.Graph.Wiring()
	read(f, in, func(n *onnx.Node, of int, _ bool) (on, turns bool) {
		ends, ok := w.Input(n, 5)
		last = last || n.Op == "GroupQueryAttention" && ok && ends == of
		return eval.Is(n, eval.Layout) || n.Op == "Cast", false
	})
	return last
}

// isLengths reports whether an input has a number for each of several sequences with which places are compared, or of which the
// largest is taken: how many tokens of it count.
func isLengths(f *onnx.File, given []*onnx.ValueInfo, in *onnx.ValueInfo) (lengths bool) {
	if !in.Type.IsInteger() || in.Type == onnx.Bool || len(in.Dims) > 1 || IsPositions(in.Name) || IsCount(in) {
		return false
	}
	if len(in.Dims) == 0 || in.Dims[0].Value == 1 {
		return boundsPlaces(f, in)
	}
	if !slices.ContainsFunc(given, func(other *onnx.ValueInfo) bool {
		return len(other.Dims) > 1 && other.Dims[0].Value == in.Dims[0].Value && other.Dims[0].Param == in.Dims[0].Param
	}) {
		return false
	}
	rows := false
	read(f, in, func(n *onnx.Node, _ int, _ bool) (on, turns bool) {
		lengths = lengths || eval.Is(n, eval.Comparison|eval.Average|eval.Largest)
		rows = rows || eval.Is(n, eval.Lookups) || n.Op == "OneHot"
		return eval.Is(n, eval.Elements|eval.Layout|eval.Repetition), false
	})
	return lengths && !rows
}

// boundsPlaces reports whether a single number is only compared with others, and is what they are to be less than: how many
// tokens count. One at which something is written, or positions begin, is read otherwise as well.
func boundsPlaces(f *onnx.File, in *onnx.ValueInfo) (bounds bool) {
	w := f.Graph.Wiring()
	other := false
	read(f, in, func(n *onnx.Node, of int, _ bool) (on, turns bool) {
		low, high := 0, 1
		if strings.HasPrefix(n.Op, "Greater") {
			low, high = 1, 0
		}
		below, _ := w.Input(n, high)
		against, ok := w.Input(n, low)
		switch compares := strings.HasPrefix(n.Op, "Less") || strings.HasPrefix(n.Op, "Greater"); {
		case compares && below == of && ok && against != of:
			bounds = true
		case !eval.Is(n, eval.Layout|eval.Sizes) && n.Op != "Cast":
			other = true
		}
		return eval.Is(n, eval.Layout) || n.Op == "Cast", false
	})
	return bounds && !other
}
