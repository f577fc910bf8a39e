package attention

import (
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/onnxpos/site"
	"github.com/modelpatch/modelpatch/position/onnxpos/trace"
)

// LayersOf lists for each place that turns queries or keys the attentions that it enters,
// by their number in the graph's order (Attention.Layer).
func LayersOf(m *site.Graph, places []trace.Place) [][]int {
	sites := make([]site.Site, len(places))
	for i, p := range places {
		sites[i] = &turning{at: p}
	}
	out := make([][]int, len(places))
	for _, a := range Find(m, sites, nil) {
		for _, i := range a.Encodings {
			out[i] = append(out[i], a.Layer)
		}
	}
	return out
}

// turning is one place of a rotation, as if it were an encoding of its own.
type turning struct {
	site.Base
	at trace.Place
}

// Store is never asked.
func (*turning) Store(position.Want) error {
	return &position.Refusal{Why: "one place of a rotation holds no numbers"}
}

// ActsIn is the place.
func (t *turning) ActsIn() ([]trace.Place, site.Reach) { return []trace.Place{t.at}, site.Products }
