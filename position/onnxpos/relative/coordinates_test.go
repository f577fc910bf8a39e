package relative

import (
	"bytes"
	"math"
	"testing"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/schemes"
)

// network is a bias among the places of a window of 3×3 that two layers make of distances (Liu et al. 2022, §3.3), which are measured
// by the slope of a spacing; where first is true the first layer stands in the file as numbers.
type network struct {
	slope float64
	first bool
	pairs bool // a row for each pair of places, and not for each pair of distances
	turns bool // distances are of keys from queries
	class bool // a token stands before the places, whose biases are 0
}

const hidden = 6

func (n network) coordinate(d float64) float64 {
	if n.turns {
		d = -d
	}
	return math.Copysign(math.Log1p(n.slope*math.Abs(d))/math.Log(9), d)
}

func weight(i, j int) float64 { return math.Sin(float64(3*i+7*j+1)) / 2 }

// layer is the first one, before its ReLU.
func (n network) layer(y, x float64, unit int) float64 {
	return n.coordinate(y)*weight(0, unit) + n.coordinate(x)*weight(1, unit) + float64(unit)/10
}

func (n network) bias(y, x float64) float64 {
	sum := 0.0
	for unit := range hidden {
		sum += max(n.layer(y, x, unit), 0) * weight(unit, 5)
	}
	return 16 / (1 + math.Exp(-sum))
}

func numbers(name string, at func(i int) float64, dims ...int64) onnx.NewTensor {
	size := int64(1)
	for _, d := range dims {
		size *= d
	}
	x := make([]float64, size)
	for i := range x {
		x[i] = at(i)
	}
	raw, _ := onnx.EncodeFloats(onnx.Float, x, nil)
	return onnx.NewTensor{Name: name, Type: onnx.Float, Dims: dims, Raw: raw}
}

func whole(name string, v ...int64) onnx.NewTensor {
	raw, _ := onnx.EncodeInts(onnx.Int64, v, nil)
	return onnx.NewTensor{Name: name, Type: onnx.Int64, Dims: []int64{int64(len(v))}, Raw: raw}
}

func (n network) build(t *testing.T) *eval.Evaluator {
	index := schemes.WindowIndex(3, 3, false)
	var flat []int64
	for _, row := range index {
		for _, place := range row {
			flat = append(flat, int64(place))
		}
	}
	rows, of := int64(25), func(i int) int { return i }
	if n.pairs {
		rows, of = 81, func(i int) int { return int(flat[i]) }
	}
	distance := func(row int) (y, x float64) { return float64(of(row)/5 - 2), float64(of(row)%5 - 2) }
	m := onnx.NewModel{Initializers: []onnx.NewTensor{
		numbers("w2", func(i int) float64 { return weight(i, 5) }, hidden, 1), numbers("b1", func(i int) float64 { return float64(i) / 10 }, hidden), numbers("w1", func(i int) float64 { return weight(i/hidden, i%hidden) }, 2, hidden),
		numbers("16", func(int) float64 { return 16 }, 1), whole("flat", -1), whole("index", flat...), whole("square", 1, 1, 9, 9)}}
	step := func(op, out string, in ...string) {
		m.Nodes = append(m.Nodes, onnx.NewNode{Op: op, Inputs: in, Outputs: []string{out}})
	}
	if n.first {
		m.Initializers = append(m.Initializers, numbers("layer", func(i int) float64 { y, x := distance(i / hidden); return n.layer(y, x, i%hidden) }, rows, hidden))
	} else {
		m.Initializers = append(m.Initializers, numbers("coordinates", func(i int) float64 {
			y, x := distance(i / 2)
			return n.coordinate([]float64{y, x}[i%2])
		}, rows, 2))
		step("MatMul", "product", "coordinates", "w1")
		step("Add", "layer", "product", "b1")
	}
	step("Relu", "on", "layer")
	step("MatMul", "out", "on", "w2")
	step("Reshape", "line", "out", "flat")
	picked := "line"
	if !n.pairs {
		step("Gather", "picked", "line", "index")
		picked = "picked"
	}
	step("Reshape", "matrix", picked, "square")
	step("Sigmoid", "squashed", "matrix")
	if n.class {
		m.Initializers = append(m.Initializers, whole("pads", 0, 0, 1, 1, 0, 0, 0, 0))
		step("Mul", "places", "squashed", "16")
		step("Pad", "bias", "places", "pads")
	} else {
		step("Mul", "bias", "squashed", "16")
	}
	m.Outputs = []onnx.NewValue{{Name: "bias", Type: onnx.Float, Dims: []int64{1, 1, 9, 9}}}
	raw := m.Build()
	f, err := onnx.NewFile(bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		t.Fatal(err)
	}
	e := eval.New(f, nil)
	e.Run()
	return e
}

// TestCoordinates asks networks for the biases of farther distances than those that are in the file.
func TestCoordinates(t *testing.T) {
	for _, n := range []network{{slope: 4}, {slope: 1.5, first: true}, {slope: 1, pairs: true}, {slope: 0.3, turns: true}, {slope: 4, pairs: true, first: true, turns: true}, {slope: 1, class: true}} {
		e := n.build(t)
		b := &bias{scope: e.Main, node: e.Main.Graph.Nodes[len(e.Main.Graph.Nodes)-1], name: "bias", value: e.Main.Value("bias")}
		c := coordinatesOf(e, e.Main, "bias", b.tableOf(frame{[2]int{3, 3}, 1}), [2]int{3, 3})
		if c == nil {
			t.Errorf("%+v: no coordinates are found", n)
			continue
		}
		if own := c.byOwnSide([2]int{3, 3}); own != (n.slope == 4) {
			t.Errorf("%+v: measured by the window's own side: %v", n, own)
		}
		for _, c.squeezed = range []bool{false, true} {
			for _, to := range [][2]int{{7, 5}, {3, 3}, {2, 3}, {9, 12}} {
				table, err := c.resized([2]int{3, 3}, to)
				if err != nil {
					t.Fatal(err)
				}
				if want := schemes.WindowRows(to[0], to[1], n.class); len(table) != want {
					t.Fatalf("%+v, %v: %d rows, want %d", n, to, len(table), want)
				}
				for i, row := range table {
					if i >= schemes.WindowRows(to[0], to[1], false) {
						if row[0] != 0 {
							t.Errorf("%+v, %v: the token has a bias of %g", n, to, row[0])
						}
						continue
					}
					y, x := float64(i/(2*to[1]-1)-to[0]+1), float64(i%(2*to[1]-1)-to[1]+1)
					if c.squeezed {
						y, x = y*2/float64(to[0]-1), x*2/float64(to[1]-1)
					}
					if want := n.bias(y, x); math.Abs(row[0]-want) > 1e-4 {
						t.Fatalf("%+v, %v, squeezed %v: distance %g, %g has %g, want %g", n, to, c.squeezed, y, x, row[0], want)
					}
				}
			}
		}
	}
	e := network{slope: 4}.build(t)
	b := &bias{scope: e.Main, node: e.Main.Graph.Nodes[0], name: "bias", value: e.Main.Value("bias")}
	if c := coordinatesOf(e, e.Main, "bias", b.tableOf(frame{[2]int{1, 9}, 1}), [2]int{1, 9}); c != nil {
		t.Error("coordinates of a window that is none")
	}
}
