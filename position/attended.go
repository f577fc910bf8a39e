package position

import (
	"slices"

	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// Windower is implemented by sites that only act between tokens at most so
// many positions apart: more length does not change what they compute.
type Windower interface {
	Window() schemes.SlidingWindow
}

// attended adds to a rotation of a graph the attentions that it turns, as layers in the graph's order, and
// how far they look. It stays as it is where an attention is not understood, or the search is given up.
func attended(m Model, i int, e Encoding) (out Encoding) {
	was, err := e, error(nil)
	defer func() {
		if err != nil {
			out = was
		}
	}()
	defer Caught(&err)
	if _, ok := e.Scheme.(schemes.Rotary); !ok || e.Form == report.FormKeys || e.IsGrid() {
		return e
	}
	var near, hot, layers []int
	var turned, still []*Attention
	within := map[schemes.SlidingWindow]bool{}
	for _, a := range m.Attentions() {
		switch rotates := slices.ContainsFunc(a.Encodings, func(k int) bool { _, ok := m.Sites()[k].Encoding().Scheme.(schemes.Rotary); return ok }); {
		case a.Unsupported != "" && (a.Window == nil || len(a.Encodings) == 0 && a.Unsupported != a.Closed): // but for how weights are made it is followed
			return e
		case slices.Contains(a.Encodings, i):
			turned, layers = append(turned, a), append(layers, a.Layer)
			if w := a.Window(); w != (schemes.SlidingWindow{}) {
				e.Attending.Window, near, within[w] = w, append(near, a.Layer), true
			}
			e.Attending.Sinks = e.Attending.Sinks || a.Sinks
		case !rotates && !a.Crosses:
			still = append(still, a)
		}
		if a.Temperature == nil || a.Crosses {
			continue
		}
		if t := a.Temperature(); !t.IsNone() {
			e.Attending.Temperature, hot = t, append(hot, a.Layer)
		}
	}
	if len(hot) < len(turned)+len(still) {
		e.Attending.HotLayers = hot
	}
	switch {
	case len(within) > 1:
		e.Attending.Window = schemes.SlidingWindow{} // of several none is that of the encoding
	case len(near) < len(turned):
		e.Attending.WindowLayers = near
	}
	if n := len(m.Attentions()); turned != nil && len(turned) < n {
		e.Layers = layers
		for _, a := range still {
			if slices.ContainsFunc(turned, func(t *Attention) bool { return slices.Equal(t.Inputs, a.Inputs) }) { // else of another tower
				e.Attending.Unturned = append(e.Attending.Unturned, a.Layer)
			}
		}
	}
	return e
}
