package relative

import (
	"fmt"
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/onnxpos/bydistance"
	"github.com/modelpatch/modelpatch/position/onnxpos/rows"
	"github.com/modelpatch/modelpatch/position/onnxpos/site"
	"github.com/modelpatch/modelpatch/schemes"
	"github.com/modelpatch/modelpatch/schemes/fit"
)

// Disentangled are scores against a table of distances, of which each pair gets one (DeBERTa, He et al. 2021): by its distance,
// clipped at the ends of the table, or by its bucket.
type Disentangled struct {
	*site.Other
	bydistance.Given // indices that are folded for one length, put anew
	graph            *site.Graph
	stored           schemes.Scheme
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
	if positions == 0 || !d.Folded() {
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
