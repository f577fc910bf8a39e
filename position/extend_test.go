package position

import (
	"errors"
	"strings"
	"testing"

	"github.com/modelpatch/modelpatch/patch"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// fake is a model without a file.
type fake struct {
	sites  []Site
	format string
	kind   string
	stated int
	length int // what SetLength was told
	edits  int
}

func (f *fake) Sites() []Site              { return f.sites }
func (f *fake) Attentions() []*Attention   { return nil }
func (f *fake) Findings() []report.Finding { return nil }
func (f *fake) Close() error               { return nil }
func (f *fake) SetLength(old, new int) error {
	f.length = new
	if f.stated != 0 && f.stated != new {
		f.edits++
	}
	return nil
}

func (f *fake) Describe() report.Inspect {
	r := report.Inspect{Format: f.format, Kind: f.kind}
	if f.kind == "" {
		r.Kind = report.KindModel
	}
	if f.stated != 0 {
		r.Length.Stated = &f.stated
	}
	return r
}

func (f *fake) Edits() (patch.Plan, error) {
	return patch.Plan{Edits: make([]patch.Edit, f.edits)}, nil
}

// fakeSite remembers what it was asked to hold.
type fakeSite struct {
	model *fake
	e     Encoding
	held  *Want
}

func (s *fakeSite) Encoding() Encoding { return s.e }
func (s *fakeSite) Store(w Want) error {
	s.held = &w
	s.model.edits++
	return nil
}

func (s *fakeSite) Len() int { return s.e.Scheme.(schemes.Learned).Rows }
func (s *fakeSite) Dim() int { return 4 }
func (s *fakeSite) Row(i int, dst []float64) error {
	for j := range dst {
		dst[j] = float64(i*4 + j)
	}
	return nil
}

func build(format string, stated int, encodings ...Encoding) (*fake, []*fakeSite) {
	m := &fake{format: format, stated: stated}
	var sites []*fakeSite
	for _, e := range encodings {
		s := &fakeSite{model: m, e: e}
		sites = append(sites, s)
		m.sites = append(m.sites, s)
	}
	return m, sites
}

var (
	text16  = Encoding{Scheme: schemes.Learned{Rows: 18, Dim: 4, Offset: 2}, Form: report.FormTable, Capacity: 16, Beyond: report.BeyondError}
	image16 = Encoding{Scheme: schemes.Learned{Rows: 17, Dim: 4, Grid: []int{4, 4}, Prefix: 1}, Form: report.FormTable, Capacity: 16}
	cache32 = Encoding{Scheme: schemes.Rotary{Base: 10000, Dim: 8}, Form: report.FormCache, Capacity: 32, Beyond: report.BeyondError}
	runtime = Encoding{Scheme: schemes.Rotary{Base: 10000, Dim: 8}, Form: report.FormRuntime}
	byKeys  = Encoding{Scheme: schemes.Rotary{Base: 10000, Dim: 8}, Form: report.FormKeys}
)

func TestExtend(t *testing.T) {
	for _, c := range []struct {
		name    string
		format  string
		stated  int
		sites   []Encoding
		o       ExtendOptions
		want    string // outcome: changes' expectations, "nothing", "refusal", "usage"
		held    []int  // positions that each site was asked for, −1: not asked
		changed int    // what SetLength was told
	}{
		{"table", FormatONNX, 0, []Encoding{text16}, ExtendOptions{Length: 32}, "same-on-prefix", []int{32}, 32},
		{"table, moved", FormatONNX, 0, []Encoding{text16}, ExtendOptions{Length: 32, Method: "interpolate"}, "changed", []int{32}, 32},
		{"table too far for the method", FormatONNX, 0, []Encoding{text16}, ExtendOptions{Length: 1000, Method: "hierarchical"}, "refusal", nil, 0},
		{"same length", FormatONNX, 0, []Encoding{text16}, ExtendOptions{Length: 16}, "nothing", []int{-1}, 0},
		{"shorter", FormatONNX, 0, []Encoding{text16}, ExtendOptions{Length: 8}, "refusal", nil, 0},
		{"zero", FormatONNX, 0, []Encoding{text16}, ExtendOptions{Length: 0}, "usage", nil, 0},
		{"unknown method", FormatONNX, 0, []Encoding{text16}, ExtendOptions{Length: 32, Method: "x"}, "usage", nil, 0},
		{"method of another scheme", FormatONNX, 0, []Encoding{text16}, ExtendOptions{Length: 32, Method: "yarn"}, "usage", nil, 0},
		{"text beside a grid", FormatONNX, 0, []Encoding{text16, image16}, ExtendOptions{Length: 32}, "same-on-prefix", []int{32, -1}, 32},
		{"grid alone", FormatONNX, 0, []Encoding{image16}, ExtendOptions{Length: 32}, "refusal", nil, 0},
		{"cache", FormatONNX, 0, []Encoding{cache32}, ExtendOptions{Length: 64}, "same-on-prefix", []int{64}, 64},
		{"cache, scaled", FormatONNX, 0, []Encoding{cache32}, ExtendOptions{Length: 64, Method: "linear"}, "changed", []int{64}, 64},
		{"long enough beside a shorter one", FormatONNX, 0, []Encoding{text16, cache32}, ExtendOptions{Length: 24}, "same-on-prefix", []int{24, -1}, 24},
		{"fixed dimension, table reaches", FormatONNX, 8, []Encoding{text16}, ExtendOptions{Length: 12}, "same-on-prefix", []int{-1}, 12},
		{"runtime, nothing says a length", FormatONNX, 0, []Encoding{runtime}, ExtendOptions{Length: 64}, "refusal", nil, 0},
		{"runtime, as it is", FormatONNX, 0, []Encoding{runtime}, ExtendOptions{Length: 64, Method: "none"}, "nothing", []int{-1}, 64},
		{"runtime, configured", FormatONNX, 0, []Encoding{runtime}, ExtendOptions{Length: 64, ConfiguredLength: 16}, "changed", []int{64}, 64},
		{"runtime, configured longer", FormatONNX, 0, []Encoding{runtime}, ExtendOptions{Length: 64, ConfiguredLength: 65}, "refusal", nil, 0},
		{"runtime beside what bounds", FormatONNX, 0, []Encoding{runtime, cache32}, ExtendOptions{Length: 64}, "same-on-prefix", []int{-1, 64}, 64},
		{"runtime, scaled without a length", FormatONNX, 0, []Encoding{runtime}, ExtendOptions{Length: 64, Method: "yarn"}, "refusal", nil, 0},
		{"runtime, scaled", FormatONNX, 0, []Encoding{runtime}, ExtendOptions{Length: 64, Method: "yarn", OriginalLength: 16}, "changed", []int{64}, 64},
		{"keys", FormatGGUF, 16, []Encoding{byKeys}, ExtendOptions{Length: 64}, "changed same-on-prefix", []int{64}, 64},
		{"keys, length alone", FormatGGUF, 16, []Encoding{byKeys}, ExtendOptions{Length: 64, Method: "none"}, "same-on-prefix", []int{-1}, 64},
		{"keys, no length", FormatGGUF, 0, []Encoding{byKeys}, ExtendOptions{Length: 64}, "refusal", nil, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, sites := build(c.format, c.stated, c.sites...)
			out, err := Extend(m, c.o)
			if got := outcome(out, err); got != c.want {
				t.Fatalf("got %q, want %q (%v, %+v)", got, c.want, err, out)
			}
			for i, want := range c.held {
				switch held := sites[i].held; {
				case want < 0 && held != nil:
					t.Errorf("site %d was asked for %d positions", i, held.Positions)
				case want >= 0 && (held == nil || held.Positions != want):
					t.Errorf("site %d: %+v, want %d positions", i, held, want)
				}
			}
			if err == nil && m.length != c.changed {
				t.Errorf("SetLength was told %d, want %d", m.length, c.changed)
			}
		})
	}
}

// outcome says in a word what a verb did.
func outcome(out Outcome, err error) string {
	var words []string
	switch {
	case isA[*Refusal](err):
		return "refusal"
	case isA[*UsageError](err):
		return "usage"
	case err != nil:
		return err.Error()
	case out.Nothing != "":
		return "nothing"
	}
	for _, c := range out.Changes {
		words = append(words, c.Expect)
	}
	if len(words) == 2 && words[1] == report.ExpectSameOnPrefix && words[0] == words[1] {
		words = words[:1]
	}
	return strings.Join(words, " ")
}

func isA[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

func TestExtendTableAsksForRows(t *testing.T) {
	m, sites := build(FormatONNX, 0, text16)
	if _, err := Extend(m, ExtendOptions{Length: 40}); err != nil {
		t.Fatal(err)
	}
	w := sites[0].held
	if l := w.Scheme.(schemes.Learned); l.Rows != 42 || w.Rows.Len() != 42 || w.Rows.Kept() != 18 {
		t.Errorf("%+v, %d rows, %d kept", l, w.Rows.Len(), w.Rows.Kept())
	}
}

func TestYaRNIsScaledAnew(t *testing.T) {
	e := byKeys
	e.Scheme = schemes.Rotary{Base: 10000, Dim: 8, Scaling: schemes.Scaling{Type: "yarn", Factor: 4, OriginalLength: 16, AttentionFactor: schemes.YaRNAmplitude(4, 1)}}
	m, sites := build(FormatGGUF, 64, e)
	if _, err := Extend(m, ExtendOptions{Length: 128}); err != nil {
		t.Fatal(err)
	}
	s := sites[0].held.Scheme.(schemes.Rotary).Scaling
	if s.Factor != 8 || s.OriginalLength != 16 || s.AttentionFactor != schemes.YaRNAmplitude(8, 1) {
		t.Errorf("%+v", s)
	}
}

func TestRescaleUsage(t *testing.T) {
	m, _ := build(FormatGGUF, 16, byKeys)
	for _, o := range []RescaleOptions{{}, {Base: 1}, {Base: -3}, {Scaling: "yarn"}, {Scaling: "x", Factor: 2}, {Factor: 2}, {Scaling: "linear", Factor: -1}, {Base: 5, Length: -1}} {
		if _, err := Rescale(m, o); !isA[*UsageError](err) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}
