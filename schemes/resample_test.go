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

// rowsOf are rows of a table.
type rowsOf [][]float64

func (r rowsOf) Len() int                       { return len(r) }
func (r rowsOf) Dim() int                       { return len(r[0]) }
func (r rowsOf) Row(i int, dst []float64) error { copy(dst, r[i]); return nil }

func TestIsSum(t *testing.T) {
	grid := Grid{2, 3, 4}
	sum, trained, even := make(rowsOf, 1+grid.Places()), make(rowsOf, 1+grid.Places()), make(rowsOf, 1+grid.Places())
	for p := range sum {
		y, x := (p-1)/4%3, (p-1)%4
		sum[p] = []float64{math.Sin(float64(y)) + 3*math.Cos(1.7*float64(x)), float64(y * y)}
		trained[p] = []float64{sum[p][0] + 1e-4*float64(x*y%3), sum[p][1]}
		even[p] = []float64{1, 2}
	}
	for _, c := range []struct {
		name   string
		table  Rows
		prefix int
		want   bool
	}{{"a sum", sum, 1, true}, {"at other places", sum, 0, false}, {"trained", trained, 1, false}, {"all the same", even, 1, false}, {"too few", sum, 2, false}} {
		if got, err := IsSum(c.table, c.prefix, grid); err != nil || got != c.want {
			t.Errorf("%s: %t, %v", c.name, got, err)
		}
	}
}
