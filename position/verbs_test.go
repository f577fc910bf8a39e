package position

import (
	"math"
	"slices"
	"testing"

	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// A model takes what another has: lists, lengths and bounds, each of its own.
func TestLike(t *testing.T) {
	short, long := []float64{1, 1.1, 1.2, 1.3}, []float64{2, 3, 4, 5}
	for _, c := range []struct {
		scaling schemes.Scaling
		want    RescaleOptions
	}{
		{schemes.Scaling{Type: "longrope", Factor: 8, OriginalLength: 4096, ShortFactor: short, LongFactor: long},
			RescaleOptions{Base: 500000, Scaling: "longrope", Factor: 8, OriginalLength: 4096, ShortFactors: short, LongFactors: long}},
		{schemes.Scaling{Type: "yarn", Factor: 4, OriginalLength: 2048, BetaFast: 16, BetaSlow: 2, AttentionFactor: 1.5, NoTruncate: true},
			RescaleOptions{Base: 500000, Scaling: "yarn", Factor: 4, OriginalLength: 2048, BetaFast: 16, BetaSlow: 2, AttentionFactor: 1.5, NoTruncate: true}},
		{schemes.Scaling{Type: "llama3", Factor: 8, OriginalLength: 8192, LowFreqFactor: 1, HighFreqFactor: 4},
			RescaleOptions{Base: 500000, Scaling: "llama3", Factor: 8, OriginalLength: 8192, LowFreqFactor: 1, HighFreqFactor: 4}},
	} {
		e := runtime
		e.Scheme = schemes.Rotary{Base: 500000, Dim: 8, Scaling: c.scaling}
		m, _ := build(FormatONNX, 0, e)
		var o RescaleOptions
		if err := o.Like(m); err != nil {
			t.Fatal(err)
		}
		if o.Base != c.want.Base || o.Scaling != c.want.Scaling || o.Factor != c.want.Factor || o.OriginalLength != c.want.OriginalLength ||
			!slices.Equal(o.ShortFactors, c.want.ShortFactors) || !slices.Equal(o.LongFactors, c.want.LongFactors) || o.BetaFast != c.want.BetaFast || o.BetaSlow != c.want.BetaSlow ||
			o.LowFreqFactor != c.want.LowFreqFactor || o.HighFreqFactor != c.want.HighFreqFactor || o.AttentionFactor != c.want.AttentionFactor || o.NoTruncate != c.want.NoTruncate {
			t.Errorf("%s: %+v", c.scaling.Type, o)
		}
	}
}

// Options that nothing could be meant by are errors of usage, whatever the model.
func TestUsage(t *testing.T) {
	m, _ := build(FormatGGUF, 16, byKeys)
	for _, o := range []RescaleOptions{
		{Scaling: "linear", Factor: 0.5}, {Scaling: "yarn", Factor: 4, BetaFast: 1, BetaSlow: 32}, {Scaling: "yarn", Factor: 4, BetaFast: 1},
		{Scaling: "llama3", Factor: 8, OriginalLength: 16, LowFreqFactor: 4, HighFreqFactor: 1},
		{Scaling: "yarn", Factor: 4, As: "nobody"}, {Base: 20000, As: "llama.cpp"}, {Scaling: "dynamic", Factor: 2, As: "llama.cpp"}, {Base: 2, Layers: "x"}, {Scaling: "longrope", Use: "longest"},
	} {
		if _, err := Rescale(m, o); !isA[*UsageError](err) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	table, _ := build(FormatONNX, 0, text16)
	for _, o := range []ExtendOptions{{Length: MaxLength + 1}, {Length: -1}, {Length: 32, OriginalLength: -1}, {Length: 8, Shorter: true, Method: "tile"}} {
		if _, err := Extend(table, o); !isA[*UsageError](err) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// ending is a model that ends where no encoding of it does.
type ending struct {
	*fake
	end   int
	fixed bool
}

func (e ending) InputIsFixed() bool { return e.fixed }

func (ending) Counted(int) int   { return 0 }
func (e ending) End() (int, int) { return e.end, 0 }

// The least of all that ends a model is where it ends, and how it ends there is told with it.
func TestLength(t *testing.T) {
	clamps := text16
	clamps.Capacity, clamps.Beyond = 12, report.BeyondClamps
	for _, c := range []struct {
		name     string
		format   string
		stated   int
		end      int
		fixed    bool
		sites    []Encoding
		capacity int
		beyond   string
	}{
		{"the shorter of two tables", FormatONNX, 0, 0, false, []Encoding{text16, clamps, cache32}, 12, report.BeyondClamps},
		{"a fixed input below its table", FormatONNX, 8, 8, true, []Encoding{clamps}, 8, report.BeyondError},
		{"a graph that ends before its table", FormatONNX, 0, 10, false, []Encoding{clamps}, 10, report.BeyondError},
		{"a graph that does not", FormatONNX, 0, 20, false, []Encoding{clamps}, 12, report.BeyondClamps},
		{"a graph that ends, and no table", FormatONNX, 0, 10, false, []Encoding{runtime}, 10, report.BeyondError},
		{"a file that states less", FormatGGUF, 8, 0, false, []Encoding{text16}, 8, report.BeyondError},
		{"a picture beside a text", FormatONNX, 0, 0, false, []Encoding{image16, cache32}, 32, report.BeyondError},
	} {
		m, _ := build(c.format, c.stated, c.sites...)
		got := Length(ending{m, c.end, c.fixed}, m.Describe())
		if got.Capacity == nil || *got.Capacity != c.capacity || got.Beyond != c.beyond {
			t.Errorf("%s: %+v, want %d and %s", c.name, got, c.capacity, c.beyond)
		}
	}
}

// A graph that ends before any encoding of it does is tried at a shorter length: what ends it is one length, and may be the only one.
func TestShorterThanTheGraph(t *testing.T) {
	for length, nothing := range map[int]bool{9: false, 16: true, 17: true} {
		m, sites := build(FormatONNX, 0, runtime)
		out, err := Extend(ending{m, 16, false}, ExtendOptions{Length: length, Shorter: true})
		if tried := m.length == length; err != nil || tried == nothing || nothing && out.Nothing == "" {
			t.Errorf("%d: tried %t, %+v, %v", length, tried, out, err)
		}
		if sites[0].held != nil {
			t.Errorf("%d: the encoding becomes %v", length, sites[0].held)
		}
	}
}

// A table of sines keeps the rows before its first position.
func TestExtendSinusoid(t *testing.T) {
	e := Encoding{Scheme: schemes.Sinusoid{Base: 10000, Dim: 4, Rows: 18, Offset: 2}, Form: report.FormTable, Capacity: 16, Beyond: report.BeyondError}
	m, sites := build(FormatONNX, 0, e)
	if _, err := Extend(m, ExtendOptions{Length: 40}); err != nil {
		t.Fatal(err)
	}
	if s := sites[0].held.Scheme.(schemes.Sinusoid); s.Rows != 42 || s.Offset != 2 {
		t.Errorf("%+v", s)
	}
}

// sliding is a rotation that acts inside a window.
type sliding struct{ *fakeSite }

func (sliding) Window() schemes.SlidingWindow { return schemes.SlidingWindow{Positions: 8} }

// What is scaled is the rotation of attentions that see everything.
func TestExtendSlides(t *testing.T) {
	m, sites := build(FormatONNX, 0, cache32, cache32)
	m.sites[1] = sliding{sites[1]}
	if _, err := Extend(m, ExtendOptions{Length: 64, Method: "yarn", OriginalLength: 16}); err != nil {
		t.Fatal(err)
	}
	scaled := func(s *fakeSite) bool { return !s.held.Scheme.(schemes.Rotary).Scaling.IsNone() }
	if !scaled(sites[0]) || scaled(sites[1]) {
		t.Errorf("held: %v, in the window %v", sites[0].held, sites[1].held)
	}
}

// Another base for frequencies that are not those of the old one would be a guess.
func TestRebaseExplains(t *testing.T) {
	r := schemes.Rotary{Base: 10000, Dim: 8}
	r.Scaling.Frequencies = r.PlainFrequencies()
	for _, bent := range []float64{1, 1.5} {
		f := slices.Clone(r.Scaling.Frequencies)
		f[2] *= bent
		e := runtime
		e.Scheme = schemes.Rotary{Base: 10000, Dim: 8, Scaling: schemes.Scaling{Frequencies: f}}
		m, sites := build(FormatONNX, 0, e)
		_, err := Rescale(m, RescaleOptions{Base: 20000})
		switch {
		case bent == 1 && err != nil:
			t.Error(err)
		case bent == 1 && sites[0].held.Scheme.(schemes.Rotary).Base != 20000:
			t.Errorf("%+v", sites[0].held)
		case bent != 1 && !isA[*Refusal](err):
			t.Errorf("frequencies ×%g in one pair: %v", bent, err)
		}
	}
}

// gridded is a model of pictures.
type gridded struct{ *fake }

func (gridded) PatchGrid() schemes.Grid { return schemes.Grid{1, 4, 4} }
func (gridded) PatchSize() int          { return 16 }

func TestGridSizes(t *testing.T) {
	for _, c := range []struct {
		o    GridOptions
		want schemes.Grid
	}{{GridOptions{Image: 96}, schemes.Grid{1, 6, 6}}, {GridOptions{Image: 96, ImageWidth: 64}, schemes.Grid{1, 6, 4}}, {GridOptions{Height: 3, Width: 5}, schemes.Grid{1, 3, 5}},
		{GridOptions{Image: 100}, schemes.Grid{}}, {GridOptions{Image: 8}, schemes.Grid{}}, {GridOptions{Height: 0, Width: 3}, schemes.Grid{}}, {GridOptions{Height: maxGrid + 1, Width: 3}, schemes.Grid{}},
		{GridOptions{Frames: 2, Height: 3, Width: 3}, schemes.Grid{}}} { // of a picture
		m, _ := build(FormatONNX, 0, image16)
		got, err := WantedGrid(gridder{gridded{m}}, c.o)
		if c.want == (schemes.Grid{}) && !isA[*UsageError](err) || c.want != (schemes.Grid{}) && (err != nil || got != c.want) {
			t.Errorf("%+v: %v, %v", c.o, got, err)
		}
	}
}

// gridder has what of a Gridder the choice of a size does not ask for.
type gridder struct{ gridded }

func (gridder) Overlap() (over [2]int)                              { return over }
func (gridder) SetGrid(old, new schemes.Grid, window [2]int) error  { return nil }
func (gridder) FreeSides() []string                                 { return nil }
func (gridder) Takes(grid schemes.Grid) (takes bool, left Leftover) { return false, Leftover{} }

func TestDefaultGrowKeepsOldRows(t *testing.T) {
	m, sites := build(FormatONNX, 0, text16)
	if _, err := Extend(m, ExtendOptions{Length: 32}); err != nil {
		t.Fatal(err)
	}
	rows := sites[0].held.Rows
	a, b := make([]float64, 4), make([]float64, 4)
	for i := 18; i < 34; i++ { // new rows repeat the table, from its first position on
		if err := rows.Row(i, a); err != nil {
			t.Fatal(err)
		}
		sites[0].Row(2+(i-2)%16, b)
		for k := range a {
			if math.Abs(a[k]-b[k]) > 1e-12 {
				t.Fatalf("row %d is %v, want %v", i, a, b)
			}
		}
	}
}
