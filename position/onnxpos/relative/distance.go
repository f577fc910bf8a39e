package relative

import (
	"fmt"
	"math"
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/axes"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/onnxpos/bydistance"
	"github.com/modelpatch/modelpatch/position/onnxpos/site"
	"github.com/modelpatch/modelpatch/position/onnxpos/trace"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// distanceTable is a table with a row for each clipped distance, gathered by the
// difference of positions: a bias a head, or vectors that queries are
// multiplied with (Shaw et al. 2018, eq. 3). planar tells
// that positions are an image's, in rows and columns.
func (m *Search) distanceTable(p *picked, use *onnx.Node, heads int) (found *site.Other, planar bool) {
	index, rows := p.index, p.rows()
	other := schemes.Other{Kind: report.SchemeRelativeTable, Rows: rows, Heads: heads}
	e := position.Encoding{Form: report.FormTable, Beyond: report.BeyondContinues, Where: []report.Where{m.graph.Where(p.Table)}, Dtype: p.Table.Type.String(),
		Evidence: []report.Evidence{{Kind: "structure", Says: fmt.Sprintf("%s; %s uses it", p.says, use.Title())}}}
	window := windowOf(index, rows)
	if window != nil && window[0] == 1 && m.graph.ImageInput() == nil {
		window = nil // of text, at the length that is looked at
	}
	picture := m.graph.ImageInput() != nil && m.graph.TokenInput() == nil && heads > 0
	if window != nil || picture || m.graph.ImageInput() != nil && !alongLine(index) {
		other.Window = window
		e.Scheme, e.Beyond = other, report.BeyondError
		return site.NewOther(e), true
	}
	// Far enough out, clipped distances stay inside the table; others leave it.
	probe := p.at(rows + 2)
	if probe == nil || !probe.Known() { // a graph that ends before shows as much of rows that are as many to either side
		if near := p.at(rows/2 + 2); near != nil {
			if _, ok := bydistance.SeenClipped(near, rows); ok {
				probe = near
			}
		}
	}
	if within(probe, rows) {
		if zero, ok := bydistance.SeenClipped(probe, rows); ok { // perhaps more rows to one side than to the other
			other.MaxDistance = max(zero, rows-1-zero)
		}
		if n := m.graph.FixedLength(); n > 0 && p.Gather != nil && p.Scope == m.graph.Eval.Main {
			e.Capacity, e.Beyond = index.Shape[len(index.Shape)-1], report.BeyondError // what is folded ends there
		}
	} else if e.Capacity, e.Beyond = (rows+1)/2, report.BeyondError; (probe == nil && m.graph.FixedLength() == 0 || probe != nil && probe.Large()) &&
		(!within(p.at(e.Capacity), rows) || within(p.at(e.Capacity+1), rows)) {
		e.Capacity, e.Beyond = 0, report.BeyondUnknown // of so many pairs the rows are not known
	} else if within(p.at(rows), rows) && !within(p.at(rows+1), rows) {
		e.Capacity = rows // to one side: those to the other share a row
	}
	e.Scheme = other
	return site.NewOther(e), false
}

// within reports whether all of an index are numbers of so many rows.
func within(index *eval.Value, rows int) bool {
	return index != nil && index.Known() && len(index.Ints) > 0 && int(slices.Max(index.Ints)) < rows && slices.Min(index.Ints) >= 0
}

// alongLine reports whether a matrix of indices depends on the difference of
// positions in a line; those of an image's places do on two.
func alongLine(index *eval.Value) bool {
	k := len(index.Shape)
	if k < 2 || !index.Known() || index.Ints == nil || index.Len() < index.Shape[k-1]*index.Shape[k-2] {
		return true // nothing says otherwise
	}
	queries, keys := index.Shape[k-2], index.Shape[k-1]
	return slices.ContainsFunc(keysAhead(queries, keys), func(ahead int) bool {
		_, ok := distances(index.Ints, queries, keys, ahead)
		return ok
	})
}

// windowOf is the window of height × width places between which a matrix of indices
// [n,n] looks rows up; nil when it is none. The rows may stand in any order: there is
// one for each offset (Δy, Δx), or one for each (|Δy|, |Δx|), and where n-1 places
// follow one that stands for the whole, three further ones: from it, to it, and between
// it and itself (schemes.WindowRows).
func windowOf(index *eval.Value, rows int) []int {
	k := len(index.Shape)
	if k < 2 || !index.Known() || index.Ints == nil || index.Shape[k-1] != index.Shape[k-2] || index.Len() != index.Shape[k-1]*index.Shape[k-1] {
		return nil
	}
	n := index.Shape[k-1]
	is := func(want [][]int) bool { return renamed(slices.Concat(want...), index.Ints) }
	for h := 1; h <= n; h++ {
		if w := n / h; h*w == n {
			if schemes.WindowRows(h, w, false) == rows && is(schemes.WindowIndex(h, w, false)) || h > 1 && w > 1 && n == rows && is(schemes.SymmetricWindowIndex(h, w)) {
				return []int{h, w}
			}
		}
		if w := (n - 1) / h; h*w == n-1 && schemes.WindowRows(h, w, true) == rows && is(schemes.WindowIndex(h, w, true)) {
			return []int{h, w}
		}
	}
	return nil
}

// renamed reports whether two lists of rows are the same but for what the rows are
// called: equal places of one are equal in the other, different ones different.
func renamed(want []int, got []int64) bool {
	if len(want) != len(got) {
		return false
	}
	there, back := map[int]int64{}, map[int64]int{}
	for i, row := range want {
		if _, seen := there[row]; !seen {
			if _, taken := back[got[i]]; taken {
				return false
			}
			there[row], back[got[i]] = got[i], row
		}
		if there[row] != got[i] {
			return false
		}
	}
	return true
}

// Vectors finds tables of vectors by distance that queries or keys are multiplied with: one
// site for those of all layers.
func (m *Search) Vectors() site.Site {
	var text *bydistance.Distances
	var image *Sides
	alongSides := func(found *site.Other, x axes.Meeting) {
		if image == nil {
			image = &Sides{Other: found, graph: m.graph}
		} else {
			image.join(found)
		}
		image.meetings = append(image.meetings, x)
	}
	for _, x := range m.contracted {
		if len(x.Covers) != 2 || m.behindWeights(x) {
			continue
		}
		p := m.gathered(x.Scope, x.Known)
		if p == nil || len(p.Table.Dims) != 2 {
			p = m.pairs(x.Scope, x.Known, x.Covers[0], x.Covers[1])
		}
		if p == nil || p.index == nil || !p.index.Known() {
			if found := m.foldedSide(x); found != nil && text == nil {
				alongSides(found, x)
			}
			if found := bydistance.Fold(m.graph, x); found != nil && text == nil {
				text = found
			} else if found != nil {
				text.JoinFolded(found)
			}
			continue
		}
		if text != nil {
			text.Join(&p.Lookup)
			continue
		}
		found, planar := m.distanceTable(p, x.Node, 0)
		if other := found.Detected.Scheme.(schemes.Other); len(other.Window) > 0 && min(other.Window[0], other.Window[1]) == 1 {
			other.Window = nil // of one of the picture's axes
			found.Detected.Scheme = other
		}
		switch {
		case planar, m.graph.ImageInput() != nil:
			found.Detected.Form, found.Detected.Beyond = report.FormTable, report.BeyondError
			alongSides(found, x)
		default:
			text = bydistance.New(m.graph, found, &p.Lookup)
		}
	}
	switch {
	case text != nil:
		return text
	case image != nil:
		image.Detected.Capacity = m.graph.PatchesWithin(image.Detected.Scheme.(schemes.Other).Rows)
		return image
	}
	return nil
}

// unmasked is the bias before masks were added to it: they hide distances.
func (b *bias) unmasked() *bias {
	out := *b
	for range 8 {
		n, at := out.scope.Find(out.name)
		switch {
		case n != nil && eval.Is(n, eval.Elements):
			out.name, out.scope = n.Input(0), at
			continue
		case n == nil || n.Op != "Add":
			return &out
		}
		found := false
		for i := range 2 {
			v, mask := read(at, n.Input(i)), read(at, n.Input(1-i))
			if !v.Known() || !mask.Known() || v.Floats == nil || mask.Floats == nil || len(v.Shape) < 2 || len(mask.Shape) < 2 {
				continue
			}
			heads, other := headsOf(v), headsOf(mask)
			if found = heads != nil && !onlyMask(heads) && (other == nil || onlyMask(other)); found {
				out.scope, out.name, out.value, out.heads = at, n.Input(i), v, heads
				break
			}
		}
		if !found {
			return &out
		}
	}
	return &out
}

// read is a value with its numbers, where these are known or stored.
func read(s *eval.Scope, name string) *eval.Value {
	v := s.Enlarge(name)
	t := v.Constant()
	if v.Known() || t == nil || v.Len() > maxBias || !t.Type.IsFloat() {
		return v
	}
	x, err := t.Floats(0, t.Len())
	if err != nil {
		return v
	}
	return eval.FloatValue(v.Type, v.Shape, x)
}

// classes numbers the relative positions of a bias that depends on nothing else
// by their biases, over all heads: equal numbers, equal biases. What is masked is
// left out.
func (b *bias) classes(ahead int) (classes map[int]int, ok bool) {
	classes = map[int]int{}
	numbers := map[string]int{}
	for q := range b.heads[0] {
		for k := range b.heads[0][q] {
			key := ""
			for _, head := range b.heads {
				x := head[q][k]
				if x < trace.MaskedBelow || math.IsInf(x, 0) || math.IsNaN(x) {
					key = ""
					break
				}
				key += fmt.Sprintf("%.9g ", x)
			}
			if key == "" {
				continue
			}
			n, seen := numbers[key]
			if !seen {
				n = len(numbers)
				numbers[key] = n
			}
			relative := k - ahead - q
			if have, seen := classes[relative]; seen && have != n {
				return nil, false
			}
			classes[relative] = n
		}
	}
	return classes, true
}

// distinct reports whether every distance has biases of its own.
func distinct(classes map[int]int) bool {
	seen := map[int]bool{}
	for _, n := range classes {
		seen[n] = true
	}
	return len(seen) == len(classes)
}

// clipped reads the rows of a table by distance off a bias that has one for each distance up
// to a reach, and beyond it that of the reach.
func (b *bias) clipped() (rows, reach int, ok bool) {
	for _, ahead := range keysAhead(len(b.heads[0]), len(b.heads[0][0])) {
		classes, ok := b.classes(ahead)
		if !ok {
			continue
		}
		seen := map[int]bool{}
		for _, n := range classes {
			seen[n] = true
		}
		for reach = 1; ; reach++ {
			left, hasLeft := classes[-reach]
			right, hasRight := classes[reach]
			if !hasLeft || !hasRight {
				break
			}
			if _, further := classes[reach+1]; further && left == classes[-reach-1] && right == classes[reach+1] && len(seen) == 2*reach+1 {
				return len(seen), reach, true
			}
		}
	}
	return 0, 0, false
}

// window is the height and width of which a bias between n positions is, and
// whether a class token is among them.
func (m *Search) window(n int) (window []int, tokens int) {
	h, w := m.graph.PatchesIn(m.graph.Eval)
	side := int(math.Sqrt(float64(n)) + 0.5)
	switch {
	case h > 1 && h*w == n:
		return []int{h, w}, 0
	case h > 1 && h*w+1 == n:
		return []int{h, w}, 1
	case side*side == n:
		return []int{side, side}, 0
	}
	return nil, 0
}

// byPlaces reports whether a bias between places in rows of so many columns, behind some tokens, is the same for all that lie as far apart
// along both.
func (b *bias) byPlaces(columns, tokens int) bool {
	type apart struct{ head, rows, columns int }
	seen := map[apart]float64{}
	for h, head := range b.heads {
		for q := range head[tokens:] {
			for k, x := range head[tokens+q][tokens:] {
				if x < trace.MaskedBelow || math.IsNaN(x) {
					continue
				}
				at := apart{h, k/columns - q/columns, k%columns - q%columns}
				if have, met := seen[at]; met && have != x {
					return false
				}
				seen[at] = x
			}
		}
	}
	return true
}

// symmetric reports whether a bias between the places of a window tells no sides
// apart.
func (b *bias) symmetric(window []int) bool {
	index := schemes.SymmetricWindowIndex(window[0], window[1])
	for _, head := range b.heads {
		if len(head) != len(index) {
			return false
		}
		for q, row := range index {
			if len(head[q]) != len(row) {
				return false
			}
			for k, place := range row {
				if head[q][k] != head[0][place] {
					return false
				}
			}
		}
	}
	return true
}

// fromConstants reports whether a bias is made of nothing but constants: a
// table that the graph resamples before it looks distances up in it.
func (m *Search) fromConstants(u *bias) bool {
	found := trace.Sources(u.scope, u.name)
	return len(found) > 0 && !slices.ContainsFunc(found, func(src trace.Source) bool { return src.Tensor == nil })
}

// keysWithoutPlace counts keys ahead of the others, of as many as there are queries, that all queries of a head score alike: those of
// no token, which some models learn.
func (b *bias) keysWithoutPlace() int {
	n := len(b.heads[0])
	ahead := len(b.heads[0][0]) - n
	for _, head := range b.heads {
		for _, row := range head {
			if ahead < 1 || n < 2 || !slices.Equal(row[:ahead], head[0][:ahead]) {
				return 0
			}
		}
	}
	return ahead
}

// behind is the bias of the keys behind so many.
func (b *bias) behind(ahead int) *bias {
	out := *b
	out.heads = make([][][]float64, len(b.heads))
	for h, head := range b.heads {
		for _, row := range head {
			out.heads[h] = append(out.heads[h], row[ahead:])
		}
	}
	return &out
}

// holdsMatrix reports whether a bias comes from constants of its own size, between n queries and so many keys, or
// through weights from constants of relative coordinates.
func (m *Search) holdsMatrix(u *bias, n, keys int) bool {
	for _, src := range trace.Sources(u.scope, u.name) {
		if src.Tensor == nil {
			continue
		}
		if k := len(src.Tensor.Dims); k >= 2 && (int(src.Tensor.Dims[k-1]) == keys || int(src.Tensor.Dims[k-1]) == n || int(src.Tensor.Len())%(n*n) == 0 || int(src.Tensor.Dims[k-1]) == 2) {
			return true
		}
	}
	return false
}

// grows reports whether a bias between n tokens is one between more where there are more: the graph computes it.
func (m *Search) grows(u *bias, n int) bool {
	if m.graph.FixedLength() > 0 || m.graph.TokenInput() == nil {
		return false
	}
	if m.longer == nil {
		m.longer = m.graph.Failing(m.graph.Sized(m.graph.Sizes.Length+1), func(eval.Failure) bool { return false })
	}
	if u.scope.Index() >= len(m.longer.Scopes()) {
		return false
	}
	shape := m.longer.Scopes()[u.scope.Index()].Value(u.name).Shape
	return len(shape) > 1 && shape[len(shape)-1] == n+1
}

// whole is the bias as it is stored, for all positions of which the graph takes some.
func (b *bias) whole(t *onnx.Tensor) *bias {
	d := len(t.Dims)
	if t.Len() > maxStored || t.Len() != t.Dims[d-1]*t.Dims[d-2]*int64(len(b.heads)) {
		return b
	}
	x, err := t.Floats(0, t.Len())
	if err != nil {
		return b
	}
	out := *b
	out.value = eval.FloatValue(t.Type, []int{len(b.heads), int(t.Dims[d-2]), int(t.Dims[d-1])}, x)
	out.heads = headsOf(out.value)
	return &out
}

// maxStored bounds the elements of a bias that is read whole.
const maxStored = 1 << 22

// ofOneSize reports whether the graph takes series or recordings of one size.
func (m *Search) ofOneSize() bool {
	in := m.graph.Recording()
	return in != nil && len(in.Dims) > 2 && m.graph.ImageInput() == nil && !slices.ContainsFunc(in.Dims[1:], func(d onnx.Dim) bool { return d.Value < 0 })
}

// relativeTable is a bias whose numbers stand in the file for one window.
func (m *Search) relativeTable(uses []*bias) site.Site {
	u := uses[0]
	stored := m.sliced(u.scope, u.name)
	if stored != nil {
		u = u.whole(stored)
	}
	n, keys := len(u.heads[0]), len(u.heads[0][0])
	ahead := 0
	if m.graph.FirstPosition() == 0 { // else they are a cache's
		ahead = u.keysWithoutPlace()
	}
	if ahead > 0 {
		u = u.behind(ahead)
	}
	other := schemes.Other{Kind: report.SchemeRelativeTable, Heads: len(u.heads)}
	window, tokens := m.window(n)
	classes, line := u.classes(0) // of distances along one axis
	line = line && m.graph.ImageInput() == nil
	untrained := m.isUntrained(u)
	if len(u.heads[0][0]) != n || line || window != nil && !(untrained && m.graph.ImageInput() != nil) && !u.byPlaces(window[1], tokens) {
		window = nil // not among the same places, not along two axes, or of each pair for itself
	}
	if !m.holdsMatrix(u, n, keys) && (window == nil || !m.fromConstants(u)) || stored == nil && m.grows(u, n) {
		return site.NewOther(position.Encoding{Scheme: schemes.Other{Kind: report.SchemeUnknown, Heads: len(u.heads)}, Form: report.FormRuntime, Beyond: report.BeyondContinues,
			Where:    []report.Where{{Node: u.node.Title()}},
			Evidence: []report.Evidence{{Kind: "structure", Says: u.node.Title() + " adds to scores what the graph computes from distances, by no rule that is known"}}})
	}
	if window != nil {
		other.Window = window
		other.Rows = schemes.WindowRows(window[0], window[1], tokens > 0)
		if tokens == 0 && !untrained && u.symmetric(window) {
			other.Rows = window[0] * window[1]
		}
	}
	e := position.Encoding{Scheme: other, Form: report.FormBaked, Beyond: report.BeyondError,
		Evidence: []report.Evidence{{Kind: "structure", Says: fmt.Sprintf("%s adds constants of %d×%d to attention scores (%d places)", u.node.Title(), n, keys, len(uses))}}}
	switch {
	case stored != nil:
		e.Form, e.Capacity, e.Dtype = report.FormTable, n, stored.Type.String()
	case m.graph.FixedLength() == n, m.ofOneSize(): // of text, or a series: nothing else says how far it goes
		e.Capacity = n
	}
	seen := map[*onnx.Tensor]bool{}
	for _, use := range uses {
		for _, src := range trace.Sources(use.scope, use.name) {
			if src.Tensor != nil && len(src.Tensor.Dims) > 1 && !seen[src.Tensor] {
				seen[src.Tensor] = true
				e.Where = append(e.Where, m.graph.Where(src.Tensor))
			}
		}
	}
	if window == nil || m.graph.ImageInput() == nil {
		if folded := u.folded(e); folded != nil && ahead == 0 {
			return folded
		} else if folded != nil {
			return site.NewOther(folded.Detected)
		}
	}
	if window == nil {
		if rows, reach, ok := u.clipped(); ok {
			other.Rows, other.MaxDistance = rows, reach
		} else if line && distinct(classes) {
			other.Rows = len(classes)
		}
		e.Scheme = other
		return site.NewOther(e)
	}
	if untrained { // the numbers that are looked at are not the file's
		return site.NewOther(e)
	}
	return &Window{Other: site.NewOther(e), graph: m.graph, uses: uses}
}

// isUntrained reports whether a bias is made of zeros alone, which say nothing of distances.
func (m *Search) isUntrained(b *bias) bool {
	return slices.ContainsFunc(trace.Sources(b.scope, b.name), func(src trace.Source) bool { return src.Tensor != nil && m.graph.IsFilled(src.Tensor) })
}
