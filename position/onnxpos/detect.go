package onnxpos

import (
	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/axes"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position/onnxpos/relative"
	"github.com/modelpatch/modelpatch/position/onnxpos/rotary"
	"github.com/modelpatch/modelpatch/position/onnxpos/site"
	"github.com/modelpatch/modelpatch/position/onnxpos/trace"
)

// detector walks a probed graph and collects the places where numbers that
// depend on position meet the model's state.
type detector struct {
	m        *site.Graph
	e        *eval.Evaluator
	length   int
	tables   []*addition
	sides    [3][]*addition // of an image's columns (1) and rows (2)
	rotary   *rotary.Search
	relative *relative.Search
	labels   *axes.Labels
	queries  map[*onnx.Tensor]bool // learned rows that are state, not positions
	maps     map[mapSize][]*onnx.Node
	sizes    []mapSize
	lengths  []int       // sizes of the inputs' axes
	ahead    map[int]int // rows of a table → tokens ahead of an image's patches
	summed   struct{ asked, does bool }
	asked    struct {
		scope  *eval.Scope
		node   *onnx.Node
		scores bool
	} // the last of scores
	unread *onnx.Node // the first where a constant meets the state that is too large to be looked at
}

// scores reports whether a node makes an attention's scores: a product of data with
// data that has positions on two axes, or what goes into a Softmax.
func (d *detector) scores(s *eval.Scope, n *onnx.Node) bool {
	if d.asked.node != n || d.asked.scope != s {
		d.asked.scope, d.asked.node, d.asked.scores = s, n, trace.MakesScores(s, n) || d.labels.Scores(s, n)
	}
	return d.asked.scores
}

// detect finds the sites of the model.
func (m *Model) detect() {
	d := &detector{m: m.graph, e: m.graph.Eval, length: m.graph.Sizes.Length, rotary: rotary.New(m.graph), relative: relative.New(m.graph), labels: m.labels(), queries: map[*onnx.Tensor]bool{}}
	for _, s := range d.e.Scopes() {
		for _, n := range s.Graph.Nodes {
			if row := eval.Lookup(n.Domain, n.Op); row != nil {
				d.enlarge(s, n, row)
				d.visit(s, n, row)
			}
		}
	}
	m.metBiases(d)
	for _, k := range mechanisms {
		m.sites = append(m.sites, k.Find(m, d)...)
	}
	if len(m.sites) == 0 && !m.enlargePicture() {
		m.sites = append(m.sites, m.withoutEncoding())
	}
	m.inspectBeyond()
}

// enlarge looks at large constants where they meet the model's state element by
// element: there they are no weights.
func (d *detector) enlarge(s *eval.Scope, n *onnx.Node, row *eval.Operator) {
	if !row.In(eval.Addition|eval.Scaling) && n.Op != "Concat" {
		return
	}
	unknowable := false
	for i := range n.Inputs {
		unknowable = unknowable || s.Input(n, i).Unknowable() && n.Input(i) != ""
	}
	if !unknowable {
		return
	}
	for i, name := range n.Inputs {
		if name != "" && s.Input(n, i).Large() {
			d.read(s, n, name)
		}
	}
}

// read looks at a constant that meets the state at a node, however large, and notes
// where one is too large.
func (d *detector) read(s *eval.Scope, n *onnx.Node, name string) {
	if s.Enlarge(name).Large() && d.unread == nil {
		d.unread = n
	}
}

func (d *detector) visit(s *eval.Scope, n *onnx.Node, row *eval.Operator) {
	switch {
	case n.Op == "Sub":
		d.rotary.Turn(s, n)
	case row.In(eval.Addition):
		d.terms(s, n)
	case n.Op == "Concat":
		d.joined(s, n)
	case row.In(eval.Embedding):
		d.embedLayerNormalization(s, n)
	}
	if t := row.Turns; t != nil && (t.Attribute == "" || n.Int(t.Attribute, 0) == 1) {
		d.rotary.Fused(s, n, n.Input(t.Cosines), n.Input(t.Sines), n.Input(t.Positions))
	}
	if row.In(eval.Attention) && row.Bias > 0 {
		d.attentionBias(s, n, n.Input(row.Bias))
	}
}

// terms looks at what a node adds up: all of its inputs, or the first two.
func (d *detector) terms(s *eval.Scope, n *onnx.Node) {
	some := min(len(n.Inputs), 2)
	if n.Op == "Sum" {
		some = min(len(n.Inputs), maxSummed)
	}
	for i := range some {
		for j := range some {
			if i != j {
				d.addition(s, n, i, j)
			}
		}
	}
	if n.Op == "Add" {
		d.rotary.Turn(s, n)
	}
}

// maxSummed bounds the inputs of a Sum that are looked at in pairs.
const maxSummed = 16
