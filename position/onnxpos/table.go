package onnxpos

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/onnxpos/origin"
	"github.com/modelpatch/modelpatch/position/onnxpos/probe"
	"github.com/modelpatch/modelpatch/position/onnxpos/rotary"
	"github.com/modelpatch/modelpatch/position/onnxpos/rows"
	"github.com/modelpatch/modelpatch/position/onnxpos/sheet"
	"github.com/modelpatch/modelpatch/position/onnxpos/site"
	"github.com/modelpatch/modelpatch/position/onnxpos/trace"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
	"github.com/modelpatch/modelpatch/schemes/fit"
)

// tableSite is an additive encoding: rows in the file, learned or computed by a formula, or a formula in the graph.
type tableSite struct {
	site.Base
	m        *site.Graph
	uses     []*addition
	sinusoid *fit.SinusoidResult
	// unexplained tells that rows are sines and cosines, by no formula that is known.
	unexplained bool
	rounded     fit.Precision  // to which its rows were rounded before they were stored, where that is coarser; "": not
	newRows     int            // rows after Store; 0: as they are
	newGrid     [2]int         // the grid after Store, of rows and columns that stand apart
	patches     *probe.Patches // what makes its patches, where it is not the first convolution
	origins     *origin.Maps   // of the graph's values
	fromEnd     bool           // the last of n positions has the last row of the table
	part        bool           // pictures get a part of its rows, and larger ones more
	cropped     *[2]sheet.Crop // the part of its table that the graph takes, before and after Crop
	alongTime   bool           // its rows tell frames of a video apart, and nothing else
	onto        *addition      // what is added to the state first, of the same formula; nil: nothing
	crossed     []int          // rows of its tables, one an axis of a grid (rows and columns, time and space); nil: one table
}

// findTables makes a site of each table that is added.
func findTables(m *Model, d *detector) []site.Site {
	d.crossings()
	byTensor := map[*onnx.Tensor]*tableSite{}
	computed := map[value]*tableSite{}
	var all []*tableSite
	copies := rows.Copies{Spend: m.graph.SpendElements}
	for _, a := range d.tables {
		if a.source.Trig != nil {
			of := value{a.scope, a.name}
			if computed[of] == nil {
				computed[of] = &tableSite{m: m.graph, origins: d.origins}
				all = append(all, computed[of])
			}
			computed[of].uses = append(computed[of].uses, a)
			continue
		}
		if t := byTensor[a.source.Tensor]; t != nil {
			t.uses = append(t.uses, a)
			continue
		}
		if twin := byTensor[copies.Of(a.source.Tensor)]; twin != nil {
			twin.uses = append(twin.uses, a)
			byTensor[a.source.Tensor] = twin
			continue
		}
		site := &tableSite{m: m.graph, origins: d.origins, uses: []*addition{a}}
		slices.SortStableFunc(a.beside, func(a, b *addition) int { return m.sideOf(a) - m.sideOf(b) }) // rows, then columns
		for _, b := range a.beside {
			site.crossed = append(site.crossed, b.share.Table.Len())
			byTensor[b.source.Tensor] = site
		}
		byTensor[a.source.Tensor] = site
		all = append(all, site)
	}
	for _, t := range all {
		t.describe(d)
		if a := t.uses[0]; len(a.along) == 1 {
			t.alongTime = d.labels.OnlyFrom(a.along[0], m.graph.IsFrames)
		}
	}
	all = mergeFormulas(stacked(all))
	var sites []site.Site
	for _, t := range all {
		sites = append(sites, t)
	}
	m.laterPatches(all)
	return sites
}

// sideOf is the axis of the grid, or of the picture, along which a table tells places apart; 0 where it is not told.
func (m *Model) sideOf(a *addition) int {
	if sides := a.sideOf(); sides != nil {
		return sides[0]
	}
	if in := m.graph.ImageInput(); in != nil && len(a.along) == 1 {
		if from := a.along[0].InputAxes(in.Name); len(from) == 1 {
			return from[0]
		}
	}
	return 0
}

// stacked puts the places together where the graph adds the columns of one formula one after another: sines to the state, then cosines to
// what that gives.
func stacked(all []*tableSite) []*tableSite {
	open := func(t *tableSite) bool {
		return t.uses[0].source.Trig != nil && t.Detected.Scheme.Name() == report.SchemeUnknown
	}
	under := map[*onnx.Node]*tableSite{}
	for _, t := range all {
		if open(t) {
			under[t.uses[0].node] = t
		}
	}
	for _, t := range slices.Clone(all) {
		use := t.uses[0]
		before, _ := use.scope.Find(use.state)
		o := under[before]
		if !open(t) || o == nil || o == t || !slices.Equal(o.uses[0].sheet.Value.Shape, use.sheet.Value.Shape) {
			continue
		}
		t.onto = o.uses[0]
		if t.describeRuntime(); open(t) {
			t.onto = nil
			continue
		}
		t.uses = append(t.uses, o.uses...)
		all = slices.DeleteFunc(all, func(other *tableSite) bool { return other == o })
	}
	return all
}

// with are rows, and what is added to them before.
func (t *tableSite) with(m rows.Matrix, before func(*addition) rows.Matrix) rows.Matrix {
	if t.onto == nil {
		return m
	}
	more := before(t.onto)
	for r := range min(len(m), len(more)) {
		m[r] = slices.Clone(m[r])
		for c := range min(len(m[r]), len(more[r])) {
			m[r][c] += more[r][c]
		}
	}
	return m
}

// mergeFormulas puts the places together where the graph computes rows by one formula: it may do so for every layer.
func mergeFormulas(all []*tableSite) (out []*tableSite) {
	var computed []*tableSite
	for _, t := range all {
		if t.uses[0].source.Trig == nil {
			out = append(out, t)
			continue
		}
		t.m.SpendElements(len(computed))
		twin := slices.IndexFunc(computed, func(o *tableSite) bool {
			return o.Detected.Scheme.Equal(t.Detected.Scheme) || t.Detected.Scheme.Name() == report.SchemeUnknown && o.uses[0].source.Trig == t.uses[0].source.Trig // what the graph makes of the same sines
		})
		if twin >= 0 {
			computed[twin].uses = append(computed[twin].uses, t.uses...)
			continue
		}
		computed = append(computed, t)
		out = append(out, t)
	}
	return out
}

// tensors are the constants that hold the table: one, or equal copies, and those of other axes of positions.
func (t *tableSite) tensors() (out []*onnx.Tensor) {
	for _, table := range t.Tables() {
		out = append(out, table.Tensor)
	}
	return out
}

// parts are the constants that hold the rows: those of tensors, and others that the graph joins with them.
func (t *tableSite) parts() []*onnx.Tensor {
	out := t.tensors()
	if share := t.uses[0].share; share != nil {
		out = append(out, share.Table.Parts()[1:]...)
	}
	return out
}

func (t *tableSite) rows() rows.Table { return t.uses[0].share.Table }

func (t *tableSite) describe(d *detector) {
	use := t.uses[0]
	if use.source.Trig != nil {
		t.describeRuntime()
		return
	}
	table := t.rows()
	e := position.Encoding{Form: report.FormTable, Beyond: report.BeyondError, Dtype: use.source.Tensor.Type.String()}
	picked := use.source.Indexed != nil || t.m.CallsOf(t.m.Eval) != nil                                         // by an index, or by what differs from call to call
	some := t.ofText() && t.m.FixedLength() == 0 && len(use.share.Row) > 0 && len(use.share.Row) != table.Len() // of its rows, as the length is, or all of them again and again
	if !picked && !some || use.source.Index != "" && t.constantIndex() || use.node.Op != "Concat" && t.m.ImageInput() != nil && t.Resampled() {
		e.Form = report.FormBaked // one length, whatever the input
	}
	offset := use.share.First
	learned := schemes.Learned{Rows: table.Len(), Dim: use.share.Columns, Offset: offset}
	if t.crossed != nil && t.ofText() {
		learned.Rows = onnx.Size(t.crossed)
		e.Form = report.FormTable
	}
	e.Capacity = learned.Rows - offset
	if every := use.share.Every(); every > 1 && len(d.tables) == 1 && use.beside == nil { // else others may be for the turns
		whole := sheet.Share{Row: use.rowsAt(t.m.At(e.Capacity*every), t.origins)}
		if n := len(whole.Row); n == e.Capacity*every && whole.Every() == every && whole.Row[n-1] == table.Len()-1 {
			e.Capacity = n
		}
	}
	for _, c := range t.parts() {
		e.Where = append(e.Where, t.m.Where(c))
	}
	e.Evidence = append(e.Evidence, report.Evidence{Kind: "structure", Says: t.usedHow()})
	if n := len(table.Parts()) - 1; n > 0 {
		e.Evidence = append(e.Evidence, report.Evidence{Kind: "structure", Says: fmt.Sprintf("its numbers stand in %d constants, which the graph joins", n+1)})
	}
	e.Scheme = learned
	e.Apart = use.source.Index != "" && probe.IsColumn(t.m.File, use.source.Index)
	t.fitRows(&e)
	if use.tokens {
		e.Form, e.Capacity, e.Beyond = report.FormBaked, 0, report.BeyondContinues
		e.Evidence[0].Says += ": rows of tokens beside places whose numbers the graph computes"
	}
	t.Detected = e
	if t.sinusoid != nil || use.tokens {
		return
	}
	grid, prefix, total := t.grid(d)
	if grid != nil || t.m.ImageInput() != nil {
		if s, fits := t.gridFormula(table, grid, prefix); fits {
			e.Scheme, e.Capacity, e.Factor = s.Sinusoid, onnx.Size(s.Sinusoid.Grid), t.factor()
			if !t.m.FreeImage() && grid != nil {
				e.Capacity = onnx.Size(grid) // a crop of the table
			}
			e.Evidence[len(e.Evidence)-1] = report.Evidence{Kind: "fit", Says: "rows are " + s.Sinusoid.String(), Residual: site.Residual(s.Residual)}
		}
	}
	_, waves := e.Scheme.(schemes.Sinusoid)
	if t.unexplained && !waves {
		e.Scheme = schemes.Other{Kind: report.SchemeUnknown, Dim: learned.Dim}
		e.Evidence[len(e.Evidence)-1].Says = noBase
		t.Detected = e
		return
	}
	if grid != nil && !waves {
		learned.Offset, learned.Grid, learned.Prefix, learned.Rows = 0, grid, prefix, total
		e.Scheme, e.Capacity = learned, onnx.Size(grid)
	}
	if _, _, ok := use.gridOf(); !waves && (use.between || !ok && grid != nil && t.Resampled() || use.tiledFrom() != nil) { // patches that come as rows take what lies between; windows take it again
		e.Capacity = max(e.Capacity, len(use.sheet.Places)-prefix)
		main := t.m.Main() // of one size, it is what bounds the length, and not what rows lie between
		e.Apart = e.Apart || use.between && grid == nil && main != nil && !slices.ContainsFunc(main.Dims, func(d onnx.Dim) bool { return d.Value < 0 })
	}
	t.Detected = e
}

// fitRows tells whether a formula of sines explains the rows.
func (t *tableSite) fitRows(e *position.Encoding) {
	table := t.rows()
	m, err := table.Matrix()
	if table.Uneven && t.uses[0].sheet != nil {
		m, err = t.uses[0].sheet.Matrix(), nil
	}
	if err != nil {
		return
	}
	t.m.SpendElements(m.Rows() * m.Cols())
	var r fit.SinusoidResult
	ok := false
	for i, stored := range fit.Precisions(t.precision(), m) {
		if r, ok = fit.AdditiveTable(m, stored); ok {
			if i > 0 {
				t.rounded = stored
			}
			break
		}
	}
	if ok {
		t.sinusoid = &r
		s := r.Sinusoid
		s.Rows, s.Offset = table.Len(), t.uses[0].share.First
		e.Scheme, e.Factor = s, t.factor()
		e.Evidence = append(e.Evidence, report.Evidence{Kind: "fit", Says: "rows are " + s.String(), Residual: site.Residual(r.Residual)})
	} else if !t.m.IsFilled(table.Tensor) {
		e.Evidence = append(e.Evidence, report.Evidence{Kind: "fit", Says: "no formula explains the rows: trained"})
	}
	t.unexplained = !ok && fit.OnCircles(m, t.precision())
}

// factorTolerance is the relative difference within which all numbers of a row are the same multiple of the table's: rounding to 32 bits, once, and
// to 16.
const (
	factorTolerance     = 1e-6
	halfFactorTolerance = 1e-3
)

// factor is by how much the graph multiplies all rows of the table before it adds them; 0 where it does not, or that is not one number, or not known.
func (t *tableSite) factor() float64 {
	u := t.uses[0]
	if u.source.Tensor == nil {
		return 0
	}
	table, err := t.rows().Matrix()
	if err != nil || u.sheet == nil || !u.sheet.Value.Known() || len(u.share.Row) != len(u.sheet.Places) {
		return 0
	}
	by, largest, tolerance := 1.0, 0.0, factorTolerance
	if u.sheet.Value.Type != onnx.Float && u.sheet.Value.Type != onnx.Double {
		tolerance = halfFactorTolerance
	}
	each := func(visit func(added, row float64)) {
		for p, row := range u.share.Row {
			for c := 0; row >= 0 && row < table.Rows() && c < min(u.share.Columns, table.Cols(), len(u.sheet.Columns)-u.share.From); c++ {
				visit(u.sheet.Value.Number(u.sheet.Places[p]+u.sheet.Columns[u.share.From+c]), table.At(row, c))
			}
		}
	}
	each(func(added, row float64) {
		if math.Abs(row) > largest {
			by, largest = added/row, math.Abs(row)
		}
	})
	one := largest > 0 && math.Abs(by-1) > tolerance
	each(func(added, row float64) { one = one && math.Abs(added-by*row) <= tolerance*math.Abs(by)*largest })
	if !one {
		return 0
	}
	return by
}

// grid reads an image's patch grid off the axis that the table is added along: sizes of its
// axes, tokens ahead of it, and all rows; nil where positions lie along no grid.
func (t *tableSite) grid(d *detector) (grid []int, prefix, total int) {
	use := t.uses[0]
	if in := t.m.TokenInput(); use.sheet == nil || t.ofText() || in != nil && len(in.Dims) == 4 {
		return nil, 0, 0 // windows of text are no grid, nor are several tokens a step
	}
	if t.crossed != nil {
		if whole, _, ok := use.gridOf(); ok && len(whole) > len(t.crossed) { // of a table for several axes at once
			return whole, 0, use.share.Table.Len()
		}
		return t.crossed, 0, use.share.Table.Len()
	}
	grid, prefix, ok := use.gridOf()
	if from := use.resampledFrom(); use.between || !ok && from != nil { // for patches that come as rows, or by arithmetic
		return from, 0, onnx.Size(from)
	}
	if !ok || t.m.TokenMatrix() != nil && t.m.Grows(t, t.m.At(d.length+1)) {
		return nil, 0, 0 // or a text beside patches, of as many tokens as are given
	}
	total = len(use.sheet.Places)
	if h, w := t.m.PatchesIn(d.e); len(grid) == 2 && (grid[0] != h || grid[1] != w) {
		t.patches = d.mapOf(use.node, grid[0], grid[1])
	}
	if tile := use.tiledFrom(); tile != nil {
		return tile, 0, use.share.Table.Len()
	}
	if t.Resampled() { // what the table holds counts, not the picture
		if from := use.resampledFrom(); from != nil && !slices.Equal(from, grid) {
			return from, prefix, total - onnx.Size(grid) + onnx.Size(from)
		}
	}
	return grid, prefix, total
}

// ofText reports whether the table's positions are those of tokens.
func (t *tableSite) ofText() bool { return t.m.TokenMatrix() != nil && t.m.ImageInput() == nil }

// gridFormula explains an image's rows by sines and cosines of rows and columns
// of the grid, or of any where patches are not cut by a convolution.
func (t *tableSite) gridFormula(rows rows.Table, grid []int, prefix int) (fit.SinusoidResult, bool) {
	m := rows.Whole()
	if m == nil {
		return fit.SinusoidResult{}, false
	}
	if !rows.Planar && len(grid) == 2 {
		if whole, _, part := t.uses[0].share.Whole([2]int(grid), prefix); part {
			grid = whole[:]
		}
	}
	for i, stored := range fit.Precisions(t.precision(), m) {
		shapes := [][]int{grid}
		if rows.Planar {
			shapes = [][]int{rows.Grid[:], grid}
		}
		for _, shape := range shapes {
			if r, ok := fit.GridTable(m, stored, shape); ok {
				if i > 0 {
					t.rounded = stored
				}
				return r, true
			}
		}
	}
	r, ok := fit.Levels(m, grids(t.uses[0].runs)) // with rows of their own, which no formula stores again
	t.uses[0].share.Stores = t.uses[0].share.Stores && !ok
	return r, ok
}

func (t *tableSite) precision() fit.Precision { return t.rows().Precision() }

func (t *tableSite) usedHow() string {
	src, does := t.uses[0].source, "adds it"
	if t.uses[0].node.Op == "Mul" {
		does = "multiplies the state with it, or with what is made of it"
	}
	if t.crossed != nil && t.ofText() {
		return fmt.Sprintf("%s adds a row of one table for p div %d and a row of another for p mod %d to position p", t.uses[0].node.Title(), t.crossed[1], t.crossed[1])
	}
	if t.uses[0].node.Op == "Concat" && src.Indexed != nil {
		return fmt.Sprintf("%s takes row p + %d for position p; %s puts it beside the state's columns", src.Indexed.Title(), src.First, t.uses[0].node.Title())
	}
	if t.uses[0].tiledFrom() != nil {
		return fmt.Sprintf("a constant is laid out again and again over the picture's patches, as windows lie, and added by %s", t.uses[0].node.Title())
	}
	if t.Resampled() {
		return fmt.Sprintf("a constant is resampled to the picture's patches and added by %s", t.uses[0].node.Title())
	}
	if src.Indexed == nil && t.turnsAlready() {
		return fmt.Sprintf("position p gets row p mod %d; %s %s", t.rows().Len(), t.uses[0].node.Title(), does)
	}
	if share := t.uses[0].share; src.Indexed == nil && len(share.Row) > 1 && len(share.Row) < share.Table.Len() && share.Row[1] == share.Row[0]+1 {
		return fmt.Sprintf("position p gets row p + %d; %s %s", share.First, t.uses[0].node.Title(), does)
	}
	if src.Indexed == nil {
		return fmt.Sprintf("a constant of this length is added whole by %s", t.uses[0].node.Title())
	}
	return fmt.Sprintf("%s takes row p + %d for position p; %s %s", src.Indexed.Title(), src.First, t.uses[0].node.Title(), does)
}

// constantIndex reports whether the table is gathered by a constant list.
func (t *tableSite) constantIndex() bool {
	src := t.uses[0].source
	return src.IndexAt.Tensor(src.Index) != nil
}

// describeRuntime judges a sinusoid that the graph computes: from its values at a longer length, where the formula can be told.
func (t *tableSite) describeRuntime() {
	e := position.Encoding{Form: report.FormRuntime, Beyond: report.BeyondContinues, Dtype: ""}
	use := t.uses[0]
	e.Where = []report.Where{{Node: use.source.Trig.Title()}}
	s := schemes.Sinusoid{Dim: len(use.sheet.Columns)}
	if r, says := t.computed(); says != "" {
		s = r.Sinusoid
		s.Rows = 0
		e.Evidence = append(e.Evidence, report.Evidence{Kind: "fit", Says: says + s.String(), Residual: site.Residual(r.Residual)})
	}
	e.Scheme = s
	if s.Base == 0 { // sines of frequencies that nobody's formula gives
		e.Scheme = schemes.Other{Kind: report.SchemeUnknown, Dim: s.Dim}
		e.Evidence = append(e.Evidence, report.Evidence{Kind: "fit", Says: noBase})
	}
	t.Detected = e
}

// noBase is what is told of sines and cosines that no formula explains.
const noBase = "sines and cosines of positions are added, and no base explains their frequencies"

// coarser is the precision of numbers that were computed in one, and stored in the type of a value, or in one of fewer bits ahead of that.
func coarser(v *eval.Value, m rows.Matrix, p fit.Precision) fit.Precision {
	if v.Type == onnx.Float16 || v.Type == onnx.BFloat16 {
		return rows.Precision(v.Type)
	}
	all := fit.Precisions(p, m)
	return all[len(all)-1]
}

// computed explains rows that the graph computes: of a longer input, of a grid of patches, or of one that
// is not told, whose places may be apart by any number. says is how they are explained, "" where they are not.
func (t *tableSite) computed() (r fit.SinusoidResult, says string) {
	use := t.uses[0]
	stored, length := rotary.TrigPrecision([]trace.Source{use.source}), runtimeFitLength
	if v := use.sheet.Value; coarser(v, use.sheet.Matrix(), fit.Float32) != stored {
		length = roundedFitLength
	}
	for i, name := range []string{use.name, trace.BeforeWeights(use.scope, use.name)} {
		v := t.m.Longer(use.scope, name, length)
		if v == nil || !v.Known() || trace.PositionAxis(v) < 0 {
			continue
		}
		whole := t.with(trace.RowsOf(v, trace.PositionAxis(v)), func(a *addition) rows.Matrix {
			if v := t.m.Longer(a.scope, a.name, length); v != nil && v.Known() && trace.PositionAxis(v) >= 0 {
				return trace.RowsOf(v, trace.PositionAxis(v))
			}
			return nil
		})
		for _, from := range []string{"", "counted from the end, "} {
			if r, ok := fit.AdditiveTable(sheet.Cleared(whole, use.constant), coarser(v, whole, stored)); ok && r.Sinusoid.Base > 0 {
				return r, from + []string{rowsAre, weightsOf}[i]
			}
			if slices.Reverse(whole); len(whole) == 0 || !begins(whole[0]) {
				break
			}
		}
	}
	m := sheet.Cleared(t.with(use.sheet.Matrix(), func(a *addition) rows.Matrix { return a.sheet.Matrix() }), use.constant)
	p := coarser(use.sheet.Value, m, stored)
	if grid, prefix, ok := use.gridOf(); ok {
		if r, ok := fit.GridTable(m[:min(prefix+onnx.Size(grid), len(m))], p, grid); ok {
			return r, rowsAre
		}
		if before := trace.GridBeforeWeights(use.scope, use.name, onnx.Size(grid)); before != nil {
			if r, ok := fit.GridTable(rows.Matrix(before), p, grid); ok {
				return r, weightsOf
			}
		}
	}
	if r, ok := fit.Levels(m, grids(use.runs)); ok {
		return r, "behind one another, of several sizes, " + rowsAre
	}
	if r, ok := fit.AdditiveTable(m, p); ok && r.Sinusoid.Base > 0 {
		return r, rowsAre
	}
	if r, ok := fit.GridTable(m, p, nil); ok {
		return r, rowsAre
	}
	r, ok := fit.GridTable(m, p, []int{m.Rows()})
	r.Sinusoid.Grid, r.Sinusoid.AxisColumns, r.Sinusoid.Step = nil, nil, 0
	if !ok {
		return r, ""
	}
	return r, rowsAre
}

// begins reports whether a row is that of position 0: half of it, of sines, is zero.
func begins(row []float64) bool {
	zeros := 0
	for _, x := range row {
		if math.Abs(x) < 1e-6 {
			zeros++
		}
	}
	return 2*zeros >= len(row)
}

// rowsAre begins what is told of computed rows, and weightsOf of those that weights are multiplied with.
const (
	rowsAre   = "computed rows are "
	weightsOf = "weights are multiplied with computed rows that are "
)

// runtimeFitLength is the length at which formulas computed by the graph are evaluated for a fit; roundedFitLength that of frequencies which
// were rounded to fewer bits than what is made of them: more would be told of them than is meant.
const (
	runtimeFitLength = 64
	roundedFitLength = 12
)

// Len is the number of rows of the table as the file has it.
func (t *tableSite) Len() int {
	if t.uses[0].source.Tensor == nil {
		return 0
	}
	return t.rows().Len()
}

// Dim is the number of columns, 0 where they are more than any model has.
func (t *tableSite) Dim() int {
	if t.uses[0].source.Tensor == nil {
		return 0
	}
	if n := t.rows().Dim(); n <= rows.MaxColumns {
		return n
	}
	return 0 // a mere claim
}

// Row reads a row of the table as the file has it.
func (t *tableSite) Row(i int, dst []float64) error {
	if t.uses[0].source.Tensor == nil {
		return fmt.Errorf("no table: the graph computes the rows")
	}
	return t.rows().Row(i, dst)
}

// Overlay gives the evaluator the rows that are stored in place of the file's.
func (t *tableSite) Overlay(into map[*onnx.Tensor]*eval.Value) {
	if t.newRows == 0 {
		return
	}
	rows := t.rows()
	for _, c := range t.tensors() {
		shape := make([]int, len(c.Dims))
		for i, n := range c.Dims {
			shape[i] = int(n)
		}
		shape[rows.Axis] = t.newRows
		if rows.Planar {
			shape[rows.Axis], shape[rows.Axis+1] = t.newGrid[0], t.newGrid[1]
		}
		v := eval.Shaped(c.Type, shape...)
		v.Origins = []*onnx.Tensor{c}
		into[c] = v
	}
}

// Tables are the constants that hold the rows, each as its use reads it: one, or equal copies, and those of other axes of positions.
func (t *tableSite) Tables() (out []rows.Table) {
	for _, u := range slices.Concat(t.uses, t.uses[0].beside) {
		c := u.source.Tensor
		if c == nil || u.share == nil || slices.ContainsFunc(out, func(t rows.Table) bool { return t.Tensor == c }) {
			continue
		}
		out = append(out, u.share.Table.Of(c))
	}
	return out
}

// Owned are the same constants, and others whose rows follow.
func (t *tableSite) Owned() []*onnx.Tensor { return t.parts() }

// Indices are the sources of the rows.
func (t *tableSite) Indices() []trace.Source {
	var out []trace.Source
	for _, u := range t.uses {
		out = append(out, u.source)
	}
	return out
}

// State is the value that the rows are added to.
func (t *tableSite) State() (*eval.Scope, string, int) {
	if t.uses[0].state == "" {
		return nil, "", 0
	}
	u, axis := t.uses[0], 2
	if u.sheet != nil && len(u.sheet.Covers) == 1 { // columns may stand ahead of positions
		axis = len(u.sheet.Value.Shape) - u.sheet.Covers[0]
	}
	return u.scope, u.state, axis
}

// Fused reports whether the operator that adds the rows also selects them.
func (t *tableSite) Fused() bool {
	return strings.HasSuffix(t.uses[0].node.Op, "EmbedLayerNormalization")
}

// SetBeyond notes what a probe showed beyond the table.
func (t *tableSite) SetBeyond(beyond string, evidence ...report.Evidence) {
	t.Detected.Beyond = beyond
	t.Detected.Evidence = append(t.Detected.Evidence, evidence...)
}

// Resampled reports whether the graph itself resamples the table before it adds it, or lays it out again and again.
func (t *tableSite) Resampled() bool {
	return t.uses[0].between || t.uses[0].resize() != nil || t.uses[0].tiledFrom() != nil
}
