package axes

import (
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
)

func init() { rules[eval.AxesTurns] = (*call).turns }

// turns are the outputs of a Loop or a Scan, whose body is followed once: what a turn hands
// to the next has the axes that it got.
//
// Turns go through positions where they get or pick slices of data: then numbers that
// differ from turn to turn are numbers by position, and a doubt. Else they go through
// layers, and such numbers are weights.
func (c *call) turns() []*Value {
	t, ok := eval.TurnsOf(c.n)
	var child *eval.Scope
	if ok {
		if out := c.computed(); out != nil {
			return out
		}
		child = c.s.Child(c.n, t.Body)
	}
	if child == nil {
		c.doubt("its body could not be followed")
		return c.opaque()
	}
	given := map[string]*Value{}
	c.l.bodies[child] = given
	var stepped Axis
	sliced := false // constants, a slice each turn
	for i := t.First; i < len(c.n.Inputs); i++ {
		formal, in := t.Body.Inputs[t.Formal+i-t.First].Name, c.of(i)
		if i < t.First+t.Carried {
			given[formal] = &Value{Axes: in.Axes, Depends: in.Depends}
			continue
		}
		axis, ok := t.Axis(c.n, i, len(in.Axes))
		if !ok {
			c.doubt("its body could not be followed")
			return c.opaque()
		}
		if c.isData(i) {
			c.orders(in.Axes[axis], "goes through positions one after the other")
			stepped = in.Axes[axis]
		} else if v := c.known(i); v.Type.IsFloat() {
			sliced = sliced || !v.Known() || v.Varies(axis)
		}
		given[formal] = &Value{Axes: slices.Delete(slices.Clone(in.Axes), axis, axis+1), Depends: in.Depends}
	}
	for i := range t.Carried { // numbers that begin as constants become content, but for those that see none
		if v := given[t.Body.Inputs[t.Formal+i].Name]; c.known(t.First+i).Type.IsFloat() && !c.ownCourse(t, child, i) {
			v.Depends = Content
		}
	}
	out := make([]*Value, len(c.n.Outputs))
	for i := range out {
		got := c.l.value(child, t.Body.Outputs[t.Result+i].Name)
		if i < t.Carried {
			before := given[t.Body.Inputs[t.Formal+i].Name]
			for d := range min(len(before.Axes), len(got.Axes)) {
				if !c.l.unite(c, before.Axes[d], got.Axes[d]) {
					c.doubt("its turns change the order of axes")
				}
			}
			out[i] = &Value{Axes: got.Axes, Depends: max(got.Depends, before.Depends)}
			continue
		}
		places := c.shape(i)
		axis, ok := t.OutputAxis(c.n, i, len(got.Axes)+1)
		if !ok || len(places) != len(got.Axes)+1 {
			out[i] = nil
			continue
		}
		of := c.l.fresh(places[axis])
		if stepped.size() == places[axis] {
			of = stepped
		}
		out[i] = &Value{Axes: slices.Insert(slices.Clone(got.Axes), axis, of), Depends: got.Depends}
	}
	if u := c.uses(t, child); u.computes || (len(stepped) > 0 || u.picksData) && (sliced || u.picksOthers) {
		c.doubt("its turns have numbers of their own")
	}
	return out
}

// computed are the outputs of a loop whose numbers the evaluator found turn after turn, of inputs and values around it that depend on no content.
func (c *call) computed() (out []*Value) {
	for _, name := range c.n.Outputs {
		v := c.s.Value(name)
		if name != "" && !v.Known() && !v.Sequence {
			return nil
		}
		out = append(out, c.l.constant(v, Constant))
	}
	names, graphs := slices.Clone(c.n.Inputs), []*onnx.Graph{c.n.Attribute("body").Graph}
	for i := 0; i < len(graphs) && i < maxCounted; i++ {
		for _, n := range graphs[i].Nodes {
			names = append(names, n.Inputs...)
			for _, a := range n.Attributes {
				if a.Graph != nil {
					graphs = append(graphs, a.Graph)
				}
				graphs = append(graphs, a.Graphs...)
			}
		}
		for _, o := range graphs[i].Outputs {
			names = append(names, o.Name)
		}
	}
	for _, name := range names {
		if name != "" && c.l.value(c.s, name).Depends == Content {
			return nil
		}
	}
	return out
}

// counting is what a body does with the number of its turn.
type counting struct {
	picksData, picksOthers bool // takes the place of that number, of data or of other numbers
	computes               bool // makes floating-point numbers of it
}

func (c *call) uses(t eval.Turns, child *eval.Scope) (u counting) {
	for _, n := range c.readers(t, child) {
		float := child.Value(n.Output(0)).Type.IsFloat()
		switch {
		case eval.Is(n, eval.Selection) && c.l.value(child, n.Input(0)).Depends == Content:
			u.picksData = true
		case eval.Is(n, eval.Selection):
			u.picksOthers = u.picksOthers || float
		default:
			u.computes = u.computes || float && !eval.Is(n, eval.Layout)
		}
	}
	return u
}

// maxCounted bounds the nodes that numbers of turns are followed to.
const maxCounted = 1 << 12

// readers are the nodes of a body that read the number of the turn: the counter, or numbers
// that begin as constants and that turns change without data, and what is made of them.
func (c *call) readers(t eval.Turns, child *eval.Scope) []*onnx.Node {
	queue := []string{}
	if t.Counter != "" {
		queue = append(queue, t.Counter)
	}
	for i := range t.Carried {
		formal := t.Body.Inputs[t.Formal+i].Name
		if v := child.Value(formal); !v.Known() && c.of(t.First+i).Depends < Content && (v.Type.IsInteger() || c.ownCourse(t, child, i)) {
			queue = append(queue, formal)
		}
	}
	seen := map[string]bool{}
	var out []*onnx.Node
	for i := 0; i < len(queue) && len(out) < maxCounted; i++ {
		if seen[queue[i]] {
			continue
		}
		seen[queue[i]] = true
		for _, n := range child.Consumers(queue[i]) {
			out = append(out, n)
			if !eval.Is(n, eval.Selection) {
				queue = append(queue, n.Outputs...)
			}
		}
	}
	return out
}

// ownCourse reports whether what a turn hands on in place i is made without data: it tells
// the turns apart as a counter does.
func (c *call) ownCourse(t eval.Turns, child *eval.Scope, i int) bool {
	queue, seen := []string{t.Body.Outputs[t.Result+i].Name}, map[string]bool{}
	for k := 0; k < len(queue) && k < maxCounted; k++ {
		name := queue[k]
		if name == "" || seen[name] {
			continue
		}
		seen[name] = true
		n, at := child.Find(name)
		formal := slices.IndexFunc(t.Body.Inputs, func(in *onnx.ValueInfo) bool { return in.Name == name }) - t.Formal
		switch {
		case n != nil && at == child:
			queue = append(queue, n.Inputs...)
		case formal >= 0 && at == child:
			if c.of(t.First+formal).Depends == Content {
				return false
			}
		case at != child && c.l.value(child, name).Depends == Content:
			return false
		}
	}
	return true
}
