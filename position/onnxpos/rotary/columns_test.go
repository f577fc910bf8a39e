package rotary

import (
	"math"
	"testing"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
)

// TestColumnsOfTurns: of (cos, sin) and (−sin, cos) the first are the cosines; other columns are none of
// a turn.
func TestColumnsOfTurns(t *testing.T) {
	value := func(at func(angle float64) (a, b float64)) *eval.Value {
		x := make([]float64, 0, 6*4*2)
		for i := range 6 * 4 {
			a, b := at(float64(i/4) * math.Pow(10, -float64(i%4)))
			x = append(x, a, b)
		}
		return eval.FloatValue(onnx.Float, []int{6, 4, 2}, x)
	}
	first := value(func(angle float64) (a, b float64) { return math.Cos(angle), math.Sin(angle) })
	second := value(func(angle float64) (a, b float64) { return -math.Sin(angle), math.Cos(angle) })
	cos, sin := columnsOfTurns(first, second)
	if cos == nil || len(cos.Shape) != 2 {
		t.Fatal("no turns were found")
	}
	for i := range cos.Len() {
		angle := float64(i/4) * math.Pow(10, -float64(i%4))
		if math.Abs(cos.Number(i)-math.Cos(angle)) > 1e-9 || math.Abs(sin.Number(i)-math.Sin(angle)) > 1e-9 {
			t.Fatalf("element %d: %g and %g", i, cos.Number(i), sin.Number(i))
		}
	}
	if cos, _ := columnsOfTurns(second, first); cos != nil {
		t.Error("the other way round they are turns as well")
	}
	still := value(func(float64) (a, b float64) { return 1, 0 })
	if cos, _ := columnsOfTurns(still, value(func(float64) (a, b float64) { return 0, 1 })); cos != nil {
		t.Error("what turns nothing is a turn")
	}
}
