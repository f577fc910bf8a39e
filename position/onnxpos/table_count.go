package onnxpos

import (
	"fmt"
	"slices"

	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position/onnxpos/origin"
	"github.com/modelpatch/modelpatch/position/onnxpos/sheet"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// countTables tells, of tables whose first position has another row than the first one, whether that row is an offset
// or hangs on the length: positions may be counted from the end, or from the table's end. Which it is shows at one
// more position.
func (m *Model) countTables() {
	if m.graph.FixedLength() > 0 || m.graph.TokenInput() == nil {
		return
	}
	var longer *eval.Evaluator
	var origins *origin.Maps
	for _, s := range m.sites {
		t, ok := s.(*tableSite)
		if !ok || t.Detected.Form == report.FormRuntime || t.Detected.IsGrid() || t.crossed != nil {
			continue
		}
		u := t.uses[0]
		if u.share == nil || u.share.Row == nil || len(u.sheet.Covers) != 1 || u.share.First == 0 || u.source.Tensor == nil {
			continue
		}
		if longer == nil {
			if longer = m.runsAt(m.graph.Sizes.Length+1, m.graph.FailsAnyway()); longer == nil {
				return
			}
		}
		if origins == nil {
			origins = origin.New(longer)
		}
		if next := u.rowsAt(longer, origins); len(next) > 0 {
			t.count(u.share.Row, next)
		}
	}
}

// rowsAt are the rows of the table that positions get, or have theirs made of, in another evaluation; nil where that is
// not told.
func (a *addition) rowsAt(e *eval.Evaluator, origins *origin.Maps) []int {
	if a.scope.Index() >= len(e.Scopes()) {
		return nil
	}
	of := origins.Of(e.Scopes()[a.scope.Index()], a.name)
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
	for _, o := range of.ByRow {
		if part := s.ShareByRow(o); o.Tensor == a.source.Tensor && part != nil {
			return part.Row
		}
	}
	return nil
}

// count takes the rows of n positions and of n + 1 for those that they count.
func (t *tableSite) count(now, next []int) {
	if slices.Contains(now, -1) || slices.Contains(next, -1) {
		return
	}
	least, most := slices.Min(now), slices.Max(now)
	u, all := t.uses[0], t.rows().Len()
	says := ""
	switch {
	case slices.Min(next) == least && slices.Max(next) == most+1 && now[0] == most && now[len(now)-1] == least:
		says = fmt.Sprintf("is row n − 1 − p + %d for position p of n", least)
	case slices.Min(next) == least-1 && slices.Max(next) == most && most == all-1 && now[0] == least:
		least, says = 0, fmt.Sprintf("is row p + %d − n for position p of n", all)
	default:
		return
	}
	t.fromEnd = least == 0 && now[0] != most
	u.share.First, u.source.First = least, int64(least)
	t.Detected.Form = report.FormTable // it takes other lengths
	switch scheme := t.Detected.Scheme.(type) {
	case schemes.Learned:
		scheme.Offset = least
		t.Detected.Scheme = scheme
	case schemes.Sinusoid:
		scheme.Offset = least
		t.Detected.Scheme = scheme
	}
	t.Detected.Capacity = all - least
	t.Detected.Evidence[0].Says = fmt.Sprintf("%s adds what %s", u.node.Title(), says)
}
