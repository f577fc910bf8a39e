package verify

import (
	"fmt"
	"math"

	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
)

// maxCaseLength bounds the positions that reference attention runs: it shows
// every mistake of layout, offset or scale at a few, and its cost is quadratic.
const maxCaseLength = 48

// maxLayers bounds the attentions that are run: the first, the last and one
// between.
const maxLayers = 3

// Case is one head's attention as plain numbers, for foreign code to compute:
// q, k, v = State·Weights + Bias each, q and k turned by Cos and Sin where those
// are not nil, out = softmax(q·kᵀ·Scale + Bias)·v.
type Case struct {
	Layer, Head       int
	State             [][]float64 // one row a position
	Query, Key, Value Linear
	Cos, Sin          [][]float64 // one row a position, one column a pair; nil: no rotation
	Dim               int         // elements that are rotated
	Interleaved       bool
	Scale             float64
	Bias              [][]float64 // query by key, −Inf where masked
}

// Linear is a projection of one head: Weights in by out, Bias of out elements
// or nil.
type Linear struct {
	Weights [][]float64
	Bias    []float64
}

// attention runs reference attention on both files from their own weights.
func (c *comparison) attention() {
	before, after := c.before.Attentions(), c.after.Attentions()
	switch {
	case len(before) == 0:
		c.skip("attention", "no attention was found that the reference could run")
		c.skip("second-opinion", "no attention was found that the reference could run")
		return
	case len(before) != len(after):
		c.add(report.Check{Name: "attention", Verdict: report.CheckFail, Why: fmt.Sprintf("%d attentions became %d", len(before), len(after))})
		return
	}
	ran, why := 0, ""
	for _, i := range someOf(len(before)) {
		if a, b := before[i], after[i]; a.Heads != b.Heads || a.KVHeads != b.KVHeads || a.HeadDim != b.HeadDim {
			c.add(report.Check{Name: "attention", Verdict: report.CheckFail, At: &report.At{Layer: report.Pointer(a.Layer)},
				Why: fmt.Sprintf("%d heads (%d of keys) of %d elements became %d (%d) of %d", a.Heads, a.KVHeads, a.HeadDim, b.Heads, b.KVHeads, b.HeadDim)})
			return
		}
		if before[i].Unsupported != "" || after[i].Unsupported != "" {
			if why = before[i].Unsupported; why == "" {
				why = after[i].Unsupported
			}
			continue
		}
		for _, head := range ends(before[i].Heads) {
			c.runCase(i, head)
			ran++
		}
	}
	if ran == 0 {
		c.skip("attention", why)
		c.skip("second-opinion", why)
	}
}

// someOf picks the first, the middle and the last of n.
func someOf(n int) []int {
	var out []int
	for _, i := range []int{0, n / 2, n - 1} {
		if len(out) < maxLayers && (len(out) == 0 || out[len(out)-1] != i) {
			out = append(out, i)
		}
	}
	return out
}

func ends(n int) []int {
	if n < 2 {
		return []int{0}
	}
	return []int{0, n - 1}
}

// runCase runs one head in both files over the old length.
func (c *comparison) runCase(i, head int) {
	a := c.before.Attentions()[i]
	length := min(c.prefix(), maxCaseLength)
	k := report.Check{Name: "attention", Verdict: report.CheckPass, Inputs: "weights", Tolerance: &float64Roundoff,
		Why: fmt.Sprintf("layer %d, head %d, positions 0 to %d", a.Layer, head, length-1)}
	before := Reference{c.before, a, head, length}
	x, err1 := before.Run()
	after := Reference{c.after, c.after.Attentions()[i], head, length}
	y, err2 := after.Run()
	if err := firstOf(err1, err2); err != nil {
		k.Verdict, k.Why = report.CheckFail, err.Error()
		c.add(k)
		return
	}
	if !compareOutputs(&k, before, x, y) {
		c.add(k)
		return
	}
	if float64(k.Measure.MaxRel) > float64(float64Roundoff.Value) {
		c.changed = true
		switch {
		case c.expect == report.ExpectChanged:
			k.Why += ": differs, as was planned"
		case c.expect == "" && c.anyExplained():
			k.Why += ": differs, as a changed encoding does"
		default:
			k.Verdict, k.Why = report.CheckFail, k.Why+": the output differs"
		}
	}
	c.add(k)
	c.secondOpinion(after, y)
}

// opinionTolerance bounds the difference between two float64 programs that
// compute the same attention: sums of a few thousand terms.
var opinionTolerance = report.Tolerance{Name: "foreign-float64", Value: 1e-11}

// secondOpinion has foreign code compute the new file's attention.
func (c *comparison) secondOpinion(r Reference, own [][]float64) {
	if c.o.SecondOpinion == nil {
		if why := c.o.Absent; why != "" && !c.has("second-opinion") {
			c.skip("second-opinion", why)
		}
		return
	}
	k := report.Check{Name: "second-opinion", Verdict: report.CheckPass, Inputs: "weights", Tolerance: &opinionTolerance,
		Why: fmt.Sprintf("layer %d, head %d", r.Attention.Layer, r.Head)}
	job, err := r.Case()
	var other [][]float64
	if err == nil {
		other, err = c.o.SecondOpinion(job)
	}
	if err != nil {
		k.Verdict, k.Why, k.Tolerance = report.CheckSkipped, err.Error(), nil
		c.add(k)
		return
	}
	if compareOutputs(&k, r, own, other) && float64(k.Measure.MaxRel) > float64(opinionTolerance.Value) {
		k.Verdict = report.CheckFail
	}
	c.add(k)
}

// compareOutputs measures in the check how two outputs of r's attention differ,
// and where most. It fails the check and returns false when one is not finite.
func compareOutputs(k *report.Check, r Reference, x, y [][]float64) bool {
	if len(x) != len(y) || len(x) > 0 && len(x[0]) != len(y[0]) {
		k.Verdict, k.Why = report.CheckFail, k.Why+": the outputs have different shapes"
		return false
	}
	if !finiteRows(x) || !finiteRows(y) {
		k.Verdict, k.Why = report.CheckFail, k.Why+": the output is not finite"
		return false
	}
	var d difference
	for p := range x {
		for j := range x[p] {
			if d.look(x[p][j], y[p][j]) {
				k.At = &report.At{Layer: report.Pointer(r.Attention.Layer), Head: report.Pointer(r.Head), Position: report.Pointer(p)}
			}
		}
	}
	k.Measure = d.measure()
	return true
}

func finiteRows(rows [][]float64) bool {
	for _, row := range rows {
		for _, x := range row {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				return false
			}
		}
	}
	return true
}

func (c *comparison) has(name string) bool {
	for _, k := range c.report.Checks {
		if k.Name == name {
			return true
		}
	}
	return false
}

// Case writes a head's attention out as numbers.
func (r Reference) Case() (Case, error) {
	a := r.Attention
	out := Case{Layer: a.Layer, Head: r.Head, Scale: a.Scale}
	var err error
	if out.State, err = r.input(); err != nil {
		return out, err
	}
	group := a.Heads / a.KVHeads
	for _, p := range []struct {
		to   *Linear
		from position.Projection
		head int
	}{{&out.Query, a.Query, r.Head}, {&out.Key, a.Key, r.Head / group}, {&out.Value, a.Val, r.Head / group}} {
		if *p.to, err = linear(p.from, p.head, a.HeadDim); err != nil {
			return out, err
		}
	}
	for _, i := range a.Encodings {
		rotator, ok := r.Model.Sites()[i].(position.Rotator)
		rotary, rotates := rotaryOf(r.Model.Sites()[i].Encoding())
		if !ok || !rotates {
			continue
		}
		if out.Cos != nil {
			return out, fmt.Errorf("two rotations act in one attention")
		}
		out.Dim, out.Interleaved = rotary.Dim, rotary.Layout == "interleaved"
		for p := range r.Length {
			cos, sin := make([]float64, rotary.Pairs()), make([]float64, rotary.Pairs())
			if err := rotator.Rotation(p, r.Length, cos, sin); err != nil {
				return out, err
			}
			out.Cos, out.Sin = append(out.Cos, cos), append(out.Sin, sin)
		}
	}
	return out, r.bias(&out)
}

// linear writes one head of a projection out, in by out.
func linear(p position.Projection, head, dim int) (Linear, error) {
	w, bias, err := p.Head(head)
	if err != nil {
		return Linear{}, err
	}
	out := Linear{Bias: bias, Weights: make([][]float64, p.In())}
	for i := range out.Weights {
		out.Weights[i] = make([]float64, dim)
		for c := range dim {
			out.Weights[i][c] = w[c*p.In()+i]
		}
	}
	return out, nil
}

// bias fills the case's bias: those of the model and the causal mask.
func (r Reference) bias(out *Case) error {
	for q := range r.Length {
		row := make([]float64, r.Length)
		for k := range row {
			if r.Attention.Causal && k > q {
				row[k] = math.Inf(-1)
				continue
			}
			for _, i := range r.Attention.Encodings {
				b, ok := r.Model.Sites()[i].(position.Biaser)
				if !ok {
					continue
				}
				x, err := b.Bias(r.Head, q, k, r.Length)
				if err != nil {
					return err
				}
				row[k] += x
			}
		}
		out.Bias = append(out.Bias, row)
	}
	return nil
}
