package bydistance

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/axes"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/onnxpos/rows"
	"github.com/modelpatch/modelpatch/position/onnxpos/site"
	"github.com/modelpatch/modelpatch/position/onnxpos/trace"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
	"github.com/modelpatch/modelpatch/schemes/fit"
)

// Fold reads the vectors of all pairs of a graph of one length, which stand in the file themselves, the table that they
// were looked up in being gone; nil where they follow from anything but the distance.
func Fold(graph *site.Graph, x axes.Meeting) *Distances {
	if graph.FixedLength() == 0 || graph.ImageInput() != nil {
		return nil
	}
	v := x.Scope.Enlarge(x.Known)
	if !v.Known() || v.Floats == nil || !v.Varies(x.Covers[0]) {
		return nil
	}
	graph.SpendElements(v.Len())
	r, ok := rows.ReadByDistance(v.Shape, v.Floats, x.Covers[0], x.Covers[1])
	if !ok {
		return nil
	}
	n := r.Places()
	e := position.Encoding{Form: report.FormBaked, Beyond: report.BeyondError, Capacity: n,
		Scheme:   seen(schemes.Other{Kind: report.SchemeRelativeTable, Dim: r.Dim()}, r),
		Evidence: []report.Evidence{{Kind: "structure", Says: fmt.Sprintf("%s multiplies the data with a vector for each of %d×%d pairs of positions", x.Node.Title(), n, n)}}}
	for _, src := range trace.Sources(x.Scope, x.Known) {
		if t := src.Tensor; t != nil && t.Type.IsFloat() {
			e.Where, e.Dtype = append(e.Where, graph.Where(t)), t.Type.String()
		}
	}
	return &Distances{Other: site.NewOther(e), graph: graph, vectors: []axes.Meeting{x}}
}

// JoinFolded makes the vectors of another layer, or of keys, part of the site, where it has such.
func (d *Distances) JoinFolded(other *Distances) {
	if len(d.vectors) == 0 {
		return
	}
	d.vectors = append(d.vectors, other.vectors...)
	for _, w := range other.Detected.Where {
		if !slices.ContainsFunc(d.Detected.Where, func(have report.Where) bool { return have.Tensor == w.Tensor && have.Node == w.Node }) {
			d.Detected.Where = append(d.Detected.Where, w)
		}
	}
}

// Vectors is a table with the rows that the graph makes for each pair, where they follow from the distance alone, of as many positions as
// show where they are clipped; false of others.
func Vectors(graph *site.Graph, x axes.Meeting) (other schemes.Other, ok bool) {
	if len(x.Covers) != 2 {
		return other, false
	}
	now := x.Scope.Value(x.Known)
	for _, length := range slices.Backward(Lengths) {
		if n := now.Shape[x.Covers[0]]; now.Len()/(n*n) > maxPairElements/(length*length) && length > n {
			break
		}
		v := graph.Longer(x.Scope, x.Known, length)
		if v == nil || !v.Known() || v.Floats == nil || len(v.Shape) != len(now.Shape) {
			break
		}
		graph.SpendElements(v.Len())
		r, follows := rows.ReadByDistance(v.Shape, v.Floats, x.Covers[0], x.Covers[1])
		if !follows {
			return other, false
		}
		other, ok = seen(schemes.Other{Kind: report.SchemeRelativeTable, Dim: r.Dim()}, r), true
		if v.IsMask(math.Inf(-1)) {
			other.Dim = 0 // which row each gets
		}
		if other.MaxDistance > 0 || graph.FixedLength() > 0 {
			return other, true
		}
		other.Rows = 0 // no end is seen
	}
	return other, ok
}

// maxPairElements bounds the numbers of pairs that are looked at for where distances are clipped.
const maxPairElements = 1 << 20

// seen is a table of distances with the rows that are seen between so many positions, and the distance at which they are
// clipped, where that is seen on both sides.
func seen(other schemes.Other, r *rows.ByDistance) schemes.Other {
	before, after := r.Reach()
	other.Rows, other.MaxDistance = before+after+1, 0
	if most := max(before, after); most < r.Places()-1 {
		other.MaxDistance = most
	}
	return other
}

// Folded reports whether the rows of all pairs, or their indices, are those of one length.
func (d *Distances) Folded() bool { return d.Detected.Capacity > 0 && d.graph.FixedLength() > 0 }

// Stored returns the table as it was stored: clipped where the length shows that.
func (d *Distances) Stored() schemes.Scheme { return d.stored }

// Store makes the rows of all pairs those of more or fewer positions, at the distances that there are rows for.
func (d *Distances) Store(want position.Want) error {
	other, ok := want.Scheme.(schemes.Other)
	if !ok || !other.Equal(d.Detected.Scheme) || !d.Folded() {
		return d.Other.Store(want)
	}
	d.stored = other
	if err := d.alone(); err != nil {
		return err
	}
	return d.fold(want.Positions, 0, fmt.Sprintf("distances of %d positions", want.Positions))
}

// fold puts what a graph of another length takes in the place of what is folded for one: the index of rows of each pair, or the
// rows themselves. most is the distance at which rows are to be clipped; 0: as they are.
func (d *Distances) fold(positions, most int, why string) error {
	d.Given = Given{}
	for _, t := range d.tables {
		most := most
		if _, zero, _, ok := d.indexed(t); ok && positions > 0 && 2*zero != t.rows()-1 {
			most = 0 // more rows to one side: the farthest are those of the ends as they are
		}
		if most > 0 {
			if err := d.resize(t, most, why); err != nil {
				return err
			}
		}
		if err := d.index(t, positions, most, why); err != nil {
			return err
		}
	}
	for _, x := range d.vectors {
		if err := d.pairs(x, positions, most, why); err != nil {
			return err
		}
	}
	d.most = most
	d.graph.RemoveUnread(why)
	return nil
}

// index puts the rows of each pair of so many positions in the place of those that a node looks up.
func (d *Distances) index(t *Lookup, positions, most int, why string) error {
	name, last := t.Index().Name, t.rows()-1
	if d.Given[name] != nil {
		return nil // layers share it
	}
	r, zero, step, ok := d.indexed(t)
	switch {
	case !ok || GatherAxis(t.Gather, t.Table) != 0 || len(t.Table.Dims) != 2:
		return &position.Refusal{Why: fmt.Sprintf("the rows that %s picks are not those of distances, one after another", t.Gather.Title()), Instead: "export the model again with the wanted distance"}
	case most > 0 && 2*zero != last:
		return &position.Refusal{Why: fmt.Sprintf("the %d rows that %s picks from are not those of as many distances before as behind", last+1, t.Gather.Title()), Instead: "export the model again with the wanted distance"}
	case !d.reads(t.Scope.Consumers(name)):
		return &position.Refusal{Why: fmt.Sprintf("the rows that %s picks are read by other nodes as well", t.Gather.Title()), Instead: "export the model again with the wanted distance"}
	case positions == 0:
		positions = r.Places()
	}
	if most > 0 {
		zero, last = most, 2*most
	}
	other := d.stored.(schemes.Other)
	other.Rows = last + 1
	if other.MaxDistance = 0; max(zero, last-zero) < positions-1 {
		other.MaxDistance = max(zero, last-zero)
	}
	d.stored = other
	shape, fill := r.Between(positions, func(distance int) []float64 {
		return []float64{float64(min(max(zero+step*distance, 0), last))}
	})
	return d.Put(d.graph, t.Scope, name, why, shape, fill)
}

// indexed reads the rows that a node looks up for each pair: that of the same position, and by how much it grows with the
// distance of the query from the key; false where rows are none of distances, one after another.
func (d *Distances) indexed(t *Lookup) (r *rows.ByDistance, zero, step int, ok bool) {
	v := t.Scope.Value(t.Index().Name)
	if r, ok = ReadIndex(v, len(v.Shape)-1); !ok || r.Dim() != 1 {
		return nil, 0, 0, false
	}
	zero, step, ok = Clipped(r, t.rows())
	return r, zero, step, ok
}

// ReadIndex reads whole numbers for each pair on two neighbouring axes, of whom the second is the given one; false where they
// do not depend on the distance alone.
func ReadIndex(v *eval.Value, axis int) (r *rows.ByDistance, ok bool) {
	if !v.Known() || v.Ints == nil || axis < 1 || axis >= len(v.Shape) {
		return nil, false
	}
	numbers := make([]float64, v.Len())
	for i, x := range v.Ints {
		numbers[i] = float64(x)
	}
	return rows.ReadByDistance(v.Shape, numbers, axis-1, axis)
}

// Clipped reports whether an index is a row that grows with the distance of the query from the key by step, 1 or −1, and is
// clipped at the ends of so many; zero is that of the same position.
func Clipped(r *rows.ByDistance, count int) (zero, step int, ok bool) {
	n := r.Places()
	row := make([]float64, r.Dim())
	_ = r.Row(n-1, row)
	zero = int(row[0])
	for _, step = range []int{1, -1} {
		ok = true
		for i := range r.Len() {
			_ = r.Row(i, row)
			want := float64(min(max(zero+step*(i+1-n), 0), count-1))
			ok = ok && !slices.ContainsFunc(row, func(x float64) bool { return x != want })
		}
		if ok {
			return zero, step, true
		}
	}
	return 0, 0, false
}

// SeenClipped reads the row of a pair of the same position off an index that is clipped at the ends of so many rows, of so many pairs that
// this is seen; false of others.
func SeenClipped(index *eval.Value, count int) (zero int, ok bool) {
	r, ok := ReadIndex(index, len(index.Shape)-1)
	if !ok || r.Dim() != 1 {
		return 0, false
	}
	zero, _, ok = Clipped(r, count)
	return zero, ok && r.Places() > max(zero, count-1-zero)+1
}

// Lengths are those at which indices are computed for a fit:
// the longest that the graph runs at, which a learned table beside may bound.
var Lengths = []int{300, 128, 64, 32, 16}

// settledLength is enough for most indices of so many rows: farther apart than T5's buckets reach (Raffel et al. 2020, §2.1: 128) all pairs
// have the last one.
const settledLength = 160

// isSettled reports whether an index has come to the last row for pairs that are far apart, and further ones have the same.
func isSettled(v *eval.Value, rows int) bool {
	if v == nil || !v.Known() || v.Ints == nil || len(v.Shape) < 2 {
		return false
	}
	k := len(v.Shape)
	queries, keys := v.Shape[k-2], v.Shape[k-1]
	if queries != keys || keys < settledLength || v.Len() < queries*keys {
		return false
	}
	before, after := v.Ints[(queries-1)*keys:][:keys/4], v.Ints[keys-keys/4:keys]
	same := func(x []int64) bool { return slices.Max(x) == slices.Min(x) }
	return same(before) && same(after) && max(before[0], after[0]) == int64(rows-1)
}

// LongestIndex computes an index of so many rows, 0 where that is not known, at a length at which it has come to the last one, else at the longest
// at which it is known; for a single query, at which there are as many keys.
func LongestIndex(graph *site.Graph, s *eval.Scope, name string, rows int) *eval.Value {
	if rows > 0 && rows < settledLength {
		if v := graph.Longer(s, name, settledLength); isSettled(v, rows) {
			return v
		}
	}
	for _, length := range Lengths {
		if v := graph.Longer(s, name, length); v != nil && v.Known() && v.Ints != nil && len(v.Shape) >= 2 && (v.Shape[len(v.Shape)-2] > 1 || v.Shape[len(v.Shape)-1] >= length) {
			return v
		}
	}
	return nil
}

// pairs puts the vectors of all pairs of so many positions in the place of those of one length.
func (d *Distances) pairs(x axes.Meeting, positions, most int, why string) error {
	v := x.Scope.Enlarge(x.Known)
	if d.Given[x.Known] != nil {
		return nil
	}
	refuse := func(why string) error {
		return &position.Refusal{Why: fmt.Sprintf("%s multiplies the data with vectors for the pairs of positions of one length%s", x.Node.Title(), why), Instead: "export the model again with the wanted configuration"}
	}
	if x.Scope != d.graph.Eval.Main {
		return refuse(", in a function or branch")
	}
	r, ok := rows.ReadByDistance(v.Shape, v.Floats, x.Covers[0], x.Covers[1])
	if !ok {
		return refuse(", not by their distance")
	}
	n := r.Places()
	before, after := r.Reach()
	switch {
	case positions == 0 && most >= max(before, after):
		return refuse(fmt.Sprintf(", of which those beyond a distance of %d are as the farthest already", max(before, after)))
	case positions <= n || max(before, after) < n-1:
	case min(before, after) < n-1:
		return refuse(fmt.Sprintf(": those of one direction are clipped at a distance of %d, and where those of the other are is not in the file", min(before, after)))
	case sines(r, v.Type):
		return refuse(": they are sines of the distance, and where that is clipped is not in the file")
	}
	if positions == 0 {
		positions = n
	}
	if most == 0 || most > n-1 {
		most = n - 1
	}
	read := func(distance int) []float64 {
		row := make([]float64, r.Dim())
		_ = r.Row(min(max(distance, -most), most)+n-1, row)
		return row
	}
	other := d.stored.(schemes.Other)
	clipped := func(reach int) int { return min(reach, most, positions-1) }
	other.Rows, other.MaxDistance = clipped(before)+clipped(after)+1, 0
	if far := max(clipped(before), clipped(after)); far < positions-1 {
		other.MaxDistance = far
	}
	d.stored = other
	shape, fill := r.Between(positions, read)
	return d.Put(d.graph, x.Scope, x.Known, why, shape, fill)
}

// sines reports whether the vectors of distances are sines of them by a formula.
func sines(r *rows.ByDistance, t onnx.DataType) bool {
	n := r.Places()
	_, ok := fit.AdditiveTable(fit.Func(n, r.Dim(), func(i, c int) float64 {
		row := make([]float64, r.Dim())
		_ = r.Row(i+n-1, row)
		return row[c]
	}), rows.Precision(t))
	return ok
}

// Given are values of the main graph in whose place constants stand: without content, for the evaluator.
type Given map[string]*eval.Value

// Put puts a constant in the place of a value, of a shape and content.
func (g Given) Put(graph *site.Graph, s *eval.Scope, name, why string, shape []int, fill rows.FillFunc) error {
	made := eval.Shaped(s.Value(name).Type, shape...)
	like := &onnx.Tensor{Type: made.Type}
	if !rows.FitsBuffer(like, shape...) {
		return &position.Refusal{Why: fmt.Sprintf("a constant of %v would be more than the 2 GiB that a file can have", shape), Instead: "a lesser length"}
	}
	data, err := rows.Stream(like, int64(made.Len()), fill)
	if err != nil {
		return err
	}
	g[name] = made
	return graph.Substitute(s, name, made, data, "modelpatch/by_distance", why)
}

// Override tells an evaluator of the values: their shapes.
func (g Given) Override(into map[string]*eval.Value) { maps.Copy(into, g) }
