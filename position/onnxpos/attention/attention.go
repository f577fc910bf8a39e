// Package attention finds the attentions of an ONNX graph, around a Softmax or in a
// fused operator: which encodings act in them (Find), how they are run (package cut),
// how far they look back (Windows), and where a bias is added to their scores.
package attention

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/onnxpos/cut"
	"github.com/modelpatch/modelpatch/position/onnxpos/site"
	"github.com/modelpatch/modelpatch/position/onnxpos/trace"
	"github.com/modelpatch/modelpatch/position/trial"
	"github.com/modelpatch/modelpatch/schemes"
)

// Axes says what the axes of values run over.
type Axes interface {
	// InputsOf are the names of the inputs on whose axes a value lies.
	InputsOf(s *eval.Scope, name string) []string
	// OverPositions reports whether positions are part of an axis.
	OverPositions(s *eval.Scope, name string, axis int) bool
}

// Find finds the attentions of a graph, in its order, and says which sites
// act in each by their place in the list. Without axes, nothing is added to what is found.
func Find(m *site.Graph, sites []site.Site, axes Axes) []*position.Attention {
	var found []*position.Attention
	shared := &sharedBias{m: m, made: map[biasKey]string{}, first: map[*onnx.Graph]*onnx.Node{}}
	acts := effectsOf(sites)
	still := neutralOf(sites)
	for _, s := range m.Eval.Scopes() {
		s.Spend(len(s.Graph.Nodes))
		for _, n := range s.Graph.Nodes {
			fused, runs := cut.IsFused(n)
			var a *position.Attention
			switch {
			case eval.Weighs(n):
				a = plainAttention(s, n, shared, acts, axes)
			case fused:
				a = fusedAttention(s, n, shared, acts)
			}
			if a == nil {
				continue
			}
			a.Layer = len(found)
			if axes != nil {
				a.Inputs = axes.InputsOf(s, n.Output(0))
				if image := m.ImageInput(); image != nil && !a.Causal && slices.Contains(a.Inputs, image.Name) && min(m.PatchGrid()[0], m.PatchGrid()[1]) > 1 {
					a.AddWindow, a.Closed = nil, cmp.Or(a.Closed, n.Title()+" weighs patches of a picture: what is near in their order is not what is near in the picture")
				}
			}
			found = append(found, a)
			switch {
			case a.Unsupported != "":
			case fused && !runs:
				a.Unsupported = fmt.Sprintf("the operator %s is not modelled", n.Op)
			case unfollowed(sites, a.Encodings) != "":
				a.Unsupported = unfollowed(sites, a.Encodings)
			case s != m.Eval.Main:
				a.Unsupported = "it stands in a function or a branch, which is not run on its own"
			default:
				a.Run = runner(m, s, n, still)
			}
		}
	}
	return found
}

// unfollowed is why queries and keys do not turn as those sites say of positions; "" where they do.
func unfollowed(sites []site.Site, of []int) string {
	for _, i := range of {
		if r, rotates := sites[i].(interface{ Unfollowed() string }); rotates && r.Unfollowed() != "" {
			return r.Unfollowed()
		}
	}
	return ""
}

// neutralOf are the values of the main graph that would turn nothing if they were
// numbers of one kind.
func neutralOf(sites []site.Site) cut.Neutral {
	out := cut.Neutral{}
	for _, s := range sites {
		if n, ok := s.(interface{ Neutral() map[string]float64 }); ok {
			maps.Copy(out, n.Neutral())
		}
	}
	return out
}

// runner runs the attention of a Softmax or a fused operator of the main graph.
func runner(m *site.Graph, s *eval.Scope, anchor *onnx.Node, still cut.Neutral) func(int, []int) (*trial.Trial, error) {
	return func(positions int, heads []int) (t *trial.Trial, err error) {
		defer func() {
			if r := recover(); r != nil {
				t = nil
				if spent, ok := r.(*eval.Spent); ok {
					err = spent
				} else { // graphs are hostile input
					err = fmt.Errorf("the attention of %s is not understood (%v): please report it", anchor.Title(), r)
				}
			}
		}()
		m.Budget.What = "running attention"
		m.Budget.Grant(maxRunSteps)
		c := cut.Find(s, anchor)
		if c == nil {
			return nil, cut.ErrLayout
		}
		t, err = c.Run(m.At(positions), 0, still)
		if past := m.Cached(positions); err == nil && (past > 0 && t.Keys-t.Queries == past || past == 0 && t.Keys > t.Queries && !c.Crosses()) {
			t.Past, t.Own = t.Keys-t.Queries, past == 0 // tokens of the graph's own stand ahead
		}
		if err != nil || heads == nil {
			return t, err
		}
		t.Heads = slices.DeleteFunc(t.Heads, func(h trial.Head) bool { return !slices.Contains(heads, h.Head) })
		return t, nil
	}
}

// maxRunSteps bounds the steps of one attention that is run: a second or so.
const maxRunSteps = 1 << 24

// plainAttention reads an attention in plain operators around a Softmax; nil
// where the Softmax is something else.
func plainAttention(s *eval.Scope, softmax *onnx.Node, shared *sharedBias, acts effects, axes Axes) *position.Attention {
	scores := softmax.Input(0)
	v := s.Value(scores)
	k := len(v.Shape)
	if k < 3 || k > 5 || v.Shape[k-1] < 2 {
		return nil
	}
	c := cut.Find(s, softmax)
	if c == nil || axes != nil && comparesChannels(s, c.Product, axes) {
		return nil
	}
	closed := ""
	if axis := int(softmax.Int("axis", -1)); axis >= 0 && axis != k-1 || axis < -1 {
		closed = fmt.Sprintf("%s weighs keys along axis %d of scores, which is not their last", softmax.Title(), axis)
	} else if !queriesLast(shared.m, s, scores) {
		closed = softmax.Title() + " weighs keys for each head of a query, or in blocks of queries: the axis ahead of the keys does not run over queries"
	} else if written := intoCache(s, c.Product); written != nil {
		closed = written.Title() + " writes keys into a cache of fixed size: which one is a query's own is not told by its place"
	} else if shared.m.Sizes.Length == 1 && shared.m.Window() == 0 && len(shared.m.CachesOf(v.Shape[k-1])) > 0 {
		closed = softmax.Title() + " weighs as many keys in every call, those of a cache of fixed size: which one is a query's own is not told by its place"
	}
	if closed != "" {
		return &position.Attention{Encodings: acts.in(s, c.Product, softmax), Closed: closed, Unsupported: closed}
	}
	a := &position.Attention{Causal: causal(s, scores), Heads: v.Shape[k-3], HeadDim: headDim(s, c.Product)}
	a.KVHeads = a.Heads
	a.AddBias = func(alibi schemes.ALiBi) error {
		return shared.add(s, softmax, c.Product, shared.linear(alibi), a.Heads)
	}
	a.AddWindow = func(w schemes.SlidingWindow) error {
		if n := shared.m.Window(); n > 0 && w.Sinks > 0 {
			return &position.Refusal{Why: fmt.Sprintf("%s weighs %d keys in every call, those before the query: which one is of the first position is not told by its place", softmax.Title(), n), Instead: "leave --sinks out"}
		}
		return shared.add(s, softmax, c.Product, shared.hiding(w, a.Causal), a.Heads)
	}
	at, found := keyed(s, softmax, c.Product)
	a.Sinks = found && eval.Is(at.node, eval.Joining)
	a.Temperature = func() schemes.Temperature { return temperature(shared.m, s, c.Product.Inputs...) }
	a.Window = windowOf(shared.m, func(w *windows) { w.scores(s, c.Product.Output(0)) })
	a.Encodings = acts.in(s, c.Product, softmax)
	if acts.parted[trace.Place{Scope: s, Node: c.Product}] {
		a.Unsupported = "several parts of each head turn"
	} else if n := averaged(s, c.Product); n != nil {
		a.Unsupported = n.Title() + " makes queries or keys of those of several positions"
	} else if n := reweighed(s, softmax); n != nil && !a.Causal { // else what a mask has hidden may be made zero once more
		a.Unsupported = n.Title() + " changes the weights that the Softmax gives"
	}
	if softmax.Op != "Softmax" {
		a.AddBias, a.AddWindow, a.Closed = nil, nil, softmax.Title()+" is no plain Softmax"
		a.Unsupported = a.Closed
	}
	if axes != nil && axes.OverPositions(s, scores, k-3) {
		a.AddBias, a.AddWindow = nil, nil
		a.Closed = softmax.Title() + " weighs keys of several windows, or of several texts, along the axis of the heads: which of them are of one head is not told"
	}
	if c.Crosses() {
		a.AddBias, a.AddWindow, a.Crosses, a.Closed = nil, nil, true, crossing
	}
	return a
}

// comparesChannels reports whether a product sums over positions and leaves none for keys: channels attend to channels (XCiT, Restormer), which
// encodes no positions and hides none.
func comparesChannels(s *eval.Scope, product *onnx.Node, axes Axes) bool {
	of := eval.Operands(product)
	q, scores := s.Value(of[0]).Shape, s.Value(product.Output(0)).Shape
	summed := len(q) - 1
	if terms, out, ok := eval.Subscripts(product, len(q), len(s.Value(of[1]).Shape)); ok {
		summed = slices.IndexFunc([]rune(terms[0]), func(label rune) bool {
			return strings.ContainsRune(terms[1], label) && !strings.ContainsRune(out, label)
		})
	}
	return summed >= 0 && axes.OverPositions(s, of[0], summed) && !axes.OverPositions(s, product.Output(0), len(scores)-1)
}

// queriesLast reports whether the axis of scores ahead of their keys runs over queries, and not the one before that: with one token more it is
// as much longer, and of one token there is one query.
func queriesLast(m *site.Graph, s *eval.Scope, scores string) bool {
	was := s.Value(scores).Shape
	k := len(was)
	if m.Sizes.Length == 1 {
		return was[k-2] == 1 || was[k-3] != 1
	}
	at := m.At(m.Sizes.Length + 1).Like(s)
	if at == nil {
		return true
	}
	is := at.Value(scores).Shape
	return len(is) != k || is[k-3] == was[k-3] || is[k-2] != was[k-2]
}

// averaged is a node that makes queries or keys of those of several positions, between their projection and their product; nil where
// none does. What takes a mean of columns alone normalises.
func averaged(s *eval.Scope, product *onnx.Node) *onnx.Node {
	for _, name := range product.Inputs {
		names := []string{name}
		for i := 0; i < len(names) && i < maxToCache; i++ {
			n, at := s.Find(names[i])
			if n == nil || at != s || eval.Is(n, eval.Product) {
				continue
			}
			if shape := s.Output(n, 0).Shape; eval.Is(n, eval.Average) && len(shape) > 1 && shape[len(shape)-1] > 1 {
				return n
			}
			if eval.Is(n, eval.Layout|eval.Elements|eval.ByElement|eval.Average) {
				names = append(names, n.Inputs...)
			}
		}
	}
	return nil
}

// reweighed is a node that multiplies the weights of a Softmax with numbers that differ among keys, before they meet the values; nil where none does.
func reweighed(s *eval.Scope, softmax *onnx.Node) *onnx.Node {
	name := softmax.Output(0)
	for range maxToValues {
		next := ""
		for _, n := range s.Consumers(name) {
			switch {
			case eval.Is(n, eval.Product):
				return nil
			case eval.Is(n, eval.Scaling):
				for _, in := range n.Inputs {
					v := s.Value(in)
					if k := len(v.Shape); in != name && k > 0 && v.Shape[k-1] > 1 && !v.Uniform() {
						return n
					}
				}
				next = n.Output(0)
			case eval.Is(n, eval.Layout|eval.Elements|eval.Choice|eval.Selection):
				next = n.Output(0)
			}
		}
		if next == "" {
			return nil
		}
		name = next
	}
	return nil
}

// maxToValues bounds the nodes between a Softmax and the product with values.
const maxToValues = 8

// intoCache is the node that writes keys into an input, a cache, before their product with queries; nil where none does.
func intoCache(s *eval.Scope, product *onnx.Node) *onnx.Node {
	const moves = eval.Layout | eval.Repetition | eval.Scaling
	for _, name := range product.Inputs {
		for range maxToCache {
			n, at := s.Find(name)
			if n == nil || at != s {
				break
			}
			if eval.Is(n, eval.Scattering) {
				if writer, _ := s.Find(n.Input(0)); writer == nil && trace.Stored(s, n.Input(0)) == nil {
					return n
				}
				break
			}
			if name = n.Input(0); !eval.Is(n, moves) && n.Op != "Cast" && n.Op != "Slice" {
				break
			}
		}
	}
	return nil
}

// maxToCache bounds the nodes between a product and the cache that it takes its keys from.
const maxToCache = 32

// crossing is why a cross-attention gets no bias.
const crossing = "keys and values come from another state than queries (cross-attention)"

// headDim is the width of a query: what its product with a key sums over.
func headDim(s *eval.Scope, product *onnx.Node) int {
	q := s.Value(product.Input(0)).Shape
	switch {
	case len(q) == 0:
		return 0
	case product.Op == "Einsum":
		return trace.SummedBy(s, product, product.Input(0))
	}
	return q[len(q)-1]
}

// fusedAttention reads the attributes of an operator of attention.
func fusedAttention(s *eval.Scope, n *onnx.Node, shared *sharedBias, acts effects) *position.Attention {
	a := &position.Attention{Closed: closed(s, n), Encodings: acts.in(s, n, n)}
	a.Temperature = func() schemes.Temperature { return temperature(shared.m, s, n.Input(0)) }
	a.Window = windowOf(shared.m, func(w *windows) { w.Attention(s, n) })
	a.Sinks = n.Op == "GroupQueryAttention" && (n.Input(11) != "" || n.Int("smooth_softmax", 0) == 1) // head_sink
	a.AddWindow = func(w schemes.SlidingWindow) error { return shared.narrow(s, n, w, a.Causal, a.Heads) }
	switch {
	case crossesFused(s, n):
		a.AddWindow, a.Crosses, a.Closed = nil, true, crossing
	case a.Closed == "":
		a.AddBias = func(alibi schemes.ALiBi) error { return shared.addFused(s, n, shared.linear(alibi), a.Heads) }
	}
	q := s.Value(n.Input(0))
	a.Heads = int(n.Int("num_heads", n.Int("q_num_heads", 0)))
	a.KVHeads = int(n.Int("kv_num_heads", int64(a.Heads)))
	width := 0
	if k := len(q.Shape); k > 0 {
		width = q.Shape[k-1]
	}
	switch {
	case a.Heads == 0 && len(q.Shape) == 4:
		a.Heads, a.HeadDim = q.Shape[1], width
		if v := s.Value(n.Input(1)); len(v.Shape) == 4 {
			a.KVHeads = v.Shape[1]
		}
	case n.Op == "GroupQueryAttention" && n.Input(1) == "" && a.Heads+2*a.KVHeads > 0:
		a.HeadDim = width / (a.Heads + 2*a.KVHeads)
	case a.Heads > 0:
		a.HeadDim = width / a.Heads
	}
	a.Causal = n.Int("is_causal", 0) == 1 || n.Int("unidirectional", 0) == 1 || n.Op == "GroupQueryAttention"
	if row := eval.Lookup(n.Domain, n.Op); row.Bias > 0 && n.Input(row.Bias) != "" {
		a.Causal = a.Causal || hidesLater(s.Value(n.Input(row.Bias)))
	}
	return a
}

// firstQuery are what a known matrix has for the first query: at its own key, which past keys precede, at the next one
// and at the last; ok is false where keys do not differ, or one of the second query's own key and the one before is hidden: where each
// is hidden from itself, say.
func firstQuery(v *eval.Value) (own, next, last float64, ok bool) {
	k := len(v.Shape)
	if !v.Known() || k < 2 || v.Shape[k-2] < 2 || v.Shape[k-1] < v.Shape[k-2] || !v.Varies(k-1) {
		return 0, 0, 0, false
	}
	at, second := v.Shape[k-1]-v.Shape[k-2], v.Shape[k-1]
	hidden := func(i int) bool { return v.Number(second+at+i) < trace.MaskedBelow }
	if v.Type == onnx.Bool {
		hidden = func(i int) bool { return v.Number(second+at+i) == 0 }
	}
	return v.Number(at), v.Number(at + 1), v.Number(v.Shape[k-1] - 1), hidden(0) == hidden(1)
}

// hidesLater reports whether a known mask shows the first query its own key, and hides the next one and the last:
// numbers that are added, or truth values.
func hidesLater(v *eval.Value) bool {
	own, next, last, ok := firstQuery(v)
	if v.Type == onnx.Bool {
		return ok && own != 0 && next == 0 && last == 0
	}
	return ok && own > trace.MaskedBelow && max(next, last) < trace.MaskedBelow
}

// effects say which sites act in which attention.
type effects struct {
	everywhere []int                 // biases that are read by all
	reached    map[trace.Place][]int // by the node that a site's rotations or biases go to
	parted     map[trace.Place]bool  // products of queries and keys of which a site turns several parts
}

// in are the sites that act in an attention, in their order.
func (e effects) in(s *eval.Scope, product, softmax *onnx.Node) []int {
	out := slices.Concat(e.everywhere, e.reached[trace.Place{Scope: s, Node: product}])
	if softmax != product {
		out = append(out, e.reached[trace.Place{Scope: s, Node: softmax}]...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// effectsOf follows rotations to the products of queries and keys, and biases to their
// Softmax: forwards, each once, whatever the number of attentions.
func effectsOf(sites []site.Site) effects {
	out := effects{reached: map[trace.Place][]int{}, parted: map[trace.Place]bool{}}
	for i, s := range sites {
		turns := map[trace.Place]int{}
		uses, reach := s.ActsIn()
		if reach == site.Everywhere {
			out.everywhere = append(out.everywhere, i)
		}
		for _, u := range uses {
			nodes := trace.ReachedFrom(u.Scope, u.Node)
			if fused, _ := cut.IsFused(u.Node); fused {
				nodes = []*onnx.Node{u.Node} // which turns and adds itself
			}
			for _, n := range nodes {
				if fused, _ := cut.IsFused(n); !fused && eval.Weighs(n) != (reach == site.Softmaxes) {
					continue
				}
				at := trace.Place{Scope: u.Scope, Node: n}
				if r, rotates := s.(interface{ Operators() int }); rotates {
					turns[at]++
					out.parted[at] = out.parted[at] || turns[at] > 2*r.Operators() // queries, keys
				}
				if k := len(out.reached[at]); k == 0 || out.reached[at][k-1] != i {
					out.reached[at] = append(out.reached[at], i)
				}
			}
		}
	}
	return out
}

// stateOperand is the input of a sum or choice that is not known: the state.
func stateOperand(s *eval.Scope, n *onnx.Node) string {
	for _, in := range n.Inputs {
		v := s.Value(in)
		if !v.Known() && v.Type.IsFloat() && len(v.Shape) >= 3 {
			return in
		}
	}
	return ""
}

// causal reports whether later keys are masked, the next one as the last: whether known numbers that depend on
// positions are added to, or choose among, the scores. A window that ends on both sides hides the last one alone.
func causal(s *eval.Scope, scores string) bool {
	name := scores
	for range 30 {
		n, at := s.Find(name)
		if n == nil || at != s {
			return false
		}
		for i, in := range n.Inputs {
			v := s.Value(in)
			if n.Op == "Add" && hidesLater(v) {
				return true
			}
			if own, next, last, ok := firstQuery(v); n.Op == "Where" && i == 0 && ok && own != next && own != last {
				return true
			}
		}
		switch {
		case eval.Is(n, eval.Addition|eval.Scaling|eval.Largest|eval.Choice):
			name = stateOperand(s, n)
		case eval.Is(n, eval.Layout) || n.Op == "Clip":
			name = n.Input(0)
		default:
			return false
		}
	}
	return false
}
