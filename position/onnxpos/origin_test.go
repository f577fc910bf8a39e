package onnxpos

import (
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position/onnxpos/origin"
)

// TestOrigins holds the maps of every meeting of every file against what the evaluator
// makes of other numbers: with three random contents in the place of a constant, each
// element that is a copy must be that of the map, and no other may change.
func TestOrigins(t *testing.T) {
	files, _ := filepath.Glob("../../testdata/onnx/cases/*.onnx")
	for _, folder := range []string{"corpus", "hard"} {
		more, _ := filepath.Glob("../../../shared/" + folder + "/onnx/*.onnx")
		if len(more) == 0 {
			t.Logf("skipped by name: origins of %s (../shared is not there)", folder)
		}
		files = append(files, more...)
	}
	copies := 0
	for _, path := range files {
		m, closed := modelOf(t, path)
		if m == nil {
			continue // told by other tests
		}
		maps := origin.New(m.graph.Eval)
		for _, x := range m.labels().Meetings {
			of := maps.Of(x.Scope, x.Known)
			if of == nil {
				continue
			}
			for _, o := range of.Of {
				copies++
				for seed := range uint64(3) {
					explains(t, m, o, x.Scope, x.Known, seed)
				}
			}
		}
		closed()
		if t.Failed() {
			t.Fatal(path)
		}
	}
	if copies < 10 {
		t.Errorf("%d copies were seen", copies)
	}
}

// explains checks a map with random numbers in the place of a constant's: small whole ones,
// which quantised storage holds as well.
func explains(t *testing.T, m *Model, o *origin.Origin, s *eval.Scope, name string, seed uint64) {
	t.Helper()
	content := func(i int64) float64 {
		return float64(rand.New(rand.NewPCG(seed, uint64(i))).IntN(200))
	}
	e := m.graph.Eval.Substitute(map[*onnx.Tensor]eval.Pattern{o.Tensor: content})
	v := e.Like(s).Value(name)
	if !v.Known() || v.Len() != len(o.At) {
		t.Errorf("%s over %s: not known any more", name, o.Tensor.Name)
		return
	}
	for i, k := range o.At {
		if k < 0 {
			continue
		}
		want := content(int64(k))
		if o.Scale != nil {
			want = o.Zero[i] + o.Scale[i]*want
		}
		if got := v.Number(i); math.Abs(got-want) > 1e-6*(1+math.Abs(want)) {
			t.Errorf("%s over %s: element %d is %v, and element %d of the constant makes it %v", name, o.Tensor.Name, i, got, k, want)
			return
		}
	}
}
