package onnxpos

import (
	"fmt"
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/onnxpos/length"
	"github.com/modelpatch/modelpatch/position/onnxpos/origin"
)

// rowsFollow refuses a change after which a position does not read its own row.
func rowsFollow(c *length.Change, e *eval.Evaluator) error {
	planned := map[*origin.Maps]*origin.Planned{}
	for _, s := range c.Sites() {
		t, ok := s.(*tableSite)
		if !ok || t.Detected.IsGrid() {
			continue
		}
		if t.origins != nil && planned[t.origins] == nil {
			axis := map[*onnx.Tensor]int{}
			for _, s := range c.Sites() {
				for _, r := range s.Tables() {
					axis[r.Tensor] = r.Axis
				}
			}
			planned[t.origins] = t.origins.Planned(e, axis)
		}
		for _, u := range t.uses {
			if err := tableFollows(c, e, planned[t.origins], u); err != nil {
				return err
			}
		}
	}
	return nil
}

// tableFollows refuses a table whose rows went to the positions in order, and do not any
// more: it asks the graph as it is planned which row each position gets.
func tableFollows(c *length.Change, e *eval.Evaluator, planned *origin.Planned, u *addition) error {
	if planned == nil || u.sheet == nil || u.share == nil || len(u.share.Row) == 0 || len(u.sheet.Covers) != 1 || u.share.Table.Planar {
		return nil
	}
	for p, row := range u.share.Row {
		if row != u.share.Row[0]+p {
			return nil
		}
	}
	read := u.rowsIn(e, planned)
	if len(read) > 0 && slices.Max(read) < 0 {
		return &position.Refusal{Why: fmt.Sprintf("%s gets no row of this table at %d positions, but from elsewhere: the graph chooses by the length", u.node.Title(), c.New),
			Instead: "export the model again for the wanted length"}
	}
	first := u.share.Row[0] + c.Graph.Cached(c.New) - c.Graph.FirstPosition() // of those before as many more as there are
	for p, row := range read {
		if row >= 0 && row != first+p {
			return &position.Refusal{Why: fmt.Sprintf("%s does not get a row of its own for each of %d positions", u.node.Title(), c.New),
				Instead: "export the model again for the wanted length"}
		}
	}
	return nil
}

// rowsIn are the rows of a table that positions get in an evaluation: −1 for none; nil where that is too much to be computed, or
// positions get no rows.
func (a *addition) rowsIn(e *eval.Evaluator, planned *origin.Planned) []int {
	if a.scope.Index() >= len(e.Scopes()) {
		return nil
	}
	rows, v := planned.Rows(e.Scopes()[a.scope.Index()], a.name, a.source.Tensor)
	axis := a.sheet.Covers[0]
	if rows == nil || axis >= len(v.Shape) {
		return nil
	}
	inner := onnx.Size(v.Shape[axis+1:])
	out := make([]int, v.Shape[axis])
	for i := range out {
		out[i] = -1
	}
	for i, row := range rows {
		switch p := i / inner % len(out); {
		case row < 0 || row == out[p]:
		case out[p] < 0:
			out[p] = row
		default:
			return nil
		}
	}
	return out
}
