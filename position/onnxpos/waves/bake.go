package waves

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/patch"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/onnxpos/rows"
	"github.com/modelpatch/modelpatch/position/onnxpos/site"
	"github.com/modelpatch/modelpatch/position/onnxpos/trace"
)

// opsetWhere is the first opset of ai.onnx in which Where exists and Less takes integers.
const opsetWhere = 9

// opsetAxes is the first opset of ai.onnx in which Squeeze and Unsqueeze take their axes
// as an input.
const opsetAxes = 13

// Bake puts tables of so many positions in the place of Cos and Sin nodes, from which
// positions select; nodes and constants that nothing reads any more go. A position
// beyond the table, or before it, is an error of the engine when the graph runs. Tables
// are shared by nodes that would have the same.
//
// Numbers are those of float32 as the graph computes them, cosines and sines correctly
// rounded: engines' own differ from that by a unit of the last place in every sixth
// number (facts/NUMERICS §1).
//
// dtype is the type of the tables where the graph casts what it computes to that at once
// ("": as it computes).
func Bake(g *site.Graph, trig []trace.Source, length int, dtype string) error {
	kind := map[string]onnx.DataType{"float16": onnx.Float16, "bfloat16": onnx.BFloat16}[dtype]
	b := baker{g: g, length: length, kind: kind, tables: map[string]string{}, indices: map[string]string{}}
	nodes := slices.Clone(trig)
	slices.SortStableFunc(nodes, func(x, y trace.Source) int { return x.Trig.Index() - y.Trig.Index() })
	for _, t := range nodes {
		if g.Removed(t.Trig) {
			continue
		}
		if err := b.node(t); err != nil {
			return err
		}
	}
	g.RemoveUnread(b.why())
	return nil
}

// baker is one run of Bake.
type baker struct {
	g       *site.Graph
	length  int
	kind    onnx.DataType     // of tables that stand in the place of casts; 0: float32
	tables  map[string]string // what is in a table → its name
	indices map[string]string // positions → the index that selects by them
}

func (b *baker) why() string { return fmt.Sprintf("tables of %d positions", b.length) }

// node replaces one Cos or Sin node.
func (b *baker) node(t trace.Source) error {
	if t.Scope != b.g.Eval.Main {
		return refuse(t.Trig, "is computed inside a function or a branch")
	}
	if b.g.File.Opsets[""] < opsetWhere {
		return &position.Refusal{Why: fmt.Sprintf("the graph is of opset %d, and what selects rows safely exists from %d on", b.g.File.Opsets[""], opsetWhere), Instead: "export the model with a newer opset"}
	}
	if err := b.exact(t.Trig); err != nil {
		return err
	}
	a, err := angleOf(t)
	if err != nil {
		return err
	}
	w := waveOf(t.Trig, a)
	if n, amplitude := amplified(b.g, t); n != nil {
		w.amplitude = amplitude
		if b.kind != 0 {
			return b.replaceCasts(t, n, a, w)
		}
		defer b.g.RemoveNode(t.Trig, b.why())
		return b.replace(t.Trig, n, a, []wave{w})
	}
	if b.kind != 0 {
		return b.replaceCasts(t, t.Trig, a, w)
	}
	return b.replace(t.Trig, t.Trig, a, []wave{w})
}

// replaceCasts puts rows of a table of another type in the place of the casts that are
// all that reads a node.
func (b *baker) replaceCasts(t trace.Source, n *onnx.Node, a angle, w wave) error {
	casts := t.Scope.Consumers(n.Output(0))
	for _, c := range casts {
		if c.Op != "Cast" || onnx.DataType(c.Int("to", 0)) != b.kind || b.g.File.Graph.Gives(n.Output(0)) {
			return &position.Refusal{Why: fmt.Sprintf("%s takes cosines and sines as they are computed: tables of type %s would be other numbers", c.Title(), b.kind), Instead: "leave --dtype out"}
		}
	}
	for _, c := range casts {
		if err := b.replace(t.Trig, c, a, []wave{w}); err != nil {
			return err
		}
	}
	if b.g.RemoveNode(n, b.why()); n != t.Trig {
		b.g.RemoveNode(t.Trig, b.why())
	}
	return nil
}

// replace puts rows of a table in the place of a node: waves beside each other. What
// selects them is computed ahead of the first node, which may stand long before: others
// select by it as well.
func (b *baker) replace(first, n *onnx.Node, a angle, waves []wave) error {
	table, err := b.table(n, waves, b.length+b.first(a))
	if err != nil {
		return err
	}
	index, nodes := b.index(n.Graph, a)
	if len(nodes) > 0 {
		b.g.InsertNodes(first, nodes, b.why())
	}
	b.g.ReplaceNode(n, []onnx.NewNode{{Op: "Gather", Inputs: []string{table, index}, Outputs: []string{n.Output(0)}, Attributes: []onnx.NewAttribute{{Name: "axis", Value: int64(0)}}}}, b.why())
	return nil
}

// first is the number that the first position of all has, without cached tokens: rows are selected by those numbers.
func (b *baker) first(a angle) int {
	v := a.scope.Value(a.positions)
	if !v.Known() || v.Len() == 0 || !(v.Number(0) > 0) || v.Number(0) > maxFirst {
		return 0
	}
	return max(int(v.Number(0))-b.g.FirstPosition(), 0)
}

// maxFirst bounds the number of the first position: those of fairseq's models are 1 and 2.
const maxFirst = 1 << 10

// wave is some columns of a table.
type wave struct {
	op        string // Cos or Sin
	columns   []float32
	amplitude float32
}

func waveOf(n *onnx.Node, a angle) wave { return wave{op: n.Op, columns: a.columns, amplitude: 1} }

// amplified is the product with a constant that is all that a Cos or Sin goes into, and
// the constant; nil where there is none. Every pair of numbers is multiplied alike.
func amplified(g *site.Graph, t trace.Source) (*onnx.Node, float32) {
	out := t.Trig.Output(0)
	readers := t.Scope.Consumers(out)
	if len(readers) != 1 || readers[0].Op != "Mul" || g.File.Graph.Gives(out) {
		return nil, 0
	}
	n := readers[0]
	for i := range 2 {
		if c := t.Scope.Tensor(n.Input(i)); c != nil && c.Len() == 1 && c.Type == onnx.Float && len(c.Dims) <= 1 && n.Input(1-i) == out {
			if x, err := c.Floats(0, 1); err == nil {
				return n, float32(x[0])
			}
		}
	}
	return nil, 0
}

// exact refuses a node whose numbers are quantised on the way: a table would be of others.
func (b *baker) exact(n *onnx.Node) error {
	q := b.g.Behind(n, func(x *onnx.Node) bool {
		_, most, step, ok := b.g.Eval.Main.Reach(x)
		return ok && (step != 1 || most < float64(b.length-1)) // else whole numbers stay as they are
	})
	if q != nil {
		return refuse(n, "is made of numbers that "+q.Title()+" rounds and cuts off")
	}
	return nil
}

// BakeJoined is Bake for sines and cosines that stand beside each other in rows that are
// added, or that a mask of columns chooses from (as Unbake has them): they become one table.
func BakeJoined(g *site.Graph, s *eval.Scope, name string, length int) error {
	b := baker{g: g, length: length, tables: map[string]string{}, indices: map[string]string{}}
	var join *onnx.Node
	for range maxBehind {
		n, at := s.Find(name)
		if n == nil || at != s {
			break
		}
		if n.Op == "Concat" || n.Op == "Where" {
			join = n
			break
		}
		if !eval.Is(n, eval.Layout|eval.Repetition) {
			break
		}
		name = n.Input(0)
	}
	if join == nil || s != g.Eval.Main {
		return &position.Refusal{Why: "the graph computes its sinusoid in another way than as sines and cosines beside each other", Instead: "export the model with a table"}
	}
	if g.Removed(join) {
		return nil
	}
	if err := b.exact(join); err != nil {
		return err
	}
	if g.File.Opsets[""] < opsetWhere {
		return &position.Refusal{Why: fmt.Sprintf("the graph is of opset %d, and what selects rows safely exists from %d on", g.File.Opsets[""], opsetWhere), Instead: "export the model with a newer opset"}
	}
	var first angle
	var waves []wave
	parts := join.Inputs
	if join.Op == "Where" {
		parts = parts[1:]
	}
	for i := range parts {
		i += len(join.Inputs) - len(parts)
		n, at := s.Find(join.Input(i))
		if n == nil || at != s || n.Op != "Cos" && n.Op != "Sin" {
			return refuse(join, "is not sines and cosines beside each other")
		}
		a, err := angleOf(trace.Source{Scope: s, Trig: n})
		if err != nil {
			return err
		}
		if len(waves) == 0 {
			first = a
		} else if a.positions != first.positions || a.squeeze != first.squeeze {
			return refuse(join, "is not sines and cosines of the same positions")
		}
		waves = append(waves, waveOf(n, a))
	}
	if join.Op == "Where" {
		if waves = chosen(s.Value(join.Input(0)), waves); waves == nil {
			return refuse(join, "does not choose between sines and cosines by column")
		}
	} else if axis, rank := join.Int("axis", 0), len(s.Value(name).Shape); axis != -1 && int(axis) != rank-1 {
		return refuse(join, "is not sines and cosines beside each other")
	}
	if err := b.replace(join, join, first, waves); err != nil {
		return err
	}
	g.RemoveUnread(b.why())
	return nil
}

// chosen are the columns that a mask takes of two waves, of the first where it is true, in runs of one
// kind; nil where it is no such mask.
func chosen(mask *eval.Value, from []wave) (out []wave) {
	n := mask.Len()
	if !mask.Known() || len(from) != 2 || len(mask.Shape) == 0 || mask.Shape[len(mask.Shape)-1] != n || len(from[0].columns) != n || len(from[1].columns) != n {
		return nil
	}
	last := -1
	for c := range n {
		of := 1
		if mask.Number(c) != 0 {
			of = 0
		}
		if of != last {
			run := from[of]
			run.columns = nil
			out, last = append(out, run), of
		}
		w := &out[len(out)-1]
		w.columns = append(w.columns, from[of].columns[c])
	}
	return out
}

// table adds the table of a node, or finds one that holds the same.
func (b *baker) table(n *onnx.Node, waves []wave, length int) (string, error) {
	key := fmt.Sprint(length, waves)
	if name, ok := b.tables[key]; ok {
		return name, nil
	}
	name, width := "modelpatch/waves", 0
	for _, w := range waves {
		width += len(w.columns)
	}
	if len(waves) == 1 {
		name = map[string]string{"Cos": "modelpatch/cosines", "Sin": "modelpatch/sines"}[waves[0].op]
	}
	kind := b.kind
	if kind == 0 {
		kind = onnx.Float
	}
	size := kind.Size(int64(length) * int64(width))
	if size > math.MaxInt32 {
		return "", &position.Refusal{Why: fmt.Sprintf("a table of %d rows of %d numbers is more than a file of protobuf holds", length, width), Instead: "choose a smaller length"}
	}
	data := patch.Func(size, func() io.Reader { return &waveReader{waves: waves, rows: length, kind: kind} })
	name, err := b.g.AddTable(n.Graph, name, kind, []int64{int64(length), int64(width)}, data, b.why())
	if err == nil {
		b.tables[key] = name
	}
	return name, rows.Refused(err)
}

// waveReader gives the rows of a table.
type waveReader struct {
	waves   []wave
	rows    int
	kind    onnx.DataType
	next    int
	row     []float64
	pending []byte
}

// Read gives rows, one made when that before has been read.
func (r *waveReader) Read(p []byte) (int, error) {
	if len(r.pending) == 0 {
		if r.next == r.rows {
			return 0, io.EOF
		}
		r.row = r.row[:0]
		for _, w := range r.waves {
			of := math.Cos
			if w.op == "Sin" {
				of = math.Sin
			}
			for _, f := range w.columns {
				angle := float32(float32(r.next) * f)
				r.row = append(r.row, float64(float32(float32(of(float64(angle)))*w.amplitude)))
			}
		}
		b, err := onnx.EncodeFloats(r.kind, r.row, nil)
		if err != nil {
			return 0, err
		}
		r.pending = b
		r.next++
	}
	n := copy(p, r.pending)
	r.pending = r.pending[n:]
	return n, nil
}

// index gives the positions as an index of rows, and the nodes that make it.
func (b *baker) index(g *onnx.Graph, a angle) (string, []onnx.NewNode) {
	if name, ok := b.indices[a.positions]; ok {
		return name, nil
	}
	e, why := b.g.Editor, b.why()
	whole, nodes := a.positions, []onnx.NewNode(nil)
	for range maxBehind { // before they became floating-point numbers
		n, at := a.scope.Find(whole)
		if n == nil || at != a.scope || n.Op != "Cast" {
			break
		}
		whole = n.Input(0)
	}
	kind := a.scope.Value(whole).Type
	if kind != onnx.Int64 && kind != onnx.Int32 {
		whole, kind = a.positions, onnx.Int64
		cast := e.FreshName("modelpatch/positions")
		nodes = append(nodes, onnx.NewNode{Op: "Cast", Inputs: []string{whole}, Outputs: []string{cast}, Attributes: []onnx.NewAttribute{{Name: "to", Value: int64(onnx.Int64)}}})
		whole = cast
	}
	if trace.FromInput(a.scope, a.positions) { // a negative one would count from the end
		guarded, before := e.FreshName("modelpatch/positions"), e.FreshName("modelpatch/before_first")
		zero := e.AddInitializer(g, "modelpatch/first_position", kind, nil, integer(kind, 0), why)
		end := e.AddInitializer(g, "modelpatch/end", kind, nil, integer(kind, int64(b.length)), why)
		nodes = append(nodes,
			onnx.NewNode{Op: "Less", Inputs: []string{whole, zero}, Outputs: []string{before}},
			onnx.NewNode{Op: "Where", Inputs: []string{before, end, whole}, Outputs: []string{guarded}})
		whole = guarded
	}
	squeeze := onnx.NewNode{Op: "Squeeze", Inputs: []string{whole}, Outputs: []string{e.FreshName("modelpatch/rows")}}
	if b.g.File.Opsets[""] < opsetAxes {
		squeeze.Attributes = []onnx.NewAttribute{{Name: "axes", Value: []int64{int64(a.squeeze)}}}
	} else {
		squeeze.Inputs = append(squeeze.Inputs, e.AddInitializer(g, "modelpatch/axis", onnx.Int64, []int64{1}, integer(onnx.Int64, int64(a.squeeze)), why))
	}
	b.indices[a.positions] = squeeze.Outputs[0]
	return squeeze.Outputs[0], append(nodes, squeeze)
}

// integer encodes a whole number.
func integer(t onnx.DataType, n int64) []byte {
	if t == onnx.Int32 {
		return binary.LittleEndian.AppendUint32(nil, uint32(int32(n)))
	}
	return binary.LittleEndian.AppendUint64(nil, uint64(n))
}
