package schemes

import (
	"math"
	"slices"
	"strings"
	"testing"
)

const (
	// exactFormula is float64 against float64, two orders of evaluation.
	exactFormula = 1e-14
	// libraryULP is our replay of float32 steps against PyTorch (NUMERICS §1).
	libraryULP = 2
	// ggmlFormula is our replay of ggml's steps against its operator: cosf and
	// sinf may differ in the last bit.
	ggmlFormula = 1.2e-7
)

// rotaryOf is the encoding that a golden case describes.
func rotaryOf(g golden) (r Rotary, length int) {
	r = Rotary{Base: g.number("rope_theta"), Dim: int(g.number("rotary_dim"))}
	s := Scaling{
		Type:           strings.TrimPrefix(g.Scheme, "rope/"),
		Factor:         g.number("factor"),
		OriginalLength: int(g.number("original_max_position_embeddings")),
		BetaFast:       g.number("beta_fast"),
		BetaSlow:       g.number("beta_slow"),
		NoTruncate:     g.Params["truncate"] == false,
		LowFreqFactor:  g.number("low_freq_factor"),
		HighFreqFactor: g.number("high_freq_factor"),
		ShortFactor:    g.list("short_factor"),
		LongFactor:     g.list("long_factor"),
	}
	switch s.Type {
	case "default":
		s.Type = ScalingNone
	case "ntk_alpha":
		s.Type, s.Factor = ScalingNTK, g.number("alpha")
	case ScalingDynamic:
		s.OriginalLength = int(g.number("max_position_embeddings"))
		length = int(g.number("seq_len"))
	case ScalingProportional:
		s.Rotated = int(g.number("partial_rotary_factor")*g.number("head_dim")) / 2
	case ScalingLongRoPE:
		if s.Factor == 0 {
			s.Factor = g.number("max_position_embeddings") / float64(s.OriginalLength)
		}
		if g.Params["used"] == "long_factor" {
			length = s.OriginalLength + 1
		}
	}
	s.AttentionFactor = g.number("attention_factor")
	if m, all := g.number("mscale"), g.number("mscale_all_dim"); m != 0 && all != 0 {
		s.AttentionFactor = YaRNAmplitude(s.Factor, m) / YaRNAmplitude(s.Factor, all)
	}
	r.Scaling = s
	return r, length
}

func TestInverseFrequencies(t *testing.T) {
	goldenCases(t, "rope_inv_freq.json", func(t *testing.T, g golden) {
		r, length := rotaryOf(g)
		got := r.InverseFrequenciesAt(length)
		replayed := r.Rotator(RecipePow, length).Frequencies()
		exact, recipe := worst{what: "exact"}, worst{what: "float32 steps"}
		if g.ValuesExact != nil && len(got) != len(g.ValuesExact) {
			t.Fatalf("%d frequencies, want %d", len(got), len(g.ValuesExact))
		}
		for i, want := range g.ValuesExact {
			if got[i] != want {
				exact.see((got[i] - want) / want)
			}
		}
		g.each(func(at []int, want float64) { recipe.see(ulps(replayed[at[0]], want)) })
		exact.within(t, exactFormula)
		recipe.within(t, libraryULP)
		if a := r.Amplitude(); g.AttentionFactor != 0 && math.Abs(a-g.AttentionFactor) > exactFormula {
			t.Errorf("amplitude %v, want %v", a, g.AttentionFactor)
		}
		if !r.Equal(r) {
			t.Error("not equal to itself")
		}
	})
}

func TestRotaryTables(t *testing.T) {
	byName := make(map[string]golden)
	for _, g := range readGolden(t, "../../shared/golden/rope_inv_freq.json") {
		byName[g.Name] = g
	}
	goldenCases(t, "rope_tables.json", func(t *testing.T, g golden) {
		of := byName[g.Params["inv_freq"].(string)]
		r, length := rotaryOf(of)
		rows, isSin := g.list("rows"), g.Params["fn"] == "sin"
		given := r.WithScaling(Scaling{Type: ScalingCustom, Frequencies: of.Values, AttentionFactor: r.Amplitude()})
		replay, exact := given.Rotator(RecipePow, 0), r.Rotator(RecipeExact, length)
		recipe, formula := worst{what: "float32 steps"}, worst{what: "exact, per position"}
		n := r.Pairs()
		cos, sin := make([]float64, n), make([]float64, n)
		k := 0
		g.each(func(at []int, want float64) {
			p := rows[at[0]]
			pick := func() float64 {
				if isSin {
					return sin[at[1]]
				}
				return cos[at[1]]
			}
			replay.Row(p, cos, sin)
			recipe.see(ulps(pick(), want))
			exact.Row(p, cos, sin)
			formula.see((pick() - g.Exact[k]) / (1 + p))
			k++
		})
		recipe.within(t, libraryULP)
		formula.within(t, exactFormula)
	})
}

func TestGGMLRows(t *testing.T) {
	goldenCases(t, "rope_ggml.json", func(t *testing.T, g golden) {
		r := Rotary{Base: g.number("freq_base"), Dim: int(g.number("n_dims"))}
		switch {
		case g.number("freq_base") == 0:
			r = llama31
			got := r.divisors(0)
			g.each(func(at []int, want float64) {
				if ulps(float64(got[at[0]]), want) > libraryULP {
					t.Errorf("divisor %d is %v, want %v", at[0], got[at[0]], want)
				}
			})
			return
		case g.Params["rope_freqs"] != nil:
			r = llama31
		case g.number("ext_factor") != 0:
			r.Scaling = Scaling{Type: ScalingYaRN, Factor: 1 / g.number("freq_scale"), OriginalLength: int(g.number("n_ctx_orig"))}
		case g.number("freq_scale") != 1:
			r.Scaling = Scaling{Type: ScalingLinear, Factor: 1 / g.number("freq_scale")}
		}
		steps := worst{what: "ggml's steps"}
		cos, sin := make([]float64, r.Pairs()), make([]float64, r.Pairs())
		g.each(func(at []int, want float64) {
			r.CacheRow(RecipeGGML, int(g.list("positions")[at[0]]), cos, sin)
			steps.see([][]float64{cos, sin}[at[1]][at[2]] - want)
		})
		steps.within(t, ggmlFormula)
	})
}

var llama31 = Rotary{Base: 500000, Dim: 128, Scaling: Scaling{
	Type: ScalingLlama3, Factor: 8, LowFreqFactor: 1, HighFreqFactor: 4, OriginalLength: 8192}}

func TestRotaryApply(t *testing.T) {
	const rounded = 3e-7 // some libraries compute in float32
	var x []float64
	goldenCases(t, "rope_apply.json", func(t *testing.T, g golden) {
		if list := g.list("x"); list != nil {
			x = list
		}
		if strings.Contains(g.Name, "deepseek") {
			t.Skip("a permutation of the interleaved result")
		}
		r := Rotary{Base: g.number("base"), Dim: int(orDefault(g.number("rotary_dim"), g.number("dim"))), Layout: LayoutHalf}
		if strings.Contains(g.Name, "interleaved") {
			r.Layout = LayoutInterleaved
		}
		d := int(g.number("dim"))
		var turned []float64
		for i, p := range g.list("positions") {
			row := slices.Clone(x[i*d : (i+1)*d])
			cos, sin := make([]float64, r.Pairs()), make([]float64, r.Pairs())
			r.Rotation(p, cos, sin)
			r.Apply(row, cos, sin)
			turned = append(turned, row...)
		}
		w := worst{what: "turned"}
		g.each(func(at []int, want float64) { w.see(turned[at[0]*d+at[1]] - want) })
		w.within(t, rounded)
	})
}

func TestSections(t *testing.T) {
	goldenCases(t, "mrope.json", func(t *testing.T, g golden) {
		want := g.list("axis_of_frequency")
		if want == nil {
			t.Skip("not of sections")
		}
		r := Rotary{Base: g.number("base"), Dim: int(g.number("dim"))}
		for _, n := range g.list("mrope_section") {
			r.Sections = append(r.Sections, int(n))
		}
		r.InterleavedSections = strings.HasSuffix(g.Scheme, "interleaved")
		for i, axis := range r.Axes() {
			if axis != int(want[i]) {
				t.Fatalf("pair %d is turned by axis %d, want %v", i, axis, want[i])
			}
		}
	})
}

func TestRotaryEqual(t *testing.T) {
	plain := Rotary{Base: 10000, Dim: 64}
	ntk := plain.WithScaling(Scaling{Type: ScalingNTK, Factor: 8})
	based := Rotary{Base: NTKBase(10000, 8, 64), Dim: 64, Layout: LayoutHalf}
	if !ntk.Equal(based) || !based.Equal(ntk) {
		t.Error("NTK is a change of base")
	}
	for _, other := range []Scheme{
		Rotary{Base: 10001, Dim: 64}, Rotary{Base: 10000, Dim: 32}, ntk, Learned{},
		plain.WithScaling(Scaling{AttentionFactor: 1.1}),
		plain.WithScaling(Scaling{Type: ScalingDynamic, Factor: 2, OriginalLength: 2048}),
		Rotary{Base: 10000, Dim: 64, Sections: []int{8, 12, 12}},
	} {
		if plain.Equal(other) {
			t.Errorf("%v equals %v", plain, other)
		}
	}
}

// TestPairsThatStandStill: which pairs turn belongs to the weights, whatever the
// scaling of those that do.
func TestPairsThatStandStill(t *testing.T) {
	partly := Rotary{Base: 1e6, Dim: 32, Scaling: Scaling{Type: ScalingProportional, Rotated: 6}}
	all := Rotary{Base: 1e6, Dim: 32}
	for _, s := range []Scaling{{}, {Type: ScalingLinear, Factor: 4}, {Type: ScalingYaRN, Factor: 4, OriginalLength: 64}, {Type: ScalingNTK, Factor: 4},
		{Type: ScalingLlama3, Factor: 8, OriginalLength: 64}} {
		r := partly.WithScaling(s)
		if r.Scaling.Rotated != 6 || s.Type == "" && r.Scaling.Type != ScalingProportional {
			t.Errorf("%v became %v", s, r.Scaling)
		}
		want := all.WithScaling(s)
		for _, recipe := range []Recipe{RecipeExact, RecipePow} {
			f, g := r.Rotator(recipe, 0).Frequencies(), want.Rotator(recipe, 0).Frequencies()
			for i := range f {
				if i < 6 && f[i] != g[i] || i >= 6 && f[i] != 0 {
					t.Errorf("%v: pair %d turns by %g", r.Scaling, i, f[i])
				}
			}
		}
	}
}

func TestWithAttentionFactor(t *testing.T) {
	for _, c := range []struct {
		scaling string
		given   float64
		want    float64
	}{
		{ScalingNone, 1, 0}, {ScalingLinear, 1, 0}, {ScalingLinear, 1.5, 1.5}, // no formula: 1 anyway
		{ScalingYaRN, 1, 1}, {ScalingLongRoPE, 1, 1}, {ScalingYaRN, 0, 0}, // 1 is not what the formula gives
	} {
		s := Scaling{Type: c.scaling, Factor: 4, OriginalLength: 32}.WithAttentionFactor(c.given)
		if s.AttentionFactor != c.want {
			t.Errorf("%s with %g: %g, want %g", c.scaling, c.given, s.AttentionFactor, c.want)
		}
		if r := (Rotary{Base: 10000, Dim: 8, Scaling: s}); c.given != 0 && r.Amplitude() != c.given {
			t.Errorf("%s with %g: amplitude %g", c.scaling, c.given, r.Amplitude())
		}
	}
}
