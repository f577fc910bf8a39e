package probe

import (
	"math"
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
)

// Fill evaluates the graph with other numbers in the place of tables that hold zeros alone, as they were made before any training: which row a
// position gets shows with no zeros. Nothing that is told of their numbers is told of these.
func (p *Probe) Fill(tables []*onnx.Tensor) {
	filled := map[*onnx.Tensor]eval.Pattern{}
	for _, t := range tables {
		if t.Len() > 0 && t.Len() <= maxInputs && p.isZero(t) {
			filled[t] = noise
		}
	}
	if len(filled) > 0 {
		p.filled, p.first, p.probes = filled, nil, nil
		p.Eval = p.Evaluate(p.Sizes)
	}
}

// isZero reports whether all numbers of a constant are zero, and none is the −0 that tables are emptied with (rows.Nothing).
func (p *Probe) isZero(t *onnx.Tensor) bool {
	p.SpendElements(int(t.Len()))
	x, err := t.Floats(0, t.Len())
	return err == nil && !slices.ContainsFunc(x, func(v float64) bool { return v != 0 || math.Signbit(v) })
}

// IsFilled reports whether a constant is a table that holds zeros alone.
func (p *Probe) IsFilled(t *onnx.Tensor) bool { return p.filled[t] != nil }

// Filled are the names of the tables that hold zeros alone.
func (p *Probe) Filled() (out []string) {
	for t := range p.filled {
		out = append(out, p.Where(t).Tensor)
	}
	return out
}

// noise gives numbers between −1 and 1 that no formula of positions gives: places mixed as SplitMix64 mixes its states (Steele, Lea and Flood,
// "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014, figure 16).
func noise(i int64) float64 {
	z := uint64(i+1) * 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return float64(int64(z^z>>31)>>11) / (1 << 52)
}
