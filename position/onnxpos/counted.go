package onnxpos

import (
	"fmt"
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
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
		planned := t.origins.Planned(longer, map[*onnx.Tensor]int{u.source.Tensor: t.rows().Axis})
		if next := u.rowsIn(longer, planned); len(next) > 0 {
			t.count(u.share.Row, next)
		}
	}
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
