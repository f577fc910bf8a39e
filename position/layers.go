package position

import (
	"fmt"
	"slices"

	"github.com/modelpatch/modelpatch/internal/ranges"
)

// Words of RescaleOptions.Layers.
const (
	LayersGlobal = "global" // attentions that see everything
	LayersLocal  = "local"  // attentions with a sliding window
)

// maxLayer bounds the number of a layer; models have a few hundred.
const maxLayer = 1 << 16

// layerSet reads a list of layers, "0-11,14": nil where text is no such list.
func layerSet(text string) (map[int]bool, error) {
	out, ok := ranges.Parse(text, maxLayer)
	if !ok {
		return nil, &UsageError{What: fmt.Sprintf("--layers %q: it is %s, %s, or numbers and ranges such as 0-11,14 (layer 0 is the first)", text, LayersGlobal, LayersLocal)}
	}
	return out, nil
}

// ofLayers are the rotations that act in the given layers, and the layers of those that
// act in others as well and can be split. Layers are those of a GGUF file's keys, and the
// attentions of a graph in its order.
func ofLayers(m Model, sites []int, wanted map[int]bool) (chosen []int, parts map[int][]int, err error) {
	parts = map[int][]int{}
	acts := make(map[int][]int, len(sites)) // the layers of each rotation
	last := -1
	for _, a := range m.Attentions() {
		last = max(last, a.Layer)
		for _, i := range a.Encodings {
			if slices.Contains(sites, i) {
				acts[i] = append(acts[i], a.Layer)
			}
		}
	}
	for layer := range wanted {
		if layer > last {
			return nil, nil, &UsageError{What: fmt.Sprintf("--layers: there is no layer %d, the last one is %d", layer, last)}
		}
	}
	for _, i := range sites {
		layers := acts[i]
		slices.Sort(layers)
		layers = slices.Compact(layers)
		inside := slices.DeleteFunc(slices.Clone(layers), func(l int) bool { return !wanted[l] })
		switch {
		case len(inside) == 0:
		case len(inside) == len(layers):
			chosen = append(chosen, i)
		default:
			if _, ok := m.Sites()[i].(Splitter); !ok {
				return nil, nil, oneRotation(i, layers)
			}
			chosen, parts[i] = append(chosen, i), inside
		}
	}
	if chosen == nil {
		return nil, nil, &Refusal{Why: "none of these layers has a rotary encoding", Instead: "inspect says which layers have one"}
	}
	return chosen, parts, nil
}

// oneRotation refuses to change some of the layers that turn by the same numbers.
func oneRotation(i int, layers []int) error {
	return &Refusal{Why: fmt.Sprintf("layers %s turn by the same keys, and the engine has none for one layer: encoding %s cannot change in some of them alone", ranges.Text(layers), ID(i)),
		Instead: "name all of these layers, or leave --layers out"}
}

// Splitter is implemented by sites of which some layers can be given numbers of their own.
type Splitter interface {
	// Split gives the other layers copies of the numbers that are there, as edits:
	// what is held afterwards acts in the given layers alone. It is a *Refusal where
	// they cannot be told apart.
	Split(layers []int) error
}
