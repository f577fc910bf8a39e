package scored

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
	"github.com/modelpatch/modelpatch/schemes"
	"github.com/modelpatch/modelpatch/schemes/fit"
)

// Disentangled are scores against a table of distances, of which a node picks one for each pair: those of DeBERTa (He et al. 2021), or of a
// plain table by distance, whose indices are put anew alike. They are picked by distance,
// clipped at the ends of the table, or by its bucket.
type Disentangled struct {
	*site.Other
	bydistance.Given // indices that are folded for one length, put anew
	graph            *site.Graph
	stored           schemes.Scheme
	cut              map[*onnx.Tensor]*eval.Value // tables of which the graph cuts as many rows out of the middle as a length needs: as they become
}

// Folded reports whether the columns of all pairs stand in the file, for one length.
func (d *Disentangled) Folded() bool { return d.Detected.Capacity > 0 && d.graph.FixedLength() > 0 }

// Stored returns the encoding as it was stored.
func (d *Disentangled) Stored() schemes.Scheme { return d.stored }

// Store makes the columns of all pairs those of more or fewer positions.
func (d *Disentangled) Store(want position.Want) error {
	if other, ok := want.Scheme.(schemes.Other); !ok || !other.Equal(d.Detected.Scheme) || !d.Folded() {
		return d.Other.Store(want)
	}
	return d.fold(want.Positions)
}

// ResizeDistances makes the columns of all pairs those of so many positions, where distances beyond the table's ends have the
// farthest row.
func (d *Disentangled) ResizeDistances(most, positions int) error {
	switch {
	case positions > 0 && !d.Folded() && d.Detected.Capacity > 0:
		return d.lengthen(positions)
	case positions == 0 || !d.Folded():
		return &position.Refusal{Why: "scores against a table of distances are picked by pair, and the reach of that table is not changed", Instead: "export the model again with the wanted distance"}
	}
	return d.fold(positions)
}

// fold puts indices of so many positions in the place of those that are folded for one length.
func (d *Disentangled) fold(positions int) error {
	why := fmt.Sprintf("distances of %d positions", positions)
	d.Given = bydistance.Given{}
	s := d.graph.Eval.Main
	for _, n := range s.Graph.Nodes {
		name := n.Input(1)
		if !picksByPair(s, n) || d.Given[name] != nil {
			continue
		}
		refuse := func(why string) error {
			return &position.Refusal{Why: fmt.Sprintf("%s picks scores of the pairs of one length: %s", n.Title(), why), Instead: "export the model again with a free sequence length, or for this length"}
		}
		v := s.Value(name)
		columns := s.Value(n.Input(0)).Shape
		r, ok := bydistance.ReadIndex(v, len(PickedPairs(s, n)(v).Shape)-1)
		if !ok {
			return refuse("not by their distance")
		}
		if slices.ContainsFunc(s.Consumers(name), func(reader *onnx.Node) bool { return !picksByPair(s, reader) }) {
			return refuse("other nodes read which")
		}
		picked, unknown := columnsByDistance(r, columns[len(columns)-1], positions)
		if unknown > 0 {
			return refuse(fmt.Sprintf("the file does not say which column a distance of %d has", unknown))
		}
		shape, fill := r.Between(positions, func(distance int) []float64 {
			row := make([]float64, r.Dim())
			for i := range row {
				row[i] = float64(picked(distance))
			}
			return row
		})
		if err := d.Put(d.graph, s, name, why, shape, fill); err != nil {
			return err
		}
	}
	d.graph.RemoveUnread(why)
	other := d.Detected.Scheme.(schemes.Other)
	if other.MaxDistance == 0 && positions > other.Rows/2+1 {
		other.MaxDistance = other.Rows / 2 // it is seen now
	}
	d.stored = other
	return nil
}

// columnsByDistance reads which column a distance has off those between fewer positions or more: distances that are clipped where
// they were seen to have columns of their own farther than buckets have; else DeBERTa's buckets, as far as all largest
// distances that explain the columns agree. unknown is the nearest distance of which they do not.
func columnsByDistance(r *rows.ByDistance, count, positions int) (column func(distance int) int, unknown int) {
	within := func(x int) int { return min(max(x, 0), count-1) }
	seen := r.Places() - 1
	zero, step, linear := bydistance.Clipped(r, count)
	if linear && (seen > count/4 || positions-1 <= count/4) {
		return func(distance int) int { return within(zero + step*distance) }, 0
	}
	numbers := make([]int, r.Len())
	row := make([]float64, r.Dim())
	for i := range numbers {
		_ = r.Row(i, row)
		numbers[i] = int(row[0])
	}
	for _, far := range fit.UsualDistances(count, count/4) {
		for _, sign := range []int{1, -1} {
			reading := func(distance int) int { return within(schemes.DebertaBucket(sign*distance, count/2, far) + count/2) }
			fits := true
			for i, x := range numbers {
				fits = fits && x == reading(i-seen)
			}
			switch {
			case !fits:
			case column == nil:
				column = reading
			default:
				for d := seen + 1; d < positions; d++ {
					if column(d) != reading(d) || column(-d) != reading(-d) {
						positions, unknown = d, d
					}
				}
			}
		}
	}
	if column == nil {
		unknown = max(seen, 1)
	}
	return column, unknown
}

// middle finds the table of a number of rows behind scores of which the graph cuts some out of the middle; nil where there
// is none.
func middle(s *eval.Scope, n *onnx.Node, rows int) *onnx.Tensor {
	for _, src := range trace.Sources(s, n.Input(0)) {
		if src.Tensor != nil && src.Indexed != nil && src.Indexed.Op == "Slice" && src.Axis == 0 && len(src.Tensor.Dims) == 2 && int(src.Tensor.Dims[0]) == rows {
			return src.Tensor
		}
	}
	return nil
}

// lengthen gives tables that are cut from the middle rows for so many positions: farther distances have the farthest row. The
// numbers from which the graph counts the cut follow with the length.
func (d *Disentangled) lengthen(positions int) error {
	why := fmt.Sprintf("rows for %d positions in both directions", positions)
	old := d.Detected.Capacity
	s := d.graph.Eval.Main
	d.cut = map[*onnx.Tensor]*eval.Value{}
	for _, n := range s.Graph.Nodes {
		if !picksByPair(s, n) {
			continue
		}
		t := middle(s, n, 2*old)
		if t == nil {
			return &position.Refusal{Why: fmt.Sprintf("%s picks scores against another table than one of %d rows", n.Title(), 2*old), Instead: "export the model again for this length"}
		}
		if d.cut[t] != nil {
			continue
		}
		width := t.Dims[1]
		values, err := t.Floats(0, t.Len())
		if err != nil {
			return err
		}
		var rows []float64
		for i := -positions; i < positions; i++ {
			row := int64(min(max(i, -old), old-1) + old)
			rows = append(rows, values[row*width:(row+1)*width]...)
		}
		if err := d.graph.ReplaceFloats(t, []int64{2 * int64(positions), width}, rows, why); err != nil {
			return err
		}
		d.cut[t] = eval.Shaped(t.Type, 2*positions, int(width))
	}
	other := d.Detected.Scheme.(schemes.Other)
	if other.Rows, other.MaxDistance = 2*positions, positions; other.Buckets > 0 {
		other.Buckets = positions
	}
	d.stored = other
	return nil
}

// Overlay tells an evaluator of the shapes of tables that were made longer.
func (d *Disentangled) Overlay(into map[*onnx.Tensor]*eval.Value) { maps.Copy(into, d.cut) }

// Follows refuses a graph that does not take the whole of tables that were made longer, which the new length needs, or picks others
// than the rows of distances.
func (d *Disentangled) Follows(e *eval.Evaluator) error {
	for t, now := range d.cut {
		for _, n := range d.graph.Eval.Main.Graph.Nodes {
			if s := d.graph.Eval.Main; !picksByPair(s, n) || middle(s, n, int(t.Dims[0])) != t {
				continue
			}
			index := e.Main.Value(n.Input(1))
			r, ok := bydistance.ReadIndex(index, len(PickedPairs(e.Main, n)(index).Shape)-1)
			zero := 0
			if ok {
				zero, _, ok = bydistance.Clipped(r, now.Shape[0])
			}
			if columns := e.Main.Value(n.Input(0)).Shape; !ok || columns[len(columns)-1] != now.Shape[0] || 2*zero != now.Shape[0] {
				return &position.Refusal{Why: fmt.Sprintf("%s does not take the rows of the new length out of the middle of the table", n.Title()), Instead: "export the model again for this length"}
			}
		}
	}
	return nil
}
