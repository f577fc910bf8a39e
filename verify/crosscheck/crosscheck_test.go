package crosscheck

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/modelpatch/modelpatch/schemes"
	"github.com/modelpatch/modelpatch/verify"
)

// foreignFloat64 is how far two float64 programs may be apart on these sums.
const foreignFloat64 = 1e-12

func matrixOf(r *rand.Rand, rows, columns int) [][]float64 {
	out := make([][]float64, rows)
	for i := range out {
		out[i] = make([]float64, columns)
		for j := range out[i] {
			out[i][j] = r.NormFloat64()
		}
	}
	return out
}

// plain computes a case straight from the formula, a third time.
func plain(c verify.Case) [][]float64 {
	project := func(l verify.Linear) [][]float64 {
		out := make([][]float64, len(c.State))
		for t, x := range c.State {
			out[t] = make([]float64, len(l.Weights[0]))
			for j := range out[t] {
				for i := range x {
					out[t][j] += x[i] * l.Weights[i][j]
				}
				if l.Bias != nil {
					out[t][j] += l.Bias[j]
				}
			}
		}
		return out
	}
	q, k, v := project(c.Query), project(c.Key), project(c.Value)
	if c.Cos != nil {
		layout := schemes.LayoutHalf
		if c.Interleaved {
			layout = schemes.LayoutInterleaved
		}
		r := schemes.Rotary{Dim: c.Dim, Layout: layout}
		for t := range q {
			r.Apply(q[t], c.Cos[t], c.Sin[t])
			r.Apply(k[t], c.Cos[t], c.Sin[t])
		}
	}
	out := make([][]float64, len(q))
	for t := range q {
		weights, sum := make([]float64, len(k)), 0.0
		for j := range k {
			dot := 0.0
			for i := range q[t] {
				dot += q[t][i] * k[j][i]
			}
			weights[j] = math.Exp(dot*c.Scale + c.Bias[t][j])
			sum += weights[j]
		}
		out[t] = make([]float64, len(v[0]))
		for j := range v {
			for i := range out[t] {
				out[t][i] += weights[j] / sum * v[j][i]
			}
		}
	}
	return out
}

func TestRunAgrees(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, kind := range []struct {
		name        string
		rotated     int
		interleaved bool
		bias        bool
	}{{"plain", 0, false, false}, {"half", 8, false, false}, {"interleaved", 8, true, true}, {"partial", 4, false, true}} {
		const length, width, dim = 9, 12, 8
		linear := func() verify.Linear { return verify.Linear{Weights: matrixOf(r, width, dim)} }
		c := verify.Case{State: matrixOf(r, length, width), Query: linear(), Key: linear(), Value: linear(), Scale: 0.3,
			Dim: kind.rotated, Interleaved: kind.interleaved, Bias: make([][]float64, length)}
		for q := range c.Bias {
			c.Bias[q] = make([]float64, length)
			for k := range c.Bias[q] {
				if kind.bias {
					c.Bias[q][k] = -0.25 * math.Abs(float64(q-k))
				}
				if k > q {
					c.Bias[q][k] = math.Inf(-1)
				}
			}
		}
		if kind.bias {
			c.Query.Bias = matrixOf(r, 1, dim)[0]
		}
		for p := 0; p < length && kind.rotated > 0; p++ {
			cos, sin := make([]float64, kind.rotated/2), make([]float64, kind.rotated/2)
			schemes.Rotary{Base: 10000, Dim: kind.rotated}.Rotation(float64(p), cos, sin)
			c.Cos, c.Sin = append(c.Cos, cos), append(c.Sin, sin)
		}
		got, err := Run(c)
		if err != nil {
			t.Fatalf("%s: %v", kind.name, err)
		}
		if worst := apart(got, plain(c)); worst > foreignFloat64 {
			t.Errorf("%s: apart by %g", kind.name, worst)
		}
		if kind.rotated > 0 { // a mistake must show: the other layout
			c.Interleaved = !c.Interleaved
			if worst := apart(got, plain(c)); worst < 1e-3 {
				t.Errorf("%s: the other layout gives the same", kind.name)
			}
		}
	}
}

func apart(a, b [][]float64) float64 {
	worst := 0.0
	for i := range a {
		for j := range a[i] {
			worst = math.Max(worst, math.Abs(a[i][j]-b[i][j]))
		}
	}
	return worst
}
