// Package probe evaluates an ONNX graph at chosen sizes. New and Run choose the
// first sizes and what the inputs hold; then the graph is asked about: what its
// inputs carry (TokenInput, ImageInput, Recording), the length that it fixes
// (FixedLength), its patches (PatchGrid), what a value is at another length
// (Longer), and how far it runs (FailsAt, Bound).
//
// It knows nothing of encodings, and changes nothing.
package probe

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position/onnxpos/turning"
)

// Probe is a graph evaluated at chosen sizes: first at small ones, later, when a
// question asks for it, at longer ones. What is asked twice is remembered.
//
// It answers questions about the graph as it is in the file, not about what edits
// make of it, and may be used by one goroutine at a time.
type Probe struct {
	File    *onnx.File      // that it evaluates
	Sizes   Sizes           // of the first probe
	Eval    *eval.Evaluator // the graph at these sizes; nil while they are being chosen
	first   *eval.Evaluator // of all: what no input changes is taken from it
	probes  map[Sizes]*eval.Evaluator
	Budget  *eval.Budget // of all evaluations and walks together
	Patches *Patches     // what makes an image's patches, where it is not the first convolution
	given   *inputs      // the model's inputs, once they were looked at
	ends    map[int]End  // how far the graph runs, by how far its encodings reach
	fixed   struct {
		known  bool
		length int
		part   int // of a text of any length: the tokens of each call
	}
	channelsFirst string // see SetChannelsFirst
	tokensLast    string // see SetTokensLast
	convolution   struct {
		searched bool
		first    *onnx.Node
	}
	put      []onnx.InputAxis        // see PutAhead
	demanded map[onnx.InputAxis]int  // sizes of free dimensions that operators demand
	names    map[*onnx.Tensor]string // of constants without a name of their own, once one was asked for
	failed   map[int]*eval.Failure   // what fails at a length, by length
	apart    struct {                // see Apart
		looked, ok bool
		run        *eval.Evaluator
	}
	otherwise map[*onnx.Node]bool           // what fails at the sizes of the probe in the other calls, see Otherwise
	turning   map[string]turning.Turn       // inputs that turn pairs of numbers, see Turns
	lengths   map[int]bool                  // at which indices of tables of distances were computed
	enlarged  int                           // how often a larger picture or recording was tried
	calls     []*eval.Evaluator             // see CallsOf
	stacked   map[string]*eval.Value        // what differs between them, at the sizes of the first probe
	filled    map[*onnx.Tensor]eval.Pattern // see Fill
	Added     map[string]*eval.Value        // constants that a change adds to the main graph, by name
}

// New prepares the probes of a file, within a budget of all of them.
func New(f *onnx.File, budget *eval.Budget) *Probe {
	return &Probe{File: f, Budget: budget, ends: map[int]End{}, failed: map[int]*eval.Failure{}}
}

// Run chooses sizes at which the graph runs, small ones, and evaluates it there; one that takes one token at a time for one call.
func (p *Probe) Run() {
	p.Sizes = p.probeSizes()
	p.Eval = p.Evaluate(p.Sizes)
	p.fitFailures()
	p.fitBeside()
	p.fitLists()
	p.fitEnd()
	p.fitRows()
	if len(p.Eval.Failures) > 0 && p.FixedLength() == 0 && p.TokenInput() != nil {
		p.probeTraced()
	}
	if s := p.Sizes; len(p.Eval.Failures) > 0 && s.past == 0 && len(*s.pasts) > 0 { // keys and values of none are cut as if there were some
		s.past = firstPast
		p.take(s)
	}
	if len(p.Eval.Failures) > 0 {
		p.probePair()
	}
	p.fitMore()
}

// fitMore has axes that want more places than there are tokens (of a mask, over a prompt that is learned or queries as well) have as many more at
// every length, where the graph runs so with one token more, and not else.
func (p *Probe) fitMore() {
	was, held, next := p.Sizes, p.demanded, p.Sizes.Length+1
	if len(held) == 0 || len(p.Eval.Failures) > 0 || p.FixedLength() > 0 || p.TokenInput() == nil || p.firstAt(p.Sized(next)) == nil {
		return
	}
	others := p.otherSequences()
	for _, group := range others {
		more, demanded := map[onnx.InputAxis]int{}, maps.Clone(held)
		for _, d := range group {
			if n := held[d] - was.Length - was.past; held[d] > 0 && n > 0 {
				more[d] = n
				delete(demanded, d)
			}
		}
		for _, apart := range []bool{false, true} {
			for _, d := range slices.Concat(others...) {
				if apart && more[d] == 0 { // other sequences stay as long as they are
					demanded[d] = cmp.Or(demanded[d], was.Length)
				}
			}
			if p.Sizes.more, p.Sizes.demanded = &more, &demanded; len(more) > 0 && p.firstAt(p.Sized(next)) == nil {
				p.demanded, p.Sizes.demanded = demanded, &p.demanded
				return
			}
		}
		p.Sizes = was
	}
}

// Sized are the sizes of another length: that of the tokens, or with those before the ones that are taken.
func (p *Probe) Sized(length int) Sizes {
	s := p.Sizes
	if p.calls != nil {
		s.past, s.Batch = length-1, 1
	} else if p.fixed.part > 0 {
		s.past = max(length-p.fixed.part, 0)
	} else {
		s.Length = max(length-p.assumed(), 1)
	}
	return s
}

// probePair tries two sequences, or pictures, at once: exporters unroll what a model does for each of
// those that they traced with, usually two, and the graph runs with no other number.
func (p *Probe) probePair() {
	s := p.Sizes
	s.Batch = 2
	was, before := p.Sizes, p.Eval
	p.Sizes, p.Eval = s, p.Evaluate(s)
	if len(p.Eval.Failures) > 0 && p.FixedLength() == 0 && p.TokenInput() != nil { // traced with one length, too
		p.probeTraced()
	}
	if len(p.Eval.Failures) > 0 {
		p.Sizes, p.Eval = was, before
	}
}

// fitFailures demands of free dimensions of inputs what the nodes that read them, and fail, want: as many channels as a convolution has
// weights for; and of keys and values the sizes of those that are put behind them, where the graph runs then.
func (p *Probe) fitFailures() {
	var behind []onnx.InputAxis
	for range maxFits {
		wanted := false
		for _, f := range p.Eval.Failures {
			for i := range f.Node.Inputs {
				in, is := p.givenTo(f, i), f.Scope.Input(f.Node, i).Shape
				if in == nil || len(is) != len(in.Dims) {
					continue
				}
				for d, size := range wants(f, i) {
					if in.Dims[d].Value >= 0 || size == is[d] || size < 1 || size > maxInputs {
						continue
					}
					p.Demand(in.Name, d, size)
					wanted = true
					if !f.Node.IsConvolution() {
						behind = append(behind, onnx.InputAxis{Input: in.Name, Axis: d})
					}
				}
			}
		}
		if !wanted || !p.Refit() {
			break
		}
	}
	if len(behind) > 0 && len(p.Eval.Failures) > 0 {
		for _, d := range behind {
			p.Demand(d.Input, d.Axis, 0)
		}
		p.Refit()
	}
}

// givenTo is the input of the graph that a node, of it or of a function, reads as its own input i, perhaps in another type; nil where it reads
// another value.
func (p *Probe) givenTo(f eval.Failure, i int) *onnx.ValueInfo {
	name, scope := f.Scope.Through(f.Node.Inputs[i])
	for range maxOnTheWay {
		n, at := scope.Find(name)
		if n == nil {
			break
		}
		if !eval.Is(n, eval.Elements) {
			return nil
		}
		name, scope = at.Through(n.Input(0))
	}
	at := slices.IndexFunc(p.File.Graph.Inputs, func(in *onnx.ValueInfo) bool { return in.Name == name })
	if at < 0 || scope != p.Eval.Main {
		return nil
	}
	return p.File.Graph.Inputs[at]
}

// wants are the sizes that a node that fails wants of its input i: a convolution of its data, a Concat of one of two, a Reshape of what it takes apart.
func wants(f eval.Failure, i int) []int {
	is, n := f.Scope.Input(f.Node, i).Shape, f.Given()
	switch {
	case n.IsConvolution() && i == 0 && len(is) > 1:
		out := slices.Clone(is)
		if weights := n.FilterShape(f.Scope.Input(n, n.Filter()).Shape); len(weights) > 1 {
			channels := 1
			if n.ChannelsLast() {
				channels = len(out) - 1
			}
			out[channels] = weights[1] * int(n.Int("group", 1))
		}
		return out
	case f.Node.Op == "Concat" && len(f.Node.Inputs) == 2:
		out := slices.Clone(f.Scope.Input(f.Node, 1-i).Shape)
		if axis := f.Node.Axis(0, len(out)); len(out) == len(is) && axis >= 0 {
			out[axis] = is[axis]
			return out
		}
	case f.Node.Op == "Reshape" && i == 0 && len(is) > 1: // what is folded into the batch is told apart: heads, codebooks
		to := f.Scope.Input(f.Node, 1).Ints
		if k := len(to) - len(is); k > 0 && to[0] < 0 && slices.EqualFunc(to[k+1:], is[1:], func(a int64, b int) bool { return a == int64(b) || a == 0 }) {
			out := slices.Clone(is)
			for _, n := range to[1 : k+1] {
				out[0] *= int(n)
			}
			return out
		}
	}
	return nil
}

// maxFits bounds how often a graph is evaluated for what its nodes want.
const maxFits = 4

// fitBeside gives inputs beside the main one the sizes that their convolutions want: of as many samples as a text has tokens these leave
// nothing, or a single position.
func (p *Probe) fitBeside() {
	for _, in := range Given(p.File) {
		if in == p.TokenInput() || in == p.ImageInput() || in == p.WaveInput() || !in.Type.IsFloat() || p.isConstant(in.Name) || !p.convolved(in.Name) {
			continue
		}
		var free []int
		for axis := 1; axis < len(in.Dims); axis++ {
			if in.Dims[axis].Value < 0 {
				free = append(free, axis)
			}
		}
		nodes := p.convolutionsOf(in)
		if frames, runs := framesOf(p.Eval, nodes); len(free) == 0 || len(nodes) == 0 || runs && frames >= minFrames {
			continue
		}
		p.fit(in, free, nodes)
	}
}

// fitLists takes inputs of one axis for a number for each sequence of the batch, the step of a denoiser, where the graph does not run with as
// many numbers as there are positions: tf2onnx gives every free axis a name of its own.
func (p *Probe) fitLists() {
	before := len(p.Eval.Failures)
	demand := func(size int) (any bool) {
		for _, in := range Given(p.File) {
			if len(in.Dims) == 1 && in.Dims[0].Value < 0 && in != p.TokenInput() {
				p.Demand(in.Name, 0, size)
				any = true
			}
		}
		return any && p.Refit()
	}
	if before > 0 && demand(p.Sizes.Batch) && len(p.Eval.Failures) >= before {
		demand(0) // as before
	}
}

// mayBeRows are first axes of matrices that may run over tokens: no name says that they are the main input's, or the batch.
func (p *Probe) mayBeRows(main *onnx.ValueInfo) *map[onnx.InputAxis]bool {
	out := map[onnx.InputAxis]bool{}
	for _, in := range Given(p.File) {
		if d := in.Dims; in != main && len(d) == 2 && d[0].Value < 0 && d[1].Value > 1 && (d[0].Param == "" || d[0].Param != main.Dims[0].Param) && !namesBatch(d[0]) && !isMask(in) && !p.isConstant(in.Name) {
			out[onnx.InputAxis{Input: in.Name}] = true
		}
	}
	return &out
}

// fitRows takes first axes of matrices for those of tokens, where the graph does not run with as many sequences and does with as many tokens.
func (p *Probe) fitRows() {
	main, s := p.TokenInput(), p.Sizes
	if len(p.Eval.Failures) > 0 || main == nil || len(main.Dims) < 2 || main.Dims[0].Value >= 0 || s.Batch != 1 {
		return
	}
	rows := p.mayBeRows(main)
	if s.Batch = 2; len(*rows) == 0 || len(p.Evaluate(s).Failures) == 0 {
		return
	}
	if s.rows = rows; len(p.Evaluate(s).Failures) == 0 {
		s.Batch = 1
		p.take(s)
	}
}

// fitEnd ends each text with a token that the graph compares others with, where it does not run without: that at the end of a text, say, of
// which a classifier reads the state (BART).
func (p *Probe) fitEnd() {
	in := p.TokenMatrix()
	if in == nil || len(p.Eval.Failures) == 0 {
		return
	}
	w := p.File.Graph.Wiring()
	var ends []int64
	read(p.File, in, func(n *onnx.Node, of int, _ bool) (on, turns bool) {
		for i := range n.Inputs {
			number, ok := w.Input(n, i)
			if t := w.ConstantOf(number); ok && n.Op == "Equal" && number != of && t != nil && t.Len() == 1 && t.Type.IsInteger() {
				if x, err := t.Ints(0, 1); err == nil && len(ends) < maxFits {
					ends = append(ends, x[0])
				}
			}
		}
		return eval.Is(n, eval.Elements|eval.Layout), false
	})
	for _, end := range ends {
		s := p.Sizes
		if s.end = end; p.take(s) {
			return
		}
	}
}

// fit demands the least size of the free axes of an input at which the convolutions behind it run and leave enough frames; where there is
// none, the least at which they run.
func (p *Probe) fit(in *onnx.ValueInfo, free []int, nodes []*onnx.Node) {
	sizes := waveLengths
	if isPicture(in) {
		sizes = imageSizes
	}
	least := 0
	demand := func(size int) {
		for _, axis := range free {
			p.Demand(in.Name, axis, size)
		}
		p.Refit()
	}
	for _, size := range sizes {
		demand(size)
		frames, runs := framesOf(p.Eval, nodes)
		if runs && frames >= minFrames {
			return
		}
		if runs && least == 0 {
			least = size
		}
	}
	demand(least) // 0: none
}

// convolutionsOf are the convolutions behind an input.
func (p *Probe) convolutionsOf(in *onnx.ValueInfo) (out []*onnx.Node) {
	w := p.File.Graph.Wiring()
	first, used := w.Number(in.Name)
	if !used {
		return nil
	}
	queue, seen := []int{first}, map[*onnx.Node]bool{}
	for i := 0; i < len(queue) && len(seen) < maxBehindInput; i++ {
		for _, n := range w.Readers(queue[i]) {
			if seen[n] || eval.Is(n, eval.Sizes) {
				continue
			}
			seen[n] = true
			if n.IsConvolution() {
				out = append(out, n)
			}
			for k := range n.Outputs {
				if made, ok := w.Output(n, k); ok {
					queue = append(queue, made)
				}
			}
		}
	}
	p.Budget.Spend(len(seen))
	return out
}

// maxBehindInput bounds the nodes behind an input that are looked at.
const maxBehindInput = 1 << 12

// framesOf is the least number of positions that convolutions leave along their first axis of places, and whether all of them run.
func framesOf(e *eval.Evaluator, nodes []*onnx.Node) (frames int, runs bool) {
	for _, n := range nodes {
		shape := e.Main.Output(n, 0).Shape
		if len(shape) < 3 || slices.ContainsFunc(e.Failures, func(f eval.Failure) bool { return f.Node == n }) {
			return 0, false
		}
		if frames == 0 || shape[2] < frames {
			frames = shape[2]
		}
	}
	return frames, true
}

// Demand says that the graph's operators demand a size of a free dimension of an input,
// such as a head's of a cache. Refit then evaluates the graph anew.
func (p *Probe) Demand(input string, axis, size int) {
	if p.demanded == nil {
		p.demanded = map[onnx.InputAxis]int{}
	}
	p.demanded[onnx.InputAxis{Input: input, Axis: axis}] = size
}

// Refit evaluates the graph anew, at sizes that fit what was demanded. It reports whether
// anything was.
func (p *Probe) Refit() bool {
	if len(p.demanded) == 0 {
		return false
	}
	p.Sizes.demanded = &p.demanded
	p.Eval, p.probes = p.Evaluate(p.Sizes), nil
	return true
}

// Demanded are the sizes that the graph demands of an input's dimensions, 0 where of one
// it demands none, and −1 of cached tokens, of which there may be none; nil where of all.
func (p *Probe) Demanded(in *onnx.ValueInfo) []int {
	var out []int
	for axis := range in.Dims {
		n := p.demanded[onnx.InputAxis{Input: in.Name, Axis: axis}]
		if n == 0 && p.Sizes.past == 0 && (*p.Sizes.pasts)[onnx.InputAxis{Input: in.Name, Axis: axis}] {
			n = -1
		}
		if n != 0 {
			if out == nil {
				out = make([]int, len(in.Dims))
			}
			out[axis] = n
		}
	}
	return out
}

// firstLength is the sequence length of the first probe: no usual number of
// heads, so that axes are not mistaken for each other.
const firstLength = 5

// probeSizes chooses the sizes of the first probe; a length that the file
// fixes is taken from it.
func (p *Probe) probeSizes() Sizes {
	pasts := p.pasts()
	s := Sizes{Batch: 1, Length: firstLength, Image: 16, Frames: frameCounts[0], pasts: &pasts}
	if main := p.TokenInput(); main != nil && main.Dims[0].Value == 1 {
		s.rows = p.mayBeRows(main)
	}
	fixed := p.FixedLength() // which finds the part as well
	if n := cmp.Or(fixed, p.fixed.part); n > 0 {
		s.Length = n
	} else if p.isStep() {
		s.Length = 1
	}
	if s.Length > 1 {
		s.past = p.fixedPast()
	}
	if in := p.WaveInput(); in != nil && in.Dims[len(in.Dims)-1].Value < 0 {
		s.Length = p.waveLength(s)
	}
	if p.FreeImage() || p.FreeFrames() {
		s = p.imageSize(s)
	}
	return s
}

// probeTraced looks for a length at which the graph runs: of exporters that left an axis
// free some folded what they traced with into constants, and the graph runs at no other.
func (p *Probe) probeTraced() {
	s := p.Sizes
	lengths := p.wantedLengths()
	if slices.ContainsFunc(p.Eval.Failures, func(f eval.Failure) bool { return f.Node.IsConvolution() || eval.Is(f.Node, eval.Pooling) }) {
		lengths = append(lengths, waveLengths...) // kernels that are wider than all frames
	}
	for _, s.Length = range lengths {
		if e := p.Evaluate(s); len(e.Failures) == 0 {
			p.Sizes, p.Eval = s, e
			return
		}
	}
	p.probeApart()
}

// maxApart bounds the evaluations that look for sizes of several sequences.
const maxApart = 64

// probeApart is probeTraced of several sequences, each traced with a length of its own: sizes that stand at the first node that
// fails are tried for the tokens, and for free axes of other inputs by their names, and what lets the graph run further stays.
func (p *Probe) probeApart() {
	sizes, e, demands := p.Sizes, p.Eval, p.demanded
	others := p.otherSequences()
	reach := func(e *eval.Evaluator) int {
		first := math.MaxInt
		for _, f := range e.Failures {
			first = min(first, f.Place())
		}
		return first
	}
	for tried := 0; len(p.Eval.Failures) > 0; {
		best, furthest := func() {}, reach(p.Eval)
		for _, n := range p.wantedLengths() {
			for i := -2; i < len(others) && tried < maxApart; i++ {
				tried++
				s, demands := p.Sizes, map[onnx.InputAxis]int{}
				if i == -2 { // the tokens alone
					for _, d := range slices.Concat(others...) {
						demands[d] = s.Length
					}
				}
				maps.Copy(demands, p.demanded)
				if i < 0 {
					s.Length = n
				} else {
					for _, d := range others[i] {
						demands[d] = n
					}
				}
				if len(demands) > 0 {
					s.demanded = &demands
				}
				e := p.Evaluate(s)
				if at := reach(e); at > furthest {
					furthest = at
					best = func() { p.Sizes, p.Eval, p.demanded = s, e, demands }
				}
			}
		}
		if furthest == reach(p.Eval) {
			p.Sizes, p.Eval, p.demanded = sizes, e, demands
			return
		}
		best()
	}
}

// otherSequences are the free axes of inputs beside the tokens that are none of the tokens' by name: those of one name together.
func (p *Probe) otherSequences() (out [][]onnx.InputAxis) {
	tokens, named := p.TokenInput(), map[string]int{}
	if tokens == nil {
		return nil
	}
	for _, in := range p.File.Graph.Inputs {
		for axis, d := range in.Dims {
			if in == tokens || d.Value >= 0 || axis == 0 || d.Param != "" && slices.ContainsFunc(tokens.Dims, func(t onnx.Dim) bool { return t.Param == d.Param }) {
				continue
			}
			at, seen := named[d.Param]
			if !seen || d.Param == "" {
				at, out = len(out), append(out, nil)
				named[d.Param] = at
			}
			out[at] = append(out[at], onnx.InputAxis{Input: in.Name, Axis: axis})
		}
	}
	return out
}

// maxWanted bounds the lengths that are tried instead of one at which a graph fails.
const maxWanted = 12

// halvings is how often convolutions take every second frame, at the most, of those lengths.
const halvings = 3

// wantedLengths are the sizes that stand at the nodes that fail: those of the axes of
// their inputs, and the entries of shapes.
func (p *Probe) wantedLengths() []int {
	var out []int
	least, further := 2, 0
	if p.Recording() != nil { // fewer frames leave no positions
		least, further = p.Sizes.Length, halvings
	}
	add := func(n int) {
		for k := range further + 1 {
			if n := n << k; n >= least && n <= maxInputs && n != p.Sizes.Length && len(out) < maxWanted && !slices.Contains(out, n) {
				out = append(out, n)
			}
		}
	}
	var besides []int // positions that the graph has more of than tokens
	for _, f := range p.Eval.Failures {
		for i := range f.Node.Inputs {
			v := f.Scope.Input(f.Node, i)
			for _, n := range v.Shape {
				add(n)
				if more := n - p.Sizes.Length; more > 0 && more < p.Sizes.Length && !slices.Contains(besides, more) {
					besides = append(besides, more)
				}
			}
			if v.Known() && len(v.Shape) < 2 && v.Len() <= maxWanted {
				for _, n := range v.Ints {
					add(int(n))
				}
			}
		}
	}
	for _, more := range besides {
		for _, n := range slices.Clone(out) {
			add(n - more)
		}
	}
	most := len(out) + maxWanted
	for _, f := range p.Eval.Failures {
		p.flattened(f, func(n int) {
			if n >= least && n <= maxInputs && len(out) < most && !slices.Contains(out, n) {
				out = append(out, n)
			}
		})
	}
	return out
}

// maxCompared bounds the sizes of a node's inputs that are compared with each other: a quantised product has fewer.
const maxCompared = 32

// flattened are the lengths with which a node that fails would have as many numbers as it wants, where all columns of all positions lie along
// one axis ahead of it, as ahead of a classifier that has weights for each of them.
func (p *Probe) flattened(f eval.Failure, add func(int)) {
	var sizes []int
	for i := 0; i < len(f.Node.Inputs) && len(sizes) < maxCompared; i++ {
		sizes = append(sizes, f.Scope.Input(f.Node, i).Shape...)
	}
	sizes = sizes[:min(len(sizes), maxCompared)]
	length := max(p.Sizes.Length, 1)
	if have, into := f.Scope.Input(f.Node, 0).Len(), f.Scope.Input(f.Node, 1); f.Node.Op == "Reshape" && into.Known() && len(into.Ints) < maxCompared && (slices.Contains(into.Ints, -1) || len(into.Ints) == 1) && !slices.Contains(into.Ints, 0) { // all elements of a sequence of the batch
		wants := 1
		for _, n := range into.Ints {
			wants = min(wants*int(min(max(n, 1), maxInputs)), maxInputs) // which is no length any more
		}
		if columns := have / length; columns > 0 && have%length == 0 && wants%columns == 0 {
			add(wants / columns)
		}
	}
	for _, has := range sizes {
		columns := has / length
		if columns < 2 || has%length != 0 {
			continue
		}
		for _, wants := range sizes {
			if wants%columns == 0 {
				add(wants / columns)
			}
		}
	}
}

// at returns the evaluation at other sizes, kept for the next question. Values
// are computed when they are asked for.
func (p *Probe) at(s Sizes) *eval.Evaluator {
	if e := p.probes[s]; e != nil {
		return e
	}
	if p.probes == nil {
		p.probes = map[Sizes]*eval.Evaluator{}
	}
	e := p.evaluator(s)
	if len(p.Eval.Scopes()) > 1 {
		e.Run() // or scopes would not have the places that they have in the probe
	}
	p.probes[s] = e
	return e
}

// Evaluate runs the graph at the given sizes.
func (p *Probe) Evaluate(s Sizes) *eval.Evaluator {
	e := p.evaluator(s)
	if p.first == nil {
		p.first = e
	}
	e.Run()
	return e
}

// Failing runs the graph to see what fails, until stop is true of a failure;
// nil runs it to the end.
func (p *Probe) Failing(s Sizes, stop func(eval.Failure) bool) *eval.Evaluator {
	e := p.evaluator(s)
	e.Stop, e.MaxFloats = stop, failureFloats
	e.Run()
	return e
}

// FailsAnyway are the nodes that fail at the sizes of the first probe already:
// what they do elsewhere says nothing.
func (p *Probe) FailsAnyway() map[*onnx.Node]bool { return failing(p.Eval) }

func failing(e *eval.Evaluator) map[*onnx.Node]bool {
	out := map[*onnx.Node]bool{}
	for _, f := range e.Failures {
		out[f.Node] = true
	}
	return out
}

// failureFloats bounds the numbers that are looked at where only failures count:
// indices by logarithms of distances among 64 tokens. Masks and angles of long
// inputs fail nowhere.
const failureFloats = 64 * 64

// evaluator prepares a run of the graph at the given sizes.
func (p *Probe) evaluator(s Sizes) *eval.Evaluator {
	inputs := Inputs(p.File, s)
	if s == p.Sizes && p.stacked != nil {
		p.widen(inputs)
	}
	p.SpendEvaluation()
	if p.first == nil {
		return p.Evaluator(inputs)
	}
	e := p.first.Again(inputs)
	if s == p.Sizes && p.stacked != nil {
		e.Override, e.Adjust = p.stacked, recut
	}
	return e
}

// Evaluator prepares a run of the graph that shares nothing with the probes, for what is planned: with their
// budget, and reading activations as they were before they were quantised, as they do.
func (p *Probe) Evaluator(inputs map[string]*eval.Value) *eval.Evaluator {
	e := eval.New(p.File, inputs)
	e.Unquantized, e.Filled, e.Budget = true, p.filled, p.Budget
	e.Override = maps.Clone(p.Added)
	return e
}

// elementsAStep is how many elements that are looked at count as one step.
const elementsAStep = 8

// SpendElements counts elements that are looked at one by one.
func (p *Probe) SpendElements(n int) { p.Budget.Spend(n / elementsAStep) }

// SpendEvaluation counts one more evaluation of the graph.
func (p *Probe) SpendEvaluation() { p.Budget.Spend(p.File.Graph.Wiring().Len() / elementsAStep) }

// Within gives what is asked from now on another budget.
func (p *Probe) Within(b *eval.Budget) { p.Budget, p.Eval.Budget, p.first.Budget = b, b, b }
