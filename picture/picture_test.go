package picture_test

import (
	"bytes"
	"encoding/binary"
	"encoding/xml"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/modelpatch/modelpatch"
	"github.com/modelpatch/modelpatch/picture"
	"github.com/modelpatch/modelpatch/picture/figure"
	"github.com/modelpatch/modelpatch/picture/svg"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

var update = flag.Bool("update", false, "write the golden pictures anew")

// goldens are pictures of each kind, of models in testdata.
var goldens = []struct {
	name  string
	files []string
	kinds []string
}{
	{"rope-yarn", []string{"gguf/edit-yarn-full.gguf"}, []string{figure.KindRotation}},
	{"rope-llama3", []string{"gguf/llama-llama3.gguf"}, []string{figure.KindRotation}},
	{"rope-longrope", []string{"onnx/cases/longrope-switch.onnx"}, []string{figure.KindRotation}},
	{"rope-two", []string{"gguf/llama-plain.gguf", "gguf/edit-yarn-full.gguf"}, []string{figure.KindRotation}},
	{"learned", []string{"gguf/gpt2-f32.gguf"}, []string{figure.KindTable}},
	{"learned-patches", []string{"onnx/cases/image-plane.onnx"}, []string{figure.KindTable}},
	{"learned-two", []string{"gguf/gpt2-f32.gguf", "gguf/mpt-learned.gguf"}, []string{figure.KindTable}},
	{"sinusoidal", []string{"onnx/tutorial-dy18.onnx"}, []string{figure.KindSinusoids}},
	{"alibi", []string{"gguf/mpt-alibi.gguf"}, []string{figure.KindLinear}},
	{"t5", []string{"gguf/t5-32.gguf"}, []string{figure.KindBuckets, figure.KindBuckets}},
	{"window", []string{"onnx/swin-ts17-anon.onnx"}, []string{figure.KindScores}},
}

func model(t testing.TB, name string) position.Model {
	t.Helper()
	m, err := modelpatch.Open(t.Context(), filepath.Join("../testdata", filepath.FromSlash(name)), modelpatch.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

func drawn(t testing.TB, files ...string) []figure.Figure {
	t.Helper()
	var f []figure.Figure
	var err error
	if len(files) == 1 {
		f, err = picture.Of(model(t, files[0]), filepath.Base(files[0]), picture.Options{})
	} else {
		f, err = picture.Compare(model(t, files[0]), filepath.Base(files[0]), model(t, files[1]), filepath.Base(files[1]), picture.Options{})
	}
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestGolden holds a picture of each kind against the one that was looked at.
func TestGolden(t *testing.T) {
	for _, g := range goldens {
		t.Run(g.name, func(t *testing.T) {
			figures := drawn(t, g.files...)
			var kinds []string
			for _, f := range figures {
				kinds = append(kinds, f.Kind)
			}
			if fmt.Sprint(kinds) != fmt.Sprint(g.kinds) {
				t.Errorf("kinds %v, want %v", kinds, g.kinds)
			}
			compare(t, g.name, figures)
		})
	}
}

// compare holds figures against the golden SVG of a name.
func compare(t *testing.T, name string, figures []figure.Figure) {
	t.Helper()
	got := svg.Write(figures, svg.Options{})
	wellFormed(t, got)
	path := filepath.Join("testdata", name+".svg")
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(alike(got), alike(want)) {
		t.Errorf("differs from %s in line %d: go test ./picture -update, then look at it", path, firstLine(alike(got), alike(want)))
	}
}

// TestGrown draws a table beside what extend makes of it: the rows of both are equal, and
// where new ones join is told.
func TestGrown(t *testing.T) {
	longer := filepath.Join(t.TempDir(), "longer.gguf")
	if _, err := modelpatch.Extend(t.Context(), "../testdata/gguf/gpt2-f32.gguf", modelpatch.ExtendOptions{ExtendOptions: position.ExtendOptions{Length: 96}, Write: modelpatch.WriteOptions{Output: longer}}); err != nil {
		t.Fatal(err)
	}
	after, err := modelpatch.Open(t.Context(), longer, modelpatch.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer after.Close()
	figures, err := picture.Compare(model(t, "gguf/gpt2-f32.gguf"), "gpt2-f32.gguf", after, "longer.gguf", picture.Options{})
	if err != nil {
		t.Fatal(err)
	}
	compare(t, "learned-grown", figures)
	f := figures[0]
	says := strings.Join(f.Notes, " ")
	if !strings.Contains(says, "the rows that both tables have are equal") || !strings.Contains(says, "row 24 holds the same numbers as row 0") {
		t.Errorf("notes %q", f.Notes)
	}
	if !slices.ContainsFunc(f.Panels[0].Rules, func(r figure.Rule) bool { return r.Name == "new rows from 24 on" && r.At == 23.5 }) {
		t.Errorf("rules %+v", f.Panels[0].Rules)
	}
	old, new := f.Panels[0].Series[0], f.Panels[0].Series[1]
	for i := range new.Y {
		if new.Y[i] != old.Y[i%24] {
			t.Fatalf("row %d has norm %g, and row %d of the old table %g", i, new.Y[i], i%24, old.Y[i%24])
		}
	}
}

// alike rounds numbers with many digits: the last ones depend on whether a processor
// multiplies and adds in one step.
func alike(svg []byte) []byte {
	return regexp.MustCompile(`(\d\.\d)\d+`).ReplaceAll(svg, []byte("$1"))
}

func firstLine(a, b []byte) int {
	x, y := bytes.Split(a, []byte("\n")), bytes.Split(b, []byte("\n"))
	for i := range min(len(x), len(y)) {
		if !bytes.Equal(x[i], y[i]) {
			return i + 1
		}
	}
	return min(len(x), len(y)) + 1
}

// wellFormed reads an SVG as XML and reports elements that none of ours is.
func wellFormed(t testing.TB, content []byte) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(content))
	for {
		token, err := d.Token()
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatalf("not well-formed: %v", err)
		}
		if e, ok := token.(xml.StartElement); ok {
			switch e.Name.Local {
			case "svg", "title", "desc", "style", "rect", "polyline", "polygon", "circle", "text", "image":
			default:
				t.Fatalf("element %s", e.Name.Local)
			}
			for _, a := range e.Attr {
				if strings.HasPrefix(a.Name.Local, "on") || a.Name.Local == "href" && !strings.HasPrefix(a.Value, "data:image/png;base64,") {
					t.Fatalf("attribute %s=%q", a.Name.Local, a.Value)
				}
			}
		}
	}
}

// TestWavelengths computes the wavelengths from the report, as JSON has it, and looks
// for them in the figure and in what a pointer is told.
func TestWavelengths(t *testing.T) {
	const file = "gguf/edit-yarn-full.gguf"
	r := position.Inspect(model(t, file))
	p := r.Encodings[0].Parameters
	s := p.Scaling
	if s == nil || s.Type != "yarn" {
		t.Fatalf("scaling %+v", s)
	}
	f := drawn(t, file)[0]
	drawnSVG := string(svg.Write([]figure.Figure{f}, svg.Options{}))
	dim, base, original := float64(*p.RotaryDim), float64(*p.Base), float64(*s.OriginalLength)
	// Peng et al. 2023, equations 13 to 17, with bounds rounded outwards; 32 and 1 are its betas.
	at := func(turns float64) float64 { return dim * math.Log(original/(turns*2*math.Pi)) / (2 * math.Log(base)) }
	low, high := max(math.Floor(at(32)), 0), math.Ceil(at(1))
	line := f.Panels[0].Series[0]
	if len(line.X) != *p.RotaryDim/2 {
		t.Fatalf("%d pairs, want %d", len(line.X), *p.RotaryDim/2)
	}
	for i := range line.X {
		plain := math.Pow(base, -2*float64(i)/dim)
		ramp := min(max((float64(i)-low)/(high-low), 0), 1)
		want := 2 * math.Pi / (plain/float64(*s.Factor)*ramp + plain*(1-ramp))
		if math.Abs(line.Y[i]-want) > 1e-9*want {
			t.Errorf("pair %d: %g, want %g", i, line.Y[i], want)
		}
		if says := "pair " + fmt.Sprint(i) + ": this file " + figure.Number(want) + ";"; !strings.Contains(drawnSVG, says) {
			t.Errorf("a pointer is not told %q", says)
		}
	}
	for _, want := range []string{fmt.Sprintf("original length %d", *s.OriginalLength), fmt.Sprintf("stated length %d", *r.Length.Stated)} {
		if !strings.Contains(drawnSVG, want) {
			t.Errorf("no rule %q", want)
		}
	}
	amplitude := figure.Number(float64(*s.AttentionFactor))
	if !strings.Contains(strings.Join(f.Notes, " "), "multiplied by "+amplitude) {
		t.Errorf("amplitude %s is not among %q", amplitude, f.Notes)
	}
}

// TestNorms computes norms from the bytes that the report points at.
func TestNorms(t *testing.T) {
	const file = "gguf/gpt2-f32.gguf"
	e := position.Inspect(model(t, file)).Encodings[0]
	content, err := os.ReadFile("../testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	if e.Parameters.Dtype != "float32" {
		t.Fatalf("dtype %s", e.Parameters.Dtype)
	}
	var table []float32
	at := *e.Where[0].Range
	if _, err := binary.Decode(content[at[0]:at[1]], binary.LittleEndian, slice(&table, int(at[1]-at[0])/4)); err != nil {
		t.Fatal(err)
	}
	line := drawn(t, file)[0].Panels[0].Series[0]
	dim := *e.Parameters.Dim
	if len(line.Y) != *e.Parameters.Rows {
		t.Fatalf("%d rows, want %d", len(line.Y), *e.Parameters.Rows)
	}
	for i := range line.Y {
		sum := 0.0
		for _, v := range table[i*dim : (i+1)*dim] {
			sum += float64(v) * float64(v)
		}
		if want := math.Sqrt(sum); math.Abs(line.Y[i]-want) > 1e-12*want {
			t.Errorf("row %d: %g, want %g", i, line.Y[i], want)
		}
	}
}

func slice(p *[]float32, n int) []float32 { *p = make([]float32, n); return *p }

// TestSlopes holds ALiBi's picture against the paper's formula and the report.
func TestSlopes(t *testing.T) {
	const file = "gguf/mpt-alibi.gguf"
	p := position.Inspect(model(t, file)).Encodings[0].Parameters
	f := drawn(t, file)[0]
	heads := *p.Heads
	for h, got := range f.Panels[0].Series[0].Y {
		slope := math.Exp2(-float64(*p.MaxBias) * float64(h+1) / float64(heads)) // a power of two of heads
		if math.Abs(got-slope) > 1e-12 {
			t.Errorf("slope of head %d: %g, want %g", h, got, slope)
		}
		line := f.Panels[1].Series[h]
		for i, d := range line.X {
			if want := -slope * d; math.Abs(line.Y[i]-want) > 1e-9 {
				t.Fatalf("head %d, distance %g: %g, want %g", h, d, line.Y[i], want)
			}
		}
	}
	if len(f.Panels[0].Series[0].Y) != heads {
		t.Errorf("%d heads, want %d", len(f.Panels[0].Series[0].Y), heads)
	}
}

// TestBiasDifference compares ALiBi of four heads with one of two: head 0 of both is drawn,
// and their difference is that of the slopes.
func TestBiasDifference(t *testing.T) {
	site := func(heads int) made {
		s := schemes.ALiBi{Heads: heads, MaxBias: 8}
		return made{sites: []position.Site{madeBias{madeSite{encoding: position.Encoding{Scheme: s}}, s}}}
	}
	figures, err := picture.Compare(site(4), "four", site(2), "two", picture.Options{})
	if err != nil {
		t.Fatal(err)
	}
	panels := figures[0].Panels
	difference := panels[0]
	var names []string
	for _, s := range difference.Series {
		names = append(names, s.Name)
	}
	if fmt.Sprint(names) != "[head 0 head 1]" {
		t.Fatalf("heads %v", names)
	}
	for h, s := range difference.Series {
		slope := math.Exp2(-8*float64(h+1)/2) - math.Exp2(-8*float64(h+1)/4)
		for i, x := range s.X {
			if want := -slope * x; math.Abs(s.Y[i]-want) > 1e-12 {
				t.Fatalf("head %d, distance %g: %g, want %g", h, x, s.Y[i], want)
			}
		}
	}
}

// madeBias is a bias of a test's own.
type madeBias struct {
	madeSite
	alibi schemes.ALiBi
}

func (m madeBias) Bias(head, query, key, _ int) (float64, error) {
	return m.alibi.Bias(head, query, key), nil
}

// TestWindows compares a window's bias with itself: the difference is nothing.
func TestWindows(t *testing.T) {
	f := drawn(t, "onnx/swin-ts17-anon.onnx", "onnx/swin-ts17-anon.onnx")[0]
	if len(f.Panels) != 1 || f.Panels[0].Difference || f.Differs || !slices.Contains(f.Notes, "second minus first, head 1: none") {
		t.Fatalf("%d panels, notes %q", len(f.Panels), f.Notes)
	}
}

// TestNothing says why there is no picture.
func TestNothing(t *testing.T) {
	_, err := picture.Of(model(t, "onnx/cases/recurrence-unrolled.onnx"), "", picture.Options{})
	if n, ok := err.(*picture.Nothing); !ok || !strings.Contains(n.Why, "no position encoding") {
		t.Errorf("got %v", err)
	}
}

// made is a model with sites of a test's own.
type made struct {
	position.Model
	sites []position.Site
}

func (m made) Sites() []position.Site            { return m.sites }
func (m made) Attentions() []*position.Attention { return nil }
func (m made) Findings() []report.Finding        { return nil }
func (m made) Describe() report.Inspect          { return report.Inspect{} }

// madeTable is a table of a test's own.
type madeTable struct {
	position.Site
	encoding  position.Encoding
	rows, dim int
	row       func(i int, dst []float64)
	read      *int
}

func (m madeTable) Encoding() position.Encoding { return m.encoding }
func (m madeTable) Len() int                    { return m.rows }
func (m madeTable) Dim() int                    { return m.dim }
func (m madeTable) Row(i int, dst []float64) error {
	if m.read != nil {
		*m.read++
	}
	m.row(i, dst)
	return nil
}
