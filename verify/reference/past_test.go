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

// row is a query, a key or a value of a position, of so many elements.
func row(seed float64, p, dim int) (out []float64) {
	for i := range dim {
		out = append(out, math.Sin(seed+float64(3*p+7*i*i)))
	}
	return out
}

// turns is a rotation of positions 0 to n-1.
func turns(rope schemes.Rotary, n int) rotation {
	out := rotation{rotary: rope}
	for p := range n {
		cos, sin := make([]float64, rope.Dim/2), make([]float64, rope.Dim/2)
		rope.Rotation(float64(p), cos, sin)
		out.cos, out.sin = append(out.cos, cos), append(out.sin, sin)
	}
	return out
}

// TestPast: the last queries of an attention have the same output where the keys before them come from a cache, which
// holds them as they were turned.
func TestPast(t *testing.T) {
	const n, past, dim = 7, 4, 8
	rope := schemes.Rotary{Base: 100, Dim: dim, Layout: schemes.LayoutHalf}
	rows := func(seed float64) (out [][]float64) {
		for p := range n {
			out = append(out, row(seed, p, dim))
		}
		return out
	}
	turn := turns(rope, n)
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

// TestOwnKeys: keys that a graph puts ahead of those of the tokens may be turned or not, and positions begin with or behind them; keys
// of a cache are turned already, and positions go on.
func TestOwnKeys(t *testing.T) {
	const n, past, dim = 7, 3, 8
	rope := schemes.Rotary{Base: 100, Dim: dim, Layout: schemes.LayoutHalf}
	turn := turns(rope, n)
	for _, c := range []struct {
		name        string
		query, key  int  // the positions of the first query, and of the first key behind those ahead
		ahead       bool // whether those are turned
		own, cached bool // whether that is right of keys of the graph's own, and of a cache
	}{
		{"as behind a cache", past, past, false, true, true},
		{"not turned, and counted from behind them", 0, 0, false, true, false},
		{"turned as the others", past, past, true, true, false},
		{"turned as the others, and queries counted from 0", 0, past, true, true, false},
		{"queries one further", past + 1, past, false, false, false},
		{"queries one further, keys ahead turned", past + 1, past, true, false, false},
	} {
		h := trial.Head{Scale: 1}
		var query, key [][]float64
		at := func(x []float64, p int) []float64 {
			x = append([]float64(nil), x...)
			rope.Apply(x, turn.cos[p%n], turn.sin[p%n])
			return x
		}
		for p := range n {
			k := row(2, p, dim)
			h.Key = append(h.Key, k)
			switch {
			case p >= past:
				key = append(key, at(k, p-past+c.key))
				q := row(1, p, dim)
				h.Query, query = append(h.Query, q), append(query, at(q, p-past+c.query))
			case c.ahead:
				key = append(key, at(k, p))
			default:
				key = append(key, k)
			}
		}
		for _, q := range query {
			scores := make([]float64, n)
			for k := range key {
				for i := range dim {
					scores[k] += q[i] * key[k][i]
				}
			}
			h.Products = append(h.Products, scores)
		}
		for own, right := range map[bool]bool{true: c.own, false: c.cached} {
			r := &Reference{Attention: &position.Attention{Heads: 1}, Trial: &trial.Trial{Queries: n - past, Keys: n, Past: past, Own: own, Heads: []trial.Head{h}}, rotations: []rotation{turn}}
			e := &Explained{}
			if r.explainProducts(e, 0); (e.Wrong == "") != right {
				t.Errorf("%s, keys of its own %v: %q", c.name, own, e.Wrong)
			}
		}
	}
}
