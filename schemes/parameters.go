package schemes

// Parameter is one number of a scaling. 0 stands for not given.
type Parameter struct {
	Name    string  // as flags have it
	Default float64 // that is written down where nothing is given; 0: none
	Needed  bool    // there is no scaling without it, and no default
	Get     func(Scaling) float64
	Set     func(*Scaling, float64)
}

// Parameters of scaling types.
var (
	ParameterFactor = Parameter{Name: "factor",
		Get: func(s Scaling) float64 { return s.Factor }, Set: func(s *Scaling, v float64) { s.Factor = v }}
	ParameterAttentionFactor = Parameter{Name: "attention-factor",
		Get: func(s Scaling) float64 { return s.AttentionFactor }, Set: func(s *Scaling, v float64) { s.AttentionFactor = v }}
	ParameterOriginalLength = Parameter{Name: "original-length", Needed: true,
		Get: func(s Scaling) float64 { return float64(s.OriginalLength) }, Set: func(s *Scaling, v float64) { s.OriginalLength = int(v) }}
	ParameterBetaFast = Parameter{Name: "beta-fast",
		Get: func(s Scaling) float64 { return s.BetaFast }, Set: func(s *Scaling, v float64) { s.BetaFast = v }}
	ParameterBetaSlow = Parameter{Name: "beta-slow",
		Get: func(s Scaling) float64 { return s.BetaSlow }, Set: func(s *Scaling, v float64) { s.BetaSlow = v }}
	ParameterNoTruncate = Parameter{Name: "no-truncate",
		Get: func(s Scaling) float64 {
			if s.NoTruncate {
				return 1
			}
			return 0
		}, Set: func(s *Scaling, v float64) { s.NoTruncate = v != 0 }}
	ParameterLowFreq = Parameter{Name: "low-freq-factor",
		Get: func(s Scaling) float64 { return s.LowFreqFactor }, Set: func(s *Scaling, v float64) { s.LowFreqFactor = v }}
	ParameterHighFreq = Parameter{Name: "high-freq-factor",
		Get: func(s Scaling) float64 { return s.HighFreqFactor }, Set: func(s *Scaling, v float64) { s.HighFreqFactor = v }}
)

// ScalingNumbers are all that are numbers, in the order in which commands are told.
var ScalingNumbers = []Parameter{
	ParameterFactor, ParameterOriginalLength, ParameterLowFreq, ParameterHighFreq, ParameterBetaFast, ParameterBetaSlow, ParameterAttentionFactor,
}

// ScalingParameters are those that some types read and others do not, in the order of the flags.
var ScalingParameters = []Parameter{
	ParameterOriginalLength, ParameterBetaFast, ParameterBetaSlow, ParameterNoTruncate, ParameterLowFreq, ParameterHighFreq,
}

// with is a parameter that has a default of its own.
func (p Parameter) with(value float64) Parameter {
	p.Default = value
	return p
}
