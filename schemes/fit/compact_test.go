package fit

import (
	"math"
	"testing"
)

// compactRows are those of icefall's CompactRelPositionalEncoding.extend_pe, in float32 as there.
type compactRows struct {
	dim    int
	factor float64
	step   int
}

func (r compactRows) Rows() int { return 40 }
func (r compactRows) Cols() int { return r.dim }
func (r compactRows) At(i, c int) float64 {
	f := func(x float64) float64 { return float64(float32(x)) }
	x, root := float64(i*r.step), f(math.Sqrt(float64(r.dim)))
	sign := 1.0
	if x < 0 {
		sign = -1
	}
	pressed := f(root * sign * f(f(math.Log(f(math.Abs(x)+root)))-f(math.Log(root))))
	angle := f(math.Atan(f(pressed / f(r.factor*float64(r.dim)/(2*math.Pi)))))
	switch k := float64(c/2 + 1); {
	case c == r.dim-1:
		return 1
	case c%2 == 0:
		return f(math.Cos(f(k * angle)))
	default:
		return f(math.Sin(f(k * angle)))
	}
}

// coarseRows are rows as a precision stores them.
type coarseRows struct {
	Matrix
	p Precision
}

func (r coarseRows) At(i, c int) float64 { return r.p.Round(r.Matrix.At(i, c)) }

func TestCompact(t *testing.T) {
	for _, r := range []compactRows{{48, 1, 1}, {192, 1, -1}, {16, 3, 1}, {4, 1.5, -1}} {
		got, ok := CompactOf(r, r.step, Float32)
		if !ok || math.Abs(got.LengthFactor-r.factor) > 1e-5*r.factor || got.Dim != r.dim {
			t.Errorf("%+v: %+v, %v", r, got, ok)
			continue
		}
		row := make([]float64, r.dim)
		for _, d := range []int{0, 7, -7, 39} {
			got.Row(d, row)
			for c, x := range row {
				if want := r.At(d*r.step, c); math.Abs(x-want) > compactError*float64(c/2+2) {
					t.Fatalf("%+v: distance %d, column %d: %g, want %g", r, d, c, x, want)
				}
			}
		}
		if _, ok := CompactOf(r, -r.step, Float32); ok {
			t.Errorf("%+v is read the other way as well", r)
		}
	}
	for _, p := range []Precision{Float16, BFloat16} {
		if got, ok := CompactOf(coarseRows{compactRows{48, 1.5, 1}, p}, 1, p); !ok || got.LengthFactor != 1.5 {
			t.Errorf("%s: %+v, %v", p, got, ok)
		}
		if _, ok := CompactOf(coarseRows{compactRows{48, 1.5, 1}, p}, 1, Float32); ok {
			t.Errorf("%s: read as float32", p)
		}
	}
	if _, ok := CompactOf(plainRows{}, 1, Float32); ok {
		t.Error("plain sines are read")
	}
}

// plainRows are sines and cosines of distances as they are.
type plainRows struct{}

func (plainRows) Rows() int { return 8 }
func (plainRows) Cols() int { return 16 }
func (plainRows) At(i, c int) float64 {
	angle := float64(i) * math.Pow(10000, -float64(c/2)/8)
	if c%2 == 0 {
		return math.Cos(angle)
	}
	return math.Sin(angle)
}
