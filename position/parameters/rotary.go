package parameters

import (
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// Rotary reads a rotary encoding from a report's parameters. What they do not
// say is as in like.
func Rotary(p report.Parameters, like schemes.Rotary) (schemes.Rotary, error) {
	r := like
	r.Scaling = schemes.Scaling{}
	if p.Base != nil {
		r.Base = float64(*p.Base)
	}
	if p.RotaryDim != nil {
		r.Dim = *p.RotaryDim
	}
	if s := p.Scaling; s != nil {
		r.Scaling = schemes.Scaling{Type: s.Type, ShortFactor: values(s.ShortFactor), LongFactor: values(s.LongFactor)}
		for _, n := range ScalingNumbers {
			n.take(&r.Scaling, *s)
		}
		r.Scaling.NoTruncate = s.Truncate != nil && !*s.Truncate
	}
	r.Scaling.Rotated = like.Scaling.Rotated // not among the parameters
	return r, r.Scaling.Known()
}

func value(n *report.Number) float64 {
	if n == nil {
		return 0
	}
	return float64(*n)
}

func values(list []report.Number) []float64 {
	var out []float64
	for _, n := range list {
		out = append(out, float64(n))
	}
	return out
}
