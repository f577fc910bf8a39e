// Package parameters says what schemes are in the words of the report contract: each number under the name that the
// field has for it.
package parameters

import (
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// Attending says what attentions make of positions beside the encoding.
func Attending(a schemes.Attending, p *report.Parameters) {
	Window(a.Window, p)
	p.WindowLayers, p.Unrotated, p.Sinks = a.WindowLayers, a.Unturned, a.Sinks
	if t := a.Temperature; !t.IsNone() {
		p.Temperature = &report.Temperature{Scale: report.Number(t.Scale), Length: report.Number(t.Length), Logarithm: t.Logarithm, Layers: a.HotLayers}
	}
}

// Window says a window in the words of the report contract.
func Window(w schemes.SlidingWindow, p *report.Parameters) {
	if w.Positions > 0 {
		p.Window, p.WindowSinks = []int{w.Positions}, Positive(w.Sinks)
	}
	p.Chunk = Positive(w.Chunk)
}

// Of says a scheme's parameters in the words of the report contract.
func Of(s schemes.Scheme) report.Parameters {
	switch s := any(s).(type) {
	case schemes.Rotary:
		return rotary(s)
	case schemes.Sinusoid:
		return sinusoid(s)
	case schemes.Learned:
		return report.Parameters{Rows: Positive(s.Rows), Dim: Positive(s.Dim), Offset: report.Pointer(s.Offset), Grid: s.Grid, Prefix: prefix(s)}
	case schemes.ALiBi:
		return report.Parameters{Heads: Positive(s.Heads), MaxBias: number(s.MaxBias), Slopes: report.Numbers(s.Slopes)}
	case schemes.Buckets:
		return report.Parameters{Buckets: Positive(s.Buckets), MaxDistance: Positive(s.MaxDistance),
			Bidirectional: report.Pointer(s.Bidirectional), Heads: Positive(s.Heads)}
	case schemes.Other:
		return report.Parameters{Rows: Positive(s.Rows), Dim: Positive(s.Dim), Base: number(s.Base), Heads: Positive(s.Heads),
			Window: s.Window, Buckets: Positive(s.Buckets), MaxDistance: Positive(s.MaxDistance), Order: s.Order, Bidirectional: s.Bidirectional}
	}
	return report.Parameters{}
}

func rotary(s schemes.Rotary) report.Parameters {
	p := report.Parameters{Base: number(s.Base), RotaryDim: Positive(s.Dim), HeadDim: Positive(s.HeadDim), Layout: s.Layout}
	if !s.Given {
		p.Scaling = scaling(s.Scaling)
	}
	p.Grid = s.Grid
	if s.BaseAssumed {
		p.Base = nil
	}
	if s.Sections != nil {
		p.Sections = s.Sections
		if n := len(s.Sections); s.InterleavedSections && n > 3 && s.Sections[n-1] == 0 {
			p.Sections = s.Sections[:n-1] // the fourth has what the others leave
		}
		p.InterleavedSections = report.Pointer(s.InterleavedSections)
	}
	return p
}

func sinusoid(s schemes.Sinusoid) report.Parameters {
	p := report.Parameters{Rows: Positive(s.Rows), Dim: Positive(s.Dim), Offset: report.Pointer(s.Offset), Base: number(s.Base),
		Layout: s.Layout, Denominator: s.Denominator, Grid: s.Grid}
	if s.Denominator == "" {
		p.Denominator = schemes.DenominatorHalf
	}
	p.Amplitude = number(s.Amplitude)
	if s.Amplitude == 0 {
		p.Amplitude = number(1)
	}
	return p
}

// Times says an amplitude with which the graph multiplies rows behind their table; 0 is none.
func Times(factor float64, p *report.Parameters) {
	if p.Amplitude != nil && factor != 0 {
		*p.Amplitude *= report.Number(factor)
	}
}

// prefix is said for images only.
func prefix(s schemes.Learned) *int {
	if s.Grid == nil {
		return nil
	}
	return report.Pointer(s.Prefix)
}

// Positive is nil for 0, which means that a parameter does not apply.
func Positive(n int) *int {
	if n == 0 {
		return nil
	}
	return report.Pointer(n)
}

// number is nil for 0, which means that a parameter does not apply.
func number(v float64) *report.Number {
	if v == 0 {
		return nil
	}
	return report.Pointer(report.Number(v))
}
