// Package reference is attention by its formula: queries and keys of a trial.Trial are
// turned and biased as the report of the model says, and softmax(cap(scale·query·key) +
// bias)·value is computed in float64 (Vaswani et al. 2017, eq. 1; Su et al. 2021, §3.2;
// Press et al. 2022, §3; Raffel et al. 2020, §2.1).
//
// Start with New; Reference.Explain holds what a file computes itself against it.
package reference

import (
	"fmt"
	"math"

	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/trial"
	"github.com/modelpatch/modelpatch/schemes"
	"github.com/modelpatch/modelpatch/verify/blocked"
)

// Reference is the formula of one attention of a model, with what entered it.
type Reference struct {
	Model     position.Model
	Attention *position.Attention
	Trial     *trial.Trial

	rotations []rotation
	biases    []position.Biaser // that act
	taken     bool              // what the file adds to scores is taken from it, since no formula makes it
	turning   int               // which of queries and keys are turned
	ahead     int               // how many of the first tokens are not turned, as a text's ahead of an image's: the next one has position 0
	still     map[int]bool      // heads that are not turned
}

// rotation is a rotary encoding with its cosines and sines, a row a position.
type rotation struct {
	encoding int
	rotary   schemes.Rotary
	cos, sin [][]float64
	again    func(position, length int, cos, sin []float64) error
}

// New prepares the formula: rotations as the file's own numbers say, and biases. The
// error is that of reading them.
func New(m position.Model, a *position.Attention, t *trial.Trial) (*Reference, error) {
	r := &Reference{Model: m, Attention: a, Trial: t, biases: a.Biases}
	sites := m.Sites()
	for _, i := range a.Encodings {
		if b, ok := sites[i].(position.Biaser); ok && a.Biases == nil {
			r.biases = append(r.biases, b)
		}
		rotator, ok := sites[i].(position.Rotator)
		rotary, rotates := sites[i].Encoding().Scheme.(schemes.Rotary)
		if !ok || !rotates || rotary.Dim <= 0 {
			continue
		}
		turn := rotation{encoding: i, rotary: rotary, again: rotator.Rotation}
		n := rotary.Pairs()
		for p := range max(t.Queries, t.Keys) {
			cos, sin := make([]float64, n), make([]float64, n)
			if err := rotator.Rotation(p, t.Keys, cos, sin); err != nil {
				return nil, fmt.Errorf("%s: %w", position.ID(i), err)
			}
			turn.cos, turn.sin = append(turn.cos, cos), append(turn.sin, sin)
		}
		r.rotations = append(r.rotations, turn)
	}
	return r, nil
}

// Formula takes the cosines and sines of the encodings' formulas in the place of the
// file's own where there are formulas; it says whether there are for all of them.
func (r *Reference) Formula() bool {
	all := true
	for i := range r.rotations {
		turn := &r.rotations[i]
		if turn.rotary.Scaling.IsCustom() || turn.rotary.ByPlace() || turn.rotary.Base <= 0 {
			all = false
			continue
		}
		for p := range turn.cos {
			turn.rotary.Rotation(float64(p), turn.cos[p], turn.sin[p])
		}
	}
	return all
}

// Rotation is the one rotation of the attention: its scheme, and cosines and sines, a row
// a position; false where there is none. The error tells of several.
func (r *Reference) Rotation() (rotary schemes.Rotary, cos, sin [][]float64, ok bool, err error) {
	switch {
	case len(r.rotations) == 0:
		return rotary, nil, nil, false, nil
	case r.ahead > 0 || len(r.still) > 0 || r.turning != allTurned:
		return rotary, nil, nil, false, fmt.Errorf("not all tokens and heads are turned by their position")
	case len(r.rotations) == 1:
		t := r.rotations[0]
		return t.rotary, t.cos, t.sin, true, nil
	}
	return rotary, nil, nil, false, fmt.Errorf("two rotations act in one attention")
}

// turned are the queries and keys of a head after rotation. Keys from a cache are turned
// already.
func (r *Reference) turnedHead(h *trial.Head) (query, key [][]float64) {
	if r.still[h.Head] {
		return h.Query, h.Key
	}
	t := r.Trial
	switch r.turning {
	case ownUnturned:
		return r.turned(h.Query, 0, 0), r.turned(h.Key, t.Past, -t.Past)
	case ownTurned:
		return r.turned(h.Query, 0, t.Past), r.turned(h.Key, 0, 0)
	case ownFirst:
		return r.turned(h.Query, 0, 0), r.turned(h.Key, 0, 0)
	case queriesAlone:
		return r.turned(h.Query, 0, 0), h.Key
	case keysAlone:
		return h.Query, r.turned(h.Key, 0, 0)
	}
	return r.turned(h.Query, r.ahead, t.Past-r.ahead), r.turned(h.Key, max(t.Past, r.ahead), -r.ahead)
}

// turned are rows after rotation, from one on, row p at the position offset + p.
func (r *Reference) turned(rows [][]float64, from, offset int) [][]float64 {
	out := make([][]float64, len(rows))
	for p, row := range rows {
		out[p] = append([]float64(nil), row...)
		if p < from {
			continue
		}
		for _, turn := range r.rotations {
			first := min(r.Trial.First, len(row))
			if p+offset < len(turn.cos) && len(row)-first >= turn.rotary.Dim {
				turn.rotary.Apply(out[p][first:], turn.cos[p+offset], turn.sin[p+offset])
			}
		}
	}
	return out
}

// bias adds to the scores of a query those of the keys from one on: biases, and −∞ where
// a key is masked.
func (r *Reference) bias(h *trial.Head, query, first int, scores []float64) error {
	a, t := r.Attention, r.Trial
	for i := range scores {
		k := first + i
		if r.Masked(h, query, k) {
			scores[i] = math.Inf(-1)
			continue
		}
		if r.taken {
			scores[i] += h.Bias[query][k]
			continue
		}
		for _, b := range r.biases {
			x, err := b.Bias(h.Head%max(a.Heads, 1), query+t.Past, k, t.Keys)
			if err != nil {
				return err
			}
			scores[i] += x
		}
	}
	return nil
}

// Biases writes out what is added to the scores of a head: ALiBi's slope where its rule
// is all that is added, and a matrix, query by key, for what else there is, nil for
// nothing. Keys behind a query are left to the causal mask.
func (r *Reference) Biases(h *trial.Head, slope *float64, matrix *[][]float64) error {
	a, t := r.Attention, r.Trial
	keep := r.biases
	defer func() { r.biases = keep }()
	if rule, ok := r.alibi(); ok && rule.Heads == a.Heads {
		n := h.Head % max(a.Heads, 1)
		s := rule.Slope(n)
		if x, err := r.biases[0].Bias(n, 1, 0, 2); err == nil && math.Abs(x+s) <= roundoff*s { // some files add a multiple
			*slope, r.biases = s, nil
		}
	}
	some := false
	for q := range t.Queries {
		row := make([]float64, t.Keys)
		if err := r.bias(h, q, 0, row); err != nil {
			return err
		}
		for k, x := range row {
			if a.Causal && k > q+t.Past {
				row[k] = 0
				continue
			}
			some = some || x != 0
		}
		*matrix = append(*matrix, row)
	}
	if !some {
		*matrix = nil
	}
	return nil
}

// alibi returns the rule of the slopes, where the one bias that acts follows it.
func (r *Reference) alibi() (schemes.ALiBi, bool) {
	for _, i := range r.Attention.Encodings {
		s := r.Model.Sites()[i]
		b, ok := s.(position.Biaser)
		if a, linear := s.Encoding().Scheme.(schemes.ALiBi); ok && linear && len(r.biases) == 1 && r.biases[0] == b && len(a.Slopes) == 0 && a.MaxBias > 0 {
			return a, true
		}
	}
	return schemes.ALiBi{}, false
}

// Masked reports whether a query does not see a key: by what the report says, and where
// the file computes scores itself by its own masks.
func (r *Reference) Masked(h *trial.Head, query, key int) bool {
	a, q := r.Attention, query+r.Trial.Past
	return a.Causal && key > q || a.Sees != nil && !a.Sees(q, key) || h.Masked(query, key)
}

// Scores are what the Softmax reads, −∞ where a key is masked. They take the square of
// the positions.
func (r *Reference) Scores(h *trial.Head) ([][]float64, error) {
	query, key := r.turnedHead(h)
	out := make([][]float64, len(query))
	for q := range query {
		out[q] = make([]float64, len(key))
		for k := range key {
			for i, x := range query[q] {
				out[q][k] += x * key[k][i]
			}
			out[q][k] *= h.Scale
			if h.Softcap > 0 {
				out[q][k] = h.Softcap * math.Tanh(out[q][k]/h.Softcap)
			}
		}
		if err := r.bias(h, q, 0, out[q]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Output is the head's output, a row a query.
func (r *Reference) Output(h *trial.Head) ([][]float64, error) {
	query, key := r.turnedHead(h)
	if len(query) == 0 || len(key) == 0 || len(h.Value) != len(key) {
		return nil, fmt.Errorf("%d queries, %d keys and %d values", len(query), len(key), len(h.Value))
	}
	b := &blocked.Head{Queries: len(query), Keys: len(key), Dim: len(query[0]), ValueDim: len(h.Value[0]), Query: flat(query), Key: flat(key), Value: flat(h.Value),
		Scale: h.Scale, Softcap: h.Softcap, Sink: h.Sink, Causal: r.Attention.Causal && r.Trial.Past == 0}
	if len(r.biases) > 0 || r.Attention.Sees != nil || h.Bias != nil || r.Trial.Past > 0 {
		b.Bias = func(query, first int, scores []float64) error { return r.bias(h, query, first, scores) }
	}
	out, err := b.Attend()
	if err != nil {
		return nil, err
	}
	rows := make([][]float64, len(query))
	for q := range rows {
		rows[q] = out[q*b.ValueDim : (q+1)*b.ValueDim]
	}
	return rows, nil
}

func flat(rows [][]float64) []float64 {
	out := make([]float64, 0, len(rows)*len(rows[0]))
	for _, row := range rows {
		out = append(out, row...)
	}
	return out
}
