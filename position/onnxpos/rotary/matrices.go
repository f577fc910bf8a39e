package rotary

import (
	"cmp"
	"math"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/axes"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position/onnxpos/rows"
	"github.com/modelpatch/modelpatch/position/onnxpos/site"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
	"github.com/modelpatch/modelpatch/schemes/fit"
)

// PairTurns is a rotation kept as matrices: cosines and sines of pairs, a row a
// position.
type PairTurns struct {
	Cos, Sin rows.Matrix
	Layout   string // one of schemes
}

// TurnsOf reads a matrix for each place along an axis as a rotation of pairs of
// elements: 2×2 matrices of a pair each, or whole ones that turn each pair of
// neighbours, or each element with that half the width away.
func TurnsOf(v *eval.Value, axis int) (out PairTurns, ok bool) {
	k := len(v.Shape)
	width := v.Shape[k-1]
	if k < 3 || v.Shape[k-2] != width || axis >= k-2 || width < 2 || width%2 != 0 {
		return out, false
	}
	stride, pairs := onnx.Size(v.Shape[axis+1:]), 1 // of the axis; pairs stand on the axis before the matrices
	if width == 2 && axis < k-3 {
		pairs = v.Shape[k-3]
	}
	if width > 2 {
		pairs = width / 2
	}
	for _, layout := range []string{schemes.LayoutInterleaved, schemes.LayoutHalf} {
		at := func(p, i int) (cos, sin float64, ok bool) {
			base, a, b := p*stride, 2*i, 2*i+1
			if width == 2 {
				base, a, b = base+4*i, 0, 1
			} else if layout == schemes.LayoutHalf {
				a, b = i, i+width/2
			}
			m := func(r, c int) float64 { return v.Number(base + r*width + c) }
			if !near(m(a, a), m(b, b)) || !near(m(a, b), -m(b, a)) || !near(math.Hypot(m(a, a), m(a, b)), 1) {
				return 0, 0, false
			}
			return m(a, a), m(a, b), true
		}
		if out.Cos, out.Sin, ok = turningRows(v.Shape[axis], pairs, at); ok {
			out.Layout = layout
			return out, true
		}
	}
	return out, false
}

// turnTolerance is how far entries of a rotation may be off: storage in bfloat16 is
// the coarsest.
const turnTolerance = 1e-2

// near reports whether entries of a rotation agree.
func near(a, b float64) bool { return math.Abs(a-b) <= turnTolerance }

// turningRows collects a rotation's cosines and sines, the sine of the second row
// positive.
func turningRows(positions, pairs int, at func(p, i int) (cos, sin float64, ok bool)) (cos, sin rows.Matrix, ok bool) {
	for p := range positions {
		c, s := make([]float64, pairs), make([]float64, pairs)
		for i := range pairs {
			if c[i], s[i], ok = at(p, i); !ok {
				return nil, nil, false
			}
		}
		cos, sin = append(cos, c), append(sin, s)
	}
	if len(sin) > 1 && sin[1][0] < 0 {
		for _, row := range sin {
			for i := range row {
				row[i] = -row[i]
			}
		}
	}
	return cos, sin, positions > 1 && pairs > 0
}

// Scheme is the rotation by the formula that explains it, with the residual of the fit, or a custom one; x is where its matrices meet the data.
func (t PairTurns) Scheme(x axes.Meeting) (r schemes.Rotary, residual *report.Number) {
	known := x.Scope.Value(x.Known)
	r = schemes.Rotary{Dim: 2 * t.Cos.Cols(), Scaling: schemes.Scaling{Type: schemes.ScalingCustom}}
	if found, ok := fit.RotaryCache(t.Cos, t.Sin, rows.Precision(known.Type)); ok {
		r, residual = found.Rotary, site.Residual(found.Residual)
		r.Scaling = r.Scaling.WithAttentionFactor(r.Scaling.AttentionFactor)
	}
	r.Layout = t.Layout
	if k := len(known.Shape); k > 0 && known.Shape[k-1] == 2 && len(x.Node.Inputs) == 2 {
		if layout, ok := PairLayout(x.Scope, x.Node, x.Input, 1-x.Input); ok {
			r.Layout = layout
		}
	}
	r.HeadDim = cmp.Or(r.HeadDim, r.Dim)
	return r, residual
}
