package reference_test

import (
	"math"
	"slices"
	"testing"

	"github.com/modelpatch/modelpatch"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/trial"
	"github.com/modelpatch/modelpatch/schemes"
	"github.com/modelpatch/modelpatch/verify/reference"
)

func open(t *testing.T, path string) position.Model {
	t.Helper()
	m, err := modelpatch.Open(t.Context(), "../../testdata/"+path, modelpatch.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// TestExplainFindsWhatIsDropped takes a part of the formula away, or adds one: then what a
// file computes is not explained any more.
func TestExplainFindsWhatIsDropped(t *testing.T) {
	for _, c := range []struct {
		name, file string
		drop       func(a *position.Attention, t *trial.Trial)
		wrong      bool // else it is told as unknown
	}{
		{"rotation", "onnx/llama-dy23.onnx", func(a *position.Attention, _ *trial.Trial) { a.Encodings = nil }, true},
		{"partial rotation", "onnx/hand-msrope-partial.onnx", func(a *position.Attention, _ *trial.Trial) { a.Encodings = nil }, true},
		{"another element is turned first", "onnx/hand-msrope-partial.onnx", func(_ *position.Attention, t *trial.Trial) { t.First++ }, true},
		{"causal", "onnx/llama-dy23.onnx", func(a *position.Attention, _ *trial.Trial) { a.Causal = false }, false},
		{"causal in plain operators", "onnx/opt-dy18fix.onnx", func(a *position.Attention, _ *trial.Trial) { a.Causal = false }, false},
		{"causal where nothing is masked", "onnx/bert-ts17-ortbert.onnx", func(a *position.Attention, _ *trial.Trial) { a.Causal = true }, true},
		{"alibi", "onnx/alibi-range-ts17.onnx", func(a *position.Attention, _ *trial.Trial) { a.Encodings = nil }, false},
		{"scale", "onnx/gpt2-dy23.onnx", func(_ *position.Attention, t *trial.Trial) { t.Heads[0].Scale *= 1.001 }, true},
		{"values", "onnx/gpt2-dy23.onnx", func(_ *position.Attention, t *trial.Trial) { t.Heads[0].Value[3][1] += 1e-3 }, true},
		{"a bias that the report does not name", "onnx/gpt2-dy23.onnx", func(_ *position.Attention, t *trial.Trial) {
			for q := range t.Heads[0].Bias {
				for k := range q { // as a graph would that adds it
					t.Heads[0].Bias[q][k] += 0.01 * float64(q*k)
				}
			}
		}, true},
		{"a window that the report does not name", "onnx/gpt2-dy23.onnx", func(a *position.Attention, _ *trial.Trial) {
			a.Sees = func(q, k int) bool { return q-k < 4 }
		}, true},
		{"a term of content by position", "onnx/gpt2-dy23.onnx", func(_ *position.Attention, t *trial.Trial) { t.Relative = "a product" }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := open(t, c.file)
			whole, err := explained(m, m.Attentions()[0])
			if err != nil || whole.Wrong != "" || whole.Unknown != "" {
				t.Fatalf("as it is: %+v, %v", whole, err)
			}
			a := *m.Attentions()[0]
			trial, err := a.Run(positions, nil)
			if err != nil {
				t.Fatal(err)
			}
			c.drop(&a, trial)
			r, err := reference.New(m, &a, trial)
			if err != nil {
				t.Fatal(err)
			}
			e, err := r.Explain()
			if err != nil {
				t.Fatal(err)
			}
			if (e.Wrong != "") != c.wrong || !c.wrong && e.Unknown == "" {
				t.Errorf("wrong: %q, unknown: %q", e.Wrong, e.Unknown)
			}
		})
	}
}

// TestOutputHoldsEveryTerm takes a part of the formula of a GGUF file away: another output
// must come of it.
func TestOutputHoldsEveryTerm(t *testing.T) {
	for _, c := range []struct {
		name, file string
		layer      int
		drop       func(a *position.Attention, h *trial.Head)
	}{
		{"rotation", "gguf/llama-plain.gguf", 0, func(a *position.Attention, _ *trial.Head) { a.Encodings = nil }},
		{"causal", "gguf/llama-plain.gguf", 0, func(a *position.Attention, _ *trial.Head) { a.Causal = false }},
		{"window", "gguf/gemma3-dual.gguf", 0, func(a *position.Attention, _ *trial.Head) { a.Sees = nil }},
		{"alibi", "gguf/mpt-alibi.gguf", 0, func(a *position.Attention, _ *trial.Head) { a.Encodings = nil }},
		{"T5 bias", "gguf/t5-32.gguf", 1, func(a *position.Attention, _ *trial.Head) { a.Biases = []position.Biaser{} }},
		{"scale", "gguf/bert-learned.gguf", 0, func(_ *position.Attention, h *trial.Head) { h.Scale = 1 }},
		{"cap", "gguf/llama-plain.gguf", 0, func(_ *position.Attention, h *trial.Head) { h.Softcap = 0.1 }},
		{"sink", "gguf/llama-plain.gguf", 0, func(_ *position.Attention, h *trial.Head) { h.Sink = []float64{1} }},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := open(t, c.file)
			output := func(drop bool) [][]float64 {
				a := *m.Attentions()[c.layer]
				trial, err := a.Run(40, []int{0})
				if err != nil {
					t.Fatal(err)
				}
				if drop {
					c.drop(&a, &trial.Heads[0])
				}
				r, err := reference.New(m, &a, trial)
				if err != nil {
					t.Fatal(err)
				}
				out, err := r.Output(&trial.Heads[0])
				if err != nil {
					t.Fatal(err)
				}
				return out
			}
			worst := 0.0
			whole, without := output(false), output(true)
			for p := range whole {
				for i := range whole[p] {
					worst = math.Max(worst, math.Abs(whole[p][i]-without[p][i]))
				}
			}
			if worst < 1e-6 {
				t.Errorf("without it the output is the same (%g)", worst)
			}
		})
	}
}

// TestInvariants tries the laws on sound formulas and on some that break them.
func TestInvariants(t *testing.T) {
	rope := schemes.Rotary{Base: 10000, Dim: 64, Layout: schemes.LayoutHalf}
	for _, s := range []schemes.Scheme{
		rope, rope.WithScaling(schemes.Scaling{Type: "linear", Factor: 4}), rope.WithScaling(schemes.Scaling{Type: "yarn", Factor: 4, OriginalLength: 64}),
		schemes.ALiBi{Heads: 8, MaxBias: 8}, schemes.ALiBi{Heads: 12, MaxBias: 8},
		schemes.Buckets{Buckets: 32, MaxDistance: 128, Bidirectional: true}, schemes.Buckets{Buckets: 32, MaxDistance: 128}, schemes.Buckets{Buckets: 320, MaxDistance: 800, Bidirectional: true},
		schemes.Buckets{Buckets: 64, MaxDistance: 256}, schemes.Buckets{Buckets: 16, MaxDistance: 64},
		schemes.Sinusoid{Dim: 32, Rows: 64, Base: 10000, Layout: schemes.LayoutInterleaved}, schemes.Sinusoid{Dim: 32, Rows: 64, Base: 10000, Layout: schemes.LayoutHalf, Offset: 2},
	} {
		if why := reference.Invariants(s); why != "" {
			t.Errorf("%s: %s", s, why)
		}
	}
	if why := reference.Invariants(schemes.ALiBi{Heads: 4, MaxBias: 8, Slopes: []float64{0.25, 0.0625, 0.02, 0.00390625}}); why == "" {
		t.Error("slopes of no ratio pass")
	}
}

// TestExplainFindsWhatIsNotTurned computes an attention anew of which some heads, or the first tokens, are not turned.
func TestExplainFindsWhatIsNotTurned(t *testing.T) {
	for _, c := range []struct {
		name  string
		ahead func(head int) int // how many tokens are not turned
		wrong bool
		term  string
	}{
		{"all are turned", func(int) int { return 0 }, false, ""},
		{"the first tokens are not", func(int) int { return 3 }, false, "the first 3 tokens are not turned"},
		{"a head is not", func(head int) int { return head * positions }, false, "heads that are not turned: [1]"},
		{"none is turned", func(int) int { return positions }, true, ""},
		{"other tokens in each head", func(head int) int { return 3 + head }, true, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := open(t, "onnx/llama-dy23.onnx")
			a := m.Attentions()[0]
			trial, err := a.Run(positions, []int{0, 1})
			if err != nil {
				t.Fatal(err)
			}
			for i := range trial.Heads {
				attend(m, a, &trial.Heads[i], trial.First, c.ahead(i), c.ahead(i))
			}
			r, err := reference.New(m, a, trial)
			if err != nil {
				t.Fatal(err)
			}
			e, err := r.Explain()
			if err != nil || (e.Wrong != "") != c.wrong || c.term != "" && !slices.Contains(e.Terms, c.term) {
				t.Errorf("%+v, %v", e, err)
			}
		})
	}
}

// TestExplainSequences: of two sequences one may be turned, and of one both queries and keys are.
func TestExplainSequences(t *testing.T) {
	for _, c := range []struct {
		ahead   [2]int // how many of the first queries and keys are not turned
		crosses bool
		term    string // "": a fault
	}{
		{[2]int{0, positions}, true, "keys of the other sequence are not turned"},
		{[2]int{positions, 0}, true, "queries are not turned, and the other sequence's keys are"},
		{[2]int{0, positions}, false, ""},
		{[2]int{positions, positions}, true, ""},
	} {
		m := open(t, "onnx/llama-dy23.onnx")
		a := *m.Attentions()[0]
		a.Crosses = c.crosses
		trial, err := a.Run(positions, []int{0})
		if err != nil {
			t.Fatal(err)
		}
		attend(m, &a, &trial.Heads[0], trial.First, c.ahead[0], c.ahead[1])
		r, err := reference.New(m, &a, trial)
		if err != nil {
			t.Fatal(err)
		}
		if e, err := r.Explain(); err != nil || (e.Wrong != "") != (c.term == "") || c.term != "" && !slices.Contains(e.Terms, c.term) {
			t.Errorf("%v: %+v, %v", c, e, err)
		}
	}
}

// attend computes what the file would of a head of which the first queries and keys are not turned.
func attend(m position.Model, a *position.Attention, h *trial.Head, first, queries, keys int) {
	rotary := m.Sites()[a.Encodings[0]].Encoding().Scheme.(schemes.Rotary)
	turned := func(rows [][]float64, ahead int) [][]float64 {
		out := make([][]float64, len(rows))
		cos, sin := make([]float64, rotary.Pairs()), make([]float64, rotary.Pairs())
		for p, row := range rows {
			if out[p] = slices.Clone(row); p >= ahead {
				rotary.Rotation(float64(p-ahead), cos, sin)
				rotary.Apply(out[p][first:], cos, sin)
			}
		}
		return out
	}
	query, key := turned(h.Query, queries), turned(h.Key, keys)
	for q := range query {
		sum, weights := 0.0, make([]float64, len(key))
		for k := range key {
			dot := 0.0
			for c, x := range query[q] {
				dot += x * key[k][c]
			}
			h.Products[q][k], h.Scores[q][k] = dot, dot*h.Scale+h.Bias[q][k]
			weights[k] = math.Exp(h.Scores[q][k])
			sum += weights[k]
		}
		for c := range h.Output[q] {
			h.Output[q][c] = 0
			for k := range key {
				h.Output[q][c] += weights[k] / sum * h.Value[k][c]
			}
		}
	}
}
