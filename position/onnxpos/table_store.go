package onnxpos

import (
	"fmt"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/onnxpos/length"
	"github.com/modelpatch/modelpatch/position/onnxpos/rows"
	"github.com/modelpatch/modelpatch/position/onnxpos/sheet"
	"github.com/modelpatch/modelpatch/position/onnxpos/trace"
	"github.com/modelpatch/modelpatch/position/onnxpos/waves"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// errFromEnd is of tables whose rows fall with the position, or go up to the last one.
var errFromEnd = &position.Refusal{Why: "its rows are counted from the last one, or from the last position, and from which is not known", Instead: "export the model for the wanted length"}

// AlongTime reports whether the rows tell the frames of a video apart, and nothing else.
func (t *tableSite) AlongTime() bool { return t.alongTime && t.crossed == nil }

// Store stores more rows, or the rows of another scheme, in the table.
func (t *tableSite) Store(want position.Want) error {
	switch err := t.Uncounted(want); {
	case err != nil:
		return err
	case t.uses[0].source.Trig != nil:
		return t.storeRuntime(want)
	}
	switch share := t.uses[0].share; {
	case share.Scaled:
		return &position.Refusal{Why: "the graph scales each row of its table by a number that belongs to it", Instead: "export the model for the wanted length"}
	case t.uses[0].source.Indexed != nil && eval.Is(t.uses[0].source.Indexed, eval.LookupsInBlocks):
		return &position.Refusal{Why: "its rows are stored in blocks, each of which has a scale in another constant", Instead: "change the model before it is quantised"}
	case t.crossed != nil || !share.Stores:
		return &position.Refusal{Why: "the rows of several axes of positions, or of several grids, stand apart", Instead: "export the model for the wanted size"}
	}
	switch {
	case t.fromEnd:
		return errFromEnd
	case !t.Detected.IsGrid() && t.Resampled():
		return &position.Refusal{Why: "the graph resamples the table to the length of its input itself", Instead: "give it longer input as it is; what rows that are resampled from more of them would say is not in the file"}
	}
	table := t.rows()
	offset := t.uses[0].share.First
	n := want.Positions + offset
	if g, ok := t.Detected.Scheme.(schemes.Learned); ok && g.Grid != nil {
		if w, ok := want.Scheme.(schemes.Learned); !ok || w.Grid == nil || want.Rows == nil {
			return &position.Refusal{Why: "the table holds the patches of an image grid", Remedies: []report.Remedy{report.Do("extend", "", "grid", "HxW"), report.Do("extend", "", "image", "SIZE")}}
		}
		if t.Resampled() {
			return &position.Refusal{Why: "the graph resamples its table of patches itself", Instead: "give it a larger picture, if its axes are free; else export it for the wanted size"}
		}
	}
	kept, row := table.Len(), rows.RowFunc(nil)
	if w, ok := want.Scheme.(schemes.Learned); ok && len(w.Grid) == 2 {
		table.Grid = [2]int(w.Grid)
	}
	switch {
	case t.Detected.IsGrid() && t.sinusoid == nil && want.Rows == nil: // a formula of rows and columns
		s, ok := want.Scheme.(schemes.Sinusoid)
		if !ok || s.Grid == nil {
			return &position.Refusal{Why: "the table holds the patches of an image grid", Remedies: []report.Remedy{report.Do("extend", "", "grid", "HxW"), report.Do("extend", "", "image", "SIZE")}}
		}
		formula := s.Table()
		if n, kept = s.Rows, 0; len(s.Grid) == 2 {
			table.Grid = [2]int(s.Grid)
		}
		row = func(i int, dst []float64) error { formula.Row(i, dst); return nil }
	case want.Rows != nil:
		n, kept, row = want.Rows.Len(), want.Rows.Kept(), want.Rows.Row
	case t.sinusoid != nil && length.IsRelative(t.sinusoid.Sinusoid, t.m.FixedLength()):
		return &position.Refusal{Why: fmt.Sprintf("the sines and cosines are of places relative to the %d positions", t.m.FixedLength()), Instead: "export the model for the wanted length"}
	case t.sinusoid != nil:
		formula := t.sinusoid.Sinusoid.Table()
		row = func(i int, dst []float64) error {
			formula.Row(i, dst)
			for k := range dst {
				if t.rounded != "" {
					dst[k] = t.rounded.Round(dst[k])
				}
			}
			return nil
		}
	default:
		return &position.Refusal{Why: "new rows of a trained table follow no formula", Remedies: []report.Remedy{report.Do("", "makes them", "method", schemes.DefaultGrow)}}
	}
	kept = min(kept, n)
	t.newRows, t.newGrid = n, table.Grid
	for _, c := range t.tensors() {
		if err := t.m.Resize(table.Of(c), n, kept, row, fmt.Sprintf("%d rows", n)); err != nil {
			return err
		}
	}
	return nil
}

func (t *tableSite) storeRuntime(want position.Want) error {
	if want.Scheme == nil || want.Scheme.Equal(t.Detected.Scheme) {
		return nil // the formula goes on
	}
	return &position.Refusal{Why: "the graph computes its sinusoid; its formula is not in a table", Instead: "export the model again with the wanted formula"}
}

// Bake makes sines and cosines that the graph computes tables.
func (t *tableSite) Bake(positions int) error {
	if t.Detected.IsGrid() {
		return &position.Refusal{Why: "the graph computes the places of an image's patches, which no table by position holds"}
	}
	for _, u := range t.uses {
		if err := waves.BakeJoined(t.m, u.scope, u.name, positions); err != nil {
			return err
		}
	}
	return nil
}

// Unbake makes the graph compute sines and cosines that it has in a table.
func (t *tableSite) Unbake() (schemes.Scheme, error) {
	if t.uses[0].share != nil && t.rows().InParts() {
		return nil, rows.ErrInParts()
	}
	if t.sinusoid == nil {
		return nil, &position.Refusal{Why: "no formula explains a trained table: the graph cannot compute it", Instead: "leave the table in place"}
	}
	s := t.sinusoid.Sinusoid
	if s.Grid != nil || s.Start != 0 || len(s.ZeroRows) > 0 {
		return nil, &position.Refusal{Why: "the table holds rows that are not those of positions from 0 on", Instead: "leave the table in place"}
	}
	table := t.rows()
	columns := make([]waves.Column, table.Dim())
	formula, a := s.Table(), s.Amplitude
	if a == 0 {
		a = 1
	}
	for k, f := range s.InverseFrequencies() {
		sin, cos := formula.Places(k)
		for i, at := range []int{sin, cos} {
			if at < len(columns) {
				columns[at] = waves.Column{Frequency: f, Amplitude: a, Cosine: i == 1}
			}
		}
	}
	var uses []trace.Source
	var tables []waves.Table
	for _, u := range t.uses {
		uses = append(uses, u.source)
	}
	for _, c := range t.tensors() {
		tables = append(tables, waves.Table{Table: table.Of(c), Columns: columns})
	}
	s.Rows = 0
	return s, waves.Unbake(t.m, uses, tables)
}

// Neutralize makes the table add nothing.
func (t *tableSite) Neutralize() error {
	if t.uses[0].source.Tensor == nil {
		return &position.Refusal{Why: "the graph computes its sinusoid: no table can be emptied", Instead: "leave the old encoding in place"}
	}
	for _, table := range t.Tables() {
		if err := t.m.Resize(table, table.Len(), 0, rows.Nothing, "zeros: the table adds nothing"); err != nil {
			return err
		}
	}
	return nil
}

// crop is the part of its table that the graph takes; false where it takes all.
func (t *tableSite) crop() (c sheet.Crop, ok bool) {
	a := t.uses[0]
	if a.share == nil || a.share.Row == nil || !a.share.Stores || len(t.uses) > 1 || t.crossed != nil {
		return c, false
	}
	grid, prefix, _ := a.gridOf()
	return a.share.Crop(grid, prefix)
}

// Crop takes a part of another size out of the table, where the graph takes a part of it.
func (t *tableSite) Crop(to [2]int) (cropped bool, err error) {
	was, ok := t.crop()
	switch {
	case t.part && !t.Detected.IsGrid():
		return false, &position.Refusal{Why: fmt.Sprintf("pictures get as many rows of its table as they have patches, and it has %d", t.Detected.Capacity), Instead: "export the model for the wanted picture"}
	case ok:
	case t.part:
		return false, &position.Refusal{Why: "the graph takes a part of its table for the picture that it gets, and where the rows of a larger one stand is its own", Instead: "export the model for the wanted picture"}
	default:
		return false, nil
	}
	is, ok := was.To(to)
	why := ""
	switch takes := fmt.Sprintf("the graph takes %s of a table of %s rows and columns", schemes.Sizes(was.Size[:]), schemes.Sizes(was.Table[:])); {
	case to[0] > was.Table[0] || to[1] > was.Table[1]:
		why = takes + ", which has none for more"
	case !ok:
		why = fmt.Sprintf("%s, from %d and %d on, and where another part begins is not in the file", takes, was.First[0], was.First[1])
	default:
		t.cropped = &[2]sheet.Crop{was, is}
		return true, nil
	}
	return false, &position.Refusal{Why: why, Instead: "export the model for the wanted picture"}
}

// Cuts is length.Cutter.
func (t *tableSite) Cuts() (cuts []length.Cut) {
	if t.cropped == nil {
		return nil
	}
	was, is := t.cropped[0], t.cropped[1]
	for axis, of := range was.Table {
		cuts = append(cuts, length.Cut{Of: of, First: was.First[axis], Size: was.Size[axis], NewFirst: is.First[axis], NewSize: is.Size[axis]})
	}
	return cuts
}

// Follows refuses a graph that takes other rows of the table than those of the part: the first and last of its first row, and the last of all
// are looked at.
func (t *tableSite) Follows(e *eval.Evaluator) error {
	switch {
	case t.fromEnd && t.m.FixedLength() > 0:
		return errFromEnd
	case t.cropped == nil:
		return nil
	}
	a, is := t.uses[0], t.cropped[1]
	v, n, columns := e.Main.Enlarge(a.name), onnx.Size(is.Size[:]), a.share.Columns
	_, prefix, _ := a.gridOf()
	want := make([]float64, a.share.Table.Dim())
	same := v.Known() && a.scope.Index() == 0 && len(want) == columns && v.Len() == (prefix+n)*columns
	for _, p := range []int{0, is.Size[1] - 1, n - 1} {
		if err := a.share.Table.Row(is.Row(p), want); err != nil {
			return err
		}
		for c, x := range want {
			same = same && v.Number((prefix+p)*columns+c) == x
		}
	}
	if same {
		return nil
	}
	return &position.Refusal{Why: fmt.Sprintf("%s does not get the rows of a part of %s of its table", a.node.Title(), schemes.Sizes(is.Size[:])), Instead: "export the model for the wanted picture"}
}
