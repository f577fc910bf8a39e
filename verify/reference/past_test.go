package reference

import (
	"math"
	"testing"

	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/trial"
	"github.com/modelpatch/modelpatch/schemes"
)

// byDistance is a bias that tells every pair of positions apart.
type byDistance struct{}

func (byDistance) Bias(head, query, key, length int) (float64, error) {
	d := float64(query - key)
	return -0.1*d - 0.03*d*d, nil
}

// TestPast: the last queries of an attention have the same output where the keys before them come from a cache, which
// holds them as they were turned.
func TestPast(t *testing.T) {
	const n, past, dim = 7, 4, 8
	rope := schemes.Rotary{Base: 100, Dim: dim, Layout: schemes.LayoutHalf}
	rows := func(seed float64) [][]float64 {
		out := make([][]float64, n)
		for p := range out {
			for i := range dim {
				out[p] = append(out[p], math.Sin(seed+float64(3*p+7*i*i)))
			}
		}
		return out
	}
	turn := rotation{rotary: rope}
	for p := range n {
		cos, sin := make([]float64, dim/2), make([]float64, dim/2)
		rope.Rotation(float64(p), cos, sin)
		turn.cos, turn.sin = append(turn.cos, cos), append(turn.sin, sin)
	}
	output := func(past int) [][]float64 {
		query, key := rows(1), rows(2)
		for p := range past {
			rope.Apply(key[p], turn.cos[p], turn.sin[p])
		}
		h := trial.Head{Query: query[past:], Key: key, Value: rows(3), Scale: 0.4}
		r := &Reference{Attention: &position.Attention{Heads: 1, Causal: true}, Trial: &trial.Trial{Queries: n - past, Keys: n, Past: past, Heads: []trial.Head{h}},
			rotations: []rotation{turn}, biases: []position.Biaser{byDistance{}}}
		out, err := r.Output(&h)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	whole, cached := output(0), output(past)
	for p, row := range cached {
		for i := range row {
			if math.Abs(row[i]-whole[past+p][i]) > 1e-12 {
				t.Fatalf("position %d, element %d: %g from a cache, %g without", past+p, i, row[i], whole[past+p][i])
			}
		}
	}
}
