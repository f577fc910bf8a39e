package eval

import (
	"fmt"
	"maps"
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
)

// Evaluator computes values of one model at one set of input sizes, each when
// it is first asked for.
type Evaluator struct {
	File *onnx.File
	// Overlay replaces constants by what they are planned to become.
	Overlay map[*onnx.Tensor]*Value
	// Filled gives constants other numbers than are stored, which say nothing: of tables that were never trained, all zero.
	Filled map[*onnx.Tensor]Pattern
	// Override replaces values of the main graph by others, to see what depends
	// on them.
	Override map[string]*Value
	// Unquantized reads activations that are quantised and at once dequantised
	// as the numbers that they were: what a graph means, not what it loses.
	Unquantized bool
	// MaxFloats bounds the floating-point numbers of a computed value that is
	// kept, 0 for as many as of other values. Few of them say whether a graph runs:
	// sizes and indices are small, or integers.
	MaxFloats int
	// Budget bounds the work of this evaluator and of others of the model together;
	// nil for none. See Spent.
	Budget *Budget
	// Failures are the nodes that could not run at these sizes, in the order
	// in which they were met.
	Failures []Failure
	// Stop ends Run after a failure for which it returns true. It is not asked
	// about what fails in a branch that is not taken, and may be asked about
	// another failure more than once.
	Stop func(Failure) bool

	Main         *Scope
	most         int // elements of a value that are kept
	enlarged     int // elements that were kept beyond that
	enlargements int // how often more was asked for
	largeWork    int // elements that were read and made for that
	resident     int // elements in memory, where large values are computed
	maxWork      int // bound of work
	scopes       []*Scope
	children     map[childKey]*Scope
	stopped      bool
	doubtful     int // branches being run that are not taken
	loaded       int // elements of constants in memory
	cells        int // values and nodes of all scopes
	depth        int
	steps        int
	work         int        // elements read and computed so far
	truths       [2][]int64 // what values of one truth share, false and true
	bounded      string     // what was too much, "" while nothing was
	trial        *trial     // values are given, and reached ones computed in float64; else nil
	args         []*Value   // inputs of the nodes that are being evaluated, as a stack
	calls        spares     // of calls that have ended, to be used again

	// Adjust may put other values in the place of a node's inputs before it is computed: what
	// constants become where sizes beside them are others. nil for none.
	Adjust func(s *Scope, n *onnx.Node, inputs []*Value)

	// operators finds an operator, nil where it is not known.
	operators func(domain, name string) computer
}

// spares are calls that no operator holds.
type spares []*call

// take is one of them, or a new one.
func (s *spares) take() *call {
	last := len(*s) - 1
	if last < 0 {
		return new(call)
	}
	c := (*s)[last]
	*s = (*s)[:last]
	return c
}

// childKey is what a scope inside another belongs to.
type childKey struct {
	outer  *Scope
	caller *onnx.Node
	graph  *onnx.Graph
}

// Failure is a node that an engine would refuse to run at these sizes.
type Failure struct {
	Scope *Scope
	Node  *onnx.Node
	Err   error
}

// Given is the node with the attributes that a function hands on to it.
func (f Failure) Given() *onnx.Node { return f.Scope.resolve(f.Node) }

// Place is that of the node in the main graph: of the call or the node in whose graphs it stands, where it stands in one.
func (f Failure) Place() int {
	n := f.Node
	for s := f.Scope; s != nil && s.Outer != nil; s = s.Outer {
		n = s.Caller
	}
	return n.Place()
}

// maxDepth bounds nested calls of functions and branches.
const maxDepth = 40

// maxSteps bounds evaluated nodes, functions counted at every call: forty
// functions that call each other twice are 2^40 nodes (facts/BAD-INPUTS B34).
const maxSteps = 1 << 20

// maxWaiting bounds the nodes that wait for one another's outputs, of a graph whose
// nodes are in no order.
const maxWaiting = 20000

// maxScopes bounds calls of functions and branches, each of which has tables of
// its own.
const maxScopes = 1 << 14

// maxRank bounds the dimensions of a value: more are in no sound file.
const maxRank = 64

// maxKept bounds the elements of all values that are kept: 64 MB. Those of further
// values are computed when they are asked for, as those of large ones are.
const maxKept = 1 << 23

// maxLoaded bounds the elements of constants that are read and kept: 128 MB. Further
// ones are taken for large.
const maxLoaded = 1 << 24

// maxCells bounds the values and nodes of all scopes together.
const maxCells = 1 << 24

// maxWork bounds the elements that are read and computed in all: a second or so.
const maxWork = 1 << 27

// Scope is one graph being evaluated: the main graph, a branch, or one call of
// a function.
type Scope struct {
	Graph  *onnx.Graph
	Parent *Scope     // the scope around a sub-graph; nil for main and functions
	Caller *onnx.Node // the node that this scope belongs to
	Outer  *Scope     // the scope in which Caller stands
	// Results are the names of the values that the scope gives back.
	Results []string

	eval  *Evaluator
	index int
	given *onnx.Node // function: Caller with the attributes that it hands on
	// attributes are those by name, where they are many.
	attributes map[string]*onnx.Attribute
	wiring     *onnx.Wiring
	values     []*Value          // what is known so far, by the wiring's numbers
	fixed      []bool            // main: values that no input changes
	content    []bool            // main: values that are made of what the model is given; nil: not yet told
	bound      map[string]*Value // what is given from outside
	// running are the nodes that wait for their inputs, by onnx.Node.Index.
	running []bool
	once    map[onceKey]any   // answers to questions about its values
	names   map[string]string // function: formal input → name in Outer
}

// newEvaluator is New with the operators that are known.
func newEvaluator(f *onnx.File, inputs map[string]*Value, operators func(domain, name string) computer) *Evaluator {
	e := &Evaluator{File: f, operators: operators, Overlay: map[*onnx.Tensor]*Value{}, children: map[childKey]*Scope{}, most: maxContent, maxWork: maxWork}
	e.Main = e.scope(f.Graph, nil)
	e.Main.bound = maps.Clone(inputs)
	for name, v := range e.Main.bound {
		if len(v.Shape) > maxRank {
			e.Main.bound[name] = &Value{Type: v.Type}
		}
	}
	e.Main.fixed = make([]bool, len(e.Main.values))
	return e
}

// Again prepares the evaluation of the same model with other inputs. What no
// input changes is taken over, whatever Overlay and Override the new evaluation
// gets; one that has them itself has nothing to give.
func (e *Evaluator) Again(inputs map[string]*Value) *Evaluator {
	next := newEvaluator(e.File, inputs, e.operators)
	next.Unquantized, next.Filled, next.Budget = e.Unquantized, e.Filled, e.Budget
	if len(e.Overlay) > 0 || len(e.Override) > 0 || e.MaxFloats > 0 {
		return next
	}
	for name := range inputs { // a constant that is an input from now on
		if number, ok := e.Main.wiring.Number(name); ok && e.Main.fixed[number] {
			return next
		}
	}
	for number, fixed := range e.Main.fixed {
		if fixed {
			next.Main.values[number], next.Main.fixed[number] = e.Main.values[number], true
		}
	}
	return next
}

func (e *Evaluator) scope(g *onnx.Graph, parent *Scope) *Scope {
	w := g.Wiring()
	s := &Scope{Graph: g, Parent: parent, eval: e, index: len(e.scopes), wiring: w,
		values: make([]*Value, w.Len()), running: make([]bool, len(g.Nodes))}
	e.scopes = append(e.scopes, s)
	return s
}

// Run evaluates every node, in file order, unless Stop ends it; branches and
// called functions too.
func (e *Evaluator) Run() {
	e.Main.run()
}

// Bounded says what was too much to be evaluated, so that values are unknown that
// would not be otherwise; "" where nothing was.
func (e *Evaluator) Bounded() string { return e.bounded }

// bound notes what was too much, the first time.
func (e *Evaluator) bound(format string, args ...any) {
	if e.bounded == "" {
		e.bounded = fmt.Sprintf(format, args...)
	}
}

func (s *Scope) run() {
	for _, n := range s.Graph.InOrder() {
		if s.eval.stopped {
			return
		}
		for i, name := range n.Outputs {
			if number, named := s.wiring.Output(n, i); named {
				s.value(number, name)
				break
			}
		}
	}
}

// Scopes lists the scopes met so far: main first.
func (e *Evaluator) Scopes() []*Scope { return e.scopes }

// Value returns what is known of a value, computing it when first asked. Where the evaluator reads a graph unquantised, a quantised
// activation is the numbers that it was.
func (s *Scope) Value(name string) *Value { return s.eval.meant(s.held(name)) }

// meant is a value as callers read it.
func (e *Evaluator) meant(v *Value) *Value {
	if e.Unquantized && v.before != nil {
		return v.before
	}
	return v
}

// held is Value as nodes compute with it.
func (s *Scope) held(name string) *Value {
	number, used := s.wiring.Number(name)
	if !used {
		number = -1
	}
	return s.value(number, name)
}

// Input returns what is known of a node's input, of an unknown shape where it is
// absent. The node must stand in the scope's own graph.
func (s *Scope) Input(n *onnx.Node, i int) *Value {
	if i < len(n.Inputs) {
		if number, ok := s.wiring.Input(n, i); ok {
			return s.eval.meant(s.value(number, n.Inputs[i]))
		}
	}
	return unknown()
}

// IsQuantised reports whether a node's input holds quantised numbers of which Input returns what they stand for.
func (s *Scope) IsQuantised(n *onnx.Node, i int) bool {
	number, ok := s.wiring.Input(n, i)
	return ok && s.eval.Unquantized && s.value(number, n.Inputs[i]).before != nil
}

// Output returns what is known of a node's output, like Input.
func (s *Scope) Output(n *onnx.Node, i int) *Value {
	if i < len(n.Outputs) {
		if number, ok := s.wiring.Output(n, i); ok {
			return s.eval.meant(s.value(number, n.Outputs[i]))
		}
	}
	return unknown()
}

// value is Value of a name whose number is known, −1 for one that the graph
// does not use.
func (s *Scope) value(number int, name string) *Value {
	if len(s.eval.Override) > 0 && s == s.eval.Main {
		if v, ok := s.eval.Override[name]; ok {
			return v
		}
	}
	if number >= 0 && s.values[number] != nil {
		return s.values[number]
	}
	if number >= 0 {
		name = s.wiring.Name(number) // behind do-nothing nodes
	}
	if s.eval.trial != nil && s == s.eval.Main && number >= 0 {
		if v := s.eval.taken(number, name); v != nil {
			s.values[number] = v
			return v
		}
	}
	if v, ok := s.bound[name]; ok {
		return v
	}
	if number < 0 {
		return s.captured(name)
	}
	if t := s.wiring.Constant(number); t != nil {
		s.values[number] = s.eval.constant(t)
		s.fix(number, true)
		return s.values[number]
	}
	if n := s.wiring.Producer(number); n != nil {
		s.evaluate(n)
		if v := s.values[number]; v != nil {
			return v
		}
		return unknown()
	}
	return s.captured(name)
}

// captured is Value of a name that the graph takes from the one around it.
func (s *Scope) captured(name string) *Value {
	if s.Parent != nil {
		return s.Parent.held(name)
	}
	return unknown()
}

// canonical returns the one name of a value that do-nothing nodes of the scope's own graph give several.
func (s *Scope) canonical(name string) string {
	if number, ok := s.wiring.Number(name); ok {
		return s.wiring.Name(number)
	}
	return name
}

// made returns what the scope's own graph makes a name of: a node or a
// constant, or neither.
func (s *Scope) made(name string) (*onnx.Node, *onnx.Tensor) {
	if number, ok := s.wiring.Number(name); ok {
		return s.wiring.Producer(number), s.wiring.Constant(number)
	}
	return nil, nil
}

// Find returns the node that produces a value, and the scope in which it
// stands: an enclosing one for a captured value, nil for inputs and constants.
func (s *Scope) Find(name string) (*onnx.Node, *Scope) {
	n, at, _ := s.find(name)
	return n, at
}

// find is Find, and the name that the value has there.
func (s *Scope) find(name string) (*onnx.Node, *Scope, string) {
	for ; s != nil; s = s.Parent {
		s.eval.Budget.Spend(1)
		if number, ok := s.wiring.Number(name); ok {
			name = s.wiring.Name(number)
			if n := s.wiring.Producer(number); n != nil {
				return n, s, name
			}
			if s.wiring.Constant(number) != nil {
				return nil, s, name
			}
		}
		if s.bound[name] != nil {
			return nil, s, name
		}
	}
	return nil, nil, name
}

// Place is which output of its node a value is; false where no node of the scope's
// own graph makes it.
func (s *Scope) Place(name string) (int, bool) {
	number, ok := s.wiring.Number(name)
	if !ok || s.wiring.Producer(number) == nil {
		return 0, false
	}
	return s.wiring.Place(number), true
}

// Through follows a name that stands for an input of a function call, or
// through Identity nodes and an If that gives back what was made outside of
// it, to where it is made.
func (s *Scope) Through(name string) (string, *Scope) {
	for range 1000 {
		n, at, there := s.find(name)
		switch {
		case n != nil && n.Op == "Identity" && n.Domain == "":
			name, s = n.Input(0), at
		case n != nil && n.Op == "If" && n.Domain == "":
			taken, result := at.handsBack(n, there)
			if taken == nil {
				return there, at
			}
			name, s = result, taken
		case n == nil && at != nil && at.names[there] != "":
			name, s = at.names[there], at.Outer
		case at != nil:
			return there, at
		default:
			return name, s
		}
	}
	return name, s
}

// handsBack is the scope of the branch that an If takes, and the name there of what it gives, where that is made outside of the branch, by a node or
// a call: an exporter asks how many axes a value has, and leaves it as it is. Constants are chosen, by how long the input is.
func (s *Scope) handsBack(n *onnx.Node, output string) (taken *Scope, result string) {
	condition, known := s.Input(n, 0).Scalar()
	branch := "else_branch"
	if condition != 0 {
		branch = "then_branch"
	}
	a := n.Attribute(branch)
	if !known || a == nil || a.Graph == nil {
		return nil, ""
	}
	i, made := s.Place(output)
	if taken = s.Child(n, a.Graph); taken == nil || !made || i >= len(taken.Results) {
		return nil, ""
	}
	if _, at, _ := taken.find(taken.Results[i]); at == taken || at == nil || taken.Tensor(taken.Results[i]) != nil {
		return nil, ""
	}
	return taken, taken.Results[i]
}

// Tensor returns the constant that a name stands for: an initializer or the
// value of a Constant node, through Identity; else nil.
func (s *Scope) Tensor(name string) *onnx.Tensor {
	name, s = s.Through(name)
	for at := s; at != nil; at = at.Parent {
		name = at.canonical(name)
		n, t := at.made(name)
		if t != nil {
			return t
		}
		if n != nil {
			if n.Op == "Constant" && n.Attribute("value") != nil {
				return n.Attribute("value").Tensor
			}
			return nil
		}
	}
	return nil
}

// Consumers returns the nodes of this scope's graph that read a value.
func (s *Scope) Consumers(name string) []*onnx.Node {
	if number, ok := s.wiring.Number(name); ok {
		readers := s.wiring.Readers(number)
		s.eval.Budget.Spend(1 + len(readers))
		return readers
	}
	return nil
}

// Spend counts n steps of whoever walks the graph against the evaluator's budget.
func (s *Scope) Spend(n int) { s.eval.Budget.Spend(n) }

// Index is the scope's place in Evaluator.Scopes; the same model probed at
// other sizes has its scopes in the same order.
func (s *Scope) Index() int { return s.index }

// Child returns the scope of a branch of a node, nil when it was not run.
func (s *Scope) Child(n *onnx.Node, g *onnx.Graph) *Scope {
	return s.eval.children[childKey{s, n, g}]
}

// inside makes the scope of a branch or call of a node, nil when there are too
// many.
func (s *Scope) inside(n *onnx.Node, g *onnx.Graph, parent *Scope) *Scope {
	s.eval.cells += g.Wiring().Len() + len(g.Nodes)
	if len(s.eval.scopes) >= maxScopes || s.eval.cells > maxCells {
		s.eval.bound("functions and branches are called %d times", len(s.eval.scopes))
		return nil
	}
	if s.nesting() > maxDepth {
		s.eval.bound("functions and branches are nested more than %d deep", maxDepth)
		return nil
	}
	c := s.eval.scope(g, parent)
	c.Caller, c.Outer = n, s
	s.eval.children[childKey{s, n, g}] = c
	return c
}

// Call returns the scope of a node that calls a model-local function, nil for
// any other node.
func (s *Scope) Call(n *onnx.Node) *Scope {
	fn := s.eval.File.Function(n)
	if fn == nil {
		return nil
	}
	return s.Child(n, fn.Graph)
}

func (e *Evaluator) constant(t *onnx.Tensor) *Value {
	if v, ok := e.Overlay[t]; ok {
		return v
	}
	// Many, and most of few dimensions: in one piece of memory.
	made := new(struct {
		Value
		shape  [4]int
		origin [1]*onnx.Tensor
	})
	if len(t.Dims) > maxRank {
		return &Value{Type: t.Type}
	}
	made.origin[0] = t
	shape := made.shape[:0]
	for _, d := range t.Dims {
		shape = append(shape, int(d))
	}
	made.Value = Value{Type: t.Type, Ranked: true, Shape: slices.Clip(shape), stored: t, whole: true, most: int32(e.most), keeper: e, Origins: made.origin[:]}
	if p := e.Filled[t]; p != nil {
		made.Value.Floats, _ = p.Floats(0, int64(made.Value.Len()))
	}
	return &made.Value
}

// evaluate runs one node and stores its outputs.
func (s *Scope) evaluate(n *onnx.Node) {
	if s.running[n.Index()] {
		return // a cycle: nothing is known
	}
	e := s.eval
	e.Budget.Spend(1 + len(n.Inputs) + len(n.Outputs) + len(n.Attributes))
	if e.steps++; e.steps > maxSteps {
		e.bound("more than %d nodes are evaluated", maxSteps)
		return
	}
	if e.depth > maxWaiting {
		e.bound("more than %d nodes wait for one another", maxWaiting)
		return
	}
	s.running[n.Index()] = true
	e.depth++
	outputs, err := s.call(n)
	e.depth--
	s.running[n.Index()] = false
	fixed := s.fixedCall(n)
	if err != nil {
		f := Failure{s, n, err}
		e.Failures = append(e.Failures, f)
		e.stopAt(f)
		outputs = nil
	}
	for i := range n.Outputs {
		number, named := s.wiring.Output(n, i)
		if named {
			s.fix(number, false)
		}
		switch known := i < len(outputs) && outputs[i] != nil && outputs[i].sound(); {
		case known:
			v := s.kept(n, outputs[i])
			if v.Floats != nil && len(n.Inputs) > 1 && !v.ownOrigins {
				v = s.originate(n, v)
			}
			v.large = v.large || !v.has() && s.cut(n, v)
			if e.MaxFloats > 0 && len(v.Floats) > e.MaxFloats && v.stored == nil {
				cut := *v // an output may be an input, and shared
				cut.Floats = nil
				v = &cut
			}
			if named {
				s.values[number] = v
				s.fix(number, fixed)
			}
		case named:
			s.values[number] = unknown()
		}
	}
}

// originate gives numbers the origins of all numbers that they may be computed from:
// whatever an operator keeps of them, none is forgotten. The value itself stays as it is: it
// may be an input, and shared.
func (s *Scope) originate(n *onnx.Node, v *Value) *Value {
	origins := v.Origins
	for i := range n.Inputs {
		in, ok := s.wiring.Input(n, i)
		if !ok || s.values[in] == nil || s.values[in] == v || !s.values[in].Type.IsFloat() {
			continue
		}
		for _, o := range s.values[in].Origins {
			if len(origins) < maxOrigins && !slices.Contains(origins, o) {
				origins = append(slices.Clip(origins), o)
			}
		}
	}
	if len(origins) == len(v.Origins) {
		return v
	}
	more := *v
	more.Origins = origins
	return &more
}

// fix notes whether a value depends on no input.
func (s *Scope) fix(number int, fixed bool) {
	if s.fixed != nil {
		s.fixed[number] = fixed
	}
}

// stopAt ends the run where Stop wants it.
func (e *Evaluator) stopAt(f Failure) {
	if e.Stop != nil && e.doubtful == 0 && !e.stopped {
		e.stopped = e.Stop(f)
	}
}

// fixedCall reports whether a node's outputs depend on no input of the model:
// all of its own are such, and it calls nothing that sees others.
func (s *Scope) fixedCall(n *onnx.Node) bool {
	if s.fixed == nil || s.eval.File.Function(n) != nil {
		return false
	}
	for _, a := range n.Attributes {
		if a.Graph != nil || a.Graphs != nil {
			return false
		}
	}
	for i := range n.Inputs {
		if in, ok := s.wiring.Input(n, i); ok && !s.fixed[in] {
			return false
		}
	}
	return true
}

func (s *Scope) call(n *onnx.Node) ([]*Value, error) {
	if fn := s.eval.File.Function(n); fn != nil {
		return s.callFunction(n, fn), nil
	}
	n = s.resolve(n)
	e := s.eval
	base := len(e.args)
	defer func() { e.args = e.args[:base] }()
	for i, name := range n.Inputs {
		var v *Value
		if number, ok := s.wiring.Input(n, i); ok {
			v = s.value(number, name)
		}
		e.args = append(e.args, v)
	}
	if e.Adjust != nil {
		e.Adjust(s, n, e.args[base:])
	}
	if e.trial != nil && s == e.Main && e.trial.passes(n, e.args[base:]) {
		return []*Value{e.args[base]}, nil
	}
	op := e.operators(n.Domain, n.Op)
	if op == nil || !op.computes() || !e.reads(n, e.args[base:]) {
		return nil, nil
	}
	c := e.calls.take()
	*c = call{s, n, e.args[base:len(e.args):len(e.args)]}
	out, err := op.run(c)
	if e.Unquantized && err == nil {
		c.unquantized(op, out)
	}
	e.worked(c, out)
	e.calls = append(e.calls, c)
	return out, err
}

// fewAttributes is how many attributes of a call are looked through for each that is
// asked for.
const fewAttributes = 16

// handed is an attribute that a function's call hands on, nil when it is absent.
func (s *Scope) handed(name string) *onnx.Attribute {
	if len(s.given.Attributes) <= fewAttributes {
		return s.given.Attribute(name)
	}
	if s.attributes == nil {
		s.attributes = map[string]*onnx.Attribute{}
		for _, a := range s.given.Attributes {
			if s.attributes[a.Name] == nil { // the first counts
				s.attributes[a.Name] = a
			}
		}
	}
	return s.attributes[name]
}

// resolve replaces references to a function's attributes by their values.
func (s *Scope) resolve(n *onnx.Node) *onnx.Node {
	references := false
	for _, a := range n.Attributes {
		references = references || a.Ref != ""
	}
	if !references {
		return n
	}
	at := s
	for at.Parent != nil {
		at = at.Parent
	}
	c := *n
	c.Attributes = nil
	for _, a := range n.Attributes {
		if a.Ref == "" {
			c.Attributes = append(c.Attributes, a)
			continue
		}
		if at.given == nil {
			continue
		}
		if given := at.handed(a.Ref); given != nil {
			b := *given
			b.Name = a.Name
			c.Attributes = append(c.Attributes, &b)
		}
	}
	return &c
}

func (s *Scope) callFunction(n *onnx.Node, fn *onnx.Function) []*Value {
	c := s.inside(n, fn.Graph, nil)
	if c == nil {
		return nil
	}
	c.names, c.bound = map[string]string{}, map[string]*Value{}
	given := *s.resolve(n)
	given.Attributes = slices.Clone(given.Attributes)
	c.given = &given
	for _, a := range fn.Defaults {
		if c.handed(a.Name) == nil {
			given.Attributes = append(given.Attributes, a)
			if c.attributes != nil {
				c.attributes[a.Name] = a
			}
		}
	}
	for i, formal := range fn.Inputs {
		if name := n.Input(i); name != "" {
			c.bound[formal] = s.held(name)
			c.names[formal] = name
		}
	}
	c.Results = fn.Outputs
	c.run()
	out := make([]*Value, len(fn.Outputs))
	for i, name := range fn.Outputs {
		out[i] = c.held(name)
	}
	return out
}

func (s *Scope) nesting() int {
	d := 0
	for ; s != nil; s = s.Outer {
		d++
	}
	return d
}

// branch evaluates a sub-graph that captures this scope.
func (s *Scope) branch(n *onnx.Node, g *onnx.Graph) *Scope {
	if c := s.Child(n, g); c != nil {
		return c
	}
	c := s.inside(n, g, s)
	if c == nil {
		return nil
	}
	for _, o := range g.Outputs {
		c.Results = append(c.Results, o.Name)
	}
	c.run()
	return c
}

// operator computes the outputs of a node from what is known of its inputs. An
// error means that an engine would refuse to run the node.
type operator func(*call) ([]*Value, error)

// computer is an operator as the evaluator knows it.
type computer interface {
	// computes reports whether anything is known of the outputs.
	computes() bool
	// moves reports whether outputs are elements of inputs, in other places.
	moves() bool
	// ofSizes reports whether outputs are made of sizes, and of no content.
	ofSizes() bool
	// sums reports whether outputs are the elements of inputs, or what several of them come to.
	sums() bool
	// run computes the outputs of a call; nil where nothing is known of them.
	run(c *call) ([]*Value, error)
}

// call is one operator call: its node and what is known of its inputs.
type call struct {
	scope *Scope
	node  *onnx.Node
	in    []*Value
}

// input returns input i, nil when it is absent.
func (c *call) input(i int) *Value {
	if i < len(c.in) {
		return c.in[i]
	}
	return nil
}

// need returns input i; unknown when absent.
func (c *call) need(i int) *Value {
	if v := c.input(i); v != nil {
		return v
	}
	return unknown()
}

// ints returns a parameter that older operator sets take as an attribute and
// newer ones as an input. known is false when it is an input of unknown
// content; given is false when it is absent.
func (c *call) ints(attribute string, i int) (values []int64, given, known bool) {
	if a := c.node.Attribute(attribute); a != nil {
		return a.Ints, true, true
	}
	if i < 0 {
		return nil, false, true
	}
	v := c.input(i)
	if v == nil {
		return nil, false, true
	}
	if !v.Known() || v.Ints == nil && v.Len() > 0 {
		return nil, true, false
	}
	c.works(len(v.Ints))
	return v.Ints, true, true
}

// fail is the error of a node that cannot run.
func (c *call) fail(format string, args ...any) error {
	for i, a := range args {
		switch list := a.(type) {
		case []int:
			args[i] = listed(list)
		case []int64:
			args[i] = listed(list)
		}
	}
	return fmt.Errorf("%s: %s", c.node.Op, fmt.Sprintf(format, args...))
}

// maxListed bounds the numbers of a list that a message repeats.
const maxListed = 16

// listed is a list for a message: its first numbers, where they are many.
func listed[T any](list []T) string {
	if len(list) <= maxListed {
		return fmt.Sprint(list)
	}
	return fmt.Sprintf("%v… (%d numbers)", list[:maxListed], len(list))
}

func one(v *Value) []*Value { return []*Value{v} }

// axis brings a possibly negative axis into range; false when it is outside.
func axisOf(axis int64, rank int) (int, bool) {
	d := onnx.Dimension(axis, rank)
	return d, d >= 0
}
