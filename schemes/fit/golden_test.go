package fit

import (
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"testing"
)

// golden is a case of a golden file; see the test of package schemes.
type golden struct {
	Name, Scheme    string
	Dtype           Precision
	Params          map[string]any
	Values          []float64
	AttentionFactor float64 `json:"attention_factor"`
	Expect          struct {
		Scheme, Denominator, Order    string
		Base, Factor, Low, High       *float64
		Truncate                      *bool
		Candidates                    []string
		LowWavelength, HighWavelength float64
		RotatedPairs                  int `json:"rotated_pairs"`
	}
}

func goldenCases(t *testing.T, folders []string, file string, check func(t *testing.T, g golden)) {
	for _, folder := range folders {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			b, err := os.ReadFile(filepath.Join(folder, file))
			if errors.Is(err, fs.ErrNotExist) {
				t.Skipf("%s is not in %s", file, folder)
			}
			var cases []golden
			if err == nil {
				err = json.Unmarshal(b, &cases)
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, g := range cases {
				t.Run(g.Name, func(t *testing.T) { check(t, g) })
			}
		})
	}
}

func (g golden) number(key string) float64 {
	x, _ := g.Params[key].(float64)
	return x
}

// off is the relative difference.
func off(got, want float64) float64 { return math.Abs(got/want - 1) }
