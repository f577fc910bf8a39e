package ggufpos

import (
	"slices"

	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/schemes"
)

// Foreseen is the model as the edits so far make it, and what its encodings become by
// them: layers that see everything and layers with a window read keys of the rotation each in
// its own way (llama_model::get_rope_freq_base and get_rope_freq_scale).
func (m *model) Foreseen() (position.Model, []position.Becoming, error) {
	if !m.Edit.Changed() {
		return m, nil, nil
	}
	if err := m.CheckEditable(); err != nil {
		return nil, nil, err
	}
	f, err := m.Edit.View()
	if err != nil {
		return nil, nil, err
	}
	after, err := m.openLike(f)
	if err != nil {
		return nil, nil, err
	}
	return after, becoming(m.sites, after.Sites()), nil
}

// becoming finds what each encoding becomes, rotations by the layers in which they act and others by their place: nothing for one
// that stays in all of its layers.
func becoming(was, is []position.Site) (out []position.Becoming) {
	for i, s := range was {
		from := s.Encoding()
		stays, first := false, len(out)
		_, turns := from.Scheme.(schemes.Rotary)
		for k, t := range is {
			to := t.Encoding()
			switch {
			case from.Scheme.Name() != to.Scheme.Name() || !meet(from.Layers, to.Layers) || !turns && k != i:
			case from.Scheme.Equal(to.Scheme):
				stays = true
			default:
				out = append(out, position.Becoming{Site: i, Scheme: to.Scheme, Layers: to.Layers})
			}
		}
		if !stays && len(out) == first && len(is) > 0 { // it is gone, and something else is there
			out = append(out, position.Becoming{Site: i, Scheme: is[0].Encoding().Scheme})
		}
		for k := first; k < len(out); k++ {
			if out[k].Split = stays; !stays && len(out) == first+1 { // all of its layers
				out[k].Layers = nil
			}
		}
	}
	return out
}

// meet reports whether two lists of layers have one in common; nil are all layers.
func meet(a, b []int) bool {
	return a == nil || b == nil || slices.ContainsFunc(a, func(layer int) bool { return slices.Contains(b, layer) })
}
