package onnxpos

import (
	"math"
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
	"github.com/modelpatch/modelpatch/schemes/fit"
)

func (r *rotarySite) describeRuntime(e *position.Encoding) {
	use := r.uses[0]
	frequencies, baked := r.frequencies(use)
	if frequencies == nil {
		r.scheme = schemes.Rotary{Scaling: schemes.Scaling{Type: schemes.ScalingCustom}}
		return
	}
	if baked {
		e.Form, e.Beyond, e.Capacity = report.FormBaked, report.BeyondError, r.m.sizes.length
	}
	r.amplitude = 1
	if axis := positionAxis(use.cosValue); axis >= 0 {
		r.amplitude = rowsOf(use.cosValue, axis)[0][0]
	}
	if use.cosValue.Type == onnx.Float16 || use.cosValue.Type == onnx.BFloat16 {
		if math.Abs(r.amplitude-1) < cosTolerance {
			r.amplitude = 1
		}
	}
	result := fit.InverseFrequencies(frequencies, trigPrecision(r.trig), fit.Options{Amplitude: r.amplitude})
	for _, coarse := range []fit.Precision{fit.Float16, fit.BFloat16} { // what exporters folded after it had been rounded
		if result.OK && result.Rotary.Scaling.IsCustom() && rounded(matrix{frequencies}, coarse) {
			result = fit.InverseFrequencies(frequencies, coarse, fit.Options{Amplitude: r.amplitude})
		}
	}
	r.scheme = result.Rotary
	long, original, switched := r.switched(frequencies)
	switch {
	case switched:
		const base = 10000.0 // lists of factors are relative to it (contract of the report)
		r.scheme = schemes.Rotary{Base: base, Dim: 2 * len(frequencies), Scaling: schemes.Scaling{Type: schemes.ScalingLongRoPE, OriginalLength: original,
			AttentionFactor: r.amplitude, ShortFactor: factors(frequencies, base), LongFactor: factors(long, base), Frequencies: frequencies, LongFrequencies: long}}
		result.Residual, result.Also = 0, nil
	case (!result.OK || r.scheme.Scaling.IsCustom()) && r.gridInUse(e, trigPrecision(r.trig)):
		for _, t := range r.trig {
			e.Where = append(e.Where, report.Where{Node: nodeName(t.trig)})
		}
		return
	case !result.OK:
		r.scheme = schemes.Rotary{Dim: 2 * len(frequencies), Scaling: schemes.Scaling{Type: schemes.ScalingCustom, Frequencies: frequencies}}
	}
	if s := &r.scheme.Scaling; s.LongFactor != nil && s.ShortFactor == nil {
		// One list of factors is what the graph computes at every length.
		s.ShortFactor, s.LongFactor = factors(frequencies, r.scheme.Base), nil
	}
	for _, t := range r.trig {
		e.Where = append(e.Where, report.Where{Node: nodeName(t.trig)})
	}
	e.Evidence = append(e.Evidence, report.Evidence{Kind: "fit", Says: "frequencies are " + r.scheme.String(), Residual: residual(result.Residual)})
	for _, also := range result.Also {
		e.Also = append(e.Also, report.Reading{Scheme: also.Name(), Parameters: position.Parameters(also), Why: "it fits as well"})
	}
}

// gridInUse reads the cosines and sines by which an image's patches are turned,
// whatever the graph makes them of.
func (r *rotarySite) gridInUse(e *position.Encoding, p fit.Precision) bool {
	use := r.uses[0]
	axis := positionAxis(use.cosValue)
	if axis < 0 || positionAxis(use.sinValue) != axis {
		return false
	}
	return r.describeGrid(e, matrix(rowsOf(use.cosValue, axis)), matrix(rowsOf(use.sinValue, axis)), p)
}

// trigPrecision is the coarsest storage that the angles of Cos and Sin nodes
// went through.
func trigPrecision(nodes []source) fit.Precision {
	for _, t := range nodes {
		for _, src := range sources(t.scope, t.trig.Input(0)) {
			if c := src.tensor; c != nil && c.Len() > 1 && (c.Type == onnx.Float16 || c.Type == onnx.BFloat16) {
				return precision(c.Type)
			}
		}
		if v := t.scope.Value(t.trig.Input(0)); v.Type == onnx.Float16 || v.Type == onnx.BFloat16 {
			return precision(v.Type)
		}
	}
	return precision(onnx.Float)
}

// switched finds a choice between two lists of frequencies by the length of the
// input, as exporters keep LongRoPE's (facts/ONNX-PATTERNS §4): the list that
// is not f, and the longest input for f.
func (r *rotarySite) switched(f []float64) (long []float64, original int, ok bool) {
	for _, t := range r.trig {
		n, s := upstream(t.scope, t.trig.Input(0), "Where")
		if n == nil {
			continue
		}
		var lists [][]float64
		for _, name := range n.Inputs[1:] {
			for _, src := range sources(s, name) {
				if c := src.tensor; c != nil && c.Type.IsFloat() && int(c.Len()) == len(f) {
					if x, err := c.Floats(0, c.Len()); err == nil {
						lists = append(lists, x)
					}
				}
			}
		}
		if len(lists) != 2 || slices.Equal(lists[0], lists[1]) {
			continue
		}
		long = lists[0]
		if off := maxOff(lists[0], f); off < maxOff(lists[1], f) {
			long = lists[1]
		}
		if original, ok = threshold(s, n.Input(0)); ok {
			return long, original, true
		}
	}
	return nil, 0, false
}

// maxOff is the largest difference of two lists, relative to the second.
func maxOff(a, b []float64) (off float64) {
	for i := range a {
		off = max(off, math.Abs(a[i]-b[i])/math.Abs(b[i]))
	}
	return off
}

// upstream finds the nearest node of an operator behind a value.
func upstream(s *eval.Scope, name, op string) (*onnx.Node, *eval.Scope) {
	seen := map[string]bool{}
	queue := []string{name}
	for i := 0; i < len(queue) && i < maxTrace; i++ {
		n, at := s.Find(queue[i])
		if n == nil || at != s || seen[queue[i]] {
			continue
		}
		seen[queue[i]] = true
		if n.Op == op && len(n.Inputs) > 2 {
			return n, at
		}
		queue = append(queue, dataInputs(n)...)
	}
	return nil, nil
}

// threshold reads the constant that a comparison sets a length against: the
// longest length on the shorter side.
func threshold(s *eval.Scope, name string) (int, bool) {
	n, s := s.Find(name)
	for depth := 0; n != nil && depth < 8; depth++ {
		switch n.Op {
		case "Greater", "LessOrEqual", "Less", "GreaterOrEqual":
			for i := range 2 {
				t := s.Tensor(n.Input(i))
				if t == nil || t.Len() != 1 {
					continue
				}
				x, ok := s.Value(n.Input(i)).Scalar()
				open := (n.Op == "GreaterOrEqual" || n.Op == "Less") == (i == 1) // the constant itself is beyond
				if open {
					x--
				}
				return int(x), ok && x > 0
			}
			return 0, false
		case "Cast", "Not", "Unsqueeze", "Squeeze", "Reshape", "Expand", "Identity":
			n, s = s.Find(n.Input(0))
		default:
			return 0, false
		}
	}
	return 0, false
}

// frequencies reads the inverse frequencies off the argument of Cos: what it
// grows by from one position to the next. baked tells that the argument is a
// constant of one length.
func (r *rotarySite) frequencies(u *rotation) (f []float64, baked bool) {
	for _, t := range r.trig {
		v := t.scope.Value(t.trig.Input(0))
		if !v.Known() || v.Floats == nil {
			continue
		}
		axis := positionAxis(v)
		if axis < 0 {
			continue
		}
		rows := rowsOf(v, axis)
		f = make([]float64, len(rows[0]))
		for i := range f {
			f[i] = rows[1][i] - rows[0][i]
		}
		n, _ := t.scope.Find(t.trig.Input(0))
		return undouble(f), n == nil || n.Op == "Constant"
	}
	return nil, false
}

// undouble removes the second mention of each frequency.
func undouble(f []float64) []float64 {
	n := len(f) / 2
	if len(f)%2 != 0 || n == 0 {
		return f
	}
	if slices.Equal(f[:n], f[n:]) {
		return f[:n]
	}
	var out []float64
	for i := 0; i < len(f); i += 2 {
		if f[i] != f[i+1] {
			return f
		}
		out = append(out, f[i])
	}
	return out
}
