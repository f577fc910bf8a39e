// Package eval evaluates the integer and shape side of an ONNX graph at small
// sizes, with probing inputs, so that questions about indices are answered by
// computing them instead of by matching patterns of nodes.
//
// Start with New and Evaluator.Value. Weights are shapes only; contents are
// kept where they are small and known: integers, and the floating-point
// numbers that are computed from positions. The package knows operators and
// shapes, not positions.
package eval

import (
	"math"
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
)

// maxContent bounds the elements of a value whose content is kept.
const maxContent = 1 << 17

// maxOrigins bounds how many constants a value remembers it was made from.
const maxOrigins = 24

// Value is what is known of a tensor at the probed sizes: its type, its shape
// and, where it is small and computable, its content.
type Value struct {
	Type   onnx.DataType
	Ranked bool // Shape is known
	Data   bool // the content depends on that of a graph input

	whole      bool  // the tensor as it is, no view of it
	large      bool  // not kept because it is large, or made of what is
	ownOrigins bool  // Origins are all that its numbers are of: scales are not
	state      bool  // not kept because it is the model's state: rows chosen by tokens
	most       int32 // elements up to which the tensor is read, where more than maxContent

	Sequence bool     // a list of tensors, which are Elements; it has no shape
	Elements []*Value // of a sequence

	Shape   []int
	Ints    []int64   // content of integer and truth values
	Floats  []float64 // content of floating-point values
	Origins []*onnx.Tensor

	stored  store      // content that is read when needed: a constant's
	before  *Value     // what was quantised to this
	keeper  *Evaluator // counts the content of a constant when it is read
	answers *answers   // what was asked of the content before
}

// answers are what was asked of a value's content. A constant is asked the same by
// each of its readers.
type answers struct {
	of     *Value // whose they are: values are copied and changed
	varies []int8 // by axis: 0 not asked, 1 no, 2 yes
	kept   map[string]any
	counts struct {
		counted, ok bool
		axis        int
		first       int64
	}
}

// answered are the answers of this value so far.
func (v *Value) answered() *answers {
	if v.answers == nil || v.answers.of != v || len(v.answers.varies) != len(v.Shape) {
		v.answers = &answers{of: v, varies: make([]int8, len(v.Shape))}
	}
	return v.answers
}

// unknown is a value of which nothing is known.
func unknown() *Value { return &Value{} }

// Shaped is a value of known type and shape, and unknown content.
func Shaped(t onnx.DataType, shape ...int) *Value {
	return &Value{Type: t, Ranked: true, Shape: shape}
}

// bare reports whether nothing is known of a value but its type and shape, and whether it is data: what is made of each of its
// elements alone is such a value as well, and need not be another.
func (v *Value) bare() bool {
	return v.Ranked && v.Ints == nil && v.Floats == nil && v.stored == nil && v.Origins == nil && v.before == nil && v.answers == nil && !v.state && !v.whole && !v.large && !v.Sequence
}

// IntValue is a value of known integers.
func IntValue(t onnx.DataType, shape []int, content []int64) *Value {
	return &Value{Type: t, Ranked: true, Shape: shape, Ints: content}
}

// FloatValue is a value of known floating-point numbers.
func FloatValue(t onnx.DataType, shape []int, content []float64) *Value {
	return &Value{Type: t, Ranked: true, Shape: shape, Floats: content}
}

// Len is the number of elements, 0 when the shape is unknown.
func (v *Value) Len() int {
	if !v.Ranked {
		return 0
	}
	return onnx.Size(v.Shape)
}

// Constant is the model's tensor that this value is, unchanged; else nil.
func (v *Value) Constant() *onnx.Tensor {
	if t, ok := v.stored.(*onnx.Tensor); ok && v.whole {
		return t
	}
	return nil
}

// store is content that is read when needed, by runs of elements. An [onnx.Tensor] is one.
type store interface {
	Floats(first, n int64) ([]float64, error)
	Ints(first, n int64) ([]int64, error)
}

// Known reports whether the content is known, reading a constant if need be.
func (v *Value) Known() bool {
	v.load()
	if !v.Ranked {
		return false
	}
	return v.Ints != nil || v.Floats != nil || v.Len() == 0 && v.Type != 0
}

// load reads the content of a constant, unless it has more elements than are kept.
func (v *Value) load() {
	if v.stored == nil || v.Ints != nil || v.Floats != nil || v.Len() > max(int(v.most), maxContent) {
		return
	}
	n := int64(v.Len())
	if !v.keeper.loads(v, int(n)) {
		return
	}
	switch {
	case v.Type.IsFloat():
		v.Floats, _ = v.stored.Floats(0, n)
	case v.Type.IsInteger():
		v.Ints, _ = v.stored.Ints(0, n)
	}
}

// Number returns element i as float64; the content must be known.
func (v *Value) Number(i int) float64 {
	if v.Floats != nil {
		return v.Floats[i]
	}
	return float64(v.Ints[i])
}

// numbers are a known value's elements as float64, in place where they are kept so.
func (v *Value) numbers() []float64 {
	if v.Floats != nil || v.Ints == nil {
		return v.Floats
	}
	out := make([]float64, len(v.Ints))
	for i, x := range v.Ints {
		out[i] = float64(x)
	}
	return out
}

// Scalar returns the one element of a known value.
func (v *Value) Scalar() (float64, bool) {
	if !v.Known() || v.Len() != 1 {
		return 0, false
	}
	return v.Number(0), true
}

// Uniform reports whether the content is known to be the same all along the last axis, of several elements. Of the
// indices of a position table it says that all places get one row.
func (v *Value) Uniform() bool {
	k := len(v.Shape)
	return k > 0 && v.Known() && v.Shape[k-1] > 1 && !v.Varies(k-1)
}

// Counts reports whether the content counts up by one along exactly one axis
// and is the same along the others: first, first+1, … It is what the indices
// of a position table do. A flat list that starts again for each row of a
// batch counts, too.
func (v *Value) Counts() (axis int, first int64, ok bool) {
	if !v.Known() || len(v.Ints) == 0 {
		return 0, 0, false
	}
	c := &v.answered().counts
	if !c.counted {
		c.counted = true
		c.axis, c.first, c.ok = v.count()
	}
	return c.axis, c.first, c.ok
}

// count is Counts of known integers.
func (v *Value) count() (axis int, first int64, ok bool) {
	first = v.Ints[0]
	for axis = range v.Shape {
		if v.Shape[axis] >= 2 && v.countsAlong(axis, first) {
			return axis, first, true
		}
	}
	return 0, 0, false
}

func (v *Value) countsAlong(axis int, first int64) bool {
	inner := onnx.Size(v.Shape[axis+1:])
	run := 1 // how far the first list counts
	for run < v.Shape[axis] && v.Ints[run*inner] == first+int64(run) {
		run++
	}
	if run < 2 || v.Shape[axis]%run != 0 {
		return false
	}
	for i, x := range v.Ints {
		if x != first+int64(i/inner%run) {
			return false
		}
	}
	return true
}

// Varies reports whether the content differs along an axis.
func (v *Value) Varies(axis int) bool {
	if !v.Known() {
		return false
	}
	told := v.answered()
	if told.varies[axis] == 0 {
		told.varies[axis] = 1
		if v.vary(axis) {
			told.varies[axis] = 2
		}
	}
	return told.varies[axis] == 2
}

// vary is Varies of a known value.
func (v *Value) vary(axis int) bool {
	inner := onnx.Size(v.Shape[axis+1:])
	n := v.Shape[axis]
	for i := range v.Len() {
		if i/inner%n > 0 && v.Number(i) != v.Number(i-inner) && !(math.IsNaN(v.Number(i)) && math.IsNaN(v.Number(i-inner))) {
			return true
		}
	}
	return false
}

// sound reports whether sizes are none that no tensor has: hostile parameters
// can make negative ones.
func (v *Value) sound() bool {
	for _, d := range v.Shape {
		if d < 0 {
			return false
		}
	}
	return true
}

// from copies what a computed value inherits from those it is made of.
func (v *Value) from(inputs ...*Value) *Value {
	for _, in := range inputs {
		if in == nil {
			continue
		}
		v.Data = v.Data || in.Data
		if len(v.Origins) == 0 {
			v.Origins = slices.Clip(in.Origins) // shared until there are more
			continue
		}
		for _, o := range in.Origins {
			if len(v.Origins) < maxOrigins && !slices.Contains(v.Origins, o) {
				v.Origins = append(v.Origins, o)
			}
		}
	}
	return v
}

// view is the same content in another shape.
func (v *Value) view(shape []int) *Value {
	w := &Value{Type: v.Type, Ranked: true, Shape: shape, Ints: v.Ints, Floats: v.Floats}
	if v.stored != nil && v.Ints == nil && v.Floats == nil {
		w.stored, w.most, w.keeper = v.stored, v.most, v.keeper
	}
	if v.before != nil {
		w.before = v.before.view(shape)
	}
	return w.from(v)
}

// outerOf is how many blocks lie before an axis: none of what has no elements,
// whatever its other dimensions claim.
func outerOf(shape []int, axis int) int {
	if slices.Contains(shape, 0) {
		return 0
	}
	return onnx.Size(shape[:axis])
}

// take selects indices along an axis, of which at most so many elements are kept.
// Of a constant that was not read yet only the selected parts are, unless they are as many numbers as it has.
func (v *Value) take(axis int, indices []int, most int) *Value {
	shape := slices.Clone(v.Shape)
	shape[axis] = len(indices)
	out := Shaped(v.Type, shape...).from(v)
	outer, inner := outerOf(shape, axis), onnx.Size(v.Shape[axis+1:])
	if onnx.Size(shape) > most || !v.has() {
		return out
	}
	if v.stored != nil && v.Ints == nil && v.Floats == nil && v.Len() > 4096 && (onnx.Size(shape) < v.Len() || !v.Known()) {
		return v.takeRows(out, axis, indices, outer, inner)
	}
	if !v.Known() {
		return out
	}
	if n := onnx.Size(shape); v.Floats != nil {
		out.Floats = slices.Grow(out.Floats, n)
	} else {
		out.Ints = slices.Grow(out.Ints, n)
	}
	for o := range outer {
		for _, i := range indices {
			at := (o*v.Shape[axis] + i) * inner
			if v.Floats != nil {
				out.Floats = append(out.Floats, v.Floats[at:at+inner]...)
			} else if v.Ints != nil {
				out.Ints = append(out.Ints, v.Ints[at:at+inner]...)
			}
		}
	}
	return out
}

func (v *Value) takeRows(out *Value, axis int, indices []int, outer, inner int) *Value {
	var ints []int64
	var floats []float64
	for o := range outer {
		for _, i := range indices {
			at := int64(o*v.Shape[axis]+i) * int64(inner)
			if v.Type.IsFloat() {
				row, err := v.stored.Floats(at, int64(inner))
				if err != nil {
					return out
				}
				floats = append(floats, row...)
			} else {
				row, err := v.stored.Ints(at, int64(inner))
				if err != nil {
					return out
				}
				ints = append(ints, row...)
			}
		}
	}
	out.Ints, out.Floats = ints, floats
	return out
}

// unknown is a value of the same type and shape of which nothing else is known.
func (v *Value) unknown() *Value { return &Value{Type: v.Type, Ranked: v.Ranked, Shape: v.Shape} }

// round brings a computed number to the precision of its type, so that the
// float32 steps of a graph are replayed.
func round(t onnx.DataType, x float64) float64 {
	switch t {
	case onnx.Float:
		return float64(float32(x))
	case onnx.Float16:
		return onnx.HalfToFloat(onnx.FloatToHalf(x))
	case onnx.BFloat16:
		return float64(math.Float32frombits(uint32(onnx.FloatToBFloat(x)) << 16))
	}
	return x
}

// keep makes numbers the content of a value, each rounded to its type.
func (v *Value) keep(content []float64) {
	switch {
	case v.Type == onnx.Float:
		for i, x := range content {
			content[i] = float64(float32(x))
		}
	case v.Type.IsFloat():
		for i, x := range content {
			content[i] = round(v.Type, x)
		}
	default:
		v.Ints = make([]int64, len(content))
		for i, x := range content {
			v.Ints[i] = int64(x)
		}
		return
	}
	v.Floats = content
}

// allKnown reports whether the content of all values is known.
func allKnown(inputs ...*Value) bool {
	for _, v := range inputs {
		if !v.Known() {
			return false
		}
	}
	return true
}
