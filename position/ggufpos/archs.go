package ggufpos

import (
	_ "embed"
	"encoding/json"
	"slices"
	"sync"
)

// Arch is how an engine treats positions in one architecture.
type Arch struct {
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
	Note     string   `json:"note"`
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
	Blocks   int    `json:"blocks"`  // the window exists only with this many layers
}

// unscaled reports whether sliding layers turn without scaling.
func (w *Window) unscaled() bool { return w != nil && (w.Scale == "one" || w.Scale == "plain") }

// Skip is a hard-coded pattern of layers without RoPE: i % Every == At.
type Skip struct {
	Every int `json:"every"`
	At    int `json:"at"`
}

//go:embed archs.json
var archsJSON []byte

// archs is the table of architectures by name.
var archs = sync.OnceValue(func() map[string]*Arch {
	var table struct{ Archs []*Arch }
	if err := json.Unmarshal(archsJSON, &table); err != nil {
		return nil // a test parses the table
	}
	out := make(map[string]*Arch, len(table.Archs))
	for _, a := range table.Archs {
		out[a.Name] = a
	}
	return out
})

// standardKeys are read by every architecture unless its entry says otherwise.
var standardKeys = []string{
	keyContext, keyCausal, keyBase, keyDims, keyType, keyFactor, keyScaleLinear, keyOriginal, keyAttnFactor,
}

// reads reports whether a key has an effect.
func (a *Arch) reads(key string) bool {
	if slices.Contains(a.Reads, key) {
		return true
	}
	if !slices.Contains(standardKeys, key) {
		return false
	}
	return (a.Scheme == "rope" || key == keyContext || key == keyCausal) && !slices.Contains(a.Ignores, key)
}
