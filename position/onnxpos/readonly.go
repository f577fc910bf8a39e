package onnxpos

import (
	"fmt"
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/axes"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/onnxpos/bydistance"
	"github.com/modelpatch/modelpatch/position/onnxpos/rotary"
	"github.com/modelpatch/modelpatch/position/onnxpos/site"
	"github.com/modelpatch/modelpatch/position/onnxpos/trace"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// readOnlySite is an encoding that was found where data meet numbers that vary along their positions, in a form that is read and not written.
type readOnlySite struct {
	site.Other
	node string
}

// Store refuses: the numbers were read where they meet the data, not where they are made.
func (s *readOnlySite) Store(position.Want) error {
	return &position.Refusal{Why: fmt.Sprintf("%s is read at %s, where it meets the data; how the graph makes it is no form that is changed", s.Detected.Scheme, s.node),
		Instead: "export the model again with the wanted configuration"}
}

// explained is what the detectors have explained: nodes at which numbers meet the data, and what the numbers are made of.
type explained struct {
	m       *Model
	nodes   map[*onnx.Node]bool
	tensors map[*onnx.Tensor]bool
	names   map[string]bool // of nodes and tensors, as sites report them
	values  map[value]bool  // what is multiplied with the data
}

// value is a value by its name.
type value struct {
	scope *eval.Scope
	name  string
}

func (m *Model) claimed(d *detector) *explained {
	c := &explained{m: m, nodes: map[*onnx.Node]bool{}, tensors: map[*onnx.Tensor]bool{}, names: map[string]bool{}, values: map[value]bool{}}
	for _, a := range d.tables {
		c.claim(a.scope, a.node, a.name)
	}
	d.rotary.Explained(c.claim)
	d.relative.Explained(c.claim)
	for _, s := range m.sites {
		c.name(s.Encoding())
	}
	return c
}

// name takes the places of an encoding for explained.
func (c *explained) name(e position.Encoding) {
	for _, w := range e.Where {
		c.names[w.Tensor], c.names[w.Node] = true, true
	}
	delete(c.names, "")
}

func (c *explained) claim(s *eval.Scope, n *onnx.Node, names ...string) {
	c.nodes[n] = true
	for _, name := range names {
		c.values[value{s, name}] = true
		for _, src := range trace.Sources(s, name) {
			if src.Trig != nil {
				c.nodes[src.Trig] = true
			}
			if src.Tensor != nil && src.Tensor.Len() > 1 {
				c.tensors[src.Tensor] = true
			}
		}
	}
}

// has reports whether a meeting is one that a detector has explained.
func (c *explained) has(x axes.Meeting) bool {
	named := func(n *onnx.Node) bool { return c.nodes[n] || c.names[n.Title()] }
	if named(x.Node) || c.values[value{x.Scope, x.Known}] {
		return true
	}
	if from, _ := x.Scope.Find(x.Known); x.Kind == axes.Contracted && from != nil && (named(from) || c.m.graph.Behind(from, named) != nil) {
		return true
	}
	return slices.ContainsFunc(trace.Sources(x.Scope, x.Known), func(src trace.Source) bool {
		if src.Trig != nil {
			return named(src.Trig)
		}
		return c.tensors[src.Tensor] || c.names[c.m.graph.Where(src.Tensor).Tensor]
	})
}

// findReadOnly makes sites of meetings that no other mechanism has explained, of those whose numbers say what they are, and keeps the others.
func findReadOnly(m *Model, d *detector) []site.Site {
	claimed := m.claimed(d)
	var found []*readOnlySite
	var factors []*tableSite
	for _, x := range m.labels().Meetings {
		if claimed.has(x) || d.anchors[x.Node] {
			continue
		}
		sums := x.Kind == axes.Multiplied && slices.ContainsFunc(x.Scope.Consumers(x.Node.Output(0)), func(n *onnx.Node) bool { return n.Op == "ReduceSum" })
		if x.Kind == axes.Contracted || sums { // in one operator, or in two
			if s := m.readOnlyProduct(x); s != nil {
				found = m.join(found, s)
				claimed.name(s.Detected)
				continue
			}
		}
		if t := m.factor(d, x, factors); t != nil {
			factors = t
			continue
		}
		if !m.namesPlaces(x) {
			m.unread = append(m.unread, x)
		}
	}
	var out []site.Site
	for _, s := range found {
		out = append(out, s)
	}
	for _, t := range factors {
		out = append(out, t)
	}
	return out
}

// factor adds a table of which each position has a row of trained numbers that the state is multiplied with; nil where
// a meeting is something else.
func (m *Model) factor(d *detector, x axes.Meeting, found []*tableSite) []*tableSite {
	if x.Kind != axes.Multiplied || x.Node.Op != "Mul" || m.graph.TokenInput() == nil || len(x.Covers) != 1 {
		return nil
	}
	of := d.additions(x)
	if len(of) != 1 || of[0].share == nil || of[0].share.Row == nil || of[0].source.Tensor == nil || slices.Contains(of[0].share.Row, -1) {
		return nil
	}
	for _, t := range found {
		if t.uses[0].source.Tensor == of[0].source.Tensor {
			t.uses = append(t.uses, of[0])
			return found
		}
	}
	t := &tableSite{m: m.graph, origins: d.origins, uses: of}
	if t.describe(d); t.sinusoid != nil || t.unexplained || t.Detected.Form != report.FormTable || !t.trained() {
		return nil // a constant that is taken whole may be a weight
	}
	return append(found, t)
}

// trained reports whether a table holds more different numbers than it has columns: switches and signs are few.
func (t *tableSite) trained() bool {
	m, err := t.rows().Matrix()
	if err != nil {
		return false
	}
	seen := map[float64]bool{}
	for p := range m.Rows() {
		for c := range m.Cols() {
			if seen[m.At(p, c)] = true; len(seen) > m.Cols() {
				return true
			}
		}
	}
	return false
}

// adds reports whether a node adds what meets there, or puts it beside.
func adds(n *onnx.Node) bool {
	return eval.Is(n, eval.Addition) && n.Op != "Sub" || n.Op == "Concat" || eval.Is(n, eval.Scattering)
}

// addsBehind reports whether a node adds numbers to a product that it makes itself.
func addsBehind(x axes.Meeting) bool {
	row := eval.Lookup(x.Node.Domain, x.Node.Op)
	return x.Kind == axes.Added && row != nil && row.Bias > 0 && row.Bias == x.Input && x.Node.Float("beta", 1) == 1
}

// join adds a site, or the place of one that says the same of another layer.
func (m *Model) join(found []*readOnlySite, s *readOnlySite) []*readOnlySite {
	distances := s.Detected.Scheme.Name() == report.SchemeRelativeTable
	for _, have := range m.sites {
		if distances && have.Encoding().Scheme.Name() == report.SchemeRelativeTable {
			return found // of another layer, or another side of the picture
		}
	}
	for _, o := range found {
		if o.Detected.Scheme.Name() == s.Detected.Scheme.Name() && (distances || o.Detected.Scheme.String() == s.Detected.Scheme.String()) {
			for _, w := range s.Detected.Where {
				if !slices.ContainsFunc(o.Detected.Where, func(have report.Where) bool { return have.Tensor == w.Tensor && have.Node == w.Node }) {
					o.Detected.Where = append(o.Detected.Where, w)
				}
			}
			return found
		}
	}
	return append(found, s)
}

// readOnlyProduct reads what is multiplied with the data in a sum over features: matrices that turn them (rotary), or a vector for each pair
// of positions (Shaw et al. 2018); nil where it is neither.
func (m *Model) readOnlyProduct(x axes.Meeting) *readOnlySite {
	v := x.Scope.Enlarge(x.Known)
	if !v.Known() || v.Floats == nil || x.Axis < 0 {
		return nil
	}
	m.graph.SpendElements(v.Len())
	if turn, ok := rotary.TurnsOf(v, x.Axis); ok {
		return m.readOnlyRotation(x, turn)
	}
	varying := 0
	for d := range v.Shape {
		if v.Shape[d] > 1 && v.Shape[d] == v.Shape[x.Axis] && v.Varies(d) {
			varying++
		}
	}
	if varying < 2 || len(x.Covers) < 2 || x.Kind != axes.Contracted {
		return nil // a weight may be as wide as there are places; what is multiplied element by element has no vectors
	}
	n := v.Shape[x.Axis]
	e := position.Encoding{Form: report.FormRuntime, Beyond: report.BeyondUnknown, Where: []report.Where{{Node: x.Node.Title()}},
		Scheme: schemes.Other{Kind: report.SchemeRelativeTable},
		Evidence: []report.Evidence{{Kind: "structure",
			Says: fmt.Sprintf("%s multiplies the data with a vector for each of %d×%d pairs of positions", x.Node.Title(), n, n)}}}
	for _, src := range trace.Sources(x.Scope, x.Known) {
		if t := src.Tensor; t != nil && len(t.Dims) >= 2 && t.Type.IsFloat() {
			e.Form, e.Dtype = report.FormTable, t.Type.String()
			e.Where = append(e.Where[:0:0], m.graph.Where(t))
			e.Scheme = schemes.Other{Kind: report.SchemeRelativeTable, Rows: int(t.Dims[0]), Dim: int(t.Dims[len(t.Dims)-1])}
		}
	}
	if other, ok := bydistance.Vectors(m.graph, x); ok {
		e.Scheme = other
	}
	switch {
	case m.graph.FixedLength() > 0:
		e.Beyond, e.Capacity = report.BeyondError, n
	case e.Form == report.FormRuntime && m.goesOn(x, v):
		e.Beyond = report.BeyondContinues
	}
	return &readOnlySite{*site.NewOther(e), x.Node.Title()}
}

// goesOn reports whether a longer input meets the same numbers at the positions of this one, and more of them behind.
func (m *Model) goesOn(x axes.Meeting, now *eval.Value) bool {
	longer := m.graph.Longer(x.Scope, x.Known, 2*m.graph.Sizes.Length+1)
	if longer == nil || !longer.Known() || len(longer.Shape) != len(now.Shape) {
		return false
	}
	for axis, n := range now.Shape {
		if grows := slices.Contains(x.Covers, axis); longer.Shape[axis] < n || grows == (longer.Shape[axis] == n) {
			return false
		}
	}
	m.graph.SpendElements(now.Len())
	strides := onnx.Strides(longer.Shape)
	for i := range now.Len() {
		at, rest := 0, i
		for axis := len(now.Shape) - 1; axis >= 0; axis-- {
			at, rest = at+rest%now.Shape[axis]*strides[axis], rest/now.Shape[axis]
		}
		if now.Number(i) != longer.Number(at) {
			return false
		}
	}
	return true
}

// readOnlyRotation is the rotary encoding of rotations kept as matrices.
func (m *Model) readOnlyRotation(x axes.Meeting, t rotary.PairTurns) *readOnlySite {
	e := position.Encoding{Form: report.FormRuntime, Beyond: report.BeyondUnknown, Where: []report.Where{{Node: x.Node.Title()}}}
	r, residual := t.Scheme(x)
	if residual != nil {
		e.Evidence = append(e.Evidence, report.Evidence{Kind: "fit", Says: "matrices turn by " + r.String(), Residual: residual})
	}
	e.Scheme = r
	for _, src := range trace.Sources(x.Scope, x.Known) {
		if c := src.Tensor; c != nil && len(c.Dims) >= 3 && c.Type.IsFloat() {
			e.Form, e.Dtype = report.FormCache, c.Type.String()
			e.Where = append(e.Where[:0:0], m.graph.Where(c))
			e.Beyond, e.Capacity = report.BeyondError, t.Cos.Rows()
			if src.Axis >= 0 && src.Axis < len(c.Dims) && c.Dims[src.Axis] > int64(t.Cos.Rows()) { // of which this length takes the first
				e.Capacity = int(c.Dims[src.Axis]) - int(src.First)
			}
		}
	}
	switch {
	case m.InputIsFixed():
		e.Form, e.Beyond, e.Capacity = report.FormBaked, report.BeyondError, t.Cos.Rows()
	case e.Form == report.FormRuntime && m.goesOn(x, x.Scope.Value(x.Known)):
		e.Beyond = report.BeyondContinues
	}
	e.Evidence = append(e.Evidence, report.Evidence{Kind: "structure", Says: x.Node.Title() + " turns the data by a matrix for each position"})
	return &readOnlySite{*site.NewOther(e), x.Node.Title()}
}
