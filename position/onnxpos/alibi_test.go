package onnxpos

import (
	"fmt"
	"math"
	"path/filepath"
	"testing"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/onnxpos/relative"
	"github.com/modelpatch/modelpatch/position/onnxpos/rotary"
	"github.com/modelpatch/modelpatch/position/onnxpos/site"
	"github.com/modelpatch/modelpatch/schemes"
)

// TestAddALiBiCorpus adds the bias to every corpus file that has a place for
// it: it is found in the result, with the slopes that were asked for, in every
// attention.
func TestAddALiBiCorpus(t *testing.T) {
	done := 0
	for _, e := range entries(t) {
		for _, o := range []position.ALiBiOptions{{}, {MaxBias: 4}, {Replace: true}} {
			if addALiBi(t, filepath.Join(corpus, e.File), o) {
				done++
			}
		}
	}
	if done < 100 {
		t.Errorf("the bias was added %d times only", done)
	}
}

func TestAddALiBiOwn(t *testing.T) {
	for _, name := range []string{"tutorial-dy18.onnx", "opt-dy18fix.onnx"} {
		if !addALiBi(t, filepath.Join(own, name), position.ALiBiOptions{}) {
			t.Errorf("%s: not added", name)
		}
	}
}

func addALiBi(t *testing.T, path string, o position.ALiBiOptions) bool {
	t.Helper()
	m := opened(t, path)
	out, err := position.AddALiBi(m, o)
	name := filepath.Base(path)
	if err == nil && out.Nothing == "" {
		if plan, err := m.Edits(); err != nil || len(plan.Edits) == 0 {
			t.Errorf("%s: %v", name, err)
			return false
		}
	}
	if _, refused := err.(*position.Refusal); refused || out.Nothing != "" {
		t.Logf("%s %v: %v%s", name, o, err, out.Nothing)
		return false
	}
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return false
	}
	after := result(t, m, path)
	if n := len(after.graph.Eval.Failures); n > len(m.graph.Eval.Failures) {
		t.Errorf("%s: does not run: %s: %v", name, after.graph.Eval.Failures[0].Node.Op, after.graph.Eval.Failures[0].Err)
		return false
	}
	var found *relative.ALiBi
	at := 0
	for i, s := range after.sites {
		if a, ok := s.(*relative.ALiBi); ok {
			if found != nil {
				t.Errorf("%s %v: two biases found", name, o)
			}
			found, at = a, i
		}
	}
	if found == nil && after.graph.WaveInput() != nil {
		return false // the probe of a recording has too many frames for a bias to be computed
	}
	if found == nil {
		t.Errorf("%s %v: no bias found among %d encodings", name, o, len(after.sites))
		return false
	}
	heads := m.Attentions()[0].Heads
	maxBias := o.MaxBias
	if maxBias == 0 {
		maxBias = 8
	}
	want := schemes.ALiBiSlopes(heads, maxBias)
	for h := range want {
		x, err := found.Bias(h, 9, 2, 16)
		if err != nil || math.Abs(x+want[h]*7) > 1e-2*want[h]*7 {
			t.Errorf("%s %v: head %d: bias %g at distance 7, want %g (%v)", name, o, h, x, -want[h]*7, err)
		}
	}
	for _, a := range after.Attentions() {
		if a.AddBias == nil {
			continue
		}
		here := false
		for _, i := range a.Encodings {
			here = here || i == at
		}
		if !here {
			t.Errorf("%s %v: not in the attention of layer %d", name, o, a.Layer)
		}
	}
	if o.Replace {
		for _, s := range after.sites {
			noEffect(t, name, s)
		}
	}
	return true
}

// noEffect checks that an encoding that was taken away does nothing.
func noEffect(t *testing.T, name string, s site.Site) {
	t.Helper()
	switch s := s.(type) {
	case *tableSite:
		row := make([]float64, s.Dim())
		for i := range s.Len() {
			if err := s.Row(i, row); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			for _, x := range row {
				if x != 0 {
					t.Errorf("%s: row %d still adds %g", name, i, x)
					return
				}
			}
		}
	case *rotary.Site:
		n := s.Encoding().Scheme.(schemes.Rotary).Pairs()
		cos, sin := make([]float64, n), make([]float64, n)
		if err := s.Rotation(7, 8, cos, sin); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for i := range n {
			if cos[i] != 1 || sin[i] != 0 {
				t.Errorf("%s: still turns: %v", name, s.Encoding().Scheme)
				return
			}
		}
	}
}

// TestOtherSlopesInOtherLayers: linear biases whose slopes are no multiples of each other are told apart, and those that are, once.
func TestOtherSlopesInOtherLayers(t *testing.T) {
	for _, c := range []struct {
		second []float64
		sites  int
	}{{[]float64{0.25, 0.0625}, 1}, {[]float64{0.5, 0.125}, 1}, {[]float64{0.5, 0.25}, 2}} {
		m := built(t, func(m *onnx.NewModel) {
			m.Initializers = []onnx.NewTensor{m.Initializers[0], floats("distance", []int64{6, 6}, func(i int) float64 { return -math.Abs(float64(i/6 - i%6)) }), integers("heads", 6, 2, 2), integers("merged", 1, 6, 4), noise("W", 4, 4)}
			m.Nodes = []onnx.NewNode{node("Gather", "x0", "wte", "ids")}
			for i, slopes := range [][]float64{{0.25, 0.0625}, c.second} {
				of := func(name string) string { return fmt.Sprint(name, i) }
				m.Initializers = append(m.Initializers, floats(of("slopes"), []int64{2, 1, 1}, func(k int) float64 { return slopes[k] }))
				m.Nodes = append(m.Nodes, node("MatMul", of("q"), of("x"), "W"), node("Reshape", of("apart"), of("q"), "heads"), withInts(node("Transpose", of("query"), of("apart")), "perm", []int64{1, 0, 2}),
					withInts(node("Transpose", of("key"), of("apart")), "perm", []int64{1, 2, 0}), node("MatMul", of("scores"), of("query"), of("key")), node("Mul", of("bias"), "distance", of("slopes")), node("Add", of("biased"), of("scores"), of("bias")),
					node("Softmax", of("weights"), of("biased")), node("MatMul", of("seen"), of("weights"), of("query")), withInts(node("Transpose", of("back"), of("seen")), "perm", []int64{1, 0, 2}), node("Reshape", fmt.Sprint("x", i+1), of("back"), "merged"))
			}
			m.Nodes = append(m.Nodes, node("Identity", "h", "x2"))
		})
		if n := len(m.Sites()); n != c.sites {
			t.Errorf("%v: %s", c.second, found(m))
		}
	}
}
