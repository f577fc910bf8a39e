package relative

import (
	"fmt"
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/patch"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/onnxpos/site"
	"github.com/modelpatch/modelpatch/schemes"
)

// Distances is a table with a row for each distance in text, clipped or not: of vectors that
// queries and keys are multiplied with (Shaw et al. 2018, eq. 3; BERT's relative_key), or of a
// bias a head. It stands for those of all layers that have as many rows.
type Distances struct {
	*site.Other
	graph  *site.Graph
	tables []*picked
	most   int // the reach that ResizeDistances gave; 0: as in the file
}

// join makes the table of another layer part of the site.
func (d *Distances) join(other *picked) {
	if !slices.ContainsFunc(d.tables, func(l *picked) bool { return l.gather == other.gather }) {
		d.tables = append(d.tables, other)
	}
}

// ResizeDistances makes the graph clip distances at another one, and the tables have a row for
// each: those beyond the old reach repeat the farthest, those beyond the new one go.
func (d *Distances) ResizeDistances(most int) error {
	why := fmt.Sprintf("a row for each distance up to %d", most)
	for _, t := range d.tables {
		if t.gather == nil {
			return &position.Refusal{Why: fmt.Sprintf("no single node picks the rows of %q by distance", d.graph.TensorName(t.table)), Instead: "export the model again with the wanted distance"}
		}
		if t.scope != d.graph.Eval.Main {
			return &position.Refusal{Why: fmt.Sprintf("%s stands in a function or branch", t.gather.Title()), Instead: "export the model again with the wanted distance"}
		}
		if readers := t.scope.Consumers(t.gather.Input(0)); slices.ContainsFunc(readers, func(n *onnx.Node) bool {
			return !slices.ContainsFunc(d.tables, func(l *picked) bool { return l.gather == n })
		}) {
			return &position.Refusal{Why: fmt.Sprintf("the table of %s is read by other nodes as well", t.gather.Title()), Instead: "export the model again with the wanted distance"}
		}
	}
	done := map[*onnx.Tensor]bool{}
	for _, t := range d.tables {
		relative, turned, err := d.reach(t)
		if err != nil {
			return err
		}
		if !done[t.table] {
			if err := d.resize(t.table, most, why); err != nil {
				return err
			}
			done[t.table] = true
		}
		l := &lookup{m: d.graph, graph: t.gather.Graph, at: relative, why: why}
		if turned {
			l.negate()
		}
		l.step("Min", l.constant("modelpatch/farthest", int64(most)))
		l.step("Max", l.constant("modelpatch/farthest_behind", int64(-most)))
		l.step("Add", l.constant("modelpatch/before", int64(most)))
		d.graph.InsertNodes(t.gather, l.nodes, why)
		d.graph.RenameInput(t.gather, 1, l.at, why)
	}
	d.graph.RemoveUnread(why)
	d.most = most
	return nil
}

// Overlay tells an evaluator of the new tables' shape.
func (d *Distances) Overlay(into map[*onnx.Tensor]*eval.Value) {
	if d.most == 0 {
		return
	}
	for _, t := range d.tables {
		into[t.table] = eval.Shaped(t.table.Type, 2*d.most+1, int(t.table.Dims[1]))
	}
}

// resize gives a table rows for distances from −most to most.
func (d *Distances) resize(t *onnx.Tensor, most int, why string) error {
	rows, width := t.Dims[0], t.Dims[1]
	old := (rows - 1) / 2
	values, err := t.Floats(0, rows*width)
	if err != nil {
		return err
	}
	var out []float64
	for j := -int64(most); j <= int64(most); j++ {
		row := min(max(j, -old), old) + old
		out = append(out, values[row*width:(row+1)*width]...)
	}
	data, err := onnx.EncodeFloats(t.Type, out, nil)
	if err != nil {
		return &position.Refusal{Why: fmt.Sprintf("the table is stored as %s, which other rows cannot be", t.Type)}
	}
	return d.graph.Replace(t, []int64{2*int64(most) + 1, width}, patch.Bytes(data), why)
}

// reach finds the value behind a lookup that is the distance of query and key, and whether rows
// count against it. It refuses a table whose rows are not those of the distances −n to n.
func (d *Distances) reach(t *picked) (relative string, turned bool, err error) {
	instead := "export the model again with the wanted distance"
	if v := d.graph.File.Opsets[""]; v < opsetMinInts {
		return "", false, &position.Refusal{Why: fmt.Sprintf("the graph is of opset %d, and what limits whole numbers exists from %d on", v, opsetMinInts), Instead: "export the model with a newer opset"}
	}
	if gatherAxis(t.gather, t.table) != 0 || len(t.table.Dims) != 2 {
		return "", false, &position.Refusal{Why: fmt.Sprintf("%s takes no rows of a table of two dimensions", t.gather.Title()), Instead: instead}
	}
	relative, _ = relativePositions(t.scope, t.gather.Input(1))
	if relative == "" {
		return "", false, &position.Refusal{Why: fmt.Sprintf("no node behind %s computes the distances of queries and keys alone", t.gather.Title()), Instead: instead}
	}
	rows := int(t.table.Dims[0])
	old := (rows - 1) / 2
	distances, picked := d.graph.Longer(t.scope, relative, rows+2), d.graph.Longer(t.scope, t.gather.Input(1), rows+2)
	if distances == nil || picked == nil || distances.Ints == nil || picked.Ints == nil || len(distances.Ints) != len(picked.Ints) {
		distances, picked = t.scope.Value(relative), t.scope.Value(t.gather.Input(1))
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
		return "", false, &position.Refusal{Why: fmt.Sprintf("the %d rows that %s picks from are not those of as many distances before as behind", rows, t.gather.Title()), Instead: instead}
	}
	return relative, !straight, nil
}

// inText makes a site of a table of distances that are not a picture's.
func inText(graph *site.Graph, found *site.Other, l *picked) *Distances {
	d := &Distances{Other: found, graph: graph, tables: []*picked{l}}
	if l.gather == nil {
		return d
	}
	for _, n := range l.scope.Consumers(l.gather.Input(0)) { // layers may share the table
		if n.Op == "Gather" && n.Input(0) == l.gather.Input(0) {
			d.join(&picked{scope: l.scope, gather: n, table: l.table})
		}
	}
	return d
}

// alike reports whether a table of distances belongs with another: of as many rows.
func (d *Distances) alike(l *picked) bool {
	return l.table != nil && len(l.table.Dims) == 2 && l.table.Dims[0] == int64(d.Detected.Scheme.(schemes.Other).Rows)
}
