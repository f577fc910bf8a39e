package schemes

import (
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"testing"
)

// golden is a case of a golden file: numbers that a library gave (Source says
// which) for Params. testdata holds some of each file, shared/golden all.
type golden struct {
	Name, Scheme, Source, Dtype string
	Params                      map[string]any
	Shape                       []int
	Values                      []float64
	Points                      [][]float64
	Exact                       []float64
	ValuesExact                 []float64 `json:"values_exact"`
	AttentionFactor             float64   `json:"attention_factor"`
	First, Last                 int
}

// goldenCases runs check on every case of a file.
func goldenCases(t *testing.T, file string, check func(t *testing.T, g golden)) {
	for _, folder := range []string{"testdata", "../../shared/golden"} {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			cases := readGolden(t, filepath.Join(folder, file))
			for _, g := range cases {
				t.Run(g.Name, func(t *testing.T) { check(t, g) })
			}
		})
	}
}

func readGolden(t *testing.T, path string) []golden {
	t.Helper()
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("%s is not here", path)
	}
	var cases []golden
	if err == nil {
		err = json.Unmarshal(b, &cases)
	}
	if err != nil {
		t.Fatal(err)
	}
	return cases
}

func (g golden) number(key string) float64 {
	x, _ := g.Params[key].(float64)
	return x
}

func (g golden) list(key string) []float64 {
	list, _ := g.Params[key].([]any)
	var out []float64
	for _, x := range list {
		out = append(out, x.(float64))
	}
	return out
}

// each calls f with the index and value of every number that the case holds.
func (g golden) each(f func(index []int, want float64)) {
	for _, p := range g.Points {
		index := make([]int, len(p)-1)
		for i := range index {
			index[i] = int(p[i])
		}
		f(index, p[len(p)-1])
	}
	for i, want := range g.Values {
		index := make([]int, len(g.Shape))
		for k, rest := len(g.Shape)-1, i; k >= 0; k-- {
			index[k], rest = rest%g.Shape[k], rest/g.Shape[k]
		}
		f(index, want)
	}
}

// worst keeps the largest of some differences and says it when the test fails.
type worst struct {
	what  string
	value float64
}

func (w *worst) see(difference float64) {
	if math.IsNaN(difference) {
		difference = math.Inf(1)
	}
	w.value = max(w.value, math.Abs(difference))
}

func (w *worst) within(t *testing.T, tolerance float64) {
	t.Helper()
	if w.value > tolerance {
		t.Errorf("%s: off by %g, want at most %g", w.what, w.value, tolerance)
	} else {
		t.Logf("%s: off by %g", w.what, w.value)
	}
}

// ulps is the number of float32 numbers between a and b.
func ulps(a, b float64) float64 {
	key := func(x float64) int64 {
		bits := int64(int32(math.Float32bits(float32(x))))
		if bits < 0 {
			return -(bits & math.MaxInt32)
		}
		return bits
	}
	return math.Abs(float64(key(a) - key(b)))
}
