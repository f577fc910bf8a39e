package probe

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
)

// longerLengths are tried on graphs that nothing seems to bound: one at which values of
// all pairs of positions are still computed, and one beyond it. They are primes: a graph that
// runs at multiples of a length alone fails there.
var longerLengths = []int{longerLength, 1103}

// longerLength is enough for graphs that make nothing of their sizes: one that ends ends there.
const longerLength = 199

// End is how far a graph runs.
type End struct {
	Runs    int           // the longest input at which it does, of those that were tried
	Step    int           // above 1: it runs at Runs + Step again, and not between
	Failure *eval.Failure // what fails one position further; nil when nothing does
}

// Bound is how far a graph runs, up to the length at which its encodings end; 0 for one that
// nothing seems to bound. It is the zero End where the input is not of tokens with a free
// length.
func (p *Probe) Bound(upTo int) End {
	end, asked := p.ends[upTo]
	if !asked {
		end = p.findEnd(upTo)
		p.ends[upTo] = end
	}
	return end
}

// maxBound bounds the length at which a graph is tried for its encodings' sake.
const maxBound = 1 << 15

func (p *Probe) findEnd(upTo int) (end End) {
	if p.FixedLength() > 0 || p.TokenInput() == nil || p.TokenMatrix() == nil && (p.ImageInput() != nil || p.Recording() != nil) || upTo > maxBound {
		return end
	}
	tried := longerLengths
	if upTo > 0 {
		tried = []int{upTo}
	}
	end = p.lastOf(tried)
	if end.Failure == nil && upTo == 0 {
		end = p.listEnd(end)
	}
	if end.Failure != nil {
		end.Step = p.step(end)
	}
	return end
}

// BoundWhole is Bound of a graph in which data keep the inputs' axes whole and nothing is made of sizes (axes.Labels.Whole): nothing can fail but
// where an axis that keeps its size, of a constant or of an input, meets one of the sequence, and then both are as long as the probe. Without
// such an axis nothing is run.
func (p *Probe) BoundWhole() End {
	g := p.File.Graph
	if p.calls != nil || p.fixed.part > 0 || len(p.demanded)+len(p.Eval.Failures)+len(g.Sparse) > 0 || slices.ContainsFunc(g.Initializers, func(t *onnx.Tensor) bool { return slices.Contains(t.Dims, int64(p.Sizes.Length)) }) ||
		slices.ContainsFunc(Given(p.File), func(in *onnx.ValueInfo) bool {
			return slices.ContainsFunc(in.Dims, func(d onnx.Dim) bool { return d.Value == int64(p.Sizes.Length) })
		}) || slices.ContainsFunc(g.Nodes, func(n *onnx.Node) bool {
		return len(n.Inputs) == 0 && len(n.Attributes) > 0 && slices.Contains(p.Eval.Main.Value(n.Output(0)).Shape, p.Sizes.Length)
	}) {
		return p.Bound(longerLength)
	}
	return End{}
}

// BoundRecording is how many samples or frames of a recording of free length a graph runs with, of as many for each position as are said, up to
// as many positions as its encodings hold, 0 for any. What is tried has the probe's length several times, since a graph may run with multiples
// alone; zero where the input is none.
func (p *Probe) BoundRecording(each, upTo int) (end End) {
	if in := p.Recording(); in == nil || p.ImageInput() != nil || p.TokenMatrix() != nil || !onlyLength(in) || each < 1 || each > p.Sizes.Length || upTo > maxBound {
		return end
	}
	positions := longerLengths
	if upTo > 0 {
		positions = []int{upTo - 1}
	}
	var tried []int
	for _, n := range positions {
		tried = append(tried, n*each/p.Sizes.Length*p.Sizes.Length)
	}
	if end = p.lastOf(tried); end.Failure != nil {
		end.Step = 1
	}
	return end
}

// lastOf is the longest length that runs up to the first of some that does not.
func (p *Probe) lastOf(tried []int) (end End) {
	end.Runs = p.Sizes.Length + p.assumed()
	fails := 0
	for _, n := range tried {
		if n <= end.Runs {
			continue
		}
		if f := p.FailsAt(n); f != nil {
			fails, end.Failure = n, f
			break
		}
		end.Runs = n
	}
	for end.Failure != nil && fails-end.Runs > 1 {
		if f := p.FailsAt((end.Runs + fails) / 2); f != nil {
			fails, end.Failure = (end.Runs+fails)/2, f
		} else {
			end.Runs = (end.Runs + fails) / 2
		}
	}
	return end
}

// listEnd looks for a list that ends: numbers, as many at any length, of which a node picks by indices for all pairs of positions,
// too many to be looked at in every value of a longer input. Lists of distances have 2n − 1 numbers for n positions,
// lists of positions n.
func (p *Probe) listEnd(end End) End {
	const mostLists = 8
	asked := map[int]bool{}
	longest := p.At(longerLengths[len(longerLengths)-1]).Main
	for _, n := range p.File.Graph.Nodes {
		if n.Op != "Gather" && n.Op != "GatherElements" || !longest.Value(n.Input(1)).Large() || len(asked) == mostLists {
			continue
		}
		data, axis := p.Eval.Main.Value(n.Input(0)), int(n.Int("axis", 0))
		if axis < 0 || axis >= len(data.Shape) {
			continue
		}
		size := data.Shape[axis]
		if far := longest.Value(n.Input(0)).Shape; axis >= len(far) || far[axis] != size {
			continue
		}
		for _, runs := range []int{(size + 1) / 2, size} {
			if asked[runs] || runs > maxBound {
				continue
			}
			asked[runs] = true
			if p.picks(n, runs, size) && !p.picks(n, runs+1, size) {
				return End{Runs: runs, Failure: &eval.Failure{Scope: p.Eval.Main, Node: n, Err: fmt.Errorf("%s: an index is outside of the list of %d", n.Op, size)}}
			}
		}
	}
	return end
}

// picks reports whether all indices of a node are of a list of so many, at a length; true where they are not known.
func (p *Probe) picks(n *onnx.Node, length, size int) bool {
	v := p.Longer(p.Eval.Main, n.Input(1), length)
	return v == nil || !slices.ContainsFunc(v.Ints, func(i int64) bool { return i < -int64(size) || i >= int64(size) })
}

// maxStep bounds the steps of lengths that are tried.
const maxStep = 512

// step is by how much longer than a length an input must be to run again; 1 where none of
// the usual steps helps. A length at which what fails would not be seen does not count.
func (p *Probe) step(end End) int {
	runs := end.Runs
	for n := 2; n <= maxStep; n++ {
		if n > 16 && n&(n-1) != 0 { // of large ones powers of two
			continue
		}
		if p.FailsAt(runs+n) == nil && p.FailsAt(runs+2*n) == nil && p.sees(end.Failure, runs+1, runs+n) && p.sees(end.Failure, runs+1, runs+2*n) {
			return n
		}
	}
	return 1
}

// sees reports whether the inputs of a node that failed at one length are known at another as far as they were there.
func (p *Probe) sees(f *eval.Failure, failed, length int) bool {
	if f.Scope == nil || f.Scope.Index() < 0 {
		return false
	}
	before, now := p.At(failed).Scopes(), p.At(length).Scopes()
	i := f.Scope.Index()
	if i >= len(before) || i >= len(now) {
		return false
	}
	for k := range f.Node.Inputs {
		if name := f.Node.Input(k); before[i].Value(name).Known() && !now[i].Value(name).Known() {
			return false
		}
	}
	return true
}

// FailsAt is what first fails at another length, and not at that of the probe.
func (p *Probe) FailsAt(length int) *eval.Failure {
	if f, asked := p.failed[length]; asked {
		return f
	}
	f := p.failsFirst(length)
	p.failed[length] = f
	return f
}

// failsFirst is what fails at a length of all sequences, of the tokens with what was found to want as many, and of one text alone, the tokens
// first: with the last of these, where it fails with all sequences, too, and is not that they differ.
func (p *Probe) failsFirst(length int) *eval.Failure {
	together := p.newFailures(p.Sized(length))
	first := firstOf(together)
	others := p.otherSequences()
	if first == nil || length == p.Sizes.Length || len(others) == 0 {
		return first
	}
	if len(p.demanded) > 0 && p.firstAt(p.sizedTogether(length)) == nil {
		return nil
	}
	alone, _ := p.sizedAlone(length)
	fails := func(f *eval.Failure) bool {
		return f != nil && slices.ContainsFunc(together, func(g eval.Failure) bool { return g.Node == f.Node })
	}
	f := p.firstAt(alone)
	if f != nil && !fails(f) {
		return first
	}
	for _, group := range others {
		if f != nil {
			break
		}
		text := slices.ContainsFunc(group, func(d onnx.InputAxis) bool { return len(rowsTaken(p.File.Graph.Wiring(), d.Input)) > 0 })
		if !text || p.firstAt(p.sizedOther(group, p.Sizes.Length+1)) != nil { // it is of one length
			continue
		}
		if f = p.firstAt(p.sizedOther(group, length)); !fails(f) {
			f = nil
		}
	}
	return f
}

// sizedTogether are the sizes of another length of the tokens, and of the states, keys and values that were found to want as many places as there
// are tokens: those of an encoder, in a step of its decoder.
func (p *Probe) sizedTogether(length int) Sizes {
	s, held := p.Sized(length), maps.Clone(p.demanded)
	for _, in := range Given(p.File) {
		for axis := range in.Dims {
			if d := (onnx.InputAxis{Input: in.Name, Axis: axis}); in.Type.IsFloat() && !isMask(in) && held[d] == p.Sizes.Length {
				held[d] = length
			}
		}
	}
	s.demanded = &held
	return s
}

// sizedAlone are the sizes of another length of the tokens, while other sequences, if there are others, stay as they are in the first probe.
func (p *Probe) sizedAlone(length int) (s Sizes, others bool) {
	s = p.Sized(length)
	held := maps.Clone(p.demanded)
	if held == nil {
		held = map[onnx.InputAxis]int{}
	}
	for _, d := range slices.Concat(p.otherSequences()...) {
		held[d], others = cmp.Or(held[d], p.Sizes.Length), true
	}
	s.demanded = &held
	return s, others
}

// sizedOther are the sizes of another length of one of the other sequences.
func (p *Probe) sizedOther(group []onnx.InputAxis, length int) Sizes {
	s, _ := p.sizedAlone(p.Sizes.Length)
	for _, d := range group {
		(*s.demanded)[d] = length
	}
	return s
}

// Apart is the graph evaluated with a length of its own for each sequence that it is given and takes so, so that sizes tell whose positions an
// axis runs over; nil where it has one. Not ok where another text than the first has the same length in all of this.
func (p *Probe) Apart() (e *eval.Evaluator, ok bool) {
	if p.apart.looked || p.FixedLength() > 0 || p.TokenInput() == nil {
		return p.apart.run, p.apart.ok || !p.apart.looked
	}
	p.apart.looked = true
	held, known, sizes := map[onnx.InputAxis]int{}, p.FailsAnyway(), p.Sizes
	maps.Copy(held, p.demanded)
	others := p.otherSequences()
	for i, group := range others[:min(len(others), maxApart)] {
		next, s := maps.Clone(held), p.Sized(p.Sizes.Length)
		for _, d := range group {
			next[d] = p.Sizes.Length + 1 + i
		}
		s.demanded = &next
		if e := p.Evaluate(s); firstOf(slices.DeleteFunc(e.Failures, func(f eval.Failure) bool { return known[f.Node] })) == nil {
			held, p.apart.run, sizes = next, e, s
		}
	}
	p.apart.ok = !p.hasTextAsLong(Inputs(p.File, sizes))
	return p.apart.run, p.apart.ok
}

// hasTextAsLong reports whether another input of tokens than the first, with an axis of its own, is as long as that.
func (p *Probe) hasTextAsLong(inputs map[string]*eval.Value) bool {
	tokens := p.TokenInput()
	length := func(in *onnx.ValueInfo) int { return inputs[in.Name].Shape[1] }
	return len(tokens.Dims) == 2 && slices.ContainsFunc(Given(p.File), func(in *onnx.ValueInfo) bool {
		name := strings.ToLower(in.Name)
		text := in != tokens && in.Type.IsInteger() && len(in.Dims) == 2 && !isMask(in) && !IsPositions(name) && !strings.Contains(name, "type") && !strings.Contains(name, "segment")
		shared := text && in.Dims[1].Param != "" && in.Dims[1].Param == tokens.Dims[1].Param
		return text && !shared && len(inputs[in.Name].Shape) == 2 && length(in) == length(tokens)
	})
}

// SizedAs are the sizes of another length: of the tokens alone, beside other sequences, where the graph runs at the length that it has
// now with them alone and not with as many of all (they stand in one sequence, of which a table counts them all).
func (p *Probe) SizedAs(now, length int) Sizes {
	if alone, others := p.sizedAlone(now); others && now > 0 && p.firstAt(p.Sized(now)) != nil && p.firstAt(alone) == nil {
		alone, _ = p.sizedAlone(length)
		return alone
	}
	return p.Sized(length)
}

// firstAt is the first node that fails at given sizes, and not at those of the probe.
func (p *Probe) firstAt(size Sizes) *eval.Failure { return firstOf(p.newFailures(size)) }

// newFailures are what fails at given sizes, and not at those of the probe; else what does in the branches of the other calls.
func (p *Probe) newFailures(size Sizes) []eval.Failure {
	fails := func(size Sizes, known map[*onnx.Node]bool) []eval.Failure {
		return slices.DeleteFunc(p.Failing(size, nil).Failures, func(f eval.Failure) bool { return known[f.Node] })
	}
	found := fails(size, p.FailsAnyway())
	if size, known, ok := p.Otherwise(size); len(found) == 0 && ok {
		found = fails(size, known)
	}
	return found
}

// firstOf is the failure that stands first in the graph.
func firstOf(failures []eval.Failure) (first *eval.Failure) {
	for _, f := range failures {
		if first == nil || f.Place() < first.Place() {
			first = &f
		}
	}
	return first
}

// Otherwise are sizes for the other calls of a graph that tells its calls by a truth value, so that both branches of its Ifs are run (the
// decoders that optimum merges: `use_cache_branch`; several such values are taken together), and the nodes that fail in these calls at the sizes of the probe already. Not ok
// where no input is such a value.
func (p *Probe) Otherwise(s Sizes) (other Sizes, known map[*onnx.Node]bool, ok bool) {
	if !slices.ContainsFunc(Given(p.File), isSwitch) {
		return s, nil, false
	}
	if p.otherwise == nil {
		now := p.Sizes
		now.otherwise = true
		p.otherwise = failing(p.Failing(now, nil))
	}
	s.otherwise = true
	return s, p.otherwise, true
}

// Longer evaluates a value at another length; nil when the file fixes it.
func (p *Probe) Longer(s *eval.Scope, name string, length int) *eval.Value {
	if p.FixedLength() > 0 || p.Sizes.Length >= length {
		return s.Value(name)
	}
	e := p.at(p.Sized(length))
	i := s.Index()
	if i < 0 || i >= len(e.Scopes()) {
		return nil
	}
	return e.Scopes()[i].Enlarge(name)
}

// At is the evaluation at another length, at that of the probe where the file fixes one
// or its input is a picture.
func (p *Probe) At(length int) *eval.Evaluator {
	if p.FixedLength() > 0 || p.TokenInput() == nil && p.Recording() == nil || length < 1 {
		return p.Eval
	}
	return p.at(p.Sized(length))
}

// maxFurther bounds the lengths at which indices are computed for tables of distances:
// of more of other sizes than any model has, it is not known whether they are clipped.
const maxFurther = 16

// Further is longer, for few lengths in all.
func (p *Probe) Further(s *eval.Scope, name string, length int) *eval.Value {
	if !p.lengths[length] && len(p.lengths) >= maxFurther {
		return nil
	}
	if p.lengths == nil {
		p.lengths = map[int]bool{}
	}
	p.lengths[length] = true
	return p.Longer(s, name, length)
}

// timesLarger are the times that the free sides of a picture, or a recording, are made larger by: a graph that is made for no one size takes one
// of them.
var timesLarger = []int{2, 3, 4}

// OneSize is what fails first in pictures and recordings that are larger, by as many times as its encodings have room for, of a graph that runs
// with none of them: weights behind patches may be for as many as were exported. It is nil where one runs, the size is not free, a text is beside,
// or there is no room; tried says how many times larger they were.
func (p *Probe) OneSize(room int) (first *eval.Failure, tried string) {
	fixed := p.FixedSides() // ones where there is no picture
	recording := p.ImageInput() == nil && p.Recording() != nil && p.TokenMatrix() == nil && onlyLength(p.Recording())
	picture := p.TokenInput() == nil && (fixed[0] == 0 || fixed[1] == 0)
	if !recording && !picture || len(p.Eval.Failures) > 0 {
		return nil, ""
	}
	var names []string
	for _, times := range timesLarger[:min(max(room-1, 0), len(timesLarger))] {
		larger := p.Sizes
		if recording {
			larger.Length *= times
		}
		larger.Width = cmp.Or(larger.Width, larger.Image)
		if fixed[0] == 0 {
			larger.Image *= times
		}
		if fixed[1] == 0 {
			larger.Width *= times
		}
		e := p.Failing(larger, func(eval.Failure) bool { return true })
		if len(e.Failures) == 0 {
			return nil, ""
		}
		if first == nil {
			first = &e.Failures[0]
		}
		names = append(names, fmt.Sprint(times))
	}
	return first, strings.Join(names, " or ")
}

// onlyLength reports whether a recording leaves one axis behind the batch to the caller: another one may be its channels.
func onlyLength(in *onnx.ValueInfo) bool {
	free := 0
	for _, d := range in.Dims[1:] {
		if d.Value < 0 {
			free++
		}
	}
	return free == 1
}
