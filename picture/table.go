package picture

import (
	"fmt"
	"math"
	"strings"

	"github.com/modelpatch/modelpatch/picture/figure"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/schemes"
)

// table draws a table of learned rows: norms, similarity to chosen rows and
// between neighbours, and the table itself.
func table(group []subject) (f figure.Figure, ok bool, err error) {
	row := figure.Axis{Label: "row", Whole: true}
	norms := figure.Panel{Title: "norm by row", X: row, Y: figure.Axis{Label: "Euclidean norm"}}
	likeness := figure.Panel{Title: "cosine similarity", X: row, Y: figure.Axis{Label: "cosine", Min: -1, Max: 1}}
	tables := make([]position.Rows, len(group))
	for k, s := range group {
		rows, is := s.site.(position.Rows)
		if !is {
			return f, false, nil
		}
		tables[k] = rows
	}
	chosen := choose(tables, group[0].numbers)
	if chosen == nil {
		return f, false, nil
	}
	var words []string
	var further []figure.Panel
	grid := false
	for k, s := range group {
		l, rows := chosen[k], tables[k]
		learned, _ := s.encoding.Scheme.(schemes.Learned)
		if err := l.read(rows, learned.Offset); err != nil {
			return f, false, err
		}
		addNorms(&norms, s, l)
		addLikeness(&likeness, s, l, len(group) == 2)
		f.Notes = append(f.Notes, l.faults(func(says string) string { return label(s, says) })...)
		f.Subtitle = joined(f.Subtitle, label(s, s.encoding.Scheme.String()), "; ")
		low, high, _ := figure.Panel{Series: []figure.Series{l.series("", l.norm)}}.Range()
		words = append(words, label(s, fmt.Sprintf("%d rows of %d numbers, norms from %s to %s", l.total, l.dim, figure.Number(low), figure.Number(high))))
		if len(group) == 1 {
			if p, ok, err := zoom("the table", rows); err != nil {
				return f, false, err
			} else if ok {
				further = append(further, p)
			}
		}
		if p, ok, err := patches(s); err != nil {
			return f, false, err
		} else if ok {
			further, grid = append(further, p), true
		}
		bands, missing := before(s, learned, rows.Len())
		norms.Bands, likeness.Bands = append(norms.Bands, bands...), append(likeness.Bands, bands...)
		if missing != "" {
			f.Notes = append(f.Notes, label(s, missing+": not in the rows that are drawn"))
		}
	}
	fit(&f, &norms)
	fit(&f, &likeness)
	norms.Y.Min, norms.Y.Max = fromZero(norms)
	if len(group) == 2 {
		joinMark(chosen, &norms, &likeness)
		if err := addRowDifference(&f, tables, chosen[0]); err != nil {
			return f, false, err
		}
	}
	f.Panels = append(f.Panels, norms)
	if len(group) == 1 || !grid { // neighbours of a grid are not rows that follow each other
		f.Panels = append(f.Panels, likeness)
	}
	f.Panels = append(f.Panels, further...)
	f.Title = title(group)
	f.Description = strings.Join(words, ". ") + "."
	return f, true, nil
}

// before are the rows, of so many, that stand before those of positions: ones that are never read, class
// tokens. missing are tokens that a grid's table has no rows of, "" where there are none.
func before(s subject, l schemes.Learned, rows int) (out []figure.Band, missing string) {
	band := func(name string, from, to int) {
		if from >= 0 && from < to {
			out = append(out, figure.Band{Name: label(s, name), From: float64(from) - 0.5, To: float64(to) - 0.5, Vertical: true})
		}
	}
	band("before the first position", 0, l.Offset)
	name := "class token"
	if l.Prefix > 1 {
		name = fmt.Sprintf("%d tokens before the patches", l.Prefix)
	}
	prefix := prefixRows(l, rows)
	if band(name, max(l.Offset, 0), max(l.Offset, 0)+prefix); prefix < l.Prefix {
		missing = name
	}
	return out, missing
}

// prefixRows is how many rows, of so many, stand before those of the patches: none where the grid is all
// that there is.
func prefixRows(l schemes.Learned, rows int) int {
	if len(l.Grid) == 2 && l.Prefix+l.Grid[0]*l.Grid[1] > rows {
		return 0
	}
	return max(l.Prefix, 0)
}

// fromZero is an axis from 0 to a little above the greatest number.
func fromZero(p figure.Panel) (low, high float64) {
	low, high, ok := p.Range()
	if !ok || high == low && high == 0 {
		return 0, 1
	}
	return min(low, 0), high + (high-min(low, 0))/20
}

func addNorms(p *figure.Panel, s subject, l *lines) {
	p.Series = append(p.Series, l.series(label(s, "norm"), l.norm))
	p.Marks = append(p.Marks, marks(label(s, "NaN"), l.broken)...)
	p.Marks = append(p.Marks, marks(label(s, "zeros"), l.zero)...)
	if len(p.Marks) > figure.MaxMarks {
		p.Marks = p.Marks[:figure.MaxMarks]
	}
	if l.repeats > 0 {
		p.Rules = append(p.Rules, figure.Rule{Name: label(s, fmt.Sprintf("row %d is row %d again", l.repeats, l.chosen[0])), At: float64(l.repeats), Vertical: true})
	}
}

// addLikeness adds how like rows are to chosen ones; beside another model only to
// the first, so that the lines can be told apart.
func addLikeness(p *figure.Panel, s subject, l *lines, few bool) {
	for k, i := range l.chosen {
		if few && k > 0 {
			break
		}
		p.Series = append(p.Series, l.series(label(s, fmt.Sprintf("to row %d", i)), l.cosine[k]))
	}
	if !l.sampled() && l.total > 2 {
		next := l.series(label(s, "to the row before"), l.next)
		next.Style = figure.Dashed
		p.Series = append(p.Series, next)
	}
}

// addRowDifference adds the rows of the second table minus those of the first: of rows that both have, their norm
// and their numbers.
func addRowDifference(f *figure.Figure, tables []position.Rows, first *lines) error {
	d := minus{tables[1], tables[0]}
	if tables[0].Dim() != tables[1].Dim() {
		f.Differs = true
		f.Notes = append(f.Notes, fmt.Sprintf("no difference is drawn: rows have %d numbers and %d", tables[0].Dim(), tables[1].Dim()))
		return nil
	}
	both := &lines{index: first.index[:first.shared], shared: first.shared, samples: first.samples}
	row := make([]float64, d.Dim())
	for _, i := range both.index {
		if err := d.Row(i, row); err != nil {
			return err
		}
		both.norm = append(both.norm, math.Sqrt(dot(row, row)))
	}
	f.Differs = tables[0].Len() != tables[1].Len()
	if value, flat := constant(both.norm); flat && value == 0 {
		f.Notes = append(f.Notes, "the rows that both tables have are equal, as far as they were read")
		return nil
	}
	f.Differs = true
	p := figure.Panel{Title: "difference: norm of the second's row minus the first's", Difference: true, X: figure.Axis{Label: "row", Whole: true}, Y: figure.Axis{Label: "norm"},
		Series: []figure.Series{both.series("second minus first", both.norm)}}
	p.Y.Min, p.Y.Max = fromZero(p)
	f.Panels = append(f.Panels, p)
	z, ok, err := zoom("difference of the tables", d)
	if z.Difference = true; ok {
		f.Panels = append(f.Panels, z)
	}
	return err
}

// minus is one table less another, of the rows that both have.
type minus struct {
	position.Rows
	other position.Rows
}

// Len is the number of rows that both have.
func (m minus) Len() int { return min(m.Rows.Len(), m.other.Len()) }

// Row computes the difference of two rows.
func (m minus) Row(i int, dst []float64) error {
	if err := m.Rows.Row(i, dst); err != nil {
		return err
	}
	other := make([]float64, len(dst))
	if err := m.other.Row(i, other); err != nil {
		return err
	}
	for k := range dst {
		dst[k] -= other[k]
	}
	return nil
}

// joinMark draws where the longer table goes beyond the shorter one.
func joinMark(read []*lines, panels ...*figure.Panel) {
	if read[0].total == read[1].total {
		return
	}
	n := min(read[0].total, read[1].total)
	for _, p := range panels {
		p.Rules = append(p.Rules, figure.Rule{Name: fmt.Sprintf("new rows from %d on", n), At: float64(n) - 0.5, Vertical: true})
	}
}

// zoom is the numbers of a table.
func zoom(what string, t position.Rows) (figure.Panel, bool, error) {
	h, err := heat(t)
	if err != nil || h == nil {
		return figure.Panel{}, false, err
	}
	if h.Rows < t.Len() || h.Columns < t.Dim() {
		what = fmt.Sprintf("%s, %d of %d rows and %d of %d columns", what, h.Rows, t.Len(), h.Columns, t.Dim())
	}
	return figure.Panel{Title: what, X: figure.Axis{Label: "column", Whole: true}, Y: figure.Axis{Label: "row", Whole: true}, Heat: h}, true, nil
}

// patches is how like the rows of a grid are to the one in its middle.
func patches(s subject) (figure.Panel, bool, error) {
	l, ok := s.encoding.Scheme.(schemes.Learned)
	if !ok || len(l.Grid) != 2 || l.Grid[0] < 2 || l.Grid[1] < 2 || l.Grid[0] > figure.MaxHeatRows || l.Grid[1] > figure.MaxHeatColumns {
		return figure.Panel{}, false, nil
	}
	t := s.site.(position.Rows)
	height, width := l.Grid[0], l.Grid[1]
	prefix := prefixRows(l, t.Len())
	if prefix+height*width > t.Len() {
		return figure.Panel{}, false, nil
	}
	middle, row := make([]float64, t.Dim()), make([]float64, t.Dim())
	if err := t.Row(prefix+height/2*width+width/2, middle); err != nil {
		return figure.Panel{}, false, err
	}
	h := &figure.Heat{Columns: width, Rows: height, Limit: 1, X: [2]float64{0, float64(width - 1)}, Y: [2]float64{0, float64(height - 1)}}
	for i := range height * width {
		if err := t.Row(prefix+i, row); err != nil {
			return figure.Panel{}, false, err
		}
		h.Values = append(h.Values, cosine(row, middle))
	}
	return figure.Panel{Title: label(s, fmt.Sprintf("cosine similarity to the patch at row %d, column %d", height/2, width/2)),
		X: figure.Axis{Label: "patch across", Whole: true}, Y: figure.Axis{Label: "patch down", Whole: true}, Heat: h}, true, nil
}
