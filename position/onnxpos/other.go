package onnxpos

import (
	"fmt"
	"slices"
	"strings"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/onnxpos/site"
	"github.com/modelpatch/modelpatch/position/onnxpos/trace"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// endTables bounds tables of distances that nothing seemed to bound: a trace may
// have lost the clamp that keeps distances inside (DeBERTa of version 1,
// facts/ONNX-PATTERNS §5).
func endTables(m *Model, _ *detector) []site.Site {
	if slices.ContainsFunc(m.sites, func(s site.Site) bool { return s.Encoding().Capacity > 0 }) {
		return nil
	}
	for _, s := range m.sites {
		if s.Encoding().Form != report.FormTable {
			continue
		}
		if end := m.graph.Bound(0); end.Step == 1 && strings.HasPrefix(end.Failure.Node.Op, "Gather") {
			s.SetEnd(end.Runs, report.Evidence{Kind: "structure", Says: fmt.Sprintf("%s fails at %d tokens: %v", end.Failure.Node.Title(), end.Runs+1, end.Failure.Err)})
		}
	}
	return nil
}

// unexplained is the table that ends a graph in which no encoding was found:
// something counts there that was not recognised.
func unexplained(m *Model, _ *detector) []site.Site {
	if len(m.sites) > 0 {
		return nil
	}
	end := m.graph.Bound(0)
	if end.Step != 1 || !strings.HasPrefix(end.Failure.Node.Op, "Gather") {
		return nil
	}
	runs, failure := end.Runs, end.Failure
	return []site.Site{site.NewOther(position.Encoding{Scheme: schemes.Other{Kind: report.SchemeUnknown}, Form: report.FormRuntime, Capacity: runs, Beyond: report.BeyondError,
		Where: []report.Where{{Node: failure.Node.Title()}},
		Evidence: []report.Evidence{{Kind: "structure",
			Says: fmt.Sprintf("no encoding was recognised, and the graph cannot run at %d tokens: %s: %v", runs+1, failure.Node.Title(), failure.Err)}}})}
}

// hasRotary reports whether a rotary encoding was found.
func (m *Model) hasRotary() bool {
	return slices.ContainsFunc(m.sites, func(s site.Site) bool { _, ok := s.Encoding().Scheme.(schemes.Rotary); return ok })
}

// besideConvolution reports whether an encoding is one that models of speech have
// together with a convolution: buckets of distance (WavLM, SEW-D).
func besideConvolution(s site.Site) bool {
	e := s.Encoding()
	switch scheme := e.Scheme.(type) {
	case schemes.Buckets:
		return e.Form != report.FormBaked
	case schemes.Other:
		return scheme.Kind == report.SchemeDisentangled
	}
	return false
}

// positionalConvolution finds a grouped convolution over the sequence whose
// result is added to what went in (wav2vec 2.0, CPVT).
func positionalConvolution(m *Model, d *detector) []site.Site {
	if slices.ContainsFunc(m.sites, func(s site.Site) bool { return !besideConvolution(s) }) || !d.attends() {
		return nil
	}
	for _, s := range d.e.Scopes() {
		for _, n := range s.Graph.Nodes {
			if !n.IsConvolution() || n.Int("group", 1) < 2 {
				continue
			}
			if add := residualOf(s, n); add != nil {
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
			if eval.Is(n, eval.Attention) || eval.Is(n, eval.Product) && len(n.Inputs) > 1 && s.Input(n, 0).Unknowable() && s.Value(n.Input(secondOperand(n))).Unknowable() {
				return true
			}
		}
	}
	return false
}

// secondOperand is the input of a product that its first one is multiplied with.
func secondOperand(n *onnx.Node) int {
	if n.Op == "QLinearMatMul" {
		return 3
	}
	return 1
}

// onTheWay are what a positional convolution's output may go through before
// it is added: activations, norms, further convolutions over the sequence.
const onTheWay = eval.ByElement | eval.Quantized | eval.Selection | eval.Average | eval.Normalization

// maxOnTheWay bounds that way: five convolutions, each with a norm and an
// activation in single operators, all of them quantised and back (data2vec).
const maxOnTheWay = 240

// pooled reports whether a value is another one, averaged over neighbours as a convolution with strides has it (SEW).
func pooled(s *eval.Scope, name, of string) bool {
	averaged := false
	for range 20 {
		n, at := s.Find(name)
		if averaged && laidOut(s, name) == of {
			return true
		}
		if n == nil || at != s || !eval.Is(n, eval.Layout|eval.Elements|eval.Pooling|eval.Padding|eval.Selection) {
			return false
		}
		averaged = averaged || eval.Is(n, eval.Pooling)
		name = n.Input(0)
	}
	return false
}

// maxLayouts bounds how often a value is laid out anew one after another.
const maxLayouts = 16

// laidOut is the value that another one is in an order and shape of its own.
func laidOut(s *eval.Scope, name string) string {
	for range maxLayouts {
		n, at := s.Find(name)
		if n == nil || at != s || !eval.Is(n, eval.Layout) {
			break
		}
		name = n.Input(0)
	}
	return name
}

// attended reports whether a value is what places saw of another one by their scores, alone or added to the state.
func attended(s *eval.Scope, name, of string) bool {
	n, at := s.Find(laidOut(s, name))
	if n != nil && at == s && eval.Is(n, eval.Addition) {
		return slices.ContainsFunc(n.Inputs, func(in string) bool {
			n, at := s.Find(laidOut(s, in))
			return n != nil && at == s && !eval.Is(n, eval.Addition) && attended(s, in, of)
		})
	}
	return n != nil && at == s && eval.Is(n, eval.Product|eval.Attention) && slices.ContainsFunc(n.Inputs, func(in string) bool { return in != "" && laidOut(s, in) == of })
}

// residualOf follows a convolution's output to an Add of what the convolution
// read, or of what attention made of it.
func residualOf(s *eval.Scope, n *onnx.Node) *onnx.Node {
	read := laidOut(s, n.Input(0))
	line := len(s.Value(n.Output(0)).Shape) == 3
	seen := map[string]bool{}
	var walk func(name string, depth int) *onnx.Node
	walk = func(name string, depth int) *onnx.Node {
		if depth > maxOnTheWay || len(seen) > trace.MaxValues || seen[name] {
			return nil
		}
		seen[name] = true
		for _, c := range s.Consumers(name) {
			switch {
			case c.Op == "Add" || eval.Is(c, eval.Addition&(eval.Normalization|eval.Quantized)):
				if slices.ContainsFunc(c.Inputs, func(in string) bool {
					return in != name && (laidOut(s, in) == read || line && pooled(s, in, read) || attended(s, in, read))
				}) {
					return c
				}
				if eval.Is(c, eval.Normalization) {
					continue
				}
			case c.IsConvolution() && c.Int("group", 1) > 1:
			case !eval.Is(c, eval.Layout|onTheWay):
				continue
			}
			if found := walk(c.Output(0), depth+1); found != nil {
				return found
			}
		}
		return nil
	}
	return walk(n.Output(0), 0)
}

// hasScheme reports whether an encoding of a scheme was found.
func (m *Model) hasScheme(kind string) bool {
	return slices.ContainsFunc(m.sites, func(s site.Site) bool {
		o, ok := s.Encoding().Scheme.(schemes.Other)
		return ok && o.Kind == kind
	})
}

// unread is a constant that meets the data and is too large to be looked at, where
// nothing else was found.
func unread(m *Model, d *detector) []site.Site {
	if len(m.sites) > 0 || d.unread == nil {
		return nil
	}
	return []site.Site{m.unknownAt(d.unread.Title(), "constants meet the data here that are too many to be looked at; no other encoding was recognised")}
}

// enlarge probes anew with a larger picture or a longer recording, where convolutions leave
// a single position of the first one, or so few that what is not recognised may be more than they show, and looks for encodings
// again. It reports whether it did.
func (m *Model) enlarge() bool {
	sides := m.graph.PatchGrid()
	few := m.graph.FreeImage() && len(m.labels().Meetings) > 0 && min(sides[0], sides[1]) < fewPatches
	if m.vanished() == nil && !few || !m.graph.Enlarge() {
		return false
	}
	m.unread = nil
	m.detect()
	return true
}

// fewPatches is how many patches along a side show how what is computed for them goes on.
const fewPatches = 4
