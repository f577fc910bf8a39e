package onnxpos

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/onnxpos/trace"
)

// distanceWaves are rows of sines and cosines in turns, base 10000 (Vaswani et al. 2017, section 3.5), of
// distances that a function gives by the row.
func distanceWaves(name string, n int64, distance func(row int) int) onnx.NewTensor {
	return floats(name, []int64{n, 8}, func(i int) float64 { return wave(distance(i/8), i%8) })
}

func wave(distance, column int) float64 {
	angle := float64(distance) * math.Pow(10000, -float64(column/2*2)/8)
	if column%2 == 1 {
		return math.Cos(angle)
	}
	return math.Sin(angle)
}

// pressed are numbers of distances in a finite span (Yao et al. 2023, "Zipformer", §3.3).
func pressed(distance, column int) float64 {
	root := math.Sqrt(8)
	x := math.Copysign(root*(math.Log(math.Abs(float64(distance))+root)-math.Log(root)), float64(distance))
	angle := math.Atan(x / (8 / (2 * math.Pi)))
	switch k := float64(column/2 + 1); {
	case column == 7:
		return 1
	case column%2 == 0:
		return math.Cos(k * angle)
	default:
		return math.Sin(k * angle)
	}
}

// skewed multiplies the states of tokens with what weights make of rows of a table "waves": those from a
// start to an end, which the lists of nodes make of the length.
func skewed(m *onnx.NewModel, table onnx.NewTensor, start, end []string, more ...onnx.NewTensor) {
	counted(m)
	m.Initializers = append([]onnx.NewTensor{noise("wte", 32, 8), noise("W", 8, 8), noise("V", 8, 8), table, integers("rows", 0), integers("ahead", 0)}, m.Initializers[2:]...)
	m.Initializers = append(m.Initializers, more...)
	m.Nodes = append(m.Nodes[:4:4], node("MatMul", "h0", "e", "W"), node("Unsqueeze", "T", "length", "rows"))
	m.Nodes = append(m.Nodes, node(start[0], "from", start[1:]...), node(end[0], "to", end[1:]...), node("Slice", "taken", "waves", "from", "to", "rows"),
		node("MatMul", "projected", "taken", "V"), withInts(node("Transpose", "turned", "projected"), "perm", []int64{1, 0}), node("MatMul", "scores", "h0", "turned"), node("MatMul", "y", "scores", "projected"))
}

// TestWaves: a table of sines and cosines of distances gets rows for further ones on its sides, by the
// formula, and what takes rows from it takes those of the same distances.
func TestWaves(t *testing.T) {
	falling := distanceWaves("waves", 79, func(row int) int { return 39 - row })
	rising := distanceWaves("waves", 79, func(row int) int { return row - 39 })
	for _, c := range []struct {
		name  string
		make  func(*onnx.NewModel)
		first func(row, length int) int // the distance of a row, in the table of a length
		why   string
	}{
		{"pressed together", func(m *onnx.NewModel) {
			skewed(m, floats("waves", []int64{79, 8}, func(i int) float64 { return pressed(i/8-39, i%8) }), []string{"Sub", "middle", "T"}, []string{"Add", "behind", "T"}, integers("middle", 40), integers("behind", 39))
		}, func(row, length int) int { return row - length + 1 }, ""},
		{"from the middle", func(m *onnx.NewModel) {
			skewed(m, falling, []string{"Sub", "middle", "T"}, []string{"Add", "behind", "T"}, integers("middle", 40), integers("behind", 39))
		}, func(row, length int) int { return length - 1 - row }, ""},
		{"rising", func(m *onnx.NewModel) {
			skewed(m, rising, []string{"Sub", "middle", "T"}, []string{"Add", "behind", "T"}, integers("middle", 40), integers("behind", 39))
		}, func(row, length int) int { return row - length + 1 }, ""},
		{"of as many rows as the table has, by the graph itself", func(m *onnx.NewModel) {
			skewed(m, falling, []string{"Sub", "middle", "T"}, []string{"Add", "behind", "T"}, integers("half", 2), integers("first", 0), integers("next", 1), integers("unit", 1))
			n := len(m.Nodes)
			m.Nodes = append(m.Nodes[:n-7:n-7], append([]onnx.NewNode{node("Shape", "size", "waves"), node("Slice", "count", "size", "first", "next"), node("Div", "behind", "count", "half"), node("Add", "middle", "behind", "unit")}, m.Nodes[n-7:]...)...)
		}, func(row, length int) int { return length - 1 - row }, ""},
		{"from the first on", func(m *onnx.NewModel) {
			skewed(m, distanceWaves("waves", 40, func(row int) int { return row }), []string{"Identity", "ahead"}, []string{"Identity", "T"})
		}, func(row, length int) int { return row }, ""},
		{"counted from the end", func(m *onnx.NewModel) {
			skewed(m, falling, []string{"Sub", "middle", "T"}, []string{"Add", "behind", "T"}, integers("middle", -39), integers("behind", -40))
		}, nil, "counted from the end"},
	} {
		t.Run(c.name, func(t *testing.T) {
			of := wave
			if c.name == "pressed together" {
				of = pressed
			}
			var before []byte
			m := built(t, func(n *onnx.NewModel) { c.make(n); before = n.Build() })
			e := m.sites[0].Encoding()
			if e.Capacity != 40 {
				t.Fatalf("%+v: want 40 positions", e)
			}
			_, err := position.Extend(m, position.ExtendOptions{Length: 60})
			if c.why != "" {
				if err == nil || !strings.Contains(err.Error(), c.why) {
					t.Errorf("%v, want it refused: %s", err, c.why)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			p, err := m.Edits()
			if err != nil {
				t.Fatal(err)
			}
			f, err := onnx.NewFile(p.View(0, bytes.NewReader(before)), p.OutputSize(0))
			if err != nil {
				t.Fatal(err)
			}
			after, err := New(f)
			if err != nil {
				t.Fatal(err)
			}
			if n := after.sites[0].Encoding().Capacity; n != 60 {
				t.Errorf("%d positions, want 60", n)
			}
			table := after.graph.File.Graph.Initializer("waves")
			x, err := table.Floats(0, table.Len())
			if err != nil {
				t.Fatal(err)
			}
			for i, v := range x {
				if want := of(c.first(i/8, 60), i%8); math.Abs(v-want) > 1e-6 {
					t.Fatalf("row %d, column %d: %g, want %g", i/8, i%8, v, want)
				}
			}
			for _, length := range []int{7, 40, 60} {
				taken := after.graph.At(length).Main.Value("taken")
				lines := trace.RowsOf(taken, 0)
				for r, line := range lines {
					for k, v := range line {
						if want := of(c.first(r, length), k); math.Abs(v-want) > 1e-6 {
							t.Fatalf("length %d: row %d of %d, column %d: %g, want %g", length, r, len(lines), k, v, want)
						}
					}
				}
			}
		})
	}
}
