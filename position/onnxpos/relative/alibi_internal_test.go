package relative

import (
	"math"
	"testing"
)

// TestScalesScores: what biases are multiplied by as scores are is one over the root of a head's size, in 16 bits as well.
func TestScalesScores(t *testing.T) {
	for by, want := range map[float64]bool{1: true, 0.5: true, 1 / math.Sqrt(8): true, 0.125: true, 0.3535: true, 0.0884: true, 1.5: false, 0.8: false, 2: false} {
		if got := scalesScores(by); got != want {
			t.Errorf("%g: %v", by, got)
		}
	}
}
