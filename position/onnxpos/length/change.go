// Package length changes what belongs to no encoding and hangs on the length of an
// ONNX graph all the same: masks, buffers of positions, shape constants, fixed
// dimensions, declared shapes. A Change evaluates the graph at the new length, and
// each node that fails names the constants to grow (facts/ONNX-PATTERNS §7); what it
// cannot place is a refusal.
package length

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/patch"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/onnxpos/partition"
	"github.com/modelpatch/modelpatch/position/onnxpos/probe"
	"github.com/modelpatch/modelpatch/position/onnxpos/recurrence"
	"github.com/modelpatch/modelpatch/position/onnxpos/rows"
	"github.com/modelpatch/modelpatch/position/onnxpos/saturation"
	"github.com/modelpatch/modelpatch/position/onnxpos/scored"
	"github.com/modelpatch/modelpatch/position/onnxpos/site"
	"github.com/modelpatch/modelpatch/position/onnxpos/trace"
	"github.com/modelpatch/modelpatch/report"
)

// Change is one SetLength at work: it probes all shapes at the new
// length; each node that fails names the constants to grow
// (facts/ONNX-PATTERNS §7).
type Change struct {
	Graph    *site.Graph // as it is in the file
	sites    []site.Site
	doubted  Doubts
	old, New int // positions
	sizes    probe.Sizes
	Image    [2]int                  // height and width of the new picture; zeros: no change of it
	grids    [2][2]int               // of a picture: the old and the new patches
	along    [2]int                  // of a video: the old and the new patches along time
	tubelet  int                     // frames of a video that a patch has along time
	followed *sizes                  // of a picture, or of a recording of which shapes were folded: what follows node by node, as last evaluated
	folded   bool                    // shapes that a recording or a text of one length passes on its way are constants, or may be
	last     bool                    // see sizes.last
	windowed *[]*partition.Partition // attentions within windows of the picture, once they were looked for
	window   [2]int                  // the height and width of windows that were asked for; zeros: not
	alone    bool                    // only pictures of the new size have masks for their windows
	batch    *eval.Evaluator         // of the old size, with a batch of two; nil until it was asked for, or where the batch is not free
	Frames   int                     // of the new recording; 0: no change of it
	// framesAxis is the axis of the recording that they lie on.
	framesAxis int
	pairs      []numberPair // what stands for the old size, and for the new
	probed     int          // evaluations so far
	planned    map[*onnx.Tensor]*plannedConstant
	offered    map[*onnx.Tensor][]*plannedConstant // candidates, once they were asked for
	contents   *map[*plannedConstant]bool          // planned constants whose content is in memory
	large      *string                             // a constant that would be too large to be grown
	steps      recurrence.Steps                    // of a recurrence that was written out
	known      map[*onnx.Node]bool                 // nodes that fail at the old length, too
}

// numberPair is a number that stands for the old size in a graph and the one
// that takes its place.
type numberPair struct{ old, new int }

// plannedConstant is what a constant will become.
type plannedConstant struct {
	dims []int64
	ints []int64       // content, where it is few integers
	fill rows.FillFunc // content, where it is computed when it is read
	made *eval.Value
	free bool // a shape that keeps the length of what is given to it
	why  string
}

// Planned constants whose content the evaluator gets: of one, and of all together. Where
// there are more, it gets that of small ones.
const (
	maxPlanned      = 1 << 22
	maxPlannedInAll = 1 << 23
	smallPlanned    = 1 << 17
)

// value is what a constant will be, with its content where it has no more elements
// than given.
func (p *plannedConstant) value(t *onnx.Tensor, most int) *eval.Value {
	shape := make([]int, len(p.dims))
	for i, d := range p.dims {
		shape[i] = int(d)
	}
	v := eval.Shaped(t.Type, shape...)
	v.Origins = []*onnx.Tensor{t}
	n := onnx.Size(p.dims)
	switch {
	case p.ints != nil:
		v.Ints = p.ints
	case n > most:
	case p.made != nil:
		v.Ints, v.Floats = p.made.Ints, p.made.Floats
	default:
		x := make([]float64, n)
		if p.fill(0, x) != nil {
			return v
		}
		if t.Type.IsFloat() {
			v.Floats = x
		} else {
			v.Ints = make([]int64, n)
			for i := range x {
				v.Ints[i] = int64(x[i])
			}
		}
		p.made = v
	}
	return v
}

// maxProbes bounds the evaluations of one change, so that a graph in which
// nothing helps is refused in time.
const maxProbes = 4000

// maxGrowths bounds the rounds of probing: each repairs a constant.
const maxGrowths = 200

// SetLength changes masks, buffers, shape constants and fixed dimensions that
// hold the length, so that the graph runs at the new one.
func (c *Change) SetLength() error {
	m := c.Graph
	if in := m.Recording(); in != nil && m.TokenMatrix() == nil {
		return c.setRecording(in)
	}
	if m.ImageInput() != nil && m.TokenInput() == nil {
		return &position.Refusal{Why: "the length follows from the size of the picture",
			Remedies: []report.Remedy{report.Do("extend", "", "image", "SIZE")}}
	}
	if m.WaveInput() != nil {
		return &position.Refusal{Why: "the length follows from that of the recording",
			Instead: "export the model for recordings of the wanted length"}
	}
	if groups := recurrence.Find(m); groups != nil {
		defer m.Restore()
		why := ""
		if c.steps, why = recurrence.Unroll(m, groups, c.New); why != "" {
			return &position.Refusal{Why: fmt.Sprintf("the graph is unrolled: it treats each of its %d positions by nodes of its own, such as %s, and %s", m.FixedLength(), groups[0].Node.Title(), why),
				Instead: "export the model for the wanted length"}
		}
	}
	c.sizes, c.folded = c.Graph.SizedAs(c.old, c.New), c.Graph.FixedLength() > 0
	c.pairs = c.lengths()
	return c.run()
}

// Overrider is implemented by sites that put constants in the place of values of the main
// graph: Override tells an evaluator of them, by the names of the old ones.
type Overrider interface {
	Override(into map[string]*eval.Value)
}

// Adjuster is implemented by sites that change what nodes get: Adjust puts it in the place of a node's
// inputs.
type Adjuster interface {
	Adjust(n *onnx.Node, inputs []*eval.Value)
}

// Follower is implemented by sites that can tell, of the graph as it is planned, whether it takes from
// their constants what the new length needs.
type Follower interface {
	Follows(e *eval.Evaluator) error
}

// Keeper is implemented by sites that can tell, of the graph as it is planned and evaluated at the sizes of before, whether it takes from their
// constants what it took.
type Keeper interface {
	Keeps(evaluate func() *eval.Evaluator) error
}

// Cutter is implemented by sites of a table of rows and columns of which the graph cuts out a part.
type Cutter interface{ Cuts() []Cut }

// Cut is the part along one axis of a table, the rows first, before and now.
type Cut struct{ Of, First, Size, NewFirst, NewSize int }

// Doubts refuses a change with which the graph runs, by an evaluation of it as
// planned, and which cannot be meant all the same.
type Doubts func(c *Change, e *eval.Evaluator) error

// New prepares a change of length, of a graph in which sites hold their new
// numbers already.
func New(g *site.Graph, sites []site.Site, old, new int, doubts Doubts) *Change {
	return &Change{Graph: g, sites: sites, doubted: doubts, old: old, New: new, sizes: g.Sizes, planned: map[*onnx.Tensor]*plannedConstant{},
		offered: map[*onnx.Tensor][]*plannedConstant{}, contents: pointer(map[*plannedConstant]bool{}), large: pointer("")}
}

// Sites are those of the graph.
func (c *Change) Sites() []site.Site { return c.sites }

func pointer[T any](v T) *T { return &v }

// changeSteps are the steps that a change of length may take beyond those of
// inspection: it evaluates the graph anew for every constant that it tries.
const changeSteps = 1 << 28

// run grows what fails, records it and corrects what the file declares.
func (c *Change) run() error {
	c.Graph.Budget.What = "the search for what hangs on the length"
	c.Graph.Budget.Grant(changeSteps)
	c.known = c.Graph.FailsAnyway()
	grow := c.grow
	if c.Image != [2]int{} || c.folded {
		grow = c.growSizes
	}
	if err := grow(); err != nil {
		return err
	}
	if c.Image != [2]int{} {
		if err := c.outputsFollow(); err != nil {
			return err
		}
	}
	if err := c.stepsStay(); err != nil {
		return err
	}
	if err := c.write(); err != nil {
		return err
	}
	return c.declare()
}

// stepsStay refuses a change of numbers that count from step to step of a recurrence: one of them may be what the length was.
func (c *Change) stepsStay() error {
	for _, n := range c.Graph.File.Graph.Nodes {
		if !c.steps.Nodes[n] {
			continue
		}
		for i, in := range n.Inputs {
			t := c.Graph.Eval.Main.Tensor(in)
			if t == nil || !c.steps.Counters[t] {
				continue
			}
			follows := false
			if c.followed != nil {
				_, follows = c.followed.given[given{n, i}]
			}
			if follows || c.planned[t] != nil {
				return c.Refuse(n, "a number of a step of the recurrence would be taken for the length")
			}
		}
	}
	return nil
}

// probe evaluates the graph as it is planned, at the new length.
func (c *Change) probe() *eval.Evaluator {
	return c.evaluate(c.inputs())
}

// evaluate runs the graph as it is planned.
func (c *Change) evaluate(inputs map[string]*eval.Value) *eval.Evaluator {
	c.probed++
	c.Graph.SpendEvaluation()
	e := c.Graph.Evaluator(inputs)
	for _, s := range c.sites {
		s.Overlay(e.Overlay)
		if o, ok := s.(Overrider); ok {
			if e.Override == nil {
				e.Override = map[string]*eval.Value{}
			}
			o.Override(e.Override)
		}
	}
	total := 0
	for _, p := range c.planned {
		total += min(onnx.Size(p.dims), maxPlannedInAll)
	}
	most := maxPlanned
	if total > maxPlannedInAll {
		most = smallPlanned
	}
	for t, p := range c.planned {
		e.Overlay[t] = p.value(t, most)
	}
	c.forget()
	switch {
	case c.Image != [2]int{}:
		c.followed = c.pictureSizes()
	case c.folded && c.Frames > 0:
		c.followed = c.seriesSizes(c.frames(c.Graph.Recording(), c.framesAxis), c.Frames)
	case c.folded && c.Graph.FixedLength() > 0:
		c.followed = c.seriesSizes(c.Graph.FixedLength(), c.New)
	}
	e.Adjust = c.adjust
	e.Run()
	return e
}

// adjust tells an evaluator what nodes get in the graph as it is planned.
func (c *Change) adjust(s *eval.Scope, n *onnx.Node, inputs []*eval.Value) {
	for _, a := range c.sites {
		if a, ok := a.(Adjuster); ok {
			a.Adjust(n, inputs)
		}
	}
	if c.followed != nil {
		c.followed.adjust(s, n, inputs)
	}
}

// forget drops the content of constants that are not planned any more.
func (c *Change) forget() {
	held := map[*plannedConstant]bool{}
	for _, p := range c.planned {
		if p.made != nil {
			held[p] = true
		}
	}
	for p := range *c.contents {
		if !held[p] {
			p.made = nil
		}
	}
	*c.contents = held
}

// inputs are probing inputs of the new size: of a picture, a recording, a fixed length, or of keys and values that a call writes into.
func (c *Change) inputs() map[string]*eval.Value {
	fixed, caches := c.Graph.FixedLength(), c.Graph.CachesOf(c.old)
	picture, recording, sequence := c.Graph.ImageInput(), c.Graph.Recording(), c.Graph.TokenInput()
	return c.inputsWith(func(in *onnx.ValueInfo) {
		switch {
		case c.Image != [2]int{}:
			if in.Name == picture.Name {
				c.givePicture(in)
			}
		case c.Frames > 0:
			if in.Name == recording.Name {
				in.Dims[c.framesAxis].Value = int64(c.Frames)
			}
		case c.New == 0: // of which free axes alone become numbers
		case fixed > 0:
			for i, d := range in.Dims {
				if int(d.Value) == fixed && (isSequenceAxis(in, i) || sequence != nil && in.Name == sequence.Name && i == c.Graph.SequenceAxis(sequence)) {
					in.Dims[i].Value = int64(c.New)
				}
			}
		case caches[in.Name] > 0:
			in.Dims[caches[in.Name]].Value += int64(c.New - c.old)
		}
	})
}

// givePicture gives the declaration of a picture or video its new size.
func (c *Change) givePicture(in *onnx.ValueInfo) {
	height, width := probe.PictureSides(in)
	in.Dims[height].Value, in.Dims[width].Value = int64(c.Image[0]), int64(c.Image[1])
	for axis := range in.Dims {
		if c.Graph.IsFrames(in.Name, axis) {
			in.Dims[axis].Value = int64(c.along[1] * c.tubelet)
		}
	}
}

// inputsWith are probing inputs after a change of copies of their declarations.
func (c *Change) inputsWith(change func(in *onnx.ValueInfo)) map[string]*eval.Value {
	graph, file := *c.Graph.File.Graph, *c.Graph.File
	graph.Inputs = nil
	for _, in := range probe.Given(c.Graph.File) {
		copied := *in
		copied.Dims = slices.Clone(in.Dims)
		change(&copied)
		graph.Inputs = append(graph.Inputs, &copied)
	}
	file.Graph = &graph
	return probe.Inputs(&file, c.sizes)
}

// isSequenceAxis reports whether a dimension of an input that equals the fixed
// length is the sequence: of tokens any, of features the one before the last, though the first is the batch where there are more
// than two (coordinates of places have none: img_ids of Flux).
func isSequenceAxis(in *onnx.ValueInfo, axis int) bool {
	if in.Type.IsInteger() {
		return axis > 0 || len(in.Dims) == 1 || in.Dims[axis].Value > 1
	}
	return (axis > 0 || len(in.Dims) == 2 && in.Dims[axis].Value > 1) && axis < len(in.Dims)-1
}

// grow repairs failing nodes one after another.
func (c *Change) grow() error {
	for range maxGrowths {
		failure, _ := c.problem()
		if failure == nil {
			e := c.probe()
			node, s, name := c.shortIndex(e)
			if node == nil {
				return c.accept(e)
			}
			if !c.repairIndex(s, name) {
				return c.Refuse(node, "its positions stop counting before the new length")
			}
			continue
		}
		if c.followed != nil && c.followed.firm[failure.Node] || !c.repair(failure) {
			return c.Refuse(failure.Node, failure.Err.Error())
		}
	}
	return &position.Refusal{Why: "too many constants depend on the length", Instead: "export the model with a free sequence length"}
}

// accept refuses a graph that runs as it is planned, and is not what was meant.
func (c *Change) accept(e *eval.Evaluator) error {
	for _, s := range c.sites {
		if f, ok := s.(Follower); ok {
			if err := f.Follows(e); err != nil {
				return err
			}
		}
		if k, ok := s.(Keeper); ok && c.Graph.FixedLength() == 0 && c.Image == [2]int{} && c.Frames == 0 {
			if err := k.Keeps(func() *eval.Evaluator { return c.evaluate(probe.Inputs(c.Graph.File, c.Graph.Sizes)) }); err != nil {
				return err
			}
		}
	}
	inputs, caches := c.inputs(), c.Graph.CachesOf(c.old)
	for _, in := range probe.Given(c.Graph.File) {
		if out := c.Graph.ComesOut(in); caches[in.Name] > 0 && out != nil {
			axis, was := caches[in.Name], c.Graph.Eval.Main.Value(out.Name).Shape
			if c.Graph.Window() > 0 && (axis >= len(was) || was[axis] != int(in.Dims[axis].Value)) {
				continue // those of one call alone come out
			}
			if v := e.Main.Value(out.Name); v.Ranked && !slices.Equal(v.Shape, inputs[in.Name].Shape) {
				return &position.Refusal{Why: fmt.Sprintf("keys and values would come in with the sizes %v as %q and go out with %v as %q", inputs[in.Name].Shape, report.Printable(in.Name), v.Shape, report.Printable(out.Name)), Instead: "export the model for the wanted length"}
			}
		}
	}
	before := saturation.CutOff(c.Graph.Eval)
	for _, q := range saturation.CutOff(e) {
		if !slices.Contains(before, q) {
			return &position.Refusal{Why: fmt.Sprintf("%s cuts numbers of the new length off at %.4g", q.Node.Title(), q.End), Instead: "quantise the model again with inputs of that length, or with these numbers left as they are"}
		}
	}
	return c.doubted(c, e)
}

// Ranks of how far a planned graph runs: by so much further with each kind of call that it gets through, of the four at the most: at the
// new length and at the old one, and so once more with the branches of the other calls.
const (
	throughOne = int64(1) << 60
	throughAll = 4 * throughOne
)

// problem returns the first node that fails, at the new length or else at the
// old one, and how far the graph runs.
func (c *Change) problem() (*eval.Failure, int64) {
	calls := []probe.Sizes{c.sizes}
	switch {
	case c.Graph.FixedLength() > 0 || c.Image != [2]int{} || c.Frames > 0:
	case c.old == 0: // nothing bounded the length
		calls = append(calls, c.Graph.Sizes)
	case c.old > c.New: // it ends earlier now
		calls = append(calls, c.Graph.Sized(min(c.Graph.Sizes.Length, c.New)))
	default:
		calls = append(calls, c.Graph.Sized(c.old))
	}
	through := int64(0)
	for _, others := range []bool{false, true} {
		for i, sizes := range calls {
			call, other := c, *c
			if i > 0 || others {
				call, other.sizes = &other, sizes
			}
			if others {
				ok := false
				if other.sizes, other.known, ok = c.Graph.Otherwise(sizes); !ok {
					return nil, throughAll
				}
			}
			if f := call.first(call.probe()); f != nil {
				return f, through + int64(f.Place())
			}
			through += throughOne
		}
	}
	return nil, throughAll
}

// Refuse is the refusal of the change for what goes wrong at a node; a constant that
// is too large to be grown explains it better, where there is one.
func (c *Change) Refuse(n *onnx.Node, why string) error {
	if *c.large != "" {
		return &position.Refusal{Why: fmt.Sprintf("the graph cannot run %s: %s", c.asked(), *c.large), Instead: "a lesser length, or export the model again with a mask that it computes"}
	}
	refusal := &position.Refusal{Why: fmt.Sprintf("the graph cannot run %s: %s: %s", c.asked(), n.Title(), why), Instead: c.export()}
	if c.followed != nil && c.followed.windows.sides != nil {
		refusal.Instead, refusal.Remedies = "", c.followed.windows.sides
	}
	return refusal
}

// asked is the size that was asked for, in words.
func (c *Change) asked() string {
	switch {
	case c.Image != [2]int{}:
		return fmt.Sprintf("with a picture of %d×%d pixels", c.Image[0], c.Image[1])
	case c.Frames > 0:
		return fmt.Sprintf("with a recording of %d frames", c.Frames)
	}
	return fmt.Sprintf("at %d", c.New)
}

// export is what helps where the graph cannot be changed.
func (c *Change) export() string {
	switch {
	case c.Image != [2]int{}:
		return "export the model for the wanted picture"
	case c.Frames > 0:
		return "export the model for the wanted length of recordings"
	}
	return "export the model again with a free sequence length, or for this length"
}

// first returns the new failure that stands first in the graph.
func (c *Change) first(e *eval.Evaluator) *eval.Failure {
	var first *eval.Failure
	look := func(f eval.Failure) {
		if !c.known[f.Node] && !c.Graph.Removed(f.Node) && (first == nil || f.Place() < first.Place()) {
			first = &f
		}
	}
	if c.followed != nil { // which say more of a node than that it fails
		for n, why := range c.followed.doubts {
			look(eval.Failure{Scope: e.Main, Node: n, Err: errors.New(why)})
		}
	}
	for _, f := range e.Failures {
		look(f)
	}
	for _, f := range c.misshaped(e) {
		look(f)
	}
	for _, f := range c.unshaped(e) {
		look(f)
	}
	return first
}

// misshaped finds Reshape and Slice nodes that run and give another shape than
// was meant: where the constant shape of a fixed graph has a free entry, the new
// length is pushed into a dimension that does not hold the length; where a limit
// of another axis looks like the length, that axis is cut elsewhere.
func (c *Change) misshaped(e *eval.Evaluator) []eval.Failure {
	fixed := c.Graph.FixedLength()
	if fixed == 0 && c.Image == [2]int{} && c.Frames == 0 {
		return nil
	}
	var out []eval.Failure
	old := c.Graph.Eval.Scopes()
	for i, s := range e.Scopes() {
		if i >= len(old) || old[i].Graph != s.Graph {
			break
		}
		for _, n := range s.Graph.Nodes {
			if n.Op != "Reshape" && n.Op != "Slice" || c.followed != nil && c.followed.told[n] {
				continue
			}
			before, after := old[i].Value(n.Output(0)), s.Value(n.Output(0))
			if len(before.Shape) != len(after.Shape) {
				continue
			}
			for d := range before.Shape {
				if before.Shape[d] != after.Shape[d] && !c.mayChange(old[i], s, n, d, before.Shape[d], after.Shape[d]) {
					out = append(out, eval.Failure{Scope: s, Node: n, Err: fmt.Errorf("dimension %d of %v became %d", d, before.Shape, after.Shape[d])})
					break
				}
			}
		}
	}
	return out
}

// mayChange reports whether a dimension of a node's output may change as it does:
// with the length; as what it shapes does; of a Slice, where what is sliced changes there, or is a
// table of the file.
func (c *Change) mayChange(old, s *eval.Scope, n *onnx.Node, axis, before, after int) bool {
	was, is := old.Value(n.Input(0)), s.Value(n.Input(0))
	if n.Op == "Reshape" && c.Graph.FixedLength() > 0 && !carries(was.Shape, is.Shape, old.Value(n.Output(0)).Shape, axis) {
		return false
	}
	for a := range was.Shape {
		if n.Op == "Reshape" && a < len(is.Shape) && was.Shape[a] == before && is.Shape[a] == after {
			return true
		}
	}
	if n.Op == "Slice" {
		switch {
		case len(was.Shape) != len(is.Shape) || axis >= len(is.Shape) || was.Shape[axis] != is.Shape[axis]:
			return true
		case !is.Known():
			return false
		}
	}
	return c.Follows(before, after)
}

// carries reports whether an axis of what a Reshape gives shares elements with one that changed of what it takes: these stay in their
// order, so that the steps along both overlap. Where a width is as the length, or a multiple, a free entry of the shape takes
// what belongs to the tokens else.
func carries(was, is, out []int, axis int) bool {
	if len(was) != len(is) || axis >= len(out) {
		return true
	}
	step, changed := onnx.Size(out[axis+1:]), false
	for a := range was {
		of := onnx.Size(was[a+1:])
		if was[a] != is[a] && max(step, of) < min(step*out[axis], of*was[a]) {
			return true
		}
		changed = changed || was[a] != is[a]
	}
	return !changed
}

// Follows reports whether a dimension may change so with the length, with others beside it, or with
// the sizes of a picture.
func (c *Change) Follows(before, after int) bool {
	if fixed := c.Graph.FixedLength(); fixed > 0 {
		off := after*fixed - before*c.New // in proportion, but for what is left over
		return max(off, -off) <= fixed || before >= fixed-1 && after-before == c.New-fixed
	}
	pairs := c.pairs
	if in := c.Graph.ImageInput(); in != nil && c.Image != [2]int{} {
		height, width := probe.PictureSides(in)
		pairs = append(slices.Clone(pairs), numberPair{int(in.Dims[height].Value), c.Image[0]}, numberPair{int(in.Dims[width].Value), c.Image[1]}, numberPair{c.grids[0][1], c.grids[1][1]})
	}
	return slices.ContainsFunc(pairs, func(p numberPair) bool { return p.old > 0 && before%p.old == 0 && after == before/p.old*p.new })
}

// choices are the ways in which entries that hold one number may be changed:
// all of them, or, where a width happens to equal the length, one alone.
func choices(at []int) [][]int {
	if len(at) == 0 {
		return nil
	}
	out := [][]int{at}
	if len(at) > 1 {
		for _, i := range at {
			out = append(out, []int{i})
		}
	}
	return out
}

// shortIndex finds a table whose indices do not count up to the new length:
// clamped, wrapped, or sliced short.
func (c *Change) shortIndex(e *eval.Evaluator) (*onnx.Node, *eval.Scope, string) {
	for _, s := range c.sites {
		for _, u := range s.Indices() {
			if u.Index == "" || u.IndexAt == nil {
				continue
			}
			i := u.IndexAt.Index()
			if i < 0 || i >= len(e.Scopes()) {
				continue
			}
			at := e.Scopes()[i]
			v := at.Value(u.Index)
			if !v.Known() || v.Ints == nil || u.Indexed.Op == "GatherND" || strings.HasSuffix(u.Indexed.Op, "EmbedLayerNormalization") {
				continue
			}
			if _, _, ok := v.Counts(); (!ok || startsAgain(v, c.New)) && slices.Max(v.Shape) >= c.New {
				return u.Indexed, at, u.Index
			}
		}
	}
	return nil, nil, ""
}

// startsAgain reports whether an index that counts does so from the start again within the
// sequence.
func startsAgain(v *eval.Value, length int) bool {
	for i, x := range v.Ints {
		if i%length != 0 && x == v.Ints[0] && x < v.Ints[i-1] {
			return true
		}
	}
	return false
}

// UnknownBuckets refuses matrices that were made to go on beyond the distances
// to which DeBERTa gives buckets of their own, a quarter of the table's rows
// (facts/NUMERICS §6), unless the graph computes the buckets from there: folded
// at a shorter length, the file does not tell what further distances share.
func (c *Change) UnknownBuckets(e *eval.Evaluator) error {
	for _, s := range e.Scopes() {
		for _, n := range s.Graph.Nodes {
			pairs := scored.PickedPairs(s, n)
			if pairs == nil {
				continue
			}
			data, index := s.Value(n.Input(0)).Shape, pairs(s.Value(n.Input(1)))
			if k := len(index.Shape); k < 2 || len(data) < 2 || index.Shape[k-1] != c.New || !c.growsMatrix(s, n.Input(1)) {
				continue
			}
			rows := data[len(data)-1]
			if c.New-1 > rows/4 && scored.BucketsFarthest(s, n.Input(1), index, rows) == 0 {
				return c.Refuse(n, fmt.Sprintf("the file does not say which distances beyond %d share a bucket", rows/4))
			}
		}
	}
	return nil
}

// growsMatrix reports whether a value is, or is made from, a planned matrix over
// the new positions.
func (c *Change) growsMatrix(s *eval.Scope, name string) bool {
	made := func(t *onnx.Tensor) bool {
		p := c.planned[t]
		if p == nil || len(p.dims) < 2 {
			return false
		}
		k := len(p.dims)
		return p.dims[k-1] == int64(c.New) && p.dims[k-2] == int64(c.New)
	}
	n, at := s.Find(name)
	return made(s.Tensor(name)) || n != nil && slices.ContainsFunc(trace.Cone(at, n), made)
}

// repairIndex raises the limits by which an index is clamped or wrapped.
func (c *Change) repairIndex(s *eval.Scope, name string) bool {
	n, at := s.Find(name)
	if n == nil {
		return false
	}
	scope := c.Graph.Eval.Scopes()[at.Index()]
	for _, t := range trace.Cone(scope, n) {
		if c.Graph.Editor.Replaced(t) || c.planned[t] != nil {
			continue
		}
		for _, p := range c.entries(t) {
			c.planned[t] = p
			e := c.probe()
			if c.first(e) == nil {
				if still, _, _ := c.shortIndex(e); still == nil {
					return true
				}
			}
			delete(c.planned, t)
		}
	}
	return false
}

// unfit is why a constant cannot hold what it would have to.
func unfit(name string, t onnx.DataType, err error) error {
	return &position.Refusal{Why: fmt.Sprintf("%q is of %s, which ends before the new length: %v", name, t, err), Instead: "change the model before it is quantised"}
}

// write records the planned constants.
func (c *Change) write() error {
	for _, t := range c.ordered() {
		p := c.planned[t]
		var data patch.Source
		if p.ints != nil {
			b, err := onnx.EncodeInts(t.Type, p.ints, nil)
			if err != nil {
				return unfit(c.Graph.TensorName(t), t.Type, err)
			}
			data = patch.Bytes(b)
		} else {
			var err error
			if data, err = rows.Stream(t, int64(onnx.Size(p.dims)), p.fill); err != nil {
				return err
			}
		}
		if err := c.Graph.Replace(t, p.dims, data, p.why); err != nil {
			return err
		}
	}
	return c.writeSizes()
}

// ordered lists the planned constants in file order, so that the same input
// gives the same plan.
func (c *Change) ordered() []*onnx.Tensor {
	var out []*onnx.Tensor
	c.Graph.File.Tensors(func(t *onnx.Tensor, _ *onnx.Graph) {
		if c.planned[t] != nil {
			out = append(out, t)
		}
	})
	return out
}

// declare corrects fixed dimensions of inputs and outputs and drops declared
// types of inner values that the new length contradicts.
func (c *Change) declare() error {
	e := c.probe()
	inputs := c.inputs()
	for _, in := range c.Graph.File.Graph.Inputs {
		if v := inputs[in.Name]; v != nil {
			c.correct(in, v)
		}
		if in == c.Graph.ImageInput() && (c.alone || c.Image[0] != c.Image[1] || probe.IsVideo(in)) {
			c.fixPicture(in)
		}
	}
	for _, out := range c.Graph.File.Graph.Outputs {
		c.correct(out, e.Main.Value(out.Name))
	}
	for _, s := range e.Scopes() {
		for _, info := range s.Graph.ValueInfos {
			if v := s.Value(info.Name); contradicts(info, v) || c.doubtful(info, v) {
				c.Graph.Editor.DropValueInfo(info, "its declared shape is for the old length")
			}
		}
	}
	return nil
}

// fixPicture states the height and width of a picture that is not square, or whose windows have masks of their own
// now, and the sizes of a video, where they were left free: of the numbers of the file, as many would go with the picture turned,
// or with more frames of less.
func (c *Change) fixPicture(in *onnx.ValueInfo) {
	given := *in
	given.Dims = slices.Clone(in.Dims)
	c.givePicture(&given)
	for axis, d := range given.Dims {
		if in.Dims[axis].Value < 0 && d.Value >= 0 {
			c.Graph.Editor.SetDim(in, axis, d.Value, fmt.Sprintf("%s takes pictures of %d×%d pixels", report.Printable(in.Name), c.Image[0], c.Image[1]))
		}
	}
}

func contradicts(info *onnx.ValueInfo, v *eval.Value) bool {
	if !v.Ranked || !info.Ranked || len(v.Shape) != len(info.Dims) {
		return false
	}
	for i, d := range info.Dims {
		if d.Value >= 0 && int(d.Value) != v.Shape[i] {
			return true
		}
	}
	return false
}

// doubtful reports whether a declared shape of a graph of one length, which
// nothing here can compute, may hold that length: it is worth less than nothing
// then.
func (c *Change) doubtful(info *onnx.ValueInfo, v *eval.Value) bool {
	if c.Graph.FixedLength() == 0 && c.Image == [2]int{} && c.Frames == 0 || v.Ranked && len(v.Shape) == len(info.Dims) {
		return false
	}
	return slices.ContainsFunc(info.Dims, func(d onnx.Dim) bool {
		return slices.ContainsFunc(c.pairs, func(p numberPair) bool { return d.Value > 0 && p.old > 1 && d.Value%int64(p.old) == 0 })
	})
}

func (c *Change) correct(info *onnx.ValueInfo, v *eval.Value) {
	if !contradicts(info, v) {
		return
	}
	for i, d := range info.Dims {
		if d.Value < 0 || int(d.Value) == v.Shape[i] {
			continue
		}
		if c.freed() {
			c.Graph.Editor.FreeDim(info, i, fmt.Sprintf("length of %s: %d → any", report.Printable(info.Name), d.Value))
		} else {
			c.Graph.Editor.SetDim(info, i, int64(v.Shape[i]), fmt.Sprintf("fixed length of %s: %d → %d", report.Printable(info.Name), d.Value, v.Shape[i]))
		}
	}
}

// unshaped finds nodes that gave a shape at the old size, and none now though their inputs have one, and can be
// looked at; of functions and loops, those inside tell.
func (c *Change) unshaped(e *eval.Evaluator) (out []eval.Failure) {
	old := c.Graph.Eval.Main
	lost := func(name string) bool { return name != "" && old.Value(name).Ranked && !e.Main.Value(name).Ranked }
	for _, n := range old.Graph.Nodes {
		calls := old.Call(n) != nil || slices.ContainsFunc(n.Attributes, func(a *onnx.Attribute) bool { return a.Graph != nil })
		large := func(in string) bool { return in != "" && e.Main.Value(in).Large() } // numbers that are too many now
		if !calls && slices.ContainsFunc(n.Outputs, lost) && !slices.ContainsFunc(n.Inputs, lost) && !slices.ContainsFunc(n.Inputs, large) {
			out = append(out, eval.Failure{Scope: e.Main, Node: n, Err: errors.New("what it gives has no shape any more")})
		}
	}
	return out
}
