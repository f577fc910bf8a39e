package onnxpos

import (
	"context"
	"fmt"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/axes"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position/onnxpos/probe"
	"github.com/modelpatch/modelpatch/position/onnxpos/ranks"
	"github.com/modelpatch/modelpatch/position/onnxpos/rows"
	"github.com/modelpatch/modelpatch/position/onnxpos/site"
)

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
	m := &Model{graph: &site.Graph{Probe: p, Editor: rows.NewEditor(f, p.TensorName)}}
	if err := m.look(); err != nil {
		return nil, err
	}
	m.inspectFindings()
	return m, m.lookWithin(generating(f.Graph))
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
	m.graph.Budget.What = "evaluating it"
	m.assumed = ranks.Assume(m.graph.File, m.graph.Budget)
	m.graph.Run()
	m.refit()
	m.graph.Budget.What = "the search for position encodings"
	if len(generating(m.graph.File.Graph)) == 0 {
		m.detect()
	}
	if why := m.graph.Eval.Bounded(); why != "" {
		m.giveUp("the graph is too large to be looked at whole: " + why)
	}
	return nil
}

// refit has the graph evaluated with caches whose heads are of the size that its operators demand, and whose tokens stand where others
// are put behind them.
func (m *Model) refit() {
	m.graph.Fill(m.labels().Untrained)
	if m.graph.MayHaveCaches() {
		if !m.graph.PutAhead(m.labels().Ahead()) {
			m.graph.PutAhead(axes.Pass(m.graph.InPairs(), probe.Given(m.graph.File), m.input).Ahead())
		}
		for _, d := range m.labels().Demands() {
			m.graph.Demand(d.Input, d.Axis, d.Size)
		}
		m.graph.Refit()
	}
	m.graph.TakeCalls()
}

// InputSizes are sizes of free dimensions of inputs, by the inputs' names: those that the
// graph's operators demand; 0 where they demand none, −1 of cached tokens, of which there may be none.
func (m *Model) InputSizes() map[string][]int {
	out := map[string][]int{}
	for _, in := range m.graph.File.Graph.Inputs {
		if sizes := m.graph.Demanded(in); sizes != nil {
			out[in.Name] = sizes
		}
	}
	return out
}
