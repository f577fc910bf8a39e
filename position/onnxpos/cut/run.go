package cut

import (
	"errors"
	"fmt"
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position/trial"
)

// Neutral are values by name that are replaced by one number each so that nothing is
// turned: cosines by 1, sines by 0.
type Neutral map[string]float64

// Run runs the attention on states of a seed, at the sizes of an evaluator of the same
// file. An error says what could not be computed.
//
// A value that cannot be computed from what enters is given itself, as far as there is
// an attention behind it.
func (c *Cut) Run(e *eval.Evaluator, seed uint64, neutral Neutral) (*trial.Trial, error) {
	for range maxBarred {
		out, err := c.run(e, seed, neutral)
		if err == nil && len(c.Enters) > 0 {
			out.Dtype = e.Main.Value(c.Enters[0]).Type.String()
		}
		if err == nil {
			out.Together = slices.ContainsFunc(e.Main.Graph.Nodes, func(n *onnx.Node) bool { return n.Op == "DynamicQuantizeLinear" })
			out.Rounding = c.rounding
		}
		var u *uncomputed
		if !errors.As(err, &u) {
			return out, err
		}
		if u.large != nil {
			err = &trial.Limit{What: err.Error()}
		}
		if c.barred[u.name] {
			return out, err
		}
		c.barred[u.name] = true
		next := find(c.around, c.Anchor, c.barred)
		if next == nil {
			return nil, err
		}
		*c = *next
	}
	return nil, fmt.Errorf("more than %d values of it cannot be computed", maxBarred)
}

// maxBarred bounds the values that are given since they cannot be computed.
const maxBarred = 12

func (c *Cut) run(e *eval.Evaluator, seed uint64, neutral Neutral) (*trial.Trial, error) {
	given, err := c.given(e, seed)
	if err != nil {
		return nil, err
	}
	still, err := neutral.with(e, given)
	if err != nil {
		return nil, err
	}
	if c.Fused() {
		return c.runFused(e, given, still)
	}
	return c.runPlain(e, seed, given, still)
}

// given are the values that enter, filled.
func (c *Cut) given(e *eval.Evaluator, seed uint64) (map[string]*eval.Value, error) {
	out := map[string]*eval.Value{}
	for i, name := range c.Enters {
		v := e.Main.Value(name)
		if !v.Ranked {
			return nil, fmt.Errorf("the shape of %q, which enters the attention, is not known", name)
		}
		if v.Len() > maxEntered {
			return nil, fmt.Errorf("%q, which enters the attention, has %d elements: more than %d are not run", name, v.Len(), maxEntered)
		}
		content := make([]float64, v.Len())
		if !slices.Contains(c.Idle, name) {
			content = trial.Normal(seed+uint64(i), v.Shape)
		}
		out[name] = eval.FloatValue(onnx.Double, v.Shape, content)
	}
	return out, nil
}

// maxEntered bounds the elements of a value that enters.
const maxEntered = 1 << 22

// with are the given values and those that turn nothing.
func (neutral Neutral) with(e *eval.Evaluator, given map[string]*eval.Value) (map[string]*eval.Value, error) {
	out := map[string]*eval.Value{}
	for name, v := range given {
		out[name] = v
	}
	for name, x := range neutral {
		v := e.Main.Value(name)
		if !v.Ranked || v.Len() > maxEntered {
			return nil, fmt.Errorf("the cosines or sines %q are of unknown shape, or too many", name)
		}
		out[name] = eval.FloatValue(onnx.Double, v.Shape, slices.Repeat([]float64{x}, v.Len()))
	}
	return out, nil
}

// evaluated are the numbers of named values in a trial.
func (c *Cut) evaluated(e *eval.Evaluator, given map[string]*eval.Value, names ...string) ([]*eval.Value, error) {
	t := e.Trial(given)
	out := make([]*eval.Value, len(names))
	for i, name := range names {
		v := t.Main.Value(name)
		if !v.Known() || v.Floats == nil && v.Len() > 0 {
			return nil, unknown(t, name)
		}
		out[i] = v
	}
	c.rounds(t)
	return out, nil
}

// rounds notes what a trial passed over.
func (c *Cut) rounds(t *eval.Evaluator) {
	if n := t.Rounding(); n != nil {
		c.rounding = n.Title()
	}
}

// uncomputed is the error of a value that an operator does not compute of known inputs; large is its shape where it has too
// many numbers to be computed.
type uncomputed struct {
	name, by string
	large    []int
}

// Error names the operator.
func (u *uncomputed) Error() string {
	if u.large != nil {
		return fmt.Sprintf("%s gives %v, more numbers than are computed here", u.by, u.large)
	}
	return u.by + " is not computed"
}

// unknown says why a value could not be computed: the first node behind it whose inputs
// are known and whose output is not.
func unknown(t *eval.Evaluator, name string) error {
	if len(t.Failures) > 0 {
		f := t.Failures[0]
		return fmt.Errorf("%s cannot run: %w", f.Node.Title(), f.Err)
	}
	seen := map[string]bool{}
	for range 1 << 12 {
		n, at := t.Main.Find(name)
		if n == nil {
			return fmt.Errorf("%q is not known", name)
		}
		next := ""
		for _, in := range n.Inputs {
			if v := at.Value(in); in != "" && !v.Known() && !seen[in] {
				next = in
				break
			}
		}
		if next == "" {
			u := &uncomputed{name: name, by: n.Title()}
			if v := at.Value(name); v.Large() {
				u.large = v.Shape
			}
			return u
		}
		seen[next] = true
		name = next
	}
	return fmt.Errorf("%q is not known", name)
}

// runFused runs an operator that does all of it.
func (c *Cut) runFused(e *eval.Evaluator, given, still map[string]*eval.Value) (*trial.Trial, error) {
	attended := func(given map[string]*eval.Value) (*eval.Attended, error) {
		t := e.Trial(given)
		if v := t.Main.Value(c.Anchor.Output(0)); !v.Known() {
			return nil, unknown(t, c.Anchor.Output(0))
		}
		a := t.Attended(c.Anchor)
		if a == nil {
			return nil, fmt.Errorf("%s is not computed", c.Anchor.Title())
		}
		c.rounds(t)
		return a, nil
	}
	a, err := attended(given)
	if err != nil {
		return nil, err
	}
	plain, err := attended(still)
	if err != nil {
		return nil, err
	}
	out := &trial.Trial{Queries: a.Queries, Keys: a.Keys, Past: a.Past, Entered: c.entered()}
	out.First = min(firstTurned(a.Query, plain.Query, a.Dim), firstTurned(a.Key, plain.Key, a.Dim)) % a.Dim
	group, mask := a.Heads/a.KVHeads, trial.MaskOf(a.Bias)
	for h := range a.Heads { // of the first sequence
		head := trial.Head{Head: h, Query: rowsOf(plain.Query, h, a.Queries, a.Dim), Key: rowsOf(plain.Key, h/group, a.Keys, a.Dim), Value: rowsOf(a.Value, h/group, a.Keys, a.ValueDim),
			Bias: rowsOf(a.Bias, h, a.Queries, a.Keys), Scores: rowsOf(a.Scores, h, a.Queries, a.Keys), Output: rowsOf(a.Output, h, a.Queries, a.ValueDim),
			Mask: mask, Scale: a.Scale, Softcap: a.Softcap}
		if a.Sinks != nil {
			head.Sink = a.Sinks[h : h+1]
		}
		head.Products = products(rowsOf(a.Query, h, a.Queries, a.Dim), rowsOf(a.Key, h/group, a.Keys, a.Dim))
		out.Heads = append(out.Heads, head)
	}
	return out, nil
}

// firstTurned is the first element of rows of so many that differs between two values, as
// many where none does.
func firstTurned(a, b []float64, dim int) int {
	first := dim
	for i := range a {
		if a[i] != b[i] {
			first = min(first, i%dim)
		}
	}
	return first
}

// entered says what was given numbers.
func (c *Cut) entered() string {
	if len(c.barred) > 0 {
		return "what operators that are not computed here give"
	}
	return "the states before the projections"
}

// rowsOf is block i of a list of matrices.
func rowsOf(x []float64, i, rows, columns int) [][]float64 {
	out := make([][]float64, rows)
	for r := range out {
		out[r] = x[(i*rows+r)*columns:][:columns:columns]
	}
	return out
}

func products(q, k [][]float64) [][]float64 {
	out := make([][]float64, len(q))
	for i := range q {
		out[i] = make([]float64, len(k))
		for j := range k {
			for x, y := range q[i] {
				out[i][j] += y * k[j][x]
			}
		}
	}
	return out
}
