// Package site says what the model asks of a place of an ONNX graph that encodes
// positions: Site is the question, Base answers for what is nothing, and Graph is
// what sites read and where they store. Kinds of encodings are packages of their
// own (rotary, relative); Other is one that is recognised and not changed.
package site

import (
	"fmt"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/patch"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/onnxpos/probe"
	"github.com/modelpatch/modelpatch/position/onnxpos/rows"
	"github.com/modelpatch/modelpatch/position/onnxpos/trace"
	"github.com/modelpatch/modelpatch/report"
)

// Graph is a probed graph with the edits that are recorded for it: what sites read,
// and where they store.
type Graph struct {
	*probe.Probe
	*rows.Editor
}

// Substitute puts a constant of a value's type and shape in the place of a value of the main graph.
func (g *Graph) Substitute(s *eval.Scope, name string, made *eval.Value, data patch.Source, as, why string) error {
	dims := make([]int64, len(made.Shape))
	for i, d := range made.Shape {
		dims[i] = int64(d)
	}
	added, err := g.AddTable(g.File.Graph, as, made.Type, dims, data, why)
	if err != nil {
		return err
	}
	for _, reader := range s.Consumers(name) {
		for i, in := range reader.Inputs {
			if in == name {
				g.RenameInput(reader, i, added, why)
			}
		}
	}
	return nil
}

// Site is a place of a graph that encodes positions, with what others ask of it:
// the change of length, the attentions, the findings and the comparison of two
// files. Base implements all but Store for a site that has none of it.
type Site interface {
	position.Site

	// Tables are the constants of the encoding that have a row for each position.
	Tables() []rows.Table
	// Owned are all constants that belong to the encoding: its tables, and lists of
	// frequencies, factors and biases. One may be named twice, or be nil.
	Owned() []*onnx.Tensor
	// Overlay tells an evaluator what constants will be after Store: their new shapes.
	Overlay(into map[*onnx.Tensor]*eval.Value)

	// Indices are the sources of the encoding that an index of positions selects from.
	Indices() []trace.Source
	// State is a value of the data that the encoding meets, where it is read, and which of its
	// axes, counted from the last as 1, runs over positions. The scope is nil where there is none.
	State() (scope *eval.Scope, name string, axis int)
	// ActsIn says by which nodes the encoding enters attentions, and which.
	ActsIn() (from []trace.Place, in Reach)

	// Fused reports whether an operator of the engine looks positions up: the
	// evaluator does not show then what happens beyond the capacity.
	Fused() bool
	// SetBeyond notes what a probe showed beyond the capacity, and by what evidence.
	SetBeyond(beyond string, evidence ...report.Evidence)
	// Note adds evidence.
	Note(evidence report.Evidence)
	// SetApart notes that its capacity bounds no length: see position.Encoding.
	SetApart()
	// Stops notes that positions from a number on are told as the last one before, in numbers that the graph computes.
	// scaled tells that they are cut off behind what frequencies or slopes make of them.
	Stops(positions int, scaled bool, evidence report.Evidence)
	// Counts notes that positions from a number on are told as the last one before (clamps), or as others (a remainder): no change makes them more.
	Counts(positions int, clamps bool)
	// SetEnd notes that the graph ends after so many positions, where the site's table
	// seemed to have no end.
	SetEnd(positions int, evidence report.Evidence)

	// Faults are what is wrong with the encoding's constants.
	Faults() []Fault
}

// Reach is which attentions an encoding acts in.
type Reach uint8

// Where encodings act.
const (
	Nowhere    Reach = iota // in no attention that could be told
	Everywhere              // in all
	Products                // where a node's result goes into the product of queries and keys
	Softmaxes               // where it goes into the Softmax of scores
)

// Rule is a kind of finding about ONNX files. Those at level error keep a model
// from being changed.
type Rule struct {
	ID    string // as reports name it
	Level string // one of report's
	Doc   string // what it finds, in a sentence
}

// Fault is a finding of a site about a constant of its.
type Fault struct {
	Rule    Rule
	Message string       // what is wrong, one sentence
	Hint    string       // what the owner of the file may do; "": nothing
	At      *onnx.Tensor // the constant
}

// Base is a site without tables, sources, state or faults; kinds of sites embed it
// and implement what they have.
type Base struct {
	Detected position.Encoding // as inspect reports it
	counted  bool              // the graph tells no more positions than its capacity, whatever the length
	Scaled   bool              // it ends where multiples of positions are cut off: those of another formula would end elsewhere
}

// Encoding returns Detected.
func (b *Base) Encoding() position.Encoding { return b.Detected }

// Note adds evidence to Detected.
func (b *Base) Note(evidence report.Evidence) {
	b.Detected.Evidence = append(b.Detected.Evidence, evidence)
}

// Tables returns nil.
func (b *Base) Tables() []rows.Table { return nil }

// Owned returns nil.
func (b *Base) Owned() []*onnx.Tensor { return nil }

// Overlay does nothing.
func (b *Base) Overlay(map[*onnx.Tensor]*eval.Value) {}

// Indices returns nil.
func (b *Base) Indices() []trace.Source { return nil }

// State returns no scope.
func (b *Base) State() (*eval.Scope, string, int) { return nil, "", 0 }

// ActsIn returns Nowhere.
func (b *Base) ActsIn() ([]trace.Place, Reach) { return nil, Nowhere }

// Fused returns false.
func (b *Base) Fused() bool { return false }

// SetBeyond does nothing.
func (b *Base) SetBeyond(string, ...report.Evidence) {}

// SetApart notes it.
func (b *Base) SetApart() { b.Detected.Apart = true }

// Stops notes that positions from a number on are told as the last one before, in numbers that the graph computes.
func (b *Base) Stops(positions int, scaled bool, evidence report.Evidence) {
	b.Scaled = b.Scaled || scaled
	if b.Detected.Form == report.FormRuntime && (b.Detected.Capacity == 0 || b.Detected.Capacity > positions) {
		b.Detected.Capacity, b.Detected.Beyond = positions, report.BeyondClamps
		if scaled { // the slower of its pairs go on
			b.Detected.Beyond = report.BeyondWrong
		}
		b.Detected.Evidence = append(b.Detected.Evidence, evidence)
	}
}

// Counts notes that positions from a number on are told as the last one before, or as others.
func (b *Base) Counts(positions int, clamps bool) {
	b.counted, b.Detected.Capacity, b.Detected.Beyond = true, positions, report.BeyondWrong
	if clamps {
		b.Detected.Beyond = report.BeyondClamps
	}
	b.Note(report.Evidence{Kind: "structure", Says: fmt.Sprintf("the graph tells positions from %d on as others: it counts no further", positions)})
}

// Uncounted refuses more positions than the graph counts.
func (b *Base) Uncounted(want position.Want) error {
	if !b.counted || want.Positions <= b.Detected.Capacity {
		return nil
	}
	return &position.Refusal{Why: fmt.Sprintf("the graph counts %d positions, and tells those behind them as others", b.Detected.Capacity), Instead: "export the model again without the bound on its positions"}
}

// SetEnd does nothing.
func (b *Base) SetEnd(int, report.Evidence) {}

// Faults returns nil.
func (b *Base) Faults() []Fault { return nil }
