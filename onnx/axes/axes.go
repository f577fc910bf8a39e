// Package axes follows the axes of an evaluated graph's values from its inputs
// on: which of them run over positions (tokens, patches, frames), which over
// features and which over the batch. From that it tells whether positions can
// make a difference to the outputs at all.
//
// Start with Pass. A Meeting is a node where data that have an axis of positions
// meet numbers that depend on positions alone and vary along it: what every
// position encoding comes down to. Order lists operators that tell positions
// apart in another way (a recurrence, a convolution, a shift), Masked says that
// a constant mask does, and Doubts are what was not understood. Without any of
// these the graph is equivariant: permuting the input's positions permutes the
// outputs.
//
// The package knows operators and shapes; it does not know which encodings there
// are. Roles are followed forwards only, from what the caller says of the inputs.
package axes

import (
	"fmt"
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
)

// Role is what an axis runs over.
type Role uint8

// Roles of axes.
const (
	Batch    Role = iota // examples that do not see each other
	Feature              // channels, heads, elements of a vector, learned rows
	Position             // tokens, frames, patches, pixels
	Mixed                // what weights of their own made of all positions (MLP-Mixer, Fourier)
)

// Factor is one part of an axis. Ahead and Behind count the rows at its ends that
// come from constants (a class token): positions of the input are between them.
type Factor struct {
	Role          Role
	Size          int
	Ahead, Behind int
}

// Axis is a product of factors, outermost first; an axis of size 1 has none.
type Axis []Factor

// has reports whether positions are part of the axis.
func (a Axis) has(r Role) bool {
	return slices.ContainsFunc(a, func(f Factor) bool { return f.Role == r })
}

func (a Axis) size() int {
	n := 1
	for _, f := range a {
		n *= f.Size
	}
	return n
}

// axisOf is an axis of one factor, empty for size 1.
func axisOf(r Role, size int) Axis {
	if size == 1 {
		return nil
	}
	return Axis{{Role: r, Size: size}}
}

// Dependency is what a value's content depends on.
type Dependency uint8

// Dependencies, from none to all: a value has the greatest of its inputs.
const (
	Constant Dependency = iota // sizes, positions and weights: the same for every content
	Mask                       // which tokens are there (an attention mask, a comparison with the padding id)
	Content                    // tokens, features, pictures
)

// Value is what is known of a value: one Axis a dimension, nil for constants.
type Value struct {
	Axes    []Axis
	Depends Dependency
}

// Input is what the caller says of a graph input: the role of every dimension
// (missing ones are Feature), and what it holds.
type Input struct {
	Roles   []Role
	Depends Dependency
	// Raw tells a picture or recording itself: a constant of its size that is
	// added to it is part of its preparation.
	Raw bool
}

// Reason is a node and what it does, or why it was not understood.
type Reason struct {
	Scope *eval.Scope
	Node  *onnx.Node
	Why   string
}

// Meeting is a node where data meet numbers that vary along their positions.
type Meeting struct {
	Scope *eval.Scope
	Node  *onnx.Node
	Known string // the value that brings them
}

// Labels is what a pass found.
type Labels struct {
	Meetings []Meeting
	Order    []Reason
	Doubts   []Reason
	Masked   bool // a constant mask tells positions apart (causal, window)

	e      *eval.Evaluator
	inputs map[string]Input
	made   map[nodeKey][]*Value
	depth  int
	nodes  int
	raw    map[string]bool
	differ map[constantAxis]bool // what was asked of constants before
	masks  map[*eval.Value]bool
}

type nodeKey struct {
	scope *eval.Scope
	node  *onnx.Node
}

// Bounds of a pass: nodes that wait for others, nodes of all scopes, and how many
// reasons of a kind are kept.
const (
	maxDepth   = 4000
	maxNodes   = 1 << 20
	maxReasons = 16
	maxFactors = 64 // of one value
)

// Pass labels what the outputs of an evaluated graph are made of. kind says what
// each input of the main graph holds.
func Pass(e *eval.Evaluator, kind func(*onnx.ValueInfo) Input) *Labels {
	l := &Labels{e: e, inputs: map[string]Input{}, made: map[nodeKey][]*Value{}, raw: map[string]bool{}, differ: map[constantAxis]bool{}, masks: map[*eval.Value]bool{}}
	for _, in := range e.File.Graph.Inputs {
		if e.File.Graph.Initializer(in.Name) == nil {
			l.inputs[in.Name] = kind(in)
		}
	}
	for _, n := range l.live() { // in file order, so that few wait for others
		l.node(e.Main, n)
	}
	for _, o := range e.File.Graph.Outputs {
		l.value(e.Main, o.Name)
	}
	return l
}

// live are the nodes of the main graph that outputs are made of, in file order.
func (l *Labels) live() []*onnx.Node {
	g := l.e.File.Graph
	w := g.Wiring()
	needed := make([]bool, len(g.Nodes))
	var queue []*onnx.Node
	need := func(name string) {
		if number, ok := w.Number(name); ok {
			if n := w.Producer(number); n != nil && !needed[n.Index()] {
				needed[n.Index()] = true
				queue = append(queue, n)
			}
		}
	}
	for _, o := range g.Outputs {
		need(o.Name)
	}
	for i := 0; i < len(queue); i++ {
		for _, in := range queue[i].Inputs {
			need(in)
		}
	}
	return slices.DeleteFunc(slices.Clone(g.Nodes), func(n *onnx.Node) bool { return !needed[n.Index()] })
}

// Of returns what is known of a value of a scope.
func (l *Labels) Of(s *eval.Scope, name string) Value { return *l.value(s, name) }

var constant = &Value{}

// value labels a value, and first what it is made of.
func (l *Labels) value(s *eval.Scope, name string) *Value {
	if name == "" {
		return constant
	}
	name, s = s.Through(name)
	if s == nil {
		return constant
	}
	n, at := s.Find(name)
	if n == nil {
		if in, ok := l.inputs[name]; ok && at == l.e.Main {
			return l.input(name, in)
		}
		return constant
	}
	i, made := at.Place(name)
	if out := l.node(at, n); made && i < len(out) && out[i] != nil {
		return out[i]
	}
	return constant
}

func (l *Labels) input(name string, in Input) *Value {
	v := l.e.Main.Value(name)
	out := &Value{Depends: in.Depends}
	l.raw[name] = in.Raw
	if in.Depends == Constant {
		return out
	}
	for i, size := range v.Shape {
		role := Feature
		if i < len(in.Roles) {
			role = in.Roles[i]
		}
		out.Axes = append(out.Axes, axisOf(role, size))
	}
	return out
}

// node labels the outputs of a node, once.
func (l *Labels) node(s *eval.Scope, n *onnx.Node) []*Value {
	key := nodeKey{s, n}
	if out, done := l.made[key]; done {
		return out
	}
	c := &call{l: l, s: s, n: n}
	s.Spend(1 + len(n.Inputs))
	if l.nodes++; l.depth >= maxDepth || l.nodes > maxNodes {
		c.doubt("the graph is too deep or too large to be followed")
		return c.opaque()
	}
	l.made[key] = nil // a circle has nothing to say
	l.depth++
	out := c.run()
	l.depth--
	l.made[key] = out
	return out
}

// call is one node being labelled.
type call struct {
	l  *Labels
	s  *eval.Scope
	n  *onnx.Node
	in []*Value
}

func (c *call) run() []*Value {
	if child := c.s.Call(c.n); child != nil {
		return c.results(child)
	}
	depends := Constant
	for _, name := range c.n.Inputs {
		v := c.l.value(c.s, name)
		c.in = append(c.in, v)
		depends = max(depends, v.Depends)
	}
	if c.n.Op == "If" && c.n.Domain == "" {
		return c.branches()
	}
	if depends == Constant && !slices.ContainsFunc(c.n.Attributes, func(a *onnx.Attribute) bool { return a.Graph != nil || a.Graphs != nil }) {
		return nil
	}
	rule := ruleOf(c.n)
	if rule == nil {
		c.doubt(fmt.Sprintf("operator %s is not known", operatorName(c.n)))
		return c.opaque()
	}
	out := rule(c)
	for i, v := range out {
		if v != nil && v.Depends == Constant && v.Axes != nil {
			v.Depends = depends
		}
		if v != nil && v.Axes != nil && !c.fits(i, v) {
			c.doubt("its axes could not be followed")
			return c.opaque()
		}
	}
	return out
}

func operatorName(n *onnx.Node) string {
	if n.Domain == "" {
		return n.Op
	}
	return n.Domain + "." + n.Op
}

// fits reports whether labels have the shape that the evaluator found.
func (c *call) fits(i int, v *Value) bool {
	e := c.s.Value(c.n.Output(i))
	if !e.Ranked || len(e.Shape) != len(v.Axes) {
		return false
	}
	factors := 0
	for d, a := range v.Axes {
		factors += len(a)
		if a.size() != e.Shape[d] {
			return false
		}
	}
	return factors <= maxFactors
}

// results are the outputs of a called function or branch.
func (c *call) results(child *eval.Scope) []*Value {
	out := make([]*Value, len(c.n.Outputs))
	for i := range out {
		if i < len(child.Results) {
			out[i] = c.l.value(child, child.Results[i])
		}
	}
	return out
}

// branches are the outputs of an If: of the branch that depends on more.
func (c *call) branches() []*Value {
	out := make([]*Value, len(c.n.Outputs))
	seen := false
	for _, a := range c.n.Attributes {
		if a.Graph == nil {
			continue
		}
		child := c.s.Child(c.n, a.Graph)
		if child == nil {
			continue
		}
		seen = true
		for i, v := range c.results(child) {
			if v != nil && (out[i] == nil || v.Depends > out[i].Depends) {
				e := c.s.Value(c.n.Output(i))
				if v.Axes == nil || e.Ranked && len(e.Shape) == len(v.Axes) {
					out[i] = v
				}
			}
		}
	}
	if !seen {
		c.doubt("neither branch was run")
	}
	return out
}

// opaque is what a node gives that was not understood: content whose every axis
// may be one of positions.
func (c *call) opaque() []*Value {
	out := make([]*Value, len(c.n.Outputs))
	for i, name := range c.n.Outputs {
		out[i] = &Value{Depends: Content, Axes: []Axis{}}
		if name != "" {
			for _, size := range c.s.Value(name).Shape {
				out[i].Axes = append(out[i].Axes, axisOf(Position, size))
			}
		}
	}
	return out
}

func (c *call) doubt(why string) { c.l.Doubts = note(c.l.Doubts, Reason{c.s, c.n, why}) }

func (c *call) order(why string) { c.l.Order = note(c.l.Order, Reason{c.s, c.n, why}) }

func note(list []Reason, r Reason) []Reason {
	if len(list) < maxReasons && !slices.Contains(list, r) {
		list = append(list, r)
	}
	return list
}

// shape is the shape of output i.
func (c *call) shape(i int) []int { return c.s.Value(c.n.Output(i)).Shape }

// of is input i, constant when absent.
func (c *call) of(i int) *Value {
	if i < len(c.in) {
		return c.in[i]
	}
	return constant
}

// known is what the evaluator knows of input i.
func (c *call) known(i int) *eval.Value { return c.s.Value(c.n.Input(i)) }

// ints reads a parameter that is an attribute in older operator sets and an input
// in newer ones.
func (c *call) ints(attribute string, i int) ([]int64, bool) {
	if a := c.n.Attribute(attribute); a != nil {
		return a.Ints, true
	}
	if i < 0 || c.n.Input(i) == "" {
		return nil, false
	}
	v := c.known(i)
	return v.Ints, v.Known() && v.Ints != nil
}

// dimension brings a possibly negative axis into range, −1 when it is outside.
func dimension(axis int64, rank int) int {
	if axis < 0 {
		axis += int64(rank)
	}
	if axis < 0 || axis >= int64(rank) {
		return -1
	}
	return int(axis)
}
