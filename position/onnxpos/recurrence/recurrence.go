// Package recurrence makes the steps of a recurrence as many as another length has, in a graph in which they were written out
// for one length.
//
// TorchScript and torch.export run the loop of Python while they trace a model (RG-LRU, slow paths of Mamba, cells of GRU), so
// that each position has nodes of its own. What belongs to one position and to the next is told by three of them: from
// the values that are picked at three successive positions, through the readers and the makers that are alike. At a longer length the
// steps go on as copies of those of the last position.
package recurrence

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position/onnxpos/site"
	"github.com/modelpatch/modelpatch/position/onnxpos/trace"
)

// Bounds of such graphs: the least length at which nodes for each position are told from a few that pick some of them, how many
// of the first steps may be written otherwise than the others, since they have no state before them, how many positions back a
// step may look, and how many nodes are added.
const (
	leastUnrolled = 4
	mostApart     = 3
	mostLag       = 2
	mostCopies    = 1 << 18
)

// Picked are the values that nodes take out of one value at each position.
type Picked struct {
	at   [][]string
	Node *onnx.Node // one of them
}

// Find finds values of which each position of a fixed length is picked by nodes of its own: by a Split into single
// positions, or a Gather or Slice for each of them. Such a graph may run at another length and leaves out what lies beyond.
func Find(m *site.Graph) []Picked {
	length := m.FixedLength()
	if length < leastUnrolled {
		return nil
	}
	var out []Picked
	for _, s := range m.Eval.Scopes() {
		at, order := map[string]*Picked{}, []string(nil)
		for _, n := range s.Graph.Nodes {
			data := s.Value(n.Input(0))
			if n.Op == "Split" && len(n.Outputs) == length && splitsPositions(n, data, length) {
				p := Picked{at: make([][]string, length), Node: n}
				for i, o := range n.Outputs {
					p.at[i] = []string{o}
				}
				out = append(out, p)
				continue
			}
			i, ok := picks(s, n, data, length)
			if !ok || i < 0 || i >= int64(length) {
				continue
			}
			p := at[n.Input(0)]
			if p == nil {
				p = &Picked{at: make([][]string, length)}
				at[n.Input(0)], order = p, append(order, n.Input(0))
			}
			p.at[i], p.Node = append(p.at[i], n.Output(0)), n
		}
		for _, name := range order {
			if p := at[name]; !slices.ContainsFunc(p.at, func(at []string) bool { return len(at) == 0 }) {
				out = append(out, *p)
			}
		}
	}
	return out
}

// splitsPositions reports whether a Split goes along an axis of the given
// length that is not that of the columns.
func splitsPositions(n *onnx.Node, data *eval.Value, length int) bool {
	axis := n.Axis(0, len(data.Shape))
	return data.Ranked && axis >= 0 && axis < len(data.Shape)-1 && data.Shape[axis] == length
}

// picks is the one position that a node takes out of an axis of the given
// length.
func picks(s *eval.Scope, n *onnx.Node, data *eval.Value, length int) (at int64, ok bool) {
	if !data.Ranked || data.Known() {
		return 0, false
	}
	along := int64(0)
	switch n.Op {
	case "Gather":
		along = n.Int("axis", 0)
		x, scalar := s.Value(n.Input(1)).Scalar()
		at, ok = int64(x), scalar && s.Tensor(n.Input(1)) != nil
	case "Slice":
		starts, ends, axes := trace.ListOf(s, n, "starts", 1), trace.ListOf(s, n, "ends", 2), trace.ListOf(s, n, "axes", 3)
		if len(starts) != 1 || len(ends) != 1 || len(axes) > 1 || ends[0] != starts[0]+1 {
			return 0, false
		}
		if len(axes) == 1 {
			along = axes[0]
		}
		at, ok = starts[0], true
	}
	axis := onnx.Dimension(along, len(data.Shape))
	return at, ok && axis >= 0 && data.Shape[axis] == length
}

// steps are the steps of an unrolled recurrence: which value follows two of successive positions.
type steps struct {
	m        *site.Graph
	s        *eval.Scope
	old, new int
	next     map[[2]string]string
	before   map[string]string // the other way
	position map[string]int    // of values that belong to one
	queue    [][3]string
	copies   []*onnx.Node
	of       map[*onnx.Node]*onnx.Node // what each is a copy of, in the file
	place    map[*onnx.Node]int        // before which node of the file's list each goes
	made     map[step]string           // what copies give
	maker    map[string]*onnx.Node
	numbers  map[string]string // constants that were added
	parts    map[*onnx.Node][]string
	counters map[*onnx.Tensor]bool // numbers that count from step to step
	shared   map[string]bool       // what every step reads
	ahead    []reader              // what reads the next position, and reads a beginning at the last one
	why      string
}

// step is what stands so many steps behind the second of two values of successive positions.
type step struct {
	pair  [2]string
	steps int
}

// reader is an input of a node, and what it is to read.
type reader struct {
	node  *onnx.Node
	input int
	name  string
}

// Steps are what a recurrence consists of, once it was made longer.
type Steps struct {
	Nodes    map[*onnx.Node]bool   // of all steps
	Counters map[*onnx.Tensor]bool // constants of the file that count from step to step: nothing else may change them
}

// Unroll puts the steps of a longer length into the graph; or says why not.
func Unroll(m *site.Graph, groups []Picked, length int) (made Steps, why string) {
	z := &steps{m: m, s: m.Eval.Main, old: m.FixedLength(), new: length, next: map[[2]string]string{}, before: map[string]string{}, position: map[string]int{}, of: map[*onnx.Node]*onnx.Node{}, place: map[*onnx.Node]int{},
		made: map[step]string{}, maker: map[string]*onnx.Node{}, numbers: map[string]string{}, parts: map[*onnx.Node][]string{}, counters: map[*onnx.Tensor]bool{}, shared: map[string]bool{}, why: fmt.Sprintf("steps of positions %d to %d", m.FixedLength(), length-1)}
	if why := z.goOn(groups); why != "" {
		return Steps{}, why
	}
	return Steps{z.nodes(), z.counters}, ""
}

// goOn puts the further steps into the graph; or says why not.
func (z *steps) goOn(groups []Picked) (why string) {
	if z.new < z.old {
		return "they are not taken away"
	}
	for _, g := range groups {
		if g.Node.Graph != z.s.Graph {
			return "they stand inside of a node"
		}
		z.seed(g)
	}
	z.spread()
	ends, why := z.ends()
	if why != "" {
		return why
	}
	for _, e := range ends {
		for k := range z.new - z.old {
			after, ok := z.after(z.before[e.last], e.last, k+1)
			if !ok {
				return "what would follow the last of them is not told"
			}
			e.added = append(e.added, after)
		}
	}
	for i := range z.ahead {
		last := z.ahead[i].name
		after, ok := z.after(z.before[last], last, 1)
		if !ok {
			return "what would follow the last of them is not told"
		}
		z.ahead[i].name = after
	}
	return z.write(ends)
}

// seed begins with the values that are picked at three successive positions.
func (z *steps) seed(g Picked) {
	for i := range g.at {
		for _, name := range g.at[i] {
			z.position[name] = i
		}
		if i < 2 || len(g.at[i]) != len(g.at[i-1]) || len(g.at[i]) != len(g.at[i-2]) {
			continue
		}
		for k := range g.at[i] {
			z.chain([3]string{g.at[i-2][k], g.at[i-1][k], g.at[i][k]}, i)
		}
	}
}

// nowhere is the position of what is not known to be made from a picked value.
const nowhere = -1

// chain notes that values belong to three successive positions, the third to p unless that is known: the nearer what is picked, the
// earlier it is noted.
func (z *steps) chain(t [3]string, p int) {
	pair := [2]string{t[0], t[1]}
	after, known := z.next[pair]
	at, placed := z.position[t[2]]
	if t[0] == t[1] || t[1] == t[2] || known && after != t[2] || !known && z.before[t[2]] != "" || known && (p == nowhere || placed && at != nowhere) {
		return
	}
	z.next[pair], z.before[t[2]] = t[2], t[1]
	for i, name := range t {
		if at, placed := z.position[name]; !placed || at == nowhere && p != nowhere {
			z.position[name] = max(p-2+i, nowhere)
		}
	}
	z.queue = append(z.queue, t)
}

// spread follows the steps to all that reads what is known to belong to three successive ones, and to what it is made from.
func (z *steps) spread() {
	for len(z.queue) > 0 {
		t := z.queue[0]
		z.queue = z.queue[1:]
		z.s.Spend(1)
		var makers [3]*onnx.Node
		var readers [3][]*onnx.Node
		for i, name := range t {
			makers[i], _ = z.s.Find(name)
			readers[i] = z.s.Consumers(name)
		}
		p := z.position[t[2]]
		z.alike(makers, p)
		for _, first := range readers[0] {
			at := slices.Index(first.Inputs, t[0])
			same := func(i int) (out []*onnx.Node) {
				for _, n := range readers[i] {
					if slices.Index(n.Inputs, t[i]) == at && alike(first, n) {
						out = append(out, n)
					}
				}
				return out
			}
			of := [3][]*onnx.Node{same(0), same(1), same(2)}
			if len(of[0]) == len(of[1]) && len(of[0]) == len(of[2]) { // several of a kind at each position: in one order
				k := slices.Index(of[0], first)
				z.alike([3]*onnx.Node{first, of[1][k], of[2][k]}, p)
				continue
			}
			for _, second := range of[1] {
				if slices.ContainsFunc(of[2], func(third *onnx.Node) bool { return z.alike([3]*onnx.Node{first, second, third}, p) }) {
					break
				}
			}
		}
	}
	for pair, after := range z.next { // where one recurrence begins with the end of another, values of both seem to follow each other
		if z.apart(pair[0], pair[1]) || z.apart(pair[1], after) {
			delete(z.next, pair)
			if z.apart(pair[1], after) {
				delete(z.before, after)
			}
		}
	}
}

// apart reports whether two values belong to positions of which the second does not follow the first.
func (z *steps) apart(a, b string) bool {
	p, q := z.position[a], z.position[b]
	return p != nowhere && q != nowhere && q != p+1
}

// alike reports whether three nodes do the same with what belongs to three successive positions, and notes that what they give
// does, and what they read.
func (z *steps) alike(n [3]*onnx.Node, p int) bool {
	if n[0] == nil || n[1] == nil || n[2] == nil || n[0] == n[1] || n[1] == n[2] || !alike(n[0], n[1]) || !alike(n[1], n[2]) {
		return false
	}
	var inputs [][3]string
	begins := 0 // inputs of which the third is a beginning: where steps go from the end, the last position reads one
	for i := range n[0].Inputs {
		t := [3]string{n[0].Inputs[i], n[1].Inputs[i], n[2].Inputs[i]}
		switch follows := z.successive(t, 2); {
		case follows && !z.isNumber(t[2]):
			inputs = append(inputs, t)
		case follows:
		case begins > 0 || p != z.old-1 || z.isNumber(t[1]) || !slices.Equal(z.s.Value(t[1]).Shape, z.s.Value(t[2]).Shape):
			return false
		default:
			begins++
		}
	}
	for i := range n[0].Outputs {
		z.chain([3]string{n[0].Outputs[i], n[1].Outputs[i], n[2].Outputs[i]}, p)
	}
	for _, t := range inputs {
		z.chain(t, nowhere)
	}
	return true
}

// successive reports whether three values may belong to three successive steps: the same value, numbers that count on, or what
// nodes that are alike make of such values.
func (z *steps) successive(t [3]string, depth int) bool {
	switch after, known := z.next[[2]string{t[0], t[1]}]; {
	case t[0] == t[1] && t[1] == t[2]:
		return true
	case z.isNumber(t[0]) && z.isNumber(t[1]) && z.isNumber(t[2]):
		return z.counts(t)
	case t[0] == t[1] || t[1] == t[2]:
		return false
	case known:
		return after == t[2]
	}
	var n [3]*onnx.Node
	for i, name := range t {
		if n[i], _ = z.s.Find(name); n[i] == nil {
			return false
		}
	}
	if n[0] == n[1] || n[1] == n[2] || !alike(n[0], n[1]) || !alike(n[1], n[2]) {
		return false
	}
	for i, in := range n[0].Inputs {
		if _, known := z.position[in]; !known && depth > 0 && !z.successive([3]string{in, n[1].Inputs[i], n[2].Inputs[i]}, depth-1) {
			return false
		}
	}
	return true
}

// counts reports whether three constants are the same, or whole numbers that go on by the same steps, and notes those.
func (z *steps) counts(t [3]string) bool {
	v, ok := z.onward(t[0], t[1], 1)
	w := z.s.Value(t[2])
	if !ok || !w.Known() || v.Type != w.Type || !slices.Equal(v.Shape, w.Shape) || !slices.Equal(v.Ints, w.Ints) || !slices.Equal(v.Floats, w.Floats) {
		return false
	}
	if second := z.s.Value(t[1]); !slices.Equal(second.Ints, w.Ints) || !slices.Equal(second.Floats, w.Floats) {
		for _, name := range t {
			z.counters[z.s.Tensor(name)] = true
		}
	}
	return true
}

// alike reports whether two nodes do the same with as many inputs.
func alike(a, b *onnx.Node) bool {
	return a.Op == b.Op && a.Domain == b.Domain && len(a.Inputs) == len(b.Inputs) && len(a.Outputs) == len(b.Outputs) &&
		slices.EqualFunc(a.Attributes, b.Attributes, func(x, y *onnx.Attribute) bool {
			return x.Name == y.Name && x.Text() == y.Text() && sameTensor(x.Tensor, y.Tensor) && !x.Long && x.Graph == nil && y.Graph == nil && x.Graphs == nil && y.Graphs == nil
		})
}

// maxFilling bounds the elements of a tensor in an attribute that is compared: ConstantOfShape has one.
const maxFilling = 64

// sameTensor reports whether two attributes hold the same tensor, or none.
func sameTensor(a, b *onnx.Tensor) bool {
	if a == nil || b == nil {
		return a == b
	}
	if a.Type != b.Type || !slices.Equal(a.Dims, b.Dims) || a.Len() > maxFilling {
		return false
	}
	x, err := a.WholeSource()
	y, err2 := b.WholeSource()
	if err != nil || err2 != nil {
		return false
	}
	first, err := io.ReadAll(x.Open())
	second, err2 := io.ReadAll(y.Open())
	return err == nil && err2 == nil && bytes.Equal(first, second)
}

// end is what the last step gives, where what stands behind the steps reads it, or joins what all of them give.
type end struct {
	last  string
	reads []*onnx.Node
	joins []*onnx.Node
	added []string // what further steps give
}

// ends finds what is read of the steps behind them: what reads a value of a step as no other step does.
func (z *steps) ends() (out []*end, why string) {
	onward, at := map[string]string{}, map[string]int{}
	twice := false
	follows := func(a, b string) {
		twice = twice || onward[a] != "" && onward[a] != b
		onward[a] = b
	}
	for pair, after := range z.next {
		follows(pair[0], pair[1])
		follows(pair[1], after)
	}
	if twice {
		return nil, "which of them follows which is not told"
	}
	for _, n := range z.s.Graph.Nodes {
		if n.Passes() {
			continue
		}
		joins := z.joins(n)
		for i, name := range n.Inputs {
			p, in := z.position[name]
			last := in && onward[name] == "" && (p == z.old-1 && z.before[name] != "" || p == nowhere && z.earlier(name) >= z.old-1-mostApart)
			switch {
			case !in || slices.Index(n.Inputs, name) != i || z.reads(n, i, z.before) || z.reads(n, i, onward) || !last && p < 2 || !last && joins && i < len(n.Inputs)-1:
				continue // of the first positions, which stay
			case !last:
				return nil, fmt.Sprintf("%s reads what belongs to position %d", n.Title(), p)
			case joins && i != len(n.Inputs)-1:
				return nil, n.Title() + " joins them with more behind them"
			}
			if z.earlier(name) < z.old-1-mostApart {
				return nil, fmt.Sprintf("%s reads what not all of them make in one way", n.Title())
			}
			if _, known := at[name]; !known {
				at[name] = len(out)
				out = append(out, &end{last: name})
			}
			if e := out[at[name]]; joins {
				e.joins = append(e.joins, n)
			} else {
				e.reads = append(e.reads, n)
			}
		}
	}
	for _, o := range z.s.Graph.Outputs {
		if _, in := z.position[o.Name]; in {
			return nil, "an output of the graph is of one position"
		}
	}
	if len(out) == 0 {
		return nil, "nothing reads what the last of them gives"
	}
	return out, ""
}

// reads reports whether a node reads its input i as the node of the step beside it reads its own.
func (z *steps) reads(n *onnx.Node, i int, beside map[string]string) bool {
	return slices.ContainsFunc(n.Outputs, func(o string) bool {
		of, _ := z.s.Find(beside[o])
		return beside[o] != "" && of != nil && i < len(of.Inputs) && beside[n.Inputs[i]] != "" && of.Inputs[i] == beside[n.Inputs[i]]
	})
}

// earlier is how many steps are known before that of a value.
func (z *steps) earlier(name string) (n int) {
	for ; z.before[name] != ""; name = z.before[name] {
		n++
	}
	return n
}

// joins reports whether a node joins what all steps give, the first ones perhaps made in another way.
func (z *steps) joins(n *onnx.Node) bool {
	if n.Op != "Concat" || len(n.Inputs) < z.old {
		return false
	}
	last := len(n.Inputs) - 1
	for last > 0 && z.position[n.Inputs[last]] != z.old-1 {
		last--
	}
	return last+1 >= z.old && z.before[n.Inputs[last]] == n.Inputs[last-1] && z.before[n.Inputs[last-1]] == n.Inputs[last-2]
}

// after is what stands so many steps behind the second of two values of successive positions: known, or made by copies.
func (z *steps) after(a, b string, k int) (string, bool) {
	for c := ""; k > 0 && a != b; a, b, k = b, c, k-1 {
		var known bool
		if c, known = z.next[[2]string{a, b}]; !known {
			break
		}
	}
	if a == b {
		z.shared[b] = true
	}
	if k == 0 || a == b {
		return b, true
	}
	if p, known := z.position[b]; known && p != nowhere && p+k < z.old-mostLag {
		return "", false // of a step that is there, and written otherwise
	}
	if name := z.made[step{[2]string{a, b}, k}]; name != "" {
		return name, true
	}
	first, _ := z.s.Find(a)
	second, _ := z.s.Find(b)
	switch {
	case first == nil || second == nil || len(z.copies) > mostCopies:
		return "", false
	case first == second && second.Op == "Split":
		return z.part(second, b, k)
	case first == second || !alike(first, second):
		return "", false
	}
	inputs := make([]string, len(second.Inputs))
	for i := range inputs {
		var ok bool
		if inputs[i], ok = z.input(first, second, i, k); !ok {
			return "", false
		}
	}
	n := z.m.Copy(second, inputs)
	z.copies, z.of[n] = append(z.copies, n), second
	for _, in := range inputs {
		from := z.maker[in]
		if from == nil {
			from, _ = z.s.Find(in)
		}
		if at, copied := z.place[from]; copied {
			z.place[n] = max(z.place[n], at)
		} else if from != nil {
			z.place[n] = max(z.place[n], from.Index()+1)
		}
	}
	for i, o := range n.Outputs {
		z.maker[o] = n
		z.made[step{[2]string{first.Outputs[i], second.Outputs[i]}, k}] = o
	}
	return n.Outputs[slices.Index(second.Outputs, b)], true
}

// input is what a copy reads, k steps behind the second of two nodes. Where steps go from the end to the
// beginning, the last position reads what nothing was read before.
func (z *steps) input(first, second *onnx.Node, i, k int) (string, bool) {
	a, b := first.Inputs[i], second.Inputs[i]
	earlier := z.before[a]
	if z.isNumber(a) && z.isNumber(b) {
		return z.number(a, b, k, z.position[second.Output(0)])
	}
	if _, in := z.position[b]; in || earlier == "" {
		return z.after(a, b, k)
	}
	if n, _ := z.s.Find(z.before[first.Output(0)]); n == nil || i >= len(n.Inputs) || n.Inputs[i] != earlier {
		return "", false
	}
	if to := (reader{second, i, a}); !slices.Contains(z.ahead, to) {
		z.ahead = append(z.ahead, to) // and what follows that value is named once all is made
	}
	if k >= z.new-z.old {
		return b, true
	}
	return z.after(earlier, a, k+1)
}

// part is what stands k steps behind an output of a Split: an output more.
func (z *steps) part(n *onnx.Node, b string, k int) (string, bool) {
	if z.parts[n] == nil {
		for range z.new - z.old {
			z.parts[n] = append(z.parts[n], z.m.FreshName("modelpatch/"+n.Outputs[0]))
		}
		for _, name := range z.parts[n] {
			z.maker[name] = n
		}
	}
	i := slices.Index(n.Outputs, b) + k - len(n.Outputs)
	if i < 0 || i >= len(z.parts[n]) {
		return "", false
	}
	return z.parts[n][i], true
}

// isNumber reports whether a value is a constant of the file.
func (z *steps) isNumber(name string) bool { return name != "" && z.s.Tensor(name) != nil }

// onward is the constant k steps behind two others: the same, or whole numbers that go on by the same steps.
func (z *steps) onward(a, b string, k int) (*eval.Value, bool) {
	v, w := z.s.Value(a), z.s.Value(b)
	if !v.Known() || !w.Known() || v.Type != w.Type || !slices.Equal(v.Shape, w.Shape) || len(v.Ints) != len(w.Ints) || len(v.Floats) != len(w.Floats) {
		return nil, false
	}
	out := &eval.Value{Type: w.Type, Ranked: true, Shape: w.Shape}
	for i, x := range w.Ints {
		out.Ints = append(out.Ints, x+int64(k)*(x-v.Ints[i]))
	}
	for i, x := range w.Floats {
		if x != v.Floats[i] && (x != math.Trunc(x) || v.Floats[i] != math.Trunc(v.Floats[i])) {
			return nil, false
		}
		out.Floats = append(out.Floats, x+float64(k)*(x-v.Floats[i]))
	}
	return out, true
}

// number is the constant k steps behind two others, the second of which belongs to a position. It has to count positions from the beginning: what
// counts to the end, or from the middle, is another number at each of them when there are more.
func (z *steps) number(a, b string, k, p int) (string, bool) {
	v, ok := z.onward(a, b, k)
	if a == b || !ok {
		return b, ok
	}
	first, second := z.s.Value(a), z.s.Value(b)
	if slices.Equal(first.Ints, second.Ints) && slices.Equal(first.Floats, second.Floats) {
		return b, true
	}
	if p == nowhere { // what is made of no picked value, as the place that is written to, is followed from the last step
		p = z.old - 1
	}
	for i := range second.Len() {
		step := second.Number(i) - first.Number(i)
		if ahead := second.Number(i) - step*float64(p); step < 0 || step > 0 && (ahead < -step || ahead > 2*step || math.Mod(ahead, step) != 0) {
			return "", false
		}
	}
	return z.constant(v)
}

// constant adds a constant, once.
func (z *steps) constant(v *eval.Value) (string, bool) {
	key := fmt.Sprint(v.Type, v.Shape, v.Ints, v.Floats)
	if name := z.numbers[key]; name != "" {
		return name, true
	}
	raw, err := onnx.EncodeInts(v.Type, v.Ints, nil)
	if v.Floats != nil {
		raw, err = onnx.EncodeFloats(v.Type, v.Floats, nil)
	}
	if err != nil {
		return "", false
	}
	dims := make([]int64, len(v.Shape))
	for i, d := range v.Shape {
		dims[i] = int64(d)
	}
	name := z.m.AddInitializer(z.s.Graph, "modelpatch/position", v.Type, dims, raw, z.why)
	if z.m.Added == nil {
		z.m.Added = map[string]*eval.Value{}
	}
	z.numbers[key], z.m.Added[name] = name, v
	return name, true
}

// write puts the copies into the graph and has what stands behind the steps read them; or says why not.
func (z *steps) write(ends []*end) (why string) {
	nodes := z.s.Graph.Nodes
	before, like := make([]*onnx.Node, len(z.copies)), map[string]string{}
	for i, n := range z.copies {
		if z.place[n] >= len(nodes) {
			return "nothing stands behind them"
		}
		before[i] = nodes[z.place[n]]
		for k, o := range n.Outputs {
			like[o] = z.of[n].Outputs[k]
		}
	}
	for _, copied := range z.copies {
		n := z.of[copied]
		for _, in := range n.Inputs {
			if v := z.s.Value(in); z.isNumber(in) && !z.counters[z.s.Tensor(in)] && v.Known() && v.Len() == 1 && v.Number(0) == float64(z.old) {
				return n.Title() + " reads how many there are in each of them"
			}
		}
	}
	var rewired []reader
	for _, e := range ends {
		if z.shared[e.last] {
			return "each of them reads what the last one gives"
		}
		for _, n := range e.reads {
			for i, in := range n.Inputs {
				if in == e.last {
					rewired = append(rewired, reader{n, i, e.added[len(e.added)-1]})
				}
			}
		}
		for _, n := range e.joins {
			for i, name := range e.added {
				rewired = append(rewired, reader{n, len(n.Inputs) + i, name})
			}
		}
	}
	rewired = append(rewired, z.ahead...)
	for _, r := range rewired {
		if from := z.maker[r.name]; from != nil && r.node.Index() < z.place[from] {
			return r.node.Title() + " stands before what it would read"
		}
	}
	for _, n := range nodes {
		if names := z.parts[n]; names != nil {
			for _, name := range names {
				like[name] = n.Outputs[0]
			}
			if why := z.split(n, names); why != "" {
				return why
			}
		}
	}
	z.m.InsertCopies(z.copies, before, z.why)
	for _, r := range rewired {
		z.m.Rewire(r.node, r.input, r.name, z.why)
	}
	z.s.Adopt(like)
	return ""
}

// split gives a Split outputs more, all of one position.
func (z *steps) split(n *onnx.Node, names []string) (why string) {
	if n.Attribute("split") != nil {
		return n.Title() + " states its parts by an attribute"
	}
	z.m.AddOutputs(n, names, z.why)
	if n.Attribute("num_outputs") != nil {
		z.m.SetIntNow(n, "num_outputs", int64(z.new), z.why)
	}
	if n.Input(1) == "" {
		return ""
	}
	ones := &eval.Value{Type: onnx.Int64, Ranked: true, Shape: []int{z.new}, Ints: slices.Repeat([]int64{1}, z.new)}
	name, _ := z.constant(ones)
	z.m.Rewire(n, 1, name, z.why)
	return ""
}

// nodes are those of all steps.
func (z *steps) nodes() map[*onnx.Node]bool {
	out := map[*onnx.Node]bool{}
	for _, n := range z.copies {
		out[n], out[z.of[n]] = true, true
	}
	for name := range z.position {
		if n, _ := z.s.Find(name); n != nil {
			out[n] = true
		}
	}
	return out
}
