package onnxpos

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
)

// cropped leaves nothing in the model but the patches of a picture of such sides, with as many rows and columns of a table of h×w.
func cropped(m *onnx.NewModel, sides [2]int64, h, w int64) {
	picture(m)
	m.Inputs[0].Dims = []int64{1, 3, sides[0], sides[1]}
	m.Outputs[0] = onnx.NewValue{Name: "h", Type: onnx.Float, Dims: []int64{1, 4, -1, -1}}
	m.Initializers = append(m.Initializers, noise("pos", 1, 4, h, w), integers("from", 2), integers("to", 4), integers("zeros", 0, 0), integers("axes", 2, 3))
	m.Nodes = append(m.Nodes[:1], node("Shape", "s", "patches"), node("Slice", "hw", "s", "from", "to"), node("Slice", "table", "pos", "zeros", "hw", "axes"), node("Add", "h", "patches", "table"))
}

// asManyRows is cropped with rows of a table one behind the other, as many as the picture has patches.
func asManyRows(m *onnx.NewModel, rows int64) {
	cropped(m, [2]int64{-1, -1}, 1, 1)
	m.Outputs[0].Dims = []int64{1, -1, 4}
	m.Initializers = append(m.Initializers, noise("rows", rows, 4), integers("all", 1, 4, -1), integers("0", 0), integers("1", 1))
	m.Nodes = append(m.Nodes[:3], node("ReduceProd", "n", "hw"), node("Slice", "some", "rows", "0", "n", "0"), node("Reshape", "f", "patches", "all"),
		withInts(node("Transpose", "x", "f"), "perm", []int64{0, 2, 1}), node("Add", "h", "x", "some"))
	m.Nodes[3].Attributes = append(m.Nodes[3].Attributes, onnx.NewAttribute{Name: "keepdims", Value: int64(1)})
}

// TestPartsOfTables tells of a table, of which pictures of free sides get a part, what the whole of it has.
func TestPartsOfTables(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(m *onnx.NewModel)
		found  string
		form   string
		beyond string
	}{
		{"both sides free", func(m *onnx.NewModel) { cropped(m, [2]int64{-1, -1}, 5, 7) }, "position table of 35 rows of 4, grid 5×7 ×35", report.FormTable, report.BeyondError},
		{"a free width", func(m *onnx.NewModel) { cropped(m, [2]int64{24, -1}, 5, 7) }, "position table of 35 rows of 4, grid 5×7 ×21", report.FormTable, report.BeyondError},
		{"a free height", func(m *onnx.NewModel) { cropped(m, [2]int64{-1, 24}, 5, 7) }, "position table of 35 rows of 4, grid 5×7 ×15", report.FormTable, report.BeyondError},
		{"rows by number", func(m *onnx.NewModel) { asManyRows(m, 30) }, "position table of 30 rows of 4 ×30", report.FormTable, report.BeyondError},
		{"no free side", func(m *onnx.NewModel) { cropped(m, [2]int64{24, 24}, 5, 7) }, "position table of 9 rows of 4, grid 3×3 ×9", report.FormTable, report.BeyondError},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := built(t, c.change)
			e := m.Sites()[0].Encoding()
			if got := found(m); got != c.found || e.Form != c.form || e.Beyond != c.beyond {
				t.Errorf("found %q %s %s, want %q %s %s", got, e.Form, e.Beyond, c.found, c.form, c.beyond)
			}
		})
	}
}

// TestPartsOfTablesStay leaves a graph as it is that takes the picture, and refuses one that the table has too few rows for.
func TestPartsOfTablesStay(t *testing.T) {
	for name, change := range map[string]func(m *onnx.NewModel){
		"rows and columns": func(m *onnx.NewModel) { cropped(m, [2]int64{-1, -1}, 6, 6) },
		"rows by number":   func(m *onnx.NewModel) { asManyRows(m, 36) },
	} {
		if o, err := position.ResizeGrid(built(t, change), position.GridOptions{Image: 48}); err != nil || o.Nothing == "" {
			t.Errorf("%s: %+v, %v", name, o, err)
		}
		if _, err := position.ResizeGrid(built(t, change), position.GridOptions{Image: 80}); err == nil {
			t.Errorf("%s: resized", name)
		}
	}
}

// TestPartOfSines: of a table of sines of rows and columns, row after row of the grid, of which a picture of one size gets the middle, the
// formula is that of the whole table, and a larger picture gets a larger part.
func TestPartOfSines(t *testing.T) {
	const side, columns, step = 6, 16, 2.0 / 3
	middle := func(m *onnx.NewModel) {
		picture(m)
		m.Initializers = append(m.Initializers, noise("widen", 4, columns),
			floats("sines", []int64{1, side * side, columns}, func(i int) float64 {
				place, c := i/columns, i%columns
				at := []float64{float64(place % side), float64(place / side)}[c/8] * step
				angle := at / math.Pow(10000, float64(c%4)/4)
				if c%8 < 4 {
					return math.Sin(angle)
				}
				return math.Cos(angle)
			}),
			integers("grid", 1, side, side, columns), integers("first", 1), integers("end", 5), integers("axis1", 1), integers("axis2", 2), integers("all", 1, 16, columns))
		m.Nodes = append(m.Nodes, node("MatMul", "wide", "x", "widen"), node("Reshape", "cells", "sines", "grid"), node("Slice", "rows", "cells", "first", "end", "axis1"),
			node("Slice", "part", "rows", "first", "end", "axis2"), node("Reshape", "places", "part", "all"), node("Add", "y", "wide", "places"))
		m.Outputs = []onnx.NewValue{{Name: "y", Type: onnx.Float, Dims: []int64{1, 16, columns}}}
	}
	m := built(t, middle)
	if got := found(m); !strings.Contains(got, "grid 6×6 of patches 0.6667 apart") {
		t.Fatalf("found %q", got)
	}
	if _, err := position.ResizeGrid(m, position.GridOptions{Height: 6, Width: 6}); err != nil {
		t.Fatal(err)
	}
	e := result(t, m, saved(t, middle)).graph.Eval
	if places := e.Main.Value("places"); len(e.Failures) > 0 || !slices.Equal(places.Shape, []int{1, 36, columns}) || math.Abs(places.Number(columns)-math.Sin(step)) > 1e-6 {
		t.Errorf("%v, places of %v", e.Failures, places.Shape)
	}
}
