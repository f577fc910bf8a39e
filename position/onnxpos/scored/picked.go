package scored

import (
	"fmt"
	"math"
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/onnxpos/bydistance"
	"github.com/modelpatch/modelpatch/position/onnxpos/site"
	"github.com/modelpatch/modelpatch/position/onnxpos/trace"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
	"github.com/modelpatch/modelpatch/schemes/fit"
)

// PickedPairs tells which column of its scores a node picks for each pair of a query and a
// key: it takes the value of the node's second input to one whose last two axes are those
// of the pairs. It is nil where the node picks nothing along the last axis alone.
func PickedPairs(s *eval.Scope, n *onnx.Node) func(index *eval.Value) *eval.Value {
	switch rank := len(s.Value(n.Input(0)).Shape); {
	case n.Op == "GatherElements" && rank > 1 && slices.Contains([]int64{-1, int64(rank) - 1}, n.Int("axis", 0)):
		return func(index *eval.Value) *eval.Value { return index }
	case n.Op == "GatherND" && rank > 1 && n.Int("batch_dims", 0) == int64(rank)-1:
		return func(index *eval.Value) *eval.Value {
			if index == nil || len(index.Shape) == 0 || index.Shape[len(index.Shape)-1] != 1 {
				return index
			}
			pairs := *index
			pairs.Shape = index.Shape[:len(index.Shape)-1]
			return &pairs
		}
	}
	return nil
}

// disentangled finds DeBERTa's terms: scores against a table of distances, of which each
// pair gets one by an index made from positions.
func (m *Search) disentangled() site.Site {
	for _, s := range m.graph.Eval.Scopes() {
		for _, n := range s.Graph.Nodes {
			pairs := PickedPairs(s, n)
			if picksByPair(s, n) && trace.IsScores(s, n.Output(0)) {
				return m.disentangledSite(s, n, pairs)
			}
		}
	}
	return nil
}

// picksByPair reports whether a node picks a column of its scores for each pair, by an index that is known and varies from
// query to query and from key to key.
func picksByPair(s *eval.Scope, n *onnx.Node) bool {
	pairs := PickedPairs(s, n)
	if pairs == nil {
		return false
	}
	data, index := s.Value(n.Input(0)), pairs(s.Value(n.Input(1)))
	if data.Known() || !index.Known() || index.Ints == nil || index.Data || len(index.Shape) < 2 || len(data.Shape) < 2 {
		return false
	}
	k := len(index.Shape)
	return index.Shape[k-1] > 1 && index.Varies(k-1) && index.Varies(k-2)
}

func (m *Search) disentangledSite(s *eval.Scope, node *onnx.Node, pairs func(*eval.Value) *eval.Value) site.Site {
	data := s.Value(node.Input(0)).Shape
	rows, cut := data[len(data)-1], false
	for _, src := range trace.Sources(s, node.Input(0)) {
		// Version 1 cuts what one length needs out of the middle of its table.
		if t := src.Tensor; t != nil && src.Indexed != nil && src.Indexed.Op == "Slice" && src.Axis == 0 && len(t.Dims) == 2 && int(t.Dims[0]) > rows && src.First > 0 {
			rows, cut = int(t.Dims[0]), true
			break
		}
	}
	if n := m.graph.FixedLength(); n == 0 && !cut && s == m.graph.Eval.Main {
		longer := m.graph.At(m.graph.Sizes.Length + 1).Main.Value(node.Input(0)).Shape
		if k := len(longer); k > 0 && longer[k-1] != rows {
			return nil // columns for each distance between so many positions, which no table has
		}
	}
	index := pairs(bydistance.LongestIndex(m.graph, s, node.Input(1), 0))
	other := schemes.Other{Kind: report.SchemeDisentangled, Rows: rows, Buckets: rows / 2, MaxDistance: BucketsFarthest(s, node.Input(1), index, rows)}
	e := position.Encoding{Form: report.FormTable, Beyond: report.BeyondContinues,
		Evidence: []report.Evidence{{Kind: "structure", Says: node.Title() + " picks scores against a table by bucket of distance"}}}
	if other.MaxDistance == 0 && m.graph.FixedLength() > 0 && index != nil && index.Shape[len(index.Shape)-1] > rows/4+1 { // the logarithm was folded
		for _, far := range fit.UsualDistances(rows, rows/4) {
			if deberta(index, rows, far) {
				other.MaxDistance = far
				e.Evidence = append(e.Evidence, report.Evidence{Kind: "fit", Says: fmt.Sprintf("a largest distance of %d is a usual one of those that give these buckets", far)})
				break
			}
		}
	}
	if v := pairs(m.graph.Further(s, node.Input(1), rows/2+2)); other.MaxDistance == 0 && (cut || v != nil && isClipped(v, rows)) {
		other.MaxDistance = rows / 2
	}
	e.Scheme = other
	d := &Disentangled{Other: site.NewOther(e), graph: m.graph}
	if n := m.graph.FixedLength(); n > 0 && s == m.graph.Eval.Main && index != nil && !cut && BucketsFarthest(s, node.Input(1), index, rows) == 0 {
		d.Detected.Capacity, d.Detected.Beyond = index.Shape[len(index.Shape)-1], report.BeyondError
	} else if n == 0 && cut && s == m.graph.Eval.Main {
		far := m.graph.At(rows/2 + 1).Main.Value(node.Input(0))
		if k := len(far.Shape); k > 0 && far.Shape[k-1] < rows { // of the table, which the cut leaves
			d.Detected.Capacity, d.Detected.Beyond = rows/2, report.BeyondError
		}
	}
	return d
}

// isClipped reports whether an index is the distance of query and key, in either direction, kept within the rows of a table from its middle on.
func isClipped(index *eval.Value, count int) bool {
	zero, ok := bydistance.SeenClipped(index, count)
	return ok && zero == count/2
}

// BucketsFarthest is the largest distance of DeBERTa's buckets that the graph
// computes to an index of the given name and value, 0 if it does not: mid is
// buckets/2, and ln((max−1)/mid) a divisor on the way (facts/NUMERICS §6), or the
// mid−1 buckets of the logarithm are divided by it once for all. Which one, the index
// itself tells.
func BucketsFarthest(s *eval.Scope, name string, index *eval.Value, rows int) int {
	divisors, _ := trace.LogDivisors(s, name)
	for _, x := range divisors {
		for _, logarithm := range []float64{x, x * float64(rows/4-1)} {
			far := int(math.Round(float64(rows/4)*math.Exp(logarithm))) + 1
			if far > rows/4 && far < 1e5 && deberta(index, rows, far) {
				return far
			}
		}
	}
	return 0
}

// deberta reports whether indices are DeBERTa's buckets of distance, in either
// direction, with the given largest distance. At that distance less one the
// logarithms are equal, and rounding decides whether their ratio is more than 1.
func deberta(index *eval.Value, rows, far int) bool {
	if index == nil || !index.Known() || index.Ints == nil {
		return false
	}
	k := len(index.Shape)
	queries, keys, span := index.Shape[k-2], index.Shape[k-1], rows/2
	for _, sign := range []int{1, -1} {
		fits := true
		for q := range queries {
			for i := range keys {
				b := schemes.DebertaBucket(sign*(q-i), span, far)
				off := int(index.Ints[q*keys+i]) - min(max(b+span, 0), rows-1)
				even := q-i == far-1 || i-q == far-1
				fits = fits && (off == 0 || even && (off == 1 || off == -1))
			}
		}
		if fits {
			return true
		}
	}
	return false
}
