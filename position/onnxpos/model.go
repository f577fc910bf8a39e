// Package onnxpos finds the places where an ONNX graph encodes position and
// changes them: one file a mechanism, each with the patterns to find it and
// the edits to hold new numbers.
//
// New evaluates the graph at a small length (package onnx/eval) and judges
// values and structure; internal names decide nothing, since exporters erase
// them (facts/ONNX-PATTERNS §1).
package onnxpos

import (
	"context"
	"fmt"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/patch"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/onnxpos/attention"
	"github.com/modelpatch/modelpatch/position/onnxpos/probe"
	"github.com/modelpatch/modelpatch/position/onnxpos/rows"
	"github.com/modelpatch/modelpatch/position/onnxpos/site"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// Model is an ONNX model as positions see it.
type Model struct {
	*site.Graph
	sites      []site.Site
	attentions []*position.Attention
	findings   []report.Finding
	looked     bool            // attentions were looked for
	shown      []position.Site // sites as Sites gives them
	gaveUp     string          // what was given up, since the graph is too large; "": nothing
}

// New finds the position encodings of an opened model. A graph that defeats the
// detector is an error that says so, never a panic: graphs are hostile input,
// and one that is not understood can still be told from one that is.
//
// It is NewContext without an end.
func New(f *onnx.File) (*Model, error) { return NewContext(context.Background(), f) }

// maxSteps bounds the steps of everything that is asked about a model, a node that
// is looked at or as many numbers as are computed in its time: some seconds. The
// largest of ordinary models take a twentieth.
const maxSteps = 1 << 26

// NewContext is New, and all that is asked of the model later, until a context ends:
// then the error is the context's. A graph on which a detector has to be given up,
// because it is too large, has an encoding that is unknown and a finding that says so.
func NewContext(ctx context.Context, f *onnx.File) (m *Model, err error) {
	defer func() {
		if r := recover(); r != nil {
			if spent, ok := r.(*eval.Spent); ok {
				m, err = nil, spent
				return
			}
			m, err = nil, &onnx.UnsupportedError{Place: f.Path, What: fmt.Sprintf("the graph is not understood (%v): please report it", r)}
		}
	}()
	return find(f, eval.NewBudget(ctx, maxSteps))
}

// find is New without its net.
func find(f *onnx.File, budget *eval.Budget) (*Model, error) {
	if err := f.CheckData(); err != nil {
		return nil, err
	}
	p := probe.New(f, budget)
	m := &Model{Graph: &site.Graph{Probe: p, Editor: rows.NewEditor(f, p.TensorName)}}
	if err := m.look(); err != nil {
		return nil, err
	}
	m.inspectFindings()
	return m, nil
}

// look evaluates the graph and finds the encodings. What is too large to be looked at
// whole has one that is unknown.
func (m *Model) look() (err error) {
	defer func() {
		r := recover()
		if r == nil {
			return
		}
		spent, ok := r.(*eval.Spent)
		if !ok {
			panic(r)
		}
		if err = spent.Err; err == nil {
			m.giveUp(spent.Error())
		}
	}()
	m.Budget.What = "evaluating it"
	m.Run()
	m.Budget.What = "the search for position encodings"
	m.detect()
	if why := m.Eval.Bounded(); why != "" {
		m.giveUp("the graph is too large to be looked at whole: " + why)
	}
	return nil
}

// giveUp leaves nothing of what was found but that it is not known.
func (m *Model) giveUp(why string) {
	m.gaveUp = why
	m.sites, m.shown = []site.Site{site.NewOther(position.Encoding{Scheme: schemes.Other{Kind: report.SchemeUnknown}, Form: report.FormRuntime, Beyond: report.BeyondUnknown,
		Evidence: []report.Evidence{{Kind: "structure", Says: why}}})}, nil
	m.attentions, m.looked = nil, true
}

// enlargePicture probes anew with a larger picture, where convolutions leave a
// single position of the first one, and looks for encodings again. It reports
// whether it did.
func (m *Model) enlargePicture() bool {
	if m.vanished() == nil || !m.Enlarge() {
		return false
	}
	m.detect()
	return true
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
	r := report.Inspect{Path: m.File.Path, Format: "onnx", Bytes: m.File.Size, Kind: report.KindModel, Files: []report.File{}}
	if p := m.File.Describe(); p != "" {
		r.Producer = &p
	}
	for _, d := range m.File.DataFiles() {
		r.Files = append(r.Files, report.File{Path: d.Path, Bytes: d.Size})
	}
	if n := m.FixedLength(); n > 0 {
		r.Length.Stated = &n
	}
	return r
}

// Close closes the file.
func (m *Model) Close() error { return m.File.Close() }

// NameData tells the model the path at which it will be written, after
// which its data files are named.
func (m *Model) NameData(path string) { m.Editor.NameData(path) }

// Edits returns the plan of everything that was recorded.
func (m *Model) Edits() (patch.Plan, error) {
	if m.Editor.Changed() {
		if err := m.sound(); err != nil {
			return patch.Plan{}, err
		}
	}
	p, err := m.Editor.Plan()
	if err != nil {
		return p, rows.Refused(err)
	}
	return p, m.readable(p)
}

// readable refuses a plan whose model file would be larger than readers of protobuf
// take, where the old one was not.
func (m *Model) readable(p patch.Plan) error {
	size := m.File.Size
	for _, e := range p.Edits {
		if e.File != 0 {
			continue
		}
		if size -= e.Old; e.New != nil {
			size += e.New.Size()
		}
	}
	if size <= maxProtobuf || size <= m.File.Size {
		return nil
	}
	return &position.Refusal{Why: fmt.Sprintf("the new file would have %d bytes, and readers of protobuf stop at %d", size, maxProtobuf),
		Instead: "store the weights as external data first, or choose a lesser length"}
}

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
	m.Budget.What = "the search for attentions"
	m.attentions = attention.Find(m.Graph, m.sites)
	return ""
}
