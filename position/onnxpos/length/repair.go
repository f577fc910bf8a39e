package length

import (
	"fmt"
	"maps"
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/onnxpos/rows"
	"github.com/modelpatch/modelpatch/position/onnxpos/trace"
)

// maxTried bounds the constants that are tried for one failure.
const maxTried = 40

// repair tries the constants behind a failing node, nearest first, and keeps
// the change with which the graph runs furthest.
func (c *Change) repair(f *eval.Failure) bool {
	if c.probed > maxProbes {
		return false
	}
	c.observe(f)
	_, reach := c.problem()
	return c.repairOne(f, reach) || c.repairPairs(f) || c.repairOnward(f, reach)
}

// observe notes what sizes of a failing node's data have become on the way there, of tokens or frames: constants that meet them hold the same
// ones.
func (c *Change) observe(f *eval.Failure) {
	if f.Scope == nil || f.Scope.Index() != 0 || c.Image != [2]int{} {
		return
	}
	for _, in := range f.Node.Inputs {
		was, is := c.Graph.Eval.Main.Value(in), f.Scope.Value(in)
		if len(was.Shape) != len(is.Shape) || was.Known() {
			continue
		}
		for d := range was.Shape {
			if p := (numberPair{was.Shape[d], is.Shape[d]}); p.old != p.new && !slices.Contains(c.pairs, p) {
				c.pairs = append(c.pairs, p)
				clear(c.offered)
			}
		}
	}
}

// repairOne tries the constants one by one, those that nothing is planned for first.
func (c *Change) repairOne(f *eval.Failure, reach int64) bool {
	var best *onnx.Tensor
	var bestPlan *plannedConstant
	tried := 0
	behind := distinct(c.behind(f.Scope, f.Node))
	isPlanned := func(t *onnx.Tensor) bool { return c.planned[t] != nil }
	planned := slices.DeleteFunc(slices.Clone(behind), func(t *onnx.Tensor) bool { return !isPlanned(t) })
	for _, t := range append(slices.DeleteFunc(behind, isPlanned), planned...) {
		if c.Graph.Editor.Replaced(t) || tried > maxTried {
			continue
		}
		earlier := c.planned[t]
		for _, p := range c.candidates(t) {
			tried++
			c.planned[t] = p
			if _, got := c.problem(); got > reach {
				best, bestPlan, reach = t, p, got
			}
			delete(c.planned, t)
		}
		if earlier != nil {
			c.planned[t] = earlier
		}
		if reach == throughAll {
			break
		}
	}
	if best != nil {
		c.planned[best] = bestPlan
	}
	return best != nil
}

// maxOnward bounds the repairs that one repair may need elsewhere.
const maxOnward = 6

// repairOnward tries the nearest constants, one by one and then several at once,
// where they make others of their readers fail, nearer to the graph's inputs:
// those are repaired in turn.
func (c *Change) repairOnward(f *eval.Failure, reach int64) bool {
	near := c.near(f)
	starts := [][]*onnx.Tensor{}
	for i := range near[:min(maxPaired, len(near))] {
		starts = append(starts, near[i:i+1])
	}
	for k := 2; k <= len(near); k++ {
		starts = append(starts, near[:k])
	}
	for _, start := range starts {
		before := maps.Clone(c.planned)
		for _, t := range start {
			c.planned[t] = c.candidates(t)[0]
		}
		for range maxOnward {
			next, got := c.problem()
			if got > reach {
				return true
			}
			if next == nil || next.Node == f.Node || c.probed > maxProbes || !c.repairOne(next, got) {
				break
			}
		}
		c.planned = before
	}
	return false
}

// maxBegun bounds the nodes ahead of the steps of a recurrence that are looked at.
const maxBegun = 8

// behind lists the constants behind a node; first, of a step of a recurrence, those that any of its steps reads and that have as many numbers as there
// were positions: what many steps write into stands far behind the last.
func (c *Change) behind(s *eval.Scope, n *onnx.Node) []*onnx.Tensor {
	cone := trace.Cone(s, n)
	if !c.steps.Nodes[n] {
		return cone
	}
	var entering []*onnx.Tensor
	enters := func(of *onnx.Node) {
		for _, in := range of.Inputs {
			if t := s.Tensor(in); t != nil && slices.Contains(t.Dims, int64(c.Graph.FixedLength())) && !slices.Contains(entering, t) {
				entering = append(entering, t)
			}
		}
	}
	for _, step := range s.Graph.Nodes {
		if !c.steps.Nodes[step] {
			continue
		}
		enters(step)
		for _, name := range step.Inputs {
			for range maxBegun { // the first step may be written otherwise
				before, _ := s.Find(name)
				if before == nil || c.steps.Nodes[before] {
					break
				}
				enters(before)
				name = before.Input(0)
			}
		}
	}
	return append(entering, cone...)
}

// near lists the constants behind a failing node that can follow the length and
// are not planned to, nearest first.
func (c *Change) near(f *eval.Failure) []*onnx.Tensor {
	var out []*onnx.Tensor
	for _, t := range distinct(c.behind(f.Scope, f.Node)) {
		if len(out) < maxTogether && c.planned[t] == nil && !c.Graph.Editor.Replaced(t) && len(c.candidates(t)) > 0 {
			out = append(out, t)
		}
	}
	return out
}

func distinct(list []*onnx.Tensor) []*onnx.Tensor {
	seen := map[*onnx.Tensor]bool{}
	return slices.DeleteFunc(list, func(t *onnx.Tensor) bool {
		again := seen[t]
		seen[t] = true
		return again
	})
}

// maxPaired bounds the constants that are tried two by two, maxTogether those
// that are tried at once.
const (
	maxPaired   = 8
	maxTogether = 24
)

// repairPairs tries the nearest constants behind a failing node two by two: a
// mask and the shape that expands it only run when both are changed.
func (c *Change) repairPairs(f *eval.Failure) bool {
	near := c.near(f)
	_, reach := c.problem()
	for i, t := range near[:min(maxPaired, len(near))] {
		for _, u := range near[i+1 : min(maxPaired, len(near))] {
			for _, p := range c.candidates(t) {
				for _, q := range c.candidates(u) {
					c.planned[t], c.planned[u] = p, q
					if _, got := c.problem(); got > reach {
						return true
					}
					delete(c.planned, t)
					delete(c.planned, u)
				}
			}
		}
	}
	return false
}

// candidates are the ways in which a constant may follow the length.
func (c *Change) candidates(t *onnx.Tensor) []*plannedConstant {
	if out, ok := c.offered[t]; ok {
		return out
	}
	out := c.offers(t)
	c.offered[t] = out
	return out
}

func (c *Change) offers(t *onnx.Tensor) []*plannedConstant {
	if t.Editable() != "" {
		return nil
	}
	var out []*plannedConstant
	if len(t.Dims) <= 1 && countsPlaces(t) && t.Len() <= 8 {
		out = append(out, c.entries(t)...)
	}
	return slices.Concat(out, c.limits(t), c.asOne(t), c.buffers(t))
}

// limits changes a length in floating point up to which a Range counts.
func (c *Change) limits(t *onnx.Tensor) (out []*plannedConstant) {
	if !t.Type.IsFloat() || t.Len() != 1 || !readBy(c.Graph.Eval.Main, t, func(n *onnx.Node, input int) bool { return n.Op == "Range" && input == 1 }) {
		return nil
	}
	for _, p := range c.pairs {
		if x := numbers(t); len(x) == 1 && x[0] == float64(p.old) {
			out = append(out, &plannedConstant{dims: t.Dims, fill: rows.LineFill(1, 1, func(int, int) float64 { return float64(p.new) }), why: fmt.Sprintf("the length %d in a constant", p.old)})
		}
	}
	return out
}

// countsPlaces reports whether a constant can be a size or an index: narrower numbers are quantised, or zero points, whatever they equal.
func countsPlaces(t *onnx.Tensor) bool { return t.Type.IsInteger() && t.Type.Bits() >= 32 }

// lengths are the numbers that stand for the old length in a graph: itself, the
// rows of tables that hold more than positions, other encodings' capacities.
func (c *Change) lengths() []numberPair {
	out := []numberPair{{c.old, c.New}}
	add := func(p numberPair) {
		if !slices.ContainsFunc(out, func(q numberPair) bool { return q.old == p.old }) {
			out = append(out, p)
		}
	}
	for _, s := range c.sites {
		e := s.Encoding()
		if t, ok := s.(position.Rows); ok && t.Len() > 0 && (e.Capacity == c.old || c.old < e.Capacity && e.Capacity < c.New) {
			add(numberPair{t.Len(), c.New + t.Len() - e.Capacity})
		}
		if w, ok := s.(Waver); ok {
			before, after := w.Grown()
			for _, more := range []int{0, 1, -1} { // a skew pads one, and cuts one off (Transformer-XL, appendix B)
				add(numberPair{before + more, after + more})
			}
		}
		if c.old < e.Capacity && e.Capacity < c.New { // the file is for a shorter length than its tables
			add(numberPair{e.Capacity, c.New})
		}
		if e.Capacity > 0 {
			add(numberPair{e.Capacity, c.New + max(e.Capacity-c.old, 0)})
		}
	}
	if n := c.Graph.FixedLength(); n > 0 {
		add(numberPair{n, c.New})
	}
	return out
}

// Waver is implemented by sites with a row for each distance in both directions: Grown is how many there
// were, and are.
type Waver interface {
	Grown() (before, after int)
}

// entries changes entries of a shape or a limit that hold a length, or the
// last position.
func (c *Change) entries(t *onnx.Tensor) []*plannedConstant {
	values, err := t.Ints(0, t.Len())
	if err != nil {
		return nil
	}
	out := c.asGiven(t, values)
	for _, p := range c.pairs {
		for _, less := range []int{0, 1} {
			var at []int
			for i, v := range values {
				if v == int64(p.old-less) && v > 1 {
					at = append(at, i)
				}
			}
			for _, chosen := range choices(at) {
				changed := slices.Clone(values)
				for _, i := range chosen {
					changed[i] = int64(p.new - less)
				}
				out = append(out, &plannedConstant{dims: t.Dims, ints: changed, why: fmt.Sprintf("the length %d in a constant", p.old)})
			}
		}
	}
	return append(out, c.allEntries(t, values)...)
}

// isTraced reports whether the graph has free axes and constants of the one length that it was traced with, which need not be of one.
func (c *Change) isTraced() bool {
	return c.Graph.FixedLength() == 0 && c.Image == [2]int{} && c.Frames == 0 && c.Graph.Sizes.Length == c.old && c.old >= 2 && c.New >= c.old
}

// asGiven has shapes of a graph with free axes keep the length of what is given to them, whatever that is, where a constant that goes into
// shapes alone holds the one that the graph was traced with: an entry of 0 is the size of the input, one of −1 what is left.
func (c *Change) asGiven(t *onnx.Tensor, values []int64) (out []*plannedConstant) {
	var at []int
	for i, v := range values {
		if v > 1 && slices.ContainsFunc(c.pairs, func(p numberPair) bool { return int(v) == p.old }) {
			at = append(at, i)
		}
	}
	shapes, zeros := shapesAlone(c.Graph.Eval.Main, t)
	if at == nil || !c.isTraced() || !shapes {
		return nil
	}
	for _, chosen := range choices(at) {
		for _, last := range []int64{0, -1} {
			if last < 0 && slices.Contains(values, -1) || !zeros && (last == 0 || len(chosen) > 1) {
				continue
			}
			p := &plannedConstant{dims: t.Dims, ints: slices.Clone(values), free: true, why: fmt.Sprintf("a shape of %d positions, which becomes one of as many as there are", c.old)}
			for _, i := range chosen {
				p.ints[i] = 0
			}
			p.ints[chosen[len(chosen)-1]] = last
			if c.keepsShapes(t, p) {
				out = append(out, p)
			}
		}
	}
	return out
}

// asOne has one number stand for as many equal ones as the graph was traced with positions, where that is laid over each of them: limits
// that were written out.
func (c *Change) asOne(t *onnx.Tensor) []*plannedConstant {
	was := func(d int64) bool {
		return d > 1 && slices.ContainsFunc(c.pairs, func(p numberPair) bool { return int(d) == p.old })
	}
	laidOver := func(n *onnx.Node, _ int) bool { return eval.Is(n, eval.ByElement|eval.Choice|eval.Comparison) } // and nothing that counts or sums them
	if !c.isTraced() || !slices.ContainsFunc(t.Dims, was) || !readBy(c.Graph.Eval.Main, t, laidOver) {
		return nil
	}
	x := numbers(t)
	if x == nil || slices.ContainsFunc(x, func(v float64) bool { return v != x[0] }) {
		return nil
	}
	dims := slices.Clone(t.Dims)
	for i, d := range dims {
		if was(d) {
			dims[i] = 1
		}
	}
	p := &plannedConstant{dims: dims, free: true, fill: rows.LineFill(onnx.Size(dims), 1, func(int, int) float64 { return x[0] }), why: fmt.Sprintf("a number for each of %d positions, which becomes one for as many as there are", c.old)}
	if !c.keepsShapes(t, p) {
		return nil
	}
	return []*plannedConstant{p}
}

// readBy reports whether nodes read a constant, each as is allowed, and neither an output of the graph is it nor a graph inside of a node may see it.
func readBy(s *eval.Scope, t *onnx.Tensor, allowed func(n *onnx.Node, input int) bool) bool {
	read := false
	for _, n := range s.Graph.Nodes {
		if slices.ContainsFunc(n.Attributes, func(a *onnx.Attribute) bool { return a.Graph != nil || a.Graphs != nil }) {
			return false
		}
		for i, in := range n.Inputs {
			if in != "" && s.Tensor(in) == t {
				if read = true; !allowed(n, i) {
					return false
				}
			}
		}
	}
	return read && !slices.ContainsFunc(s.Graph.Outputs, func(o *onnx.ValueInfo) bool { return s.Tensor(o.Name) == t })
}

// keepsShapes reports whether every value has the shape that it had, of one sequence and of two, with a constant as planned. A graph that
// was traced with one sequence as well, and so takes no two, is to take none then either.
func (c *Change) keepsShapes(t *onnx.Tensor, p *plannedConstant) bool {
	back, earlier := *c, c.planned[t]
	defer func() {
		if delete(c.planned, t); earlier != nil {
			c.planned[t] = earlier
		}
		c.probed = back.probed
	}()
	evaluate := func(batch, length int, p *plannedConstant) *eval.Evaluator {
		if delete(c.planned, t); p != nil {
			c.planned[t] = p
		}
		back.sizes = c.Graph.Sized(length)
		back.sizes.Batch *= batch
		return back.probe()
	}
	if !sameShapes(evaluate(1, c.old, nil).Main, evaluate(1, c.old, p).Main) {
		return false
	}
	was, is := evaluate(2, c.old, nil), evaluate(2, c.old, p)
	if len(was.Failures) == 0 {
		return sameShapes(was.Main, is.Main)
	}
	return len(is.Failures) > 0 && len(evaluate(2, 1, p).Failures) > 0
}

// freed reports whether shapes keep the length of what is given to them, which bounds the graph no more then.
func (c *Change) freed() bool {
	for _, p := range c.planned {
		if p.free {
			return true
		}
	}
	return false
}

// shapesAlone reports whether a constant of the main graph goes into the shapes that Reshapes are given, and into nothing else, and whether zeros are
// sizes of the input there.
func shapesAlone(s *eval.Scope, t *onnx.Tensor) (ok, zeros bool) {
	names, shapes := []string{}, 0
	zeros = true
	for _, n := range s.Graph.Nodes {
		for _, in := range n.Inputs {
			if in != "" && s.Tensor(in) == t && !slices.Contains(names, in) {
				names = append(names, in)
			}
		}
	}
	for i := 0; i < len(names) && i < maxTried; i++ {
		for _, n := range s.Consumers(names[i]) {
			switch {
			case n.Op == "Reshape" && n.Input(0) != names[i]:
				shapes++
				zeros = zeros && n.Int("allowzero", 0) == 0
			case eval.Is(n, eval.Elements|eval.Layout|eval.Joining) && n.Input(min(1, len(n.Inputs)-1)) != "" && (n.Input(0) == names[i] || eval.Is(n, eval.Joining)):
				names = append(names, n.Output(0))
			default:
				return false, false
			}
		}
	}
	return shapes > 0 && len(names) <= maxTried && !slices.ContainsFunc(s.Graph.Outputs, func(o *onnx.ValueInfo) bool { return slices.Contains(names, o.Name) }), zeros
}

// sameShapes reports whether all values that a graph computes have the same shapes in two evaluations.
func sameShapes(a, b *eval.Scope) bool {
	return !slices.ContainsFunc(a.Graph.Nodes, func(n *onnx.Node) bool {
		for k := 0; k < len(n.Outputs) && n.Op != "Constant"; k++ {
			if was, is := a.Output(n, k), b.Output(n, k); was.Ranked != is.Ranked || !slices.Equal(was.Shape, is.Shape) {
				return true
			}
		}
		return false
	})
}

// allEntries changes the entries of a shape that hold different lengths, all at once.
func (c *Change) allEntries(t *onnx.Tensor, values []int64) []*plannedConstant {
	changed, held := slices.Clone(values), map[int]bool{}
	for i, v := range values {
		if at := slices.IndexFunc(c.pairs, func(p numberPair) bool { return p.old > 1 && v == int64(p.old) }); at >= 0 {
			changed[i], held[at] = int64(c.pairs[at].new), true
		}
	}
	if len(held) < 2 {
		return nil
	}
	return []*plannedConstant{{dims: t.Dims, ints: changed, why: "the lengths in a constant"}}
}

// buffers grows a constant along the axes that have an old length.
func (c *Change) buffers(t *onnx.Tensor) []*plannedConstant {
	var out []*plannedConstant
	for _, pair := range c.pairs {
		var axes []int
		for i, d := range t.Dims {
			if int(d) == pair.old && pair.old > 1 {
				axes = append(axes, i)
			}
		}
		target := pair.new
		switch len(axes) {
		case 1:
			if p := c.growLine(t, axes[0], target); p != nil {
				out = append(out, p)
			}
		case 2:
			if p := c.growSquare(t, axes, target); p != nil {
				out = append(out, p)
			} else if k := len(t.Dims); axes[0] == k-2 && axes[1] == k-1 {
				if p := c.growBuckets(t, target); p != nil {
					out = append(out, p)
				}
			}
			if p := c.growLine(t, axes[1], target); p != nil {
				out = append(out, p)
			}
		}
	}
	return out
}
