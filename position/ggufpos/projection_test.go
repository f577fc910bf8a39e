package ggufpos

import (
	"math"
	"strings"
	"testing"

	"github.com/modelpatch/modelpatch/gguf"
)

// TestHostileBias refuses biases that do not have an element a row of the
// matrix, before their width decides an allocation: a tensor of no rows takes no
// bytes, however wide it says it is.
func TestHostileBias(t *testing.T) {
	values := []float32{1, 2, 3, 4}
	m := make1(t, keys{}, map[string][]float32{"w": values, "b": {7}})
	for _, c := range []struct {
		shape []int64
		says  string
	}{{[]int64{1}, ""}, {[]int64{1 << 40, 0}, "0 rows"}, {[]int64{math.MaxInt64}, "rows of 9223372036854775807 elements"}, {[]int64{1, 2}, "2 rows"}, {[]int64{4}, "of 4 elements"}} {
		bias := *m.file.Tensor("b")
		bias.Shape = c.shape
		p := &projection{m: m, weight: m.file.Tensor("w"), bias: &bias, dim: 1}
		weights, added, err := p.Head(0)
		switch {
		case c.says == "" && (err != nil || len(weights) != 4 || added[0] != 7):
			t.Errorf("%v: %v, %v, %v", c.shape, weights, added, err)
		case c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)):
			t.Errorf("%v: %v, want %q", c.shape, err, c.says)
		}
	}
	if _, _, err := (&projection{m: m, weight: &gguf.Tensor{Name: "none", Shape: []int64{1 << 40, 0}}, dim: 1}).Head(0); err == nil {
		t.Error("a matrix of no rows has a head")
	}
}
