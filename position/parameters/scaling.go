package parameters

import (
	"strconv"

	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// ScalingNumber is a number of a scaling: its parameter, its field in a report and its words.
type ScalingNumber struct {
	schemes.Parameter
	Label string // beside the number, where each has a line of its own
	Brief string // before the number in an encoding's one line; "": the line has another form for it, or leaves it out

	real  func(*report.Scaling) **report.Number
	whole func(*report.Scaling) **int // instead of real, where numbers are whole
}

// ScalingNumbers are the numbers of a scaling, in the order in which they are printed.
var ScalingNumbers = []ScalingNumber{
	{Parameter: schemes.ParameterFactor, Label: "factor", real: func(s *report.Scaling) **report.Number { return &s.Factor }},
	{Parameter: schemes.ParameterOriginalLength, Label: "original length", whole: func(s *report.Scaling) **int { return &s.OriginalLength }},
	{Parameter: schemes.ParameterAttentionFactor, Label: "attention factor", Brief: "attention factor", real: func(s *report.Scaling) **report.Number { return &s.AttentionFactor }},
	{Parameter: schemes.ParameterBetaFast, Label: "beta fast", real: func(s *report.Scaling) **report.Number { return &s.BetaFast }},
	{Parameter: schemes.ParameterBetaSlow, Label: "beta slow", real: func(s *report.Scaling) **report.Number { return &s.BetaSlow }},
	{Parameter: schemes.ParameterLowFreq, Label: "low frequency factor", Brief: "low_freq_factor", real: func(s *report.Scaling) **report.Number { return &s.LowFreqFactor }},
	{Parameter: schemes.ParameterHighFreq, Label: "high frequency factor", Brief: "high_freq_factor", real: func(s *report.Scaling) **report.Number { return &s.HighFreqFactor }},
}

// Text returns the number in a report, "" if it is not there. Whole numbers have all of their digits, format is for the
// others.
func (n ScalingNumber) Text(s report.Scaling, format func(report.Number) string) string {
	switch {
	case n.whole != nil:
		if v := *n.whole(&s); v != nil && *v != 0 {
			return strconv.Itoa(*v)
		}
	case *n.real(&s) != nil:
		return format(**n.real(&s))
	}
	return ""
}

// put stores the number of a scaling in a report; 0 is not there.
func (n ScalingNumber) put(out *report.Scaling, from schemes.Scaling) {
	if n.whole != nil {
		*n.whole(out) = Positive(int(n.Get(from)))
		return
	}
	*n.real(out) = number(n.Get(from))
}

// take stores the number of a report in a scaling.
func (n ScalingNumber) take(out *schemes.Scaling, from report.Scaling) {
	switch {
	case n.whole == nil:
		n.Set(out, value(*n.real(&from)))
	case *n.whole(&from) != nil:
		n.Set(out, float64(**n.whole(&from)))
	}
}

// scaling returns a scaling in the words of a report; type none is one, too.
func scaling(s schemes.Scaling) *report.Scaling {
	out := &report.Scaling{Type: s.Kind().Name, ShortFactor: report.Numbers(s.ShortFactor), LongFactor: report.Numbers(s.LongFactor)}
	for _, n := range ScalingNumbers {
		n.put(out, s)
	}
	if s.NoTruncate {
		out.Truncate = report.Pointer(false)
	}
	return out
}
