// Package axes follows the axes of an evaluated graph's values from its inputs
// on, to say which of them run over positions (tokens, patches, frames), and
// whether positions can make a difference to the outputs at all.
//
// An axis is a product of atoms. Operators that work element by element, and
// products, lay axes over each other, which makes their atoms one class; a
// Reshape cuts atoms; slices, convolutions and the like make atoms of others.
// What an atom runs over is judged when the whole graph was followed: an input's
// axis, or what came of one, runs over positions, unless weights sum over it.
//
// Start with Pass. A Meeting is a node where data that have an axis of positions
// meet numbers that depend on no content and vary along it: what every position
// encoding comes down to. Order lists operators that tell positions apart in
// another way (a recurrence, a convolution, a shift), Masked says that a constant
// mask does, and Doubts are what was not understood. Without any of these the
// graph is equivariant: permuting the input's positions permutes the outputs.
//
// The package knows operators and shapes; it does not know which encodings there
// are.
package axes

import (
	"fmt"
	"slices"

	"github.com/modelpatch/modelpatch/internal/block"
	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
)

// Dependency is what a value's content depends on.
type Dependency uint8

// Dependencies, from none to all: a value has the greatest of its inputs.
const (
	Constant Dependency = iota // sizes, positions and weights: the same for every content
	Mask                       // which tokens are there (an attention mask, a comparison with the padding id)
	Content                    // tokens, features, pictures
)

// Value is what is known of a value: one Axis a dimension; none where its shape
// is not known.
type Value struct {
	Axes    []Axis
	Depends Dependency

	product  bool     // data times data, and element by element since
	elements []*Value // of a sequence
	places   Axis     // whole numbers that are places along this axis, ranked by content
}

// Input is what the caller says of a graph input.
type Input struct {
	Depends Dependency
	// Tokens tells whole numbers, every axis of which is one of positions, from
	// numbers of which one axis or more is one of features.
	Tokens bool
	// Raw tells a picture or recording itself: a constant of its size that is
	// added to it is part of its preparation.
	Raw bool
}

// Meeting is a node where data meet numbers that vary along their positions.
type Meeting struct {
	Scope *eval.Scope
	Node  *onnx.Node
	Input int    // of the node: the numbers
	Known string // their name, before they are quantised
	Axis  int    // their first axis that lies along positions, −1 where that is not told
	Kind  Kind
	// Covers are the axes of the numbers that lie along positions.
	Covers []int
	Along  []Axis // the data's axes that Covers lie on
	// Free counts the data's other axes of positions, of those whose places see each
	// other somewhere in the graph.
	Free int
}

// Labels is what a pass found.
type Labels struct {
	Meetings []Meeting
	Order    []Reason
	Doubts   []Reason
	Masked   bool      // a constant mask tells positions apart (causal, window)
	Masks    []Meeting // where masks meet the data that operators do not make themselves
	// Untrained are stored tables of zeros that meet the data along positions: nothing of what they do shows.
	Untrained []*onnx.Tensor
	// Whole tells that the data keep the inputs' axes whole and that nothing is made of their sizes or of positions: a longer input has more
	// places, and nothing that a short one does not show.
	Whole bool

	e         *eval.Evaluator
	inputs    map[string]Input
	inputAxes map[string][]*Atom
	demands   []Demand
	ahead     []onnx.InputAxis
	attending []*Atom  // see compares
	order     []string // names of inputs, as the graph lists them
	made      map[*eval.Scope][]labelled
	given     map[string]*Value                 // of inputs
	bodies    map[*eval.Scope]map[string]*Value // of what is handed to the bodies of loops
	depth     int
	nodes     int
	atoms     int
	room      rooms
	full      bool
	events    [][]event // in blocks
	cuts      []*Atom
	cutAt     map[*Atom]Reason
	derived   map[derivationKey]*Atom
	differ    map[constantAxis]bool // what was asked of constants before
	masks     map[*eval.Value]bool
	way       map[*Atom]int // those under way, by their place, and those that wait for one of them, by its
	ring      int           // the first of way that was asked for
	ringed    []*Atom
}

// rooms are where what a pass makes for every node is taken from.
type rooms struct {
	atoms   block.Of[Atom]
	factors block.Of[Factor]
	axes    block.Of[Axis]
	values  block.Of[Value]
	outputs block.Of[*Value]
	dims    block.Of[dim]
	calls   []*call // those that are done
}

// labelled is what was made of a node of a scope, by its place in the graph.
type labelled struct {
	out  []*Value
	done bool
}

// Bounds of a pass: nodes that wait for others, nodes of all scopes, and how many
// reasons and meetings are kept.
const (
	maxDepth    = 4000
	maxNodes    = 1 << 20
	maxReasons  = 16
	maxMeetings = 1 << 14
	maxFactors  = 64 // of one value
)

// Pass labels what the outputs of an evaluated graph are made of. given are the inputs of the main
// graph, or values of it that stand for them; kind says what each holds.
func Pass(e *eval.Evaluator, given []*onnx.ValueInfo, kind func(*onnx.ValueInfo) Input) *Labels {
	l := &Labels{Whole: true, e: e, inputs: map[string]Input{}, inputAxes: map[string][]*Atom{}, given: map[string]*Value{}, bodies: map[*eval.Scope]map[string]*Value{}, made: map[*eval.Scope][]labelled{},
		cutAt: map[*Atom]Reason{}, derived: map[derivationKey]*Atom{}, differ: map[constantAxis]bool{}, masks: map[*eval.Value]bool{}, way: map[*Atom]int{}}
	for _, in := range given {
		if e.File.Graph.Initializer(in.Name) == nil {
			l.inputs[in.Name] = kind(in)
			l.Whole = l.Whole && l.inputs[in.Name].Depends == Content
			l.order = append(l.order, in.Name)
		}
	}
	live := l.live()
	for _, n := range e.File.Graph.Nodes { // in file order, so that few wait for others
		if live[n.Index()] {
			l.node(e.Main, n)
		}
	}
	for _, o := range e.File.Graph.Outputs {
		l.value(e.Main, o.Name)
	}
	l.judge()
	return l
}

// live tells of the nodes of the main graph which outputs are made of.
func (l *Labels) live() []bool {
	g := l.e.File.Graph
	w := g.Wiring()
	needed := make([]bool, len(g.Nodes))
	queue := make([]*onnx.Node, 0, len(g.Nodes))
	need := func(number int) {
		if n := w.Producer(number); n != nil && !needed[n.Index()] {
			needed[n.Index()] = true
			queue = append(queue, n)
		}
	}
	for _, o := range g.Outputs {
		if number, ok := w.Number(o.Name); ok {
			need(number)
		}
	}
	for i := 0; i < len(queue); i++ {
		for k := range min(operands(queue[i]), len(queue[i].Inputs)) {
			if number, ok := w.Input(queue[i], k); ok {
				need(number)
			}
		}
	}
	return needed
}

// Of returns what is known of a value of a scope.
func (l *Labels) Of(s *eval.Scope, name string) Value { return *l.value(s, name) }

// absent is an input that is not given.
var absent = &Value{}

// value labels a value, and first what it is made of. A constant has atoms of its
// own for each reader: exporters merge constants that happen to be equal.
func (l *Labels) value(s *eval.Scope, name string) *Value {
	if name == "" {
		return absent
	}
	at, from := s.Through(name)
	if from == nil {
		return l.constant(s.Value(name), Constant)
	}
	n, scope := from.Find(at)
	if in, ok := l.inputs[at]; ok && scope == l.e.Main {
		return l.input(at, in)
	}
	if n == nil {
		if v := l.bodies[scope][at]; v != nil {
			return v
		}
		return l.constant(from.Value(at), Constant)
	}
	if n.Op == "Constant" && n.Domain == "" {
		return l.constant(from.Value(at), Constant)
	}
	i, made := scope.Place(at)
	if out := l.node(scope, n); made && i < len(out) && out[i] != nil {
		return out[i]
	}
	return l.constant(from.Value(at), Constant)
}

// operand labels input i of a node. In the main graph, whose values are all its own,
// it is found by number.
func (l *Labels) operand(s *eval.Scope, n *onnx.Node, i int) *Value {
	w := s.Graph.Wiring()
	number, ok := w.Input(n, i)
	if !ok {
		return absent
	}
	if s != l.e.Main || w.Constant(number) == nil && w.Producer(number) == nil {
		return l.value(s, n.Inputs[i])
	}
	if in, ok := l.inputs[w.Name(number)]; ok {
		return l.input(w.Name(number), in)
	}
	p := w.Producer(number)
	if w.Constant(number) != nil || p.Op == "Constant" && p.Domain == "" {
		return l.constant(s.Input(n, i), Constant)
	}
	if out := l.node(s, p); w.Place(number) < len(out) && out[w.Place(number)] != nil {
		return out[w.Place(number)]
	}
	return l.constant(s.Input(n, i), Constant)
}

// constant is a value whose axes are its own.
func (l *Labels) constant(e *eval.Value, depends Dependency) *Value {
	v := l.room.values.One()
	v.Depends = depends
	if !e.Ranked {
		return v
	}
	v.Axes = l.axes(len(e.Shape))
	for d, size := range e.Shape {
		v.Axes[d] = l.fresh(size)
	}
	return v
}

func (l *Labels) input(name string, in Input) *Value {
	if v := l.given[name]; v != nil {
		return v
	}
	v := l.constant(l.e.Main.Value(name), in.Depends)
	for d, axis := range v.Axes {
		for _, f := range axis {
			f.own().inputs = []onnx.InputAxis{{Input: name, Axis: d}}
			if in.Depends == Content {
				l.inputAxes[name] = append(l.inputAxes[name], f.Atom)
			}
		}
	}
	l.given[name] = v
	return v
}

// node labels the outputs of a node, once.
func (l *Labels) node(s *eval.Scope, n *onnx.Node) []*Value {
	made := l.made[s]
	if made == nil {
		made = make([]labelled, len(s.Graph.Nodes))
		l.made[s] = made
	}
	if n.Index() >= len(made) { // put into the graph since
		return l.call(s, n).opaque()
	}
	if here := made[n.Index()]; here.done {
		return here.out
	}
	c := l.call(s, n)
	s.Spend(1 + len(n.Inputs))
	if l.nodes++; l.depth >= maxDepth || l.nodes > maxNodes {
		c.doubt("the graph is too deep or too large to be followed")
		return c.opaque()
	}
	made[n.Index()].done = true // a circle has nothing to say
	l.depth++
	cuts := len(l.cuts)
	out := c.run()
	for _, a := range l.cuts[cuts:] {
		if _, told := l.cutAt[a]; !told && !c.quiet {
			l.cutAt[a] = Reason{s, n, "takes positions apart into groups"}
		}
	}
	l.depth--
	made[n.Index()].out = out
	l.room.calls = append(l.room.calls, c)
	return out
}

// call is a node to be labelled.
func (l *Labels) call(s *eval.Scope, n *onnx.Node) *call {
	last := len(l.room.calls) - 1
	if last < 0 {
		return &call{l: l, s: s, n: n}
	}
	c := l.room.calls[last]
	l.room.calls = l.room.calls[:last]
	*c = call{l: l, s: s, n: n, in: c.in[:0], all: c.all[:0], laid: c.laid[:0]}
	return c
}

// axes are n axes of size 1; not nil, as the axes of a value of known shape never are.
func (l *Labels) axes(n int) []Axis {
	if n == 0 {
		return []Axis{}
	}
	return l.room.axes.Many(n)
}

// one is the only output of a node.
func (l *Labels) one(v Value) []*Value {
	out := l.room.outputs.Many(1)
	out[0] = l.room.values.One()
	*out[0] = v
	return out
}

// call is one node being labelled.
type call struct {
	l     *Labels
	s     *eval.Scope
	n     *onnx.Node
	in    []*Value
	chose []int  // inputs that stand as operands 0, 1, 2 …, between scales and zero points; nil: all
	all   []int  // the places of all inputs
	laid  []Axis // axes on the way to be kept
	row   *eval.Operator
	last  bool // channels stand behind rows and columns
	quiet bool // nothing that it is made of is content: it is evaluated, and raises no doubt
}

// tellsPadding reports whether an output is the truth that content has as it comes (eval: "compared"), or as probes feed it: whether it is padding.
func (c *call) tellsPadding(i int) bool {
	e := c.s.Output(c.n, i)
	return e.Type == onnx.Bool && e.Known() && e.Data
}

// weighs reports whether weights are summed over by truth values, to numbers that are not known: what is told of a token so, a one where it is
// one of a vocabulary, is no mask.
func (c *call) weighs() bool {
	constant := func(v *Value) bool { return v != absent && v.Depends == Constant }
	return c.row != nil && c.row.In(eval.Product|eval.Convolution|eval.Recurrence) && slices.ContainsFunc(c.in, constant) && !c.s.Output(c.n, 0).Known()
}

func (c *call) run() []*Value {
	if child := c.s.Call(c.n); child != nil {
		c.l.Whole = false
		return c.results(child)
	}
	depends := Constant
	some := operands(c.n)
	for i := range c.n.Inputs {
		in := absent
		if i < some {
			in = c.l.operand(c.s, c.n, i)
		}
		c.in = append(c.in, in)
		depends = max(depends, in.Depends)
	}
	body := slices.ContainsFunc(c.n.Attributes, func(a *onnx.Attribute) bool { return a.Graph != nil || a.Graphs != nil })
	if body { // what it takes from outside is not among its inputs
		depends = Content
	}
	rule, row := ruleOf(c.n)
	c.row = row
	if depends == Mask && c.weighs() {
		depends = Content
		for i, in := range c.in {
			if in.Depends == Mask {
				told := *in
				told.Depends, c.in[i] = Content, &told
			}
		}
	}
	c.quiet = depends < Content
	c.l.Whole = c.l.Whole && (len(c.n.Inputs) == 0 || row != nil && keepsWhole[row.Axes])
	if rule == nil {
		c.doubt(fmt.Sprintf("operator %s is not known", operatorName(c.n)))
		return c.unfollowed(depends)
	}
	if row.Axes == eval.AxesRandom {
		depends = Content
	}
	out := rule(c)
	places := c.places()
	for i := range c.n.Outputs {
		if i >= len(out) || out[i] == nil {
			continue
		}
		if places != nil && out[i].places == nil && !slices.Contains(c.in, out[i]) {
			out[i].places = places
		}
		out[i].Depends = max(out[i].Depends, Constant)
		if out[i].Depends > depends {
			out[i].Depends = depends
		}
		if out[i].Depends == Content && c.tellsPadding(i) {
			mask := *out[i]
			mask.Depends, out[i] = Mask, &mask
		}
		if !c.fits(i, out[i]) && c.unread(i) {
			out[i] = c.l.constant(c.s.Output(c.n, i), out[i].Depends)
		} else if !c.fits(i, out[i]) {
			if depends = min(depends, out[i].Depends); depends == Content { // what a branch computes of constants and shapes may be none
				why := "its axes could not be followed"
				if c.meetsUnknown() {
					why = UnknownNumbers
				}
				c.doubt(why)
			}
			return c.unfollowed(depends)
		}
	}
	return out
}

// UnknownNumbers is the reason of a doubt about a node where data meet numbers that depend on no content, and of which not even the size is known.
const UnknownNumbers = "numbers of a size that is not known meet the data"

// meetsUnknown reports whether a node computes with data and with numbers that depend on no content, whose size is not known.
func (c *call) meetsUnknown() bool {
	if !c.row.In(eval.ByElement | eval.Joining) {
		return false
	}
	unknown, data := false, false
	for i := range c.in {
		data = data || c.in[i].Depends == Content && c.known(i).Ranked
		unknown = unknown || c.in[i].Depends < Content && c.n.Input(i) != "" && !c.known(i).Ranked
	}
	return unknown && data
}

func operatorName(n *onnx.Node) string {
	if n.Domain == "" {
		return n.Op
	}
	return n.Domain + "." + n.Op
}

// unread reports whether nothing reads an output: means and masks that exporters name and nobody wants.
func (c *call) unread(i int) bool {
	name := c.n.Output(i)
	g := c.s.Graph
	holds := func(n *onnx.Node) bool {
		return slices.ContainsFunc(n.Attributes, func(a *onnx.Attribute) bool { return a.Graph != nil || a.Graphs != nil })
	}
	return len(c.s.Consumers(name)) == 0 && !slices.ContainsFunc(g.Outputs, func(o *onnx.ValueInfo) bool { return o.Name == name }) && !slices.ContainsFunc(g.Nodes, holds)
}

// fits reports whether labels have the shape that the evaluator found.
func (c *call) fits(i int, v *Value) bool {
	if c.n.Output(i) == "" {
		return true
	}
	e := c.s.Output(c.n, i)
	if !e.Ranked {
		return v.Axes == nil && (c.quiet || e.Sequence && len(v.elements) == len(e.Elements))
	}
	if len(e.Shape) != len(v.Axes) {
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

// branches are the outputs of an If: of the branch that depends on more, whose axes
// are also those of the other, or of the only one that is ever taken.
func (c *call) branches() []*Value {
	out := make([]*Value, len(c.n.Outputs))
	seen := false
	condition, known := c.known(0).Scalar()
	never := map[bool]string{true: "else_branch", false: "then_branch"}[condition != 0]
	if !known || c.of(0).Depends > Constant {
		never = ""
	}
	for _, a := range c.n.Attributes {
		if a.Graph == nil || a.Name == never {
			continue
		}
		child := c.s.Child(c.n, a.Graph)
		if child == nil {
			continue
		}
		seen = true
		for i, v := range c.results(child) {
			switch {
			case v == nil:
			case out[i] == nil:
				out[i] = v
			default:
				more, less := out[i], v
				if v.Depends > out[i].Depends {
					more, less = v, out[i]
				}
				for d := range min(len(more.Axes), len(less.Axes)) {
					c.l.unite(c, more.Axes[d], less.Axes[d])
				}
				if e := c.s.Value(c.n.Output(i)); !e.Ranked || len(e.Shape) == len(more.Axes) {
					out[i] = more
				}
			}
		}
	}
	if !seen {
		c.doubt("neither branch was run")
	}
	return out
}

// opaque is what a node gives that was not understood: content, of whose axes nothing is known. That is a doubt
// where content goes in, told here unless its own was told before.
func (c *call) opaque() []*Value {
	told := len(c.l.Doubts) > 0 && c.l.Doubts[len(c.l.Doubts)-1].Node == c.n
	if !told && slices.ContainsFunc(c.in, func(v *Value) bool { return v.Depends == Content }) {
		c.doubt("what it does with its axes is not followed")
	}
	return c.unfollowed(Content)
}

func (c *call) unfollowed(depends Dependency) []*Value {
	out := make([]*Value, len(c.n.Outputs))
	for i, name := range c.n.Outputs {
		if name == "" {
			out[i] = absent
			continue
		}
		out[i] = c.l.constant(c.s.Value(name), depends)
	}
	return out
}

func (c *call) doubt(why string) {
	if !c.quiet {
		c.l.Doubts = note(c.l.Doubts, Reason{c.s, c.n, why})
	}
}

// places is the axis of which the results of the node are places still, as numbers that
// go in are: computed with, or moved.
func (c *call) places() Axis {
	if c.quiet || !c.row.In(eval.ByElement|eval.Layout|eval.Repetition|eval.Selection|eval.Joining|eval.Choice) || !c.s.Output(c.n, 0).Type.IsInteger() {
		return nil
	}
	for _, in := range c.in {
		if in.places != nil || c.row.In(eval.Selection) {
			return in.places
		}
	}
	return nil
}

// picksByPlace notes that known numbers are picked by places of the data, if the axis is one of positions:
// what belongs to a place comes to the data again, by a way that is not followed.
func (c *call) picksByPlace(numbers, index int) {
	if places := c.of(index).places; places != nil && !c.isData(numbers) {
		c.l.event(c, event{kind: doubting, other: places, why: "looks up numbers by the ranked places of data"})
	}
}

// orders notes that the node tells positions apart, if the axis is one of theirs.
func (c *call) orders(axis Axis, why string) {
	if len(axis) > 0 {
		c.l.event(c, event{kind: ordering, other: axis, why: why})
	}
}

// shape is that of an output; of one whose channels stand last, as if they stood second.
func (c *call) shape(i int) []int {
	shape := c.s.Output(c.n, i).Shape
	if k := len(shape) - 1; c.last && k > 1 {
		return slices.Concat(shape[:1], shape[k:], shape[1:k])
	}
	return shape
}

// input is the input that is operand i.
func (c *call) input(i int) int {
	switch {
	case c.chose == nil:
		return i
	case i >= 0 && i < len(c.chose):
		return c.chose[i]
	}
	return len(c.in) // absent
}

// operands are how many there are.
func (c *call) operands() int {
	if c.chose != nil {
		return len(c.chose)
	}
	return len(c.in)
}

// of is operand i, empty when absent.
func (c *call) of(i int) *Value {
	if i = c.input(i); i >= 0 && i < len(c.in) {
		return c.in[i]
	}
	return absent
}

// given reports whether there is an operand i.
func (c *call) given(i int) bool { return c.n.Input(c.input(i)) != "" }

// isData reports whether operand i is content.
func (c *call) isData(i int) bool { return c.of(i).Depends == Content }

// known is what the evaluator knows of operand i.
func (c *call) known(i int) *eval.Value { return c.s.Input(c.n, c.input(i)) }

// ints reads a parameter that is an attribute in older operator sets and an input
// in newer ones.
func (c *call) ints(attribute string, i int) ([]int64, bool) {
	if a := c.n.Attribute(attribute); a != nil {
		return a.Ints, true
	}
	if i < 0 || !c.given(i) {
		return nil, false
	}
	v := c.known(i)
	return v.Ints, v.Known() && v.Ints != nil
}
