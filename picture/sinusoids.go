package picture

import (
	"fmt"
	"math"
	"strings"

	"github.com/modelpatch/modelpatch/picture/figure"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/schemes"
)

// usualRows is how many rows are drawn of sinusoids that a graph computes
// without a bound.
const usualRows = 128

// formula is the rows of sinusoids that are in no table.
type formula struct {
	table *schemes.SinusoidTable
	rows  int
}

// Len is the number of rows that are drawn.
func (t formula) Len() int { return t.rows }

// Dim is the number of columns.
func (t formula) Dim() int { return t.table.Dim }

// Row computes a row; it never fails.
func (t formula) Row(i int, dst []float64) error { t.table.Row(i, dst); return nil }

// rowsOf are the rows of a sinusoidal encoding: the file's, or computed.
func rowsOf(s subject, w schemes.Sinusoid) (rows position.Rows, computed bool) {
	if t, ok := s.site.(position.Rows); ok && t.Len() > 0 && t.Dim() > 0 {
		return t, false
	}
	n := w.Rows
	if n <= 0 {
		n = s.length(usualRows)
	}
	return formula{w.Table(), min(n, mostRows)}, true
}

// sinusoids draws sines and cosines of positions: dot products by distance,
// dials of some pairs, norms, and the table itself.
func sinusoids(group []subject) (f figure.Figure, ok bool, err error) {
	dots := figure.Panel{Title: "dot product of rows by distance, over that of a row with itself", X: figure.Axis{Label: "distance", Whole: true}, Y: figure.Axis{Label: "dot product"}}
	norms := figure.Panel{Title: "norm by row", X: figure.Axis{Label: "row", Whole: true}, Y: figure.Axis{Label: "Euclidean norm"}}
	var zooms, dials []figure.Panel
	var words []string
	tables, computed := make([]position.Rows, len(group)), make([]bool, len(group))
	for k, s := range group {
		w := s.encoding.Scheme.(schemes.Sinusoid)
		if w.Dim <= 0 || w.Dim > mostWidth {
			return f, false, nil
		}
		tables[k], computed[k] = rowsOf(s, w)
	}
	chosen := choose(tables, group[0].numbers)
	if chosen == nil {
		return f, false, nil
	}
	for k, l := range chosen {
		s, rows := group[k], tables[k]
		w := s.encoding.Scheme.(schemes.Sinusoid)
		if err := l.read(rows, w.Offset); err != nil {
			return f, false, err
		}
		if computed[k] {
			f.Notes = append(f.Notes, label(s, fmt.Sprintf("the file has no table: %d rows of the formula are drawn", l.total)))
		}
		addNorms(&norms, s, l)
		f.Notes = append(f.Notes, l.faults(func(says string) string { return label(s, says) })...)
		if err := addDots(&dots, s, rows, w.Offset); err != nil {
			return f, false, err
		}
		p, ok, err := dialsOf(s, w, rows)
		if err != nil {
			return f, false, err
		}
		if ok {
			dials = append(dials, p)
		}
		if p, ok, err := zoom("the table", rows); err != nil {
			return f, false, err
		} else if ok {
			zooms = append(zooms, p)
		}
		f.Subtitle = joined(f.Subtitle, label(s, w.String()), "; ")
		words = append(words, label(s, fmt.Sprintf("%d rows of %d sines and cosines", l.total, l.dim)))
	}
	fit(&f, &dots)
	fit(&f, &norms)
	norms.Y.Min, norms.Y.Max = fromZero(norms)
	if len(group) == 2 {
		if err := addRowDifference(&f, tables, chosen[0]); err != nil {
			return f, false, err
		}
	}
	f.Panels = append(append(f.Panels, dots), dials...)
	if len(group) == 1 {
		f.Panels = append(append(f.Panels, norms), zooms...)
	}
	f.Title = title(group)
	f.Description = strings.Join(words, ". ") + ". Dot products fall off with distance alike from every row where the numbers are those of the formula."
	return f, true, nil
}

// addDots adds the dot products of rows with the first one and the one in the
// middle, over that of the row with itself.
func addDots(p *figure.Panel, s subject, rows position.Rows, offset int) error {
	n := rows.Len()
	first := min(max(offset, 0), n-1)
	starts := []int{first}
	if middle := first + (n-first)/2; middle > first+1 {
		starts = append(starts, middle)
	}
	at, other := make([]float64, rows.Dim()), make([]float64, rows.Dim())
	for k, from := range starts {
		if err := rows.Row(from, at); err != nil {
			return err
		}
		whole := dot(at, at)
		line := figure.Series{Name: label(s, fmt.Sprintf("from row %d", from))}
		if k > 0 {
			line.Style = figure.Dashed
		}
		for _, d := range figure.Columns(n-from, figure.MaxColumns) {
			if err := rows.Row(from+d, other); err != nil {
				return err
			}
			line.X, line.Y = append(line.X, float64(d)), append(line.Y, dot(at, other)/whole)
		}
		p.Series = append(p.Series, finite(line))
	}
	return nil
}

// hands is how many positions a dial shows, and dialCount how many dials there are.
const (
	hands     = 24
	dialCount = 4
)

// dialsOf are clocks of some pairs: where the hand of (cosine, sine) stands at
// the first positions.
func dialsOf(s subject, w schemes.Sinusoid, rows position.Rows) (figure.Panel, bool, error) {
	t := w.Table()
	pairs := len(w.InverseFrequencies())
	if w.Grid != nil || pairs == 0 || rows.Dim() != w.Dim {
		return figure.Panel{}, false, nil
	}
	p := figure.Panel{Title: label(s, "hands of some pairs: cosine to the right, sine upwards, a dot a position")}
	n := min(hands, rows.Len()-max(w.Offset, 0))
	if n < 1 {
		return p, false, nil
	}
	row := make([]float64, rows.Dim())
	last := max(1, pairs*2/3) // slower ones hardly move within so few positions
	for _, k := range figure.Columns(last, dialCount) {
		sin, cos := t.Places(k)
		if sin >= rows.Dim() || cos >= rows.Dim() || sin < 0 || cos < 0 {
			continue
		}
		d := figure.Dial{Name: fmt.Sprintf("pair %d", k), Radius: 1}
		if w.Amplitude != 0 {
			d.Radius = math.Abs(w.Amplitude)
		}
		for i := range n {
			at := max(w.Offset, 0) + i
			if err := rows.Row(at, row); err != nil {
				return p, false, err
			}
			d.Positions = append(d.Positions, float64(i))
			d.X, d.Y = append(d.X, row[cos]), append(d.Y, row[sin])
		}
		p.Dials = append(p.Dials, d)
	}
	return p, len(p.Dials) > 0, nil
}

// finite replaces infinities by gaps.
func finite(s figure.Series) figure.Series {
	for i, v := range s.Y {
		if math.IsInf(v, 0) {
			s.Y[i] = math.NaN()
		}
	}
	return s
}
