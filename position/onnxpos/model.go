// Package onnxpos finds the places where an ONNX graph encodes position and changes them. Model is a file as positions see it; mechanisms.go
// lists the ways to encode positions, each with the search for it. Tables that are added to the state are here; the packages below have the
// others, and the change of length.
//
// New evaluates the graph at a small length (package onnx/eval) and judges values and structure; internal names decide nothing, since
// exporters erase them (facts/ONNX-PATTERNS §1).
package onnxpos

import (
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/axes"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/onnxpos/attention"
	"github.com/modelpatch/modelpatch/position/onnxpos/length"
	"github.com/modelpatch/modelpatch/position/onnxpos/parts"
	"github.com/modelpatch/modelpatch/position/onnxpos/ranks"
	"github.com/modelpatch/modelpatch/position/onnxpos/site"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// Model is an ONNX model as positions see it.
type Model struct {
	graph      *site.Graph // as it was probed, and its edits
	sites      []site.Site
	attentions []*position.Attention
	findings   []report.Finding
	looked     bool            // attentions were looked for
	change     *length.Change  // that of SetLength; nil: none
	shown      []position.Site // sites as Sites gives them
	labelled   *axes.Labels    // the axes of labelledOf's values
	labelledOf *eval.Evaluator
	weighed    map[*onnx.Node]bool // the nodes of weighedIn on whose results learned operators rest
	weighedIn  *eval.Scope
	unread     []axes.Meeting // where data meet numbers that no mechanism has read
	gaveUp     string         // what was given up, since the graph is too large; "": nothing
	assumed    []ranks.Given  // inputs that declare no shape
	larger     *eval.Failure  // what fails with larger pictures, as far as its encodings go; nil: nothing
	times      string         // so many times larger
}

// giveUp leaves nothing of what was found but that it is not known.
func (m *Model) giveUp(why string) {
	m.gaveUp = why
	m.sites, m.shown = []site.Site{site.NewOther(position.Encoding{Scheme: schemes.Other{Kind: report.SchemeUnknown}, Form: report.FormRuntime, Beyond: report.BeyondUnknown,
		Evidence: []report.Evidence{{Kind: "structure", Says: why}}})}, nil
	m.attentions, m.looked = nil, true
}

// GaveUp says why the graph was not looked at whole, "" where it was.
func (m *Model) GaveUp() string { return m.gaveUp }

// Sites are the position encodings that were found.
func (m *Model) Sites() []position.Site {
	for len(m.shown) < len(m.sites) {
		m.shown = append(m.shown, m.sites[len(m.shown)])
	}
	return m.shown[:len(m.sites):len(m.sites)]
}

// Findings are what the owner of the file should know.
func (m *Model) Findings() []report.Finding { return m.findings }

// Describe says what the file is, apart from its encodings.
func (m *Model) Describe() report.Inspect {
	r := report.Inspect{Path: m.graph.File.Path, Format: "onnx", Bytes: m.graph.File.Size, Kind: report.KindModel, Files: []report.File{}}
	if p := m.graph.File.Describe(); p != "" {
		r.Producer = &p
	}
	for _, d := range m.graph.File.DataFiles() {
		r.Files = append(r.Files, report.File{Path: d.Path, Bytes: d.Size})
	}
	if n := m.graph.FixedLength(); n > 0 {
		r.Length.Stated = &n
	}
	return r
}

// InputIsFixed reports whether the model takes pictures, recordings or features of one size alone.
func (m *Model) InputIsFixed() bool {
	g := m.graph
	if m.larger != nil {
		return true
	}
	if in := g.Recording(); in != nil && g.TokenMatrix() == nil && !slices.ContainsFunc(in.Dims[1:], func(d onnx.Dim) bool { return d.Value < 0 }) {
		return in.Dims[0].Value >= 0 || !m.labels().InputSees(onnx.InputAxis{Input: in.Name}) // of any number of nodes of a graph, say
	}
	return g.FixedLength() > 0 || g.ImageInput() != nil && g.TokenInput() == nil && len(g.FreeSides()) == 0
}

// PatchSize is the stride of the convolution that makes patches of an image, 0 when there is none or it is not square.
func (m *Model) PatchSize() int { return m.graph.PatchSize() }

// Overlap is how many pixels of each side the last patch has beyond its step.
func (m *Model) Overlap() [2]int { return m.graph.Overlap() }

// PatchGrid is how many patches the picture or video has along each axis; zeros when there is none.
func (m *Model) PatchGrid() schemes.Grid {
	sides := m.graph.PatchGrid()
	if sides == [2]int{} {
		return schemes.Grid{}
	}
	along, _ := m.graph.FrameGrid()
	return schemes.Grid{along, sides[0], sides[1]}
}

// Parts lists the constants, nodes and declared values of the model.
func (m *Model) Parts() ([]position.Part, error) { return parts.Of(m.graph, m.sites) }

// DataSpans are the ranges of one of the model's files that hold tensor data.
func (m *Model) DataSpans(path string) [][2]int64 { return parts.DataSpans(m.graph.File, path) }

// Close closes the file.
func (m *Model) Close() error { return m.graph.File.Close() }

// ReadError is the first error of reading a model that is no file on a disk.
func (m *Model) ReadError() error { return m.graph.File.ReadError() }

// NameData tells the model the path at which it will be written, after which its data files are named.
func (m *Model) NameData(path string) { m.graph.Editor.NameData(path) }

// Attentions are the attentions of the model, in the order of the graph. A graph that
// is too large to be looked at whole has one that says so.
func (m *Model) Attentions() []*position.Attention {
	if !m.looked {
		m.looked = true
		if why := m.lookForAttentions(); why != "" {
			m.gaveUp = why
		}
	}
	if m.gaveUp != "" {
		m.attentions = []*position.Attention{{Unsupported: m.gaveUp}}
	}
	return m.attentions
}

// lookForAttentions returns why it was given up, "" where it was not.
func (m *Model) lookForAttentions() (gaveUp string) {
	defer func() {
		if r := recover(); r != nil {
			spent, ok := r.(*eval.Spent)
			if !ok || spent.Err != nil {
				panic(r)
			}
			gaveUp = spent.Error()
		}
	}()
	m.graph.Budget.What = "the search for attentions"
	m.attentions = attention.Find(m.graph, m.sites, m)
	return ""
}

// FailsInBatches is what fails with several pictures at once and not with one; nil where nothing does.
func (m *Model) FailsInBatches() error { return m.graph.FailsInBatches() }
