package attention

import (
	"fmt"
	"slices"

	"github.com/modelpatch/modelpatch/gguf"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/ggufpos/arch"
	"github.com/modelpatch/modelpatch/position/ggufpos/hparams"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// storeWindow writes the keys by which every layer attends through a window. The error is a *position.Refusal where
// the engine reads none for the architecture, or has layers with a window do something else beside.
func storeWindow(m *hparams.Model, layers int, w schemes.SlidingWindow) error {
	rule := m.Arch.Window
	refused := func(why string, args ...any) error {
		return &position.Refusal{Why: fmt.Sprintf("llama.cpp's %s ", report.Printable(m.Family())) + fmt.Sprintf(why, args...), Instead: "export the model to ONNX and add the window there"}
	}
	switch {
	case rule == nil:
		return refused("does not read attention.sliding_window")
	case w.Sinks > 0:
		return &position.Refusal{Why: "llama.cpp hides the first positions as all others outside of a window: no key keeps them", Instead: "leave out --sinks, or export the model to ONNX"}
	case rule.Chunk > 0 || m.Family() == "smallthinker": // llama.cpp, models/smallthinker.cpp: n_swa = 4096
		return refused("has a window of its own, whatever the key says")
	case rule.Blocks != 0 && rule.Blocks != layers:
		return refused("has a window with %d layers alone, and this model has %d", rule.Blocks, layers)
	case rule.Rope != "":
		return refused("turns queries and keys in layers with a window alone: those that see everything would come to turn")
	case rule.Base == "own" || rule.Scale == "one":
		return refused("turns layers with a window by another formula: those that see everything would come to turn so")
	}
	sliding, window := m.Slides(layers)
	if window > 0 && window < w.Positions {
		return refused("has one window for all layers, and those that have one see %d positions: choose a --len of at most that", window)
	}
	m.Edit.Set(m.Key(arch.KeyWindow), gguf.Uint32(uint32(w.Positions)), fmt.Sprintf("attention within %s", w))
	switch {
	case rule.Every == 0 && rule.Pattern == "", sliding != nil && !slices.Contains(sliding, false):
		return nil // all layers that attend
	case rule.Pattern == "array":
		m.Edit.Set(m.Key(arch.KeyPattern), gguf.Bools(slices.Repeat([]bool{true}, layers)...), "all layers attend through the window")
	default: // llama-hparams.cpp, set_swa_pattern: every layer with a pattern of 0
		m.Edit.Set(m.Key(arch.KeyPattern), gguf.Uint32(0), "all layers attend through the window")
	}
	return nil
}
