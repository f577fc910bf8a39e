package ggufpos

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelpatch/modelpatch/gguf"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/ggufpos/arch"
	"github.com/modelpatch/modelpatch/position/ggufpos/operator"
	"github.com/modelpatch/modelpatch/position/ggufpos/rotary"
	"github.com/modelpatch/modelpatch/schemes"
)

// each runs a test on every single-file model of the corpus, or of testdata
// where the corpus is absent.
func each(t *testing.T, do func(t *testing.T, open func() *model, raw []byte)) {
	files, _ := filepath.Glob("../../../shared/corpus/gguf/*.gguf")
	if len(files) == 0 {
		files, _ = filepath.Glob("../../testdata/gguf/*.gguf")
	}
	for _, path := range files {
		if strings.Contains(path, "-of-") {
			continue
		}
		t.Run(strings.TrimSuffix(filepath.Base(path), ".gguf"), func(t *testing.T) {
			raw, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			do(t, func() *model {
				f, err := gguf.NewFile(bytes.NewReader(raw), int64(len(raw)))
				if err != nil {
					t.Fatal(err)
				}
				m, err := Open(f)
				if err != nil {
					t.Fatal(err)
				}
				return bare(m)
			}, raw)
		})
	}
}

// TestRescaledFilesSayWhatWasAsked edits every RoPE file in many ways; the
// result, read anew, must have the scheme that was asked for, and its engine's
// formula must give the frequencies of that scheme.
func TestRescaledFilesSayWhatWasAsked(t *testing.T) {
	asked := []position.RescaleOptions{
		{Base: 40000},
		{Scaling: "linear", Factor: 3},
		{Scaling: "ntk", Factor: 4},
		{Scaling: "yarn", Factor: 4, OriginalLength: 48},
		{Scaling: "yarn", Factor: 8, OriginalLength: 48, AttentionFactor: 1.3},
		{Scaling: "yarn", Factor: 4, OriginalLength: 640, BetaFast: 16, BetaSlow: 2},
		{Scaling: "yarn", Factor: 4, OriginalLength: 640, NoTruncate: true},
		{Scaling: "llama3", Factor: 8, OriginalLength: 64},
		{Scaling: "llama3", Factor: 8, OriginalLength: 64, Base: 123456},
		{Scaling: "none"},
	}
	held := 0
	each(t, func(t *testing.T, open func() *model, raw []byte) {
		for _, o := range asked {
			m := open()
			out, err := position.Rescale(m, o)
			if err != nil {
				if _, refusal := err.(*position.Refusal); !refusal {
					t.Errorf("%+v: %v", o, err)
				}
				continue
			}
			again := reopen(t, m.Edit, raw)
			for i, s := range m.sites {
				if r, ok := s.(*rotary.Rope); ok && (len(out.Changes) > 0 || out.Nothing != "") {
					want := rotation(r)
					if out.Nothing == "" && out.Changes[0].Encoding == position.ID(i) {
						want = wanted(o, rotation(r), m)
					}
					compare(t, again, i, want)
					if got := rotation(again.sites[min(i, len(again.sites)-1)].(*rotary.Rope)); out.Nothing == "" && out.Changes[0].Encoding == position.ID(i) && o.Scaling == "yarn" {
						says := strings.Contains(out.Changes[0].What, "attention factor")
						if has := got.Scaling.AttentionFactor != 1; has != says {
							t.Errorf("%+v: the plan says %q, and the file has an attention factor of %g", o, out.Changes[0].What, got.Scaling.AttentionFactor)
						}
					}
					held++
				}
			}
		}
	})
	if held < 100 {
		if _, err := os.Stat("../../../shared/corpus"); err != nil {
			t.Skipf("skipped by name: the number of rotations, %d here (../shared is absent)", held)
		}
		t.Errorf("only %d rotations were held", held)
	}
}

// wanted is the rotation that options ask for.
func wanted(o position.RescaleOptions, from schemes.Rotary, m *model) schemes.Rotary {
	to := from
	if o.Base != 0 {
		to.Base, to.Scaling.Frequencies = o.Base, nil
	}
	switch o.Scaling {
	case "":
	case "ntk":
		to.Base, to.Scaling = schemes.NTKBase(to.Base, o.Factor, to.Dim), schemes.Scaling{}
	case "llama3":
		to.Scaling = schemes.Scaling{Type: o.Scaling, Factor: o.Factor, OriginalLength: o.OriginalLength, LowFreqFactor: 1, HighFreqFactor: 4}
	default:
		to.Scaling = schemes.Scaling{Type: o.Scaling, Factor: o.Factor, OriginalLength: o.OriginalLength, BetaFast: o.BetaFast, BetaSlow: o.BetaSlow,
			NoTruncate: o.NoTruncate, AttentionFactor: o.AttentionFactor}
		if arch.ScalesAttention(m.Name) && o.Scaling == "yarn" && o.AttentionFactor == 0 {
			to.Scaling.AttentionFactor = 1 // the amplitude went into the attention scale
		}
	}
	return to
}

// formula is how far float32 storage of bases and divisors may move an angle.
const formula = 2e-6

func compare(t *testing.T, m *model, i int, want schemes.Rotary) {
	t.Helper()
	if i >= len(m.sites) { // both rotations became one
		i = 0
	}
	got, ok := m.sites[i].(*rotary.Rope)
	if !ok {
		t.Fatalf("site %d is %T now", i, m.sites[i])
	}
	cos, sin := make([]float64, want.Dim/2), make([]float64, want.Dim/2)
	wcos, wsin := make([]float64, want.Dim/2), make([]float64, want.Dim/2)
	for _, p := range []int{1, 7, 50} {
		if err := got.Rotation(p, 32, cos, sin); err != nil {
			t.Fatal(err)
		}
		want.Rotator(schemes.RecipeExact, 32).Row(float64(p), wcos, wsin)
		for k := range cos {
			if math.Abs(cos[k]-wcos[k]) > formula*float64(p+1) || math.Abs(sin[k]-wsin[k]) > formula*float64(p+1) {
				t.Errorf("%v: position %d, pair %d: cos %.8f, want %.8f", want, p, k, cos[k], wcos[k])
				return
			}
		}
	}
}

// TestSchemeAndEngineAgree holds what is reported against the engine's
// formula, in every file as it is.
func TestSchemeAndEngineAgree(t *testing.T) {
	each(t, func(t *testing.T, open func() *model, _ []byte) {
		m := open()
		for i, s := range m.sites {
			if r, ok := s.(*rotary.Rope); ok {
				compare(t, m, i, rotation(r))
			}
		}
	})
}

// TestExtendedFilesReach extends every file and reads the result.
func TestExtendedFilesReach(t *testing.T) {
	files, reached := 0, 0
	each(t, func(t *testing.T, open func() *model, raw []byte) {
		m := open()
		l := position.Length(m, m.Describe())
		if l.Stated == nil {
			t.Skip("no length")
		}
		files++
		n := *l.Stated * 4
		out, err := position.Extend(m, position.ExtendOptions{Length: n})
		if err != nil {
			if _, refusal := err.(*position.Refusal); !refusal {
				t.Fatal(err)
			}
			t.Skip(err)
		}
		if out.Nothing != "" {
			t.Fatalf("nothing: %s", out.Nothing)
		}
		again := reopen(t, m.Edit, raw)
		after := position.Length(again, again.Describe())
		if after.Stated == nil || *after.Stated != n || after.Capacity != nil && *after.Capacity < n {
			t.Errorf("stated %v, capacity %v, want %d", after.Stated, after.Capacity, n)
		}
		reached++
	})
	const least = 0.85 // LongRoPE and files without an architecture are refused
	if files == 0 || float64(reached)/float64(files) < least {
		t.Errorf("%d of %d files were extended, want %g", reached, files, least)
	}
}

// TestSmallestEdit raises a length alone: four bytes.
func TestSmallestEdit(t *testing.T) {
	raw, err := os.ReadFile("../../testdata/gguf/llama-plain.gguf")
	if err != nil {
		t.Fatal(err)
	}
	f, err := gguf.NewFile(bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		t.Fatal(err)
	}
	m, _ := Open(f)
	if _, err := position.Extend(m, position.ExtendOptions{Length: 4096, Method: position.MethodNone}); err != nil {
		t.Fatal(err)
	}
	plan, err := m.Edits()
	if err != nil || len(plan.Edits) != 1 || plan.Edits[0].Old != 4 || plan.Edits[0].New.Size() != 4 {
		t.Errorf("%v, %+v", err, plan.Edits)
	}
}

// TestScalingsOnTopOfOthers: Hunyuan's alpha and divisors that stop pairs stay when
// another scaling comes, in what the file says and in what is made of it.
func TestScalingsOnTopOfOthers(t *testing.T) {
	known := archs(t)
	stopping := make([]float32, 16)
	for i := range stopping {
		if stopping[i] = 1; i >= 6 {
			stopping[i] = 1e30
		}
	}
	for _, name := range []string{"hunyuan-dense", "hunyuan_vl", "gemma4"} {
		for _, kind := range []string{"", arch.TypeNone, arch.TypeLinear, arch.TypeYaRN} {
			t.Run(name+" "+kind, func(t *testing.T) {
				k := fixture(known[name], 32)
				vectors := map[string][]float32{}
				if name == "gemma4" {
					vectors[operator.FreqsTensor] = stopping
				} else {
					put(k, known[name], keys{arch.KeyAlpha: gguf.Float32(50)})
				}
				if kind != "" {
					put(k, known[name], keys{arch.KeyType: gguf.String(kind), arch.KeyFactor: gguf.Float32(4), arch.KeyOriginal: gguf.Uint32(64)})
				}
				raw := written(t, k, vectors)
				agree := func(m *model) {
					for i, s := range m.sites {
						if r, ok := s.(*rotary.Rope); ok {
							compare(t, m, i, rotation(r))
						}
					}
				}
				m := opened(t, raw)
				agree(m)
				if _, err := position.Extend(m, position.ExtendOptions{Length: 1024}); err != nil {
					t.Fatal(err)
				}
				held := m.sites[0].(*rotary.Rope).Stored().(schemes.Rotary)
				again := reopen(t, m.Edit, raw)
				agree(again)
				compare(t, again, 0, held)
				if got := rotation(again.sites[0]).Scaling; got.Rotated != rotation(m.sites[0]).Scaling.Rotated || got.Factor <= 1 {
					t.Errorf("the new file has the scaling %v", got)
				}
			})
		}
	}
}
