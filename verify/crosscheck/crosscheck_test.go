package crosscheck

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

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
	turned := func(rows [][]float64) [][]float64 {
		out := make([][]float64, len(rows))
		for t := range rows {
			out[t] = slices.Clone(rows[t])
			for i := range c.Dim / 2 {
				x, y := c.First+i, c.First+i+c.Dim/2
				if c.Interleaved {
					x, y = c.First+2*i, c.First+2*i+1
				}
				var cos, sin float64
				if c.Angles != nil {
					cos, sin = c.Amplitude*math.Cos(c.Angles[t][i]), c.Amplitude*math.Sin(c.Angles[t][i])
				} else {
					cos, sin = c.Cos[t][i], c.Sin[t][i]
				}
				out[t][x], out[t][y] = rows[t][x]*cos-rows[t][y]*sin, rows[t][y]*cos+rows[t][x]*sin
			}
		}
		return out
	}
	q, k := c.Query, c.Key
	if c.Angles != nil || c.Cos != nil {
		q, k = turned(q), turned(k)
	}
	out := make([][]float64, len(q))
	for t := range q {
		weights, sum := make([]float64, len(k)), 0.0
		for _, x := range c.Sink {
			sum += math.Exp(x)
		}
		for j := range k {
			dot := 0.0
			for i := range q[t] {
				dot += q[t][i] * k[j][i]
			}
			dot *= c.Scale
			if c.Softcap > 0 {
				dot = c.Softcap * math.Tanh(dot/c.Softcap)
			}
			if c.Bias != nil {
				dot += c.Bias[t][j]
			}
			if weights[j] = math.Exp(dot - c.Slope*math.Abs(float64(t-j))); c.Causal && j > t {
				weights[j] = 0
			}
			sum += weights[j]
		}
		out[t] = make([]float64, len(c.Value[0]))
		for j, v := range c.Value {
			for i := range out[t] {
				out[t][i] += weights[j] / sum * v[i]
			}
		}
	}
	return out
}

func TestRunAgrees(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const length, dim, valueDim = 9, 8, 5
	angles := func(pairs int) [][]float64 {
		out := make([][]float64, length)
		for p := range out {
			for i := range pairs {
				out[p] = append(out[p], float64(p)*math.Pow(10000, -float64(i)/float64(pairs)))
			}
		}
		return out
	}
	for _, kind := range []struct {
		name string
		set  func(c *verify.Case)
		drop func(c *verify.Case) // a mistake that must show
	}{
		{"plain", func(*verify.Case) {}, func(c *verify.Case) { c.Scale *= 1.01 }},
		{"causal", func(c *verify.Case) { c.Causal = true }, func(c *verify.Case) { c.Causal = false }},
		{"half", func(c *verify.Case) { c.Angles, c.Dim, c.Causal = angles(4), 8, true }, func(c *verify.Case) { c.Interleaved = true }},
		{"interleaved", func(c *verify.Case) { c.Angles, c.Dim, c.Interleaved = angles(4), 8, true }, func(c *verify.Case) { c.Interleaved = false }},
		{"partial with an amplitude", func(c *verify.Case) { c.Angles, c.Dim, c.First, c.Amplitude = angles(2), 4, 3, 1.2 }, func(c *verify.Case) { c.Amplitude = 1 }},
		{"cosines that were given", func(c *verify.Case) { c.Cos, c.Sin, c.Dim = angles(4), angles(4), 8 }, func(c *verify.Case) { c.Cos, c.Sin = nil, nil }},
		{"alibi", func(c *verify.Case) { c.Slope, c.Causal = 0.25, true }, func(c *verify.Case) { c.Slope = 0 }},
		{"a bias", func(c *verify.Case) { c.Bias = matrixOf(r, length, length) }, func(c *verify.Case) { c.Bias = nil }},
		{"cap and sink", func(c *verify.Case) { c.Softcap, c.Sink = 0.8, []float64{0.4} }, func(c *verify.Case) { c.Sink = nil }},
		{"a cap", func(c *verify.Case) { c.Softcap = 0.8 }, func(c *verify.Case) { c.Softcap = 0 }},
	} {
		c := verify.Case{Query: matrixOf(r, length, dim), Key: matrixOf(r, length, dim), Value: matrixOf(r, length, valueDim), Scale: 0.3, Amplitude: 1}
		kind.set(&c)
		got, err := Run(c)
		if err != nil {
			t.Errorf("%s: %v", kind.name, err)
			continue
		}
		if worst := apart(got, plain(c)); worst > foreignFloat64 {
			t.Errorf("%s: apart by %g", kind.name, worst)
		}
		kind.drop(&c)
		if worst := apart(got, plain(c)); worst < 1e-3 {
			t.Errorf("%s: a mistake does not show", kind.name)
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
