package picture

import (
	"fmt"
	"math"
	"slices"
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
	read := make([]*lines, len(group))
	var words []string
	for k, s := range group {
		rows, is := s.site.(position.Rows)
		if !is {
			return f, false, nil
		}
		offset := 0
		learned, isLearned := s.encoding.Scheme.(schemes.Learned)
		if isLearned {
			offset = learned.Offset
		}
		l, err := readRows(rows, offset, s.numbers)
		if err != nil || l == nil {
			return f, false, err
		}
		read[k] = l
		addNorms(&norms, s, l)
		addLikeness(&likeness, s, l, len(group) == 2)
		f.Notes = append(f.Notes, l.faults(func(says string) string { return label(s, says) })...)
		f.Subtitle = joined(f.Subtitle, label(s, s.encoding.Scheme.String()), "; ")
		low, high, _ := figure.Panel{Series: []figure.Series{l.series("", l.norm)}}.Range()
		words = append(words, label(s, fmt.Sprintf("%d rows of %d numbers, norms from %s to %s", l.total, l.dim, figure.Number(low), figure.Number(high))))
		if offset > 0 {
			norms.Bands = append(norms.Bands, figure.Band{Name: label(s, "before the first position"), From: 0, To: float64(offset) - 0.5, Vertical: true})
		}
	}
	fit(&f, &norms)
	fit(&f, &likeness)
	norms.Y.Min, norms.Y.Max = fromZero(norms)
	f.Panels = append(f.Panels, norms, likeness)
	if len(group) == 2 {
		p, err := rowDifference(group, read)
		if err != nil {
			return f, false, err
		}
		f.Panels = append(f.Panels, p)
		joinMark(&f, read)
		if len(p.Series) == 1 && !slices.ContainsFunc(p.Series[0].Y, func(v float64) bool { return v != 0 }) {
			f.Notes = append(f.Notes, "the rows that both tables have are equal, as far as they were read")
		}
	}
	for _, s := range group {
		p, ok, err := zoom(s)
		if err != nil {
			return f, false, err
		}
		if ok {
			f.Panels = append(f.Panels, p)
		}
		if p, ok, err := patches(s); err != nil {
			return f, false, err
		} else if ok {
			f.Panels = append(f.Panels, p)
		}
	}
	f.Title = title(group)
	f.Description = strings.Join(words, ". ") + "."
	if len(f.Notes) > 0 {
		f.Description += " " + strings.Join(f.Notes, ". ") + "."
	}
	return f, true, nil
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

// rowDifference is the norm of the difference of rows that both tables have.
func rowDifference(group []subject, read []*lines) (figure.Panel, error) {
	p := figure.Panel{Title: "difference: norm of the second's row minus the first's", X: figure.Axis{Label: "row", Whole: true}, Y: figure.Axis{Label: "norm"}}
	a, b := group[0].site.(position.Rows), group[1].site.(position.Rows)
	if a.Dim() != b.Dim() {
		p.Title = "difference: none, rows have other lengths"
		return p, nil
	}
	x, y := make([]float64, a.Dim()), make([]float64, a.Dim())
	both := &lines{total: min(a.Len(), b.Len()), dim: a.Dim()}
	both.index = figure.Columns(both.total, len(read[0].index))
	for _, i := range both.index {
		if err := a.Row(i, x); err != nil {
			return p, err
		}
		if err := b.Row(i, y); err != nil {
			return p, err
		}
		for k := range x {
			x[k] = y[k] - x[k]
		}
		both.norm = append(both.norm, math.Sqrt(dot(x, x)))
	}
	p.Series = []figure.Series{both.series("second minus first", both.norm)}
	p.Y.Min, p.Y.Max = fromZero(p)
	return p, nil
}

// joinMark draws where the longer table goes beyond the shorter one.
func joinMark(f *figure.Figure, read []*lines) {
	if read[0].total == read[1].total {
		return
	}
	r := figure.Rule{Name: fmt.Sprintf("new rows from %d on", min(read[0].total, read[1].total)), At: float64(min(read[0].total, read[1].total)) - 0.5, Vertical: true}
	for i := range min(2, len(f.Panels)) {
		f.Panels[i].Rules = append(f.Panels[i].Rules, r)
	}
}

// zoom is the table itself.
func zoom(s subject) (figure.Panel, bool, error) {
	t := s.site.(position.Rows)
	h, err := heat(t)
	if err != nil || h == nil {
		return figure.Panel{}, false, err
	}
	what := "the table"
	if h.Rows < t.Len() || h.Columns < t.Dim() {
		what = fmt.Sprintf("the table, %d of %d rows and %d of %d columns", h.Rows, t.Len(), h.Columns, t.Dim())
	}
	return figure.Panel{Title: label(s, what), X: figure.Axis{Label: "column", Whole: true}, Y: figure.Axis{Label: "row", Whole: true}, Heat: h}, true, nil
}

// patches is how like the rows of a grid are to the one in its middle.
func patches(s subject) (figure.Panel, bool, error) {
	l, ok := s.encoding.Scheme.(schemes.Learned)
	if !ok || len(l.Grid) != 2 || l.Grid[0] < 2 || l.Grid[1] < 2 || l.Grid[0] > figure.MaxHeatRows || l.Grid[1] > figure.MaxHeatColumns {
		return figure.Panel{}, false, nil
	}
	t := s.site.(position.Rows)
	height, width := l.Grid[0], l.Grid[1]
	if l.Prefix+height*width > t.Len() || l.Prefix < 0 {
		return figure.Panel{}, false, nil
	}
	middle, row := make([]float64, t.Dim()), make([]float64, t.Dim())
	if err := t.Row(l.Prefix+height/2*width+width/2, middle); err != nil {
		return figure.Panel{}, false, err
	}
	h := &figure.Heat{Columns: width, Rows: height, Limit: 1, X: [2]float64{0, float64(width - 1)}, Y: [2]float64{0, float64(height - 1)}}
	for i := range height * width {
		if err := t.Row(l.Prefix+i, row); err != nil {
			return figure.Panel{}, false, err
		}
		h.Values = append(h.Values, cosine(row, middle))
	}
	return figure.Panel{Title: label(s, fmt.Sprintf("cosine similarity to the patch at row %d, column %d", height/2, width/2)),
		X: figure.Axis{Label: "patch across", Whole: true}, Y: figure.Axis{Label: "patch down", Whole: true}, Heat: h}, true, nil
}
