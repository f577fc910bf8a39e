package onnxpos

import (
	"fmt"
	"math"
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/onnxpos/trace"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
	"github.com/modelpatch/modelpatch/schemes/fit"
)

// bias is a place where numbers that depend on position are added to
// attention scores.
type bias struct {
	scope *eval.Scope
	node  *onnx.Node
	name  string
	value *eval.Value
	heads [][][]float64 // head, query, key
}

// maskedBelow separates a mask's large negative numbers from a bias: no trained
// or linear bias of a short probe reaches it.
const maskedBelow = -5e3

// scoreBias looks at what is added to scores.
func (d *detector) scoreBias(s *eval.Scope, n *onnx.Node, scores, added string) {
	state := s.Value(scores)
	d.bias(s, n, added, state)
}

// attentionBias looks at the mask or bias input of a fused attention.
func (d *detector) attentionBias(s *eval.Scope, n *onnx.Node, name string) {
	if name != "" {
		d.read(s, n, name)
		d.bias(s, n, name, eval.Unknown())
	}
}

func (d *detector) bias(s *eval.Scope, n *onnx.Node, name string, state *eval.Value) {
	v := s.Value(name)
	if !v.Known() || v.Floats == nil || len(v.Shape) < 2 || v.Len() < 2 {
		return
	}
	heads := eval.Ask(v, "heads", func() [][][]float64 {
		d.m.SpendElements(v.Len())
		if heads := headsOf(v); !onlyMask(heads) {
			return heads
		}
		return nil
	})
	if heads == nil {
		return
	}
	d.biases = append(d.biases, &bias{s, n, name, v, heads})
}

// largeBias notes a bias whose numbers are too many to be looked at, where an index
// says what they are.
func (d *detector) largeBias(s *eval.Scope, n *onnx.Node, name string, v *eval.Value) {
	k := len(v.Shape)
	if !v.Large() || k < 3 || v.Len() == 0 || v.Shape[k-3] > maxHeads {
		return
	}
	if gather, _ := trace.RelativeGather(s, name); gather != nil {
		d.biases = append(d.biases, &bias{s, n, name, v, make([][][]float64, v.Shape[k-3])})
	}
}

// maxHeads bounds the heads of an attention whose numbers were not looked at.
const maxHeads = 1 << 10

// headsOf reads a bias as matrices of query and key, one a head. Of several
// batches, or blocks of one sequence, the first counts in which a key is not
// masked.
func headsOf(v *eval.Value) [][][]float64 {
	k := len(v.Shape)
	queries, keys := v.Shape[k-2], v.Shape[k-1]
	count := 1
	if k >= 3 {
		count = v.Shape[k-3]
	}
	if queries*keys < 2 {
		return nil
	}
	out := make([][][]float64, count)
	for h := range out {
		out[h] = make([][]float64, queries)
		for q := range queries {
			row := make([]float64, keys)
			for i := range keys {
				for at := (h*queries+q)*keys + i; at < v.Len(); at += count * queries * keys {
					if row[i] = v.Number(at); row[i] >= maskedBelow {
						break
					}
				}
			}
			out[h][q] = row
		}
	}
	return out
}

// onlyMask reports whether all numbers that are not masked are the same.
func onlyMask(heads [][][]float64) bool {
	var seen float64
	first := true
	for _, h := range heads {
		for _, row := range h {
			for _, x := range row {
				if x < maskedBelow || math.IsInf(x, 0) || math.IsNaN(x) {
					continue
				}
				if !first && x != seen {
					return false
				}
				seen, first = x, false
			}
		}
	}
	return true
}

// slopes fits each head by slope · key distance; ok when all are linear.
func (b *bias) slopes() ([]float64, bool) {
	if b.value == nil {
		return b.fitSlopes()
	}
	r := eval.Ask(b.value, "slopes", func() slopesResult { s, ok := b.fitSlopes(); return slopesResult{s, ok} })
	return r.slopes, r.ok
}

// slopesResult is what slopes finds.
type slopesResult struct {
	slopes []float64
	ok     bool
}

func (b *bias) fitSlopes() ([]float64, bool) {
	out := make([]float64, len(b.heads))
	for h, m := range b.heads {
		slope, ok := linear(m)
		if !ok || slope <= 0 { // nearer keys must score higher
			return nil, false
		}
		out[h] = slope
	}
	return out, true
}

// linearTolerance is the relative deviation allowed from a straight line:
// bfloat16 slopes (Falcon) are the coarsest.
const linearTolerance = 2e-2

// linear finds m with bias = m·key + constant on each query's unmasked keys up
// to the query itself; beyond it a symmetric bias turns.
func linear(m [][]float64) (slope float64, ok bool) {
	var steps []float64
	for q, row := range m {
		last := len(row) - 1
		if len(m) > 1 { // the last query sees the last key
			last = min(last, len(row)-len(m)+q)
		}
		for k := 1; k <= last; k++ {
			if row[k] > maskedBelow && row[k-1] > maskedBelow {
				steps = append(steps, row[k]-row[k-1])
			}
		}
	}
	if len(steps) == 0 {
		return 0, false
	}
	for _, s := range steps {
		slope += s / float64(len(steps))
	}
	for _, s := range steps {
		if math.Abs(s-slope) > linearTolerance*math.Abs(slope)+1e-9 {
			return 0, false
		}
	}
	return slope, true
}

// addBiases makes sites of the biases: linear ones are ALiBi, gathered ones
// T5's buckets, constant ones relative tables.
func (m *Model) addBiases(d *detector) {
	var linear, whole []*bias
	var windows *Other
	buckets, relative := map[*onnx.Tensor]*bucketSite{}, map[*onnx.Tensor]bool{}
	for _, b := range d.biases {
		if _, ok := b.slopes(); ok {
			linear = append(linear, b)
			continue
		}
		if n, s := trace.RelativeGather(b.scope, b.name); n != nil && m.bucketGather(b) == nil {
			if table := trace.Stored(s, n.Input(0)); table != nil && !relative[table] {
				relative[table] = true
				site, planar := m.distanceTable(s, n, b.node, len(b.heads))
				if planar && windows != nil {
					windows.Join(site)
					continue
				}
				if m.sites = append(m.sites, site); planar {
					windows = site
				}
			}
			continue
		}
		if g := m.bucketGather(b); g != nil {
			if buckets[g.table] == nil {
				buckets[g.table] = g
				if !m.sameBuckets(g) {
					m.sites = append(m.sites, g)
				}
			}
			continue
		}
		whole = append(whole, b)
	}
	if len(linear) > 0 {
		m.sites = append(m.sites, m.alibiSite(linear))
	}
	if len(whole) > 0 {
		m.sites = append(m.sites, m.relativeTable(whole))
	}
}

// alibiSite is a linear bias, from tables or computed.
type alibiSite struct {
	Base
	m      *Model
	uses   []*bias
	tables []trace.Source
	held   int
	scale  float64 // by which the bias is multiplied before it is added
}

// fitSlopes recovers the rule behind slopes. Some graphs add the bias already
// multiplied by 1/√head_dim, as the scores are (Falcon, facts/NUMERICS §7):
// then the ratios follow the rule and all slopes share a factor.
func fitSlopes(slopes []float64) (a schemes.ALiBi, worst, scale float64, ok bool) {
	if a, worst, ok = fit.Slopes(slopes, fit.Precision("float32")); ok && math.Abs(a.MaxBias-8) < 1e-3 {
		return a, worst, 1, true
	}
	usual := schemes.ALiBiSlopes(len(slopes), 8)
	scale = slopes[0] / usual[0]
	if len(slopes) == 1 || scale <= 0 { // one number follows any rule
		return a, worst, 1, ok
	}
	for i := range usual {
		if math.Abs(slopes[i]/(scale*usual[i])-1) > linearTolerance {
			return a, worst, 1, ok
		}
	}
	return schemes.ALiBi{Heads: len(slopes), MaxBias: 8}, worst, scale, true
}

// roundedSlope is the relative error of a slope that is read from differences
// of float32 numbers.
const roundedSlope = 2e-6

func (m *Model) alibiSite(uses []*bias) *alibiSite {
	a := &alibiSite{m: m, uses: uses, scale: 1}
	seen := map[*onnx.Tensor]bool{}
	slopes, _ := uses[0].slopes()
	e := position.Encoding{Form: report.FormRuntime, Beyond: report.BeyondContinues}
	scheme := schemes.ALiBi{Heads: len(slopes), Slopes: slopes}
	if fitted, worst, scale, ok := fitSlopes(slopes); ok {
		rule := schemes.ALiBiSlopes(len(slopes), fitted.MaxBias)
		for i := range slopes {
			m := slopes[i] / scale
			if math.Abs(m-rule[i]) <= roundedSlope*rule[i] {
				m = rule[i] // what is off is the rounding of the bias that it was read from
			}
			fitted.Slopes = append(fitted.Slopes[:i:i], m)
		}
		a.scale = scale
		scheme = fitted
		e.Evidence = append(e.Evidence, report.Evidence{Kind: "fit", Says: "slopes are " + scheme.String(), Residual: residual(worst)})
	}
	e.Scheme = scheme
	for _, u := range uses {
		for _, src := range trace.Sources(u.scope, u.name) {
			if src.Tensor == nil || len(src.Tensor.Dims) < 2 || !src.Tensor.Type.IsFloat() ||
				seen[src.Tensor] {
				continue
			}
			n := int(src.Tensor.Dims[len(src.Tensor.Dims)-1])
			switch {
			case src.Indexed != nil:
				e.Form, e.Beyond, e.Capacity = report.FormTable, report.BeyondError, n
			case m.FixedLength() > 1 && n == m.FixedLength():
				e.Form, e.Beyond, e.Capacity = report.FormBaked, report.BeyondError, n
			default:
				continue
			}
			seen[src.Tensor] = true
			a.tables = append(a.tables, src)
			e.Where = append(e.Where, m.Where(src.Tensor))
		}
	}
	if e.Form == report.FormRuntime {
		e.Where = append(e.Where, report.Where{Node: uses[0].node.Title()})
	}
	e.Evidence = append(e.Evidence, report.Evidence{Kind: "structure", Says: fmt.Sprintf("%s adds a bias linear in the distance to attention scores (%d places)", uses[0].node.Title(), len(uses))})
	a.Told = e
	return a
}

// Bias is the bias that the file computes for a head, query and key.
func (a *alibiSite) Bias(head, query, key, length int) (float64, error) {
	slopes := a.Told.Scheme.(schemes.ALiBi).SlopeValues()
	if head >= len(slopes) {
		return 0, fmt.Errorf("head %d of %d", head, len(slopes))
	}
	return -slopes[head] * a.scale * math.Abs(float64(query-key)), nil
}

func (a *alibiSite) Overlay(into map[*onnx.Tensor]*eval.Value) {
	if a.held == 0 {
		return
	}
	for _, src := range a.tables {
		shape := make([]int, len(src.Tensor.Dims))
		for i, n := range src.Tensor.Dims {
			shape[i] = int(n)
			if int(n) == a.Told.Capacity {
				shape[i] = a.held
			}
		}
		v := eval.Shaped(src.Tensor.Type, shape...)
		v.Origins = []*onnx.Tensor{src.Tensor}
		into[src.Tensor] = v
	}
}

// bucketSite is T5's bias: a table gathered by buckets of relative distance.
type bucketSite struct {
	Base
	m       *Model
	table   *onnx.Tensor
	values  *eval.Value // as the graph reads the table
	buckets schemes.Buckets
}

// bucketLengths are the lengths at which bucket indices are computed for a fit:
// the longest that the graph runs at, which a learned table beside may bound.
var bucketLengths = []int{300, 128, 64, 32, 16}

// bucketIndex computes an index at the longest length at which it is known.
func (m *Model) bucketIndex(s *eval.Scope, name string) *eval.Value {
	for _, length := range bucketLengths {
		if v := m.Longer(s, name, length); v != nil && v.Known() && v.Ints != nil && len(v.Shape) >= 2 {
			return v
		}
	}
	return nil
}

// bucketGather finds the Gather of a bias table by relative distance behind a
// bias, and fits the buckets.
func (m *Model) bucketGather(b *bias) *bucketSite {
	return eval.Once(b.scope, "buckets", b.name, func() *bucketSite { return m.findBuckets(b) })
}

func (m *Model) findBuckets(b *bias) *bucketSite {
	n, s := trace.RelativeGather(b.scope, b.name)
	if n == nil {
		return nil
	}
	table := trace.Stored(s, n.Input(0))
	index := m.bucketIndex(s, n.Input(1))
	if table == nil || len(table.Dims) != 2 || index == nil {
		return nil
	}
	site := &bucketSite{m: m, table: table, values: s.Value(n.Input(0))}
	shape := index.Shape
	queries, keys := shape[len(shape)-2], shape[len(shape)-1]
	for _, ahead := range keysAhead(queries, keys) {
		r := eval.Once(s, fmt.Sprintf("buckets of %d rows, %d ahead", table.Dims[0], ahead), n.Input(1), func() bucketsBy {
			m.Budget.Spend(fitSteps)
			by, ok := distances(index.Ints, queries, keys, ahead)
			if !ok {
				return bucketsBy{}
			}
			return bucketsBy{fit.BucketTable(by, int(table.Dims[0]), trace.LogDivisors(s, n.Input(1))), true}
		})
		if !r.ok {
			return nil
		}
		if site.buckets = r.buckets; site.buckets.MaxDistance > 0 {
			break
		}
	}
	site.buckets.Heads = int(table.Dims[1])
	if site.buckets.MaxDistance == 0 {
		return nil // no logarithmic buckets: a table by distance
	}
	site.Told = position.Encoding{Scheme: site.buckets, Form: report.FormRuntime, Beyond: report.BeyondContinues,
		Where: []report.Where{m.Where(table)}, Dtype: "",
		Evidence: []report.Evidence{{Kind: "structure", Says: fmt.Sprintf("%s gathers a bias by bucket of relative distance", n.Title())}}}
	site.bounded(s, n.Input(1))
	return site
}

// bucketsBy are the buckets that a matrix of indices comes to; not ok where it does not
// depend on the distance alone.
type bucketsBy struct {
	buckets schemes.Buckets
	ok      bool
}

// fitSteps is how many steps of a graph's walk take the time of a fit that tries many
// formulas.
const fitSteps = 1 << 13

// bounded notes that the buckets are a matrix in the file, of which the graph
// takes what a length needs.
func (b *bucketSite) bounded(s *eval.Scope, index string) {
	if b.m.FixedLength() > 0 {
		return
	}
	for _, src := range trace.Sources(s, index) {
		t := src.Tensor
		if t == nil || t.Type.IsFloat() || len(t.Dims) < 2 {
			continue
		}
		rows := int(t.Dims[len(t.Dims)-1])
		if rows > 1 && int(t.Dims[len(t.Dims)-2]) == rows && b.m.FailsAt(rows+1) != nil && b.m.FailsAt(rows) == nil {
			b.Told.Form, b.Told.Capacity, b.Told.Beyond = report.FormTable, rows, report.BeyondError
			b.Told.Where = append(b.Told.Where, b.m.Where(t))
			return
		}
	}
}

// keysAhead are how many keys may stand before the first query: a past, none, or
// a block of as many as there are queries (LongT5's local attention).
func keysAhead(queries, keys int) []int {
	out := []int{keys - queries}
	for _, n := range []int{0, queries} {
		if !slices.Contains(out, n) && n < keys {
			out = append(out, n)
		}
	}
	return out
}

// distances maps the relative positions, key − query, of a matrix of indices to
// the index of each; not ok when one has several.
func distances(index []int64, queries, keys, ahead int) (by map[int]int, ok bool) {
	by = map[int]int{}
	for q := range queries {
		for k := range keys {
			rel := k - (q + ahead)
			bucket := int(index[q*keys+k])
			if have, ok := by[rel]; ok && have != bucket {
				return nil, false
			}
			by[rel] = bucket
		}
	}
	return by, true
}

// sameBuckets reports whether an equal site is there: a table a layer is one
// mechanism.
func (m *Model) sameBuckets(b *bucketSite) bool {
	return slices.ContainsFunc(m.sites, func(s Site) bool {
		o, ok := s.Encoding().Scheme.(schemes.Buckets)
		return ok && s.Encoding().Form != report.FormBaked && o == b.buckets
	})
}

// Bias is the table's entry for the bucket of a distance.
func (b *bucketSite) Bias(head, query, key, length int) (float64, error) {
	x, err := b.table.Floats(int64(b.buckets.Bucket(key-query))*b.table.Dims[1]+int64(head), 1)
	if err != nil {
		return 0, err
	}
	return x[0], nil
}

// Owned are the tables of the bias.
func (a *alibiSite) Owned() []*onnx.Tensor {
	var out []*onnx.Tensor
	for _, t := range a.tables {
		out = append(out, t.Tensor)
	}
	return out
}

// ActsIn are the nodes that add the bias to scores.
func (a *alibiSite) ActsIn() (from []trace.Place, in Reach) {
	for _, u := range a.uses {
		from = append(from, trace.Place{Scope: u.scope, Node: u.node})
	}
	return from, Softmaxes
}

// SetBeyond notes what a probe showed beyond the tables.
func (a *alibiSite) SetBeyond(beyond string, evidence ...report.Evidence) {
	a.Told.Beyond = beyond
	a.Told.Evidence = append(a.Told.Evidence, evidence...)
}

// ActsIn is every attention: all read one bias.
func (b *bucketSite) ActsIn() ([]trace.Place, Reach) { return nil, Everywhere }
