package schemes

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Methods of growing a learned table (facts/NUMERICS §9).
const (
	// GrowHierarchical composes each new row of two old ones (Su Jianlin, bert4keras'
	// PositionEmbedding); it reaches n² rows and keeps the first n. See GrowOptions.Anchor.
	GrowHierarchical = "hierarchical"
	// GrowTile repeats the table (Longformer).
	GrowTile = "tile"
	// GrowRepeatLast repeats the last row.
	GrowRepeatLast = "repeat-last"
	// GrowZero adds rows of zeros.
	GrowZero = "zero"
	// GrowGrouped repeats each row ⌈new/old⌉ times, so that neighbouring tokens share one
	// (Zhu et al. 2024, LongEmbed, arXiv 2404.12096, grouped positions). Old rows move.
	GrowGrouped = "grouped"
	// GrowInterpolate spreads the old rows over the new length (position
	// interpolation, Chen et al. 2023). Old rows move.
	GrowInterpolate = "interpolate"
	// GrowStretch spreads all but the first Keep rows and extrapolates at the
	// end (LongCLIP, Zhang et al. 2024). Old rows move.
	GrowStretch = "stretch"
)

// GrowMethods are all methods, those that keep old rows first.
var GrowMethods = []string{GrowTile, GrowHierarchical, GrowRepeatLast, GrowZero, GrowGrouped, GrowInterpolate, GrowStretch}

// DefaultGrow is the method where none is asked for: of those that keep old rows the best
// without training after it, by retrieval with an encoder and by perplexity of a decoder
// (docs/measured/methods.md).
const DefaultGrow = GrowTile

// Defaults of growing.
const (
	DefaultAlpha = 0.4 // hierarchical, bert4keras
	DefaultKeep  = 20  // stretch, LongCLIP
)

// Anchors of GrowHierarchical: the row of which a share is taken off every other.
const (
	// AnchorMean is the mean of the ordinary rows, those whose norm is between half
	// and twice the median one: BERT's first row, of five times the norm of the
	// others, would make each new row three times as long as a trained one.
	AnchorMean = "mean"
	// AnchorFirst is the table's first row, as published.
	AnchorFirst = "first"
)

// Anchors are the words of GrowOptions.Anchor.
var Anchors = []string{AnchorMean, AnchorFirst}

// Rows is a table that can be read row by row.
type Rows interface {
	Len() int
	Dim() int
	// Row reads row i into dst (Dim elements).
	Row(i int, dst []float64) error
}

// FirstRows are the first N rows of a table, all of them its own.
type FirstRows struct {
	Rows
	N int
}

// Len is N.
func (f FirstRows) Len() int { return f.N }

// Kept is N.
func (f FirstRows) Kept() int { return f.N }

// GrowOptions are parameters of some methods.
type GrowOptions struct {
	Alpha  float64 // hierarchical: share of the outer row, not ½; 0: DefaultAlpha
	Anchor string  // hierarchical: one of Anchors; "": AnchorMean
	Keep   int     // stretch: leading rows that stay; 0: DefaultKeep, −1: none
}

// GrownRows is a table that is longer than the one it is made from.
type GrownRows struct {
	old   Rows
	first int // rows before the first that the method works on
	n     int // old rows that it works on
	total int
	kept  int
	row   func(g *GrownRows, k int, dst, spare []float64) error
	alpha float64
	keep  int
	// anchor is the row that GrowHierarchical takes a share of off every other.
	anchor []float64
	group  int // grouped: new rows for each old one
}

// GrowRows makes a table of newLen rows from old. The first offset rows belong
// to no position: they stay, and newLen counts them. Nothing is read but, for
// GrowHierarchical, its anchor. An error says which length the method reaches.
func GrowRows(method string, old Rows, offset, newLen int, o GrowOptions) (*GrownRows, error) {
	g := &GrownRows{old: old, first: offset, n: old.Len() - offset, total: newLen, kept: old.Len()}
	switch {
	case offset < 0 || g.n < 1:
		return nil, fmt.Errorf("a table of %d rows has none after the first %d", old.Len(), offset)
	case newLen < old.Len():
		return nil, fmt.Errorf("%d rows are fewer than the %d that there are", newLen, old.Len())
	}
	switch method {
	case GrowTile:
		g.row = tileRow
	case GrowRepeatLast:
		g.row = repeatLastRow
	case GrowZero:
		g.row = zeroRow
	case GrowInterpolate:
		g.row, g.kept = interpolatedRow, offset
	case GrowGrouped:
		g.group = (newLen - offset + g.n - 1) / g.n
		if g.row = groupedRow; g.group > 1 {
			g.kept = offset
		}
	case GrowHierarchical:
		if err := g.prepareHierarchical(o); err != nil {
			return nil, err
		}
	case GrowStretch:
		if err := g.prepareStretch(o); err != nil {
			return nil, err
		}
	default:
		return nil, fmt.Errorf("no method %q", method)
	}
	return g, nil
}

func (g *GrownRows) prepareHierarchical(o GrowOptions) error {
	g.alpha = orDefault(o.Alpha, DefaultAlpha)
	if g.alpha <= 0 || g.alpha >= 1 || g.alpha == 0.5 {
		return fmt.Errorf("alpha %g is not between 0 and 1, or is ½, which makes rows equal", g.alpha)
	}
	if reach := float64(g.n) * float64(g.n); float64(g.total-g.first) > reach {
		return fmt.Errorf("hierarchical growth of %d rows ends at %.0f", g.n, reach)
	}
	g.row = hierarchicalRow
	switch o.Anchor {
	case AnchorFirst:
		g.anchor = make([]float64, g.old.Dim())
		return g.old.Row(g.first, g.anchor)
	case "", AnchorMean:
		return g.anchorMean()
	}
	return fmt.Errorf("no anchor %q: there are %s", o.Anchor, strings.Join(Anchors, " and "))
}

// Bounds of AnchorMean.
const (
	// mostAnchorRows bounds the rows that the anchor is the mean of; of a longer table
	// evenly spaced ones are read.
	mostAnchorRows = 4096
	// ordinaryNorm is how many times longer or shorter than the median row an
	// ordinary one may be.
	ordinaryNorm = 2
)

// anchorMean sets the anchor to the mean of the ordinary rows.
func (g *GrownRows) anchorMean() error {
	count := min(g.n, mostAnchorRows)
	norms, row := make([]float64, count), make([]float64, g.old.Dim())
	at := func(i int) int { return int(int64(i) * int64(g.n) / int64(count)) }
	for i := range norms {
		if err := g.read(at(i), row); err != nil {
			return err
		}
		for _, x := range row {
			norms[i] = math.Hypot(norms[i], x)
		}
	}
	sorted := slices.Clone(norms)
	slices.Sort(sorted)
	median := sorted[count/2]
	g.anchor = make([]float64, g.old.Dim())
	ordinary := 0.0
	for i, norm := range norms {
		if norm > median*ordinaryNorm || norm < median/ordinaryNorm {
			continue
		}
		if err := g.read(at(i), row); err != nil {
			return err
		}
		ordinary++
		for c, x := range row {
			g.anchor[c] += (x - g.anchor[c]) / ordinary
		}
	}
	return nil
}

func (g *GrownRows) prepareStretch(o GrowOptions) error {
	g.keep = o.Keep
	switch {
	case g.keep == 0:
		g.keep = min(DefaultKeep, g.n-2)
	case g.keep == -1:
		g.keep = 0
	}
	if g.keep < 0 || g.n-g.keep < 2 {
		return fmt.Errorf("of %d rows %d cannot stay: the rest is too short to stretch", g.n, g.keep)
	}
	g.row, g.kept = stretchedRow, g.first+g.keep
	return nil
}

// Len is the number of rows, those before the offset included.
func (g *GrownRows) Len() int { return g.total }

// Dim is the number of columns.
func (g *GrownRows) Dim() int { return g.old.Dim() }

// Kept is the number of leading rows that are the old table's.
func (g *GrownRows) Kept() int { return g.kept }

// Row computes row i into dst (Dim elements); a kept row is read. It may be
// used by several goroutines if the old table may.
func (g *GrownRows) Row(i int, dst []float64) error {
	if i < 0 || i >= g.total {
		return fmt.Errorf("row %d of %d", i, g.total)
	}
	if i < g.kept {
		return g.old.Row(i, dst)
	}
	return g.row(g, i-g.first, dst, make([]float64, len(dst)))
}

// read reads an old row, counted from the offset.
func (g *GrownRows) read(i int, dst []float64) error { return g.old.Row(g.first+i, dst) }

func tileRow(g *GrownRows, k int, dst, _ []float64) error { return g.read(k%g.n, dst) }

func repeatLastRow(g *GrownRows, k int, dst, _ []float64) error { return g.read(min(k, g.n-1), dst) }

func zeroRow(_ *GrownRows, _ int, dst, _ []float64) error {
	clear(dst)
	return nil
}

// hierarchicalRow is α·u_i + (1−α)·u_j of row i·n+j, u = (T − α·A)/(1−α) with the
// anchor A, which Su Jianlin takes to be T_0: T_j + α/(1−α)·(T_i − A).
func hierarchicalRow(g *GrownRows, k int, dst, spare []float64) error {
	if err := g.read(k/g.n, spare); err != nil {
		return err
	}
	if err := g.read(k%g.n, dst); err != nil {
		return err
	}
	a := g.alpha
	for c := range dst {
		outer := (spare[c] - a*g.anchor[c]) / (1 - a)
		inner := (dst[c] - a*g.anchor[c]) / (1 - a)
		dst[c] = a*outer + (1-a)*inner
	}
	return nil
}

func groupedRow(g *GrownRows, k int, dst, _ []float64) error { return g.read(k/g.group, dst) }

// interpolatedRow reads the old table at min(k·n/N, n−1).
func interpolatedRow(g *GrownRows, k int, dst, spare []float64) error {
	x := float64(k) * float64(g.n) / float64(g.total-g.first)
	return g.between(min(x, float64(g.n-1)), dst, spare)
}

// stretchedRow reads the old table at keep + (k−keep)·(n−keep)/(N−keep); past
// its end the last difference goes on.
func stretchedRow(g *GrownRows, k int, dst, spare []float64) error {
	step := float64(g.n-g.keep) / float64(g.total-g.first-g.keep)
	return g.between(float64(g.keep)+float64(k-g.keep)*step, dst, spare)
}

// between is the line through the two old rows around x.
func (g *GrownRows) between(x float64, dst, spare []float64) error {
	i := max(min(int(math.Floor(x)), g.n-2), 0)
	if err := g.read(i, dst); err != nil || x == float64(i) {
		return err
	}
	if err := g.read(min(i+1, g.n-1), spare); err != nil {
		return err
	}
	t := x - float64(i)
	for c := range dst {
		dst[c] += t * (spare[c] - dst[c])
	}
	return nil
}
