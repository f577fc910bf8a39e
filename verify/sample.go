package verify

import (
	"fmt"
	"slices"
	"strings"

	"github.com/modelpatch/modelpatch/position/trial"
)

// Sample is how much of a model's attention is run. A number of 0 stands for the usual
// one.
type Sample struct {
	Layers    int // attentions: the first, the last and others between
	Heads     int // of each: the first, the last and others between
	Positions int // from the first
	// Full runs all layers, all heads, and as many positions as both files encode.
	Full bool
}

// The usual sample: it shows every mistake of layout, offset or scale; the cost grows with
// the square of the positions.
const (
	usualLayers    = 12
	usualHeads     = 2
	usualPositions = 48
	// leastPositions are those that are tried at the least where more cannot be run.
	leastPositions = 8
)

// maxPositions bounds the positions that are run with Full.
const maxPositions = 8192

// spread picks n of all: the first, the last and others between.
func spread(n, all int) []int {
	if n >= all {
		n = all
	}
	if n == 1 && all > 0 {
		return []int{0}
	}
	var out []int
	for i := range n {
		if x := i * (all - 1) / (n - 1); len(out) == 0 || x > out[len(out)-1] {
			out = append(out, x)
		}
	}
	return out
}

// layers are the attentions that are run.
func (s Sample) layers(all int) []int {
	switch {
	case s.Full:
		return spread(all, all)
	case s.Layers > 0:
		return spread(s.Layers, all)
	}
	return spread(usualLayers, all)
}

// heads are the heads that are run.
func (s Sample) heads(all int) []int {
	switch {
	case s.Full:
		return spread(all, all)
	case s.Heads > 0:
		return spread(s.Heads, all)
	}
	return spread(usualHeads, all)
}

// positions is how many are run of so many that both files encode.
func (s Sample) positions(shared int) int {
	switch {
	case s.Full:
		return min(shared, maxPositions)
	case s.Positions > 0:
		return min(shared, s.Positions)
	}
	return min(shared, usualPositions)
}

// sampled counts what was run.
type sampled struct {
	layers, allLayers int
	heads, allHeads   int
	least, most       int      // positions
	formula           int      // layers whose numbers were held against the formula
	not               []string // what was not run, and why
}

// ran notes an attention that was run over so many positions.
func (s *sampled) ran(t *trial.Trial, heads, positions int) {
	s.layers++
	if t.Rounding != "" {
		s.leave(fmt.Sprintf("what rounding makes of queries, keys and values (%s and its like)", t.Rounding))
	}
	s.heads += min(len(t.Heads), max(heads, 1))
	if s.least == 0 || positions < s.least {
		s.least = positions
	}
	s.most = max(s.most, positions)
}

// leave notes what was not run, each reason once.
func (s *sampled) leave(why string) {
	if !slices.Contains(s.not, why) {
		s.not = append(s.not, why)
	}
}

// String says it in a sentence.
func (s *sampled) String() string {
	out := fmt.Sprintf("%d of %d layers, heads sampled %d of %d", s.layers, s.allLayers, s.heads, s.allHeads)
	if s.most > 0 {
		out += fmt.Sprintf(", positions 0 to %d", s.most-1)
		if s.least < s.most {
			out = strings.Replace(out, fmt.Sprintf("0 to %d", s.most-1), fmt.Sprintf("0 to %d at the least", s.least-1), 1)
		}
	}
	not := append(slices.Clone(s.not), "quality")
	return out + "; not checked: " + strings.Join(not, "; ")
}
