package deviation

import (
	"fmt"

	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// Chosen says what decides between LongRoPE's two lists in a file, and what follows; "" where there are
// not two. llama.cpp: llama_model::get_rope_factors, by the context per sequence; a graph: by
// the greatest position of an input, as transformers' _longrope_frequency_update does, and
// ONNX Runtime GenAI's builder by the total sequence length.
func Chosen(s schemes.Scheme, d report.Inspect) string {
	r, ok := s.(schemes.Rotary)
	if !ok || !r.Scaling.Kind().Listed || !r.Scaling.ByLength() {
		return ""
	}
	original := r.Scaling.OriginalLength
	if d.Format != formatGGUF {
		return fmt.Sprintf("the length at run time chooses: an input that reaches beyond %d positions turns by the long factors, all of its tokens; keys cached before that were turned by the short ones, and the engine has to compute them again", original)
	}
	says := fmt.Sprintf("llama.cpp chooses when it loads the model, by its context (-c, rounded up to 256) and not by the prompt: above %d the long factors, for short prompts too", original)
	if n := d.Length.Stated; n != nil {
		list := schemes.ListShort
		if LoadedContext(*n) > original {
			list = schemes.ListLong
		}
		says += fmt.Sprintf("; by default (the context length, %d) the %s ones", *n, list)
	}
	return says
}

// LoadedContext is the context that llama.cpp makes of a length: rounded up to 256 (llama_context's n_ctx_seq).
func LoadedContext(length int) int {
	const multiple = 256
	return (length + multiple - 1) / multiple * multiple
}
