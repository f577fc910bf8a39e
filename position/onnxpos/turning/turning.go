// Package turning finds the inputs of a graph by whose numbers pairs of elements are turned: cosines and sines that the caller computes, as
// engines of phones and pipelines of diffusion models have them.
package turning

import (
	"math"
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
)

// Kind is what the numbers of an input are of the angles that it turns by.
type Kind int

// What an input may hold.
const (
	Mixed   Kind = iota // both, or it is not told which
	Cosines             // of angles whose sines another input of the same shape has
	Sines
)

// Turn is how an input turns pairs.
type Turn struct {
	Kind Kind
	// Rows tells that its first axis runs over places of which those of the tokens are picked; Any, that there may be any number of them.
	Rows, Any bool
}

// Bounds of what is looked at: the readers of one input, and the values that a factor is taken from.
const (
	maxReaders = 64
	maxSources = 16
)

// product is a value that has an input as a factor.
type product struct {
	input *onnx.ValueInfo
	state int // the other factor
}

// Of are those of the given inputs by which pairs are turned: two products are added, one of each of what the graph made, and have such an
// input as the other factor, as it comes in (RoFormer, arXiv:2104.09864, equation 34).
func Of(w *onnx.Wiring, inputs []*onnx.ValueInfo) map[string]Turn {
	products, said, rows := map[int][]product{}, map[string][]Kind{}, map[string]Turn{}
	for _, in := range inputs {
		kind, picked := read(w, in, products)
		if rows[in.Name] = (Turn{Rows: picked, Any: in.Dims[0].Value < 0}); kind != Mixed {
			said[in.Name] = append(said[in.Name], kind)
		}
	}
	for one, by := range products {
		for _, n := range w.Readers(one) {
			first, _ := w.Input(n, 0)
			two, ok := w.Input(n, 1)
			if !ok || first != one || one == two || len(by) != 1 || len(products[two]) != 1 || !eval.Is(n, eval.Addition) && n.Op != "Sub" {
				continue
			}
			a, b := by[0], products[two][0]
			x, y := roles(w, n, a.state, b.state)
			if a.input == b.input || !slices.EqualFunc(a.input.Dims, b.input.Dims, func(x, y onnx.Dim) bool { return x.Value == y.Value }) {
				x, y = Mixed, Mixed
			}
			said[a.input.Name], said[b.input.Name] = append(said[a.input.Name], x), append(said[b.input.Name], y)
		}
	}
	turns := make(map[string]Turn, len(said))
	for name, all := range said {
		t := rows[name]
		all = slices.DeleteFunc(all, func(k Kind) bool { return k == Mixed })
		if len(all) > 0 && slices.Max(all) == slices.Min(all) {
			t.Kind = all[0]
		}
		turns[name] = t
	}
	return turns
}

// read collects the products of an input, behind what brings it into shape or selects of it, and tells as what an operator takes it that turns
// pairs itself; and whether some of its rows are picked.
func read(w *onnx.Wiring, in *onnx.ValueInfo, products map[int][]product) (kind Kind, picked bool) {
	number, used := w.Number(in.Name)
	if !used {
		return Mixed, false
	}
	queue, looked := []int{number}, 0
	for i := 0; i < len(queue); i++ {
		for _, n := range w.Readers(queue[i]) {
			if looked++; looked > maxReaders {
				return kind, picked
			}
			if row := eval.Lookup(n.Domain, n.Op); row != nil && row.Turns != nil && isMade(w, n) {
				for k, of := range []int{row.Turns.Cosines, row.Turns.Sines} {
					if v, ok := w.Input(n, of); ok && v == queue[i] {
						kind, picked = Cosines+Kind(k), picked || n.Input(row.Turns.Positions) != ""
					}
				}
			}
			data, _ := w.Input(n, 0)
			other, binary := w.Input(n, 1)
			switch shapes := eval.Is(n, eval.Layout|eval.Repetition) || n.Op == "Concat"; {
			case eval.Is(n, eval.Scaling) && binary:
				if other == queue[i] {
					other = data
				}
				if out, ok := w.Output(n, 0); ok {
					products[out] = append(products[out], product{in, other})
				}
			case shapes || eval.Is(n, eval.Selection) && data == queue[i]:
				picked = picked || eval.Is(n, eval.Selection) && n.Int("axis", 0) == 0
				for k := range n.Outputs {
					if out, ok := w.Output(n, k); ok && !slices.Contains(queue, out) {
						queue = append(queue, out)
					}
				}
			}
		}
	}
	return kind, picked
}

// isMade reports whether the graph makes what a node turns: what is an input as well is no model's.
func isMade(w *onnx.Wiring, n *onnx.Node) bool {
	data, ok := w.Input(n, 0)
	return ok && w.Producer(data) != nil
}

// roles tells which of two factors has cosines and which sines, by the states that they multiply: x·cos − y·sin; or the state as it is, and one
// that was made of it, or has the sign. Where the two come from no common state they are no pairs.
func roles(w *onnx.Wiring, n *onnx.Node, one, two int) (first, second Kind) {
	a, negativeA := sources(w, one)
	b, negativeB := sources(w, two)
	if !slices.ContainsFunc(a, func(v int) bool { return slices.Contains(b, v) }) {
		return Mixed, Mixed
	}
	switch {
	case n.Op == "Sub", slices.Contains(b, one) && one != two, negativeB && !negativeA:
		return Cosines, Sines
	case slices.Contains(a, two) && one != two, negativeA && !negativeB:
		return Sines, Cosines
	}
	return Mixed, Mixed
}

// sources are a value and those that its elements are taken from, and whether some change their sign on the way.
func sources(w *onnx.Wiring, value int) (all []int, negative bool) {
	all = []int{value}
	for i := 0; i < len(all) && len(all) < maxSources; i++ {
		n := w.Producer(all[i])
		if n == nil || !eval.Is(n, eval.Layout|eval.Selection|eval.Joining) && n.Op != "Neg" {
			continue
		}
		negative = negative || n.Op == "Neg"
		of := 1
		if eval.Is(n, eval.Joining) {
			of = len(n.Inputs)
		}
		for k := range of {
			if in, ok := w.Input(n, k); ok && !slices.Contains(all, in) {
				all = append(all, in)
			}
		}
	}
	return all, negative
}

// Values are cosines or sines of a place each, from a first one on (rows from 0 on), all of one frequency, for an input of that shape: whatever a caller's
// frequencies are, and however the graph pairs columns, they turn pairs. Places lie along the last axis ahead of the columns that is as long as the
// text, else the last of several. Of more than most numbers the shape alone is told.
func (t Turn) Values(v *eval.Value, length, first, most int) *eval.Value {
	along, last := -1, len(v.Shape)-1
	if rows := max(v.Shape[0], first+length); t.Rows && t.Any {
		if rows > most/max(onnx.Size(v.Shape[1:]), 1) {
			return v
		}
		v = eval.Shaped(v.Type, slices.Concat([]int{rows}, v.Shape[1:])...)
	}
	if t.Rows {
		first = 0
	}
	for axis, size := range v.Shape[:last] {
		if size > 1 && (size == length || along < 0 || v.Shape[along] != length) {
			along = axis
		}
	}
	if along < 0 {
		along = max(last-1, 0) // one place
	}
	x, inner := make([]float64, v.Len()), onnx.Size(v.Shape[along+1:])
	for i := range x {
		sin, cos := math.Sincos(float64(first + i/inner%v.Shape[along]))
		if x[i] = cos; t.Kind == Sines {
			x[i] = sin
		}
	}
	return eval.FloatValue(v.Type, v.Shape, x)
}

// Given is the graph's input that a value is, in another shape, or rows of; nil of others.
func Given(s *eval.Scope, name string) *onnx.ValueInfo {
	for range maxSources {
		n, at := s.Find(name)
		if n == nil && s.Graph.Parent == nil {
			if i := slices.IndexFunc(s.Graph.Inputs, func(in *onnx.ValueInfo) bool { return in.Name == name }); i >= 0 {
				return s.Graph.Inputs[i]
			}
		}
		if n == nil || at != s || !eval.Is(n, eval.Layout|eval.Repetition|eval.Selection|eval.Joining) {
			return nil
		}
		name = n.Input(0)
	}
	return nil
}
