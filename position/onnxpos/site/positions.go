package site

import (
	"math"
	"slices"

	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position/onnxpos/probe"
	"github.com/modelpatch/modelpatch/report"
)

// FindApart tells which encodings are of an axis that keeps its size in a longer input, beside others that do not; or that has fewer positions
// than the one length that the graph takes: those of another sequence, or of each segment of a text.
func (g *Graph) FindApart(sites []Site) {
	bound := slices.DeleteFunc(slices.Clone(sites), func(s Site) bool { return !s.Encoding().Bounds() })
	if n := g.FixedLength(); n > 0 {
		if in := g.TokenInput(); (in == nil || in.Type.IsFloat()) && !slices.ContainsFunc(bound, func(s Site) bool { return s.Encoding().Capacity >= n }) {
			return // of a series, several steps make a position
		}
		for _, s := range bound {
			if e := s.Encoding(); e.Beyond == report.BeyondError && e.Capacity < n && len(g.Eval.Failures) == 0 {
				s.SetApart()
			}
		}
		return
	}
	if len(bound) < 2 {
		return
	}
	keeps := func(s Site) bool { was := g.PositionsIn(s, g.Eval); return was > 0 && was == g.positionsLonger(s) }
	follows := func(s Site) bool { return g.positionsLonger(s) > g.PositionsIn(s, g.Eval) }
	for _, s := range bound {
		if keeps(s) && slices.ContainsFunc(bound, follows) {
			s.SetApart()
		}
	}
}

// OneSize is what fails first in all inputs that are several times as large, as far as no encoding ends, and how many times; nil where one
// runs, or a recording does that is a little longer.
func (g *Graph) OneSize(sites []Site) (first *eval.Failure, tried string) {
	first, tried = g.Probe.OneSize(g.room(sites))
	if _, now, longest := g.EndOfRecording(sites, 0); longest > now {
		return nil, ""
	}
	return first, tried
}

// room is by how many times the data may be longer before an encoding ends, as far as that is told; 0 where it is not, as of places of
// pictures.
func (g *Graph) room(sites []Site) int {
	room := math.MaxInt
	for _, s := range sites {
		e, now := s.Encoding(), g.PositionsIn(s, g.Eval)
		switch {
		case e.Capacity == 0, e.Apart:
		case now == 0, g.ImageInput() != nil:
			return 0
		default:
			room = min(room, e.Capacity/now)
		}
	}
	return room
}

// PositionsIn is how many positions of the data a site's encoding meets in an evaluation, 0 where that is not known.
func (g *Graph) PositionsIn(s Site, e *eval.Evaluator) int {
	scope, name, axis := s.State()
	if scope == nil || scope.Index() < 0 || scope.Index() >= len(e.Scopes()) {
		return 0
	}
	was, is := scope.Value(name).Shape, e.Scopes()[scope.Index()].Value(name).Shape
	if len(was) != len(is) || axis < 1 || axis > len(is) {
		return 0
	}
	return is[len(is)-axis]
}

// EndOfRecording is how far a graph runs that takes a recording of free length, up to as many positions as its encodings hold (0: any), and how
// many positions there are in the one that was looked at and in the longest; zeros where no encoding tells how many there are.
func (g *Graph) EndOfRecording(sites []Site, upTo int) (end probe.End, now, longest int) {
	for _, s := range sites {
		if now = g.PositionsIn(s, g.Eval); now > 0 {
			if end = g.BoundRecording(g.Sizes.Length/now, upTo); end.Failure != nil {
				longest = g.PositionsIn(s, g.At(end.Runs))
			}
			if longest == 0 {
				end = probe.End{} // or it is not known where
			}
			return end, now, longest
		}
	}
	return end, 0, 0
}

// positionsLonger is PositionsIn of an input several times as long, of which several frames may make a position, or of one a little longer,
// which more graphs take.
func (g *Graph) positionsLonger(s Site) int {
	for _, length := range []int{4 * g.Sizes.Length, g.Sizes.Length + 1} {
		if e := g.At(length); e != g.Eval {
			if n := g.PositionsIn(s, e); n > 0 {
				return n
			}
		}
	}
	return 0
}

// FramesOf is an input of which a graph makes so many positions for a site, or more: several frames of a recording may make one.
func (g *Graph) FramesOf(s Site, positions int) int {
	if now := g.PositionsIn(s, g.Eval); now == 0 || now >= g.Sizes.Length {
		return positions
	}
	for n := positions; n <= maxFrames*positions; n *= 2 {
		if made := g.PositionsIn(s, g.At(n)); made == 0 || made >= positions {
			return n // or it cannot be made any more
		}
	}
	return positions
}

// maxFrames bounds the frames that make one position.
const maxFrames = 16

// Grows reports whether what a site's encoding meets is longer in an evaluation than when it was found: an input of
// one size stays what it is, whatever length is tried.
func (g *Graph) Grows(s Site, probe *eval.Evaluator) bool {
	return g.PositionsIn(s, probe) > g.PositionsIn(s, g.Eval)
}
