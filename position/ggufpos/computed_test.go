package ggufpos

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/modelpatch/modelpatch/gguf"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/ggufpos/arch"
	"github.com/modelpatch/modelpatch/position/ggufpos/operator"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// TestAsEnginesCompute: what llama.cpp's code of single architectures makes of keys and tensors.
func TestAsEnginesCompute(t *testing.T) {
	yarn := func(log float32) keys {
		return keys{arch.KeyType: gguf.String("yarn"), arch.KeyFactor: gguf.Float32(4), arch.KeyOriginal: gguf.Uint32(128), arch.KeyLogMul: gguf.Float32(log)}
	}
	get := func(m float64) float64 { return 1 + 0.1*m*math.Log(4) }
	for _, c := range []struct {
		name         string
		architecture string
		more         keys
		vectors      map[string][]float32
		holds        func([]position.Site) bool
	}{
		{"llama_context::llama_context divides by get(m)", "deepseek32", yarn(0.05), nil, amplitude(0, get(1)/get(0.5))},
		{"and for all that load as deepseek2", "mistral4", yarn(0.05), nil, amplitude(0, get(1)/get(0.5))},
		{"but not deepseek2 itself", "deepseek2", yarn(0.05), nil, amplitude(0, 1)},
		{"mistral3 stores m as it is", "mistral3", yarn(0.5), nil, amplitude(0, get(1)/get(0.5))},
		{"dsv4_rope_attn_factor cancels YaRN's amplitude", "deepseek4", yarn(0), nil, amplitude(1, 1)},
		{"deepseek2.cpp, is_ocr: GGML_ROPE_TYPE_NEOX", "deepseek2-ocr", nil, nil, func(s []position.Site) bool { return rotation(s[0]).Layout == schemes.LayoutHalf }},
		{"maple.cpp turns where is_swa alone", "maple", nil, nil, func(s []position.Site) bool { return len(s) == 1 && len(s[0].Encoding().Layers) == 1 }},
		{"step35.cpp: full layers take the first of as many divisors as sliding ones have pairs", "step35", nil,
			map[string][]float32{operator.FreqsTensor: {1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 4, 4, 4, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}},
			func(s []position.Site) bool {
				f, plain := rotation(s[0]).InverseFrequencies(), rotation(s[0]).PlainFrequencies()
				return len(f) == 16 && math.Abs(plain[15]/f[15]-4) < 1e-6
			}},
		{"ggml_mrope_cache_init: pair 31 has the fourth position", "qwen3vl", keys{arch.KeySections: gguf.Int32s(12, 10, 10, 0)}, nil, func(s []position.Site) bool {
			still := rotation(s[0]).Still()
			cos, sin := make([]float64, 32), make([]float64, 32)
			turns := s[0].(position.Rotator).Rotation(7, 256, cos, sin) == nil
			for i := range still {
				turns = turns && still[i] == (sin[i] == 0)
			}
			return turns && still[31] && !still[30]
		}},
		{"ggml_rope_cache_init divides by both", "phi3", keys{arch.KeyType: gguf.String("linear"), arch.KeyFactor: gguf.Float32(2), arch.KeyDims: gguf.Uint32(8)},
			map[string][]float32{operator.LongTensor: {2, 3, 4, 5}, operator.ShortTensor: {1, 1, 1, 2}}, func(s []position.Site) bool {
				r := rotation(s[0])
				return math.Abs(r.Scaling.LongFactor[3]-10) < 1e-6 && math.Abs(r.Scaling.ShortFactor[0]-2) < 1e-6 && r.Scaling.Factor == 0
			}},
	} {
		entry := arch.Of(c.architecture)
		k := fixture(entry, 64)
		put(k, entry, c.more)
		if sites := make1(t, k, c.vectors).sites; !c.holds(sites) {
			t.Errorf("%s: %s: %+v", c.architecture, c.name, sites[len(sites)-1].Encoding().Scheme)
		}
	}
}

// amplitude holds the amplitude that a site computes with.
func amplitude(site int, want float64) func([]position.Site) bool {
	return func(s []position.Site) bool { return math.Abs(rotation(s[site]).Amplitude()-want) < 1e-6 }
}

// TestFactorTensorsAsWideAsEnginesWant: step35 takes as many divisors as its widest layer has pairs.
func TestFactorTensorsAsWideAsEnginesWant(t *testing.T) {
	entry := arch.Of("step35")
	raw := written(t, fixture(entry, 64), nil)
	m, _ := after(t, raw, func(m position.Model) (position.Outcome, error) {
		return position.Rescale(m, position.RescaleOptions{Scaling: "llama3", Factor: 8, OriginalLength: 64})
	})
	if d := m.File.Tensor(operator.FreqsTensor); d == nil || d.Width() != 32 {
		t.Fatalf("%+v, want 32 numbers", d)
	}
	if s := rotation(m.sites[0]).Scaling; s.Type != "llama3" {
		t.Errorf("%v", s)
	}
}

// TestRefusedForWhatIsTrue: reasons that files have, and not those of others.
func TestRefusedForWhatIsTrue(t *testing.T) {
	window := func(m position.Model) (position.Outcome, error) {
		return position.AddWindow(m, position.WindowOptions{Positions: 8})
	}
	extend := func(m position.Model) (position.Outcome, error) {
		return position.Extend(m, position.ExtendOptions{Length: 512})
	}
	linear := keys{arch.KeyType: gguf.String("linear"), arch.KeyFactor: gguf.Float32(2)}
	for _, c := range []struct {
		name, architecture string
		more               keys
		do                 func(position.Model) (position.Outcome, error)
		want               string // of the reason; "": taken
	}{
		{"exaone4.cpp: a window with 64 layers", "exaone4", nil, window, "has a window with 64 layers alone, and this model has 2"},
		{"olmo2.cpp: without a scaling all layers turn alike", "olmo2", nil, window, ""},
		{"olmo2.cpp: with one they do not", "olmo2", linear, window, "turns layers with a window by another formula: encoding e0"},
		{"llama_model::load_hparams: 0 is 1", "llama", keys{arch.KeyFactor: gguf.Float32(0)}, extend, "takes for the factor 1"},
		{"a number of elements that is no int32", "llama", keys{arch.KeyDims: gguf.Uint32(1 << 31)}, extend, "rope.dimension_count is 2147483648, with heads of 64"},
		{"a number of elements beyond the heads", "llama", keys{arch.KeyDims: gguf.Uint32(1 << 30)}, extend, "rope.dimension_count is 1073741824, with heads of 64"},
	} {
		entry := arch.Of(c.architecture)
		k := fixture(entry, 64)
		put(k, entry, c.more)
		raw := written(t, k, nil)
		if w := entry.Window; w != nil { // attentions are found by their tensors
			more := keys{arch.KeyWindow: gguf.Uint32(32), arch.KeyPattern: gguf.Uint32(2)}
			maps.Copy(more, c.more)
			raw = tinyFile(t, c.architecture, 2, more, nil)
		}
		_, err := c.do(opened(t, raw))
		switch {
		case c.want == "" && err != nil, c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// TestDivisorsOfNoLayers: without a number of layers no width of the divisors is known, and none are read.
func TestDivisorsOfNoLayers(t *testing.T) {
	entry := arch.Of("step35")
	k := fixture(entry, 64)
	delete(k, "step35."+arch.KeyBlocks)
	m := make1(t, k, map[string][]float32{operator.FreqsTensor: {}})
	if r := rotation(m.sites[0]); !r.Scaling.IsNone() {
		t.Errorf("%v", r)
	}
}

// TestDimensionsOfSlidingLayers: a number of turned elements that heads do not have is an error, of layers with a window as well.
func TestDimensionsOfSlidingLayers(t *testing.T) {
	entry := arch.Of("gemma2")
	for _, n := range []uint32{0, 63, 66, 1 << 31} {
		k := fixture(entry, 64)
		put(k, entry, keys{arch.KeyDimsSWA: gguf.Uint32(n)})
		found := make1(t, k, nil).Findings()
		if !slices.ContainsFunc(found, func(f report.Finding) bool {
			return f.Rule == "gguf-dimension-count" && strings.Contains(f.Message, "rope.dimension_count_swa is")
		}) {
			t.Errorf("%d: %+v", n, found)
		}
	}
}
