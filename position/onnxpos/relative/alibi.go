package relative

import (
	"fmt"
	"math"
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/onnxpos/rows"
	"github.com/modelpatch/modelpatch/position/onnxpos/site"
	"github.com/modelpatch/modelpatch/position/onnxpos/trace"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
	"github.com/modelpatch/modelpatch/schemes/fit"
)

// ALiBi is a linear bias, from tables or computed.
type ALiBi struct {
	site.Base
	m            *site.Graph
	uses         []*bias
	tables       []trace.Source
	newPositions int                        // after Store; 0: as they are
	grown        map[*onnx.Tensor][]float64 // what longer tables hold, where they are not large
	scale        float64                    // by which the bias is multiplied before it is added
	apart        bool                       // each head has an attention of its own
}

// State is the bias of all pairs, in whose last axis each key has a place.
func (a *ALiBi) State() (*eval.Scope, string, int) { return a.uses[0].state() }

// roundedSlope is the relative error of a slope that is read from differences
// of float32 numbers.
const roundedSlope = 2e-6

// eachHead are the slopes of biases of one head each, where they are together those of the paper (Press et al. 2022, §3) and the graph computes
// them: heads that have an attention each; nil of others.
func (m *Search) eachHead(linear []*bias) (slopes []float64) {
	for _, b := range linear {
		one, _ := b.slopes()
		if len(one) != 1 || slices.ContainsFunc(trace.Sources(b.scope, b.name), func(src trace.Source) bool { return src.Tensor != nil && len(src.Tensor.Dims) > 1 }) {
			return nil
		}
		m.graph.SpendElements(1 + len(slopes))
		if !slices.ContainsFunc(slopes, func(x float64) bool { return sameSlope(x, one[0]) }) {
			slopes = append(slopes, one[0])
		}
	}
	if len(slopes) < 2 || !slices.EqualFunc(slopes, schemes.ALiBiSlopes(len(slopes), usualMaxBias), sameSlope) {
		return nil
	}
	return slopes
}

// bySlopes are linear biases, together where they have the same slopes but for a factor, which scores are scaled by, or are one head each of the
// paper's.
func (m *Search) bySlopes(linear []*bias) (groups [][]*bias) {
	if len(linear) > 0 && m.eachHead(linear) != nil {
		return [][]*bias{linear}
	}
	for _, b := range linear {
		slopes, _ := b.slopes()
		i := slices.IndexFunc(groups, func(group []*bias) bool {
			m.graph.SpendElements(1 + len(slopes))
			of, _ := group[0].slopes()
			first, second := slices.Max(of), slices.Max(slopes)
			return slices.EqualFunc(of, slopes, func(a, b float64) bool { return sameSlope(a/first, b/second) })
		})
		if i < 0 {
			i, groups = len(groups), append(groups, nil)
		}
		groups[i] = append(groups[i], b)
	}
	return groups
}

// usualMaxBias is the exponent of the flattest slope in the paper.
const usualMaxBias = 8

// sameSlope reports whether slopes differ by no more than what reading them off a bias of 16 bits does.
func sameSlope(a, b float64) bool {
	return math.Abs(a-b) <= linearTolerance*max(math.Abs(a), math.Abs(b))
}

func (m *Search) alibiSite(uses []*bias) *ALiBi {
	a := &ALiBi{m: m.graph, uses: uses, scale: 1}
	seen := map[*onnx.Tensor]bool{}
	slopes, _ := uses[0].slopes()
	if all := m.eachHead(uses); all != nil {
		slopes, a.apart = all, true
	}
	e := position.Encoding{Form: report.FormRuntime, Beyond: report.BeyondContinues}
	scheme := schemes.ALiBi{Heads: len(slopes), Slopes: slopes}
	biased := len(slopes)
	for biased > 1 && slopes[biased-1] == 0 { // heads that see no distance
		biased--
	}
	if fitted, worst, scale, ok := fit.ScaledSlopes(slopes[:biased]); ok && scalesScores(scale) {
		rule := append(schemes.ALiBiSlopes(biased, fitted.MaxBias), slopes[biased:]...)
		fitted.Heads = len(slopes)
		for i := range slopes {
			m := slopes[i] / scale
			if math.Abs(m-rule[i]) <= roundedSlope*rule[i] {
				m = rule[i] // what is off is the rounding of the bias that it was read from
			}
			fitted.Slopes = append(fitted.Slopes[:i:i], m)
		}
		a.scale = scale
		scheme = fitted
		e.Evidence = append(e.Evidence, report.Evidence{Kind: "fit", Says: "slopes are " + scheme.String(), Residual: site.Residual(worst)})
	}
	e.Scheme = scheme
	for _, u := range uses {
		for _, src := range trace.Sources(u.scope, u.name) {
			if src.Tensor == nil || len(src.Tensor.Dims) < 2 || !src.Tensor.Type.IsFloat() ||
				seen[src.Tensor] {
				continue
			}
			n := int(src.Tensor.Dims[len(src.Tensor.Dims)-1])
			switch {
			case src.Indexed != nil:
				e.Form, e.Beyond, e.Capacity = report.FormTable, report.BeyondError, n
			case m.graph.FixedLength() > 1 && n == m.graph.FixedLength():
				e.Form, e.Beyond, e.Capacity = report.FormBaked, report.BeyondError, n
			default:
				continue
			}
			seen[src.Tensor] = true
			a.tables = append(a.tables, src)
			e.Where = append(e.Where, m.graph.Where(src.Tensor))
		}
	}
	if e.Form == report.FormRuntime {
		e.Where = append(e.Where, report.Where{Node: uses[0].node.Title()})
	}
	e.Evidence = append(e.Evidence, report.Evidence{Kind: "structure", Says: fmt.Sprintf("%s adds a bias linear in the distance to attention scores (%d places)", uses[0].node.Title(), len(uses))})
	e.Evidence = append(e.Evidence, ofFirst(uses[0].scope, uses[0].name, len(uses[0].heads[0]))...)
	a.Detected = e
	return a
}

// scalesScores reports whether biases are multiplied by what scores are as well, one over the root of a head's size (Falcon): that changes no slope, and
// another factor does.
func scalesScores(by float64) bool {
	head := 1 / (by * by)
	return math.Round(head) >= 1 && math.Abs(head-math.Round(head)) <= linearTolerance*head
}

// Bias is the bias that the file computes for a head, query and key. The error names a head that is not there.
func (a *ALiBi) Bias(head, query, key, length int) (float64, error) {
	slopes := a.Detected.Scheme.(schemes.ALiBi).SlopeValues()
	if a.apart {
		return 0, headsApart{}
	}
	if head < 0 || head >= len(slopes) {
		return 0, fmt.Errorf("head %d of %d", head, len(slopes))
	}
	return -slopes[head] * a.scale * math.Abs(float64(query-key)), nil
}

// headsApart is the error of heads that have an attention each: no fault of the file.
type headsApart struct{}

// Error says what is not followed.
func (headsApart) Error() string {
	return "heads have an attention each, and which is whose is not followed"
}

// Unread tells that it is no fault of the file.
func (headsApart) Unread() bool { return true }

// Overlay tells of tables that were made longer.
func (a *ALiBi) Overlay(into map[*onnx.Tensor]*eval.Value) {
	if a.newPositions == 0 {
		return
	}
	for _, src := range a.tables {
		shape := make([]int, len(src.Tensor.Dims))
		for i, n := range src.Tensor.Dims {
			shape[i] = int(n)
			if int(n) == a.Detected.Capacity {
				shape[i] = a.newPositions
			}
		}
		v := eval.Shaped(src.Tensor.Type, shape...)
		if content := a.grown[src.Tensor]; content != nil {
			v = eval.FloatValue(src.Tensor.Type, shape, content)
		}
		v.Origins = []*onnx.Tensor{src.Tensor}
		into[src.Tensor] = v
	}
}

// Owned are the tables of the bias.
func (a *ALiBi) Owned() []*onnx.Tensor {
	var out []*onnx.Tensor
	for _, t := range a.tables {
		out = append(out, t.Tensor)
	}
	return out
}

// ActsIn are the nodes that add the bias to scores.
func (a *ALiBi) ActsIn() (from []trace.Place, in site.Reach) {
	for _, u := range a.uses {
		from = append(from, trace.Place{Scope: u.scope, Node: u.node})
	}
	return from, site.Softmaxes
}

// SetBeyond notes what a probe showed beyond the tables.
func (a *ALiBi) SetBeyond(beyond string, evidence ...report.Evidence) {
	a.Detected.Beyond = beyond
	a.Detected.Evidence = append(a.Detected.Evidence, evidence...)
}

// Store stores a longer table of a linear bias.
func (a *ALiBi) Store(want position.Want) error {
	if len(a.tables) == 0 || want.Positions == 0 {
		return nil
	}
	if want.Scheme != nil && !want.Scheme.Equal(a.Detected.Scheme) {
		return &position.Refusal{Why: "the slopes of a bias table are not changed", Remedies: []report.Remedy{report.Do("alibi", "puts another bias in its place", "replace", "")}}
	}
	if first := ofFirst(a.uses[0].scope, a.uses[0].name, len(a.uses[0].heads[0])); first != nil {
		return &position.Refusal{Why: "how the bias goes on is not known: it was " + first[0].Says, Instead: "export the model for the wanted length, or with a free one"}
	}
	a.newPositions, a.grown = want.Positions, map[*onnx.Tensor][]float64{}
	for _, src := range a.tables {
		if err := a.grow(src.Tensor, want.Positions); err != nil {
			return err
		}
	}
	return nil
}

// maxGrown bounds the numbers of longer tables that evaluations are told.
const maxGrown = 1 << 20

// grow extends a bias table [heads, 1, n] or [heads, n, n]. Where the values of
// the last key are zero the table counts from its end (MPT) and new values go
// before the old ones; the graph then slices from the end.
func (a *ALiBi) grow(t *onnx.Tensor, n int) error {
	old := a.Detected.Capacity
	k := len(t.Dims)
	heads, queries := onnx.Size(t.Dims[:max(k-2, 0)]), 1
	if k >= 2 {
		queries = int(t.Dims[k-2])
	}
	newQueries := queries
	if queries == old {
		newQueries = n
	}
	dims := slices.Clone(t.Dims)
	dims[k-1] = int64(n)
	if queries == old {
		dims[k-2] = int64(n)
	}
	var err error
	if !rows.FitsBuffer(t, heads, newQueries, n) {
		return &position.Refusal{Why: fmt.Sprintf("the bias %q of %v would become one of %v, more than the 2 GiB that a file can have", a.m.TensorName(t), t.Dims, dims),
			Instead: "a lesser length, or export the model again with a bias that it computes"}
	}
	lines := make([]*biasLine, heads)
	for h := range lines {
		if lines[h], err = newBiasLine(t, h, queries, old); err != nil {
			return err
		}
	}
	fill := func(first int64, dst []float64) error {
		key := int(first % int64(n))
		q := int(first / int64(n) % int64(newQueries))
		h := int(first / int64(n) / int64(newQueries))
		for len(dst) > 0 {
			some := min(len(dst), n-key)
			if err := lines[h].fill(q, key, n, dst[:some]); err != nil {
				return err
			}
			dst = dst[some:]
			if key += some; key == n {
				key = 0
				if q++; q == newQueries {
					q = 0
					h++
				}
			}
		}
		return nil
	}
	size := int64(heads) * int64(newQueries) * int64(n)
	if size <= maxGrown {
		content := make([]float64, size)
		if err := fill(0, content); err != nil {
			return err
		}
		a.grown[t] = content
	}
	data, err := rows.Stream(t, size, fill)
	if err != nil {
		return err
	}
	return a.m.Replace(t, dims, data, fmt.Sprintf("bias of %d positions", n))
}

// biasLine is a head's bias at any query and key, equal to the table's bits where it
// has them.
type biasLine struct {
	t             *onnx.Tensor
	first         int64 // element of the head's first query and key
	queries, keys int
	start, end    float64 // of the first query
	step          float64 // from key to key, of one query
	below, above  float64 // per step of query − key, and of key − query
	masked        bool    // what lies ahead
}

func newBiasLine(t *onnx.Tensor, head, queries, keys int) (*biasLine, error) {
	b := &biasLine{t: t, first: int64(head) * int64(queries) * int64(keys), queries: queries, keys: keys}
	read := func(at int) (x float64, err error) {
		v, err := t.Floats(b.first+int64(at), 1)
		if err != nil {
			return 0, err
		}
		return v[0], nil
	}
	var err error
	if b.start, err = read(0); err != nil {
		return nil, err
	}
	if b.end, err = read(keys - 1); err != nil {
		return nil, err
	}
	b.step = (b.end - b.start) / float64(keys-1)
	if queries == 1 {
		return b, nil
	}
	last, err := read((keys - 1) * keys)
	b.below, b.above = last/float64(keys-1), b.end/float64(keys-1)
	b.masked = b.end < trace.MaskedBelow || math.IsInf(b.end, 0)
	return b, err
}

// fill computes the biases of one query and of keys from a first one on, where there
// are so many keys in all.
func (b *biasLine) fill(query, key, keys int, dst []float64) error {
	shift := 0 // of the old keys: those of a table that counts from its end go there
	if b.queries == 1 && b.end == 0 && b.start != 0 {
		shift = keys - b.keys
	}
	for i := range dst {
		dst[i] = b.at(query, key+i-shift)
	}
	from, to := max(key, shift), min(key+len(dst), shift+b.keys)
	if from >= to || query >= b.queries {
		return nil
	}
	old, err := b.t.Floats(b.first+int64(query)*int64(b.keys)+int64(from-shift), int64(to-from))
	copy(dst[from-key:], old)
	return err
}

// at is the bias where the table has none; keys before its first are negative.
func (b *biasLine) at(query, key int) float64 {
	switch {
	case b.queries == 1 && key < 0:
		return b.start + b.step*float64(key)
	case b.queries == 1:
		return b.end + b.step*float64(key-b.keys+1)
	case key > query && b.masked:
		return b.end
	case key > query:
		return b.above * float64(key-query)
	}
	return b.below * float64(query-key)
}

// Neutralize makes the bias nothing: its tables, or the slopes that the graph multiplies
// with distances, become zeros.
func (a *ALiBi) Neutralize() error {
	cannot := &position.Refusal{Why: "no constant of the graph holds ALiBi's slopes alone", Instead: "export the model without the bias"}
	done := map[*onnx.Tensor]bool{}
	slopes := a.Detected.Scheme.(schemes.ALiBi).SlopeValues()
	for _, u := range a.uses {
		found := false
		for _, src := range trace.Sources(u.scope, u.name) {
			if c := src.Tensor; c != nil && (done[c] || a.isSlopes(c, slopes) || a.isTable(c)) {
				found, done[c] = true, true
			}
		}
		if !found {
			return cannot
		}
	}
	for t := range done {
		if err := a.m.Replace(t, t.Dims, rows.Emptied(t), "zeros: no bias is added"); err != nil {
			return err
		}
	}
	return nil
}

// isSlopes reports whether a constant holds the slopes, one a head, up to one factor.
func (a *ALiBi) isSlopes(t *onnx.Tensor, slopes []float64) bool {
	if !t.Type.IsFloat() || int(t.Len()) != len(slopes) || len(slopes) < 2 || slopes[0] == 0 {
		return false
	}
	x, err := t.Floats(0, t.Len())
	if err != nil || x[0] == 0 {
		return false
	}
	for i := range x {
		if math.Abs(x[i]/x[0]-slopes[i]/slopes[0]) > linearTolerance*slopes[i]/slopes[0] {
			return false
		}
	}
	return true
}

// isTable reports whether a constant is a table of the bias that hides nothing.
func (a *ALiBi) isTable(t *onnx.Tensor) bool {
	if !slices.ContainsFunc(a.tables, func(s trace.Source) bool { return s.Tensor == t }) {
		return false
	}
	const step = 1 << 14
	for at := int64(0); at < t.Len(); at += step {
		x, err := t.Floats(at, min(step, t.Len()-at))
		if err != nil || slices.ContainsFunc(x, func(v float64) bool { return !(v > trace.MaskedBelow) }) {
			return false
		}
		a.m.SpendElements(len(x))
	}
	return true
}
