// Package rotary finds rotary position encodings in an ONNX graph and changes them:
// caches of cosines and sines, constants of one length, and frequencies that the
// graph multiplies with positions. A Search is told of the nodes that may turn pairs
// of elements and gives the sites; Site reads and stores.
package rotary

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/onnxpos/attention"
	"github.com/modelpatch/modelpatch/position/onnxpos/origin"
	"github.com/modelpatch/modelpatch/position/onnxpos/probe"
	"github.com/modelpatch/modelpatch/position/onnxpos/rows"
	"github.com/modelpatch/modelpatch/position/onnxpos/site"
	"github.com/modelpatch/modelpatch/position/onnxpos/trace"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
	"github.com/modelpatch/modelpatch/schemes/fit"
)

// Site is a rotary encoding: cos and sin caches in the file, constants
// of one length, or a computation from frequencies.
type Site struct {
	site.Base
	m         *site.Graph
	found     *Search // that found it
	uses      []*rotation
	scheme    schemes.Rotary
	amplitude float64
	turning   bool                   // rows before a grid turn by angles of their own
	shuffled  bool                   // places of the grid stand in another order than row after row
	part      bool                   // it turns a part of each head, along some axes of a grid
	places    [2]fit.Matrix          // of several coordinates: cosines and sines of each place
	given     map[string]*eval.Value // what cosines and sines of a grid become, without content
	// caches are the tables, where the form is cache or baked: one entry for
	// each pair of tables that hold the same or, with LongRoPE, other rows.
	caches       []*rows.Cache
	short        *rows.Cache              // of LongRoPE's two, the one that ends at the original length
	trig         []trace.Source           // Cos and Sin nodes, where the form is runtime
	turns        map[trigKey]bool         // trig as a set
	pairs        map[[2]*onnx.Tensor]bool // caches as a set
	heads        int                      // the head size of the uses, 0 while none tells
	newPositions int                      // after Store; 0: as they are
	cut          bool                     // newPositions are all that stay
	known        []float64                // frequencies of the graph, once read
	looked       bool                     // window is known
	window       schemes.SlidingWindow
}

// Find groups rotations that turn by the same numbers into sites.
func (m *Search) Find() []site.Site {
	byKey := map[string][]*Site{}
	var all []*Site
	var sites []site.Site
	for _, r := range m.rotations {
		if r.guessed && slices.ContainsFunc(m.rotations, func(o *rotation) bool { return !o.guessed && o.cos == r.sin && o.sin == r.cos }) { // the other half says it
			r.cos, r.sin, r.cosValue, r.sinValue = r.sin, r.cos, r.sinValue, r.cosValue
		}
		key := rotationKey(r)
		if key == "" {
			continue
		}
		i := slices.IndexFunc(byKey[key], func(s *Site) bool {
			return s.heads == r.headDim || s.heads == 0 || r.headDim == 0 || r.projected || s.projected()
		})
		if i < 0 {
			site := &Site{m: m.graph, found: m}
			all = append(all, site)
			byKey[key] = append(byKey[key], site)
			i = len(byKey[key]) - 1
		}
		site := byKey[key][i]
		if site.heads == 0 || site.projected() && r.headDim > 0 {
			site.heads = max(r.headDim, 0)
		}
		site.uses = append(site.uses, r)
	}
	for _, r := range all {
		r.describe()
	}
	for _, r := range mergeShifted(all) {
		if !r.still() {
			sites = append(sites, r)
		}
	}
	return sites
}

// projected reports whether weights stand behind all that a site turns: no head is seen there.
func (r *Site) projected() bool {
	return !slices.ContainsFunc(r.uses, func(u *rotation) bool { return !u.projected })
}

// mergeShifted puts sites together that are one encoding at other positions: queries that begin
// behind the keys of a window, say; and those that no formula explains, which turn as many columns in one way
// (frequencies of each layer, or a part of each head for an axis of a video).
func mergeShifted(all []*Site) (out []*Site) {
	for _, r := range all {
		twin := slices.IndexFunc(out, func(o *Site) bool {
			r.m.SpendElements(r.scheme.Pairs())
			if len(r.caches) > 0 || len(o.caches) > 0 {
				baked := r.Detected.Form == report.FormBaked && o.Detected.Form == report.FormBaked && sameRotation(o, r)
				alike := r.unexplained() && o.unexplained() && reflect.DeepEqual(o.scheme, r.scheme) && o.Detected.Rows == r.Detected.Rows
				rounded := maps.Equal(o.pairs, r.pairs) && sameRotation(o, r) // on the way from the same tables
				return len(r.caches) > 0 && len(o.caches) > 0 && (baked || alike || rounded)
			}
			return sameRotation(o, r) || r.unexplained() && reflect.DeepEqual(o.scheme, r.scheme) ||
				r.part && o.part && slices.Equal(r.scheme.Grid, o.scheme.Grid) && r.heads == o.heads && r.scheme.Dim+o.scheme.Dim <= r.heads
		})
		if twin < 0 {
			out = append(out, r)
			continue
		}
		o, first, second := out[twin], out[twin].uses, r.uses
		if waveKindBy(first[0].sinValue) != isSine { // the other begins at no position
			first, second = second, first
		}
		out[twin] = &Site{m: o.m, found: o.found, uses: slices.Concat(first, second), heads: max(o.heads, r.heads)}
		out[twin].describe()
	}
	return out
}

// unexplained reports whether no formula gives what a site turns by.
func (r *Site) unexplained() bool {
	return r.scheme.Base == 0 && len(r.scheme.Scaling.Frequencies) == 0 && r.scheme.Scaling.LongFactor == nil
}

// sameRotation reports whether two sites turn alike, but for the rounding of frequencies and factors that
// were measured, and for the size of heads where one does not see them.
func sameRotation(o, r *Site) bool {
	a, b := o.scheme, r.scheme
	if !sameFrequencies(a.InverseFrequencies(), b.InverseFrequencies()) {
		return false
	}
	a.Scaling.Frequencies, b.Scaling.Frequencies = nil, nil
	if x, y := a.Scaling.AttentionFactor, b.Scaling.AttentionFactor; math.Abs(x-y) <= roundedFactor*math.Abs(x) {
		a.Scaling.AttentionFactor = y
	}
	if o.heads == 0 || r.heads == 0 {
		a.HeadDim = b.HeadDim
	}
	return reflect.DeepEqual(a, b)
}

// roundedFactor is how far apart factors are, relative to them, one of which is read off numbers of half precision.
const roundedFactor = 1e-3

// still reports whether caches turn nothing: all cosines are one, all sines zero.
func (r *Site) still() bool {
	if len(r.caches) == 0 {
		return false
	}
	for _, c := range r.caches {
		if c.Fitted && c.Result.Rotary.Base > 0 || c.Cos.Tensor == c.Sin.Tensor {
			return false
		}
		for _, t := range []struct {
			table rows.Table
			all   float64
		}{{c.Cos, 1}, {c.Sin, 0}} {
			row := make([]float64, t.table.Dim())
			for i := range min(t.table.Len(), rows.MaxFitRows) {
				r.m.SpendElements(len(row))
				if t.table.Row(i, row) != nil || slices.ContainsFunc(row, func(x float64) bool { return x != t.all }) {
					return false
				}
			}
		}
	}
	return true
}

// headDim is the head size of the uses, 0 when none tells.
func (r *Site) headDim() int { return r.heads }

// trigKey is a Cos or Sin node of a scope.
type trigKey struct {
	scope *eval.Scope
	node  *onnx.Node
}

// rotationKey tells encodings apart: by the sines of one position and the
// layout; by the tables where the values are not known.
func rotationKey(r *rotation) string {
	v := r.sinValue
	if v.Known() && v.Floats != nil && trace.PositionAxis(v) >= 0 {
		half := !r.packed && r.layout == schemes.LayoutHalf
		return r.layout + " " + eval.Ask(v, fmt.Sprintf("second row, half: %v", half), func() string {
			row := trace.RowsOf(v, trace.PositionAxis(v))[1]
			if half {
				row = row[:len(row)/2]
			}
			sign := 1.0 // one half of a pair has −sin where the other has sin
			if first := slices.IndexFunc(row, func(x float64) bool { return x != 0 }); first >= 0 && row[first] < 0 {
				sign = -1
			}
			var key strings.Builder
			for _, x := range row {
				fmt.Fprintf(&key, "%.4g ", sign*x)
			}
			return key.String()
		})
	}
	for _, src := range trace.Sources(r.scope, r.cos) {
		if src.Tensor != nil {
			return fmt.Sprintf("%s %p", r.layout, src.Tensor)
		}
	}
	return ""
}

func (r *Site) describe() {
	r.find()
	e := position.Encoding{Beyond: report.BeyondContinues, Form: report.FormRuntime}
	switch {
	case len(r.caches) > 0:
		r.describeCaches(&e)
	default:
		r.describeRuntime(&e)
	}
	use := r.uses[0]
	if r.scheme.Grid == nil && r.scheme.Base == 0 {
		r.alongOneAxis(&e)
	}
	r.scheme.Layout, r.scheme.HeadDim = use.layout, cmp.Or(r.headDim(), r.scheme.Dim)
	r.scheme.Scaling = r.scheme.Scaling.WithAttentionFactor(r.scheme.Scaling.AttentionFactor)
	if r.scheme.Dim > 0 && e.Form == report.FormRuntime && !r.scheme.OwnFrequencies && r.scheme.Grid == nil {
		r.scheme.Sections, r.scheme.InterleavedSections = r.sections()
		if n := r.partsOfHead(); n > 1 && r.scheme.Sections == nil {
			r.scheme.Sections, r.scheme.OwnFrequencies = slices.Repeat([]int{r.scheme.Pairs()}, n), true
			r.scheme.Dim *= n
		}
	}
	if sections := ownSections(use); sections != nil {
		r.scheme.Sections, r.scheme.InterleavedSections = sections, use.node.Int("mrope_layout", 0) == 1
	}
	if first := r.uses[0].factor; slices.ContainsFunc(r.uses, func(u *rotation) bool { return u.factor != first }) {
		e.Evidence = append(e.Evidence, report.Evidence{Kind: "structure", Says: "behind their cosines and sines, some of what is turned is multiplied with other numbers than the rest: queries, or layers"})
	}
	if f := r.factor(); f > 0 && len(r.caches) > 0 {
		e.Evidence = append(e.Evidence, report.Evidence{Kind: "structure", Says: fmt.Sprintf("behind the tables, what is turned is multiplied with %.6g, which is no part of them and stays", f)})
	}
	e.Scheme = r.scheme
	e.Evidence = append(e.Evidence, report.Evidence{Kind: "structure", Says: fmt.Sprintf("%s turns queries or keys (%d places)", use.node.Title(), len(r.uses))})
	r.Detected = e
}

// find collects the tables or the trigonometric nodes behind all uses.
func (r *Site) find() {
	for _, u := range r.uses {
		cos, sin := trace.Sources(u.scope, u.cos), trace.Sources(u.scope, u.sin)
		for _, src := range append(slices.Clone(cos), sin...) {
			if key := (trigKey{src.Scope, src.Trig}); src.Trig != nil && !r.turns[key] {
				if r.turns == nil {
					r.turns = map[trigKey]bool{}
				}
				r.turns[key] = true
				r.trig = append(r.trig, src)
				src.Scope.Enlarge(src.Trig.Input(0)) // of a long fixed length
			}
		}
		c, s := r.tablesOf(cos, u), r.tablesOf(sin, u)
		r.addCaches(u, r.taken(u, u.cos, c, s), r.taken(u, u.sin, s, c))
	}
	if len(r.trig) > 0 {
		r.caches = nil
	}
}

// tablesOf keeps the sources that are tables of rows: selected by position,
// given whole, or some columns of theirs, to a fused operator that selects itself, or of this length.
func (r *Site) tablesOf(found []trace.Source, u *rotation) []rows.Table {
	var out []rows.Table
	for _, src := range found {
		if src.Tensor == nil || len(src.Tensor.Dims) < 2 || !src.Tensor.Type.IsFloat() && src.Scale == 0 && src.Scales == nil {
			continue
		}
		axis := src.Axis
		if columns := axis == len(src.Tensor.Dims)-1 && src.Indexed != nil && src.Indexed.Op == "Slice"; columns || src.Indexed == nil {
			axis = r.wholeAxis(src.Tensor, u)
		}
		if u.ahead {
			axis = len(src.Tensor.Dims) - 1
		}
		if axis < 0 || !u.ahead && axis == len(src.Tensor.Dims)-1 {
			continue
		}
		table := rows.Table{Tensor: src.Tensor, Axis: axis, Scale: src.Scale, Zero: src.Zero}
		if h, w := r.m.PatchesIn(r.m.Eval); len(u.scope.Value(u.cos).Shape) > len(u.cosValue.Shape) && len(src.Tensor.Dims) > 2 { // rows and columns of a picture
			if planar, ok := rows.OfGrid(src.Tensor, int(src.Tensor.Dims[len(src.Tensor.Dims)-1]), [2]int{h, w}); ok && planar.Planar {
				table.Axis, table.Planar, table.Grid = planar.Axis, true, planar.Grid
			}
		}
		if src.Scales != nil {
			if src.Parts != axis || int64(len(src.Scales)) != src.Tensor.Dims[axis] {
				continue // of columns
			}
			table.Uneven, table.Scales, table.Zeros = true, src.Scales, src.Zeros
		}
		out = append(out, table)
	}
	return out
}

// wholeAxis is the axis of positions of a table that is used whole: that of as
// many positions as are turned, else the one before the columns that is not 1. Of a
// picture, or of a text of one length, it is the one axis of as many places as there are: others may be
// heads that turn each in its way.
func (r *Site) wholeAxis(t *onnx.Tensor, u *rotation) int {
	h, w := r.m.PatchesIn(r.m.Eval)
	if places := int64(max(h*w, r.m.FixedLength())); places > 1 {
		axis := slices.Index(t.Dims[:len(t.Dims)-1], places)
		if axis >= 0 && !slices.Contains(t.Dims[axis+1:len(t.Dims)-1], places) {
			return axis
		}
	}
	if at := trace.PositionAxis(u.cosValue); u.cosValue.Floats != nil && at >= 0 {
		if axis := slices.Index(t.Dims[:len(t.Dims)-1], int64(u.cosValue.Shape[at])); axis >= 0 {
			return axis
		}
	}
	if r.m.CallsOf(r.m.Eval) != nil { // what differs between calls was picked out of all
		return slices.IndexFunc(t.Dims[:len(t.Dims)-1], func(d int64) bool { return d > 1 })
	}
	for axis := len(t.Dims) - 2; axis >= 0; axis-- {
		if t.Dims[axis] > 1 {
			return axis
		}
	}
	return -1
}

func (r *Site) addCaches(u *rotation, cos, sin []rows.Table) {
	for i, c := range cos {
		s := c // packed: sines and cosines in one row
		if i < len(sin) {
			s = sin[i]
		}
		if s.Tensor == c.Tensor && r.stacked(u, c) {
			c.Stacked, s.Stacked = true, true
		}
		key := [2]*onnx.Tensor{c.Tensor, s.Tensor}
		if r.pairs[key] {
			continue
		}
		if r.pairs == nil {
			r.pairs = map[[2]*onnx.Tensor]bool{}
		}
		r.pairs[key] = true
		r.caches = append(r.caches, &rows.Cache{Cos: c, Sin: s, Before: r.before(u, c)})
	}
}

// taken leaves out tables that others of the same rotation are taken from as well, where they give no number of a value: cosines and
// sines that the graph puts into one before it takes them apart.
func (r *Site) taken(u *rotation, name string, tables, others []rows.Table) []rows.Table {
	if len(tables) < 2 || r.found.origins == nil {
		return tables
	}
	of := r.found.origins.Of(u.scope, name)
	kept := slices.DeleteFunc(slices.Clone(tables), func(t rows.Table) bool {
		both := slices.ContainsFunc(others, func(o rows.Table) bool { return o.Tensor == t.Tensor })
		return both && of != nil && !slices.ContainsFunc(of.Of, func(o *origin.Origin) bool { return o.Tensor == t.Tensor })
	})
	if len(kept) == 0 {
		return tables
	}
	return kept
}

// stacked reports whether the sines of a use are rows of the same table as its cosines, half of the table further on.
func (r *Site) stacked(u *rotation, t rows.Table) bool {
	apart := r.rowAt(u, u.sin, t, 0) - r.rowAt(u, u.cos, t, 0)
	return apart != 0 && 2*max(apart, -apart) == t.Len()
}

// rowAt is the row of a table that an element of a rotation's cosines or sines is of; 0 where that is not known.
func (r *Site) rowAt(u *rotation, name string, t rows.Table, element int) int {
	if r.found.origins == nil {
		return 0
	}
	if of := r.found.origins.Of(u.scope, name); of != nil {
		for _, o := range of.Of {
			if o.Tensor == t.Tensor && len(o.At) > element && o.At[element] >= 0 {
				return o.At[element] / t.Inner() % t.Len()
			}
		}
	}
	return 0
}

// before is how many rows of a table stand before that of position 0, where each position of a text has the row behind that of the one ahead.
func (r *Site) before(u *rotation, t rows.Table) int {
	axis := trace.PositionAxis(u.cosValue)
	if axis < 0 || t.Stacked || r.m.ImageInput() != nil || r.m.FixedLength() > 0 {
		return 0
	}
	first, next := r.rowAt(u, u.cos, t, 0), r.rowAt(u, u.cos, t, onnx.Size(u.cosValue.Shape[axis+1:]))
	if at := first - r.m.FirstPosition(); next == first+1 && at > 0 {
		return at
	}
	return 0
}

// fitTaken fits the columns of a cache that the rotations take, where no formula explains whole rows.
func (r *Site) fitTaken(c *rows.Cache) {
	for _, u := range r.uses {
		cos, sin := r.columnsTaken(u.scope, u.cos, u.cosValue, c.Cos), r.columnsTaken(u.scope, u.sin, u.sinValue, c.Sin)
		if c.Cos.Tensor == c.Sin.Tensor {
			cos, sin = r.columnsOfMatrices(u, c.Cos)
		}
		if cos == nil || sin == nil {
			continue
		}
		c.Cos.Columns, c.Sin.Columns = cos, sin
		if c.Fit(); !c.Fitted {
			c.Cos.Columns, c.Sin.Columns = nil, nil
			c.Fit()
		}
		return
	}
}

// columnsOfMatrices are the columns of cosines and of sines of a table that holds turns as matrices (columnsOfTurns).
func (r *Site) columnsOfMatrices(u *rotation, t rows.Table) (cos, sin []int) {
	axis := trace.PositionAxis(u.cosValue)
	if u.cos != u.sin || u.fused || axis < 0 || r.found.origins == nil {
		return nil, nil
	}
	of := r.found.origins.Of(u.scope, u.cos)
	if of == nil {
		return nil, nil
	}
	for _, o := range of.Of {
		if o.Tensor != t.Tensor || len(o.At) != 2*u.cosValue.Len() || slices.Contains(o.At, -1) {
			continue
		}
		for k := range trace.Columns(u.cosValue, axis) {
			cos, sin = append(cos, t.ColumnOf(o.At[2*k])), append(sin, t.ColumnOf(o.At[2*k+1]))
		}
		return cos, sin
	}
	return nil, nil
}

// columnsTaken are the columns of a table's rows that a value has, where the rows are several times as
// long: numbers of other layers stand beside them (LitGPT's local and global ones). nil: all.
func (r *Site) columnsTaken(s *eval.Scope, name string, v *eval.Value, t rows.Table) []int {
	axis := trace.PositionAxis(v)
	if axis < 0 || r.found.origins == nil || r.uses[0].ahead {
		return nil
	}
	width := len(trace.RowsOf(v, axis)[0])
	if t.Dim() <= width || t.Dim()%width != 0 || t.Dim() > rows.MaxColumns {
		return nil
	}
	of := r.found.origins.Of(s, name)
	if of == nil {
		return nil
	}
	for _, o := range of.Of {
		if o.Tensor != t.Tensor || len(o.At) != v.Len() {
			continue
		}
		var out []int
		for c := range width {
			if o.At[c] < 0 || slices.Contains(out, t.ColumnOf(o.At[c])) {
				return nil
			}
			out = append(out, t.ColumnOf(o.At[c]))
		}
		return out
	}
	return nil
}

func (r *Site) describeCaches(e *position.Encoding) {
	e.Form, e.Beyond = report.FormCache, report.BeyondError
	if !r.selected() {
		e.Form = report.FormBaked
	}
	var longest *rows.Cache
	for _, c := range r.caches {
		r.m.SpendElements(min(c.Cos.Len(), c.Sin.Len(), rows.MaxFitRows) * min(c.Cos.Dim(), rows.MaxColumns))
		if c.Fit(); !c.Fitted {
			r.fitTaken(c)
		}
		if longest == nil || c.Cos.Len() > longest.Cos.Len() {
			longest = c
		}
		e.Where = append(e.Where, r.m.Where(c.Cos.Tensor))
		if c.Sin.Tensor != c.Cos.Tensor {
			e.Where = append(e.Where, r.m.Where(c.Sin.Tensor))
		}
	}
	r.scheme = longest.Result.Rotary
	r.mergeLongRoPE(longest)
	e.Rows = longest.Cos.Len()
	e.Capacity = r.least(longest)
	if fixed := r.m.FixedLength(); fixed > 0 && e.Capacity <= fixed {
		e.Form = report.FormBaked
		if r.inWindows() { // rows of one are taken again for each
			e.Capacity = fixed
		}
	}
	e.Dtype = longest.Cos.Tensor.Type.String()
	if s := &r.scheme.Scaling; s.LongFactor != nil && s.ShortFactor == nil && e.Form == report.FormBaked {
		s.ShortFactor, s.LongFactor = s.LongFactor, nil // one list is left of what the graph chose from
	}
	r.amplitude = longest.Result.Amplitude
	if r.gridInUse(e, longest.Cos.Precision()) || !longest.Fitted && r.describeGrid(e, longest.Cos.Whole(), longest.Sin.Whole(), longest.Cos.Precision()) {
		return
	}
	if !longest.Fitted {
		r.scheme = schemes.Rotary{Dim: min(r.columns(longest), cmp.Or(r.headDim(), math.MaxInt)), Scaling: schemes.Scaling{Type: schemes.ScalingCustom}}
		e.Evidence = append(e.Evidence, report.Evidence{Kind: "fit", Says: "the tables are no cosines and sines of one formula"})
		return
	}
	e.Evidence = append(e.Evidence, report.Evidence{Kind: "fit", Says: "tables are " + longest.Result.Rotary.String(), Residual: site.Residual(longest.Result.Residual)})
}

// least is how far all caches reach that have to: LongRoPE's short one is left
// where it ends.
func (r *Site) least(longest *rows.Cache) int {
	n := longest.Positions()
	for _, c := range r.caches {
		if c != r.short {
			n = min(n, c.Positions())
		}
	}
	return n
}

// grid is what the places of the first use lie along: that of patches, or what the axis of the
// data is a product of; nil where there is none.
func (r *Site) grid() []int {
	use := r.uses[0]
	for _, name := range []string{use.cos, use.sin} {
		if grid := r.found.grids[numbers{use.scope, name}]; grid != nil {
			return grid
		}
	}
	if h, w := r.m.PatchesIn(r.m.Eval); h*w > 1 { // else patches are a batch
		return []int{h, w}
	}
	return nil
}

// describeGrid reads cosines and sines of the places of a grid, which turn by their
// rows and columns.
func (r *Site) describeGrid(e *position.Encoding, cos, sin fit.Matrix, p fit.Precision) bool {
	if cos == nil || sin == nil {
		return false
	}
	cos, sin = r.ofHead(cos), r.ofHead(sin)
	grid := r.grid()
	found, ok := fit.AxialRotaryCache(cos, sin, p, grid)
	if !ok && (grid == nil || len(grid) == 2) {
		var order []int
		r.m.SpendElements(cos.Rows() * cos.Cols())
		if grid, order, ok = fit.CellsOf(cos, sin, p); ok { // the graph's own order, such as that of patches that are merged
			r.shuffled = !slices.IsSorted(order)
			found, ok = fit.AxialRotaryCache(fit.Reordered(cos, order), fit.Reordered(sin, order), p, grid)
		}
	}
	if !ok {
		return false
	}
	r.scheme, r.amplitude, r.turning = found.Rotary, found.Amplitude, found.Turning
	r.places = [2]fit.Matrix{cos, sin}
	if e.Capacity > 0 {
		e.Capacity = cos.Rows() - found.Prefix
	}
	turning := "by the row or the column of one of %s patches"
	if len(grid) > 2 {
		turning = "each along one axis of %s places"
	}
	says := fmt.Sprintf("columns turn "+turning, schemes.Sizes(grid))
	if found.Turn > 0 {
		says += fmt.Sprintf(", at most %.4g radians from one to the next", found.Turn)
	} else {
		says += ", and no base explains all of their frequencies"
	}
	switch {
	case found.Turning:
		says += fmt.Sprintf("; %d rows before them turn by angles of their own", found.Prefix)
	case found.Prefix > 0:
		says += fmt.Sprintf("; %d rows before them do not turn", found.Prefix)
	case r.shuffled:
		says += "; they stand in another order than row after row"
	}
	e.Evidence = append(e.Evidence, report.Evidence{Kind: "fit", Says: says, Residual: site.Residual(found.Residual)})
	return true
}

// ofHead are the columns of one head, where those of all stand beside each other: states that turn before they are cut into heads.
func (r *Site) ofHead(m fit.Matrix) fit.Matrix {
	head := r.headDim()
	if head == 0 || m.Cols() <= head || m.Cols()%head != 0 {
		return m
	}
	for row := range m.Rows() {
		for c := head; c < m.Cols(); c++ {
			if m.At(row, c) != m.At(row, c%head) {
				return m
			}
		}
	}
	return fit.Func(m.Rows(), head, m.At)
}

// selected reports whether the tables are indexed by position, by a node or
// inside a fused operator, or give other rows in another call.
func (r *Site) selected() bool {
	if r.m.CallsOf(r.m.Eval) != nil {
		return true
	}
	for _, u := range r.uses {
		if u.fused && (u.node.Op != "RotaryEmbedding" || u.position != "" || u.node.Domain == "com.microsoft") {
			return true
		}
		for _, src := range trace.Sources(u.scope, u.cos) {
			if src.Indexed != nil {
				return true
			}
		}
	}
	return false
}

func (r *Site) columns(c *rows.Cache) int {
	n := c.Cos.Inner()                                                    // what stands before are heads
	if head := r.headDim(); c.Cos.Tensor == c.Sin.Tensor && n == 2*head { // sines and cosines of every element
		return head
	}
	if c.Cos.Tensor != c.Sin.Tensor && r.uses[0].packed {
		return 2 * n
	}
	return n
}

// mergeLongRoPE reads two pairs of tables with other frequencies as LongRoPE's
// short and long lists, relative to the default base.
func (r *Site) mergeLongRoPE(long *rows.Cache) {
	if long.Ahead > 0 {
		r.longRoPE(long.Short, long, long.Ahead)
		return
	}
	for _, short := range r.caches {
		if short == long || !short.Fitted || !long.Fitted || short.Cos.Len() >= long.Cos.Len() {
			continue
		}
		if a, b := short.Result.Rotary.InverseFrequencies(), long.Result.Rotary.InverseFrequencies(); len(a) == 0 || len(a) != len(b) || sameFrequencies(a, b) {
			continue
		}
		r.short = short
		r.longRoPE(short.Result.Rotary, long, short.Cos.Len())
		return
	}
}

// longRoPE sets the scheme to the short list up to a length, and the long one.
func (r *Site) longRoPE(short schemes.Rotary, long *rows.Cache, original int) {
	base := defaultBase
	if short.Scaling.IsNone() && short.Base > 0 {
		base = short.Base // all short factors are 1
	}
	a, b := short.InverseFrequencies(), long.Result.Rotary.InverseFrequencies()
	r.scheme.Base = base
	r.scheme.Scaling = schemes.Scaling{Type: schemes.ScalingLongRoPE, OriginalLength: original, AttentionFactor: long.Result.Amplitude,
		ShortFactor: factors(a, base), LongFactor: factors(b, base), Frequencies: a, LongFrequencies: b}
}

// defaultBase is the base of rotary encodings where nothing tells another
// (Su et al. 2021).
const defaultBase = 10000.0

// sameFrequencies reports whether two lists of frequencies differ by rounding alone.
func sameFrequencies(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool { return math.Abs(x-y) <= sameFrequency*math.Abs(y) })
}

// sameFrequency is the relative deviation of a frequency that was recovered from
// a table in half precision.
const sameFrequency = 1e-3

// factors are the divisors that bring plain frequencies to the given ones.
func factors(f []float64, base float64) []float64 {
	out := make([]float64, len(f))
	for i := range f {
		out[i] = math.Pow(base, -float64(i)/float64(len(f))) / f[i]
	}
	return out
}

// Overlay tells of caches and angles that were made longer.
func (r *Site) Overlay(into map[*onnx.Tensor]*eval.Value) {
	if r.newPositions == 0 {
		return
	}
	tables := r.angles()
	ahead := map[*onnx.Tensor]int{}
	for _, c := range r.caches {
		if c != r.short {
			tables = append(tables, c.Cos, c.Sin)
			ahead[c.Cos.Tensor], ahead[c.Sin.Tensor] = c.Unread(), c.Unread()
		}
	}
	for _, t := range tables {
		shape := make([]int, len(t.Tensor.Dims))
		for i, n := range t.Tensor.Dims {
			shape[i] = int(n)
		}
		shape[t.Axis] = max(r.newPositions+ahead[t.Tensor], t.Len())
		if r.cut {
			shape[t.Axis] = min(r.newPositions+ahead[t.Tensor], t.Len())
		}
		v := eval.Shaped(t.Tensor.Type, shape...)
		v.Origins = []*onnx.Tensor{t.Tensor}
		into[t.Tensor] = v
	}
}

// Tables are the caches of cosines and sines.
func (r *Site) Tables() []rows.Table {
	var out []rows.Table
	for _, c := range r.caches {
		out = append(out, c.Cos)
		if c.Sin.Tensor != c.Cos.Tensor {
			out = append(out, c.Sin)
		}
	}
	return out
}

// Owned are the caches, and what the arguments of Cos and Sin and their amplitude
// are made of.
func (r *Site) Owned() []*onnx.Tensor {
	var out []*onnx.Tensor
	for _, c := range r.caches {
		out = append(out, c.Cos.Tensor, c.Sin.Tensor)
	}
	for _, t := range r.trig {
		for _, src := range trace.Sources(t.Scope, t.Trig.Input(0)) {
			out = append(out, src.Tensor)
		}
		out = append(out, amplitudeConstant(t))
	}
	return out
}

// Indices are the sources of the cosines that a node selects from.
func (r *Site) Indices() []trace.Source {
	var out []trace.Source
	for _, u := range r.uses {
		for _, src := range trace.Sources(u.scope, u.cos) {
			if src.Indexed != nil {
				out = append(out, src)
			}
		}
	}
	return out
}

// ActsIn are the rotations: of queries and keys, ahead of their product.
func (r *Site) ActsIn() (from []trace.Place, in site.Reach) {
	for _, u := range r.uses {
		from = append(from, trace.Place{Scope: u.scope, Node: u.node})
	}
	return from, site.Products
}

// Neutral are the cosines and sines of the main graph by name, and the number in their
// place with which nothing is turned.
func (r *Site) Neutral() map[string]float64 {
	out := map[string]float64{}
	one := 1.0
	if f := r.factor(); f > 0 && len(r.caches) == 0 { // the amplitude has it
		one = 1 / f
	}
	for _, u := range r.uses {
		if u.scope == r.m.Eval.Main {
			out[u.cos], out[u.sin] = one, 0
		}
	}
	return out
}

// Operators is how many operators turn one of queries and keys: a sum for each of two halves, where these are taken apart.
func (r *Site) Operators() int {
	if u := r.uses[0]; u.packed && !u.fused {
		return 2
	}
	return 1
}

// Unfollowed says why queries and keys do not turn as cosines and sines of their positions say; "" where they do.
func (r *Site) Unfollowed() string {
	switch perHead := func(c *rows.Cache) bool { return c.Cos.PerHead(r.scheme.Pairs()) }; {
	case slices.ContainsFunc(r.uses, func(u *rotation) bool { return u.projected }):
		return "what turns is the state before it is projected to queries and keys"
	case r.headDim() > 0 && r.scheme.Dim > r.headDim():
		return "all heads turn as one, each by frequencies of its own"
	case slices.ContainsFunc(r.uses, (*rotation).normalised):
		return "queries and keys are normalised behind their turn"
	case slices.ContainsFunc(probe.Given(r.m.File), func(in *onnx.ValueInfo) bool { return in.Type.IsFloat() && probe.IsCoordinates(r.m.File, in) }):
		return "places are coordinates that an input gives"
	case slices.ContainsFunc(r.caches, perHead):
		return "each head turns by angles of its own"
	case len(r.caches) > 0 && r.Detected.Capacity > r.caches[0].Positions() && r.inWindows():
		return "positions begin again in each window"
	}
	return ""
}

// normalised reports whether what was turned is normalised before it meets the other side, which weighs its columns.
func (u *rotation) normalised() bool {
	if u.fused && u.node.Op != "RotaryEmbedding" {
		return false
	}
	names, seen := []string{u.node.Output(0)}, map[*onnx.Node]bool{}
	for i := 0; i < len(names) && i < maxBehindTurn; i++ {
		for _, n := range u.scope.Consumers(names[i]) {
			switch {
			case seen[n]:
			case eval.Is(n, eval.Normalization|eval.Average):
				return true
			case eval.Is(n, eval.Layout|eval.Elements|eval.Scaling|eval.Addition|eval.Joining):
				names = append(names, n.Outputs...)
			}
			seen[n] = true
		}
	}
	return false
}

// maxBehindTurn bounds the values behind a rotation that are looked at.
const maxBehindTurn = 12

// Fused reports whether an operator turns and selects the rows itself.
func (r *Site) Fused() bool { return r.uses[0].fused }

// inWindows reports whether what is turned lies in more parts than there are sequences, or in parts of an axis of their own.
func (r *Site) inWindows() bool {
	scope, name, _ := r.State()
	in := r.m.TokenInput()
	if scope == nil || in == nil || len(in.Dims) == 1 {
		return false
	}
	sequences := 0
	if r.m.SequenceAxis(in) == 0 {
		sequences = 1
	}
	batch := int(in.Dims[sequences].Value)
	if batch < 1 {
		batch = r.m.Sizes.Batch
	}
	shape := scope.Value(name).Shape
	return len(shape) > 4 || len(shape) > 0 && shape[0] > batch
}

// State is what the first rotation gives.
func (r *Site) State() (*eval.Scope, string, int) {
	use := r.uses[0]
	if axis := trace.PositionAxis(use.cosValue); !use.fused && axis >= 0 {
		if use.ahead {
			return use.scope, use.node.Output(0), 1
		}
		return use.scope, use.node.Output(0), len(use.cosValue.Shape) - axis
	}
	return nil, "", 0
}

// SetBeyond notes what a probe showed beyond the caches.
func (r *Site) SetBeyond(beyond string, evidence ...report.Evidence) {
	r.Detected.Beyond = beyond
	r.Detected.Evidence = append(r.Detected.Evidence, evidence...)
}

// Rules of findings about caches of cosines and sines (facts/BAD-INPUTS C17).
var (
	ruleCacheRows = site.Rule{ID: "onnx-cache-rows-differ", Level: report.LevelError, Doc: "a cache has other numbers of rows for cosines and sines"}
	ruleCache     = site.Rule{ID: "onnx-cache-unexplained", Level: report.LevelWarning, Doc: "no formula explains a cache of cosines and sines"}
)

// Faults looks at the caches.
func (r *Site) Faults() []site.Fault {
	var out []site.Fault
	for _, c := range r.caches {
		switch a, b := c.Cos.Len(), c.Sin.Len(); {
		case a != b:
			out = append(out, site.Fault{Rule: ruleCacheRows, Message: fmt.Sprintf("%q has %d rows of cosines and %q %d of sines", r.m.TensorName(c.Cos.Tensor), a, r.m.TensorName(c.Sin.Tensor), b),
				Hint: "export the model again", At: c.Sin.Tensor})
		case !c.Fitted && r.scheme.Grid == nil:
			out = append(out, site.Fault{Rule: ruleCache, Message: fmt.Sprintf("%q and %q are no cosines and sines of one formula", r.m.TensorName(c.Cos.Tensor), r.m.TensorName(c.Sin.Tensor)),
				Hint: "it can be read and not made longer", At: c.Cos.Tensor})
		}
	}
	return out
}

// Window is how far the attentions whose queries and keys are turned here look
// back, none where one of several looks all the way or none was found. It is read off
// the numbers of their masks.
func (r *Site) Window() schemes.SlidingWindow {
	if r.looked {
		return r.window
	}
	r.looked = true
	w := attention.NewWindows(r.m)
	for _, u := range r.uses {
		if u.fused && u.node.Op != "RotaryEmbedding" {
			w.Attention(u.scope, u.node)
			continue
		}
		w.Turned(u.scope, u.node.Output(0), 0)
	}
	r.window = w.Widest()
	return r.window
}
