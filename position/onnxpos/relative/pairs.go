package relative

import (
	"fmt"
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position/onnxpos/bydistance"
	"github.com/modelpatch/modelpatch/position/onnxpos/origin"
	"github.com/modelpatch/modelpatch/position/onnxpos/rows"
	"github.com/modelpatch/modelpatch/position/onnxpos/site"
	"github.com/modelpatch/modelpatch/position/onnxpos/trace"
)

// lookups finds the tables of which rows go to pairs of positions.
type lookups struct {
	graph   *site.Graph
	origins *origin.Maps
}

// picked is a table of which a row goes to each pair of a query and a key.
type picked struct {
	bydistance.Lookup
	axis  int         // of the table, along which rows stand
	index *eval.Value // the row by query and key, on its last two axes; nil: not known
	says  string      // how rows are picked
	// at is index among so many positions; nil where it is not known.
	at func(length int) *eval.Value
}

// byPair reports whether every pair of positions has a row of its own, which says nothing of distances: as coordinates do of which a
// network makes biases.
func (p *picked) byPair() bool {
	if p.index == nil || !p.index.Known() || p.index.Len() < 9 || p.index.Len() > p.rows() {
		return false
	}
	seen := map[int64]bool{}
	for _, row := range p.index.Ints {
		seen[row] = true
	}
	return len(seen) == p.index.Len()
}

// rows is how many the table has.
func (p *picked) rows() int { return int(p.Table.Dims[p.axis]) }

// gathered finds the table behind a value that a Gather picks rows of by pair.
func (m *lookups) gathered(s *eval.Scope, name string) *picked {
	n, at := trace.RelativeGather(s, name)
	if n == nil {
		return nil
	}
	table, index := trace.Stored(at, n.Input(0)), trace.IndexOf(at, n).Name
	return &picked{Lookup: bydistance.Lookup{Table: table, Gather: n, Scope: at}, axis: bydistance.GatherAxis(n, table), index: at.Value(index),
		says: n.Title() + " picks a row by the difference of positions",
		at:   func(length int) *eval.Value { return m.graph.Further(at, index, length) }}
}

// pairs reads off the origins of a value which row of a constant goes to each query and
// key, which lie on the given axes of the value. It returns nil where that is no row of one.
func (m *lookups) pairs(s *eval.Scope, name string, query, key int) *picked {
	at := func(maps *origin.Maps, scope *eval.Scope) *picked {
		of := maps.Of(scope, name)
		if of == nil || len(of.Value.Shape) <= max(query, key) {
			return nil
		}
		for _, o := range slices.Concat(of.Of, of.ByRow) {
			if axis, index := rowsByPair(o, of.Value, query, key, slices.Contains(of.ByRow, o)); index != nil {
				return &picked{Lookup: bydistance.Lookup{Table: o.Tensor}, axis: axis, index: index}
			}
		}
		return nil
	}
	p := at(m.origins, s)
	if p == nil {
		return nil
	}
	p.says = fmt.Sprintf("a row of %q goes to each pair of positions, by their difference", m.graph.TensorName(p.Table))
	p.at = func(length int) *eval.Value {
		e := m.graph.At(length)
		if e == m.graph.Eval || s.Index() < 0 || s.Index() >= len(e.Scopes()) {
			return nil
		}
		longer := at(m.origins.Again(e), e.Scopes()[s.Index()])
		if longer == nil || longer.Table != p.Table || longer.axis != p.axis {
			return nil
		}
		return longer.index
	}
	return p
}

// rowsByPair is the row of a constant for each query and key, and the axis along which rows
// stand; nil where elements of other axes of the value lie in other rows.
func rowsByPair(o *origin.Origin, v *eval.Value, query, key int, byRow bool) (axis int, index *eval.Value) {
	queries, keys := v.Shape[query], v.Shape[key]
	element := make([]int, queries*keys)
	for i := range element {
		element[i] = -1
	}
	pair := rows.PairOf(v.Shape, query, key)
	dims, axis := o.Tensor.Dims, o.Axis
	if byRow {
		dims, axis = []int64{dims[o.Axis]}, 0
	}
	for i, k := range o.At {
		if p := pair(i); k >= 0 && element[p] < 0 {
			element[p] = k
		}
	}
	if slices.Contains(element, -1) {
		return 0, nil
	}
	if !byRow {
		if axis = rows.OnlyAxis(dims, element); axis < 0 {
			return 0, nil
		}
	}
	inner := onnx.Size(dims[axis+1:])
	row := func(k int) int64 { return int64(k/inner) % dims[axis] }
	ints := make([]int64, len(element))
	for i, k := range element {
		ints[i] = row(k)
	}
	for i, k := range o.At {
		if k >= 0 && row(k) != ints[pair(i)] {
			return 0, nil
		}
	}
	if byRow {
		axis = o.Axis
	}
	return axis, eval.IntValue(onnx.Int64, []int{queries, keys}, ints)
}

// sliced is a constant with a bias for each head, query and key of which the graph takes as many as a length
// needs; nil where a value's origins are none.
func (m *lookups) sliced(s *eval.Scope, name string) *onnx.Tensor {
	of := m.origins.Of(s, name)
	if of == nil || len(of.Of) != 1 || !of.Of[0].Whole() {
		return nil
	}
	o, shape := of.Of[0], of.Value.Shape
	k, d := len(shape), len(o.Tensor.Dims)
	if k < 2 || d < 2 || o.Scale != nil || int(o.Tensor.Dims[d-1]) <= shape[k-1] || int(o.Tensor.Dims[d-2]) <= shape[k-2] {
		return nil
	}
	row := int(o.Tensor.Dims[d-1])
	for i, at := range o.At {
		if key, query := i%shape[k-1], i/shape[k-1]%shape[k-2]; at%row != key || at/row%int(o.Tensor.Dims[d-2]) != query {
			return nil
		}
	}
	return o.Tensor
}
