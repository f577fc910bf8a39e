// Package deviation tells what engines compute otherwise than a model's published configuration
// says, and otherwise than each other: List is the table, Notes what of it applies to an encoding.
package deviation

import (
	"fmt"
	"math"
	"slices"

	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// ONNXRuntime is ONNX Runtime with the model builder of its GenAI, as Deviation.Engine has it.
const ONNXRuntime = "onnxruntime"

// Engines are the engines of which inspect tells deviations.
var Engines = []string{schemes.EngineLlamaCpp, schemes.EngineTransformers, ONNXRuntime}

// Deviation is something that an engine computes otherwise than a published configuration
// (config.json) or another engine. Sources: the functions named, read and, where facts/ENGINES.md
// and facts/NUMERICS.md have numbers, run.
type Deviation struct {
	ID       string
	Engine   string // one of Engines
	Function string // of the engine
	Title    string // where it applies, as the documentation has it
	Does     string // what the engine does
	// detail returns what it comes to for an encoding of a file, after Does; ok is false where it does
	// not apply. nil: the architecture tells.
	detail  func(schemes.Scheme, report.Inspect) (says string, ok bool)
	planned bool // plans tell it as well
}

// IDs of deviations that an architecture of llama.cpp tells.
const (
	Betas       = "yarn-betas"
	Scores      = "scores-scaled"
	SlidingBase = "sliding-base"
)

// List is all that are told, in the order of the documentation.
var List = []Deviation{
	{ID: "yarn-rounded", Engine: schemes.EngineLlamaCpp, Function: "ggml_rope_yarn_corr_dims", Title: "YaRN",
		Does:   "rounds the bounds of YaRN's ramp to whole pairs, whatever a configuration says of truncate",
		detail: ramped, planned: true},
	{ID: Betas, Engine: schemes.EngineLlamaCpp, Function: "llama_context::llama_context", Title: "YaRN, but in grok and mistral3",
		Does: "takes 32 and 1 for beta_fast and beta_slow, whatever a configuration says"},
	{ID: Scores, Engine: schemes.EngineLlamaCpp, Function: "llama_model_deepseek2::graph", Title: "scaling in DeepSeek 2, 3 and those of their graph",
		Does: "multiplies the scale of the scores by the square of YaRN's amplitude (DeepSeek's mscale_all_dim), for linear scaling too", planned: true},
	{ID: SlidingBase, Engine: schemes.EngineLlamaCpp, Function: "llama_model::get_rope_freq_base", Title: "layers with a sliding window and a base of their own (Gemma 3, ModernBERT, …)",
		Does: "turns layers with a sliding window by rope.freq_base_swa, 10000 where that is missing, and neither by rope.freq_base nor by a scaling", planned: true},
	{ID: "longrope-at-load", Engine: schemes.EngineLlamaCpp, Function: "llama_model::get_rope_factors", Title: "LongRoPE",
		Does: "chooses LongRoPE's list by the context that it was started with", detail: longRoPE},
	{ID: "bucket-distance", Engine: schemes.EngineLlamaCpp, Function: "llama_relative_position_bucket", Title: "T5's buckets",
		Does: "puts distances from 128 on into the last bucket, whatever relative_attention_max_distance says", detail: isScheme(report.SchemeT5Bias)},
	{ID: "slot-cap", Engine: schemes.EngineLlamaCpp, Function: "server_context_impl::load_model", Title: "every GGUF model",
		Does: "gives a slot of its server at most context_length tokens, whatever -c says; the library only warns", detail: slotCap},
	{ID: "yarn-truncate", Engine: schemes.EngineTransformers, Function: "_compute_yarn_parameters", Title: "YaRN",
		Does:   "rounds the bounds of YaRN's ramp to whole pairs unless truncate is false",
		detail: ramped},
	{ID: "longrope-by-sequence", Engine: schemes.EngineTransformers, Function: "longrope_frequency_update", Title: "LongRoPE",
		Does: "chooses LongRoPE's list by the greatest position of each sequence", detail: longRoPE},
	{ID: "reversed-turn", Engine: schemes.EngineTransformers, Function: "rotate_half of modeling_nanochat.py", Title: "NanoChat",
		Does: "turns by −θ where ggml's operator and other models turn by θ", detail: reversed},
	{ID: "yarn-unrounded", Engine: ONNXRuntime, Function: "make_inv_freq_rescaled_with_ntk of its GenAI model builder", Title: "YaRN",
		Does:   "never rounds the bounds of YaRN's ramp",
		detail: ramped},
	{ID: "longrope-by-run", Engine: ONNXRuntime, Function: "make_rotary_embedding_multi_cache of its GenAI model builder", Title: "LongRoPE",
		Does: "chooses between two caches of LongRoPE by the total length of each run", detail: longRoPE},
}

// Notes are the sentences on what an engine computes otherwise of an encoding with a scheme in the
// model d. by are the IDs that its architecture tells.
func Notes(engine string, scheme schemes.Scheme, d report.Inspect, by []string) (out []string) {
	for _, v := range List {
		if says := v.says(scheme, d, by); v.Engine == engine && says != "" {
			out = append(out, says)
		}
	}
	return out
}

// Planned are the Notes on llama.cpp that a plan for a GGUF file needs: it writes no bounds of YaRN that are
// not read, and says itself what caps the context and what chooses between lists.
func Planned(scheme schemes.Scheme, d report.Inspect, by []string) (out []string) {
	for _, v := range List {
		if says := v.says(scheme, d, by); v.planned && d.Format == formatGGUF && says != "" {
			out = append(out, says)
		}
	}
	return out
}

// says is the deviation as a sentence about one encoding, "" where it does not apply.
func (v Deviation) says(scheme schemes.Scheme, d report.Inspect, by []string) string {
	more, ok := "", slices.Contains(by, v.ID)
	if v.detail != nil {
		more, ok = v.detail(scheme, d)
	}
	if !ok {
		return ""
	}
	if more != "" {
		more = ": " + more
	}
	return fmt.Sprintf("%s %s (%s)%s", v.Engine, v.Does, v.Function, more)
}

// formatGGUF is report.Inspect's word for GGUF.
const formatGGUF = "gguf"

// ramped says by how much the frequencies of YaRN with rounded bounds are others than those without.
func ramped(s schemes.Scheme, d report.Inspect) (string, bool) {
	r, ok := s.(schemes.Rotary)
	if !ok || !r.Scaling.Kind().Reads(schemes.ParameterNoTruncate.Name) || r.Scaling.OriginalLength <= 0 {
		return "", false
	}
	r.Scaling.Frequencies = nil
	bounds, kept := "rounded", r.InverseFrequencies()
	if r.Scaling.NoTruncate {
		bounds = "not rounded"
	}
	r.Scaling.NoTruncate = !r.Scaling.NoTruncate
	pairs, most := 0, 0.0
	for i, f := range r.InverseFrequencies() {
		const same = 1e-6
		if off := math.Abs(f/kept[i] - 1); off > same {
			pairs, most = pairs+1, max(most, off)
		}
	}
	if pairs == 0 {
		return "for this ramp that is no difference", true
	}
	return fmt.Sprintf("here they are %s, and the other way %d of %d frequencies differ, by up to %.2g %%", bounds, pairs, len(kept), 100*most), true
}

// longRoPE applies to two lists that differ.
func longRoPE(s schemes.Scheme, _ report.Inspect) (string, bool) {
	r, ok := s.(schemes.Rotary)
	if !ok || !r.Scaling.Kind().Listed || !r.Scaling.ByLength() {
		return "", false
	}
	return fmt.Sprintf("the long one above %d", r.Scaling.OriginalLength), true
}

// isScheme applies to encodings of one scheme.
func isScheme(name string) func(schemes.Scheme, report.Inspect) (string, bool) {
	return func(s schemes.Scheme, d report.Inspect) (string, bool) {
		return "", s != nil && s.Name() == name && d.Format == formatGGUF
	}
}

// slotCap applies to GGUF models that state a length.
func slotCap(_ schemes.Scheme, d report.Inspect) (string, bool) {
	if d.Format != formatGGUF || d.Kind != report.KindModel || d.Length.Stated == nil {
		return "", false
	}
	return fmt.Sprintf("%d", *d.Length.Stated), true
}

// reversed applies to NanoChat, whose turn no key or scheme tells.
func reversed(s schemes.Scheme, d report.Inspect) (string, bool) {
	_, rotary := s.(schemes.Rotary)
	return "", rotary && d.Architecture != nil && *d.Architecture == "nanochat"
}
