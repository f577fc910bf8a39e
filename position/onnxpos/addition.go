package onnxpos

import (
	"cmp"
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/axes"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position/onnxpos/origin"
	"github.com/modelpatch/modelpatch/position/onnxpos/probe"
	"github.com/modelpatch/modelpatch/position/onnxpos/rows"
	"github.com/modelpatch/modelpatch/position/onnxpos/sheet"
	"github.com/modelpatch/modelpatch/position/onnxpos/trace"
	"github.com/modelpatch/modelpatch/schemes/fit"
)

// addition is a place where rows of numbers, one a position, are added to the model's state or put beside its columns.
type addition struct {
	scope    *eval.Scope
	node     *onnx.Node
	name     string       // the value that is added
	state    string       // the value that it is added to
	sheet    *sheet.Sheet // its numbers; nil where an operator looks rows up itself
	runs     []axes.Run
	free     int          // axes of positions along which the numbers are the same
	along    []axes.Axis  // those along which they differ
	share    *sheet.Share // what comes of a constant; nil for numbers that the graph computes
	source   trace.Source
	turns    bool        // one of two tables of which one is for the turns of the other
	between  bool        // rows that lie between those of the constant, as a graph resamples it by its own arithmetic
	tokens   bool        // rows of tokens beside places whose numbers the graph computes
	constant []bool      // of numbers that the graph computes: which places have rows of a constant instead
	beside   []*addition // tables of the other axes of positions, this one first; nil: it tells all apart
}

// coarsest is the precision of the numbers of a map, of those of its constants that were rounded most.
func coarsest(of *origin.Map) fit.Precision {
	p := rows.Precision(of.Value.Type)
	for _, o := range of.Of {
		stored := rows.Precision(o.Tensor.Type)
		if scale, _, _ := o.Quantised(); scale != 0 {
			stored = fit.Int8
		}
		if stored.Step() > p.Step() {
			p = stored
		}
	}
	return p
}

// additions reads a meeting as rows by position: one addition for each constant that rows
// are taken from; none where the numbers are no rows, or of no source that is known.
func (d *detector) additions(x axes.Meeting) []*addition {
	of := d.origins.Of(x.Scope, x.Known)
	if of == nil || x.Axis < 0 {
		return nil
	}
	s := sheet.New(of.Value, x.Covers, of)
	if s == nil || len(s.Columns) < sheet.FewColumns {
		return nil
	}
	d.m.SpendElements(of.Value.Len())
	first := addition{scope: x.Scope, node: x.Node, name: x.Known, state: stateOf(x), sheet: s, runs: runsAlong(x, s), free: x.Free, along: x.Along}
	few := s.Few()
	anchors := few != nil && slices.ContainsFunc(fit.Precisions(coarsest(of), few), func(p fit.Precision) bool {
		return fit.IsAnchors(few, grids(first.runs), p)
	})
	d.anchors[x.Node] = anchors && x.Kind == axes.Added // put beside the data, coordinates say where they are
	if anchors || d.scaledByPosition(x) {
		return nil
	}
	var out []*addition
	take := func(o *origin.Origin, part *sheet.Share) {
		if part != nil {
			part.First = d.firstRow(part.First)
			a := first
			a.share, a.source = part, selection(x, o.Tensor, part)
			quantisedBy(x, a.share)
			out = append(out, &a)
		}
	}
	for _, o := range of.Of {
		take(o, s.Share(o))
	}
	sources := trace.Sources(x.Scope, x.Known)
	waves := slices.ContainsFunc(sources, func(src trace.Source) bool { return src.Trig != nil })
	for _, o := range slices.Concat(of.ByRow, of.ByElement) {
		if part := s.ShareByRow(o); part != nil && !waves && !(len(of.Of) > 0 && selects(part.Table)) { // else rows are angles, or say which row of another constant is taken
			take(o, part)
		}
		if part := s.ShareBetween(o); part != nil && !waves {
			a := first
			a.share, a.between, a.source = part, true, trace.Source{Tensor: o.Tensor, Scope: x.Scope, Axis: part.Table.Axis}
			return []*addition{&a}
		}
	}
	out = withoutScales(out)
	from := first.resampledFrom()
	axial(out)
	first.constant = constantPlaces(out, s)
	waves = waves && s.MostlyBeside(first.constant)
	if joined := d.joinedRows(out); len(joined) > 0 && !waves && (from == nil || joined[0].coversGrid()) {
		return joined
	}
	for _, src := range sources {
		a := first
		switch {
		case src.Trig != nil:
		case from != nil && src.Tensor != nil && a.resampled(src.Tensor, [2]int(from)):
			src.Axis = a.share.Table.Axis
		default:
			continue
		}
		a.source = src
		if waves {
			return append([]*addition{&a}, tokens(out)...)
		}
		return []*addition{&a}
	}
	return nil
}

// selects reports whether each row of a table has a single one, in a column of its own, and zeros else, with which a product takes a row of what
// it is multiplied with.
func selects(t rows.Table) bool {
	m, err := t.Matrix()
	if err != nil {
		return false
	}
	taken := map[int]bool{}
	for p := range m.Rows() {
		for c := range m.Cols() {
			if x := m.At(p, c); x == 1 && !taken[c] && len(taken) == p {
				taken[c] = true
			} else if x != 0 {
				return false
			}
		}
		if len(taken) != p+1 {
			return false
		}
	}
	return true
}

// withoutScales leaves out constants of fewer numbers for each row than columns, by which others that meet in the same place are scaled:
// no other rows can be stored beside scales that stay.
func withoutScales(all []*addition) []*addition {
	kept := slices.DeleteFunc(slices.Clone(all), func(a *addition) bool {
		return a.share.Columns > a.share.Table.Inner() && trace.Scales(a.scope, a.share.Table.Tensor)
	})
	if len(kept) == 0 || len(kept) == len(all) {
		return all
	}
	for _, a := range kept {
		a.share.Stores, a.share.Scaled = false, true
	}
	return kept
}

// tokens are those of some shares that tell tokens of the model's own apart.
func tokens(all []*addition) (out []*addition) {
	for _, a := range all {
		if a.share.Places() > 1 && len(a.share.Row) > a.share.Places() {
			a.tokens = true
			out = append(out, a)
		}
	}
	return out
}

// constantPlaces tells which places of a sheet have rows of a constant.
func constantPlaces(all []*addition, s *sheet.Sheet) []bool {
	out := make([]bool, len(s.Places))
	for _, a := range all {
		for p, r := range a.share.Row {
			out[p] = out[p] || r >= 0
		}
	}
	return out
}

// grids are those of runs of places; none where one of them is no grid of rows and columns.
func grids(runs []axes.Run) (all [][2]int) {
	for _, r := range runs {
		if len(r.Grid) != 2 {
			return nil
		}
		all = append(all, [2]int(r.Grid))
	}
	return all
}

// axial reads a grid off two tables of one meeting, of which places take the rows of one again and again, and of the other one for each
// turn: position p has row p mod n of the first and row p div n of the second (axial positions, Kitaev et al. 2020, §3).
func axial(all []*addition) bool {
	if len(all) != 2 || len(all[0].runs) != 1 || all[0].runs[0].Grid != nil || len(all[0].share.Row) != len(all[1].share.Row) {
		return false
	}
	for i, fast := range all {
		n, ok := fast.share.Turns(all[1-i].share)
		if !ok {
			continue
		}
		runs := []axes.Run{{Size: len(fast.share.Row), Grid: []int{(len(fast.share.Row) + n - 1) / n, n}}}
		all[0].runs, all[1].runs = runs, runs
		all[0].turns, all[1].turns = true, true
		all[0], all[1] = all[1-i], fast
		return true
	}
	return false
}

// turning finds tables that two nodes add, of which one is for the turns of the other, and takes them for one.
func (d *detector) turning() (found bool) {
	apart := slices.DeleteFunc(slices.Clone(d.tables), func(a *addition) bool { return a.share == nil || a.share.Row == nil || a.beside != nil })
	for i, a := range apart[:min(len(apart), maxTurning)] {
		for _, b := range apart[:i] {
			pair := []*addition{b, a}
			if a.node == b.node && a.turns && b.turns { // found where they meet the data
				found = true
			}
			if a.node == b.node || a.beside != nil || b.beside != nil || !axial(pair) {
				continue
			}
			found = true
			pair[0].beside, pair[1].beside = pair, pair
			d.tables = slices.DeleteFunc(d.tables, func(t *addition) bool { return t == pair[1] })
		}
	}
	return found
}

// maxTurning bounds the tables that are held against each other.
const maxTurning = 16

// quantisedBy gives a table of whole numbers the scale and zero point that the node which adds its rows takes behind them.
func quantisedBy(x axes.Meeting, part *sheet.Share) {
	row := eval.Lookup(x.Node.Domain, x.Node.Op)
	if row == nil || row.Axes != eval.AxesQuantizedAdd || part.Table.Scale != 0 || !part.Table.Tensor.Type.IsInteger() || x.Known != x.Node.Input(x.Input) {
		return
	}
	part.Table.Scale, _ = x.Scope.Input(x.Node, x.Input+1).Scalar()
	part.Table.Zero, _ = x.Scope.Input(x.Node, x.Input+2).Scalar()
}

// scaledByPosition reports whether data were multiplied with numbers of the same shape
// just before others are added: both are a normalisation's own.
func (d *detector) scaledByPosition(x axes.Meeting) bool {
	if d.scaled == nil {
		d.scaled = map[*onnx.Node]axes.Meeting{}
		for _, y := range d.labels.Meetings {
			if y.Kind == axes.Multiplied {
				d.scaled[y.Node] = y
			}
		}
	}
	from, _ := x.Scope.Find(stateOf(x))
	y, ok := d.scaled[from]
	return ok && slices.Equal(y.Scope.Value(y.Known).Shape, x.Scope.Value(x.Known).Shape)
}

// selection is how rows of a constant are selected, as far as the nodes on the way say.
func selection(x axes.Meeting, t *onnx.Tensor, part *sheet.Share) trace.Source {
	src := trace.Source{Tensor: t, Scope: x.Scope, Axis: part.Table.Axis}
	for _, found := range trace.Sources(x.Scope, x.Known) {
		if found.Tensor == t {
			src = found
			break
		}
	}
	src.First = int64(part.First)
	return src
}

// joinedRows are the shares of one meeting that have tables of positions. Rows of tokens
// that stand before or behind a grid in constants of their own belong to the grid's table.
func (d *detector) joinedRows(all []*addition) []*addition {
	if len(all) == 0 {
		return nil
	}
	main := all[0]
	if _, _, grid := main.gridOf(); !grid && len(main.share.Row) == d.length { // of the tokens themselves, with none ahead of them
		var shares []*sheet.Share
		for _, a := range all {
			shares = append(shares, a.share)
		}
		if whole := cmp.Or(sheet.Join(shares), sheet.JoinColumns(shares, len(main.sheet.Columns))); whole != nil {
			main = all[slices.IndexFunc(all, func(a *addition) bool { return a.share.Table.Tensor == whole.Table.Tensor })]
			main.share = whole
			return []*addition{main}
		}
	}
	for _, a := range all[1:] {
		if a.share.Columns >= main.share.Columns && a.share.Places() > main.share.Places() {
			main = a
		}
	}
	return slices.DeleteFunc(all, func(a *addition) bool {
		apart := a != main
		for p, r := range a.share.Row {
			apart = apart && !(r >= 0 && main.share.Row[p] >= 0)
		}
		return apart
	})
}

// gridOf says how an addition's places lie on a grid: its sizes, and the tokens ahead of it; ok is false where there is none.
func (a *addition) gridOf() (grid []int, prefix int, ok bool) {
	for _, r := range a.runs {
		if r.Grid != nil {
			return r.Grid, prefix, true
		}
		prefix += r.Size
	}
	return nil, 0, false
}

// coversGrid reports whether the places of the grid have rows of the constant.
func (a *addition) coversGrid() bool {
	_, prefix, ok := a.gridOf()
	return ok && prefix < len(a.share.Row) && a.share.Row[prefix] >= 0
}

// resize is the node that resamples the rows before they are added; nil where there is none, or it resamples another table that is added
// with them.
func (a *addition) resize() *onnx.Node {
	n := trace.Resized(a.scope, a.name)
	if n == nil || a.source.Tensor == nil || slices.ContainsFunc(trace.Sources(a.scope, n.Input(0)), func(src trace.Source) bool { return src.Tensor == a.source.Tensor }) {
		return n
	}
	return nil
}

// tiledFrom is the grid of a table that is laid out again and again over the grid of places, as that of windows is; nil where it is not, or where another
// table tells the places apart to which it gives one row.
func (a *addition) tiledFrom() []int {
	grid, prefix, ok := a.gridOf()
	if !ok || len(grid) != 2 || a.share == nil || a.share.Row == nil || a.beside != nil {
		return nil
	}
	return a.share.Tile(prefix, [2]int(grid))
}

// resampledFrom is the grid of a table that the graph resamples to the grid of places: what
// goes into the Resize, columns first or last; nil where there is none.
func (a *addition) resampledFrom() []int {
	if a.sheet == nil {
		return nil
	}
	if a.between {
		if a.share.Table.Planar {
			return a.share.Table.Grid[:]
		}
		return nil
	}
	if grid, _, ok := a.gridOf(); ok && len(grid) != 2 {
		return nil
	}
	resize := a.resize()
	if resize == nil {
		return nil
	}
	switch shape, width := a.scope.Value(resize.Input(0)).Shape, len(a.sheet.Columns); {
	case len(shape) != 4:
		return nil
	case shape[1] == width:
		return shape[2:]
	case shape[3] == width:
		return shape[1:3]
	}
	return nil
}

// resampled takes a constant for the table of a grid of patches, alone or behind rows of
// tokens, with its columns last or first, which the graph resamples before it adds it.
func (a *addition) resampled(t *onnx.Tensor, from [2]int) bool {
	width := len(a.sheet.Columns)
	table, ok := rows.OfGrid(t, width, from)
	if !ok {
		return false
	}
	a.share = &sheet.Share{Table: table, Columns: width}
	return true
}

// embedLayerNormalization is the fused embedding of three tables; without position_ids the positions are 0 … length−1. Which of the two beside the
// tokens' is that of positions their indices say alone: those that fuse it take one for the other where both come from positions.
func (d *detector) embedLayerNormalization(s *eval.Scope, n *onnx.Node) {
	const positionTable, segmentTable = 3, 4
	positions, segments := n.Input(8), n.Input(1)
	if n.Op == "QEmbedLayerNormalization" { // scales and zero points follow the mask
		positions = ""
	}
	if positions == "" || !s.Value(positions).Uniform() { // else kinds of tokens
		d.embedded(s, n, positionTable, positions)
	}
	if _, _, counts := s.Value(segments).Counts(); counts {
		d.embedded(s, n, segmentTable, segments)
	}
}

// embedded is a table of an EmbedLayerNormalization whose rows an index takes by position.
func (d *detector) embedded(s *eval.Scope, n *onnx.Node, table int, index string) {
	name := n.Input(table)
	t := trace.Stored(s, name)
	if t == nil || len(t.Dims) != 2 {
		return
	}
	src := trace.Source{Tensor: t, Scope: s, Axis: 0, Indexed: n, Index: index, IndexAt: s}
	switch d, at := s.Find(name); {
	case n.Op == "QEmbedLayerNormalization":
		src.Scale, _ = s.Value(n.Input(6 + table)).Scalar()
		src.Zero, _ = s.Value(n.Input(11 + table)).Scalar()
	case d != nil && d.Op == "DequantizeLinear":
		src.Scale, _ = at.Value(d.Input(1)).Scalar()
		src.Zero, _ = at.Value(d.Input(2)).Scalar()
	}
	if _, first, ok := s.Value(index).Counts(); index != "" && ok {
		src.First = int64(d.firstRow(int(first)))
	}
	d.tables = append(d.tables, &addition{scope: s, node: n, name: name, source: src,
		share: &sheet.Share{Table: rows.Table{Tensor: t, Scale: src.Scale, Zero: src.Zero}, Columns: int(t.Dims[1]), First: int(src.First), Stores: true}})
}

// firstRow is the row of position 0, where the first place that was looked at has the given one: of as many tokens ahead as before, unless
// positions are counted from the call's own first token (a prefix that was learned).
func (d *detector) firstRow(row int) int {
	if ahead := d.m.FirstPosition(); row >= ahead {
		return row - ahead
	}
	return row
}

// sideOf are the axes of the grid along which alone an addition's rows differ (an image's rows; places of a video, whatever the frame); none where
// they do along all, along none, or tokens ahead of the grid have rows of the same constant.
func (a *addition) sideOf() []int {
	grid, prefix, ok := a.gridOf()
	if a.turns && len(a.share.Row) < onnx.Size(grid) { // a part of the last turn
		if a.share.Every() > 1 {
			return []int{0}
		}
		return []int{1}
	}
	if !ok || a.share == nil || a.share.Row == nil || len(a.share.Row) != prefix+onnx.Size(grid) || slices.ContainsFunc(a.share.Row[:prefix], func(r int) bool { return r >= 0 }) {
		return nil
	}
	places := *a.share
	places.Row = places.Row[prefix:]
	if sides := places.Sides(grid); len(sides) < len(grid) {
		return sides
	}
	return nil
}

// together reports whether the tables of two sides are added at once, or a picture's rows and columns one after the other.
func (d *detector) together(a, b *addition) bool {
	if a.node == b.node {
		return true
	}
	in := d.m.ImageInput()
	if in == nil || a.scope != b.scope || len(a.along) != 1 || len(b.along) != 1 {
		return false
	}
	height, width := probe.PictureSides(in)
	sides := slices.Sorted(slices.Values(slices.Concat(a.along[0].InputAxes(in.Name), b.along[0].InputAxes(in.Name))))
	after := func(a, b *addition) bool { return trace.LaidOut(a.scope, a.state) == b.node.Output(0) }
	return slices.Equal(sides, []int{height, width}) && (after(a, b) || after(b, a))
}

// crossings takes tables that tell positions apart each along an axis of its own: those that are added together (an image's rows and
// columns) are one encoding, others (time, and space) one each. Where they do not tell all apart, they are left unread.
func (d *detector) crossings() {
	var sides []*addition
	d.turning()
	d.tables = slices.DeleteFunc(d.tables, func(a *addition) bool {
		side := a.sideOf() != nil && a.beside == nil
		if side || a.free > 0 {
			sides = append(sides, a)
		}
		return side || a.free > 0
	})
	if len(sides) < 2 || !covered(sides) {
		for _, a := range sides { // of places that attend to each other, and not to those along other axes at once
			if len(a.along) == 1 && axes.Attends(a.along[0]) {
				d.tables = append(d.tables, a)
			}
		}
		return
	}
	for _, a := range sides {
		i := slices.IndexFunc(d.tables, func(b *addition) bool { return b.beside != nil && d.together(a, b) })
		switch {
		case !slices.ContainsFunc(sides, func(b *addition) bool { return b != a && d.together(a, b) }):
			d.tables = append(d.tables, a) // added by itself
		case i < 0:
			a.beside = []*addition{a}
			d.tables = append(d.tables, a)
		case !slices.ContainsFunc(d.tables[i].beside, func(b *addition) bool { return b.source.Tensor == a.source.Tensor }):
			d.tables[i].beside = append(d.tables[i].beside, a)
		}
	}
}

// covered reports whether tables tell all positions apart: those of the axes of a grid, or some along axes that others leave.
func covered(sides []*addition) bool {
	var along []axes.Axis
	of := map[int]bool{}
	for _, a := range sides {
		for _, d := range a.sideOf() {
			grid, _, _ := a.gridOf()
			if of[d] = true; len(of) == len(grid) {
				return true
			}
		}
		for _, axis := range a.along {
			if !slices.ContainsFunc(along, func(b axes.Axis) bool { return axes.Same(axis, b) }) {
				along = append(along, axis)
			}
		}
	}
	return slices.ContainsFunc(sides, func(a *addition) bool { return len(along) >= len(a.along)+a.free })
}

// runsAlong are the runs of a sheet's places: those of its only axis, or each axis as one.
func runsAlong(x axes.Meeting, s *sheet.Sheet) []axes.Run {
	if len(s.Covers) == 1 {
		return axes.Runs(x.Along[0])
	}
	whole := axes.Run{Size: len(s.Places)}
	for i := range s.Covers {
		runs := axes.Runs(x.Along[i])
		if len(runs) > 1 || runs[0].Grid != nil || runs[0].Mixed || runs[0].Size != s.Value.Shape[s.Covers[i]] {
			return []axes.Run{{Size: len(s.Places)}}
		}
		whole.Grid = append(whole.Grid, runs[0].Size)
	}
	return []axes.Run{whole}
}

// stateOf is the value that known numbers are added to: the first other input, or, of a product that the node makes itself, what it gives.
func stateOf(x axes.Meeting) string {
	if addsBehind(x) {
		return x.Node.Output(0)
	}
	for i, name := range x.Node.Inputs {
		if i != x.Input && name != "" {
			return name
		}
	}
	return ""
}
