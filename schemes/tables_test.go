package schemes

import (
	"math"
	"slices"
	"strings"
	"testing"
)

const (
	// castULP is one rounding of a float64 number.
	castULP = 0
	// expRecipe is the difference of a table of float32 expf, per row: one
	// bit of a frequency turns row p by p bits (torch's expf is not always
	// correctly rounded).
	expRecipe = 6.1e-8
	// cosfULP is torch's cosf and sinf against correct rounding, an absolute
	// difference near 1.
	cosfAbs = 1.2e-7
)

func sinusoidOf(g golden) (s Sinusoid, ok bool) {
	layout, _ := g.Params["layout"].(string)
	denominator, _ := g.Params["denominator"].(string)
	s = Sinusoid{Base: 10000, Dim: int(g.number("d")), Layout: LayoutInterleaved, Denominator: DenominatorHalf}
	switch {
	case strings.HasPrefix(layout, "sin|cos"):
		s.Layout = LayoutSinCos
	case layout == "cos|sin":
		s.Layout = LayoutCosSin
	case strings.HasPrefix(layout, "cos/sin"):
		s.Layout = LayoutInterleavedCosSin
	}
	if strings.HasPrefix(denominator, "d/2-1") {
		s.Denominator = DenominatorHalfMinusOne
	}
	if pad, ok := g.Params["padding_idx"].(float64); ok {
		s.ZeroRows = []int{int(pad)}
	}
	switch {
	case strings.Contains(g.Name, "amplitude sqrt"):
		s.Amplitude = 8
	case strings.Contains(g.Name, "canary"):
		s.Amplitude = 1.0 / 8
	}
	computed, _ := g.Params["computed"].(string)
	switch {
	case strings.Contains(computed, "pow"), strings.Contains(g.Name, "gpt-j"):
		s.Recipe = RecipePow
	case strings.Contains(g.Name, "fairseq"), strings.Contains(g.Name, "musicgen"), strings.Contains(g.Name, "whisper"),
		strings.Contains(g.Name, "tutorial"), strings.Contains(g.Name, "florence"), strings.Contains(g.Name, "canary"):
		s.Recipe = RecipeExp
	}
	return s, !strings.HasPrefix(g.Name, "xlnet")
}

func TestSinusoid(t *testing.T) {
	goldenCases(t, "sinusoidal.json", func(t *testing.T, g golden) {
		s, ok := sinusoidOf(g)
		if !ok {
			t.Skip("rows of distances, not of positions")
		}
		table, row := s.Table(), make([]float64, s.Dim)
		cast, perRow := worst{what: "ulp"}, worst{what: "difference per row"}
		g.each(func(at []int, want float64) {
			table.Row(at[0], row)
			cast.see(ulps(row[at[1]], want))
			perRow.see(math.Max(math.Abs(row[at[1]]-want)/orDefault(s.Amplitude, 1)-cosfAbs, 0) / max(1, float64(at[0])))
		})
		switch {
		case g.Dtype == "float64", s.Recipe == RecipeExp:
			perRow.within(t, expRecipe)
		case s.Recipe == RecipePow:
			cast.within(t, libraryULP)
		default:
			cast.within(t, castULP)
		}
	})
}

func TestSinusoidGrid(t *testing.T) {
	goldenCases(t, "sinusoidal_2d.json", func(t *testing.T, g golden) {
		if g.Scheme != "sincos 2d" {
			t.Skip("another formula")
		}
		h, w := int(g.number("H")), int(g.number("W"))
		s := Sinusoid{Base: 10000, Dim: int(g.number("d")), Grid: []int{h, w}, Prefix: 1}
		if strings.HasPrefix(g.Name, "w") {
			s.AxisColumns = s.axisColumns()
			slices.Reverse(s.AxisColumns)
		}
		row := make([]float64, s.Dim)
		cast := worst{what: "ulp"}
		g.each(func(at []int, want float64) {
			s.Row(at[0], row)
			cast.see(ulps(row[at[1]], want))
		})
		cast.within(t, castULP)
	})
}

func TestALiBiSlopes(t *testing.T) {
	goldenCases(t, "alibi.json", func(t *testing.T, g golden) {
		if g.Scheme != "alibi slopes" {
			t.Skip("not a list of slopes")
		}
		slopes := ALiBiSlopes(int(g.number("heads")), g.number("bias_max"))
		if len(slopes) != int(g.number("heads")) {
			t.Fatalf("%d slopes", len(slopes))
		}
		w := worst{what: "slope, relative"}
		g.each(func(at []int, want float64) { w.see(slopes[at[0]]/want - 1) })
		w.within(t, sameSlope)
	})
	a := ALiBi{Heads: 8}
	if got := a.Bias(0, 5, 2); got != -1.5 {
		t.Error(got)
	}
	if !a.Equal(ALiBi{Slopes: ALiBiSlopes(8, 8)}) || a.Equal(ALiBi{Heads: 8, MaxBias: 4}) {
		t.Error("Equal is wrong")
	}
}

func TestBuckets(t *testing.T) {
	goldenCases(t, "buckets.json", func(t *testing.T, g golden) {
		if len(g.Points) == 0 {
			t.Skip("no numbers")
		}
		bucket := func(relative int) int {
			return DebertaBucket(relative, int(g.number("bucket_size")), int(g.number("max_position")))
		}
		if g.Scheme == "t5 bucket" {
			bucket = Buckets{
				Buckets:       int(g.number("num_buckets")),
				MaxDistance:   int(g.number("max_distance")),
				Bidirectional: g.Params["bidirectional"] == true,
			}.Bucket
		}
		k := 0
		for r := g.First; r <= g.Last; r++ {
			for k+1 < len(g.Points) && g.Points[k+1][0] <= float64(r) {
				k++
			}
			if got := bucket(r); float64(got) != g.Points[k][1] {
				t.Fatalf("relative %d is in bucket %d, want %v", r, got, g.Points[k][1])
			}
		}
	})
	extremes := Buckets{Buckets: 32, MaxDistance: 128}
	if got := extremes.Bucket(math.MinInt32); got != 31 {
		t.Error(got)
	}
}

// formulaTable is the made-up table of the golden files.
type formulaTable struct{ rows, dim int }

func (f formulaTable) Len() int { return f.rows }
func (f formulaTable) Dim() int { return f.dim }
func (f formulaTable) Row(i int, dst []float64) error {
	for c := range dst {
		dst[c] = float64((i*7919+c*104729)%1009-504) / 512
	}
	return nil
}

func TestGrowRows(t *testing.T) {
	const resampled = 1e-14
	goldenCases(t, "extension.json", func(t *testing.T, g golden) {
		method := map[string]string{
			"extend/hierarchical": GrowHierarchical, "extend/tile": GrowTile, "extend/repeat-last": GrowRepeatLast,
			"extend/zero": GrowZero, "extend/linear-pi": GrowInterpolate, "extend/stretch-keep": GrowStretch,
		}[g.Scheme]
		if method == "" {
			t.Skip("no method of ours")
		}
		old := formulaTable{int(g.number("old")), int(g.number("d"))}
		grown, err := GrowRows(method, old, int(g.number("reserved")), int(g.number("new")), GrowOptions{Keep: int(g.number("keep")), Anchor: AnchorFirst})
		if err != nil {
			t.Fatal(err)
		}
		row := make([]float64, old.dim)
		w := worst{what: "value"}
		g.each(func(at []int, want float64) {
			if err := grown.Row(at[0], row); err != nil {
				t.Fatal(err)
			}
			w.see(row[at[1]] - want)
		})
		w.within(t, resampled)
	})
}

// outlierTable has a first row of ten times the length of the others, as BERT's.
type outlierTable struct{ formulaTable }

func (o outlierTable) Row(i int, dst []float64) error {
	err := o.formulaTable.Row(i, dst)
	for c := range dst {
		if i == 0 {
			dst[c] = 10
		}
	}
	return err
}

// TestGrowHierarchicalAnchor: new rows are about as long as old ones where one old row
// is an outlier, and with the published anchor they are not; a row is T_j + α/(1−α) ·
// (T_i − mean of the ordinary rows).
func TestGrowHierarchicalAnchor(t *testing.T) {
	old := outlierTable{formulaTable{rows: 40, dim: 8}}
	norm := func(row []float64) (n float64) {
		for _, x := range row {
			n = math.Hypot(n, x)
		}
		return n
	}
	mean, ordinary, row := make([]float64, 8), 0.0, make([]float64, 8)
	longest := 0.0
	for i := 1; i < 40; i++ {
		old.Row(i, row)
		longest = max(longest, norm(row))
		ordinary++
		for c := range row {
			mean[c] += (row[c] - mean[c]) / ordinary
		}
	}
	for _, anchor := range []string{AnchorMean, AnchorFirst} {
		g, err := GrowRows(GrowHierarchical, old, 0, 120, GrowOptions{Anchor: anchor})
		if err != nil {
			t.Fatal(err)
		}
		worst := 0.0
		for i := 81; i < 120; i++ {
			g.Row(i, row)
			worst = max(worst, norm(row))
		}
		if (worst < 2*longest) != (anchor == AnchorMean) {
			t.Errorf("anchor %s: a new row has norm %g, old ones at most %g", anchor, worst, longest)
		}
	}
	g, _ := GrowRows(GrowHierarchical, old, 0, 120, GrowOptions{})
	j, i := make([]float64, 8), make([]float64, 8)
	old.Row(7, j)
	old.Row(2, i)
	g.Row(87, row)
	for c := range row {
		if want := j[c] + 2.0/3*(i[c]-mean[c]); math.Abs(row[c]-want) > 1e-12 {
			t.Errorf("row 87, column %d: %g, want %g", c, row[c], want)
		}
	}
	if _, err := GrowRows(GrowHierarchical, old, 0, 120, GrowOptions{Anchor: "last"}); err == nil {
		t.Error("an unknown anchor is taken")
	}
}

// TestGrowGrouped: each row ⌈new/old⌉ times, after the rows before the offset.
func TestGrowGrouped(t *testing.T) {
	old := formulaTable{rows: 12, dim: 2}
	g, err := GrowRows(GrowGrouped, old, 2, 27, GrowOptions{})
	if err != nil || g.Kept() != 2 {
		t.Fatal(g, err)
	}
	want, got := make([]float64, 2), make([]float64, 2)
	for k := range 25 { // ⌈25/10⌉ = 3
		old.Row(2+k/3, want)
		g.Row(2+k, got)
		if !slices.Equal(want, got) {
			t.Errorf("row %d", k)
		}
	}
}

func TestGrowRowsKeepsOldRows(t *testing.T) {
	old := formulaTable{rows: 10, dim: 3}
	want, got := make([]float64, 3), make([]float64, 3)
	for _, method := range GrowMethods {
		for _, offset := range []int{0, 2} {
			g, err := GrowRows(method, old, offset, 40, GrowOptions{})
			if err != nil {
				t.Fatal(method, err)
			}
			for i := range g.Kept() {
				old.Row(i, want)
				g.Row(i, got)
				for c := range want {
					if got[c] != want[c] {
						t.Fatalf("%s: row %d differs", method, i)
					}
				}
			}
			if g.Len() != 40 || g.Row(39, got) != nil || g.Row(40, got) == nil {
				t.Errorf("%s: wrong length", method)
			}
		}
	}
	for _, bad := range []struct {
		method         string
		offset, length int
	}{
		{GrowHierarchical, 2, 67}, {GrowTile, 10, 20}, {GrowTile, 0, 9}, {"magic", 0, 20}, {GrowStretch, 9, 20},
	} {
		if _, err := GrowRows(bad.method, old, bad.offset, bad.length, GrowOptions{}); err == nil {
			t.Errorf("%+v is not refused", bad)
		}
	}
}

// TestALiBiSample: whatever number of heads a file claims, comparing takes no time and finds what differs.
func TestALiBiSample(t *testing.T) {
	const claimed = 1<<31 - 1
	many := ALiBi{Heads: claimed}
	if n := len(many.Sample()); n < sampledHeads || n > sampledHeads+1 {
		t.Errorf("%d heads are looked at", n)
	}
	if !many.Equal(ALiBi{Heads: claimed, MaxBias: 8}) || many.Equal(ALiBi{Heads: claimed, MaxBias: 8.0001}) || many.Equal(ALiBi{Heads: claimed - 1}) {
		t.Error("as many heads are not compared")
	}
	if many.Bias(claimed-1, 3, 0) >= 0 {
		t.Error("the last head has no bias")
	}
	for _, heads := range []int{1, 2, 3, 12, 63, 64, 65, 100, 1000} {
		a := ALiBi{Heads: heads}
		slopes, sample := a.SlopeValues(), a.Sample()
		if len(slopes) != heads || a.Count() != heads || sample[0] != 0 || !slices.Contains(sample, heads-1) || !slices.IsSorted(sample) {
			t.Errorf("%d heads: %d slopes, sample %v", heads, len(slopes), sample)
		}
		for i, s := range slopes {
			if s != a.Slope(i) {
				t.Errorf("%d heads: slope %d is %g and %g", heads, i, s, a.Slope(i))
			}
		}
		if heads <= sampledHeads && len(sample) != heads {
			t.Errorf("%d heads: %d are looked at", heads, len(sample))
		}
		changed := slices.Clone(slopes)
		changed[heads/2] *= 1.01
		if !a.Equal(ALiBi{Slopes: slopes}) || !(ALiBi{Slopes: slopes}).Equal(a) || a.Equal(ALiBi{Slopes: changed}) || (ALiBi{Slopes: changed}).Equal(a) {
			t.Errorf("%d heads: slopes of a file are not compared one by one", heads)
		}
	}
}

func TestAlikeWithin(t *testing.T) {
	b := Buckets{Buckets: 32, MaxDistance: 128}
	for _, test := range []struct {
		positions, distance int
		alike               bool
	}{{11, 256, true}, {17, 256, true}, {128, 256, false}, {11, 20, true}, {1 << 20, 128, true}} {
		if got := b.AlikeWithin(test.positions, test.distance); got != test.alike {
			t.Errorf("%+v: %v", test, got)
		}
	}
	b.Bidirectional = true
	if b.AlikeWithin(17, 256) || !b.AlikeWithin(9, 256) {
		t.Error("in both directions the nearest 8 distances alone have buckets of their own")
	}
}
