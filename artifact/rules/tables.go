package rules

import (
	"fmt"
	"hash/maphash"
	"math"
	"slices"

	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// table is what one pass over the rows of a position table shows.
type table struct {
	encoding report.Encoding
	first    int       // row of the first position
	norms    []float64 // of the rows from first on
	zero     []int     // rows of zeros
	repeats  [2]int    // two equal rows; {0, 0}: none
	repeated int       // rows that are equal to one before
	broken   [2]int    // row and column of NaN or infinity; {−1, …}: none
	value    float64
}

// tables reads the trained tables of a model, each row once.
func (f *Facts) tables() []table {
	if f.Model == nil || f.scanned {
		return f.scan
	}
	f.scanned = true
	for i, s := range f.Model.Sites() {
		learned, ok := s.Encoding().Scheme.(schemes.Learned)
		rows, has := s.(position.Rows)
		if !ok || !has || i >= len(f.Report.Encodings) || f.tooFar(i) {
			continue
		}
		if t, ok := scan(rows, learned.Offset); ok {
			t.encoding = f.Report.Encodings[i]
			f.scan = append(f.scan, t)
		}
	}
	return f.scan
}

// scan reads all rows from first on; false where they cannot be read.
func scan(rows position.Rows, first int) (t table, ok bool) {
	t.first, t.broken = first, [2]int{-1, 0}
	row := make([]float64, rows.Dim())
	seen := map[uint64]int{}
	seed := maphash.MakeSeed()
	for i := first; i < rows.Len(); i++ {
		if rows.Row(i, row) != nil {
			return t, false
		}
		var hash maphash.Hash
		hash.SetSeed(seed)
		sum := 0.0
		for c, v := range row {
			sum += v * v
			maphash.WriteComparable(&hash, v)
			if (math.IsNaN(v) || math.IsInf(v, 0)) && t.broken[0] < 0 {
				t.broken, t.value = [2]int{i, c}, v
			}
		}
		if t.norms = append(t.norms, math.Sqrt(sum)); sum == 0 {
			t.zero = append(t.zero, i)
			continue
		}
		if before, is := seen[hash.Sum64()]; is {
			if t.repeated++; t.repeated == 1 {
				t.repeats = [2]int{before, i}
			}
		} else {
			seen[hash.Sum64()] = i
		}
	}
	return t, len(t.norms) > 0
}

// notFinite finds NaN in tables that were too large to be looked through by the format's
// own rule.
func notFinite(format string) func(*Facts, func(report.Finding)) {
	return func(f *Facts, found func(report.Finding)) {
		if f.Report == nil || f.Report.Format != format || f.has(format+"-table-not-finite") {
			return
		}
		for _, t := range f.tables() {
			if t.broken[0] >= 0 {
				found(report.Finding{Message: fmt.Sprintf("row %d, column %d of the position table is %v", t.broken[0], t.broken[1], t.value), Where: place(t.encoding)})
			}
		}
	}
}

func zeroRows(f *Facts, found func(report.Finding)) {
	for _, t := range f.tables() {
		switch n := len(t.zero); {
		case n == 0:
		case n == len(t.norms) && f.hasOtherEncoding(t):
			found(report.Finding{Level: report.LevelNote, Message: "the position table has nothing but zeros, and no effect", Hint: "nothing needs to be done, where the table was disabled on purpose", Where: place(t.encoding)})
		case n == len(t.norms):
			found(report.Finding{Message: "the position table has nothing but zeros: the model tells no positions apart", Where: place(t.encoding)})
		default:
			found(report.Finding{Message: fmt.Sprintf("%d of %d rows of the position table are zeros, the first for position %d", n, len(t.norms), t.zero[0]-t.first), Where: place(t.encoding)})
		}
	}
}

// hasOtherEncoding reports whether an encoding other than that of a table is known.
func (f *Facts) hasOtherEncoding(t table) bool {
	return slices.ContainsFunc(f.Report.Encodings, func(e report.Encoding) bool {
		return e.ID != t.encoding.ID && e.Scheme != report.SchemeNone && e.Scheme != report.SchemeUnknown
	})
}

func repeatedRows(f *Facts, found func(report.Finding)) {
	for _, t := range f.tables() {
		if t.repeated > 0 {
			found(report.Finding{Message: fmt.Sprintf("%d of %d rows of the position table are equal to one before; positions %d and %d have the same", t.repeated, len(t.norms), t.repeats[0]-t.first, t.repeats[1]-t.first), Where: place(t.encoding)})
		}
	}
}

const (
	jumpRun   = 4   // rows in a run: one outlier, as BERT's first row, is no jump
	jumpLarge = 2.0 // times the median norm
)

// normJump finds a run of rows whose norms are far above the others'.
func normJump(f *Facts, found func(report.Finding)) {
	for _, t := range f.tables() {
		if len(t.norms) < 4*jumpRun || t.broken[0] >= 0 {
			continue
		}
		sorted := slices.Sorted(slices.Values(t.norms))
		median := sorted[len(sorted)/2]
		run := 0
		for i, n := range t.norms {
			if median == 0 || n < jumpLarge*median {
				run = 0
				continue
			}
			if run++; run == jumpRun {
				first := i - jumpRun + 1
				found(report.Finding{Message: fmt.Sprintf("from position %d on rows of the position table have norms of %.3g and more, where half of all rows have less than %.3g", first, slices.Min(t.norms[first:i+1]), median), Where: place(t.encoding)})
				break
			}
		}
	}
}

func damagedCache(f *Facts, found func(report.Finding)) {
	if f.Model == nil {
		return
	}
	for i, s := range f.Model.Sites() {
		c, ok := s.(position.Confirmer)
		if !ok || f.tooFar(i) {
			continue
		}
		if says, at, stray := c.Stray(); stray {
			found(report.Finding{Message: says, Where: &at})
		}
	}
}

// tooFar reports whether the tables of an encoding are not read row by row: they are large, and the
// model is read by its address.
func (f *Facts) tooFar(encoding int) bool {
	if !f.distant || encoding >= len(f.Report.Encodings) {
		return false
	}
	bytes := int64(0)
	for _, w := range f.Report.Encodings[encoding].Where {
		if w.Range != nil {
			bytes += w.Range[1] - w.Range[0]
		}
	}
	return bytes > position.DistantBytes
}

// notScanned tells which tables were left out for tooFar.
func notScanned(f *Facts, found func(report.Finding)) {
	if f.Model == nil || !f.distant {
		return
	}
	for i, s := range f.Model.Sites() {
		_, trained := s.Encoding().Scheme.(schemes.Learned)
		_, rows := s.(position.Rows)
		_, formula := s.(position.Confirmer)
		if (trained && rows || formula) && f.tooFar(i) {
			found(report.Finding{Message: "the rows of a large table were not fetched, and not checked for damaged, equal or empty ones", Where: place(f.Report.Encodings[i]), Remedies: []report.Remedy{report.Do("", "checks them", "scan", "")}})
		}
	}
}
