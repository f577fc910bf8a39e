package page

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/modelpatch/modelpatch/picture/figure"
	"github.com/modelpatch/modelpatch/report"
)

// Parameters are a scheme's parameters as labels and values, in the order of the
// report; what does not apply is left out.
func Parameters(p report.Parameters) (out [][2]string) {
	whole := func(label string, n *int) {
		if n != nil {
			out = append(out, [2]string{label, fmt.Sprint(*n)})
		}
	}
	number := func(label string, n *report.Number) {
		if n != nil {
			out = append(out, [2]string{label, figure.Number(float64(*n))})
		}
	}
	text := func(label, s string) {
		if s != "" {
			out = append(out, [2]string{label, s})
		}
	}
	whole("rows", p.Rows)
	whole("dim", p.Dim)
	whole("offset", p.Offset)
	text("stored as", p.Dtype)
	text("grid", sizes(p.Grid))
	whole("prefix", p.Prefix)
	number("base", p.Base)
	whole("rotary dim", p.RotaryDim)
	whole("head size", p.HeadDim)
	text("layout", p.Layout)
	text("denominator", p.Denominator)
	number("amplitude", p.Amplitude)
	text("sections", sizes(p.Sections))
	if s := p.Scaling; s != nil {
		text("scaling", s.Type)
		number("factor", s.Factor)
		whole("original length", s.OriginalLength)
		number("attention factor", s.AttentionFactor)
		number("beta fast", s.BetaFast)
		number("beta slow", s.BetaSlow)
		number("low frequency factor", s.LowFreqFactor)
		number("high frequency factor", s.HighFreqFactor)
	}
	whole("heads", p.Heads)
	number("max bias", p.MaxBias)
	whole("buckets", p.Buckets)
	whole("max distance", p.MaxDistance)
	text("window", sizes(p.Window))
	text("order", p.Order)
	return out
}

// sizes are the sides of a grid or a window.
func sizes(n []int) string { return joined(n, "×") }

// joined are whole numbers with a word between them.
func joined(n []int, by string) string {
	var parts []string
	for _, v := range n {
		parts = append(parts, strconv.Itoa(v))
	}
	return strings.Join(parts, by)
}
