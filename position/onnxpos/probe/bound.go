package probe

import (
	"github.com/modelpatch/modelpatch/onnx/eval"
)

// longerLengths are tried on graphs that nothing seems to bound: one at which values of
// all pairs of positions are still computed, and one beyond it. They are primes: a graph that
// runs at multiples of a length alone fails there.
var longerLengths = []int{199, 1103}

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
	if p.ends == nil {
		p.ends = map[int]End{}
	}
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
	if p.FixedLength() > 0 || p.TokenInput() == nil || p.ImageInput() != nil || p.VideoInput() != nil || p.Audio() != nil || upTo > maxBound {
		return end
	}
	end.Runs = p.Sizes.Length
	tried := longerLengths
	if upTo > 0 {
		tried = []int{upTo}
	}
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
	if end.Failure != nil {
		end.Step = p.step(end.Runs)
	}
	return end
}

// maxStep bounds the steps of lengths that are tried.
const maxStep = 512

// step is by how much longer than a length an input must be to run again; 1 where none of
// the usual steps helps.
func (p *Probe) step(runs int) int {
	for n := 2; n <= maxStep; n++ {
		if n > 16 && n&(n-1) != 0 { // of large ones powers of two
			continue
		}
		if p.FailsAt(runs+n) == nil && p.FailsAt(runs+2*n) == nil {
			return n
		}
	}
	return 1
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
