package picture_test

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/modelpatch/modelpatch/picture"
	"github.com/modelpatch/modelpatch/picture/figure"
	"github.com/modelpatch/modelpatch/picture/layout"
	"github.com/modelpatch/modelpatch/picture/page"
	"github.com/modelpatch/modelpatch/picture/raster"
	"github.com/modelpatch/modelpatch/picture/svg"
	"github.com/modelpatch/modelpatch/picture/terminal"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// hostileNames are names that would be markup, or steer what shows them.
var hostileNames = []string{
	`<script>alert(1)</script>`, `"><image href="http://example.com/x"/>`, `' onload='alert(1)`, `]]>`, `&lt;b&gt; &amp; &#60;`,
	"\x00\x1b[31m\x07", "\u202egnp.gguf", "\xff\xfe broken", "\ufffe\uffff", strings.Repeat("x", 100_000), "", "}</style><script>", "javascript:alert(1)",
	strings.Repeat("a b ", 10_000), "日本語のモデル",
}

// tables are tables that no picture must fail on, or grow with.
var tables = []struct {
	name      string
	rows, dim int
	row       func(i int, dst []float64)
	notes     string // what has to be said
}{
	{"one row", 1, 4, func(i int, dst []float64) { dst[0] = 1 }, ""},
	{"one number", 1, 1, func(i int, dst []float64) { dst[0] = -2 }, ""},
	{"NaN", 8, 2, func(i int, dst []float64) { dst[0], dst[1] = math.NaN(), 1 }, "8 rows of NaN or infinity: 0–7"},
	{"infinity", 8, 2, func(i int, dst []float64) { dst[0], dst[1] = float64(i), math.Inf(1-2*(i%2)) }, "8 rows of NaN"},
	{"zeros", 8, 2, func(i int, dst []float64) { clear(dst) }, "8 rows of zeros alone: 0–7"},
	{"huge", 8, 2, func(i int, dst []float64) { dst[0], dst[1] = math.MaxFloat64, -math.MaxFloat64 }, ""},
	{"tiny", 8, 2, func(i int, dst []float64) { dst[0], dst[1] = math.SmallestNonzeroFloat64, 0 }, ""},
	{"some of each", 700, 3, func(i int, dst []float64) {
		dst[0], dst[1], dst[2] = float64(i+1), 1, 2
		if i%7 == 3 {
			dst[1] = math.NaN()
		}
		if i == 20 {
			clear(dst)
		}
	}, "1 row of zeros alone: 20"},
	{"a million rows", 1_000_000, 4, func(i int, dst []float64) { dst[0], dst[1], dst[2], dst[3] = math.Sin(float64(i)), 1, 2, 3 }, "16384 of 1000000 rows were read"},
	{"wide", 64, 100_000, func(i int, dst []float64) { dst[i] = 1 }, ""},
}

// TestTables draws every table in every way, and bounds what comes out.
func TestTables(t *testing.T) {
	for _, c := range tables {
		t.Run(c.name, func(t *testing.T) {
			read := 0
			m := made{sites: []position.Site{madeTable{encoding: position.Encoding{Scheme: schemes.Learned{Rows: c.rows, Dim: c.dim}}, rows: c.rows, dim: c.dim, row: c.row, read: &read}}}
			figures, err := picture.Of(m, c.name, picture.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(strings.Join(figures[0].Notes, " "), c.notes) {
				t.Errorf("notes %q, want %q", figures[0].Notes, c.notes)
			}
			if read > 17_000 {
				t.Errorf("%d rows were read", read)
			}
			showAll(t, figures)
			two, err := picture.Compare(m, "a", m, "b", picture.Options{})
			if err != nil {
				t.Fatal(err)
			}
			showAll(t, two)
		})
	}
}

// showAll shows figures in every way. What is written stays below bounds whatever the
// model is.
func showAll(t *testing.T, figures []figure.Figure) {
	t.Helper()
	drawn := svg.Write(figures, svg.Options{})
	wellFormed(t, drawn)
	if at := regexp.MustCompile(`="[^"]*(NaN|Inf)[^"]*"`).Find(drawn); at != nil {
		t.Errorf("a coordinate is no number: %.100s", at)
	}
	narrow := svg.Write(figures, svg.Options{Width: 1})
	wellFormed(t, narrow)
	if !strings.Contains(string(narrow), ` width="360" `) {
		t.Errorf("a narrow page begins %.300s", narrow)
	}
	written, err := page.Write(page.Content{Title: figures[0].Title, Figures: figures})
	if err != nil {
		t.Fatal(err)
	}
	painted, err := raster.PNG(figures, raster.Options{Scale: 1})
	if err != nil {
		t.Fatal(err)
	}
	blocks := terminal.WriteBlocks(figures, false)
	for _, s := range []struct {
		what string
		size int
		most int
	}{{"SVG", len(drawn), 800_000}, {"HTML", len(written), 1_500_000}, {"PNG", len(painted), 2_000_000}, {"blocks", len(blocks), 60_000}} {
		if s.size > s.most {
			t.Errorf("%s of %d bytes, more than %d", s.what, s.size, s.most)
		}
	}
	for _, line := range strings.Split(blocks, "\n") {
		if n := len([]rune(line)); n > terminal.Columns && !strings.HasPrefix(line, "note: ") {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

// TestNames puts hostile names everywhere that a name can stand.
func TestNames(t *testing.T) {
	benign := markup(t, "model")
	for _, name := range hostileNames {
		if got := markup(t, name); got != benign {
			t.Errorf("%.40q changes the markup from\n%s\nto\n%s", name, benign, got)
		}
	}
}

// markup is the HTML page with a name everywhere, without texts and attributes.
func markup(t *testing.T, name string) string {
	t.Helper()
	figures := []figure.Figure{{Title: "t " + name, Subtitle: "s " + name, Description: name, Notes: []string{"n " + name}, Panels: []figure.Panel{{Title: "p " + name,
		X: figure.Axis{Label: "x"}, Y: figure.Axis{Label: "y"}, Series: []figure.Series{{Name: "a " + name, X: []float64{0, 1}, Y: []float64{1, 2}}, {Name: "b " + name, X: []float64{0, 1}, Y: []float64{1, 3}}},
		Rules: []figure.Rule{{Name: "r " + name, At: 1.5}, {Name: "v " + name, At: 0.5, Vertical: true}},
		Bands: []figure.Band{{Name: "b " + name, From: 0, To: 1, Vertical: true}, {Name: "h " + name, From: 1, To: 2}}, Marks: []figure.Mark{{Name: "m " + name, From: 1, To: 1}}}}}}
	wellFormed(t, svg.Write(figures, svg.Options{}))
	if _, err := raster.PNG(figures, raster.Options{Scale: 0.5}); err != nil {
		t.Fatal(err)
	}
	terminal.WriteBlocks(figures, true)
	long := strings.Repeat(name, 1+10/max(1, len(name)))
	narrow := svg.Write(figures, svg.Options{Width: 1})
	wellFormed(t, narrow)
	if !strings.Contains(string(narrow), ` width="360" `) {
		t.Errorf("a narrow page begins %.300s", narrow)
	}
	written, err := page.Write(page.Content{Title: "t " + long, Version: "v", Figures: figures, Reports: []report.Inspect{{Path: name, Format: "gguf", Kind: name, Architecture: &name, Producer: &name,
		Encodings: []report.Encoding{{ID: "e0", Scheme: name, Where: []report.Where{{Tensor: name, Node: name, Key: name, File: name}}, Evidence: []report.Evidence{{Kind: name, Says: name}}, Parameters: report.Parameters{Dtype: "x" + name, Layout: "x" + name}}},
		Findings:  []report.Finding{{Rule: name, Level: name, Message: name, Hint: "x" + name}}}}})
	if err != nil {
		t.Fatal(err)
	}
	tags := regexp.MustCompile(`<[^>]*>`).FindAllString(string(written), -1)
	for i, tag := range tags {
		name, _, _ := strings.Cut(strings.Trim(tag, "<>"), " ")
		tags[i] = name
	}
	// A name may be empty, which leaves a label out, and may fold into more lines: what counts is which elements there are.
	seen := map[string]bool{}
	var kinds []string
	for _, tag := range tags {
		if !seen[tag] {
			seen[tag] = true
			kinds = append(kinds, tag)
		}
	}
	return strings.Join(kinds, " ")
}

// TestRotations draws rotations that no model should have.
func TestRotations(t *testing.T) {
	for _, r := range []schemes.Rotary{
		{Base: 10000, Dim: 2}, {Base: 10000, Dim: 1}, {Base: 1, Dim: 8}, {Base: 0.5, Dim: 8}, {Base: math.Inf(1), Dim: 8}, {Base: math.NaN(), Dim: 8}, {Base: -1, Dim: 8}, {Base: 10000, Dim: 20_000},
		{Base: 10000, Dim: 16, Scaling: schemes.Scaling{Type: schemes.ScalingYaRN, Factor: math.Inf(1), OriginalLength: 1}},
		{Base: 10000, Dim: 16, Scaling: schemes.Scaling{Type: schemes.ScalingLlama3, Factor: 8, OriginalLength: 1 << 40, LowFreqFactor: 1, HighFreqFactor: 1}},
		{Base: 10000, Dim: 16, Scaling: schemes.Scaling{Type: schemes.ScalingLongRoPE, Factor: 8, OriginalLength: 64, ShortFactor: []float64{1}, LongFactor: []float64{0, math.NaN()}}},
		{Base: 10000, Dim: 16, Scaling: schemes.Scaling{Type: schemes.ScalingProportional, Rotated: 2}},
		{Base: 10000, Dim: 16, Scaling: schemes.Scaling{Type: "another"}},
		{Base: 10000, Dim: 16, Scaling: schemes.Scaling{Type: schemes.ScalingCustom, Frequencies: []float64{1, 0, math.NaN()}}},
	} {
		t.Run(fmt.Sprint(r), func(t *testing.T) {
			figures, err := picture.Of(made{sites: []position.Site{madeSite{encoding: position.Encoding{Scheme: r}}}}, "x", picture.Options{})
			if err != nil {
				t.Fatal(err)
			}
			showAll(t, figures)
		})
	}
	if _, err := picture.Of(made{sites: []position.Site{madeSite{encoding: position.Encoding{Scheme: schemes.Rotary{Base: 10000, Dim: 1 << 40}}}}}, "x", picture.Options{}); err == nil {
		t.Error("2^39 pairs are drawn")
	}
}

// TestBiases draws biases that no model should have.
func TestBiases(t *testing.T) {
	for _, s := range []schemes.Scheme{
		schemes.ALiBi{Heads: 1, MaxBias: 8}, schemes.ALiBi{Slopes: []float64{0, -1, math.NaN(), math.Inf(1)}}, schemes.ALiBi{Heads: 200, MaxBias: 8},
		schemes.Buckets{Buckets: 1, MaxDistance: 1, Heads: 1}, schemes.Buckets{Buckets: 32, MaxDistance: 1 << 40, Bidirectional: true, Heads: 3},
		schemes.Sinusoid{Dim: 1, Base: 10000}, schemes.Sinusoid{Dim: 3, Base: 10000, Rows: 2, Offset: 9}, schemes.Sinusoid{Dim: 8, Base: 1, Rows: 1 << 40},
	} {
		t.Run(fmt.Sprint(s), func(t *testing.T) {
			figures, err := picture.Of(made{sites: []position.Site{madeSite{encoding: position.Encoding{Scheme: s}}}}, "x", picture.Options{})
			if err != nil {
				t.Fatal(err)
			}
			showAll(t, figures)
		})
	}
}

// madeSite is a site with nothing but its scheme.
type madeSite struct {
	position.Site
	encoding position.Encoding
}

func (m madeSite) Encoding() position.Encoding { return m.encoding }

// FuzzEscape looks for a text that ends what it stands in.
func FuzzEscape(f *testing.F) {
	for _, name := range hostileNames {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := svg.Escape(s)
		if i := strings.IndexAny(got, "<>\"'"); i >= 0 {
			t.Fatalf("%q holds %q", got, got[i])
		}
		wellFormed(t, []byte(`<svg desc="`+got+`">`+got+`</svg>`))
	})
}

// TestFit: figures that would make an image too tall to be read are left out, and what is painted is wide enough.
func TestFit(t *testing.T) {
	one := figure.Figure{Title: "t", Panels: []figure.Panel{{Title: "p", Series: []figure.Series{{Name: "a", X: []float64{0, 1}, Y: []float64{1, 2}}}}}}
	for _, n := range []int{0, 1, 5, 100, 3000} {
		figures := make([]figure.Figure, n)
		for i := range figures {
			figures[i] = one
		}
		fits := layout.Fit(figures, 0, raster.MostHeight)
		if fits > n || n > 0 && fits < 1 || n <= 5 && fits != n || n == 3000 && fits == n {
			t.Fatalf("%d of %d fit", fits, n)
		}
		if n == 0 {
			continue
		}
		if size := raster.Image(figures[:fits], raster.Options{}).Rect; size.Dx() < 400 || size.Dy() > 16001 {
			t.Errorf("%d of %d figures are painted on %v", fits, n, size)
		}
	}
}
