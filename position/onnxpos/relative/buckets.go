package relative

import (
	"fmt"
	"maps"
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/onnxpos/bydistance"
	"github.com/modelpatch/modelpatch/position/onnxpos/rows"
	"github.com/modelpatch/modelpatch/position/onnxpos/site"
	"github.com/modelpatch/modelpatch/position/onnxpos/trace"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
	"github.com/modelpatch/modelpatch/schemes/fit"
)

// Buckets is T5's bias: a table gathered by buckets of relative distance.
type Buckets struct {
	site.Base
	m       *site.Graph
	table   *onnx.Tensor
	axis    int         // of the table that runs over buckets; the other one over heads
	values  *eval.Value // as the graph reads the table
	buckets schemes.Buckets
	scope   *eval.Scope
	gather  *onnx.Node // that looks rows up by bucket; nil: an operator does
	twins   []*Buckets // of other layers: the same buckets, other tables
	beside  bool       // others are counted anew behind the places that the buckets were read of
	rounded bool       // the graph takes neighbours of the formula's buckets at some distances
	bias    *bias      // what meets the scores; nil: an operator adds it
}

// State is the bias of all pairs, in whose last axis each key has a place.
func (b *Buckets) State() (*eval.Scope, string, int) { return b.bias.state() }

// longestIndex is the row for each pair at the longest length at which it is known.
func (m *Search) longestIndex(p *picked) *eval.Value {
	if p.Gather != nil {
		if v := bydistance.LongestIndex(m.graph, p.Scope, p.Index().Name, p.rows()); v != nil {
			return v
		}
		if p.index.Large() {
			return p.Scope.FirstPlaces(p.Index().Name)
		}
		return p.index
	}
	for _, length := range bydistance.Lengths {
		if v := p.at(length); v != nil {
			return v
		}
	}
	return p.index
}

// bucketGather finds the Gather of a bias table by relative distance behind a
// bias, and fits the buckets.
func (m *Search) bucketGather(b *bias) *Buckets {
	return eval.Once(b.scope, "buckets", b.name, func() *Buckets { return m.findBuckets(b) })
}

// clips reports whether each distance to one side has a row of its own, up to that of the last row, which all further ones share: buckets have
// fewer for the farther half.
func clips(by map[int]int, count int) bool {
	side := func(sign int) bool {
		reached := false
		for d, row := range by {
			if row != min(max(sign*d, 0), count-1) {
				return false
			}
			reached = reached || sign*d >= count
		}
		return reached
	}
	return count > 2 && (side(1) || side(-1))
}

func (m *Search) findBuckets(b *bias) *Buckets {
	if n, s := trace.Upstream(b.scope, b.name, "RelativePositionBias"); n != nil {
		return m.fusedBuckets(s, n)
	}
	p := m.pick(b)
	if p == nil || p.Table == nil || len(p.Table.Dims) != 2 || p.axis < 0 || p.axis > 1 {
		return nil
	}
	table, count := p.Table, int(p.Table.Dims[p.axis])
	var divisors []float64
	var computed onnx.DataType // of the logarithms
	index := m.longestIndex(p)
	if index == nil {
		return nil
	}
	site := &Buckets{m: m.graph, table: table, axis: p.axis, scope: p.Scope, gather: p.Gather, bias: b}
	key := b.name
	if p.Gather != nil {
		key = p.Index().Name
		divisors, computed = trace.LogDivisors(p.Scope, key)
		site.values = p.Scope.Value(p.Gather.Input(0))
	}
	shape := index.Shape
	queries, keys := shape[len(shape)-2], shape[len(shape)-1]
	for _, ahead := range keysAhead(queries, keys) {
		r := eval.Once(b.scope, fmt.Sprintf("buckets of %d rows, %d ahead", count, ahead), key, func() bucketsBy {
			m.graph.Budget.Spend(fitSteps)
			by, whole := distances(index.Ints, queries, keys, ahead)
			if !whole {
				places := 0
				if ahead == 0 && queries == keys && m.graph.ImageInput() != nil {
					by, places = first(index.Ints, keys)
				}
				if places < leastPlaces {
					return bucketsBy{}
				}
			}
			if queries == 1 && len(divisors) == 0 && apart(by) {
				return bucketsBy{ok: true} // of one query, a row each: no logarithm, and nothing that shares a bucket
			}
			if clips(by, count) {
				return bucketsBy{}
			}
			found := fit.BucketTable(by, count, divisors, rows.Precision(computed))
			for _, coarse := range []fit.Precision{fit.Float16, fit.BFloat16} { // of which the divisors are, stored as others
				if found.MaxDistance == 0 && len(divisors) > 0 && !slices.ContainsFunc(divisors, func(d float64) bool { return coarse.Round(d) != d }) {
					found = fit.BucketTable(by, count, divisors, coarse)
				}
			}
			return bucketsBy{buckets: found, rounded: found.MaxDistance > 0 && !fit.GivesBuckets(found, by), beside: !whole, ok: true}
		})
		if !r.ok {
			return nil
		}
		if site.buckets, site.rounded, site.beside = r.buckets, r.rounded, r.beside; site.buckets.MaxDistance > 0 {
			break
		}
	}
	site.buckets.Heads = int(table.Dims[1-p.axis])
	if site.buckets.MaxDistance == 0 {
		return nil // no logarithmic buckets: a table by distance
	}
	site.Detected = position.Encoding{Scheme: site.buckets, Form: report.FormRuntime, Beyond: report.BeyondContinues,
		Where: []report.Where{m.graph.Where(table)}, Dtype: "",
		Evidence: []report.Evidence{{Kind: "structure", Says: "a bias by bucket of relative distance: " + p.says}}}
	if site.beside {
		site.Detected.Evidence = append(site.Detected.Evidence, report.Evidence{Kind: "structure", Says: "it was read off the text's places; those of a picture behind them are counted anew"})
	}
	if p.Gather != nil {
		site.Detected.Evidence = append(site.Detected.Evidence, ofFirst(p.Scope, key, queries)...)
		site.bounded(p.Scope.Value(key))
	}
	return site
}

// fusedBuckets are those of ONNX Runtime's operator, which states them.
func (m *Search) fusedBuckets(s *eval.Scope, n *onnx.Node) *Buckets {
	table := trace.Stored(s, n.Input(0))
	if table == nil || len(table.Dims) != 2 || n.Domain != "com.microsoft" {
		return nil
	}
	site := &Buckets{m: m.graph, table: table, values: s.Value(n.Input(0))}
	site.buckets = schemes.Buckets{Buckets: int(table.Dims[0]), Heads: int(table.Dims[1]), MaxDistance: int(n.Int("max_distance", 128)), Bidirectional: n.Int("is_bidirectional", 0) == 1}
	site.Detected = position.Encoding{Scheme: site.buckets, Form: report.FormRuntime, Beyond: report.BeyondContinues,
		Where:    []report.Where{m.graph.Where(table)},
		Evidence: []report.Evidence{{Kind: "structure", Says: n.Title() + " makes a bias by bucket of relative distance"}}}
	return site
}

// bucketsBy are the buckets that a matrix of indices comes to; not ok where it does not
// depend on the distance alone.
type bucketsBy struct {
	buckets schemes.Buckets
	rounded bool
	beside  bool
	ok      bool
}

// fitSteps is how many steps of a graph's walk take the time of a fit that tries many
// formulas.
const fitSteps = 1 << 13

// bounded notes that the buckets are a matrix in the file, or a list for each distance, of which the graph
// takes what a length needs.
func (b *Buckets) bounded(index *eval.Value) {
	if b.m.FixedLength() > 0 {
		return
	}
	for _, t := range index.Origins {
		k := len(t.Dims)
		if t.Type.IsFloat() || k == 0 {
			continue
		}
		rows := int(t.Dims[k-1])
		if first, err := t.Ints(0, t.Dims[len(t.Dims)-1]); err != nil || len(slices.Compact(first)) < 2 {
			continue // a limit that is written out for every pair
		}
		if square := k > 1 && int(t.Dims[k-2]) == rows; k == 1 {
			rows = (rows + 1) / 2
		} else if !square {
			continue
		}
		if rows > 1 && b.m.FailsAt(rows+1) != nil && b.m.FailsAt(rows) == nil && b.m.FailsAt(2*rows) != nil {
			b.Detected.Form, b.Detected.Capacity, b.Detected.Beyond = report.FormTable, rows, report.BeyondError
			b.Detected.Where = append(b.Detected.Where, b.m.Where(t))
			return
		}
	}
}

// keysAhead are how many keys may stand before the first query: a past, none, a block of as many as there are
// queries (LongT5's local attention), or those before the last of the lengths that are looked at, with keys of a static cache behind it.
func keysAhead(queries, keys int) []int {
	out, others := []int{keys - queries}, []int{0, queries}
	if queries == 1 {
		for _, length := range bydistance.Lengths {
			others = append(others, length-1)
		}
	}
	for _, n := range others {
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

// leastPlaces are enough to tell buckets: some of them are for several distances.
const leastPlaces = 16

// first is distances of as many places ahead as agree, where others behind them are counted anew: those of a text beside a picture's patches.
func first(index []int64, keys int) (by map[int]int, places int) {
	by = map[int]int{}
	for ; places < keys; places++ {
		for ahead := range places + 1 { // pairs with those ahead, either way
			for _, pair := range [][2]int{{ahead, places}, {places, ahead}} {
				relative, bucket := pair[1]-pair[0], int(index[pair[0]*keys+pair[1]])
				if have, ok := by[relative]; ok && have != bucket {
					maps.DeleteFunc(by, func(d, _ int) bool { return d <= -places || d >= places })
					return by, places
				}
				by[relative] = bucket
			}
		}
	}
	return by, places
}

// apart reports whether all distances of keys behind the query have rows of their own.
func apart(by map[int]int) bool {
	rows, behind := map[int]bool{}, 0
	for relative, row := range by {
		if relative <= 0 {
			rows[row] = true
			behind++
		}
	}
	return len(rows) == behind
}

// twin is an equal site that is there, nil where there is none: a table a layer is one
// mechanism.
func (m *Search) twin(b *Buckets) *Buckets {
	for _, s := range m.sites {
		if o, ok := s.(*Buckets); ok && o.Detected.Form != report.FormBaked && o.buckets == b.buckets {
			return o
		}
	}
	return nil
}

// Bias is the table's entry for the bucket of a distance. Errors: a head that is not there, and those of reading.
func (b *Buckets) Bias(head, query, key, length int) (float64, error) {
	if head < 0 || head >= b.buckets.Heads {
		return 0, fmt.Errorf("head %d of %d", head, b.buckets.Heads)
	}
	x, err := b.table.Floats(b.element(b.buckets.Bucket(key-query), head), 1)
	if err != nil {
		return 0, err
	}
	return x[0], nil
}

// element is the place of a number in the table.
func (b *Buckets) element(bucket, head int) int64 {
	if b.axis == 1 {
		bucket, head = head, bucket
	}
	return int64(bucket)*b.table.Dims[1] + int64(head)
}

// besides is the refusal to change what other places have as well.
func (b *Buckets) besides() error {
	return &position.Refusal{Why: "the same scores have a bias between a picture's places, counted anew behind the text's, which is not read", Instead: "export the model again with the wanted configuration"}
}

// Neutralize makes the bias that buckets select nothing.
func (b *Buckets) Neutralize() error {
	if b.beside {
		return b.besides()
	}
	for _, t := range append([]*Buckets{b}, b.twins...) {
		if err := b.m.Replace(t.table, t.table.Dims, rows.Emptied(t.table), "zeros: the buckets add nothing"); err != nil {
			return err
		}
	}
	return nil
}

// ActsIn is every attention: all read one bias.
func (b *Buckets) ActsIn() ([]trace.Place, site.Reach) { return nil, site.Everywhere }

// Store has nothing to store: buckets saturate, the table does not depend on
// the length.
func (b *Buckets) Store(want position.Want) error {
	if want.Scheme == nil || want.Scheme.Equal(b.Detected.Scheme) {
		return nil
	}
	return &position.Refusal{Why: "a bias by buckets cannot hold " + want.Scheme.String(), Instead: "train or export another model"}
}
