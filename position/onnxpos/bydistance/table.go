// Package bydistance holds tables with a row for each distance of query and key, in graphs of text: how rows are looked up
// by distance, and how tables and lookups are given another reach or, where they are folded for one length, other positions.
package bydistance

import (
	"fmt"
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/axes"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/onnxpos/site"
	"github.com/modelpatch/modelpatch/position/onnxpos/trace"
	"github.com/modelpatch/modelpatch/schemes"
)

// Distances is a table with a row for each distance in text, clipped or not: of vectors that
// queries and keys are multiplied with (Shaw et al. 2018, eq. 3; BERT's relative_key), or of a
// bias a head. It stands for those of all layers that have as many rows.
type Distances struct {
	*site.Other
	graph   *site.Graph
	tables  []*Lookup
	vectors []axes.Meeting // in place of tables: where the rows themselves stand in the file, one for each pair
	most    int            // the reach that ResizeDistances gave; 0: as in the file
	Given                  // what stands in the place of values of one length
	stored  schemes.Scheme // after Store or ResizeDistances
}

// Lookup is a table of which rows go to the pairs of queries and keys.
type Lookup struct {
	Table *onnx.Tensor
	// Gather is the node that picks the rows, and Scope where it stands; nil where several
	// nodes do.
	Gather *onnx.Node
	Scope  *eval.Scope
}

// axis is that of the table along which its rows stand.
func (l *Lookup) axis() int {
	if l.Gather == nil {
		return 0
	}
	return GatherAxis(l.Gather, l.Table)
}

// rows is how many the table has.
func (l *Lookup) rows() int { return int(l.Table.Dims[l.axis()]) }

// Index is where the node that picks rows is given their numbers.
func (l *Lookup) Index() trace.Index { return trace.IndexOf(l.Scope, l.Gather) }

// Owned are the tables.
func (d *Distances) Owned() (owned []*onnx.Tensor) {
	for _, t := range d.tables {
		owned = append(owned, t.Table)
	}
	return owned
}

// Join makes the table of another layer part of the site, where it has as many rows.
func (d *Distances) Join(other *Lookup) {
	alike := other.Table != nil && (len(d.tables) == 0 || len(other.Table.Dims) == 2 && other.rows() == d.Detected.Scheme.(schemes.Other).Rows)
	if alike && len(d.vectors) == 0 && !slices.ContainsFunc(d.tables, func(l *Lookup) bool { return l.Gather == other.Gather }) {
		d.tables = append(d.tables, other)
	}
}

// IsTwin reports whether a site is of other tables with the same rows for the same distances, of the same positions.
func (d *Distances) IsTwin(s site.Site) bool {
	o, ok := s.(*Distances)
	return ok && len(d.tables) > 0 && len(o.tables) > 0 && o.Detected.Scheme.Equal(d.Detected.Scheme) && o.Detected.Capacity == d.Detected.Capacity && o.Detected.Beyond == d.Detected.Beyond &&
		slices.Equal(o.tables[0].Table.Dims, d.tables[0].Table.Dims) && d.alongSame(o.tables[0], d.tables[0])
}

// alongSame reports whether two tables are of the positions of one sequence, where a graph takes several.
func (d *Distances) alongSame(a, b *Lookup) bool {
	e, ok := d.graph.Apart()
	if !ok || e == nil {
		return ok
	}
	if a.Gather == nil || b.Gather == nil || a.Scope != d.graph.Eval.Main || b.Scope != d.graph.Eval.Main {
		return false
	}
	return slices.Equal(e.Main.Output(a.Gather, 0).Shape, e.Main.Output(b.Gather, 0).Shape)
}

// JoinTwin makes the tables of a twin part of the site.
func (d *Distances) JoinTwin(twin *Distances) {
	d.tables = append(d.tables, twin.tables...)
	d.Detected.Where = append(d.Detected.Where, twin.Detected.Where...)
}

// ResizeDistances makes the graph clip distances at another one, and the tables have a row for
// each: those beyond the old reach repeat the farthest, those beyond the new one go.
func (d *Distances) ResizeDistances(most, positions int) error {
	why := fmt.Sprintf("a row for each distance up to %d", most)
	if err := d.alone(); err != nil {
		return err
	}
	other := d.Detected.Scheme.(schemes.Other)
	other.Rows, other.MaxDistance = 2*most+1, most
	d.stored = other
	if d.Folded() {
		return d.fold(positions, most, why)
	}
	for _, t := range d.tables {
		relative, turned, err := d.reach(t)
		if err != nil {
			return err
		}
		if err := d.resize(t, most, why); err != nil {
			return err
		}
		l := &Index{In: d.graph, Graph: t.Gather.Graph, At: relative, Why: why}
		if turned {
			l.Negate()
		}
		l.Step("Min", l.Constant("modelpatch/farthest", int64(most)))
		l.Step("Max", l.Constant("modelpatch/farthest_behind", int64(-most)))
		l.Step("Add", l.Constant("modelpatch/before", int64(most)))
		index := t.Index()
		d.graph.InsertNodes(index.Node, l.Nodes, why)
		d.graph.RenameInput(index.Node, index.Input, l.At, why)
	}
	d.graph.RemoveUnread(why)
	d.most = most
	return nil
}

// alone refuses tables that are not read by one node each, in the main graph.
func (d *Distances) alone() error {
	for _, t := range d.tables {
		why := ""
		switch {
		case t.Gather == nil:
			why = fmt.Sprintf("no single node picks the rows of %q by distance", d.graph.TensorName(t.Table))
		case t.Scope != d.graph.Eval.Main:
			why = fmt.Sprintf("%s stands in a function or branch", t.Gather.Title())
		case !d.reads(t.Scope.Consumers(t.Gather.Input(0))):
			why = fmt.Sprintf("the table of %s is read by other nodes as well", t.Gather.Title())
		default:
			continue
		}
		return &position.Refusal{Why: why, Instead: "export the model again with the wanted distance"}
	}
	return nil
}

// reads reports whether nodes are no others than those that pick rows of the tables, or give these their numbers.
func (d *Distances) reads(nodes []*onnx.Node) bool {
	return !slices.ContainsFunc(nodes, func(n *onnx.Node) bool {
		return !slices.ContainsFunc(d.tables, func(t *Lookup) bool { return t.Gather != nil && (t.Gather == n || t.Index().Node == n) })
	})
}

// Overlay tells an evaluator of the new tables' shape.
func (d *Distances) Overlay(into map[*onnx.Tensor]*eval.Value) {
	if d.most == 0 {
		return
	}
	for _, t := range d.tables {
		shape := []int{int(t.Table.Dims[0]), int(t.Table.Dims[1])}
		shape[t.axis()] = 2*d.most + 1
		into[t.Table] = eval.Shaped(t.Table.Type, shape...)
	}
}

// resize gives a table rows for distances from −most to most.
func (d *Distances) resize(l *Lookup, most int, why string) error {
	t := l.Table
	if d.graph.Replaced(t) { // of several nodes
		return nil
	}
	dims, rows := slices.Clone(t.Dims), int64(l.rows())
	old, inner := (rows-1)/2, int64(onnx.Size(t.Dims[l.axis()+1:]))
	values, err := t.Floats(0, t.Len())
	if err != nil {
		return err
	}
	var out []float64
	for head := int64(0); head < t.Len(); head += rows * inner {
		for j := -int64(most); j <= int64(most); j++ {
			row := head + (min(max(j, -old), old)+old)*inner
			out = append(out, values[row:row+inner]...)
		}
	}
	dims[l.axis()] = 2*int64(most) + 1
	return d.graph.ReplaceFloats(t, dims, out, why)
}

// reach finds the value behind a lookup that is the distance of query and key, and whether rows
// count against it. It refuses a table whose rows are not those of the distances −n to n.
func (d *Distances) reach(t *Lookup) (relative string, turned bool, err error) {
	instead := "export the model again with the wanted distance"
	if v := d.graph.File.Opsets[""]; v < OpsetMinInts {
		return "", false, &position.Refusal{Why: fmt.Sprintf("the graph is of opset %d, and what limits whole numbers exists from %d on", v, OpsetMinInts), Instead: "export the model with a newer opset"}
	}
	if len(t.Table.Dims) != 2 {
		return "", false, &position.Refusal{Why: fmt.Sprintf("%s takes no rows of a table of two dimensions", t.Gather.Title()), Instead: instead}
	}
	index := t.Index().Name
	relative, _ = RelativePositions(t.Scope, index)
	if relative == "" {
		return "", false, &position.Refusal{Why: fmt.Sprintf("no node behind %s computes the distances of queries and keys alone", t.Gather.Title()), Instead: instead}
	}
	rows := t.rows()
	old := (rows - 1) / 2
	distances, picked := d.graph.Longer(t.Scope, relative, rows+2), d.graph.Longer(t.Scope, index, rows+2)
	if distances == nil || picked == nil || distances.Ints == nil || picked.Ints == nil || len(distances.Ints) != len(picked.Ints) {
		distances, picked = t.Scope.Value(relative), t.Scope.Value(index)
	}
	straight, against := rows%2 == 1, rows%2 == 1
	for i, r := range distances.Ints {
		within := min(max(int(r), -old), old)
		picks := int(picked.Ints[i])
		if int(r) != within && (picks < 0 || picks >= rows) {
			continue // an index that no row has: not clipped
		}
		straight = straight && picks == old+within
		against = against && picks == old-within
	}
	if !straight && !against {
		return "", false, &position.Refusal{Why: fmt.Sprintf("the %d rows that %s picks from are not those of as many distances before as behind", rows, t.Gather.Title()), Instead: instead}
	}
	return relative, !straight, nil
}

// New makes a site of a table of distances that are not a picture's.
func New(graph *site.Graph, found *site.Other, l *Lookup) *Distances {
	d := &Distances{Other: found, graph: graph}
	if d.Join(l); l.Gather == nil {
		return d
	}
	for _, n := range l.Scope.Consumers(l.Gather.Input(0)) { // layers may share the table
		if trace.IndexOf(l.Scope, n).Node != nil && n.Input(0) == l.Gather.Input(0) {
			d.Join(&Lookup{Scope: l.Scope, Gather: n, Table: l.Table})
		}
	}
	return d
}
