package cut

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position/trial"
)

// runPlain runs an attention in plain operators. What is done to the product of queries
// and keys before the Softmax is found by giving that product other numbers.
func (c *Cut) runPlain(e *eval.Evaluator, seed uint64, given, still map[string]*eval.Value) (*trial.Trial, error) {
	product := c.Product.Output(0)
	v, err := c.evaluated(e, given, product, c.scores, c.Values.Output(0), c.Values.Input(c.Operand), c.Product.Input(0), c.Product.Input(1))
	if err != nil {
		return nil, err
	}
	p, scores, output, value, turned := v[0], v[1], v[2], v[3], v[4:6]
	if v, err = c.evaluated(e, still, c.Product.Input(0), c.Product.Input(1)); err != nil {
		return nil, err
	}
	query, key := v[0], v[1]
	s := &plain{cut: c, e: e, given: given, product: product}
	scores, sinks := withoutSink(scores, p)
	out, err := s.shape(p, scores)
	if err != nil {
		return nil, err
	}
	for h := range out.Heads {
		if sinks == nil {
			break
		}
		first := sinks[h*out.Queries]
		for _, x := range sinks[h*out.Queries : (h+1)*out.Queries] {
			if x != first {
				return nil, ErrLayout
			}
		}
		out.Heads[h].Sink = []float64{first}
	}
	if err := s.score(out, p, scores, seed); err != nil {
		return nil, err
	}
	if alpha := c.Product.Float("alpha", 1); c.Product.Op == "FusedMatMul" && alpha != 1 { // the products hold it already
		for h := range out.Heads {
			out.Heads[h].Scale *= alpha
			for q, row := range out.Heads[h].Products {
				row = slices.Clone(row) // which are the scores where nothing stands between
				for i := range row {
					row[i] /= alpha
				}
				out.Heads[h].Products[q] = row
			}
		}
	}
	if err := s.operands(out, p, turned[0], turned[1]); err != nil {
		return nil, err
	}
	was := out.Heads
	out.Heads = slices.Clone(was)
	if err := s.operands(out, p, query, key); err != nil {
		return nil, err
	}
	out.Entered = c.entered()
	out.First = math.MaxInt
	for h := range was {
		out.First = min(out.First, firstApart(was[h].Query, out.Heads[h].Query), firstApart(was[h].Key, out.Heads[h].Key))
	}
	if out.First == math.MaxInt {
		out.First = 0 // nothing is turned
	}
	return out, s.values(out, output, value)
}

// plain is one run of an attention in plain operators.
type plain struct {
	cut     *Cut
	e       *eval.Evaluator
	given   map[string]*eval.Value
	product string
}

// ErrLayout is the error of numbers that lie in an order which is not read.
var ErrLayout = errors.New("the axes of its scores are not read")

// withoutSink takes a last column away that stands beside the keys of a product: scores of
// sinks, which take a share of the weights and have no value. They are nil where there is
// none.
func withoutSink(scores, p *eval.Value) (rest *eval.Value, sinks []float64) {
	k, n := len(scores.Shape), len(p.Shape)
	if k < 2 || n < 2 || p.Shape[n-1] < 1 || scores.Shape[k-1] != p.Shape[n-1]+1 || scores.Len() != p.Len()/p.Shape[n-1]*(p.Shape[n-1]+1) {
		return scores, nil
	}
	keys := p.Shape[n-1]
	shape := slices.Clone(scores.Shape)
	shape[k-1] = keys
	rest = eval.FloatValue(scores.Type, shape, make([]float64, 0, p.Len()))
	for at := 0; at < scores.Len(); at += keys + 1 {
		rest.Floats = append(rest.Floats, scores.Floats[at:at+keys]...)
		sinks = append(sinks, scores.Floats[at+keys])
	}
	return rest, sinks
}

// shape counts heads, queries and keys.
func (s *plain) shape(p, scores *eval.Value) (*trial.Trial, error) {
	k := len(scores.Shape)
	axis := s.cut.Anchor.Int("axis", -1)
	if k < 2 || axis != -1 && axis != int64(k-1) && s.e.File.Opsets[""] >= 13 || p.Len() != scores.Len() {
		return nil, ErrLayout
	}
	out := &trial.Trial{Queries: scores.Shape[k-2], Keys: scores.Shape[k-1]}
	n := out.Queries * out.Keys
	if n == 0 || scores.Len()%n != 0 {
		return nil, ErrLayout
	}
	for h := range scores.Len() / n {
		out.Heads = append(out.Heads, trial.Head{Head: h, Scores: rowsOf(scores.Floats, h, out.Queries, out.Keys), Products: rowsOf(p.Floats, h, out.Queries, out.Keys)})
	}
	return out, nil
}

// scored are the scores that the graph makes of a product of queries and keys.
func (s *plain) scored(p *eval.Value, of func(i int) float64, seed uint64) ([]float64, error) {
	given := map[string]*eval.Value{}
	if seed != 0 { // other states, so that what depends on them shows
		other, err := s.cut.given(s.e, seed)
		if err != nil {
			return nil, err
		}
		given = other
	} else {
		for name, v := range s.given {
			given[name] = v
		}
	}
	x := make([]float64, p.Len())
	for i := range x {
		x[i] = of(i)
	}
	given[s.product] = eval.FloatValue(onnx.Double, p.Shape, x)
	v, err := s.cut.evaluated(s.e, given, s.cut.scores)
	if err != nil {
		return nil, err
	}
	out, _ := withoutSink(v[0], p)
	if len(out.Floats) != p.Len() {
		return nil, ErrLayout
	}
	return out.Floats, nil
}

// tinyProduct and hugeProduct are products of queries and keys that show the slope of
// what is done to them, and where it ends.
const (
	tinyProduct = 1e-6
	hugeProduct = 1e3
)

// linear is how far a score may be from scale·product + bias, relative to the largest:
// sums of a few terms in float64.
const linear = 1e-9

// score finds scale, soft cap and bias of the scores.
func (s *plain) score(out *trial.Trial, p, scores *eval.Value, seed uint64) error {
	bias, err := s.scored(p, func(int) float64 { return 0 }, 0)
	if err != nil {
		return err
	}
	other, err := s.scored(p, func(int) float64 { return 0 }, seed+1<<20)
	if err != nil {
		return err
	}
	small, err := s.scored(p, func(int) float64 { return tinyProduct }, 0)
	if err != nil {
		return err
	}
	large, err := s.scored(p, func(int) float64 { return hugeProduct }, 0)
	if err != nil {
		return err
	}
	mask := trial.MaskOf(bias)
	if differ(bias, other, mask) {
		out.Relative = "a product of content with numbers by position"
		if len(s.cut.Relative) > 0 {
			out.Relative += " (" + s.cut.Relative[0].Title() + ")"
		}
	}
	n := out.Queries * out.Keys
	for h := range out.Heads {
		head := &out.Heads[h]
		head.Bias, head.Mask = rowsOf(bias, h, out.Queries, out.Keys), mask
		if head.Scale, head.Softcap, err = formOf(p.Floats[h*n:(h+1)*n], scores.Floats[h*n:(h+1)*n], bias[h*n:], small[h*n:], large[h*n:], mask); err != nil {
			return err
		}
	}
	return nil
}

func differ(a, b []float64, mask float64) bool {
	for i := range a {
		if a[i] != b[i] && !(math.Abs(a[i]-b[i]) <= linear*math.Max(1, math.Abs(a[i]))) && !(a[i] <= mask && b[i] <= mask) {
			return true
		}
	}
	return false
}

// formOf finds scale and cap so that every score that is not masked is cap·tanh(scale·
// product/cap) + bias, or scale·product + bias.
func formOf(p, scores, bias, small, large []float64, mask float64) (scale, softcap float64, err error) {
	at := slices.IndexFunc(bias[:len(p)], func(x float64) bool { return x > mask })
	if at < 0 {
		return 1, 0, nil // all is masked
	}
	end := large[at] - bias[at]
	scale = end / hugeProduct
	tiny := (small[at] - bias[at]) / tinyProduct
	if math.Abs(scale-tiny) > 1e-4*math.Abs(tiny) {
		scale, softcap = tiny, math.Abs(end) // flat at its end
		if softcap > 0 {                     // the slope at 0 to full precision: from the product itself
			best := 0
			for i := range p {
				if bias[i] > mask && math.Abs(p[i]) > math.Abs(p[best]) || bias[best] <= mask {
					best = i
				}
			}
			scale = math.Atanh((scores[best]-bias[best])/softcap) * softcap / p[best]
		}
	}
	largest := 1.0
	for i := range p {
		if bias[i] > mask {
			largest = math.Max(largest, math.Abs(scores[i]))
		}
	}
	for i := range p {
		if bias[i] <= mask {
			continue
		}
		want := scale * p[i]
		if softcap > 0 {
			want = softcap * math.Tanh(want/softcap)
		}
		if !(math.Abs(want+bias[i]-scores[i]) <= linear*largest) {
			return 0, 0, fmt.Errorf("scores are not scale·query·key + bias: %g for a product of %g and a bias of %g", scores[i], p[i], bias[i])
		}
	}
	return scale, softcap, nil
}

// operands takes queries and keys out of the operands of their product.
func (s *plain) operands(out *trial.Trial, p, query, key *eval.Value) error {
	n := s.cut.Product
	a, b := query, key
	switch n.Op {
	case "Einsum":
		var err error
		if a, b, err = einsumOperands(n, query, key, p); err != nil {
			return err
		}
	case "MatMul", "FusedMatMul":
		if len(a.Shape) < 2 || len(b.Shape) < 2 || n.Int("transBatchA", 0) == 1 || n.Int("transBatchB", 0) == 1 {
			return ErrLayout
		}
		if n.Int("transA", 0) == 1 {
			a = swapped(a)
		}
		if n.Int("transB", 0) == 0 {
			b = swapped(b)
		}
	default:
		return ErrLayout
	}
	k := len(p.Shape)
	if k < 2 || a.Shape[len(a.Shape)-2] != out.Queries || b.Shape[len(b.Shape)-2] != out.Keys {
		return ErrLayout
	}
	qs, ks := broadcastRows(a, p.Shape[:k-2], len(out.Heads)), broadcastRows(b, p.Shape[:k-2], len(out.Heads))
	if qs == nil || ks == nil {
		return ErrLayout
	}
	for h := range out.Heads {
		out.Heads[h].Query, out.Heads[h].Key = qs[h], ks[h]
	}
	return nil
}

// firstApart is the first column in which two matrices differ.
func firstApart(a, b [][]float64) int {
	first := math.MaxInt
	for r := range a {
		for c, x := range a[r] {
			if x != b[r][c] {
				first = min(first, c)
				break
			}
		}
	}
	return first
}

// swapped exchanges the last two axes.
func swapped(v *eval.Value) *eval.Value {
	k := len(v.Shape)
	m, n := v.Shape[k-2], v.Shape[k-1]
	shape := slices.Clone(v.Shape)
	shape[k-2], shape[k-1] = n, m
	out := eval.FloatValue(v.Type, shape, make([]float64, v.Len()))
	for at := 0; at < v.Len(); at += m * n {
		for r := range m {
			for c := range n {
				out.Floats[at+c*m+r] = v.Floats[at+r*n+c]
			}
		}
	}
	return out
}

// broadcastRows are the last two axes of a value for each element of the axes before
// them, broadcast to lead; nil where that are not so many as there are heads.
func broadcastRows(v *eval.Value, lead []int, heads int) [][][]float64 {
	k := len(v.Shape)
	m, n := v.Shape[k-2], v.Shape[k-1]
	own := v.Shape[:k-2]
	if len(own) > len(lead) {
		return nil
	}
	if onnx.Size(lead) != heads {
		return nil
	}
	var out [][][]float64
	for h := range heads {
		at, stride, rest := 0, 1, h
		for i := len(lead) - 1; i >= 0; i-- {
			x := rest % lead[i]
			rest /= lead[i]
			if j := i - (len(lead) - len(own)); j >= 0 {
				if own[j] != 1 {
					at += x * stride
				}
				stride *= own[j]
			}
		}
		out = append(out, rowsOf(v.Floats[at*m*n:], 0, m, n))
	}
	return out
}

// einsumOperands brings the operands of an Einsum into the order (lead, query, element)
// and (lead, key, element), where its result is (lead, query, key).
func einsumOperands(n *onnx.Node, a, b, p *eval.Value) (*eval.Value, *eval.Value, error) {
	terms, right, ok := eval.Subscripts(n, len(a.Shape), len(b.Shape))
	if !ok || len(right) != len(p.Shape) || len(right) < 2 || len(terms[0]) != len(a.Shape) || len(terms[1]) != len(b.Shape) {
		return nil, nil, ErrLayout
	}
	query, key := right[len(right)-2], right[len(right)-1]
	if strings.IndexByte(terms[0], query) < 0 {
		terms[0], terms[1], a, b = terms[1], terms[0], b, a
	}
	lead := right[:len(right)-2]
	summed := ""
	for i := range len(terms[0]) {
		if l := terms[0][i]; strings.IndexByte(right, l) < 0 && strings.IndexByte(terms[1], l) >= 0 {
			summed += string(l)
		}
	}
	x, err := ordered(a, terms[0], lead, query, summed)
	if err != nil {
		return nil, nil, err
	}
	y, err := ordered(b, terms[1], lead, key, summed)
	return x, y, err
}

// ordered lays an operand's axes out as (lead, position, element), with 1 for those of
// the lead that it lacks.
func ordered(v *eval.Value, term, lead string, position byte, summed string) (*eval.Value, error) {
	strides := onnx.Strides(v.Shape)
	var sizes, steps []int
	shape := []int{}
	for _, l := range lead + string(position) + summed {
		size, step := 1, 0
		if i := strings.IndexRune(term, l); i >= 0 {
			size, step = v.Shape[i], strides[i]
		}
		sizes, steps = append(sizes, size), append(steps, step)
	}
	n, dim := onnx.Size(sizes), onnx.Size(sizes[len(lead)+1:])
	if n != v.Len() {
		return nil, ErrLayout
	}
	shape = append(append(shape, sizes[:len(lead)+1]...), dim)
	out := eval.FloatValue(v.Type, shape, make([]float64, n))
	for i := range n {
		at, rest := 0, i
		for d := len(sizes) - 1; d >= 0; d-- {
			at += rest % sizes[d] * steps[d]
			rest /= sizes[d]
		}
		out.Floats[i] = v.Floats[at]
	}
	return out, nil
}

// values takes values and outputs out of the product with the weights.
func (s *plain) values(out *trial.Trial, output, value *eval.Value) error {
	heads := len(out.Heads)
	if k := len(value.Shape); s.cut.Values.Op != "Einsum" && s.cut.Operand == 1 && k >= 2 && s.cut.Values.Int("transB", 0) == 0 && len(output.Shape) >= 2 {
		o := len(output.Shape)
		vs := broadcastRows(value, output.Shape[:o-2], heads)
		if vs != nil && value.Shape[k-2] == out.Keys && output.Shape[o-2] == out.Queries {
			for h := range heads {
				out.Heads[h].Value = vs[h]
				out.Heads[h].Output = rowsOf(output.Floats, h, out.Queries, output.Shape[o-1])
			}
			return nil
		}
	}
	if s.cut.Values.Op == "Einsum" {
		if done := s.einsumValues(out, output, value); done {
			return nil
		}
	}
	return ErrLayout
}

// einsumValues are values and outputs of an Einsum of weights and values.
func (s *plain) einsumValues(out *trial.Trial, output, value *eval.Value) bool {
	n := s.cut.Values
	ranks := [2]int{len(value.Shape), len(value.Shape)}
	ranks[1-s.cut.Operand] = len(output.Shape)
	terms, right, ok := eval.Subscripts(n, ranks[:]...)
	if !ok {
		return false
	}
	w, v := terms[1-s.cut.Operand], terms[s.cut.Operand]
	if len(w) < 2 || len(v) != len(value.Shape) || len(right) != len(output.Shape) {
		return false
	}
	lead, query, key := w[:len(w)-2], w[len(w)-2], w[len(w)-1]
	own := ""
	for i := range len(v) {
		if strings.IndexByte(w, v[i]) < 0 {
			own += string(v[i])
		}
	}
	vs, err1 := ordered(value, v, lead, key, own)
	os, err2 := ordered(output, right, lead, query, own)
	if err1 != nil || err2 != nil {
		return false
	}
	k := len(os.Shape)
	rows := broadcastRows(vs, os.Shape[:k-2], len(out.Heads))
	if rows == nil || os.Shape[k-2] != out.Queries || vs.Shape[len(vs.Shape)-2] != out.Keys {
		return false
	}
	for h := range out.Heads {
		out.Heads[h].Value = rows[h]
		out.Heads[h].Output = rowsOf(os.Floats, h, out.Queries, os.Shape[k-1])
	}
	return true
}
