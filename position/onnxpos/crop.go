package onnxpos

import (
	"fmt"

	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/onnxpos/length"
)

// crop is the part of a table of rows and columns that the graph cuts out for its patches.
type crop struct {
	table [2]int // rows and columns of the table
	first [2]int // of them where the part begins
	size  [2]int // of the part
}

// cropOf reads the part off the rows that places get; false where they get all of the table, or no part of that form.
func (t *tableSite) cropOf() (c crop, ok bool) {
	share, grid := t.uses[0].share, t.uses[0].sheet
	if share == nil || grid == nil || len(t.uses) > 1 || t.crossed != nil {
		return c, false
	}
	places, prefix, ok := t.uses[0].gridOf()
	if !ok || len(places) != 2 || prefix+places[0]*places[1] > len(share.Row) {
		return c, false
	}
	row := share.Row[prefix : prefix+places[0]*places[1]]
	c.size = [2]int(places)
	if c.size[0] < 2 || row[0] < 0 {
		return c, false
	}
	wide, n := row[c.size[1]]-row[0], share.Table.Len()
	if wide < c.size[1] || n%wide != 0 || n == len(row) {
		return c, false
	}
	c.table, c.first = [2]int{n / wide, wide}, [2]int{row[0] / wide, row[0] % wide}
	for p, r := range row {
		if r != row[0]+p/c.size[1]*wide+p%c.size[1] {
			return c, false
		}
	}
	return c, c.first[1]+c.size[1] <= wide
}

// Crop takes a part of another size out of the table, where the graph takes a part of it: at the first row and column, or in the
// middle, as the old part was.
func (t *tableSite) Crop(to [2]int) (cropped bool, err error) {
	was, ok := t.cropOf()
	if !ok {
		return false, nil
	}
	is := was
	is.size = to
	for axis, size := range to {
		most, first := was.table[axis], was.first[axis]
		middle := (most - was.size[axis]) / 2
		switch then := (most - size) / 2; {
		case size > most:
			return false, &position.Refusal{Why: fmt.Sprintf("the table has %d×%d rows and columns, of which the graph takes %d×%d, and none for more", most, was.table[1-axis], was.size[0], was.size[1]),
				Instead: "export the model for the wanted picture"}
		case size == was.size[axis]:
		case first == middle && (first > 0 || then == 0):
			is.first[axis] = then
		case first == 0 && middle > 0:
		default:
			return false, &position.Refusal{Why: fmt.Sprintf("the graph takes %d×%d of a table of %d×%d rows and columns, from %d and %d on, and where another part begins is not in the file", was.size[0], was.size[1], was.table[0], was.table[1], was.first[0], was.first[1]),
				Instead: "export the model for the wanted picture"}
		}
	}
	t.cropped = &[2]crop{was, is}
	return true, nil
}

// Cuts is length.Cutter.
func (t *tableSite) Cuts() (cuts []length.Cut) {
	if t.cropped == nil {
		return nil
	}
	was, is := t.cropped[0], t.cropped[1]
	for axis := range was.table {
		cuts = append(cuts, length.Cut{Of: was.table[axis], First: was.first[axis], Size: was.size[axis], NewFirst: is.first[axis], NewSize: is.size[axis]})
	}
	return cuts
}

// Follows refuses a graph that takes other rows of the table than those of the part.
func (t *tableSite) Follows(e *eval.Evaluator) error {
	if t.cropped == nil {
		return nil
	}
	a, is := t.uses[0], t.cropped[1]
	v, share := e.Main.Value(a.name), a.share
	refusal := &position.Refusal{Why: fmt.Sprintf("%s does not get the rows of a part of %d×%d of its table", a.node.Title(), is.size[0], is.size[1]), Instead: "export the model for the wanted picture"}
	n := is.size[0] * is.size[1]
	_, prefix, _ := a.gridOf()
	if a.scope != e.Main && a.scope.Index() != 0 || v.Len() != (prefix+n)*share.Columns {
		return refusal
	}
	want := make([]float64, share.Table.Dim())
	for _, p := range []int{0, is.size[1] - 1, n - 1} {
		row := (is.first[0]+p/is.size[1])*is.table[1] + is.first[1] + p%is.size[1]
		if err := share.Table.Row(row, want); err != nil {
			return err
		}
		for c, x := range want {
			if !v.Known() || len(want) != share.Columns || v.Number((prefix+p)*share.Columns+c) != x {
				return refusal
			}
		}
	}
	return nil
}
