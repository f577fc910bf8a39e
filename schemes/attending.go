package schemes

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Attending is what attentions make of positions beside an encoding: how far they look, by what
// queries grow, and which layers turn nothing. The zero value is nothing of it.
type Attending struct {
	Window       SlidingWindow
	WindowLayers []int // layers with the window; nil: all of the encoding's
	Temperature  Temperature
	HotLayers    []int // layers with the temperature; nil: all
	Unturned     []int // layers with attention and without rotation; nil: none
	Sinks        bool  // each head has a logit that no key belongs to
}

// SlidingWindow is how far queries look back: to Positions keys, their own among them, and to the first
// Sinks of all (Xiao et al. 2023, §3.2: attention sinks); or to the begin of their Chunk of so many positions
// (Llama 4). The zero value is no window.
type SlidingWindow struct{ Positions, Sinks, Chunk int }

// Sees reports whether a query sees a key; without a causal mask windows end on both sides.
func (w SlidingWindow) Sees(query, key int, causal bool) bool {
	if w.Chunk > 0 && key/w.Chunk != query/w.Chunk {
		return false
	}
	return w.Positions == 0 || key < w.Sinks || query-key < w.Positions && (causal || key-query < w.Positions)
}

// Within reports whether what a window shows is part of what another one does.
func (w SlidingWindow) Within(other SlidingWindow) bool {
	return w.Positions > 0 && w.Positions <= other.Positions && w.Sinks <= other.Sinks && (other.Chunk == 0 || w.Chunk == other.Chunk)
}

// String is "a window of 4096 positions and the first 4".
func (w SlidingWindow) String() string {
	out := fmt.Sprintf("a window of %d positions", w.Positions)
	if w.Sinks > 0 {
		out += fmt.Sprintf(" and the first %d", w.Sinks)
	}
	return out
}

// Temperature multiplies queries by 1 + Scale·ln(⌊(position + Offset)/Length⌋ + 1) (Llama 4,
// Ministral 3: attention temperature tuning); with Logarithm by ln(position + 1)/ln(Length) from Length on
// (Qwen's log-n scaling).
type Temperature struct {
	Scale, Length, Offset float64
	Logarithm             bool
}

// IsNone reports whether queries stay as they are.
func (t Temperature) IsNone() bool { return t.Scale == 0 || !(t.Length > 0) }

// At is the factor of a query's position.
func (t Temperature) At(position int) float64 {
	if t.IsNone() {
		return 1
	}
	if t.Logarithm {
		return math.Max(1, math.Log(float64(position)+1)/math.Log(t.Length))
	}
	return 1 + t.Scale*math.Log(math.Floor((float64(position)+t.Offset)/t.Length)+1)
}

// Longer says what becomes of it when the context is extended to a length. layers are the encoding's; nil: all.
func (a Attending) Longer(length int, layers []int) (out []string) {
	if a.WindowLayers != nil {
		layers = a.WindowLayers
	}
	if t := a.Temperature; !t.IsNone() {
		says := fmt.Sprintf("queries%s are multiplied by a temperature that counts from position %s on", inLayers(a.HotLayers), Text(t.Length-t.Offset))
		if at := t.At(length - 1); at != 1 {
			says += fmt.Sprintf(": %s at position %d", Text(at), length-1)
		}
		out = append(out, says+"; the new length does not move it")
	}
	switch {
	case a.Window.Chunk > 0 && length > a.Window.Chunk:
		out = append(out, fmt.Sprintf("layers%s attend within chunks of %d positions at every length: what stands before its chunk a token sees in the other layers alone", these(layers), a.Window.Chunk))
	case a.Window.Positions > 0 && length > a.Window.Positions:
		out = append(out, fmt.Sprintf("layers%s see through %s at every length", these(layers), a.Window))
	}
	if a.Unturned != nil {
		out = append(out, fmt.Sprintf("layers%s turn nothing and see the whole length: no scaling of RoPE acts there", these(a.Unturned)))
	}
	return out
}

func inLayers(layers []int) string {
	if layers == nil {
		return ""
	}
	return " of layers" + these(layers)
}

// these are layers as ranges, with a space before; all is nothing.
func these(layers []int) string {
	var parts []string
	for i := 0; i < len(layers); {
		j := i
		for j+1 < len(layers) && layers[j+1] == layers[j]+1 {
			j++
		}
		part := strconv.Itoa(layers[i])
		if j > i {
			part += "-" + strconv.Itoa(layers[j])
		}
		parts, i = append(parts, part), j+1
	}
	if parts == nil {
		return ""
	}
	return " " + strings.Join(parts, ", ")
}
