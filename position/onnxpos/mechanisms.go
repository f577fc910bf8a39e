package onnxpos

import (
	"github.com/modelpatch/modelpatch/position/onnxpos/site"
	"github.com/modelpatch/modelpatch/report"
)

// mechanism is a way to encode positions, found in what the walk over the graph has
// collected.
type mechanism struct {
	Name string
	Doc  string // what it is, in one sentence
	// Find gives the sites of the mechanism. It may ask the model for those that were
	// found before.
	Find func(m *Model, d *detector) []site.Site
}

// mechanisms are asked in this order. Tables, rotations and biases stand on numbers that meet the data, and come first; the next two
// are looked for where nothing before explains the same nodes; a convolution only where next to nothing was found. The last two
// say what is there where nothing was. Where all of them find nothing, proof.go says whether there is nothing.
var mechanisms = []mechanism{
	{"table", "rows that are added to the state, learned or by a formula, in the file or computed", findTables},
	{"rotary", "pairs of elements of queries and keys are turned by angles of their position", func(_ *Model, d *detector) []site.Site { return d.rotary.Find() }},
	{"bias", "numbers by distance are added to attention scores: ALiBi, buckets, tables", func(m *Model, d *detector) []site.Site { return m.windowPatches(d, d.relative.Biases()) }},
	{"relative sinusoid", "sines and cosines of distances are multiplied by weights", func(m *Model, d *detector) []site.Site {
		if m.hasScheme(report.SchemeRope) {
			return nil
		}
		return some(d.relative.Sinusoid())
	}},
	{"vectors by distance", "queries or keys are multiplied with vectors of distances: with all, of which each pair gets one product, or with one for each pair", func(m *Model, d *detector) []site.Site {
		if !m.hasScheme(report.SchemeRelativeSinusoid) && !m.hasScheme(report.SchemeRelativeTable) {
			if s := d.scored.Find(); s != nil {
				return []site.Site{s}
			}
		}
		return some(d.relative.Vectors())
	}},
	{"convolution", "a grouped convolution over the sequence is added to its input", positionalConvolution},
	{"read-only", "numbers that vary along positions meet the data in a place that nothing before explains", findReadOnly},
	{"unread", "a constant that is too large to be looked at meets the data", unread},
}

// some is the list of a site that may be nil.
func some(s site.Site) []site.Site {
	if s == nil {
		return nil
	}
	return []site.Site{s}
}
