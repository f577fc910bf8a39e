package eval

import (
	"bytes"
	little "encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/modelpatch/modelpatch/onnx"
)

// TestTrial holds that what given values reach is computed from them in float64, that
// the rest is as the base knows it, and that nothing is left in the base.
func TestTrial(t *testing.T) {
	third := make([]byte, 0, 16)
	for range 4 {
		third = little.LittleEndian.AppendUint32(third, math.Float32bits(1.0/3))
	}
	model := onnx.NewModel{Opset: 17,
		Nodes: []onnx.NewNode{
			{Op: "MatMul", Inputs: []string{"x", "w"}, Outputs: []string{"y"}},
			{Op: "Cast", Inputs: []string{"y"}, Outputs: []string{"z"}, Attributes: []onnx.NewAttribute{{Name: "to", Value: int64(onnx.Float)}}},
			{Op: "Softmax", Inputs: []string{"z"}, Outputs: []string{"s"}},
			{Op: "Mul", Inputs: []string{"w", "w"}, Outputs: []string{"ninth"}},
		},
		Initializers: []onnx.NewTensor{{Name: "w", Type: onnx.Float, Dims: []int64{2, 2}, Raw: third}},
		Inputs:       []onnx.NewValue{{Name: "x", Type: onnx.Float, Dims: []int64{1, 2}}},
		Outputs:      []onnx.NewValue{{Name: "s", Type: onnx.Float, Dims: []int64{1, 2}}, {Name: "ninth", Type: onnx.Float, Dims: []int64{2, 2}}},
	}.Build()
	f, err := onnx.NewFile(bytes.NewReader(model), int64(len(model)))
	if err != nil {
		t.Fatal(err)
	}
	base := New(f, map[string]*Value{"x": Shaped(onnx.Float, 1, 2)})
	base.Run()
	trial := base.Trial(map[string]*Value{"x": FloatValue(onnx.Float, []int{1, 2}, []float64{0.1, 0.7})})
	y := trial.Main.Value("z")
	exact := (0.1 + 0.7) * float64(float32(1.0/3))
	if !y.Known() || y.Type != onnx.Double || math.Abs(y.Floats[0]-exact) > 1e-16 || y.Floats[0] == float64(float32(exact)) {
		t.Errorf("z is %v of %v, want %v", y.Floats, y.Type, exact)
	}
	if s := trial.Main.Value("s"); !s.Known() || s.Floats[0] != 0.5 {
		t.Errorf("softmax is %v", s.Floats)
	}
	if n := trial.Main.Value("ninth"); n != base.Main.Value("ninth") {
		t.Error("what x does not reach was computed again")
	}
	if base.Main.Value("y").Known() || base.Main.Value("s").Known() {
		t.Error("the trial left numbers in its base")
	}
}

// TestRounding passes over what rounds the numbers that are given, to whole ones and to eight bits, and says so; numbers that they do not
// reach are rounded.
func TestRounding(t *testing.T) {
	cast := func(to onnx.DataType) []onnx.NewAttribute { return []onnx.NewAttribute{{Name: "to", Value: int64(to)}} }
	model := onnx.NewModel{Opset: 17,
		Nodes: []onnx.NewNode{
			{Op: "Round", Inputs: []string{"x"}, Outputs: []string{"whole"}},
			{Op: "Cast", Inputs: []string{"x"}, Outputs: []string{"byte"}, Attributes: cast(onnx.Int8)},
			{Op: "Cast", Inputs: []string{"byte"}, Outputs: []string{"back"}, Attributes: cast(onnx.Float)},
			{Op: "Cast", Inputs: []string{"x"}, Outputs: []string{"index"}, Attributes: cast(onnx.Int64)},
			{Op: "Round", Inputs: []string{"w"}, Outputs: []string{"constant"}},
		},
		Initializers: []onnx.NewTensor{{Name: "w", Type: onnx.Float, Dims: []int64{1}, Raw: little.LittleEndian.AppendUint32(nil, math.Float32bits(1.75))}},
		Inputs:       []onnx.NewValue{{Name: "x", Type: onnx.Float, Dims: []int64{1}}},
		Outputs:      []onnx.NewValue{{Name: "whole", Type: onnx.Float, Dims: []int64{1}}},
	}.Build()
	f, err := onnx.NewFile(bytes.NewReader(model), int64(len(model)))
	if err != nil {
		t.Fatal(err)
	}
	base := New(f, map[string]*Value{"x": Shaped(onnx.Float, 1)})
	trial := base.Trial(map[string]*Value{"x": FloatValue(onnx.Float, []int{1}, []float64{2.75})})
	if v := trial.Main.Value("constant"); v.Floats[0] != 2 || trial.Rounding() != nil || base.Rounding() != nil {
		t.Errorf("a constant is rounded to %v, and %v is told", v.Floats, trial.Rounding())
	}
	for name, want := range map[string]float64{"whole": 2.75, "back": 2.75, "index": 2} {
		if v := trial.Main.Value(name); !v.Known() || v.Number(0) != want {
			t.Errorf("%s is %v, want %v", name, v, want)
		}
	}
	if n := trial.Rounding(); n == nil || n.Op != "Round" && n.Op != "Cast" {
		t.Errorf("%v is told to round", n)
	}
}

// TestIdleClip: a Clip that changes nothing of a constant lets other numbers of it pass, which show where they go, and bounds other data.
func TestIdleClip(t *testing.T) {
	model := onnx.NewModel{Opset: 17,
		Nodes:        []onnx.NewNode{{Op: "Identity", Inputs: []string{"w"}, Outputs: []string{"v"}}, {Op: "Clip", Inputs: []string{"w", "low", "high"}, Outputs: []string{"y"}}, {Op: "Clip", Inputs: []string{"v", "low", "high"}, Outputs: []string{"z"}}},
		Initializers: []onnx.NewTensor{{Name: "w", Type: onnx.Float, Dims: []int64{2}, Raw: little.LittleEndian.AppendUint32(make([]byte, 4), math.Float32bits(1))}, {Name: "low", Type: onnx.Float, Raw: make([]byte, 4)}, {Name: "high", Type: onnx.Float, Raw: little.LittleEndian.AppendUint32(nil, math.Float32bits(2))}},
		Outputs:      []onnx.NewValue{{Name: "y", Type: onnx.Float, Dims: []int64{2}}, {Name: "z", Type: onnx.Float, Dims: []int64{2}}},
	}.Build()
	f, err := onnx.NewFile(bytes.NewReader(model), int64(len(model)))
	if err != nil {
		t.Fatal(err)
	}
	base := New(f, nil)
	base.Run()
	other := base.Substitute(map[*onnx.Tensor]Pattern{f.Graph.Initializers[0]: func(i int64) float64 { return float64(10 * i) }})
	if y := other.Main.Value("y"); !y.Known() || y.Number(1) != 10 {
		t.Errorf("of another constant %v", y)
	}
	given := base.Trial(map[string]*Value{"v": FloatValue(onnx.Float, []int{2}, []float64{0, 10})})
	if z := given.Main.Value("z"); !slices.Equal(z.Floats, []float64{0, 2}) {
		t.Errorf("of other data %v", z.Floats)
	}
}

// TestAttendedFormula computes grouped attention with a window, a cap and sinks a second
// time, straight from the formula.
func TestAttendedFormula(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	random := func(n int) []float64 {
		out := make([]float64, n)
		for i := range out {
			out[i] = r.NormFloat64()
		}
		return out
	}
	a := &Attended{Batch: 2, Heads: 4, KVHeads: 2, Queries: 3, Keys: 5, Dim: 6, ValueDim: 4, Scale: 0.4, Softcap: 2, Sinks: random(4)}
	a.Query, a.Key, a.Value = random(2*4*3*6), random(2*2*5*6), random(2*2*5*4)
	a.Bias = random(2 * 4 * 3 * 5)
	a.mask(func(_, i, j int) bool { return j <= i+2 && i+2-j < 3 })
	a.compute()
	for b := range 2 {
		for h := range 4 {
			for q := range 3 {
				var num [4]float64
				den := math.Exp(a.Sinks[h])
				for k := range 5 {
					dot := 0.0
					for i := range 6 {
						dot += a.Query[((b*4+h)*3+q)*6+i] * a.Key[((b*2+h/2)*5+k)*6+i]
					}
					w := 0.0
					if k <= q+2 && q+2-k < 3 {
						w = math.Exp(2*math.Tanh(dot*0.4/2) + a.Bias[((b*4+h)*3+q)*5+k])
					}
					den += w
					for i := range num {
						num[i] += w * a.Value[((b*2+h/2)*5+k)*4+i]
					}
				}
				for i := range num {
					if got := a.Output[((b*4+h)*3+q)*4+i]; math.Abs(got-num[i]/den) > 1e-14 {
						t.Fatalf("batch %d, head %d, query %d: %v, want %v", b, h, q, got, num[i]/den)
					}
				}
			}
		}
	}
	masked := make([]float64, 2)
	if weigh(masked, []float64{math.Inf(-1), math.Inf(-1)}, nil); !slices.Equal(masked, []float64{0, 0}) {
		t.Errorf("a masked row has weights %v", masked)
	}
}

// TestAxisOutside: an axis that a value does not have leaves what is normalised along it without content.
func TestAxisOutside(t *testing.T) {
	for _, axis := range []int64{-9, 9} {
		model := onnx.NewModel{Opset: 23,
			Nodes:        []onnx.NewNode{{Op: "RMSNormalization", Inputs: []string{"x", "w"}, Outputs: []string{"y"}, Attributes: []onnx.NewAttribute{{Name: "axis", Value: axis}}}},
			Initializers: []onnx.NewTensor{{Name: "w", Type: onnx.Float, Dims: []int64{1}, Raw: make([]byte, 4)}},
			Inputs:       []onnx.NewValue{{Name: "x", Type: onnx.Float, Dims: []int64{1, 2}}},
			Outputs:      []onnx.NewValue{{Name: "y", Type: onnx.Float, Dims: []int64{1, 2}}},
		}.Build()
		f, err := onnx.NewFile(bytes.NewReader(model), int64(len(model)))
		if err != nil {
			t.Fatal(err)
		}
		base := New(f, map[string]*Value{"x": Shaped(onnx.Float, 1, 2)})
		if y := base.Trial(map[string]*Value{"x": FloatValue(onnx.Float, []int{1, 2}, []float64{3, 4})}).Main.Value("y"); y.Known() {
			t.Errorf("axis %d: %v", axis, y)
		}
	}
}
