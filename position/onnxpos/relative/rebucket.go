package relative

import (
	"fmt"
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/onnxpos/bydistance"
	"github.com/modelpatch/modelpatch/position/onnxpos/trace"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// Rebucket makes the graph look buckets up by distance, in a list, and the table hold
// other rows.
func (b *Buckets) Rebucket(to schemes.Buckets, rows [][]float64) error {
	why := fmt.Sprintf("%d buckets to distance %d", to.Buckets, to.MaxDistance)
	if rows != nil && len(b.twins) > 0 {
		return &position.Refusal{Why: fmt.Sprintf("the model has %d tables, one a layer, which cannot all hold one table's new rows", len(b.twins)+1), Remedies: []report.Remedy{report.Do("", "alone keeps the tables", "max-distance", "D")}}
	}
	if rows != nil {
		values, dims := slices.Concat(rows...), []int64{int64(len(rows)), int64(b.buckets.Heads)}
		if b.axis == 1 {
			slices.Reverse(dims)
			for i := range values {
				values[i] = rows[i%len(rows)][i/len(rows)]
			}
		}
		if err := b.m.ReplaceFloats(b.table, dims, values, why); err != nil {
			return err
		}
	}
	far := to.MaxDistance
	return b.list(far, func(relative int) int { return to.Bucket(relative) }, func(l *bydistance.Index) {
		// Farther ones are in the bucket of the last.
		l.Step("Min", l.Constant("modelpatch/farthest", int64(far)))
		l.Step("Max", l.Constant("modelpatch/farthest_behind", int64(-far)))
	}, why)
}

// BucketRow is the table's row of a bucket.
func (b *Buckets) BucketRow(bucket int) ([]float64, error) {
	row := make([]float64, b.buckets.Heads)
	for head := range row {
		x, err := b.table.Floats(b.element(bucket, head), 1)
		if err != nil {
			return nil, err
		}
		row[head] = x[0]
	}
	return row, nil
}

// Bake makes the graph look buckets up by distance in a list that ends: at a distance
// that inputs of so many positions do not have, the model fails to run.
func (b *Buckets) Bake(positions int) error {
	if b.beside {
		return b.besides()
	}
	if b.rounded {
		return &position.Refusal{Why: "the graph computes its buckets in 16 bits, where some distances fall into a neighbour of the bucket that the formula gives: a list of the formula's would change outputs",
			Instead: "bake the model of 32 bits, and convert that"}
	}
	far := positions - 1
	return b.list(far, b.buckets.Bucket, func(l *bydistance.Index) {
		distance := l.Name("distance")
		l.Nodes = append(l.Nodes, onnx.NewNode{Op: "Abs", Inputs: []string{l.At}, Outputs: []string{distance}})
		beyond, at := l.Name("beyond"), l.Name("relative")
		l.Nodes = append(l.Nodes, onnx.NewNode{Op: "Greater", Inputs: []string{distance, l.Constant("modelpatch/farthest", int64(far))}, Outputs: []string{beyond}},
			onnx.NewNode{Op: "Where", Inputs: []string{beyond, l.Constant("modelpatch/end", int64(far)+1), l.At}, Outputs: []string{at}})
		l.At = at
	}, fmt.Sprintf("buckets of %d positions", positions))
}

// list puts a list of the buckets of all distances up to far in the place of their
// computation. limit is put between the relative positions and the list.
func (b *Buckets) list(far int, bucket func(relative int) int, limit func(*bydistance.Index), why string) error {
	if b.gather == nil || b.scope != b.m.Eval.Main {
		return &position.Refusal{Why: "the graph computes its buckets in an operator, a function or a branch", Instead: "export the model again with the wanted buckets"}
	}
	if v := b.m.File.Opsets[""]; v < bydistance.OpsetMinInts {
		return &position.Refusal{Why: fmt.Sprintf("the graph is of opset %d, and what limits whole numbers exists from %d on", v, bydistance.OpsetMinInts), Instead: "export the model with a newer opset"}
	}
	gathers, err := b.gathers()
	if err != nil {
		return err
	}
	for _, g := range gathers {
		index := trace.IndexOf(b.scope, g)
		relative, ahead := bydistance.RelativePositions(b.scope, index.Name)
		if relative == "" {
			return &position.Refusal{Why: fmt.Sprintf("no node behind %s computes the distances of keys from queries alone", g.Title()), Instead: "export the model again with the wanted buckets"}
		}
		l := &bydistance.Index{In: b.m, Graph: g.Graph, At: relative, Why: why}
		if !ahead { // query − key
			l.Negate()
		}
		limit(l)
		l.Step("Add", l.Constant("modelpatch/before", int64(far)))
		values := make([]int64, 2*far+1)
		for i := range values {
			values[i] = int64(bucket(i - far))
		}
		raw, _ := onnx.EncodeInts(onnx.Int64, values, nil)
		list := b.m.AddInitializer(g.Graph, "modelpatch/buckets", onnx.Int64, []int64{int64(len(values))}, raw, why)
		out := l.Name("bucket")
		l.Nodes = append(l.Nodes, onnx.NewNode{Op: "Gather", Inputs: []string{list, l.At}, Outputs: []string{out}, Attributes: []onnx.NewAttribute{{Name: "axis", Value: int64(0)}}})
		b.m.InsertNodes(index.Node, l.Nodes, why)
		b.m.RenameInput(index.Node, index.Input, out, why)
	}
	b.m.RemoveUnread(why)
	return nil
}

// gathers are the nodes that look rows up, of the table and of those of other layers,
// each perhaps with buckets of its own making.
func (b *Buckets) gathers() ([]*onnx.Node, error) {
	var out []*onnx.Node
	for _, t := range append([]*Buckets{b}, b.twins...) {
		if t.gather == nil || t.scope != b.scope {
			return nil, &position.Refusal{Why: "tables of several layers are read in ways that differ", Instead: "export the model again with the wanted buckets"}
		}
		for _, n := range t.scope.Consumers(t.gather.Input(0)) {
			if trace.IndexOf(t.scope, n).Node == nil || n.Input(0) != t.gather.Input(0) || n.Int("axis", 0) != int64(t.axis) {
				return nil, &position.Refusal{Why: fmt.Sprintf("%s reads the table in another way than by bucket", n.Title()), Instead: "export the model again with the wanted buckets"}
			}
			if !slices.Contains(out, n) {
				out = append(out, n)
			}
		}
	}
	return out, nil
}
