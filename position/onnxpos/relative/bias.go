package relative

import (
	"fmt"
	"math"
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position/onnxpos/bydistance"
	"github.com/modelpatch/modelpatch/position/onnxpos/site"
	"github.com/modelpatch/modelpatch/position/onnxpos/trace"
	"github.com/modelpatch/modelpatch/report"
)

// bias is a place where numbers that depend on position are added to
// attention scores.
type bias struct {
	scope  *eval.Scope
	node   *onnx.Node
	name   string
	value  *eval.Value
	heads  [][][]float64 // head, query, key
	fitted []float64     // the slopes of one that is linear, once they are known
	keys   int           // the axis of keys of scores that are laid out with others behind it, from behind; 0: they stand last
}

// state is the bias as a value, and its axis of keys from behind.
func (b *bias) state() (*eval.Scope, string, int) {
	if b == nil {
		return nil, "", 0
	}
	return b.scope, b.name, max(b.keys, 1)
}

// Bias looks at a value that a node adds to attention scores, or takes from them: known numbers that are
// more than a mask are kept for Biases, of those that are taken the linear ones.
func (m *Search) Bias(s *eval.Scope, n *onnx.Node, name string) {
	v := s.Value(name)
	if at := slices.Index(n.Inputs, name); at >= 0 && v.Floats == nil && eval.Is(n, eval.Quantized) {
		v = s.Operand(n, at)
	}
	if v.Large() && v.Len() <= maxBias && m.read+v.Len() <= maxBiases {
		v = read(s, name)
		m.read += v.Len()
	}
	if v.Large() {
		m.large(s, n, name, v)
		return
	}
	if !v.Known() || v.Floats == nil || len(v.Shape) < 2 || v.Len() < 2 {
		return
	}
	heads := eval.Ask(v, "heads", func() [][][]float64 {
		m.graph.SpendElements(v.Len())
		if heads := headsOf(v); !onlyMask(heads) {
			return heads
		}
		return nil
	})
	if heads == nil {
		return
	}
	b := &bias{scope: s, node: n, name: name, value: v, heads: heads}
	if _, linear := b.slopes(); linear || n.Op != "Sub" {
		m.biases = append(m.biases, b)
	}
}

// BiasAlong is Bias of scores that have batches or heads behind queries and keys, which lie on the given axes: linear ones are kept.
func (m *Search) BiasAlong(s *eval.Scope, n *onnx.Node, name string, query, key int) {
	v := read(s, name)
	if !v.Known() || v.Floats == nil || v.Len() > maxBias || m.read+v.Len() > maxBiases || v.Len() > maxHeads*v.Shape[query]*v.Shape[key] || m.graph.FixedLength() > 0 {
		return
	}
	m.read += v.Len()
	m.graph.SpendElements(v.Len())
	heads := headsAlong(v, query, key)
	if onlyMask(heads) {
		return
	}
	b := &bias{scope: s, node: n, name: name, heads: heads, keys: len(v.Shape) - key}
	if slopes, linear := b.slopes(); linear {
		b.fitted, b.heads = slopes, heads[:1] // the others are not asked for
		m.biases = append(m.biases, b)
	}
}

// headsAlong reads a bias whose queries and keys lie on the given axes as matrices, one for each place along the others.
func headsAlong(v *eval.Value, query, key int) (out [][][]float64) {
	for i := range v.Len() {
		rest, q, k, head, heads := i, 0, 0, 0, 1
		for axis := len(v.Shape) - 1; axis >= 0; axis-- {
			at := rest % v.Shape[axis]
			switch rest /= v.Shape[axis]; axis {
			case query:
				q = at
			case key:
				k = at
			default:
				head, heads = head+at*heads, heads*v.Shape[axis]
			}
		}
		if out == nil {
			out = make([][][]float64, heads)
			for h := range out {
				out[h] = make([][]float64, v.Shape[query])
			}
		}
		if out[head][q] == nil {
			out[head][q] = make([]float64, v.Shape[key])
		}
		out[head][q][k] = v.Number(i)
	}
	return out
}

// large notes a bias whose numbers are too many to be looked at, where an index says what they are, or those between the first positions
// are linear.
func (m *Search) large(s *eval.Scope, n *onnx.Node, name string, v *eval.Value) {
	k := len(v.Shape)
	if k < 2 || v.Len() == 0 {
		return
	}
	if gather, _ := trace.RelativeGather(s, name); gather != nil {
		if k > 2 && v.Shape[k-3] <= maxHeads {
			m.biases = append(m.biases, &bias{scope: s, node: n, name: name, value: v, heads: make([][][]float64, v.Shape[k-3])})
		}
		return
	}
	first := s.FirstPlaces(name)
	if first == nil || first.Floats == nil {
		return
	}
	b := &bias{scope: s, node: n, name: name, value: first, heads: headsOf(first)}
	if b.heads == nil {
		return
	}
	places := len(b.heads[0])
	last := s.Places(name, max(v.Shape[k-2]-places, 0), places) // the last queries, far from the first keys
	if slopes, linear := b.slopes(); linear && last != nil && last.Floats != nil && goesOn(headsOf(last), slopes) {
		m.biases = append(m.biases, b)
	}
}

// goesOn reports whether keys that are all before their queries rise by the slopes, one a head, from the first to the last that are not masked.
func goesOn(heads [][][]float64, slopes []float64) bool {
	shown := func(x float64) bool { return x > trace.MaskedBelow }
	for h, rows := range heads[:min(len(heads), len(slopes))] {
		for _, row := range rows {
			first := slices.IndexFunc(row, shown)
			last := len(row) - 1
			for last > first && !shown(row[last]) {
				last--
			}
			if steps := float64(last - first); first >= 0 && steps > 0 {
				if rise := math.Abs(row[last] - row[first]); math.Abs(rise-steps*slopes[h]) > linearTolerance*steps*slopes[h]+coarsest*math.Abs(row[first]) {
					return false
				}
			}
		}
	}
	return len(heads) == len(slopes)
}

// coarsest is by how much of itself a number is off at most that is stored in 16 bits (bfloat16).
const coarsest = 1.0 / 256

// ofFirst says how many positions were looked at of a value of more.
func ofFirst(s *eval.Scope, name string, positions int) []report.Evidence {
	shape := s.Value(name).Shape
	if k := len(shape); k < 2 || shape[k-2] <= positions {
		return nil
	}
	return []report.Evidence{{Kind: "structure", Says: fmt.Sprintf("read between the first %d positions; what is between most others was not looked at", positions)}}
}

// maxBias bounds the numbers of a bias that is looked at, though the evaluator does not keep it, and maxBiases those of all.
const (
	maxBias   = 1 << 22
	maxBiases = 1 << 24
)

// maxHeads bounds the heads of an attention whose numbers were not looked at.
const maxHeads = 1 << 10

// headsOf reads a bias as matrices of query and key, one a head. Of several
// batches, or blocks of one sequence, the first counts in which a key is not
// masked. Those that differ in more are groups of heads, of one key each.
func headsOf(v *eval.Value) [][][]float64 {
	k := len(v.Shape)
	queries, keys := v.Shape[k-2], v.Shape[k-1]
	count := 1
	if k >= 3 {
		count = v.Shape[k-3]
	}
	if k >= 4 && queries > 1 && differ(v, count*queries*keys, v.Shape[k-4]) { // of one query: places and their neighbours
		count *= v.Shape[k-4]
	}
	if queries*keys < 2 {
		return nil
	}
	out, all := make([][][]float64, count), v.Len()
	for h := range out {
		out[h] = make([][]float64, queries)
		for q := range queries {
			row := make([]float64, keys)
			for i := range keys {
				for at := (h*queries+q)*keys + i; at < all; at += count * queries * keys {
					if row[i] = v.Number(at); row[i] >= trace.MaskedBelow {
						break
					}
				}
			}
			out[h][q] = row
		}
	}
	return out
}

// differ reports whether so many parts of a value, each of so many numbers, differ in more than what is masked.
func differ(v *eval.Value, size, parts int) bool {
	for i := size; i < size*parts; i++ {
		if a, b := v.Number(i), v.Number(i%size); a != b && min(a, b) > leastMask {
			return true
		}
	}
	return false
}

// leastMask is more than a mask takes off scores at the least (100 in Swin), with what biases add.
const leastMask = -50

// onlyMask reports whether all numbers of a query that are not masked are the same: what is added to all scores of a query has no effect.
func onlyMask(heads [][][]float64) bool {
	for _, h := range heads {
		for _, row := range h {
			shown := func(x float64) bool { return x >= trace.MaskedBelow && !math.IsInf(x, 0) }
			if first := slices.IndexFunc(row, shown); first >= 0 && slices.ContainsFunc(row[first:], func(x float64) bool { return shown(x) && x != row[first] }) {
				return false
			}
		}
	}
	return true
}

// slopes fits each head by slope · key distance; ok when all are linear, some perhaps of no slope.
func (b *bias) slopes() ([]float64, bool) {
	if b.fitted != nil {
		return b.fitted, true
	}
	if b.value == nil {
		return b.fitSlopes()
	}
	r := eval.Ask(b.value, "slopes of "+b.node.Op, func() slopesResult { s, ok := b.fitSlopes(); return slopesResult{s, ok} })
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
		if b.node != nil && b.node.Op == "Sub" && slope != 0 {
			slope = -slope
		}
		if !ok || slope < 0 { // nearer keys must score higher, or in some heads all alike
			return nil, false
		}
		out[h] = slope
	}
	return out, slices.Max(out) > 0
}

// linearTolerance is the relative deviation allowed from a straight line:
// bfloat16 slopes (Falcon) are the coarsest.
const linearTolerance = 2e-2

// exactStep is by how much steps of 32 bits differ from their mean, relative to it: a few roundings.
const exactStep = 1e-5

// linear finds m with bias = m·key + constant on each query's unmasked keys up
// to the query itself; beyond it the bias goes on, turns, or stays. One that is steeper there is none.
func linear(m [][]float64) (slope float64, ok bool) {
	var steps, ahead []float64
	nearest, least := 0.0, math.Inf(1) // the step between the smallest numbers, which are rounded least
	for q, row := range m {
		last := len(row) - 1
		if len(m) > 1 { // the last query sees the last key
			last = min(last, len(row)-len(m)+q)
		}
		for k := 1; k < len(row); k++ {
			switch {
			case row[k] <= trace.MaskedBelow || row[k-1] <= trace.MaskedBelow:
			case k <= last:
				steps = append(steps, row[k]-row[k-1])
				if largest := max(math.Abs(row[k]), math.Abs(row[k-1])); largest < least {
					nearest, least = row[k]-row[k-1], largest
				}
			default:
				ahead = append(ahead, row[k]-row[k-1])
			}
		}
	}
	if len(steps) == 0 {
		return 0, false
	}
	for _, s := range steps {
		slope += s / float64(len(steps))
	}
	if math.Abs(nearest-slope) <= exactStep*math.Abs(slope) {
		slope = nearest // of any number of positions the same
	}
	near := func(x, to float64) bool { return math.Abs(x-to) <= linearTolerance*math.Abs(slope)+1e-9 }
	for _, s := range steps {
		if !near(s, slope) {
			return 0, false
		}
	}
	for _, s := range ahead {
		if !near(s, -slope) && !near(s, slope) && !near(s, 0) {
			return 0, false
		}
	}
	return slope, true
}

// pick finds the table of which a bias has a row for each query and key: by the node that
// picks them, or by where the numbers come from.
func (m *Search) pick(b *bias) *picked {
	if p := m.gathered(b.scope, b.name); p != nil {
		return p
	}
	if k := len(b.value.Shape); b.heads[0] != nil {
		return m.pairs(b.scope, b.name, k-2, k-1)
	}
	return nil
}

// Biases makes sites of the biases: linear ones are ALiBi, gathered ones
// T5's buckets, constant ones relative tables.
func (m *Search) Biases() []site.Site {
	var linear, whole []*bias
	var windows *Window
	buckets, relative := map[*onnx.Tensor]*Buckets{}, map[*onnx.Tensor]bool{} // of a relative table: whether it is of a window
	for _, b := range m.biases {
		if b.keys == 0 {
			b = b.unmasked()
		}
		if _, ok := b.slopes(); ok {
			linear = append(linear, b)
			continue
		}
		if p := m.pick(b); p != nil && m.bucketGather(b) == nil && !(b.heads[0] != nil && p.byPair()) {
			table := p.Table
			if table == nil {
				continue
			}
			planar, seen := relative[table]
			if !seen {
				var found *site.Other
				found, planar = m.distanceTable(p, b.node, len(b.heads))
				relative[table] = planar
				switch {
				case planar && windows != nil:
					windows.Join(found)
				case planar:
					windows = &Window{Other: found, graph: m.graph}
					m.sites = append(m.sites, windows)
				default:
					d := bydistance.New(m.graph, found, &p.Lookup)
					if i := slices.IndexFunc(m.sites, d.IsTwin); i >= 0 { // a table a layer is one mechanism
						m.sites[i].(*bydistance.Distances).JoinTwin(d)
					} else {
						m.sites = append(m.sites, d)
					}
				}
			}
			if planar {
				windows.uses = append(windows.uses, b)
			}
			continue
		}
		if g := m.bucketGather(b); g != nil {
			if buckets[g.table] == nil {
				buckets[g.table] = g
				if twin := m.twin(g); twin != nil {
					twin.twins = append(twin.twins, g)
				} else {
					m.sites = append(m.sites, g)
				}
			}
			continue
		}
		whole = append(whole, b)
	}
	for _, uses := range m.bySlopes(linear) {
		m.sites = append(m.sites, m.alibiSite(uses))
	}
	if len(whole) > 0 {
		found := m.relativeTable(whole)
		if w, ok := found.(*Window); ok && windows != nil { // of other stages of the picture
			windows.Join(w.Other)
			windows.uses = append(windows.uses, w.uses...)
		} else {
			m.sites = append(m.sites, found)
		}
	}
	return m.sites
}
