// Package arch says how llama.cpp treats positions in each architecture: a table
// of them (archs.json, from llama.cpp build 11434), the names and types of the
// keys, and the few architectures whose code departs from their keys.
//
// It knows no file: package hparams reads one by it.
package arch

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Entry is how an engine treats positions in one architecture: one line of
// archs.json.
type Entry struct {
	Name     string   `json:"arch"`
	Scheme   string   `json:"scheme"`   // rope, learned, alibi, t5-bias, none; clip, unimplemented
	Pairing  string   `json:"pairing"`  // norm, neox, mrope, imrope
	Dims     string   `json:"dims"`     // rope.dimension_count: any; head: must be the head size; shape: fixed by tensors
	Freqs    string   `json:"freqs"`    // rope_freqs.weight: read, unused, or "" refused
	LongRoPE string   `json:"longrope"` // rope_factors_*: typed (only with type longrope), always, unused, or "" refused
	Reads    []string `json:"reads"`    // position keys beyond the standard ones that have an effect
	Ignores  []string `json:"ignores"`  // standard keys without effect
	Unused   []string `json:"unused"`   // keys that are read, and not used
	Required []string `json:"required"` // keys without which loading fails, context_length apart
	Sections string   `json:"sections"` // rope.dimension_sections: required, optional
	Window   *Window  `json:"window"`
	Skip     *Skip    `json:"skip"`
	Hybrid   bool     `json:"hybrid"` // recurrent layers beside those with attention
	MLA      bool     `json:"mla"`    // only the trailing part of each head turns
	Order    string   `json:"order"`  // of scheme none: what tells positions apart, where it is not recurrent layers
	// Published is what the configurations of all published models of the architecture, or of
	// one family of it, state (config.json of their repositories).
	Published *Published `json:"published"`
	Note      string     `json:"note"`
}

// Published is what published models have in common that a file may lack.
type Published struct {
	Name   string    `json:"name"`
	Vocab  int       `json:"vocab"` // entries of the vocabulary that the family is known by; 0: all of the architecture
	Bases  []float64 `json:"bases"` // rope_theta, ascending
	Llama3 *Llama3   `json:"llama3"`
}

// Llama3 is the scaling that llama.cpp has as divisors alone (rope_freqs.weight), so that
// nothing else in a file tells that it is missing: rope_scaling of Llama 3.1 and later.
type Llama3 struct {
	Context  int     `json:"context"`     // the length that the scaled models state
	Factor   float64 `json:"factor"`      // of models with an output matrix of their own
	Tied     float64 `json:"tied_factor"` // of those that share the embeddings'
	Original int     `json:"original"`
}

// Window is how sliding-window layers are chosen and rotated.
type Window struct {
	Every    int    `json:"every"`   // one layer in so many is full, unless a key says otherwise
	Full     string `json:"full"`    // "first": layer 0 of each group is the full one, else the last
	Pattern  string `json:"pattern"` // "array": the pattern must be an array
	Required bool   `json:"required"`
	Default  int    `json:"default"` // window without the key; 0: none
	Base     string `json:"base"`    // of sliding layers: own (10000 unless freq_base_swa), inherit (freq_base unless …), shared
	Scale    string `json:"scale"`   // of sliding layers: inherit; one: only attn_factor acts on them; plain: no key does
	Rope     string `json:"rope"`    // "sliding": full layers have no RoPE
	Chunk    int    `json:"chunk"`   // sliding layers see chunks of so many positions, whatever the key says; 0: a window
	Blocks   int    `json:"blocks"`  // the window exists only with this many layers
}

// Unscaled reports whether sliding layers turn without scaling.
func (w *Window) Unscaled() bool { return w != nil && (w.Scale == "one" || w.Scale == "plain") }

// Skip is a hard-coded pattern of layers without RoPE: i % Every == At.
type Skip struct {
	Every int `json:"every"`
	At    int `json:"at"`
}

// archsJSON is the table of architectures, an entry a line.
//
//go:embed archs.json
var archsJSON string

// Of is the entry of an architecture, nil for one that is unknown. Only its
// own line is parsed: parsing the table takes as long as reading a header.
func Of(name string) *Entry {
	_, entry, found := strings.Cut(archsJSON, fmt.Sprintf("\n{\"arch\":%q,", name))
	if !found {
		return nil
	}
	entry, _, _ = strings.Cut(entry, "\n")
	a := &Entry{Name: name}
	if err := json.Unmarshal([]byte("{"+strings.TrimSuffix(entry, ",")), a); err != nil {
		return nil // a test parses every entry
	}
	return a
}

// Names are the architectures that can be assumed of a file whose own is not known: those that
// llama.cpp runs as text models.
func Names() []string {
	var out []string
	for line := range strings.Lines(archsJSON) {
		name, rest, ok := strings.Cut(strings.TrimPrefix(line, "{\"arch\":\""), "\"")
		if ok && strings.HasPrefix(line, "{\"arch\":") && !strings.Contains(rest, `"scheme":"clip"`) && !strings.Contains(rest, `"scheme":"unimplemented"`) {
			out = append(out, name)
		}
	}
	return out
}

// standardKeys are read by every architecture unless its entry says otherwise.
var standardKeys = []string{
	KeyContext, KeyCausal, KeyBase, KeyDims, KeyType, KeyFactor, KeyScaleLinear, KeyOriginal, KeyAttnFactor,
}

// Uses reports whether a key, without the prefix of the architecture, has an effect.
func (a *Entry) Uses(key string) bool {
	if slices.Contains(a.Reads, key) {
		return true
	}
	if !slices.Contains(standardKeys, key) {
		return false
	}
	return (a.Scheme == "rope" || key == KeyContext || key == KeyCausal) && !slices.Contains(a.Ignores, key)
}
