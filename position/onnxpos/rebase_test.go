package onnxpos

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/onnxpos/rotary"
	"github.com/modelpatch/modelpatch/schemes"
)

// computing makes the model of built one whose angles are positions times the
// frequencies of a rotation, of a free length.
func computing(m *onnx.NewModel, r schemes.Rotary) {
	free(m)
	n, f := int64(r.Dim/2), r.InverseFrequencies()
	m.Outputs[0].Dims[2] = 2 * n
	m.Initializers = append(m.Initializers[2:], noise("wte", 32, 2*n), integers("last", -1), integers("halves", n, n),
		floats("amplitude", nil, func(int) float64 { return r.Amplitude() }), floats("inverse", []int64{1, n}, func(i int) float64 { return f[i] }))
	m.Nodes = append(m.Nodes[:3], withInts(node("Cast", "at", "p"), "to", int64(onnx.Float)), node("Unsqueeze", "column", "at", "last"), node("MatMul", "angles", "column", "inverse"),
		withInts(node("Concat", "both", "angles", "angles"), "axis", int64(-1)), node("Cos", "cos0", "both"), node("Sin", "sin0", "both"), node("Mul", "cos", "cos0", "amplitude"), node("Mul", "sin", "sin0", "amplitude"),
		node("Gather", "te", "wte", "ids"), withInts(onnx.NewNode{Op: "Split", Inputs: []string{"te", "halves"}, Outputs: []string{"first", "second"}}, "axis", int64(-1)), node("Neg", "minus", "second"),
		withInts(node("Concat", "swung", "minus", "first"), "axis", int64(-1)), node("Mul", "kept", "te", "cos"), node("Mul", "turned", "swung", "sin"), node("Add", "h", "kept", "turned"))
}

// holding are the frequencies of the file that comes of the bytes of one and
// what was changed.
func holding(t *testing.T, m *Model, was []byte) []float64 {
	t.Helper()
	p, err := m.Edits()
	if err != nil {
		t.Fatal(err)
	}
	f, err := onnx.NewFile(p.View(0, bytes.NewReader(was)), p.OutputSize(0))
	if err != nil {
		t.Fatal(err)
	}
	after, err := New(f)
	if err != nil {
		t.Fatal(err)
	}
	return after.sites[0].(*rotary.Site).FileFrequencies()
}

// TestAnotherBaseKeepsYaRN changes the base of files whose ramp tells more or
// less of the original length: what is written is YaRN of the new base, or the
// change is refused; and with the length given it is made.
func TestAnotherBaseKeepsYaRN(t *testing.T) {
	refused, made := 0, 0
	for _, dim := range []int{64, 128} {
		for _, base := range []float64{1e4, 1e6, 5e6} {
			for _, length := range []int{4096, 8192, 32768, 40960, 20480, 6144} {
				was := schemes.Rotary{Base: base, Dim: dim, Layout: schemes.LayoutHalf, Scaling: schemes.Scaling{Type: schemes.ScalingYaRN, Factor: 8, OriginalLength: length}}
				want := was
				want.Base = 2 * base
				for _, given := range []int{0, length} {
					name := fmt.Sprintf("%v, original length given: %d", was, given)
					var raw []byte
					m := built(t, func(n *onnx.NewModel) { computing(n, was); raw = n.Build() })
					_, err := position.Rescale(m, position.RescaleOptions{Base: want.Base, OriginalLength: given})
					if refusal, ok := errors.AsType[*position.Refusal](err); ok && given == 0 {
						if !strings.Contains(refusal.Why, "original length") || !strings.Contains(strings.Join(refusal.Hints(), "; "), "original length") {
							t.Errorf("%s: refused, and not for its length: %v (%s)", name, err, refusal.Hints())
						}
						refused++
						continue
					}
					if err != nil {
						t.Errorf("%s: %v", name, err)
						continue
					}
					made++
					near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-6*b }
					if got := holding(t, m, raw); !slices.EqualFunc(got, want.InverseFrequencies(), near) {
						t.Errorf("%s: holds %.6g, want %.6g", name, got, want.InverseFrequencies())
					}
				}
			}
		}
	}
	t.Logf("%d made, %d refused", made, refused)
	if made < 50 {
		t.Errorf("only %d of 72 were made", made)
	}
}

// TestExtendAsksForTheOriginalLength: YaRN whose original length is not known is
// not scaled anew from whatever length is at hand.
func TestExtendAsksForTheOriginalLength(t *testing.T) {
	was := schemes.Rotary{Base: 1e6, Dim: 128, Layout: schemes.LayoutHalf, Scaling: schemes.Scaling{Type: schemes.ScalingYaRN, Factor: 4, OriginalLength: 40960}}
	for given, want := range map[int]bool{0: false, 40960: true} {
		m := built(t, func(n *onnx.NewModel) {
			computing(n, was)
			n.Inputs[0].Dims[1] = 64
		})
		_, err := position.Extend(m, position.ExtendOptions{Length: 327680, Method: schemes.ScalingYaRN, OriginalLength: given})
		if _, refused := errors.AsType[*position.Refusal](err); refused == want {
			t.Errorf("original length %d: %v", given, err)
		}
	}
}
