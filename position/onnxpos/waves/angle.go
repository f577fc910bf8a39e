// Package waves makes Cos and Sin nodes of positions into tables that positions select
// from, and such tables into Cos and Sin nodes.
package waves

import (
	"fmt"
	"math"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/onnxpos/trace"
)

// angle is the argument of a Cos or Sin node: positions times a list of frequencies,
// a row of columns for each position.
type angle struct {
	scope     *eval.Scope
	positions string    // as the graph multiplies them
	squeeze   int       // the axis of positions that the columns take the place of
	columns   []float32 // the frequency of each column
}

// maxBehind bounds the nodes between a product and its Cos or Sin, and those behind it.
const maxBehind = 32

// refuse is the refusal of a graph whose angles are not those of one list.
func refuse(n *onnx.Node, why string) error {
	return &position.Refusal{Why: "the argument of " + n.Title() + " " + why, Instead: "export the model again with tables of cosines and sines"}
}

// angleOf reads the argument of a Cos or Sin node. It is a [position.Refusal] where it is
// something else than positions times constant frequencies.
func angleOf(t trace.Source) (angle, error) {
	a := angle{scope: t.Scope}
	name := t.Trig.Input(0)
	v := t.Scope.Enlarge(name)
	if v == nil || !v.Known() || v.Floats == nil || len(v.Shape) == 0 || v.Type != onnx.Float {
		return a, refuse(t.Trig, "is not known at a small length, or not in float32")
	}
	p := productBehind(t.Scope, name)
	if p == nil {
		return a, refuse(t.Trig, "is no product of positions and frequencies")
	}
	list, at := -1, 0
	var f []float64
	for i := range 2 {
		if x, axis, ok := listOf(t.Scope, p.Input(i)); ok && (p.Op != "MatMul" || axis == 2-i) {
			list, f, at = i, x, axis
		}
	}
	if list < 0 {
		return a, refuse(t.Trig, "is no product of positions and one constant list of frequencies")
	}
	a.positions = p.Input(1 - list)
	if in := fractions(a); in != "" {
		return a, &position.Refusal{Why: fmt.Sprintf("positions come in as fractions, in %q, and a table has rows for whole ones alone", in), Instead: "leave the computation in place"}
	}
	pos := t.Scope.Value(a.positions)
	if p.Op == "MatMul" { // of a column with a row
		at = 2 - list
	}
	if a.squeeze = len(pos.Shape) - at; a.squeeze < 0 || pos.Shape[a.squeeze] != 1 || !pos.Known() {
		return a, refuse(t.Trig, "has no place of its own for each position")
	}
	return a, a.fit(t.Trig, v, pos, f)
}

// fractions is the input of the graph that positions come from, where its type has fractions; "" of others.
func fractions(a angle) string {
	name := a.positions
	for range trace.MaxSteps {
		n, at := a.scope.Find(name)
		switch {
		case at == nil || n == nil:
			if a.scope.Tensor(name) == nil && a.scope.Value(name).Type.IsFloat() {
				return name
			}
			return ""
		case at != a.scope || !eval.Is(n, eval.Layout|eval.Selection|eval.Lookups) && n.Op != "Cast" || a.scope.Value(name).Type.IsInteger():
			return ""
		}
		name = n.Input(0)
	}
	return ""
}

// fit finds the frequency of each column, and checks that all numbers are those of
// positions times frequencies.
func (a *angle) fit(n *onnx.Node, v, pos *eval.Value, f []float64) error {
	k := len(v.Shape) - 1
	width := v.Shape[k]
	shape := append(append([]int{}, pos.Shape[:a.squeeze]...), pos.Shape[a.squeeze+1:]...)
	if len(shape) != k || width == 0 || v.Len() != pos.Len()*width {
		return refuse(n, "does not stand as rows for positions")
	}
	for i := range shape {
		if shape[i] != v.Shape[i] {
			return refuse(n, "does not stand as rows for positions")
		}
	}
	for _, column := range []func(c int) int{func(c int) int { return c % len(f) }, func(c int) int { return c / 2 }} {
		if width%len(f) != 0 || width > 2*len(f) {
			break
		}
		fits := true
		a.columns = make([]float32, width)
		for c := range a.columns {
			a.columns[c] = float32(f[column(c)])
		}
		for r := 0; fits && r < pos.Len(); r++ {
			p := pos.Number(r)
			if p != math.Trunc(p) || p < 0 {
				return refuse(n, "is not that of whole positions")
			}
			for c, frequency := range a.columns {
				want := float64(float32(float32(p) * frequency))
				fits = fits && math.Abs(v.Number(r*width+c)-want) <= sameProduct*math.Abs(want)
			}
		}
		if fits {
			return nil
		}
	}
	return refuse(n, "is not that of positions times its list of frequencies")
}

// sameProduct is a rounding of float32, twice: other engines may add a product to
// nothing before they round it.
const sameProduct = 2.4e-7

// productBehind goes back over nodes that move elements or double a list to the node
// that multiplies; nil where another comes first.
func productBehind(s *eval.Scope, name string) *onnx.Node {
	for range maxBehind {
		n, at := s.Find(name)
		switch {
		case n == nil || at != s:
			return nil
		case n.Op == "Mul" || n.Op == "MatMul":
			return n
		case n.Op == "Concat":
			for _, in := range n.Inputs {
				if in != n.Input(0) {
					return nil
				}
			}
		case !eval.Is(n, eval.Layout|eval.Repetition):
			return nil
		}
		name = n.Input(0)
	}
	return nil
}

// listOf reads a list of frequencies out of a factor: a constant, perhaps repeated. The
// axis along which it runs is counted from the last, which is 1.
func listOf(s *eval.Scope, name string) (f []float64, axis int, ok bool) {
	v := s.Value(name)
	if !v.Known() || v.Floats == nil {
		return nil, 0, false
	}
	for range maxBehind {
		if c := s.Tensor(name); c != nil {
			if c.Type != onnx.Float || c.Len() < 1 {
				return nil, 0, false
			}
			if f, err := c.Floats(0, c.Len()); err == nil {
				for i := range v.Shape {
					if v.Shape[len(v.Shape)-1-i] == len(f) {
						return f, i + 1, true
					}
				}
			}
			return nil, 0, false
		}
		n, at := s.Find(name)
		if n == nil || at != s || !eval.Is(n, eval.Layout|eval.Repetition) {
			return nil, 0, false
		}
		name = n.Input(0)
	}
	return nil, 0, false
}
