package schemes

import (
	"encoding/json"
	"math"
	"os"
	"testing"
)

// resampleTolerance is float64 round-off of a few dozen products.
const resampleTolerance = 1e-12

// goldenTable is the table of shared/golden: ((i·7919 + c·104729) mod 1009 − 504)/512.
type goldenTable struct{ rows, dim int }

func (t goldenTable) Len() int { return t.rows }
func (t goldenTable) Dim() int { return t.dim }
func (t goldenTable) Row(i int, dst []float64) error {
	for c := range t.dim {
		dst[c] = float64((i*7919+c*104729)%1009-504) / 512
	}
	return nil
}

func TestResampleRowsGolden(t *testing.T) {
	data, err := os.ReadFile("../../shared/golden/interpolation.json")
	if err != nil {
		t.Skip("../shared/golden/interpolation.json is not there")
	}
	var cases []struct {
		Name   string
		Params struct {
			From, To     [2]int
			Mode         string
			AlignCorners bool `json:"align_corners"`
			Antialias    bool
			D            int
			Offset       float64 `json:"interpolate_offset"`
		}
		Dtype  string
		Values []float64
	}
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, c := range cases {
		if c.Values == nil || c.Params.Offset != 0 || c.Params.D == 0 {
			continue
		}
		k := Kernel{Cubic: c.Params.Mode == "bicubic", Antialias: c.Params.Antialias, AlignCorners: c.Params.AlignCorners}
		got, err := ResampleRows(goldenTable{c.Params.From[0] * c.Params.From[1], c.Params.D}, 0, GridOf(c.Params.From[:]), GridOf(c.Params.To[:]), k)
		if err != nil {
			t.Fatal(err)
		}
		tolerance := resampleTolerance
		if c.Dtype == "float32" {
			tolerance = 1e-6
		}
		row := make([]float64, c.Params.D)
		for i := range got.Len() {
			got.Row(i, row)
			for j, x := range row {
				if d := math.Abs(x - c.Values[i*c.Params.D+j]); d > tolerance {
					t.Fatalf("%s: row %d column %d: %v, want %v", c.Name, i, j, x, c.Values[i*c.Params.D+j])
				}
			}
		}
		ran++
	}
	if ran < 6 {
		t.Errorf("only %d cases were compared", ran)
	}
}

func TestResampleRowsKeepsOthers(t *testing.T) {
	old := goldenTable{2 + 9 + 3, 4} // prefix 2, grid 3×3, tail 3
	r, err := ResampleRows(old, 2, Grid{1, 3, 3}, Grid{1, 4, 5}, Kernels[0])
	if err != nil || r.Len() != 2+20+3 || r.Kept() != 2 {
		t.Fatal(err, r.Len(), r.Kept())
	}
	got, want := make([]float64, 4), make([]float64, 4)
	for i := range 3 {
		r.Row(22+i, got)
		old.Row(11+i, want)
		for c := range got {
			if got[c] != want[c] {
				t.Errorf("tail row %d: %v, want %v", i, got, want)
			}
		}
	}
}
