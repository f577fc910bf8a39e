package onnxpos

import (
	"fmt"
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/axes"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position/onnxpos/origin"
	"github.com/modelpatch/modelpatch/position/onnxpos/probe"
	"github.com/modelpatch/modelpatch/position/onnxpos/relative"
	"github.com/modelpatch/modelpatch/position/onnxpos/rotary"
	"github.com/modelpatch/modelpatch/position/onnxpos/scored"
	"github.com/modelpatch/modelpatch/position/onnxpos/site"
	"github.com/modelpatch/modelpatch/position/onnxpos/trace"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// detector walks a probed graph and collects the places where numbers that depend on position meet the model's state.
type detector struct {
	m        *site.Graph
	e        *eval.Evaluator
	length   int
	tables   []*addition
	rotary   *rotary.Search
	relative *relative.Search
	scored   *scored.Search
	labels   *axes.Labels
	origins  *origin.Maps
	scaled   map[*onnx.Node]axes.Meeting // where data are multiplied with numbers that vary along their positions
	anchors  map[*onnx.Node]bool         // where points or boxes of a detector are added
	maps     map[mapSize][]*onnx.Node
	sizes    []mapSize
	unread   *onnx.Node // the first where a constant meets the state that is too large to be looked at
}

// detect finds the sites of the model.
func (m *Model) detect() {
	if m.graph.Audio() != nil && m.vanished() != nil && m.graph.Enlarge() {
		m.graph.Budget.What = "the search for position encodings"
	}
	d := m.detector(m.graph.Eval, m.graph.Sizes.Length)
	for _, k := range mechanisms {
		m.sites = append(m.sites, k.Find(m, d)...)
	}
	for _, s := range m.sites {
		if slices.ContainsFunc(s.Encoding().Where, func(w report.Where) bool { return slices.Contains(m.graph.Filled(), w.Tensor) }) {
			s.Note(report.Evidence{Kind: "fit", Says: "all numbers of its table are zero: it was not trained, and makes no difference yet"})
		}
	}
	if n := len(m.assumed); n > 0 {
		in := m.assumed[0].Input
		says := fmt.Sprintf("%s declares no shape: it was given %d axes, with which the graph runs", in.Name, len(in.Dims))
		if n > 1 {
			says = fmt.Sprintf("%s and %d more inputs declare no shape: they were given axes with which the graph runs", in.Name, n-1)
		}
		for _, s := range m.sites {
			s.Note(report.Evidence{Kind: "structure", Says: says})
		}
	}
	if m.lengthen() {
		return
	}
	if few := len(m.sites) == 0 || len(m.sites) == 1 && m.hasScheme(report.SchemeConv); few && m.enlarge() {
		return
	}
	if len(m.sites) == 0 && m.turnAxes() {
		return
	}
	shapeless := slices.ContainsFunc(m.graph.File.Graph.Inputs, func(in *onnx.ValueInfo) bool { return !in.Ranked })
	if len(m.sites) == 0 || shapeless && len(m.sites) == 1 && m.hasScheme(report.SchemeConv) {
		m.sites = append(m.sites, m.withoutEncoding())
	}
	m.countTables()
	m.countWindows()
	m.inspectBeyond()
}

// turnAxes looks again with the first axis of the main input as that of tokens, where nothing was found with the second and their names say
// neither. It reports whether encodings are found so.
func (m *Model) turnAxes() bool {
	back := m.graph.TurnAxes()
	if back == nil {
		return false
	}
	m.unread = nil
	m.detect()
	if slices.ContainsFunc(m.sites, func(s site.Site) bool {
		other, is := s.Encoding().Scheme.(schemes.Other)
		return !is || other.Kind != report.SchemeNone && other.Kind != report.SchemeUnknown
	}) {
		return true
	}
	back()
	m.sites, m.unread = nil, nil
	return false
}

// detector follows an evaluation of the graph at a length and collects what the mechanisms look at.
func (m *Model) detector(e *eval.Evaluator, length int) *detector {
	labels := m.labels()
	if e != m.graph.Eval {
		labels = axes.Pass(e, probe.Given(m.graph.File), m.input)
	}
	d := &detector{m: m.graph, e: e, length: length, labels: labels, anchors: map[*onnx.Node]bool{}, origins: origin.New(e, m.graph.CallsOf(e)...)}
	if in := d.m.TokenInput(); in != nil && len(in.Dims) == 3 {
		before, attendBefore := d.labels.InputPositions(in.Name, 1)
		switch last, attend := d.labels.InputPositions(in.Name, 2); {
		case in.Type.IsFloat() && last && (!before || attend && !attendBefore): // channels, or series of which each is taken by itself
			d.m.SetChannelsFirst(in)
		case in.Type.IsInteger() && attend && !attendBefore:
			d.m.SetTokensLast(in)
		}
	}
	d.rotary, d.scored = rotary.New(m.graph, d.origins), scored.New(m.graph, labels, d.origins)
	d.relative = relative.New(m.graph, d.origins, d.scored)
	d.meet()
	for _, s := range d.e.Scopes() {
		for _, n := range s.Graph.Nodes {
			if row := eval.Lookup(n.Domain, n.Op); row != nil {
				d.visit(s, n, row)
			}
		}
	}
	return d
}

// meet takes the places where data meet numbers that depend on positions alone to the mechanisms that read them.
func (d *detector) meet() {
	for _, x := range d.labels.Meetings {
		v := x.Scope.Enlarge(x.Known)
		if v.Large() && d.unread == nil {
			d.unread = x.Node
		}
		d.origins.Expect(x.Scope, x.Known)
	}
	met := map[*onnx.Node]bool{}
	for _, x := range d.labels.Meetings {
		switch {
		case x.Kind == axes.Biased && ofPairs(x) && !trace.MakesScores(x.Scope, x.Node):
			d.relative.Contracted(x)
		case x.Kind == axes.Biased && trace.FromSoftmax(x.Scope, stateOf(x)): // weights, which no bias by distance stays one among
		case (x.Node.Op != "Sub" || x.Input == 1) && betweenPositions(x) && (x.Kind == axes.Biased || x.Kind != axes.Joined && trace.MakesScores(x.Scope, x.Node) && trace.MayBeScores(x.Scope, stateOf(x))):
			d.relative.Bias(x.Scope, x.Node, x.Known)
		case (x.Node.Op != "Sub" || x.Input == 1) && keysOf(x) >= 0 && slices.Contains(x.Covers, keysOf(x)):
			d.relative.BiasAlong(x.Scope, x.Node, x.Known, x.Covers[0]+x.Covers[1]-keysOf(x), keysOf(x))
		case x.Kind == axes.Contracted:
			d.relative.Contracted(x)
		case x.Kind == axes.Multiplied:
			d.rotary.AddMeeting(x)
		case (x.Kind == axes.Added || x.Kind == axes.Joined && !d.joinsPlaces(x)) && (adds(x.Node) || addsBehind(x)):
			d.tables = append(d.tables, d.additions(x)...)
		}
		met[x.Node] = true
	}
	for _, s := range d.e.Scopes() {
		s.Spend(len(s.Graph.Nodes))
		for _, n := range s.Graph.Nodes {
			if adds(n) && !eval.Is(n, eval.Joining) && !met[n] && trace.MakesScores(s, n) {
				d.between(s, n)
			}
		}
	}
}

// joinsPlaces reports whether numbers are put beside the data as further places, and not as columns: tokens of each series, say.
func (d *detector) joinsPlaces(x axes.Meeting) bool {
	made := d.labels.Of(x.Scope, x.Node.Output(0))
	axis := x.Node.Axis(0, len(made.Axes))
	return axis >= 0 && axis < len(made.Axes)-1 && d.labels.IsOfPositions(made.Axes[axis])
}

// between takes numbers that are added to scores between places of the model's own making
// (latents, object queries): no axis of an input runs there.
func (d *detector) between(s *eval.Scope, n *onnx.Node) {
	for i := range min(len(n.Inputs), 2) {
		v, scores := s.Input(n, i), s.Input(n, 1-i)
		if k := len(v.Shape); k > 1 && v.Shape[k-1] > 1 && !scores.Known() && v.Known() && v.Floats != nil && trace.MayBeScores(s, n.Input(1-i)) {
			d.relative.Bias(s, n, n.Input(i))
		}
	}
}

// keysOf is the axis of known numbers that are added to scores along which these are weighed; −1 where that is not told, or they are of other than
// two axes of positions.
func keysOf(x axes.Meeting) int {
	if x.Kind != axes.Added && x.Kind != axes.Biased || len(x.Covers) != 2 {
		return -1
	}
	axis := trace.SoftmaxAxis(x.Scope, x.Node)
	if axis < 0 {
		return -1
	}
	return axis - len(x.Scope.Output(x.Node, 0).Shape) + len(x.Scope.Value(x.Known).Shape)
}

// ofPairs reports whether known numbers are vectors, one for each pair of positions: a pair lies on two axes ahead of them.
func ofPairs(x axes.Meeting) bool {
	shape := x.Scope.Value(x.Known).Shape
	last := len(shape) - 1
	return len(x.Covers) == 2 && x.Covers[1] < last && shape[last] > 1
}

// betweenPositions reports whether known numbers that go into scores are of pairs, whose axes stand last, behind heads: those that are multiplied
// have both; those that are added may be of each place and its neighbours.
func betweenPositions(x axes.Meeting) bool {
	k := len(x.Scope.Value(x.Known).Shape)
	queries, keys := slices.Contains(x.Covers, k-2), slices.Contains(x.Covers, k-1)
	return queries && keys || (x.Kind == axes.Added || x.Kind == axes.Biased) && (len(x.Covers) != 2 || queries || keys)
}

func (d *detector) visit(s *eval.Scope, n *onnx.Node, row *eval.Operator) {
	switch {
	case n.Op == "Sub" || n.Op == "Add" || row.In(eval.Addition&eval.Quantized):
		d.rotary.Turn(s, n)
	case row.In(eval.Embedding):
		d.embedLayerNormalization(s, n)
	}
	if t := row.Turns; t != nil && (t.Attribute == "" || n.Int(t.Attribute, 0) == 1) {
		d.rotary.Fused(s, n, n.Input(t.Cosines), n.Input(t.Sines), n.Input(t.Positions))
	}
}
