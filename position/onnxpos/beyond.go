package onnxpos

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/axes"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/onnxpos/origin"
	"github.com/modelpatch/modelpatch/position/onnxpos/saturation"
	"github.com/modelpatch/modelpatch/position/onnxpos/sheet"
	"github.com/modelpatch/modelpatch/position/onnxpos/site"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// inspectBeyond learns what happens one position beyond each capacity by probing the graph there.
func (m *Model) inspectBeyond() {
	m.inspectParts()
	m.inspectLargerPictures()
	m.findOneSize()
	m.findTurns()
	if m.graph.ImageInput() != nil && m.graph.TokenInput() == nil || m.graph.WaveInput() != nil {
		return
	}
	m.graph.FindApart(m.sites)
	if m.graph.FixedLength() > 0 {
		return
	}
	m.findSaturations()
	known := m.graph.FailsAnyway()
	var lengths []int
	at := map[int][]site.Site{} // by capacity: each is probed once
	for _, s := range m.sites {
		e := s.Encoding()
		if t, ok := s.(*tableSite); ok && t.turnsAlready() {
			t.Detected.Capacity = t.rows().Len()
			s.SetBeyond(report.BeyondWrong, report.Evidence{Kind: "structure", Says: fmt.Sprintf("positions from %d on get rows again that were taken", t.Detected.Capacity)})
			continue
		}
		if e.Capacity == 0 && e.Form == report.FormRuntime && !e.Apart {
			if n, clamps := saturation.Counted(m.graph.Probe, isIn(e.Where)); n > 0 {
				s.Counts(n, clamps)
			}
		}
		if e.Capacity == 0 || e.Capacity > maxBeyondProbe || e.Apart || s.Fused() || e.Form == report.FormRuntime && e.Beyond == report.BeyondClamps {
			continue
		}
		if at[e.Capacity] == nil {
			lengths = append(lengths, e.Capacity)
		}
		at[e.Capacity] = append(at[e.Capacity], s)
	}
	for i, length := range lengths {
		if i == maxBeyondProbes {
			m.unprobed(lengths[i:], at)
			return
		}
		further := m.graph.FramesOf(at[length][0], length+1)
		probe := m.runsAt(further, known)
		if probe == nil {
			continue // an error, as was assumed
		}
		var chance []report.Evidence
		if further == length+1 && m.runsAt(length+2, known) == nil { // a size of 1 is laid over any
			chance = append(chance, report.Evidence{Kind: "structure", Says: fmt.Sprintf("at %d positions the graph runs by chance, and gives wrong numbers; from %d on it fails", length+1, length+2)})
		}
		for _, s := range at[length] {
			_, rows := s.(*tableSite)
			if !rows && s.Encoding().Form != report.FormBaked || m.graph.Grows(s, probe) { // else of an input of one size
				s.SetBeyond(m.beyond(s, probe), chance...)
			}
		}
	}
}

// isIn reports whether a node is among places.
func isIn(where []report.Where) func(*onnx.Node) bool {
	return func(n *onnx.Node) bool {
		return slices.ContainsFunc(where, func(w report.Where) bool { return w.Node == n.Title() })
	}
}

// findSaturations tells which encodings that the graph computes end where their positions are cut off, as they are quantised.
func (m *Model) findSaturations() {
	found := map[*onnx.Node]saturation.End{}
	for _, q := range saturation.Ends(m.graph.Probe) {
		found[q.Node] = q
	}
	if len(found) == 0 {
		return
	}
	for _, s := range m.sites {
		for _, n := range m.graph.File.Graph.Nodes {
			if !isIn(s.Encoding().Where)(n) {
				continue
			}
			least := saturation.End{}
			m.graph.Behind(n, func(x *onnx.Node) bool {
				if q, ok := found[x]; ok && (least.Length == 0 || q.Length < least.Length || q.Length == least.Length && !q.Scaled) { // of positions that are cut off the angles are, too
					least = q
				}
				return false
			})
			if least.Length > 0 {
				what := map[bool]string{false: "positions", true: "angles"}[least.Scaled]
				s.Stops(least.Length, least.Scaled, report.Evidence{Kind: "structure", Says: fmt.Sprintf("%s rounds %s to steps of %.3g, and cuts off those beyond %d positions", least.Node.Title(), what, least.Step, least.Length)})
			}
		}
	}
}

// findTurns tells which tables are counted anew again and again (places in a bar of music), of positions that another one tells apart.
func (m *Model) findTurns() {
	for _, s := range m.sites {
		t, ok := s.(*tableSite)
		if !ok || !t.Detected.Bounds() || t.uses[0].share == nil || len(t.uses[0].along) != 1 {
			continue
		}
		for _, other := range m.sites {
			o, ok := other.(*tableSite)
			if !ok || o == t || !o.Detected.Bounds() || o.Detected.Capacity <= t.Detected.Capacity || len(o.uses[0].along) != 1 || !axes.Same(o.uses[0].along[0], t.uses[0].along[0]) {
				continue
			}
			most := min(2*t.Detected.Capacity, o.Detected.Capacity)
			if t.turnsWithin(m, most) && !o.turnsWithin(m, o.Detected.Capacity+1) {
				s.SetApart()
				s.SetBeyond(report.BeyondContinues)
			}
		}
	}
}

// turnsWithin reports whether so many positions get all rows of the table, and then those from the first on again.
func (t *tableSite) turnsWithin(m *Model, positions int) bool {
	row := t.uses[0].share.Row
	if e := m.runsAt(positions, m.graph.FailsAnyway()); m.graph.FixedLength() == 0 && e != nil && positions <= maxBeyondProbe {
		row = t.uses[0].rowsAt(e, t.origins)
	}
	return t.uses[0].share.Starts(row)
}

// turnsAlready reports whether its few rows are taken again and again within the length that is looked at.
func (t *tableSite) turnsAlready() bool {
	share := t.uses[0].share
	return t.ofText() && t.crossed == nil && share != nil && len(share.Row) == t.m.Sizes.Length && share.Starts(share.Row)
}

// lengthen looks for encodings again in twice the length, where tables do not end the graph at their end: what they hold is used again
// beyond, and others may tell the turns apart. It reports whether it did.
func (m *Model) lengthen() bool {
	if m.graph.FixedLength() > 0 || m.graph.TokenInput() == nil || m.graph.WaveInput() != nil {
		return false
	}
	known := m.graph.FailsAnyway()
	for _, s := range m.sites {
		n := s.Encoding().Capacity
		t, ok := s.(*tableSite)
		turns := ok && s.Encoding().Form == report.FormTable && t.crossed == nil && !t.Resampled()
		if !turns && s.Encoding().Form != report.FormBaked || n == 0 || n > maxBeyondProbe/2 || n < m.graph.Sizes.Length || m.runsAt(n+1, known) == nil {
			continue
		}
		longer := 2 * n
		if turns {
			e := m.runsAt(longer, known)
			if e == nil {
				longer = n + 1
				e = m.runsAt(longer, known)
			}
			if d := m.detector(e, longer); !t.continues(d) && !d.turning() {
				continue
			}
		}
		if m.graph.Lengthen(longer) {
			m.sites, m.unread = nil, nil
			m.detect()
			return true
		}
	}
	return false
}

// continues reports whether another evaluation shows rows of further constants behind those of the table.
func (t *tableSite) continues(d *detector) bool {
	return slices.ContainsFunc(d.tables, func(a *addition) bool {
		return a.node == t.uses[0].node && a.share != nil && len(a.share.Table.Next) > len(t.rows().Next)
	})
}

// runsAt is the graph evaluated at a length, nil where it fails there at a node that is not known to.
func (m *Model) runsAt(length int, known map[*onnx.Node]bool) *eval.Evaluator {
	fails := false
	probe := m.graph.Failing(m.graph.Sized(length), func(f eval.Failure) bool {
		fails = fails || !known[f.Node]
		return fails
	})
	if fails {
		return nil
	}
	return probe
}

// maxBeyondProbes bounds the lengths at which the graph is probed so: an ordinary model has a capacity or two.
const maxBeyondProbes = 16

// unprobed says of sites whose capacity was not probed that it is not known what happens beyond.
func (m *Model) unprobed(lengths []int, at map[int][]site.Site) {
	for _, length := range lengths {
		for _, s := range at[length] {
			s.SetBeyond(report.BeyondUnknown)
		}
	}
}

// inspectParts tells, of tables of which free pictures get a part, what the whole table has: a picture that gets the last of its rows is
// tried, and one with a column more.
func (m *Model) inspectParts() {
	fixed := m.graph.FixedSides()
	for _, s := range m.sites {
		t, ok := s.(*tableSite)
		if !ok || fixed[0] > 0 && fixed[1] > 0 || !t.Detected.IsGrid() || t.crossed != nil || t.Resampled() || t.uses[0].share == nil || t.uses[0].share.Row == nil {
			continue
		}
		grid, prefix, _ := t.uses[0].gridOf()
		learned, ok := t.Detected.Scheme.(schemes.Learned)
		if !ok || len(grid) != 2 {
			continue
		}
		part := [2]int(grid)
		whole, ahead, ok := t.uses[0].share.Whole(part, prefix)
		if !ok || whole == part {
			continue
		}
		to := whole
		for axis, n := range fixed {
			if n > 0 {
				to[axis] = part[axis]
			}
		}
		row, flat := t.rowsOf(part, to, prefix), whole[1] == part[1] && !t.rows().Planar
		runs := sheet.Rising(row)
		if flat && !runs {
			continue
		}
		byNumber := flat && sheet.Rising(t.rowsOf(part, [2]int{part[0], part[1] + 1}, prefix))
		if !byNumber && ahead+onnx.Size(whole[:]) != t.rows().Len() {
			continue
		}
		t.part = true
		learned.Rows, learned.Grid = t.rows().Len(), whole[:]
		says := fmt.Sprintf("pictures get a part of its %s rows and columns", schemes.Sizes(whole[:]))
		if runs {
			t.Detected.Form, t.Detected.Capacity = report.FormTable, len(row)
		}
		if byNumber {
			learned.Grid, learned.Prefix, learned.Offset = nil, 0, ahead
			side := max(min(fixed[0], part[0]), min(fixed[1], part[1]), 1)
			t.Detected.Capacity = (learned.Rows - ahead) / side * side
			says = "pictures of so many patches get as many of its rows, however their rows and columns are"
		} else if runs && t.rowsOf(part, [2]int{to[0], to[1] + 1}, prefix) != nil {
			t.Detected.Beyond = report.BeyondWrong
		}
		t.Detected.Scheme = learned
		t.Detected.Evidence[0].Says += "; " + says
	}
}

// rowsOf are the rows of the table that patches get in a picture of other rows and columns than those of the grid that was tried; nil where
// the graph does not take it.
func (t *tableSite) rowsOf(was, is [2]int, prefix int) []int {
	size := [2]int{t.m.Sizes.Image, cmp.Or(t.m.Sizes.Width, t.m.Sizes.Image)}
	for axis, n := range t.m.FixedSides() {
		size[axis] = cmp.Or(n, size[axis]) / was[axis] * is[axis]
	}
	e := t.m.WithPicture(size)
	if e == nil {
		return nil
	}
	row := t.uses[0].rowsAt(e, t.origins)
	return row[min(prefix, len(row)):]
}

// inspectLargerPictures learns whether a graph that resamples its table, or has biases by distance, takes a picture of twice the side, and one
// with a row and a column of patches more.
func (m *Model) inspectLargerPictures() {
	for _, s := range m.sites {
		t, ok := s.(position.Resampler)
		resampled := ok && s.Encoding().IsGrid() && t.Resampled()
		_, biases := s.(position.WindowResizer)
		g := m.PatchGrid()
		if !resampled && !biases || g[1] < 1 || g[1] != g[2] {
			continue
		}
		twice, left := m.Takes(g.WithSides(2*g[1], 2*g[2]))
		if left.What != "" && resampled {
			s.SetBeyond(report.BeyondWrong, report.Evidence{Kind: "structure", Says: "with a picture of twice the side the graph runs, and not all of it follows: " + left.What})
		}
		if !twice {
			continue
		}
		says := "the graph resamples the table to the size of the picture, and runs with larger ones"
		if biases {
			says = "the biases follow the size of the picture, or are those of its windows, and the graph runs with larger ones"
		}
		if next, _ := m.Takes(g.WithSides(g[1]+1, g[2]+1)); !next {
			says += fmt.Sprintf(", though not with one of %s patches", g.WithSides(g[1]+1, g[2]+1))
		}
		s.SetBeyond(report.BeyondContinues, report.Evidence{Kind: "structure", Says: says})
	}
}

// maxBeyondProbe bounds the length at which the graph is probed beyond a capacity.
const maxBeyondProbe = 1 << 15

// beyond tells clamping from wrong numbers by the index of the last position.
func (m *Model) beyond(s site.Site, probe *eval.Evaluator) string {
	if t, ok := s.(*tableSite); ok {
		if t.Resampled() {
			return report.BeyondContinues
		}
		if t.staysAtItsLast(probe) && t.staysAtItsLast(m.graph.At(t.Detected.Capacity+2)) {
			return "clamps"
		}
		if u := t.uses[0]; u.share != nil && u.share.Row != nil && u.rowsAt(probe, t.origins) == nil && (u.source.Indexed == nil || !eval.Is(u.source.Indexed, eval.LookupsInBlocks)) {
			return report.BeyondUnknown // numbers of another constant, perhaps
		}
	}
	for _, u := range s.Indices() {
		if u.Index == "" || u.IndexAt == nil {
			continue
		}
		v := probe.Scopes()[u.IndexAt.Index()].Value(u.Index)
		if n := len(v.Ints); v.Known() && n >= 2 && v.Ints[n-1] == v.Ints[n-2] {
			return "clamps"
		}
	}
	return "wrong"
}

// staysAtItsLast reports whether the last position gets the last row of the table, as the one before it does.
func (t *tableSite) staysAtItsLast(e *eval.Evaluator) bool {
	row := t.uses[0].rowsAt(e, t.origins)
	n := len(row)
	return n > 1 && row[n-1] == row[n-2] && row[n-1] == t.rows().Len()-1
}

// countTables tells, of tables whose first position has another row than the first one, whether that row is an offset or hangs on the
// length: positions may be counted from the end, or from the table's end. Which it is shows at one more position.
func (m *Model) countTables() {
	if m.graph.TokenInput() == nil {
		return
	}
	longer := sync.OnceValue(func() *eval.Evaluator {
		if m.graph.FixedLength() > 0 {
			return nil
		}
		return m.runsAt(m.graph.Sizes.Length+1, m.graph.FailsAnyway())
	})
	for _, s := range m.sites {
		t, ok := s.(*tableSite)
		if !ok || t.Detected.Form == report.FormRuntime || t.Detected.IsGrid() || t.crossed != nil {
			continue
		}
		u := t.uses[0]
		if u.share == nil || u.share.Row == nil || len(u.sheet.Covers) != 1 || u.share.First == 0 || u.source.Tensor == nil {
			continue
		}
		now, all := u.share.Row, t.rows().Len()
		next := u.rowsAt(longer(), t.origins)
		switch {
		case u.share.Falls():
			t.fall(now, next)
		case now[0] > 0 && now[0] == slices.Min(now) && slices.Max(now) == all-1 && len(next) > 0 && slices.Min(next) == now[0]-1 && slices.Max(next) == all-1:
			t.fromEnd = true
			t.countedFrom(0, fmt.Sprintf("is row p + %d − n for position p of n", all))
		}
	}
}

// fall takes a table's rows for those of n positions that fall to the last one: n − 1 − p, or as far from one row, which shows at a position more.
func (t *tableSite) fall(now, next []int) {
	last := now[len(now)-1]
	t.fromEnd = t.m.FixedLength() > 0
	if len(next) > 0 && next[0] == now[0] {
		t.fromEnd = true
		t.countedFrom(0, fmt.Sprintf("is row %d − p for position p", now[0]))
		t.Detected.Capacity = now[0] + 1
		return
	}
	t.countedFrom(last, fmt.Sprintf("is row n − 1 − p + %d for position p of n", last))
}

// rowsAt are the rows of the table that positions get, or have theirs made of, in another evaluation; nil where that is not told.
func (a *addition) rowsAt(e *eval.Evaluator, origins *origin.Maps) []int {
	if a.sheet == nil || e == nil || a.scope.Index() >= len(e.Scopes()) {
		return nil
	}
	of := origins.Again(e).Of(e.Scopes()[a.scope.Index()], a.name)
	if of == nil {
		return nil
	}
	s := sheet.New(of.Value, a.sheet.Covers, of)
	if s == nil {
		return nil
	}
	for _, o := range of.Of {
		if part := s.Share(o); o.Tensor == a.source.Tensor && part != nil {
			return part.Row
		}
	}
	for _, o := range slices.Concat(of.ByRow, of.ByElement) {
		if part := s.ShareByRow(o); o.Tensor == a.source.Tensor && part != nil {
			return part.Row
		}
	}
	return nil
}

// countedFrom takes a row for that of the first position, or of the last.
func (t *tableSite) countedFrom(first int, says string) {
	u, all := t.uses[0], t.rows().Len()
	u.share.First, u.source.First = first, int64(first)
	if t.m.FixedLength() == 0 {
		t.Detected.Form = report.FormTable // it takes other lengths
	}
	switch scheme := t.Detected.Scheme.(type) {
	case schemes.Learned:
		scheme.Offset = first
		t.Detected.Scheme = scheme
	case schemes.Sinusoid:
		scheme.Offset = first
		t.Detected.Scheme = scheme
	}
	t.Detected.Capacity = all - first
	t.Detected.Evidence[0].Says = fmt.Sprintf("%s adds what %s", u.node.Title(), says)
}
