package probe

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
)

// Decoders are exported for one token at a time as well, with the keys and values of those before it as inputs. In such a
// graph nothing differs from position to position: what the position makes differs from one call to the next. It is
// evaluated for several calls, at one position each, and the numbers that differ are put behind one another along
// the batch, as if a batch were of several positions.

// Calls of a decoder that are looked at: their number, which is no usual number of heads, and the tokens before the
// first, so many that distances differ.
const (
	calls     = 7
	firstPast = 4
	across    = 13 // places of another sequence, an encoder's, by the names of its axes: more than the tokens of any call, and no usual number of heads
)

// isStep reports whether a graph takes one token, and keys and values of others before it or the place where it stands.
func (p *Probe) isStep() bool {
	in := p.TokenInput()
	if in == nil || len(in.Dims) < 2 || in.Dims[1].Value != 1 {
		return false
	}
	if len(p.cached()) > 0 {
		return true
	}
	first, next := Sizes{Batch: 1, Length: 1}, Sizes{Batch: 1, Length: 1, past: 1} // whichever were chosen
	return !same(Inputs(p.File, first), Inputs(p.File, next))
}

// mayBeCache reports whether an input has the type and the axes of keys and values.
func (p *Probe) mayBeCache(in *onnx.ValueInfo) bool {
	comesOut := len(in.Dims) > 1 && p.hasTwin(in) && p.ComesOut(in) != nil   // keys and values, of this call as well
	whole := in.Type.IsInteger() && in.Type != onnx.Bool && len(in.Dims) > 3 // quantised
	return (in.Type.IsFloat() && (len(in.Dims) > 3 || comesOut) || whole) && !isMask(in) && !p.isConstant(in.Name)
}

// cached are the inputs that are keys and values: by their names, since others are put behind them (see PutAhead), or since a graph takes one
// token beside them.
func (p *Probe) cached() (out []*onnx.ValueInfo) {
	in := p.TokenMatrix()
	single := in != nil && len(in.Dims) > 1 && in.Dims[1].Value == 1
	for _, c := range Given(p.File) {
		if c != p.ImageInput() && p.mayBeCache(c) && (single || caches().MatchString(strings.ReplaceAll(strings.ToLower(c.Name), "pixel_values", "")) || p.isAhead(c)) {
			out = append(out, c)
		}
	}
	return out
}

// isAhead reports whether others are put behind an input.
func (p *Probe) isAhead(in *onnx.ValueInfo) bool {
	return slices.ContainsFunc(p.put, func(of onnx.InputAxis) bool { return of.Input == in.Name })
}

// ahead are the axes of cached tokens of keys and values that stand ahead of those of a call.
func (p *Probe) ahead() (out []onnx.InputAxis) {
	for _, c := range p.cached() {
		for _, of := range p.put {
			if of.Input == c.Name && of.Axis < len(c.Dims) && !namesBatch(c.Dims[of.Axis]) && (of.Axis > 0 || c.Dims[0].Value < 0) {
				out = append(out, of)
			}
		}
	}
	return out
}

// MayHaveCaches reports whether an input may hold keys and values of earlier tokens.
func (p *Probe) MayHaveCaches() bool { return slices.ContainsFunc(Given(p.File), p.mayBeCache) }

// PutAhead tells the axes of inputs that the graph puts ahead of others: those of keys and values run over cached tokens, and the graph is
// evaluated anew where other axes were taken for theirs. It reports whether one is told of each input that may hold keys and values.
func (p *Probe) PutAhead(axes []onnx.InputAxis) (all bool) {
	was := *p.Sizes.pasts
	p.put, p.given, p.fixed.known = axes, nil, false
	if pasts := p.pasts(); !maps.Equal(pasts, was) || p.Sizes.Length > 1 && p.Sizes.past != p.fixedPast() || p.Sizes.Length != p.probeSizes().Length {
		p.demanded = nil
		p.Run()
	}
	return !slices.ContainsFunc(Given(p.File), func(in *onnx.ValueInfo) bool { return in != p.ImageInput() && p.mayBeCache(in) && !p.isAhead(in) })
}

// InPairs is an evaluation of two sequences, and of several places along axes that nothing is known of: in it no axis that is free is of one place.
func (p *Probe) InPairs() *eval.Evaluator {
	s := p.Sizes
	s.Batch, s.Length = 2, max(s.Length, firstLength)
	return p.Evaluate(s)
}

// declared is an axis as the inputs declare it.
func declared(given []*onnx.ValueInfo, of onnx.InputAxis) onnx.Dim {
	for _, in := range given {
		if in.Name == of.Input && of.Axis < len(in.Dims) {
			return in.Dims[of.Axis]
		}
	}
	return onnx.Dim{}
}

// pasts are the axes of cached tokens, and all of their names, which are no other input's.
func (p *Probe) pasts() map[onnx.InputAxis]bool {
	out, named := map[onnx.InputAxis]bool{}, map[string]bool{}
	given, cached := Given(p.File), p.cached()
	for _, of := range p.ahead() {
		if d := declared(given, of); d.Value < 0 {
			out[of], named[d.Param] = true, d.Param != ""
		}
	}
	for _, in := range given {
		for _, d := range in.Dims {
			if len(in.Dims) < 4 && !slices.Contains(cached, in) { // one of four may be taken for a picture so far
				delete(named, d.Param)
			}
		}
	}
	for of := range out {
		if d := declared(given, of); d.Param != "" && !named[d.Param] {
			delete(out, of)
		}
	}
	for _, in := range given {
		for axis, d := range in.Dims {
			if d.Value < 0 && named[d.Param] {
				out[onnx.InputAxis{Input: in.Name, Axis: axis}] = true
			}
		}
	}
	return out
}

// CachesOf are the inputs that hold keys and values of so many tokens, whether there are as many yet or not, and their axis of tokens: the
// one of that size, beside the first. A call writes its own among them (static caches), or puts them behind (Window); masks over them are as long.
func (p *Probe) CachesOf(length int) map[string]int {
	free := func(in *onnx.ValueInfo) bool { // an axis that runs over tokens
		return slices.ContainsFunc(in.Dims[1:], func(d onnx.Dim) bool { return d.Value < 0 })
	}
	of := func(in *onnx.ValueInfo, length int) int {
		is := func(d onnx.Dim) bool { return int(d.Value) == length }
		axis := 1 + slices.IndexFunc(in.Dims[1:], is)
		if axis == 0 || slices.ContainsFunc(in.Dims[axis+1:], is) || free(in) {
			return 0
		}
		return axis
	}
	out := map[string]int{}
	if slices.ContainsFunc(p.cached(), free) {
		return out // beside keys of any number of tokens, others hold none: the state of a convolution
	}
	held := length
	if p.Window() == length {
		held-- // and its own
	}
	for _, in := range p.cached() {
		if axis := of(in, held); axis > 0 {
			out[in.Name] = axis
		}
	}
	for _, in := range p.File.Graph.Inputs {
		if len(out) > 0 && len(in.Dims) > 1 && isMask(in) && of(in, length) > 0 {
			out[in.Name] = of(in, length)
		}
	}
	return out
}

// caches are the names of keys and values that are given.
var caches = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`past|cache|key|value|state|mem|^[kv](_|\d|$)|_[kv](_|\d|$)`)
})

// crossed are the names of those of another sequence: an encoder's ("enc" stands in "sequence" and "sentence" as well).
var crossed = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`cross|(^|[^a-z])enc(oder|oded)?([^a-z]|$)`) })

// fixedPast is of how many tokens the keys and values are that stand ahead of those of a call, 0 where that is free, or not one number.
func (p *Probe) fixedPast() int {
	given, ahead := Given(p.File), p.ahead()
	if len(ahead) == 0 {
		return 0
	}
	past := declared(given, ahead[0]).Value
	if slices.ContainsFunc(ahead, func(of onnx.InputAxis) bool { return declared(given, of).Value != past }) {
		return 0
	}
	return max(int(past), 0)
}

// Window is how many tokens a call sees that takes one behind keys and values of a fixed number, its own with them; 0 of other graphs.
func (p *Probe) Window() int {
	if past := p.fixedPast(); past > 0 && p.isStep() {
		return past + 1
	}
	return 0
}

// FirstPosition is the position of the first place that was looked at: 0 but for a graph that takes one token at a time, or stands behind keys and
// values of so many tokens.
func (p *Probe) FirstPosition() int { return p.Sizes.past }

// assumed is how many cached tokens there are at any length that was tried, of which there may be any number: a graph that does not run with none.
func (p *Probe) assumed() int {
	if p.calls != nil || p.fixed.part > 0 || len(*p.Sizes.pasts) == 0 {
		return 0
	}
	return p.Sizes.past
}

// Cached is how many tokens of a length are given as keys and values: those before the ones that the graph takes at a time.
func (p *Probe) Cached(length int) int { return p.Sized(length).past }

// CallsOf are the evaluations, one for each position, of which the first probe of a graph that takes one token at a time holds what
// differs; nil for other graphs and evaluations.
func (p *Probe) CallsOf(e *eval.Evaluator) []*eval.Evaluator {
	if e != p.Eval {
		return nil
	}
	return p.calls
}

// AtOnePosition reports whether a graph takes one token at a time, and was looked at for one position alone: what differs between
// positions does not show.
func (p *Probe) AtOnePosition() bool { return p.isStep() && p.calls == nil }

// same reports whether two calls are given the same: shapes and numbers.
func same(a, b map[string]*eval.Value) bool {
	return maps.EqualFunc(a, b, func(v, w *eval.Value) bool {
		return slices.Equal(v.Shape, w.Shape) && slices.Equal(v.Ints, w.Ints) && slices.Equal(v.Floats, w.Floats)
	})
}

// TakeCalls evaluates a graph that takes one token at a time for several calls.
func (p *Probe) TakeCalls() {
	if !p.isStep() {
		return
	}
	s := p.Sizes
	s.past, s.Batch = firstPast, 1
	next := s
	if next.past++; same(Inputs(p.File, s), Inputs(p.File, next)) {
		return // tokens before it are of a fixed number
	}
	var evaluated []*eval.Evaluator
	content := p.contentOfTokens()
	for k := range calls {
		call := s
		call.past += k
		inputs := Inputs(p.File, call)
		if tokens := inputs[p.TokenInput().Name]; tokens.Ints != nil && len(content) == 0 { // what is made of tokens is not known
			inputs[p.TokenInput().Name] = eval.Shaped(tokens.Type, tokens.Shape...)
		}
		p.SpendEvaluation()
		e := p.first.Again(inputs)
		e.Override = content
		if e.Run(); len(e.Failures) > 0 {
			return
		}
		evaluated = append(evaluated, e)
	}
	was := p.Sizes
	for _, meeting := range []bool{false, true} { // where not all that differs can be put behind one another, what meets the data
		p.Sizes, p.stacked = s, stacked(p.File.Graph, evaluated, meeting)
		if len(p.stacked) > 0 {
			p.Sizes.Batch = calls
		}
		if e := p.Evaluate(p.Sizes); len(e.Failures) == 0 {
			p.Eval, p.calls = e, evaluated
			return
		}
	}
	p.Sizes, p.stacked = was, nil
}

// stacked are the values of nodes and inputs that differ between calls, of all of them; of those alone that meet the data where that is asked for.
func stacked(g *onnx.Graph, evaluated []*eval.Evaluator, meeting bool) map[string]*eval.Value {
	out := map[string]*eval.Value{}
	take := func(name string) {
		if v := stack(evaluated[0].Main, name, evaluated, meeting); v != nil {
			out[name] = v
		}
	}
	for _, in := range g.Inputs {
		take(in.Name)
	}
	for _, n := range g.Nodes {
		for _, name := range n.Outputs {
			take(name)
		}
	}
	return out
}

// contentOfTokens are the rows that tokens take of tables, not known: which tokens are there may be counted, what they say is the data.
func (p *Probe) contentOfTokens() map[string]*eval.Value {
	out := map[string]*eval.Value{}
	w := p.File.Graph.Wiring()
	for value := range rowsTaken(w, p.TokenInput().Name) {
		name := w.Name(value)
		v := p.first.Main.Value(name)
		out[name] = &eval.Value{Type: v.Type, Ranked: v.Ranked, Shape: v.Shape}
	}
	return out
}

// widen gives inputs of a fixed batch of one the batch of the calls: the first axis of one, which is no token's.
func (p *Probe) widen(inputs map[string]*eval.Value) {
	tokens := p.TokenInput()
	if p.Sizes.Batch == 1 || tokens.Dims[0].Value != 1 {
		return
	}
	for name, v := range inputs {
		axis := slices.Index(v.Shape, 1)
		if axis < 0 || len(v.Shape) < 2 { // a position, and no batch of some
			continue
		}
		shape := slices.Clone(v.Shape)
		shape[axis] = p.Sizes.Batch
		wide := eval.Shaped(v.Type, shape...)
		if v.Ints != nil && axis == 0 {
			wide = eval.IntValue(v.Type, shape, slices.Repeat(v.Ints, shape[0]))
		}
		wide.Data = v.Data
		inputs[name] = wide
	}
}

// recut gives nodes that were traced for a batch of one the batch of the calls: the sizes of a Reshape, the ends of a Slice, and what writes into a cache of
// fixed size.
func recut(_ *eval.Scope, n *onnx.Node, inputs []*eval.Value) {
	switch {
	case n.Op == "ScatterElements" && len(inputs) > 2:
		at, updates := inputs[1], inputs[2]
		if at.Known() && len(at.Shape) > 0 && at.Shape[0] == 1 && len(updates.Shape) > 0 && updates.Shape[0] == calls {
			inputs[1] = eval.IntValue(at.Type, slices.Concat([]int{calls}, at.Shape[1:]), slices.Repeat(at.Ints, calls))
		}
	case n.Op == "ScatterND" && len(inputs) > 2 && slices.Contains(inputs[2].Shape, calls): // the places were computed for one
		inputs[1], inputs[2] = &eval.Value{Type: inputs[1].Type}, &eval.Value{Type: inputs[2].Type}
	case n.Op == "Slice" && len(inputs) > 3 && inputs[2].Known() && inputs[3].Known() && len(inputs[2].Ints) == len(inputs[3].Ints):
		ends := slices.Clone(inputs[2].Ints)
		for i, d := range inputs[3].Ints {
			if d >= 0 && int(d) < len(inputs[0].Shape) && inputs[0].Shape[d] == calls && ends[i] == 1 {
				ends[i] = calls
			}
		}
		inputs[2] = eval.IntValue(inputs[2].Type, inputs[2].Shape, ends)
	case n.Op == "Reshape" && len(inputs) > 1 && inputs[1].Known():
		if to := batched(inputs[0], inputs[1].Ints); to != nil {
			inputs[1] = eval.IntValue(inputs[1].Type, inputs[1].Shape, to)
		}
	}
}

// batched are the sizes to which a value with the batch of the calls is cut, where it was to be cut to others for a batch of one: the batch stands
// behind as many elements as in the value. nil where they do not fit.
func batched(v *eval.Value, sizes []int64) []int64 {
	batch := slices.IndexFunc(v.Shape, func(size int) bool { return size%calls == 0 })
	if batch < 0 {
		return nil
	}
	ahead, at := onnx.Size(v.Shape[:batch]), 0
	for ; at < len(sizes) && ahead > 1 && sizes[at] > 0 && ahead%int(sizes[at]) == 0; at++ {
		ahead /= int(sizes[at])
	}
	if ahead > 1 || at == len(sizes) || sizes[at] < 1 {
		return nil
	}
	product := onnx.Size(sizes)
	open := product < 0 && int(sizes[at]) != v.Shape[batch] && v.Len()%(-product*calls) == 0 // one size is what is left
	if !open && product*calls != v.Len() {
		return nil
	}
	to := slices.Clone(sizes)
	to[at] *= calls
	return to
}

// stack puts the numbers that a value has in several calls behind one another along the batch of the data that it meets; nil where they
// do not differ, or are not known, or meet no data where they are to.
func stack(s *eval.Scope, name string, evaluated []*eval.Evaluator, meeting bool) *eval.Value {
	v := s.Value(name)
	if !v.Known() || v.Floats == nil || v.Len()*len(evaluated) > maxInputs {
		return nil
	}
	differ := false
	var all []float64
	for _, e := range evaluated {
		w := e.Main.Value(name)
		if !w.Known() || !slices.Equal(w.Shape, v.Shape) {
			return nil
		}
		differ = differ || !slices.Equal(w.Floats, v.Floats)
		all = append(all, w.Floats...)
	}
	if !differ {
		return nil
	}
	rank, meets := len(v.Shape), false
	for _, r := range s.Consumers(name) {
		if out := s.Output(r, 0).Type; out != 0 && !out.IsFloat() { // an index or a condition, of which there is one
			return nil
		}
		for _, other := range r.Inputs {
			if o := s.Value(other); other != name && o.Ranked && o.Unknowable() {
				rank, meets = max(rank, len(o.Shape)), true
			}
		}
	}
	if meeting && !meets {
		return nil
	}
	shape := v.Shape
	if rank == len(shape) && rank > 0 && shape[0] == 1 {
		shape = shape[1:]
	}
	shape = slices.Concat([]int{len(evaluated)}, slices.Repeat([]int{1}, max(rank-1-len(shape), 0)), shape)
	out := eval.FloatValue(v.Type, shape, all)
	out.Origins = v.Origins
	return out
}
