package eval

import (
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
)

const (
	// maxLarge bounds the elements of a large value that is asked for: the biases of
	// 16 heads among 512 tokens, four times a table of 1,024 rows of 1,024.
	maxLarge = 1 << 22
	// maxEnlarged bounds those of all large values that were asked for.
	maxEnlarged = 1 << 24
	// maxEnlargements bounds how often one is asked for.
	maxEnlargements = 1 << 9
	// maxLargeWork bounds the elements that are read and made for all of them.
	maxLargeWork = 1 << 28
	// maxResident bounds those that are in memory while one is computed.
	maxResident = 1 << 24
)

// has reports whether the content is known or can be read.
func (v *Value) has() bool { return v.stored != nil || v.Ints != nil || v.Floats != nil }

// Unknowable reports whether the content is not known, and would not be if more
// were kept: it depends on that of the model's inputs, or on what is not evaluated.
func (v *Value) Unknowable() bool { return !v.has() && !v.large }

// cut reports whether a node's output is unknown because it is large, or because an
// input is that.
func (s *Scope) cut(n *onnx.Node, out *Value) bool {
	if out.state {
		return false
	}
	large := out.Len() > s.eval.most
	for i := range n.Inputs {
		in, given := s.wiring.Input(n, i)
		if !given {
			continue
		}
		v := s.values[in]
		if v == nil {
			v = s.bound[n.Inputs[i]]
		}
		if v == nil || v.Unknowable() {
			return false
		}
		large = large || v.large
	}
	return large
}

// Large reports whether the content of a value is not known and only because it, or
// something that it is made of, is large: most large constants are weights, whose
// content says nothing.
func (v *Value) Large() bool {
	return v.large || v.stored != nil && v.Ints == nil && v.Floats == nil && v.Len() > max(int(v.most), maxContent)
}

// Enlarge computes the content of a large value of the main graph, which is known from
// then on. Where it is too large, nothing changes.
func (s *Scope) Enlarge(name string) *Value {
	e, v := s.eval, s.held(name)
	number, used := s.wiring.Number(name)
	if s != e.Main || !used || !v.Large() || v.Len() == 0 || v.Len() > maxLarge || e.enlarged+v.Len() > maxEnlarged || e.enlargements == maxEnlargements {
		return e.meant(v)
	}
	e.enlargements++
	deep := newEvaluator(e.File, s.bound, e.operators)
	deep.Unquantized, deep.Filled, deep.Overlay, deep.Override, deep.most = e.Unquantized, e.Filled, e.Overlay, e.Override, maxLarge
	deep.Budget = e.Budget
	deep.maxWork, deep.work, deep.steps = maxLargeWork, e.largeWork, e.steps
	for i, v := range s.values { // known already: sizes that hang on layers of weights
		if v != nil && i != number && i < len(deep.Main.values) && (v.Ints != nil || v.Floats != nil) {
			deep.Main.values[i] = v
		}
	}
	w := deep.Main.held(name)
	e.largeWork, e.steps = deep.work, deep.steps
	if w.Known() {
		e.enlarged += w.Len()
		s.values[number] = w
		s.once = nil
		return e.meant(w)
	}
	return e.meant(v)
}

// reads counts the elements of inputs that an operator may read, which are many only
// where large values are computed; false where they are too many.
func (e *Evaluator) reads(n *onnx.Node, inputs []*Value) bool {
	if e.most > maxContent {
		for _, v := range inputs {
			if v == nil || !v.has() || v.Len() > e.most {
				continue
			}
			e.work += v.Len()
			if v.Ints == nil && v.Floats == nil {
				e.resident += v.Len() // read from the file now
			}
		}
		return e.work <= e.maxWork && e.resident <= maxResident
	}
	if e.work > e.maxWork {
		e.bound("more than %d numbers are computed, the last for %s %q", e.maxWork, n.Op, n.Output(0))
		return false
	}
	return true
}

// worked counts what a call read and made: the content of its inputs where any of its
// outputs has content of its own, and that. What an operator reads to no avail it
// counts itself.
func (e *Evaluator) worked(c *call, outputs []*Value) {
	made := 0
	for _, out := range outputs {
		if out == nil || slices.ContainsFunc(c.in, func(in *Value) bool { return in != nil && out.shares(in) }) {
			continue
		}
		made += len(out.Ints) + len(out.Floats)
	}
	if made == 0 {
		return
	}
	if e.most <= maxContent { // else they were counted by reads
		for _, in := range c.in {
			if in != nil {
				made += len(in.Ints) + len(in.Floats)
			}
		}
	}
	c.works(made)
}

// smallContent is how many elements of a value are kept where others are not any more:
// indices and sizes, on which all else hangs.
const smallContent = 1 << 9

// loads reports whether the content of a constant may be read and kept, and counts it.
func (e *Evaluator) loads(v *Value, n int) bool {
	if e == nil || n <= smallContent {
		return true
	}
	if e.loaded+n > maxLoaded {
		v.large = true
		return false
	}
	e.loaded += n
	e.Budget.Spend(n / elementsAStep)
	return true
}

// works counts elements that a call reads or makes.
func (c *call) works(elements int) {
	e := c.scope.eval
	e.work += elements
	e.Budget.Spend(elements / elementsAStep)
}

// kept is an output of a node as it is kept: without content where more is kept
// already than may be, and of unknown shape where it has too many dimensions.
func (s *Scope) kept(n *onnx.Node, v *Value) *Value {
	e := s.eval
	if len(v.Shape) > maxRank {
		return &Value{Type: v.Type}
	}
	if len(v.Ints)+len(v.Floats) == 0 || v.stored != nil {
		return v // what a constant holds it holds once
	}
	for i := range n.Inputs {
		if in, given := s.wiring.Input(n, i); given && s.values[in] != nil && v.shares(s.values[in]) {
			return v
		}
	}
	most := maxKept
	if e.most > maxContent {
		most = maxResident
	}
	size := len(v.Ints) + len(v.Floats)
	if e.resident += size; e.most <= maxContent && e.resident > most && (size > smallContent || e.resident > 4*most) {
		e.resident -= size
		cut := Shaped(v.Type, v.Shape...)
		cut.large = true
		return cut
	}
	return v
}

// shares reports whether two values have the same content in memory.
func (v *Value) shares(w *Value) bool {
	return len(v.Ints) > 0 && len(w.Ints) > 0 && &v.Ints[0] == &w.Ints[0] ||
		len(v.Floats) > 0 && len(w.Floats) > 0 && &v.Floats[0] == &w.Floats[0]
}

// most is how many elements of a value are kept.
func (c *call) most() int { return c.scope.eval.most }

// keeps reports whether the elements of a value are few enough to be computed: of more they are not kept.
func (c *call) keeps(v *Value) bool {
	n, floats := v.Len(), c.scope.eval.MaxFloats
	return n <= c.most() && (floats == 0 || n <= floats || !v.Type.IsFloat())
}

// Work is how many numbers were computed so far.
func (e *Evaluator) Work() int { return e.work }
