package partition

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/patch"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/schemes"
	"github.com/modelpatch/modelpatch/schemes/fit"
)

// Mask are the numbers that differ between windows: a mask of shifted windows, alone or with biases.
type Mask struct {
	Added
	Was    *eval.Value
	of     *Partition
	hidden float64 // what the mask adds to hide a place, where windows change their side; 0: the numbers stay
	Alone  bool    // of numbers that hold biases, too, the mask alone is made
}

// NewMask are the numbers of windows whose side may change: then the part of the mask in them is made by its formula. It returns
// why it cannot be.
func NewMask(w *Partition, a Added, was *eval.Value) (u Mask, why string) {
	u = Mask{Added: a, Was: was, of: w}
	if why = u.classes(); why != "" || w.Now == w.Side {
		return u, why
	}
	u.hidden, u.Alone, why = u.hides()
	return u, why
}

// block are the numbers of a window, by what stands before its axis.
func (u Mask) block(before, window int) []float64 {
	inner := onnx.Size(u.Was.Shape[u.Axis+1:])
	out := make([]float64, inner)
	for i := range out {
		out[i] = u.Was.Number((before*u.Was.Shape[u.Axis]+window)*inner + i)
	}
	return out
}

// numbers are those of a window of the new picture that has the mask of one of the old.
func (u Mask) numbers(before, window int) []float64 {
	if u.hidden != 0 {
		return u.formula(window, u.of.Now, u.of.ShiftNow(), u.hidden)
	}
	if u.of.Single {
		window = 0 // which is not masked
	}
	return u.block(before, window)
}

// outer is the number of elements of the axes before that of the windows.
func (u Mask) outer() int {
	if u.Alone {
		return 1
	}
	return onnx.Size(u.Was.Shape[:u.Axis])
}

// classes says where windows that should have one mask have several.
func (u Mask) classes() (why string) {
	count := u.of.Count(u.of.Grid)
	for before := range u.outer() {
		for row := range count[0] {
			for column := range count[1] {
				i := row*count[1] + column
				if same := u.of.like(row, column, count); same != i && !slices.Equal(u.block(before, i), u.block(before, same)) {
					return fmt.Sprintf("it adds other numbers to window %d than to window %d: the mask is none of shifted windows", i, same)
				}
			}
		}
	}
	return ""
}

// formula is the mask of one of the old windows, were they of a side and shifted: it hides the parts of a window from each other that
// come from opposite borders of the picture (Liu et al. 2021, §3.2).
func (u Mask) formula(window int, side, shift [2]int, hidden float64) []float64 {
	count := u.of.Count(u.of.Grid)
	return schemes.ShiftedWindowMask(side, shift, [2]bool{window/count[1] == count[0]-1, window%count[1] == count[1]-1}, hidden)
}

// hides is what the mask adds to hide a place, where the numbers are that mask alone, or its sum with what the first window has,
// biases that is, as an optimiser folds both. why is what else they are.
func (u Mask) hides() (hidden float64, biased bool, why string) {
	w := u.of
	count := w.Count(w.Grid)
	windows := count[0] * count[1]
	last := u.block(0, windows-1)
	hidden = min(0, slices.Min(last))
	other := u.differs(windows, 0, func(_, window int) []float64 { return u.formula(window, w.Side, w.Shift, hidden) })
	if other >= 0 {
		biased, hidden = true, 0
		first, hides, n := u.block(0, 0), u.formula(windows-1, w.Side, w.Shift, 1), 0.0
		for i, x := range hides { // of one head, each rounded
			hidden += x * (last[i] - first[i])
			n += x
		}
		stored := fit.Precision(u.Was.Type.String())
		hidden = stored.Round(hidden / max(n, 1))
		other = u.differs(windows, roundings*stored.Step(), func(before, window int) []float64 {
			sum, mask := u.block(before, 0), u.formula(window, w.Side, w.Shift, hidden)
			for i := range sum {
				sum[i] += mask[i%len(mask)]
			}
			return sum
		})
	}
	if other >= 0 || hidden >= 0 {
		return 0, false, fmt.Sprintf("what it adds to window %d is not the mask of shifted windows, alone or with biases: that of another side is not in the file", max(other, 0))
	}
	return hidden, biased, ""
}

// roundings are how often a sum of a mask and a bias, each rounded before, is rounded until it is stored, in float32 first.
const roundings = 3

// differs is a window whose numbers are apart, by more than a tolerance relative to their size, from those that are given, −1 where
// there is none.
func (u Mask) differs(windows int, tolerance float64, from func(before, window int) []float64) int {
	for before := range u.outer() {
		for window := range windows {
			if !slices.EqualFunc(u.block(before, window), from(before, window), func(a, b float64) bool { return a == b || math.Abs(a-b) <= tolerance*max(math.Abs(a), math.Abs(b)) }) {
				return window
			}
		}
	}
	return -1
}

// Of tells the numbers from others of a grid.
func (u Mask) Of() string {
	if u.Alone {
		return fmt.Sprintf("mask of %v by %v, %s, %d axes", u.of.Now, u.hidden, u.Was.Type, len(u.Was.Shape))
	}
	return u.Node.Input(u.Input)
}

// Same reports whether a value is the mask of the windows of a grid.
func (u Mask) Same(grid [2]int, is *eval.Value) bool {
	now := u.of.Counted(grid)
	other := Mask{Added: u.Added, Was: is}
	for before := range u.outer() {
		for row := range now[0] {
			for column := range now[1] {
				if !slices.Equal(other.block(before, row*now[1]+column), u.numbers(before, u.of.like(row, column, now))) {
					return false
				}
			}
		}
	}
	return true
}

// Shape is that of the numbers of the windows of a grid.
func (u Mask) Shape(grid [2]int) []int {
	shape, now := slices.Clone(u.Was.Shape), u.of.Counted(grid)
	if k := len(shape); u.Alone {
		for i := range k {
			shape[i] = 1
		}
	}
	k, places := len(shape), u.of.Now[0]*u.of.Now[1]
	shape[u.Axis], shape[k-2], shape[k-1] = now[0]*now[1], places, places
	return shape
}

// Source writes the numbers of the windows of a grid.
func (u Mask) Source(grid [2]int) (patch.Source, error) {
	return u.source(grid, u.outer(), u.numbers)
}

// Only is the mask of the windows of a grid without biases that stand in the same numbers. It returns why it cannot be told.
func (u Mask) Only(grid [2]int) (data patch.Source, why string, err error) {
	if u.hidden == 0 {
		if u.hidden, _, why = u.hides(); why != "" {
			return nil, why, nil
		}
	}
	data, err = u.source(grid, 1, u.numbers)
	return data, "", err
}

func (u Mask) source(grid [2]int, outer int, of func(before, window int) []float64) (patch.Source, error) {
	now, was := u.of.Counted(grid), u.of.Count(u.of.Grid)
	old := was[0] * was[1]
	blocks := map[int][]byte{} // of four windows at most, outer times
	var sequence []int
	for before := range outer {
		for row := range now[0] {
			for column := range now[1] {
				window := u.of.like(row, column, now)
				at := before*old + window
				sequence = append(sequence, at)
				if blocks[at] != nil {
					continue
				}
				raw, err := onnx.EncodeFloats(u.Was.Type, of(before, window), nil)
				if err != nil {
					return nil, &position.Refusal{Why: fmt.Sprintf("the mask of shifted windows is of type %s: %v", u.Was.Type, err)}
				}
				blocks[at] = raw
			}
		}
	}
	size := int64(len(sequence)) * int64(len(blocks[sequence[0]]))
	return patch.Func(size, func() io.Reader {
		readers := make([]io.Reader, len(sequence))
		for i, at := range sequence {
			readers[i] = bytes.NewReader(blocks[at])
		}
		return io.MultiReader(readers...)
	}), nil
}

// like is the window of the old picture that has the mask of one of the new: windows have the mask of the last row, the last column,
// both or neither, as they had before.
func (w *Partition) like(row, column int, now [2]int) int {
	before, at := w.Count(w.Grid), [2]int{}
	for axis, i := range [2]int{row, column} {
		if i == now[axis]-1 {
			at[axis] = before[axis] - 1
		}
	}
	return at[0]*before[1] + at[1]
}
