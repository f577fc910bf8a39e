// Package scored finds vectors of distances that queries or keys are multiplied with, of which a graph brings to each pair of a query and a
// key the product with one. It asks which of the product's numbers each pair gets, whatever operators bring them there, and holds what is
// found: a table by distance, or DeBERTa's disentangled attention.
package scored

import (
	"fmt"
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/axes"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/onnxpos/origin"
	"github.com/modelpatch/modelpatch/position/onnxpos/rows"
	"github.com/modelpatch/modelpatch/position/onnxpos/site"
	"github.com/modelpatch/modelpatch/position/onnxpos/trace"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
	"github.com/modelpatch/modelpatch/schemes/fit"
)

// Search looks for such vectors.
type Search struct {
	graph   *site.Graph
	labels  *axes.Labels
	origins *origin.Maps
	found   []*scored
	looked  bool
	asked   int
}

// New begins a search, which asks what depends on data, and where numbers come from.
func New(g *site.Graph, labels *axes.Labels, origins *origin.Maps) *Search {
	return &Search{graph: g, labels: labels, origins: origins}
}

// scored is a product of queries, or of keys, with vectors, of which the graph brings to each pair of a query and a key that with one of
// them: by a Gather, a product with one-hot vectors, or a Reshape that swaps two sizes (Shaw et al. 2018; Huang et al. 2018, §3.4.1; Dai et
// al. 2019, appendix B; He et al. 2021).
type scored struct {
	scope   *eval.Scope
	node    *onnx.Node // the product
	operand int        // of the node: the vectors
	from    string     // the product's numbers, perhaps scaled
	term    string     // what is added to scores
	planar  bool       // pairs may be of places of a grid, row by row
	byKey   bool       // keys are multiplied with them, not queries
	table   *onnx.Tensor
	axis    int         // of the table, along which vectors stand
	weighed bool        // they are multiplied with weights before
	along   int         // of the vectors, the axis along which they stand
	count   int         // how many vectors are multiplied
	columns map[int]int // by distance: which of them
	by      map[int]int // and which row of the table that is, −1: none
}

func (m *Search) isData(s *eval.Scope, name string) bool {
	return name != "" && m.labels.Of(s, name).Depends == axes.Content
}

// Bounds of what is looked at: values behind a term, terms that are found, and what is asked of them.
const (
	maxBehindTerm = 64
	maxScored     = 4
	maxScalings   = 4       // nodes behind a product that scale it
	maxAsked      = 200     // products that are asked about
	maxPairs      = 1 << 24 // of queries and keys
	maxQueries    = 24      // of whom the keys are looked at
	pairsAStep    = 1 << 10
)

// products are the terms of scores that are products with vectors by distance, of the first layers: what goes into scores with another value,
// or alone, and depends on data.
func (m *Search) products() []*scored {
	if m.looked {
		return m.found
	}
	m.looked = true
	for _, s := range m.graph.Eval.Scopes() {
		s.Spend(len(s.Graph.Nodes))
		for _, n := range s.Graph.Nodes {
			terms := n.Inputs
			switch {
			case eval.Weighs(n):
				terms = terms[:min(1, len(terms))]
			case !eval.Is(n, eval.Addition) || n.Op == "Sub" || !trace.MakesScores(s, n):
				continue
			}
			for _, name := range terms {
				if b := m.behindTerm(s, name); b != nil && len(m.found) < maxScored {
					m.found = append(m.found, b)
				}
			}
			if len(m.found) == maxScored {
				return m.found
			}
		}
	}
	return m.found
}

// behindTerm goes back from a term to the products of data with what does not depend on them, and asks which of their numbers it is
// made of.
func (m *Search) behindTerm(s *eval.Scope, term string) *scored {
	if !m.isData(s, term) {
		return nil
	}
	names, next := []string{term}, []int{-1} // what is made of each
	for i := 0; i < len(names) && i < maxBehindTerm; i++ {
		n, at := s.Find(names[i])
		if n == nil || at != s || eval.Weighs(n) || eval.Is(n, eval.Normalization|eval.Attention) {
			continue
		}
		follow := n.Inputs
		if eval.Is(n, eval.Product) && len(n.Inputs) > 1 {
			operand := slices.IndexFunc(n.Inputs[:2], func(in string) bool { return !m.isData(s, in) })
			if operand < 0 {
				continue // of two that depend on data
			}
			b := &scored{scope: s, node: n, operand: operand, from: names[i], term: term, planar: m.graph.ImageInput() != nil}
			known, ok := m.ask(b)
			for k, tries := next[i], 0; !known && k >= 0 && tries < maxScalings && slices.Equal(s.Value(names[k]).Shape, s.Value(names[i]).Shape); k, tries = next[k], tries+1 { // by data, perhaps
				b.from = names[k]
				known, ok = m.ask(b)
			}
			switch {
			case ok:
				return m.vectors(b, m.origins)
			case !known:
				continue
			}
			follow = []string{n.Input(1 - operand)}
		}
		for _, in := range follow {
			if !slices.Contains(names, in) && m.isData(s, in) {
				names, next = append(names, in), append(next, i)
			}
		}
	}
	return nil
}

// ask is pairs, for as many products as a graph has that are worth it.
func (m *Search) ask(b *scored) (known, ok bool) {
	if m.asked++; m.asked > maxAsked {
		return false, false
	}
	return b.pairs()
}

// pairs reads which product a term has for each distance. It is not known where more than moving and scaling stands between, and ok is false where
// its elements are not those of distances.
func (b *scored) pairs() (known, ok bool) {
	made, product := b.scope.Value(b.term).Shape, b.scope.Value(b.from).Shape
	if !origin.Countable(product) || !origin.Countable(made) {
		return false, false
	}
	shapes := [][]int{made}
	if b.planar {
		shapes = append(shapes, rowsAndColumns(made, product)...)
	}
	for _, shape := range shapes {
		if known, ok = b.pairsIn(shape, product); ok || !known {
			break
		}
	}
	return known, ok
}

// rowsAndColumns are the shapes of scores whose last two axes are places of a grid, with rows and columns apart, which have the sizes of axes
// of a product.
func rowsAndColumns(made, product []int) (out [][]int) {
	k := len(made)
	if k < 2 || made[k-1] != made[k-2] {
		return nil
	}
	for i, columns := range product {
		if rows := made[k-1] / columns; columns > 1 && rows > 1 && rows*columns == made[k-1] && !slices.Contains(product[:i], columns) {
			out = append(out, append(slices.Clone(made[:k-2]), rows, columns, rows, columns))
		}
	}
	return out
}

// pairsIn is pairs of a term of a shape, in which queries have one axis and keys another.
func (b *scored) pairsIn(made, product []int) (known, ok bool) {
	for key := len(made) - 1; key > 0; key-- {
		for query := key - 1; query >= 0; query-- {
			queries, keys := made[query], made[key]
			if queries < 2 || keys < queries || queries == 2 && keys < 4 || queries*keys > maxPairs { // two queries share too few distances of three keys
				continue
			}
			taken := spread(queries)
			chosen := make([]int, len(taken)*keys) // of the first head
			for i := range chosen {
				chosen[i] = taken[i/keys]*onnx.Size(made[query+1:]) + i%keys*onnx.Size(made[key+1:])
			}
			b.scope.Spend(1 + len(chosen)/pairsAStep)
			at := origin.Moved(b.scope, b.from, b.term, chosen)
			if at == nil {
				return false, false
			}
			for own := range product {
				for free := range product {
					if own != free && (b.picks(at, product, own, free, taken, keys, keys-queries, false) || b.picks(at, product, own, free, taken, keys, keys-queries, true)) {
						b.count, b.along = product[free], b.alongOf(free)
						return true, true
					}
				}
			}
		}
	}
	return true, false
}

// spread are all of so many queries, or some of them, with the first and the last, between which all distances are.
func spread(queries int) (out []int) {
	step := max((queries-1)/(maxQueries-1), 1)
	for q := 0; q < queries-1; q += step {
		out = append(out, q)
	}
	return append(out, queries-1)
}

// picks reads which place along an axis of the product each distance has, where the place along another is that of the query or of the
// key. What pairs behind the last query have of other queries is masked.
func (b *scored) picks(at, product []int, own, free int, queries []int, keys, ahead int, byKey bool) bool {
	b.columns, b.byKey = map[int]int{}, byKey
	known := make([]int, len(queries))
	other := -1
	for i, from := range at {
		query, key := queries[i/keys], i%keys
		place := query
		if byKey {
			place = key
		}
		if from < 0 || coordinate(from, product, own) != place {
			continue
		}
		beside := from - (coordinate(from, product, own)*onnx.Size(product[own+1:]) + coordinate(from, product, free)*onnx.Size(product[free+1:]))
		column := coordinate(from, product, free)
		if have, seen := b.columns[key-ahead-query]; seen && have != column || other >= 0 && beside != other {
			return false
		}
		b.columns[key-ahead-query], other = column, beside
		known[i/keys]++
	}
	for i, n := range known {
		if n <= queries[i] { // fewer than those up to its own key
			return false
		}
	}
	different := map[int]bool{}
	for _, column := range b.columns {
		different[column] = true
	}
	return len(different) > 2
}

// coordinate is the place of element i along an axis.
func coordinate(i int, shape []int, axis int) int {
	return i / onnx.Size(shape[axis+1:]) % shape[axis]
}

// vectors says which rows of a constant the vectors are.
func (m *Search) vectors(b *scored, maps *origin.Maps) *scored {
	name := b.node.Input(b.operand)
	v, along := b.scope.Enlarge(name), b.along
	if along < 0 || along >= len(v.Shape) || v.Shape[along] != b.count {
		return nil
	}
	b.by = b.columns
	of := maps.Of(b.scope, name)
	if of == nil {
		return b
	}
	inner := onnx.Size(v.Shape[along+1:])
	for _, o := range slices.Concat(of.Of, of.ByRow) {
		b.weighed = slices.Contains(of.ByRow, o)
		elements := make([]int, b.count)
		for p := range elements {
			elements[p] = o.At[p*inner]
		}
		dims := o.Tensor.Dims
		if b.weighed {
			dims, b.axis = dims[o.Axis:o.Axis+1], o.Axis
		}
		axis := rows.OnlyAxis(dims, withRow(elements))
		if axis < 0 {
			continue
		}
		if !b.weighed {
			b.axis = axis
		}
		b.table, b.by = o.Tensor, map[int]int{}
		for distance, column := range b.columns {
			b.by[distance] = -1
			if elements[column] >= 0 && slices.ContainsFunc(vector(v, along, column), func(x float64) bool { return x != 0 }) {
				b.by[distance] = elements[column] / onnx.Size(dims[axis+1:]) % int(dims[axis])
			}
		}
		return b
	}
	return b
}

// withRow are the elements of constants among others.
func withRow(elements []int) []int {
	return slices.DeleteFunc(slices.Clone(elements), func(k int) bool { return k < 0 })
}

// alongOf is the axis of the vectors that becomes an axis of the product, −1 where it is not known.
func (b *scored) alongOf(free int) int {
	ranks := []int{len(b.scope.Input(b.node, 0).Shape), len(b.scope.Input(b.node, 1).Shape)}
	rank, n := ranks[b.operand], b.node
	if eval.Lookup(n.Domain, n.Op).Axes == eval.AxesEinsum {
		terms, right, ok := eval.Subscripts(n, ranks...)
		if !ok {
			return -1
		}
		return slices.Index([]byte(terms[b.operand]), right[free])
	}
	turned := n.Int([]string{"transA", "transB"}[b.operand], 0) == 1
	if last := b.operand == 1; last != turned {
		return rank - 1
	}
	return rank - 2
}

// Find is the site of the vectors; nil where there are none.
func (m *Search) Find() site.Site {
	found := m.products()
	if len(found) == 0 {
		return nil
	}
	b := found[0]
	if b.table != nil && !slices.ContainsFunc(found, func(o *scored) bool { return o.byKey != b.byKey }) && b.steps() {
		most, _ := b.sides()
		if far := m.scoredAt(b, most+2); far == nil || far.steps() {
			return m.scoredTable(b)
		}
	}
	if d := m.disentangled(); d != nil {
		return d
	}
	return m.scoredTable(b)
}

// steps reports whether rows follow one another with the distance, and those of the ends go on.
func (b *scored) steps() bool {
	zero, last := b.zero(), int(b.table.Dims[b.axis])-1
	for _, step := range []int{1, -1} {
		fits := true
		for distance, row := range b.by {
			fits = fits && (row < 0 || row == min(max(zero+step*distance, 0), last))
		}
		if fits {
			return true
		}
	}
	return false
}

// zero is the row of the distance 0, also where its vector is zero.
func (b *scored) zero() int {
	if row := b.by[0]; row >= 0 {
		return row
	}
	return (b.by[1] + b.by[-1]) / 2
}

// sides are the most distances to one side that have a row of their own, and the fewest to one that is seen.
func (b *scored) sides() (most, fewest int) {
	zero, last := b.zero(), int(b.table.Dims[b.axis])-1
	most, fewest = max(zero, last-zero), max(zero, last-zero)
	for distance, row := range b.by {
		switch {
		case row < 0 || distance == 0:
		case row < zero:
			fewest = min(fewest, zero)
		case row > zero:
			fewest = min(fewest, last-zero)
		}
	}
	return most, fewest
}

// in is the same product in another evaluation, without its table; nil where it is not known.
func (b *scored) in(e *eval.Evaluator) *scored {
	if b.scope.Index() < 0 || b.scope.Index() >= len(e.Scopes()) {
		return nil
	}
	again := &scored{scope: e.Scopes()[b.scope.Index()], node: b.node, operand: b.operand, from: b.from, term: b.term, planar: b.planar}
	if _, ok := again.pairs(); !ok {
		return nil
	}
	return again
}

// scoredAt is the same product at another length; nil where it is not known.
func (m *Search) scoredAt(b *scored, length int) *scored {
	e := m.graph.At(length)
	if e == m.graph.Eval {
		return nil
	}
	again := b.in(e)
	if again != nil {
		again = m.vectors(again, m.origins.Again(e))
	}
	if again == nil || again.table != b.table {
		return nil
	}
	return again
}

// Keeps refuses an evaluation of the graph, of as many positions and with more rows of a constant, in which a distance gets another vector than
// it had.
func (m *Search) Keeps(e *eval.Evaluator, table *onnx.Tensor) error {
	for _, b := range m.products() {
		now := b.in(e)
		if b.table != table || now == nil || now.along < 0 {
			continue
		}
		name := b.node.Input(b.operand)
		was, is := b.scope.Enlarge(name), now.scope.Enlarge(name)
		for distance, column := range b.columns {
			if !slices.Equal(vector(was, b.along, column), vector(is, now.along, now.columns[distance])) {
				return &position.Refusal{Why: fmt.Sprintf("with more rows of %q the graph would take others than it took: %s has another vector for a distance of %d", m.graph.TensorName(table), b.node.Title(), distance),
					Instead: "export the model for the wanted length"}
			}
		}
	}
	return nil
}

// vector are the numbers of a value at a place along an axis, nil where they are not known.
func vector(v *eval.Value, axis, place int) (out []float64) {
	inner := onnx.Size(v.Shape[axis+1:])
	for i := range v.Len() {
		if v.Known() && i/inner%v.Shape[axis] == place {
			out = append(out, v.Number(i))
		}
	}
	return out
}

// scoredTable describes vectors of distances: a table, of which the graph may take what a length needs, or what was folded for one.
func (m *Search) scoredTable(b *scored) site.Site {
	whose := "queries"
	if b.byKey {
		whose = "keys"
	}
	other := schemes.Other{Kind: report.SchemeRelativeTable}
	e := position.Encoding{Form: report.FormRuntime, Beyond: report.BeyondContinues, Scheme: other,
		Evidence: []report.Evidence{{Kind: "structure", Says: fmt.Sprintf("%s multiplies %s by vectors, and each pair gets the product with that of its distance", b.node.Title(), whose)}}}
	if b.table == nil {
		return site.NewOther(e)
	}
	e.Form, e.Where, e.Dtype = report.FormTable, []report.Where{m.graph.Where(b.table)}, b.table.Type.String()
	fixed := m.graph.FixedLength()
	most, fewest := b.sides()
	other.Rows = int(b.table.Dims[b.axis])
	seen, within := b.reach()
	folded := other.Rows == len(b.by) // for the pairs of one length
	if within < seen {                // zeros beyond
		most = within
		if folded {
			other.Rows = 2*within + 1
		}
	}
	if most < seen {
		other.MaxDistance = most
	}
	switch {
	case fixed > 0:
		e.Capacity, e.Beyond = fixed, report.BeyondError
		if folded {
			e.Form = report.FormBaked
		}
	case m.graph.ImageInput() != nil && m.graph.TokenMatrix() == nil && !m.graph.FreeImage(): // distances of a side of a picture of one size
		e.Capacity, e.Beyond = m.graph.PatchesWithin(other.Rows), report.BeyondError
	case other.MaxDistance > 0:
	default:
		if m.scoredAt(b, most+2) != nil {
			other.MaxDistance = most
		} else {
			e.Capacity, e.Beyond = fewest+1, report.BeyondWrong
			if m.graph.FailsAt(fewest+2) != nil {
				e.Beyond = report.BeyondError
			}
		}
	}
	e.Scheme = other
	if all, err := (rows.Table{Tensor: b.table, Axis: b.axis}).Matrix(); err == nil && !b.weighed && e.Form == report.FormBaked {
		if p, ok := fit.ProjectedSinusoid(all, widths(b.table.Dims, b.axis)); ok {
			e.Scheme = schemes.Other{Kind: report.SchemeRelativeSinusoid, Dim: p.Dim, Base: p.Base}
			e.Evidence = append(e.Evidence, report.Evidence{Kind: "fit", Says: "the vectors are sines and cosines of distances, multiplied by weights", Residual: site.Residual(p.Residual)})
			out := site.NewOther(e)
			out.Why = b.node.Title() + " takes the sines and cosines of distances as the export left them, multiplied by weights: those of further ones cannot be made from them"
			return out
		}
	}
	if slices.ContainsFunc(b.scope.Graph.Nodes, func(n *onnx.Node) bool { return picksByPair(b.scope, n) }) {
		return &Disentangled{Other: site.NewOther(e), graph: m.graph}
	}
	return site.NewOther(e)
}

// reach is how far the farthest pair that is seen is apart, and the farthest of which the vector is not zero.
func (b *scored) reach() (seen, within int) {
	for distance, row := range b.by {
		seen = max(seen, distance, -distance)
		if row >= 0 {
			within = max(within, distance, -distance)
		}
	}
	return seen, within
}

// widths are what the model's width may be by the dimensions of vectors that stand along
// an axis: that of all heads, with or without others.
func widths(dims []int64, along int) []int {
	out := []int{}
	for n, i := 1, len(dims)-1; i >= 0; i-- {
		if i != along {
			n *= int(dims[i])
			out = append(out, n)
		}
	}
	return out
}
