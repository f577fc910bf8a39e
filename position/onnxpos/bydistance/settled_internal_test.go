package bydistance

import (
	"math"
	"testing"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
)

// An index has settled where pairs that are far apart have the last of its rows, and not where they only share one so far.
func TestIsSettled(t *testing.T) {
	const n = settledLength
	// T5's buckets of one direction (Raffel et al. 2020, §2.1): half of them by distance, the others by its logarithm.
	t5 := func(buckets, farthest int) func(d int) int64 {
		return func(d int) int64 {
			d = max(d, 0)
			exact := buckets / 2
			if d < exact {
				return int64(d)
			}
			far := math.Log(float64(d)/float64(exact)) / math.Log(float64(farthest)/float64(exact)) * float64(buckets-exact)
			return int64(min(exact+int(far), buckets-1))
		}
	}
	clip := func(reach int) func(d int) int64 {
		return func(d int) int64 { return int64(min(max(d, -reach), reach) + reach) }
	}
	for _, c := range []struct {
		name    string
		index   func(d int) int64
		rows    int
		queries int
		want    bool
	}{
		{"buckets", t5(32, 128), 32, n, true},
		{"buckets that reach farther", t5(32, 800), 32, n, false},
		{"few buckets, of which the last begins farther out", t5(8, 4096), 8, n, false},
		{"clipped distances", clip(16), 33, n, true},
		{"distances that are not clipped yet", clip(n), 2*n + 1, n, false},
		{"a table of more rows", t5(32, 128), 40, n, false},
		{"one query", t5(32, 128), 32, 1, false},
	} {
		content := make([]int64, c.queries*n)
		for i := range content {
			content[i] = c.index(i/n - i%n)
		}
		if got := isSettled(eval.IntValue(onnx.Int64, []int{c.queries, n}, content), c.rows); got != c.want {
			t.Errorf("%s: settled is %t", c.name, got)
		}
	}
	one := eval.IntValue(onnx.Int64, []int{n * n, 1, 1}, make([]int64, n*n))
	if isSettled(one, 1) {
		t.Error("many single pairs are settled")
	}
}
