package picture

import (
	"fmt"
	"math"
	"slices"

	"github.com/modelpatch/modelpatch/picture/figure"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/trial"
	"github.com/modelpatch/modelpatch/schemes"
)

const (
	scorePositions = 64 // positions of a run where the file does not fix them
	scoreHeads     = 4  // heads whose bias is drawn
)

// attentionsOf are the attentions in which an encoding acts, or may act, and that can be
// run.
func attentionsOf(s subject) (out []*position.Attention) {
	switch scheme := s.encoding.Scheme.(type) {
	case schemes.Other:
		if scheme.Kind != schemes.NameRelativeTable {
			return nil // the bias of others is made of the states: that of one run says little
		}
	default:
		return nil
	}
	var unsaid []*position.Attention
	for _, a := range s.model.Attentions() {
		switch {
		case a.Run == nil || a.Crosses:
		case slices.Contains(a.Encodings, s.index):
			out = append(out, a)
		case len(a.Encodings) == 0:
			unsaid = append(unsaid, a)
		}
	}
	if out == nil && alike(s) == 1 { // of the only one, places are not always told
		return unsaid
	}
	return out
}

// scores draws what a window's table adds to the scores of the first attention in
// which it acts, head by head, as the file itself computes it.
func scores(group []subject) (f figure.Figure, ok bool, err error) {
	maps := make([]map[int]*figure.Heat, len(group)) // by head
	for k, s := range group {
		maps[k] = map[int]*figure.Heat{}
		all := attentionsOf(s)
		if len(all) == 0 {
			continue
		}
		a := all[0]
		trial, err := a.Run(min(s.length(scorePositions), scorePositions), figure.Columns(min(a.Heads, mostHeads), scoreHeads))
		if err != nil {
			return f, false, nil // what keeps an attention from being run is told by verify
		}
		if trial.Relative != "" {
			f.Notes = append(f.Notes, label(s, "scores depend on "+trial.Relative+" as well: no bias by itself to be drawn"))
			continue
		}
		for _, h := range trial.Heads {
			if p, ok := biasMap(s, h); ok {
				f.Panels = append(f.Panels, p)
				maps[k][h.Head] = p.Heat
			}
		}
		f.Subtitle = joined(f.Subtitle, label(s, s.encoding.Scheme.String()), "; ")
		f.Notes = append(f.Notes, label(s, fmt.Sprintf("as the file adds it in layer %d, at %d positions; masked places are drawn as NaN", a.Layer, trial.Queries)))
	}
	if len(f.Panels) == 0 {
		return f, false, nil
	}
	if len(group) == 2 {
		less := mapDifference(f.Panels[0], maps[0], maps[1])
		f.Differs = len(less) < max(len(maps[0]), len(maps[1])) // what cannot be compared is not the same
		f.Panels = append(less, f.Panels...)
	}
	f.Title = title(group)
	f.Description = "Heat maps of what is added to the score of each query, from top to bottom, and key, from left to right, one a head."
	return f, true, nil
}

// mapDifference is the second model's maps minus the first's: of heads that both have, at
// as many positions.
func mapDifference(like figure.Panel, first, second map[int]*figure.Heat) (out []figure.Panel) {
	for h := range mostHeads {
		a, b := first[h], second[h]
		if a == nil || b == nil || a.Columns != b.Columns || a.Rows != b.Rows {
			continue
		}
		d := &figure.Heat{Columns: a.Columns, Rows: a.Rows, X: a.X, Y: a.Y}
		for i, v := range a.Values {
			v = b.Values[i] - v
			if math.IsNaN(a.Values[i]) && math.IsNaN(b.Values[i]) {
				v = 0 // masked in both
			}
			d.Values = append(d.Values, v)
		}
		d.Limit = strongest(d.Values)
		out = append(out, figure.Panel{Title: fmt.Sprintf("second minus first, head %d", h), Difference: true, X: like.X, Y: like.Y, Heat: d})
	}
	return out
}

// biasMap is one head's bias as a heat map.
func biasMap(s subject, h trial.Head) (figure.Panel, bool) {
	queries := figure.Columns(len(h.Bias), figure.MaxHeatRows)
	if len(queries) == 0 || len(h.Bias[0]) == 0 {
		return figure.Panel{}, false
	}
	keys := figure.Columns(len(h.Bias[0]), figure.MaxHeatRows)
	heat := &figure.Heat{Columns: len(keys), Rows: len(queries), X: [2]float64{0, float64(len(h.Bias[0]) - 1)}, Y: [2]float64{0, float64(len(h.Bias) - 1)}}
	for _, q := range queries {
		for _, k := range keys {
			v := math.NaN()
			if k < len(h.Bias[q]) && !h.Masked(q, k) {
				v = h.Bias[q][k]
			}
			heat.Values = append(heat.Values, v)
		}
	}
	heat.Limit = strongest(heat.Values)
	return figure.Panel{Title: label(s, fmt.Sprintf("head %d", h.Head)), X: figure.Axis{Label: "key", Whole: true}, Y: figure.Axis{Label: "query", Whole: true}, Heat: heat}, true
}
