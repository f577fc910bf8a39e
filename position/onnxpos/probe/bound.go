package probe

import (
	"github.com/modelpatch/modelpatch/onnx/eval"
)

// longerLengths are tried on graphs that nothing seems to bound: one at which values of
// all pairs of positions are still computed, and one beyond it.
var longerLengths = []int{200, 1100}

// Bound is how far a graph runs that nothing seems to bound, and what fails
// one position further; nil when it runs at every length that was tried, or
// when its input is not of tokens with a free length.
func (p *Probe) Bound() (runs int, failure *eval.Failure) {
	if p.bounds == nil {
		p.bounds = &bounds{}
		p.bounds.runs, p.bounds.failure = p.findBound()
	}
	return p.bounds.runs, p.bounds.failure
}

// bounds is what bound found.
type bounds struct {
	runs    int
	failure *eval.Failure
}

func (p *Probe) findBound() (runs int, failure *eval.Failure) {
	if p.FixedLength() > 0 || p.TokenInput() == nil || p.ImageInput() != nil || p.VideoInput() != nil || p.Audio() != nil {
		return 0, nil
	}
	runs = p.Sizes.Length
	fails := 0
	for _, n := range longerLengths {
		if f := p.FailsAt(n); f != nil {
			fails, failure = n, f
			break
		}
		runs = n
	}
	for failure != nil && fails-runs > 1 {
		if f := p.FailsAt((runs + fails) / 2); f != nil {
			fails, failure = (runs+fails)/2, f
		} else {
			runs = (runs + fails) / 2
		}
	}
	return runs, failure
}

// FailsAt is what first fails at another length, and not at that of the probe.
func (p *Probe) FailsAt(length int) *eval.Failure {
	if f, asked := p.failed[length]; asked {
		return f
	}
	if p.failed == nil {
		p.failed = map[int]*eval.Failure{}
	}
	f := p.failsFirst(length)
	p.failed[length] = f
	return f
}

func (p *Probe) failsFirst(length int) *eval.Failure {
	size := p.Sizes
	size.Length = length
	known := p.FailsAnyway()
	var first *eval.Failure
	for _, f := range p.Failing(size, nil).Failures {
		if !known[f.Node] && (first == nil || f.Node.Range()[0] < first.Node.Range()[0]) {
			first = &f
		}
	}
	return first
}

// Longer evaluates a value at another length; nil when the file fixes it.
func (p *Probe) Longer(s *eval.Scope, name string, length int) *eval.Value {
	if p.FixedLength() > 0 || p.Sizes.Length >= length {
		return s.Value(name)
	}
	size := p.Sizes
	size.Length = length
	e := p.at(size)
	i := s.Index()
	if i < 0 || i >= len(e.Scopes()) {
		return nil
	}
	return e.Scopes()[i].Enlarge(name)
}

// At is the evaluation at another length, at that of the probe where the file fixes one
// or its input is a picture.
func (p *Probe) At(length int) *eval.Evaluator {
	if p.FixedLength() > 0 || p.TokenInput() == nil || length < 1 {
		return p.Eval
	}
	size := p.Sizes
	size.Length = length
	return p.at(size)
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
