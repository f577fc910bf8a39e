package waves

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/onnxpos/rows"
	"github.com/modelpatch/modelpatch/position/onnxpos/site"
	"github.com/modelpatch/modelpatch/position/onnxpos/trace"
)

// Column is what a column of a table holds: the cosine or the sine of positions times a
// frequency, times an amplitude.
type Column struct {
	Frequency, Amplitude float64
	Cosine               bool
}

// Table is a table of rows by position, and what its columns hold.
type Table struct {
	rows.Table
	Columns []Column
}

// storedAngle and storedNumber bound how far a number of a table may be from its formula:
// angles in float32 are off by half a unit of the last place, cosines as they are stored
// (facts/NUMERICS §1).
const (
	storedAngle  = 2e-7
	storedNumber = 3e-7
)

// Unbake puts the computation in the place of what selects rows of tables by position.
// It is a [position.Refusal] where the tables are read in another way, or hold other
// numbers.
func Unbake(g *site.Graph, uses []trace.Source, tables []Table) error {
	u := unbaker{g: g, done: map[*onnx.Node]bool{}, positions: map[string]string{}}
	for _, t := range tables {
		if err := t.explained(g); err != nil {
			return err
		}
	}
	nodes := slices.Clone(uses)
	slices.SortStableFunc(nodes, func(a, b trace.Source) int { return place(a) - place(b) })
	for _, src := range nodes {
		i := slices.IndexFunc(tables, func(t Table) bool { return t.Tensor == src.Tensor })
		if i < 0 || src.Indexed != nil && u.done[src.Indexed] {
			continue
		}
		if err := u.use(src, tables[i]); err != nil {
			return err
		}
	}
	g.RemoveUnread("tables no longer used")
	return nil
}

func place(s trace.Source) int {
	if s.Indexed == nil {
		return -1
	}
	return s.Indexed.Index()
}

// explained checks all rows of a table against the formula.
func (t Table) explained(g *site.Graph) error {
	if t.Dim() != len(t.Columns) {
		return &position.Refusal{Why: fmt.Sprintf("%q has %d columns, and the formula gives %d", g.TensorName(t.Tensor), t.Dim(), len(t.Columns)), Instead: "leave the table in place"}
	}
	stored := storedNumber
	switch t.Tensor.Type {
	case onnx.Float:
	case onnx.Float16:
		stored = halfUnit
	case onnx.BFloat16:
		stored = shortUnit
	default:
		return &position.Refusal{Why: fmt.Sprintf("%q is stored as %s, whose steps a formula would not have", g.TensorName(t.Tensor), t.Tensor.Type), Instead: "leave the table in place"}
	}
	row := make([]float64, t.Dim())
	for p := range t.Len() {
		if err := t.Row(p, row); err != nil {
			return err
		}
		g.SpendElements(len(row))
		for c, k := range t.Columns {
			if want := k.at(p); !(math.Abs(row[c]-want) <= (storedAngle*float64(p+1)+stored)*math.Abs(k.Amplitude)) {
				return &position.Refusal{Why: fmt.Sprintf("row %d of %q holds %g in column %d, where the formula gives %g", p, g.TensorName(t.Tensor), row[c], c, want), Instead: "leave the table in place"}
			}
		}
	}
	return nil
}

// halfUnit and shortUnit are the rounding of numbers up to 1 in float16 and bfloat16.
const (
	halfUnit  = 1. / (1 << 11)
	shortUnit = 1. / (1 << 8)
)

// at is the number of a position.
func (k Column) at(p int) float64 {
	angle := float64(float32(float32(p) * float32(k.Frequency)))
	if k.Cosine {
		return math.Cos(angle) * k.Amplitude
	}
	return math.Sin(angle) * k.Amplitude
}

// unbaker is one run of Unbake.
type unbaker struct {
	g         *site.Graph
	done      map[*onnx.Node]bool
	positions map[string]string // an index → the name of what takes its place
}

const unbakeWhy = "cosines and sines of positions"

// use replaces one node that selects rows.
func (u *unbaker) use(src trace.Source, t Table) error {
	n := src.Indexed
	switch {
	case n == nil:
		return &position.Refusal{Why: fmt.Sprintf("%q is used whole, for one length: nothing says which positions are meant", u.g.TensorName(t.Tensor)), Instead: "export the model with a free sequence length"}
	case src.Scope == u.g.Eval.Main && n.Op == "Slice" && u.g.File.Opsets[""] >= opsetWhere && u.cuts(src, t):
		return u.slice(src, t)
	case src.Scope != u.g.Eval.Main || src.IndexAt != nil && src.IndexAt != src.Scope || src.Index == "":
		return &position.Refusal{Why: fmt.Sprintf("%s selects the rows of %q, in a way that is not understood", n.Title(), u.g.TensorName(t.Tensor)), Instead: "leave the table in place"}
	case u.g.File.Opsets[""] < opsetWhere:
		return &position.Refusal{Why: fmt.Sprintf("the graph is of opset %d, and what computes cosines and sines exists from %d on", u.g.File.Opsets[""], opsetWhere), Instead: "export the model with a newer opset"}
	}
	s := src.Scope
	index, out := s.Value(src.Index), s.Value(n.Output(0))
	perColumn := false
	switch {
	case n.Op == "Gather" && len(out.Shape) == len(index.Shape)+1 && out.Shape[len(out.Shape)-1] == len(t.Columns):
	case n.Op == "GatherElements" && slices.Equal(out.Shape, index.Shape) && sameAcross(index):
		perColumn = true
	default:
		return &position.Refusal{Why: fmt.Sprintf("%s selects rows of %q in a form that no product of positions and frequencies has", n.Title(), u.g.TensorName(t.Tensor)), Instead: "leave the table in place"}
	}
	e := u.g.Editor
	at := src.Index
	if perColumn {
		at = unrepeated(s, at)
	}
	name, nodes := u.index(s, at, n)
	float := func(what string) string { return e.FreshName("modelpatch/" + what) }
	p := float("positions")
	nodes = append(nodes, onnx.NewNode{Op: "Cast", Inputs: []string{name}, Outputs: []string{p}, Attributes: []onnx.NewAttribute{{Name: "to", Value: int64(onnx.Float)}}})
	if !perColumn {
		column := float("positions")
		nodes = append(nodes, unsqueeze(u.g, n.Graph, p, column, int64(len(index.Shape)), unbakeWhy))
		p = column
	}
	nodes = append(nodes, u.compute(n, t, p)...)
	u.done[n] = true
	e.ReplaceNode(n, nodes, unbakeWhy)
	return nil
}

// cuts reports whether a Slice takes a run of rows out of a table, as many as the input
// has positions.
func (u *unbaker) cuts(src trace.Source, t Table) bool {
	n, s := src.Indexed, src.Scope
	axes := trace.ListOf(s, n, "axes", 3)
	first, end, out := s.Value(n.Input(1)), s.Value(n.Input(2)), s.Value(n.Output(0))
	rank := len(out.Shape)
	if len(n.Inputs) < 4 || s.Tensor(n.Input(0)) != t.Tensor || rank < 2 || len(t.Tensor.Dims) != rank || out.Shape[rank-1] != len(t.Columns) || len(axes) != 1 || (int(axes[0])+rank)%rank != rank-2 {
		return false
	}
	for _, d := range out.Shape[:rank-2] {
		if d != 1 {
			return false
		}
	}
	if steps := trace.ListOf(s, n, "steps", 4); len(steps) > 0 && (len(steps) != 1 || steps[0] != 1) {
		return false
	}
	return first.Known() && end.Known() && first.Len() == 1 && end.Len() == 1 && first.Type == onnx.Int64 && end.Type == onnx.Int64 &&
		first.Number(0) >= 0 && end.Number(0) >= first.Number(0) && end.Number(0) <= float64(t.Len()) && s.Tensor(n.Input(2)) == nil
}

// slice computes the rows that a Slice took.
func (u *unbaker) slice(src trace.Source, t Table) error {
	n, e := src.Indexed, u.g.Editor
	first, end, counted := e.FreshName("modelpatch/bound"), e.FreshName("modelpatch/bound"), e.FreshName("modelpatch/range")
	one := e.AddInitializer(n.Graph, "modelpatch/step", onnx.Int64, nil, integer(onnx.Int64, 1), unbakeWhy)
	p := e.FreshName("modelpatch/positions")
	nodes := []onnx.NewNode{squeezeAll(n.Input(1), first), squeezeAll(n.Input(2), end),
		{Op: "Range", Inputs: []string{first, end, one}, Outputs: []string{counted}},
		{Op: "Cast", Inputs: []string{counted}, Outputs: []string{p}, Attributes: []onnx.NewAttribute{{Name: "to", Value: int64(onnx.Float)}}}}
	column := e.FreshName("modelpatch/positions")
	nodes = append(nodes, unsqueeze(u.g, n.Graph, p, column, 1, unbakeWhy))
	for range len(t.Tensor.Dims) - 2 {
		out := e.FreshName("modelpatch/positions")
		nodes = append(nodes, unsqueeze(u.g, n.Graph, column, out, 0, unbakeWhy))
		column = out
	}
	u.done[n] = true
	e.ReplaceNode(n, append(nodes, u.compute(n, t, column)...), unbakeWhy)
	return nil
}

// unrepeated is an index before it was repeated for each column, which a product with
// as many frequencies does by itself.
func unrepeated(s *eval.Scope, name string) string {
	out := s.Value(name).Shape
	for range maxBehind {
		n, at := s.Find(name)
		if n == nil || at != s || !eval.Is(n, eval.Repetition) {
			break
		}
		in := s.Value(n.Input(0)).Shape
		if k := len(out) - 1; len(in) != len(out) || in[k] != 1 && in[k] != out[k] || !slices.Equal(in[:k], out[:k]) {
			break
		}
		name = n.Input(0)
	}
	return name
}

// compute are the nodes from positions, a column for each, to what a node gave.
func (u *unbaker) compute(n *onnx.Node, t Table, p string) []onnx.NewNode {
	e := u.g.Editor
	width := []int64{int64(len(t.Columns))}
	list := func(name string, of func(Column) float64) string {
		var raw []byte
		for _, k := range t.Columns {
			raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(float32(of(k))))
		}
		return e.AddInitializer(n.Graph, name, onnx.Float, width, raw, unbakeWhy)
	}
	angle := e.FreshName("modelpatch/angles")
	nodes := []onnx.NewNode{{Op: "Mul", Inputs: []string{p, list("modelpatch/frequencies", func(k Column) float64 { return k.Frequency })}, Outputs: []string{angle}}}
	value := ""
	wave := func(op string) string {
		value = e.FreshName("modelpatch/" + op)
		nodes = append(nodes, onnx.NewNode{Op: op, Inputs: []string{angle}, Outputs: []string{value}})
		return value
	}
	cosines := 0
	var mask []byte
	scaled := false
	for _, k := range t.Columns {
		scaled = scaled || k.Amplitude != 1
		if k.Cosine {
			cosines++
			mask = append(mask, 1)
		} else {
			mask = append(mask, 0)
		}
	}
	switch cosines {
	case 0:
		wave("Sin")
	case len(t.Columns):
		wave("Cos")
	default:
		which := e.AddInitializer(n.Graph, "modelpatch/cosines", onnx.Bool, width, mask, unbakeWhy)
		cos, sin := wave("Cos"), wave("Sin")
		value = e.FreshName("modelpatch/waves")
		nodes = append(nodes, onnx.NewNode{Op: "Where", Inputs: []string{which, cos, sin}, Outputs: []string{value}})
	}
	if scaled {
		product := e.FreshName("modelpatch/waves")
		nodes = append(nodes, onnx.NewNode{Op: "Mul", Inputs: []string{value, list("modelpatch/amplitudes", func(k Column) float64 { return k.Amplitude })}, Outputs: []string{product}})
		value = product
	}
	if t.Tensor.Type != onnx.Float {
		cast := e.FreshName("modelpatch/waves")
		nodes = append(nodes, onnx.NewNode{Op: "Cast", Inputs: []string{value}, Outputs: []string{cast}, Attributes: []onnx.NewAttribute{{Name: "to", Value: int64(t.Tensor.Type)}}})
	}
	nodes[len(nodes)-1].Outputs[0] = n.Output(0)
	return nodes
}

// index gives the positions that an index holds, without the buffer that it may be cut
// out of, and the nodes that make them.
func (u *unbaker) index(s *eval.Scope, name string, before *onnx.Node) (string, []onnx.NewNode) {
	if other, ok := u.positions[name]; ok {
		return other, nil
	}
	n, at := s.Find(name)
	if n == nil || at != s || n.Op != "Slice" || len(n.Inputs) < 4 || !counting(s, n) {
		return name, nil
	}
	v := s.Value(name)
	e := u.g.Editor
	scalar := func(i int) (string, onnx.NewNode) {
		out := e.FreshName("modelpatch/bound")
		return out, squeezeAll(n.Input(i), out)
	}
	first, a := scalar(1)
	end, b := scalar(2)
	one := e.AddInitializer(before.Graph, "modelpatch/step", onnx.Int64, nil, integer(onnx.Int64, 1), unbakeWhy)
	counted := e.FreshName("modelpatch/range")
	nodes := []onnx.NewNode{a, b, {Op: "Range", Inputs: []string{first, end, one}, Outputs: []string{counted}}}
	for range len(v.Shape) - 1 {
		out := e.FreshName("modelpatch/range")
		nodes = append(nodes, unsqueeze(u.g, before.Graph, counted, out, 0, unbakeWhy))
		counted = out
	}
	u.positions[name] = counted
	return counted, nodes
}

// counting reports whether a Slice cuts a run out of a constant 0, 1, 2 … on its last
// axis, as exporters keep position_ids.
func counting(s *eval.Scope, n *onnx.Node) bool {
	c := s.Tensor(n.Input(0))
	if c == nil || c.Type != onnx.Int64 || len(c.Dims) == 0 || c.Len() != c.Dims[len(c.Dims)-1] || c.Len() > 1<<24 {
		return false
	}
	axes := trace.ListOf(s, n, "axes", 3)
	first, end := s.Value(n.Input(1)), s.Value(n.Input(2))
	if len(axes) != 1 || axes[0] != int64(len(c.Dims)-1) && axes[0] != -1 || !first.Known() || first.Len() != 1 || !end.Known() || end.Len() != 1 ||
		first.Type != onnx.Int64 || end.Type != onnx.Int64 {
		return false
	}
	if steps := trace.ListOf(s, n, "steps", 4); len(steps) > 0 && (len(steps) != 1 || steps[0] != 1) {
		return false
	}
	if a, b := first.Number(0), end.Number(0); a < 0 || b < a || b > float64(c.Len()) || s.Tensor(n.Input(2)) != nil {
		return false
	}
	x, err := c.Ints(0, c.Len())
	if err != nil {
		return false
	}
	for i := range x {
		if x[i] != int64(i) {
			return false
		}
	}
	return true
}

// squeezeAll takes all axes of one away.
func squeezeAll(in, out string) onnx.NewNode {
	return onnx.NewNode{Op: "Squeeze", Inputs: []string{in}, Outputs: []string{out}}
}

// unsqueeze is a node that adds an axis of one, as the graph's opset writes it.
func unsqueeze(g *site.Graph, where *onnx.Graph, in, out string, axis int64, why string) onnx.NewNode {
	n := onnx.NewNode{Op: "Unsqueeze", Inputs: []string{in}, Outputs: []string{out}}
	if g.File.Opsets[""] < opsetAxes {
		n.Attributes = []onnx.NewAttribute{{Name: "axes", Value: []int64{axis}}}
	} else {
		n.Inputs = append(n.Inputs, g.AddInitializer(where, "modelpatch/axis", onnx.Int64, []int64{1}, integer(onnx.Int64, axis), why))
	}
	return n
}

// sameAcross reports whether an index is the same along its last axis.
func sameAcross(v *eval.Value) bool {
	if !v.Known() || len(v.Shape) == 0 {
		return false
	}
	w := v.Shape[len(v.Shape)-1]
	for i := range v.Len() {
		if v.Number(i) != v.Number(i/w*w) {
			return false
		}
	}
	return true
}
