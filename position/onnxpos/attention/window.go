package attention

import (
	"math"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position/onnxpos/site"
	"github.com/modelpatch/modelpatch/position/onnxpos/trace"
	"github.com/modelpatch/modelpatch/schemes"
)

// windows collects how far attentions see.
type windows struct {
	masks      map[string]schemes.SlidingWindow // of a mask
	seen       map[*onnx.Node]bool
	everywhere bool                  // one sees everything
	widest     schemes.SlidingWindow // of the others
	graph      *site.Graph           // whose attentions they are; nil: of no graph
}

// NewWindows begins with no attention of a graph seen.
func NewWindows(g *site.Graph) *windows {
	return &windows{masks: map[string]schemes.SlidingWindow{}, seen: map[*onnx.Node]bool{}, graph: g}
}

// Widest is the widest window, none where an attention sees everything or none was found.
func (w *windows) Widest() schemes.SlidingWindow {
	if w.everywhere {
		return schemes.SlidingWindow{}
	}
	return w.widest
}

// windowOf reads the window of one attention.
func windowOf(g *site.Graph, read func(*windows)) func() schemes.SlidingWindow {
	return func() schemes.SlidingWindow {
		w := NewWindows(g)
		read(w)
		return w.Widest()
	}
}

// maxAhead is the most operators between a rotation and the product with keys.
const maxAhead = 24

// Turned follows turned queries or keys to the attentions that they go into.
func (w *windows) Turned(s *eval.Scope, name string, depth int) {
	if depth > maxAhead {
		return
	}
	for _, n := range s.Consumers(name) {
		if w.seen[n] {
			continue
		}
		w.seen[n] = true
		switch {
		case eval.Is(n, eval.Attention):
			w.Attention(s, n)
		case trace.MakesScores(s, n) && eval.Is(n, eval.Product):
			w.scores(s, n.Output(0))
			continue
		case eval.Is(n, eval.Sizes|eval.Product) || eval.Weighs(n) || eval.Is(n, eval.Normalization): // sizes lead to values, and from there to other layers
			continue
		}
		for _, out := range n.Outputs {
			w.Turned(s, out, depth+1)
		}
	}
}

// Attention reads a fused operator: its own window, or that of its mask.
func (w *windows) Attention(s *eval.Scope, n *onnx.Node) {
	if local := n.Int("local_window_size", -1); local > 0 {
		w.add(schemes.SlidingWindow{Positions: int(local)})
		return
	}
	row := eval.Lookup(n.Domain, n.Op)
	if row == nil || row.Bias <= 0 || n.Input(row.Bias) == "" {
		w.add(schemes.SlidingWindow{})
		return
	}
	w.add(w.mask(s, n.Input(row.Bias)))
}

// maxToSoftmax bounds the operators between a product of queries and keys and its Softmax.
const maxToSoftmax = 128

// scores reads what is added to scores, or chooses among them, before their
// Softmax.
func (w *windows) scores(s *eval.Scope, name string) {
	window := schemes.SlidingWindow{}
	for range maxToSoftmax {
		next := ""
		for _, n := range s.Consumers(name) {
			if n.Op == "Shape" || n.Output(0) == "" || eval.Is(n, eval.Average) { // the largest, which a Softmax takes off first
				continue
			}
			if eval.Weighs(n) {
				if n.Op == "BiasSoftmax" {
					window = narrower(window, w.mask(s, n.Input(1)))
				}
				w.add(window)
				return
			}
			for _, in := range n.Inputs {
				of, _ := s.Find(in)
				if in != name && in != "" && eval.Is(n, eval.Addition|eval.Largest|eval.Scaling|eval.Choice) && (of == nil || !eval.Is(of, eval.Average)) {
					window = narrower(window, w.mask(s, in))
				}
			}
			if next == "" || trace.MakesScores(s, n) { // others ask for its sizes
				next = n.Output(0)
			}
		}
		if next == "" {
			return
		}
		name = next
	}
}

func (w *windows) add(window schemes.SlidingWindow) {
	w.everywhere = w.everywhere || window == schemes.SlidingWindow{}
	if window.Positions >= w.widest.Positions {
		w.widest = window
	}
}

// narrower is what two windows leave of one another: the one of fewer positions, within the chunk of either.
func narrower(a, b schemes.SlidingWindow) schemes.SlidingWindow {
	chunk := max(a.Chunk, b.Chunk)
	if a.Positions == 0 || b.Positions > 0 && b.Positions < a.Positions {
		a = b
	}
	a.Chunk = chunk
	return a
}

// mask finds the window in what a mask is computed from.
func (w *windows) mask(s *eval.Scope, name string) schemes.SlidingWindow {
	if window, ok := w.masks[name]; ok {
		return window
	}
	if endsLater(s.Value(name)) {
		w.masks[name] = schemes.SlidingWindow{}
		return schemes.SlidingWindow{}
	}
	window := schemes.SlidingWindow{}
	if v := s.Value(name); v.Known() {
		window = bandOfHeads(v)
	}
	queue, seen := []place{{s, name}}, map[string]bool{name: true}
	for i := 0; i < len(queue) && i < trace.MaxSteps; i++ {
		n, at := queue[i].scope.Find(queue[i].name)
		if n == nil {
			continue
		}
		if eval.Weighs(n) || eval.Is(n, eval.Product|eval.Attention|eval.Normalization) {
			continue // scores by distance, and states: what they are compared for hides nothing
		}
		window = narrower(window, w.ofNode(at, n))
		inputs := trace.BesideSizes(n)
		if eval.Is(n, eval.Lookups) {
			inputs = inputs[:min(1, len(inputs))] // a bucket's number hides nothing
		}
		for _, in := range inputs {
			if in != "" && !seen[in] {
				seen[in] = true
				queue = append(queue, place{at, in})
			}
		}
	}
	w.masks[name] = window
	return window
}

// endsLater reports whether what is added to scores hides the last key from the last query: keys do not end where queries do, as in a
// cache of fixed size, and how far behind a query one lies is not told by its place from the end.
func endsLater(v *eval.Value) bool {
	if k := len(v.Shape); k < 2 || !v.Known() || v.Floats == nil || !v.Type.IsFloat() || v.Len() == 0 {
		return false
	}
	queries, keys := tail(v, v)
	if cell(v, queries-1, keys-1) >= trace.MaskedBelow {
		return false
	}
	for k := range keys {
		if cell(v, queries-1, k) >= trace.MaskedBelow {
			return true
		}
	}
	return false
}

// furtherKeys is by how many keys more a single query is asked again.
const furtherKeys = 3

// ofNode is windowOfNode, of a single query if that is so among more keys, too: a place from the first key on would lie elsewhere.
func (w *windows) ofNode(s *eval.Scope, n *onnx.Node) schemes.SlidingWindow {
	window := windowOfNode(s, n)
	v := s.Output(n, 0)
	if k := len(v.Shape); window.Positions == 0 || n.Op == "Trilu" || k > 1 && v.Shape[k-2] > 1 {
		return window
	}
	if w.graph == nil || w.graph.TokenInput() == nil {
		return schemes.SlidingWindow{}
	}
	if w.graph.Window() == v.Shape[len(v.Shape)-1] { // there are as many in every call, of which the last is the query's own
		return window
	}
	further := w.graph.At(v.Shape[len(v.Shape)-1] + furtherKeys).Like(s)
	if further == nil || windowOfNode(further, n) != window || further.Output(n, 0).Len() == v.Len() {
		return schemes.SlidingWindow{}
	}
	return window
}

// windowOfNode is the distance at which one node of a mask stops keys that lie
// far behind a query: a comparison of their distance with a number, or a
// triangle that is cut off below the diagonal; and the first keys that are seen beside those.
func windowOfNode(s *eval.Scope, n *onnx.Node) (w schemes.SlidingWindow) {
	switch {
	case eval.Is(n, eval.Comparison) && n.Op != "Equal":
		if positions, number := comparedDistance(s.Value(n.Input(0)), s.Value(n.Input(1)), n.Op); positions > 0 && stands(s, n, number) { // and no part of the length, say
			w.Positions = positions
		}
	case n.Op == "Trilu":
		if k, ok := s.Value(n.Input(1)).Scalar(); ok && k < -1 && k > math.MinInt32 {
			if w.Positions = int(-k); n.Int("upper", 1) != 0 { // an upper triangle has the diagonal that it ends with, and is what is seen
				w.Positions++
			}
		}
	case n.Op == "Equal":
		if c := chunkOf(s, n.Input(0)); c > 1 && c == chunkOf(s, n.Input(1)) {
			w.Chunk = c
		}
	case n.Op == "Or":
		for i, other := range []int{1, 0} {
			if near, at := s.Find(n.Input(i)); near != nil && eval.Is(near, eval.Comparison) {
				if w = windowOfNode(at, near); w.Positions > 0 {
					w.Sinks = firstKeys(s, n.Input(other))
					return w
				}
			}
		}
	}
	return w
}

// stands reports whether a number stands in a constant that a node computes with, or one of those before it: not where it is a shape's.
func stands(s *eval.Scope, n *onnx.Node, number float64) bool {
	queue := []place{}
	for _, in := range n.Inputs {
		queue = append(queue, place{s, in})
	}
	seen := map[place]bool{}
	for i := 0; i < len(queue) && i < trace.MaxSteps; i++ {
		at := queue[i]
		if at.name == "" || seen[at] {
			continue
		}
		seen[at] = true
		made, scope := at.scope.Find(at.name)
		if x, ok := at.scope.Value(at.name).Scalar(); ok && (made == nil || made.Op == "Constant") && math.Abs(x) == number {
			return true
		}
		switch {
		case made == nil, made.Op == "Range", eval.Is(made, eval.Sizes):
		case eval.Is(made, eval.Layout|eval.Repetition|eval.Selection):
			queue = append(queue, place{scope, made.Input(0)})
		default:
			for _, in := range made.Inputs {
				queue = append(queue, place{scope, in})
			}
		}
	}
	return false
}

// place is a value of a scope.
type place struct {
	scope *eval.Scope
	name  string
}

// chunkOf is the whole number by which positions are divided to count chunks, 0 where none is.
func chunkOf(s *eval.Scope, name string) int {
	for range trace.MaxTowards {
		n, at := s.Find(name)
		if n == nil || len(n.Inputs) == 0 {
			return 0
		}
		if by, ok := at.Value(n.Input(1)).Scalar(); n.Op == "Div" {
			if !ok || by != math.Trunc(by) || by < 2 || by > math.MaxInt32 {
				return 0
			}
			return int(by)
		}
		s, name = at, n.Input(0)
	}
	return 0
}

// firstKeys is how many keys from the first on a comparison of their places with a number chooses, 0 where it
// is none.
func firstKeys(s *eval.Scope, name string) int {
	n, at := s.Find(name)
	if n == nil || !eval.Is(n, eval.Comparison) || n.Op == "Equal" {
		return 0
	}
	places, limit, sign := at.Value(n.Input(0)), at.Value(n.Input(1)), 1.0
	if places.Len() == 1 {
		places, limit, sign = limit, places, -1
	}
	if !places.Known() || !limit.Known() || places.Len() < 2 || limit.Len() != 1 || places.Len() != places.Shape[len(places.Shape)-1] {
		return 0
	}
	for k := range places.Len() {
		if places.Number(k) != float64(k) {
			return 0
		}
	}
	count := limit.Number(0)
	if holds(n.Op, 0) {
		count++
	}
	if count < 1 || count > math.MaxInt32 || !holds(n.Op, -sign) || holds(n.Op, sign) {
		return 0
	}
	return int(count)
}

// fewestKeys show that numbers count distances from a single query.
const fewestKeys = 3

// comparedDistance is how many keys a comparison of the distance of key and query with a number leaves, the query's own among them, and
// that number; 0 where it does not compare it, or where a key far behind comes to the same as the query itself: that is what a causal mask
// compares.
func comparedDistance(a, b *eval.Value, op string) (positions int, number float64) {
	if !a.Known() || !b.Known() || a.Len() == 0 || b.Len() == 0 {
		return 0, 0
	}
	queries, keys := tail(a, b)
	if keys < 2 || keys < queries || queries == 1 && keys < fewestKeys {
		return 0, 0
	}
	difference := func(q, k int) float64 { return cell(a, q, k) - cell(b, q, k) }
	apart := func(q, k int) float64 { return float64(k - q - (keys - queries)) }
	for _, form := range []func(apart float64) float64{func(x float64) float64 { return x }, math.Abs} {
		for _, sign := range []float64{1, -1} {
			c := difference(0, keys-queries) // the query's own key
			if same(queries, keys, func(q, k int) bool { return difference(q, k) == sign*form(apart(q, k))+c }) &&
				holds(op, c) != holds(op, sign*form(math.Inf(-1))) && math.Abs(c) < math.MaxInt32 {
				last := math.Floor(math.Abs(c)) // the farthest key that may be seen
				if holds(op, c) == holds(op, sign*form(-last)+c) {
					last++
				}
				return int(last), math.Abs(c)
			}
		}
	}
	return 0, 0
}

// holds reports whether a comparison of a with b is true, by a − b.
func holds(op string, difference float64) bool {
	switch op {
	case "Greater":
		return difference > 0
	case "GreaterOrEqual":
		return difference >= 0
	case "Less":
		return difference < 0
	}
	return difference <= 0
}

// tail are the sizes of the last two axes of what two values broadcast to.
func tail(a, b *eval.Value) (rows, columns int) {
	rows, columns = 1, 1
	for _, v := range []*eval.Value{a, b} {
		if k := len(v.Shape); k > 0 {
			columns = max(columns, v.Shape[k-1])
			if k > 1 {
				rows = max(rows, v.Shape[k-2])
			}
		}
	}
	return rows, columns
}

// cell is an element of the first matrix of a value, broadcast.
func cell(v *eval.Value, row, column int) float64 {
	k := len(v.Shape)
	if k == 0 {
		return v.Number(0)
	}
	at := column
	if v.Shape[k-1] == 1 {
		at = 0
	}
	if k > 1 && v.Shape[k-2] > 1 {
		at += row * v.Shape[k-1]
	}
	return v.Number(at)
}

func same(rows, columns int, as func(row, column int) bool) bool {
	for q := range rows {
		for k := range columns {
			if !as(q, k) {
				return false
			}
		}
	}
	return true
}

// maxHeads bounds the matrices of a mask of which each is that of a head.
const maxHeads = 256

// bandOfHeads is banded of a mask with a matrix for each head: the widest of them, none where one has none.
func bandOfHeads(v *eval.Value) schemes.SlidingWindow {
	k := len(v.Shape)
	if k < 3 || v.Shape[k-3] < 2 || v.Shape[k-3] > maxHeads {
		return banded(v)
	}
	w, size := NewWindows(nil), v.Shape[k-2]*v.Shape[k-1]
	for h := range v.Shape[k-3] {
		head := &eval.Value{Type: v.Type, Ranked: true, Shape: v.Shape[k-2:]}
		if v.Floats != nil {
			head.Floats = v.Floats[h*size:][:size]
		} else {
			head.Ints = v.Ints[h*size:][:size]
		}
		w.add(banded(head))
	}
	return w.Widest()
}

// banded is how many keys the last query of a mask sees, itself included, where
// those before them are masked but for the first of all; none where it sees all, or where
// the value is no mask: that has two numbers.
func banded(v *eval.Value) (w schemes.SlidingWindow) {
	k := len(v.Shape)
	if k < 2 || v.Shape[k-1] < 2 || v.Shape[k-2] < 2 || !v.Known() || v.Len() == 0 {
		return w
	}
	rows, columns := v.Shape[k-2], v.Shape[k-1]
	own := cell(v, rows-1, columns-1)
	if cell(v, 0, columns-1) == own {
		return w // the last key is to all queries what it is to the last: no band ends with it
	}
	first := columns - 1 // key of the window
	for first > 0 && cell(v, rows-1, first-1) == own {
		first--
	}
	if first == 0 {
		return w
	}
	hidden := cell(v, rows-1, first-1)
	for w.Sinks < first && cell(v, rows-1, w.Sinks) == own {
		w.Sinks++
	}
	for k := w.Sinks; k < first; k++ {
		if cell(v, rows-1, k) != hidden {
			return schemes.SlidingWindow{}
		}
	}
	if first == columns-1 || !same(rows, columns, func(q, k int) bool { x := cell(v, q, k); return x == own || x == hidden }) {
		return schemes.SlidingWindow{} // alone it sees what no window shows: itself, or all others
	}
	w.Positions = columns - first
	return w
}
