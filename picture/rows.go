package picture

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/modelpatch/modelpatch/picture/figure"
	"github.com/modelpatch/modelpatch/position"
)

const (
	mostRows    = 1 << 14 // rows that are read of a table for its norms
	mostNumbers = 1 << 25 // numbers that are read of it: fewer rows where they are wide
	mostWidth   = 1 << 20 // columns; models have at most 16,384
)

// lines are the rows of a table that were read: which ones, and what was found
// in each.
type lines struct {
	total, dim int
	index      []int     // rows that were read, in order
	shared     int       // how many of them, from the first on, the other model's table has as well
	samples    int       // that those are drawn as
	norm       []float64 // of each; NaN where it holds one
	chosen     []int     // rows that others are held against
	cosine     [][]float64
	next       []float64 // cosine to the row before, where that was read
	broken     []int     // rows with NaN or infinity
	zero       []int     // rows of zeros
	repeats    int       // first row that begins the table anew, 0: none
}

// choose returns for each table which of its rows are read, as lines without numbers; nil where a table cannot be
// drawn. Rows that all have are chosen, and drawn together, alike: equal rows make equal samples.
func choose(tables []position.Rows, numbers int) []*lines {
	common, longest, most := math.MaxInt, 0, mostRows
	for _, t := range tables {
		if t.Len() <= 0 || t.Dim() <= 0 || t.Dim() > mostWidth {
			return nil
		}
		common, longest, most = min(common, t.Len()), max(longest, t.Len()), min(most, numbers/t.Dim())
	}
	most = min(max(most, 2*len(tables)), longest)
	share := func(all int) int { // of what is for the longest table, that for the rows that all have
		return max(1, int(int64(all)*int64(common)/int64(longest)))
	}
	shared := figure.Columns(common, share(most))
	var out []*lines
	for _, t := range tables {
		l := &lines{total: t.Len(), dim: t.Dim(), index: slices.Clone(shared), shared: len(shared), samples: min(len(shared), share(figure.MaxColumns))}
		for _, i := range figure.Columns(t.Len()-common, most-len(shared)) {
			l.index = append(l.index, common+i)
		}
		out = append(out, l)
	}
	return out
}

// read reads the chosen rows one by one; none is kept but those that others are held
// against.
func (l *lines) read(t position.Rows, offset int) error {
	first := min(max(offset, 0), l.total-1)
	l.chosen = []int{first, first + (l.total-first)/2, l.total - 1}
	l.chosen = slices.Compact(l.chosen)
	held := make([][]float64, len(l.chosen))
	for k, i := range l.chosen {
		held[k] = make([]float64, l.dim)
		if err := t.Row(i, held[k]); err != nil {
			return err
		}
	}
	l.cosine = make([][]float64, len(l.chosen))
	row, before := make([]float64, l.dim), make([]float64, l.dim)
	for n, i := range l.index {
		if err := t.Row(i, row); err != nil {
			return err
		}
		norm := math.Sqrt(dot(row, row))
		l.norm = append(l.norm, norm)
		switch {
		case math.IsNaN(norm) || math.IsInf(norm, 0):
			l.broken = append(l.broken, i)
			l.norm[n] = math.NaN()
		case norm == 0:
			l.zero = append(l.zero, i)
		}
		for k := range held {
			l.cosine[k] = append(l.cosine[k], cosine(row, held[k]))
		}
		if i > first && l.repeats == 0 && norm > 0 && slices.Equal(row, held[0]) {
			l.repeats = i
		}
		if n > 0 && l.index[n-1] == i-1 {
			l.next = append(l.next, cosine(row, before))
		} else {
			l.next = append(l.next, math.NaN())
		}
		row, before = before, row
	}
	return nil
}

// Norms are the norms of the rows of an encoding that is a table of rows, in order,
// of at most most of them, evenly spread; NaN where a row holds one. They are nil for
// other encodings.
func Norms(s position.Site, most int) ([]float64, error) {
	t, ok := s.(position.Rows)
	if !ok || t.Len() <= 0 || t.Dim() <= 0 || t.Dim() > mostWidth {
		return nil, nil
	}
	var out []float64
	row := make([]float64, t.Dim())
	for _, i := range figure.Columns(t.Len(), min(most, max(2, mostNumbers/t.Dim()))) {
		if err := t.Row(i, row); err != nil {
			return nil, err
		}
		norm := math.Sqrt(dot(row, row))
		if math.IsInf(norm, 0) {
			norm = math.NaN()
		}
		out = append(out, norm)
	}
	return out, nil
}

// sampled reports whether rows were left out.
func (l *lines) sampled() bool { return len(l.index) < l.total }

func dot(a, b []float64) (sum float64) {
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}

// cosine is the cosine similarity of two rows, NaN where one has no direction.
func cosine(a, b []float64) float64 {
	c := dot(a, b) / math.Sqrt(dot(a, a)*dot(b, b))
	if math.IsInf(c, 0) {
		return math.NaN()
	}
	return min(max(c, -1), 1)
}

// series are numbers of the rows that were read, as at most MaxColumns samples:
// the mean of each group, with its least and greatest.
func (l *lines) series(name string, values []float64) figure.Series {
	s := figure.Series{Name: name}
	edges := l.edges(len(values))
	for g, to := range edges[1:] {
		from := edges[g]
		low, high, sum, count := math.Inf(1), math.Inf(-1), 0.0, 0
		for _, v := range values[from:to] {
			if !math.IsNaN(v) {
				low, high, sum, count = min(low, v), max(high, v), sum+v, count+1
			}
		}
		s.X = append(s.X, float64(l.index[from]))
		if count == 0 {
			s.Y, s.Low, s.High = append(s.Y, math.NaN()), append(s.Low, math.NaN()), append(s.High, math.NaN())
			continue
		}
		s.Y, s.Low, s.High = append(s.Y, sum/float64(count)), append(s.Low, low), append(s.High, high)
	}
	if len(edges) == len(values)+1 {
		s.Low, s.High = nil, nil
	}
	return s
}

// edges are the places among n rows that were read at which samples begin, and n itself.
func (l *lines) edges(n int) []int {
	shared := min(l.shared, n)
	samples := min(l.samples, shared)
	out := []int{0}
	for g := range samples {
		out = append(out, (g+1)*shared/samples)
	}
	rest := n - shared
	samples = min(rest, figure.MaxColumns-samples)
	for g := range samples {
		out = append(out, shared+(g+1)*rest/samples)
	}
	return out
}

// runs are the neighbours in a list of rows or pairs, as parts of it.
func runs(list []int) (out [][]int) {
	from := 0
	for i := range list {
		if i+1 == len(list) || list[i+1] != list[i]+1 {
			out = append(out, list[from:i+1])
			from = i + 1
		}
	}
	return out
}

// marks are rows with a fault, neighbours joined.
func marks(name string, rows []int) (out []figure.Mark) {
	for i, run := range runs(rows) {
		if i == figure.MaxMarks {
			break
		}
		out = append(out, figure.Mark{Name: name, From: float64(run[0]), To: float64(run[len(run)-1])})
	}
	return out
}

// faults says which rows hold no numbers, or zeros alone.
func (l *lines) faults(says func(string) string) (notes []string) {
	for _, c := range []struct {
		rows []int
		what string
	}{{l.broken, "NaN or infinity"}, {l.zero, "zeros alone"}} {
		if len(c.rows) > 0 {
			notes = append(notes, says(fmt.Sprintf("%s of %s: %s", plural(len(c.rows), "row"), c.what, ranges(c.rows))))
		}
	}
	if l.sampled() {
		notes = append(notes, says(fmt.Sprintf("%d of %d rows were read, evenly spread: a fault in another row is not seen", len(l.index), l.total)))
	}
	each := 1
	for edges := l.edges(len(l.index)); len(edges) > 1; edges = edges[1:] {
		each = max(each, edges[1]-edges[0])
	}
	if each > 1 {
		notes = append(notes, says(fmt.Sprintf("each point is the mean of up to %d rows that were read, the shade their range", each)))
	}
	if l.repeats > 0 {
		notes = append(notes, says(fmt.Sprintf("row %d holds the same numbers as row %d: from there on the table may be repeated, as extend --method tile does", l.repeats, l.chosen[0])))
	}
	return notes
}

// ranges says a list of rows: 0–1, 50, at most a few.
func ranges(rows []int) string {
	const most = 6
	var parts []string
	for i, run := range runs(rows) {
		part := fmt.Sprint(run[0])
		switch {
		case i == most:
			return strings.Join(parts, ", ") + ", …"
		case len(run) > 1:
			part += fmt.Sprintf("–%d", run[len(run)-1])
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
}

// heat is a table as a heat map of at most MaxHeatRows × MaxHeatColumns cells,
// evenly spread; a cell is one number of the table and no mean.
func heat(t position.Rows) (*figure.Heat, error) {
	rows, columns := figure.Columns(t.Len(), figure.MaxHeatRows), figure.Columns(t.Dim(), figure.MaxHeatColumns)
	if len(rows) == 0 || len(columns) == 0 || t.Dim() > mostWidth {
		return nil, nil
	}
	h := &figure.Heat{Columns: len(columns), Rows: len(rows), X: [2]float64{0, float64(t.Dim() - 1)}, Y: [2]float64{0, float64(t.Len() - 1)}}
	row := make([]float64, t.Dim())
	for _, i := range rows {
		if err := t.Row(i, row); err != nil {
			return nil, err
		}
		for _, k := range columns {
			h.Values = append(h.Values, row[k])
		}
	}
	h.Limit = strongest(h.Values)
	return h, nil
}

// strongest is the size below which 99 of 100 numbers are: one outlier must not
// make all others pale.
func strongest(values []float64) float64 {
	var sizes []float64
	for _, v := range values {
		if a := math.Abs(v); !math.IsNaN(a) && !math.IsInf(a, 0) {
			sizes = append(sizes, a)
		}
	}
	if len(sizes) == 0 {
		return 1
	}
	slices.Sort(sizes)
	if v := sizes[(len(sizes)-1)*99/100]; v > 0 {
		return v
	}
	if v := sizes[len(sizes)-1]; v > 0 {
		return v
	}
	return 1
}
