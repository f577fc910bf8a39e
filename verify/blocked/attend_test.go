package blocked

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"
)

// roundoff is how far two orders of the same sums of some hundred terms may be apart,
// relative to values of about 1.
const roundoff = 1e-13

// formula is attention straight from its definition.
func formula(t *testing.T, h *Head) []float64 {
	t.Helper()
	out := make([]float64, h.Queries*h.ValueDim)
	for q := range h.Queries {
		scores := make([]float64, h.Keys)
		for k := range scores {
			for i := range h.Dim {
				scores[k] += h.Query[q*h.Dim+i] * h.Key[k*h.Dim+i]
			}
			scores[k] *= h.Scale
			if h.Softcap > 0 {
				scores[k] = h.Softcap * math.Tanh(scores[k]/h.Softcap)
			}
			if h.Causal && k > q {
				scores[k] = math.Inf(-1)
			}
		}
		if h.Bias != nil {
			if err := h.Bias(q, 0, scores); err != nil {
				t.Fatal(err)
			}
		}
		sum := 0.0
		for _, x := range h.Sink {
			sum += math.Exp(x)
		}
		for k, x := range scores {
			sum += math.Exp(x)
			for i := range h.ValueDim {
				out[q*h.ValueDim+i] += math.Exp(x) * h.Value[k*h.ValueDim+i]
			}
		}
		if sum > 0 {
			for i := range h.ValueDim {
				out[q*h.ValueDim+i] /= sum
			}
		}
	}
	return out
}

func randomHead(queries, keys, dim, valueDim int) *Head {
	r := rand.New(rand.NewPCG(uint64(queries), uint64(keys)))
	random := func(n int) []float64 {
		out := make([]float64, n)
		for i := range out {
			out[i] = r.NormFloat64()
		}
		return out
	}
	return &Head{Queries: queries, Keys: keys, Dim: dim, ValueDim: valueDim, Query: random(queries * dim), Key: random(keys * dim), Value: random(keys * valueDim),
		Scale: 1 / math.Sqrt(float64(dim))}
}

func window(q, first int, scores []float64) error {
	for i := range scores {
		if d := q - first - i; d >= 5 {
			scores[i] = math.Inf(-1)
		} else {
			scores[i] -= 0.25 * math.Abs(float64(d))
		}
	}
	return nil
}

func TestAttendIsTheFormula(t *testing.T) {
	for _, c := range []struct {
		name string
		head func() *Head
	}{
		{"one", func() *Head { return randomHead(1, 1, 1, 1) }},
		{"square", func() *Head { return randomHead(64, 128, 16, 16) }},
		{"ragged", func() *Head { return randomHead(67, 131, 7, 5) }},
		{"three blocks", func() *Head { return randomHead(130, 300, 64, 64) }},
		{"causal", func() *Head { h := randomHead(150, 150, 12, 20); h.Causal = true; return h }},
		{"bias and window", func() *Head { h := randomHead(140, 140, 12, 8); h.Causal, h.Bias = true, window; return h }},
		{"cap and sink", func() *Head { h := randomHead(33, 290, 10, 9); h.Softcap, h.Sink = 1.5, []float64{0.7}; return h }},
		{"a query that sees nothing", func() *Head {
			h := randomHead(9, 9, 4, 4)
			h.Bias = func(q, _ int, scores []float64) error {
				for i := range scores {
					if q == 3 {
						scores[i] = math.Inf(-1)
					}
				}
				return nil
			}
			return h
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := c.head()
			got, err := h.Attend()
			if err != nil {
				t.Fatal(err)
			}
			for i, want := range formula(t, h) {
				if !(math.Abs(got[i]-want) <= roundoff*math.Max(1, math.Abs(want))) {
					t.Fatalf("element %d is %v, want %v", i, got[i], want)
				}
			}
			for _, drop := range []func(h *Head){func(h *Head) { h.Causal = false }, func(h *Head) { h.Bias = nil }, func(h *Head) { h.Sink = nil }, func(h *Head) { h.Softcap = 0 }} {
				other := *h
				if drop(&other); other.Causal == h.Causal && (other.Bias == nil) == (h.Bias == nil) && len(other.Sink) == len(h.Sink) && other.Softcap == h.Softcap {
					continue
				}
				without, err := other.Attend()
				if err != nil {
					t.Fatal(err)
				}
				if apart(got, without) < 1e-3 {
					t.Error("without a mask, bias, sink or cap it is the same")
				}
			}
		})
	}
}

func apart(a, b []float64) float64 {
	worst := 0.0
	for i := range a {
		worst = math.Max(worst, math.Abs(a[i]-b[i]))
	}
	return worst
}

func TestAttendGivesBackAnError(t *testing.T) {
	h := randomHead(200, 200, 4, 4)
	wrong := errors.New("wrong")
	h.Bias = func(q, _ int, _ []float64) error {
		if q == 77 {
			return wrong
		}
		return nil
	}
	if _, err := h.Attend(); !errors.Is(err, wrong) {
		t.Errorf("error %v", err)
	}
}

// TestExponentials holds that exponentials in vectors are those of the standard library.
func TestExponentials(t *testing.T) {
	var x []float64
	for v := 0.0; v > -720; v -= 0.37 {
		x = append(x, v)
	}
	x = append(x, math.Inf(-1), -1e300, -708.4, -1e-17, -0.34657)
	y := append([]float64(nil), x...)
	a, b := exponentials(x, 0), plainExponentials(y, 0)
	if math.Abs(a-b) > 1e-15*b {
		t.Errorf("sums %v and %v", a, b)
	}
	for i := range x {
		if math.Abs(x[i]-y[i]) > 4.5e-16*y[i] && y[i] > 1e-307 || math.IsNaN(x[i]) {
			t.Errorf("element %d is %v, want %v", i, x[i], y[i])
		}
	}
	if x[len(x)-5] != 0 || x[len(x)-4] != 0 {
		t.Error("a masked score has a weight")
	}
}

func BenchmarkAttend(b *testing.B) {
	h := randomHead(2048, 2048, 64, 64)
	for b.Loop() {
		if _, err := h.Attend(); err != nil {
			b.Fatal(err)
		}
	}
}
