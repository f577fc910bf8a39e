package verify

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/modelpatch/modelpatch/position"
)

// Reference is one head of attention in float64: out = softmax(q·kᵀ·scale +
// bias)·v (Vaswani et al. 2017, eq. 1), with the position encodings of one
// model applied to it.
type Reference struct {
	Model     position.Model
	Attention *position.Attention
	Head      int
	Length    int // positions that are run
}

// seed makes the states deterministic: the same input and version give the
// same report.
const seed = 0x6d6f64656c706174

// states are seeded normal numbers, one row a position: what an embedding
// could be. They do not depend on the model, so that both files see the same.
func states(length, width int) [][]float64 {
	r := rand.New(rand.NewPCG(seed, uint64(width)))
	out := make([][]float64, length)
	for p := range out {
		out[p] = make([]float64, width)
		for i := range out[p] {
			out[p][i] = r.NormFloat64()
		}
	}
	return out
}

// Run computes the head's output, one row a position.
func (r Reference) Run() ([][]float64, error) {
	a := r.Attention
	x, err := r.input()
	if err != nil {
		return nil, err
	}
	group := a.Heads / a.KVHeads
	q, err := project(a.Query, r.Head, a.HeadDim, x)
	if err != nil {
		return nil, err
	}
	k, err := project(a.Key, r.Head/group, a.HeadDim, x)
	if err != nil {
		return nil, err
	}
	v, err := project(a.Val, r.Head/group, a.HeadDim, x)
	if err != nil {
		return nil, err
	}
	biasers, err := r.act(q, k)
	if err != nil {
		return nil, err
	}
	return r.attend(q, k, v, biasers)
}

// input is the seeded states with the rows of added tables.
func (r Reference) input() ([][]float64, error) {
	x := states(r.Length, r.Attention.Query.In())
	sites := r.Model.Sites()
	text := slices.ContainsFunc(sites, func(s position.Site) bool { return s.Encoding().Capacity > 0 && !s.Encoding().IsGrid() })
	for _, s := range sites {
		rows, ok := s.(position.Rows)
		e := s.Encoding()
		if text && e.IsGrid() {
			continue // of the picture beside the text
		}
		if !ok || rows.Len() == 0 || rows.Dim() != len(x[0]) {
			continue
		}
		offset := offsetOf(e)
		row := make([]float64, rows.Dim())
		for p := range x {
			if p+offset >= rows.Len() {
				return nil, fmt.Errorf("position %d is beyond the table's %d rows", p, rows.Len())
			}
			if err := rows.Row(p+offset, row); err != nil {
				return nil, err
			}
			for i := range row {
				x[p][i] += row[i]
			}
		}
	}
	return x, nil
}

func project(p position.Projection, head, dim int, x [][]float64) ([][]float64, error) {
	w, bias, err := p.Head(head)
	if err != nil {
		return nil, err
	}
	if len(w) != dim*p.In() || bias != nil && len(bias) != dim {
		return nil, fmt.Errorf("%d weights and %d biases for a head of %d", len(w), len(bias), dim)
	}
	out := make([][]float64, len(x))
	for t := range x {
		out[t] = make([]float64, dim)
		for c := range dim {
			sum := 0.0
			for i, v := range x[t] {
				sum += w[c*len(x[t])+i] * v
			}
			if bias != nil {
				sum += bias[c]
			}
			out[t][c] = sum
		}
	}
	return out, nil
}

// act turns queries and keys by the rotations of this attention and returns
// its biases.
func (r Reference) act(q, k [][]float64) ([]position.Biaser, error) {
	var biasers []position.Biaser
	sites := r.Model.Sites()
	for _, i := range r.Attention.Encodings {
		if b, ok := sites[i].(position.Biaser); ok {
			biasers = append(biasers, b)
		}
		rotator, ok := sites[i].(position.Rotator)
		if !ok {
			continue
		}
		rotary, ok := rotaryOf(sites[i].Encoding())
		if !ok {
			continue
		}
		n := rotary.Pairs()
		cos, sin := make([]float64, n), make([]float64, n)
		for p := range q {
			if err := rotator.Rotation(p, r.Length, cos, sin); err != nil {
				return nil, err
			}
			rotary.Apply(q[p], cos, sin)
			rotary.Apply(k[p], cos, sin)
		}
	}
	return biasers, nil
}

func (r Reference) attend(q, k, v [][]float64, biasers []position.Biaser) ([][]float64, error) {
	a := r.Attention
	out := make([][]float64, len(q))
	for t := range q {
		last := len(k) - 1
		if a.Causal {
			last = t
		}
		scores := make([]float64, last+1)
		highest := math.Inf(-1)
		for j := range scores {
			for c := range q[t] {
				scores[j] += q[t][c] * k[j][c]
			}
			scores[j] *= a.Scale
			for _, b := range biasers {
				x, err := b.Bias(r.Head, t, j, r.Length)
				if err != nil {
					return nil, err
				}
				scores[j] += x
			}
			highest = math.Max(highest, scores[j])
		}
		sum := 0.0
		for j := range scores {
			scores[j] = math.Exp(scores[j] - highest)
			sum += scores[j]
		}
		out[t] = make([]float64, len(v[0]))
		for j, w := range scores {
			for c := range out[t] {
				out[t][c] += w / sum * v[j][c]
			}
		}
	}
	return out, nil
}
