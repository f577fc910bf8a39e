package onnxpos

import (
	"slices"

	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/onnxpos/site"
	"github.com/modelpatch/modelpatch/position/onnxpos/trace"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// besideConvolution reports whether an encoding is one that models of speech have together with a convolution, buckets of distance (WavLM, SEW-D), or
// is of other places than those that a convolution takes: of the text that a decoder writes, say.
func (m *Model) besideConvolution(e site.Site, s *eval.Scope, name string) bool {
	switch scheme := e.Encoding().Scheme.(type) {
	case schemes.Buckets:
		return true
	case schemes.Other:
		if scheme.Kind == report.SchemeDisentangled {
			return true
		}
	}
	of, state, axis := e.State()
	if of == nil || m.graph.PositionsIn(e, m.graph.Eval) == 0 {
		return false
	}
	of = m.graph.Eval.Scopes()[of.Index()]
	along := m.inputsAlong(of, state, len(of.Value(state).Shape)-axis)
	for axis := 2; axis < len(s.Value(name).Shape); axis++ {
		if slices.ContainsFunc(m.inputsAlong(s, name, axis), func(input string) bool { return slices.Contains(along, input) }) {
			return false
		}
	}
	return len(along) > 0
}

// positionalConvolution finds a grouped convolution over the sequence whose
// result is added to what went in (wav2vec 2.0, CPVT).
func positionalConvolution(m *Model, d *detector) []site.Site {
	if !d.attends() {
		return nil
	}
	for _, s := range d.e.Scopes() {
		for _, n := range s.Graph.Nodes {
			if !n.IsConvolution() || n.Int("group", 1) < 2 {
				continue
			}
			if add := trace.Residual(s, n); add != nil && !slices.ContainsFunc(m.sites, func(e site.Site) bool { return !m.besideConvolution(e, s, n.Input(0)) }) {
				e := position.Encoding{Scheme: schemes.Other{Kind: report.SchemeConv}, Beyond: report.BeyondContinues,
					Where:    []report.Where{{Node: n.Title()}},
					Evidence: []report.Evidence{{Kind: "structure", Says: add.Title() + " adds a grouped convolution of the sequence to its input"}}}
				return []site.Site{site.NewOther(e)}
			}
		}
	}
	return nil
}

// attends reports whether anything in the graph sees places by their content: convolutions of a graph in which nothing does
// are all there is, and encode no positions for others.
func (d *detector) attends() bool {
	for _, s := range d.e.Scopes() {
		for _, n := range s.Graph.Nodes {
			if eval.Is(n, eval.Attention) || eval.Is(n, eval.Product) && len(n.Inputs) > 1 && s.Input(n, 0).Unknowable() && s.Value(eval.Operands(n)[1]).Unknowable() {
				return true
			}
		}
	}
	return false
}

// hasScheme reports whether an encoding of a scheme was found.
func (m *Model) hasScheme(kind string) bool {
	return slices.ContainsFunc(m.sites, func(s site.Site) bool { return s.Encoding().Scheme.Name() == kind })
}

// unread is a constant that meets the data and is too large to be looked at, where
// nothing else was found.
func unread(m *Model, d *detector) []site.Site {
	if len(m.sites) > 0 || d.unread == nil {
		return nil
	}
	return []site.Site{m.unknownAt(d.unread.Title(), "constants meet the data here that are too many to be looked at; no other encoding was recognised")}
}

// enlarge probes anew with a larger input and looks for encodings again, and reports whether it did: once where nothing but convolutions
// was found, since groups of frames or tokens may leave a single position; then as long as convolutions leave one, or few patches. It does not
// where data keep the axes of the inputs whole.
func (m *Model) enlarge() bool {
	sides := m.graph.PatchGrid()
	few := m.graph.FreeImage() && len(m.labels().Meetings) > 0 && min(sides[0], sides[1]) < fewPatches
	once := !m.graph.FreeImage() && !m.graph.Enlarged() && !m.labels().Whole
	if m.vanished() == nil && !few && !once || !m.graph.Enlarge() {
		return false
	}
	m.sites, m.unread = nil, nil
	m.detect()
	return true
}

const fewPatches = 4 // along a side: from there on it shows how what is computed for them goes on
