package position

import (
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// Report says the encoding in the words of the report contract.
func (e Encoding) Report(id string) report.Encoding {
	out := report.Encoding{
		ID: id, Scheme: report.SchemeUnknown, Beyond: e.Beyond, Layers: report.Layers(e.Layers),
		Parameters: e.parameters(), Where: e.Where, Evidence: e.Evidence, Also: e.Also,
	}
	if e.Scheme != nil {
		out.Scheme = e.Scheme.Name()
	}
	if e.Form != "" {
		out.Form = report.Pointer(e.Form)
	}
	if e.Capacity > 0 {
		out.Capacity = report.Pointer(e.Capacity)
	}
	if out.Beyond == "" {
		out.Beyond = report.BeyondUnknown
	}
	if out.Where == nil {
		out.Where = []report.Where{}
	}
	if out.Evidence == nil {
		out.Evidence = []report.Evidence{}
	}
	if out.Also == nil {
		out.Also = []report.Reading{}
	}
	return out
}

// parameters are the scheme's parameters, with what the encoding adds to them:
// the storage type, the rows of a cache.
func (e Encoding) parameters() report.Parameters {
	p := Parameters(e.Scheme)
	p.Dtype, p.Defaults = e.Dtype, e.Defaults
	attending(e.Attending, &p)
	if _, rotary := any(e.Scheme).(schemes.Rotary); rotary {
		if p.Rows = positive(e.Rows); e.Form == report.FormCache {
			p.Rows = positive(max(e.Rows, e.Capacity))
		}
	}
	return p
}

// attending says what attentions make of positions beside the encoding.
func attending(a schemes.Attending, p *report.Parameters) {
	if a.Window > 0 {
		p.Window = []int{a.Window}
	}
	p.WindowLayers, p.Chunk, p.Unrotated, p.Sinks = a.WindowLayers, positive(a.Chunk), a.Unturned, a.Sinks
	if t := a.Temperature; !t.IsNone() {
		p.Temperature = &report.Temperature{Scale: report.Number(t.Scale), Length: report.Number(t.Length), Layers: a.HotLayers}
	}
}

// Parameters says a scheme's parameters in the words of the report contract.
func Parameters(s schemes.Scheme) report.Parameters {
	switch s := any(s).(type) {
	case schemes.Rotary:
		return rotaryParameters(s)
	case schemes.Sinusoid:
		return sinusoidParameters(s)
	case schemes.Learned:
		return report.Parameters{Rows: positive(s.Rows), Dim: positive(s.Dim), Offset: report.Pointer(s.Offset), Grid: s.Grid, Prefix: prefix(s)}
	case schemes.ALiBi:
		return report.Parameters{Heads: positive(s.Heads), MaxBias: number(s.MaxBias), Slopes: report.Numbers(s.Slopes)}
	case schemes.Buckets:
		return report.Parameters{Buckets: positive(s.Buckets), MaxDistance: positive(s.MaxDistance),
			Bidirectional: report.Pointer(s.Bidirectional), Heads: positive(s.Heads)}
	case schemes.Other:
		return report.Parameters{Rows: positive(s.Rows), Dim: positive(s.Dim), Base: number(s.Base), Heads: positive(s.Heads),
			Window: s.Window, Buckets: positive(s.Buckets), MaxDistance: positive(s.MaxDistance), Order: s.Order}
	}
	return report.Parameters{}
}

func rotaryParameters(s schemes.Rotary) report.Parameters {
	p := report.Parameters{Base: number(s.Base), RotaryDim: positive(s.Dim), HeadDim: positive(s.HeadDim), Layout: s.Layout, Scaling: scaling(s.Scaling)}
	p.Grid = s.Grid
	if s.BaseAssumed {
		p.Base = nil
	}
	if s.Sections != nil {
		p.Sections = s.Sections
		p.InterleavedSections = report.Pointer(s.InterleavedSections)
	}
	return p
}

// scaling says how frequencies were changed; type none is said, too.
func scaling(s schemes.Scaling) *report.Scaling {
	out := &report.Scaling{Type: s.Kind().Name, Factor: number(s.Factor), OriginalLength: positive(s.OriginalLength),
		AttentionFactor: number(s.AttentionFactor), BetaFast: number(s.BetaFast), BetaSlow: number(s.BetaSlow),
		LowFreqFactor: number(s.LowFreqFactor), HighFreqFactor: number(s.HighFreqFactor),
		ShortFactor: report.Numbers(s.ShortFactor), LongFactor: report.Numbers(s.LongFactor)}
	if s.NoTruncate {
		out.Truncate = report.Pointer(false)
	}
	return out
}

func sinusoidParameters(s schemes.Sinusoid) report.Parameters {
	p := report.Parameters{Rows: positive(s.Rows), Dim: positive(s.Dim), Offset: report.Pointer(s.Offset), Base: number(s.Base),
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

// prefix is said for images only.
func prefix(s schemes.Learned) *int {
	if s.Grid == nil {
		return nil
	}
	return report.Pointer(s.Prefix)
}

// positive is nil for 0, which means that a parameter does not apply.
func positive(n int) *int {
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

// EncodingName is the field's name for a scheme, as messages begin with it.
func EncodingName(s schemes.Scheme) string { return report.EncodingName(s.Name()) }
