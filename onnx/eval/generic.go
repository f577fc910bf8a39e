package eval

import (
	"slices"
	"strings"

	"github.com/modelpatch/modelpatch/onnx"
)

// isContent reports whether an input of a node is not known since it is made of what the model is given: tokens, frames, pixels, and not of
// sizes alone.
func (c *call) isContent(i int) bool {
	s := c.scope
	if s != s.eval.Main || !c.need(i).Unknowable() {
		return false
	}
	number, ok := s.wiring.Input(c.node, i)
	return ok && s.contents()[number]
}

// contents tells of each value of the main graph whether it is made of what the model is given.
func (s *Scope) contents() []bool {
	if s.content != nil {
		return s.content
	}
	s.content = make([]bool, s.wiring.Len())
	for _, in := range s.Graph.Inputs {
		if number, ok := s.wiring.Number(in.Name); ok {
			v := s.bound[in.Name]
			s.content[number] = v != nil && (v.Data || !v.has())
		}
	}
	s.Spend(len(s.Graph.Nodes))
	for _, n := range s.Graph.Nodes {
		if op := s.eval.operators(n.Domain, n.Op); op != nil && op.ofSizes() {
			continue
		}
		made := false
		for i := range n.Inputs {
			number, ok := s.wiring.Input(n, i)
			made = made || ok && s.content[number]
		}
		for i := range n.Outputs {
			if number, ok := s.wiring.Output(n, i); ok {
				s.content[number] = s.content[number] || made
			}
		}
	}
	return s.content
}

// maxMagnitude bounds the nodes behind a value that are looked at to see that it is never below zero.
const maxMagnitude = 8

// isMagnitude reports whether an input of a node is how large content is, summed or not: never below zero, and not zero but of nothing.
func (c *call) isMagnitude(i int) bool {
	w := c.scope.wiring
	number, ok := w.Input(c.node, i)
	for range maxMagnitude {
		n := w.Producer(number)
		if !ok || n == nil || len(n.Inputs) == 0 {
			return false
		}
		if n.Op == "Abs" || n.Op == "ReduceL1" || n.Op == "ReduceL2" {
			return true
		}
		if number, ok = w.Input(n, 0); n.Op == "Mul" {
			other, given := w.Input(n, 1)
			return ok && given && other == number
		}
		if op := c.scope.eval.operators(n.Domain, n.Op); op == nil || !op.sums() {
			return false
		}
	}
	return false
}

// compared is what comes of comparing content with numbers that are known, where that is plain: of content as it comes no element is any of them,
// and none is of no size. Models tell by it what is padding (embeddings of zeros, frames of NaN), of which the probe's inputs have none. It
// reports whether it is plain.
func (c *call) compared(out *Value, name string) bool {
	i := 0 // the content
	if c.need(0).Known() {
		i = 1
	}
	known := c.need(1 - i)
	if !known.Known() || !c.keeps(out) || !c.isContent(i) {
		return false
	}
	is := false
	if name != "Equal" {
		larger := strings.HasPrefix(name, "Greater") == (i == 0)
		if !strings.HasPrefix(name, "Greater") && !strings.HasPrefix(name, "Less") || !c.isMagnitude(i) || slices.ContainsFunc(known.numbers(), func(x float64) bool { return x > nothing }) {
			return false
		}
		is = larger
	}
	c.tell(out, is)
	return true
}

// nothing is the largest number that tells content of no size from other: what models add lest they divide by zero.
const nothing = 1e-3

// tell gives a value the same truth for each element of content. All such values share their numbers.
func (c *call) tell(out *Value, is bool) {
	n, same := out.Len(), &c.scope.eval.truths[int(truth(is))]
	c.works(n)
	if *same == nil || len(*same) < n {
		*same = slices.Repeat([]int64{int64(truth(is))}, n)
	}
	out.Type, out.Ints, out.Data = onnx.Bool, (*same)[:n:n], true
}
