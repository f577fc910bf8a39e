package modelpatch

import (
	"context"
	"fmt"

	"github.com/modelpatch/modelpatch/position"
)

// RescaleOptions say how a rotary encoding should turn; see position.Rescale.
type RescaleOptions = position.RescaleOptions

// Rescale changes base and scaling of a model's rotary encodings.
func Rescale(ctx context.Context, path string, o RescaleOptions, open OpenOptions, w WriteOptions) (Result, error) {
	return rescaling(path, o, open, w).run(ctx)
}

func rescaling(path string, o RescaleOptions, open OpenOptions, w WriteOptions) *change {
	c := &change{path: path, open: open, w: w, request: request("rope", o), command: rescaleCommand(o)}
	c.verb = func(m position.Model) (position.Outcome, error) { return position.Rescale(m, o) }
	return c
}

// rescaleCommand says the options as flags.
func rescaleCommand(o RescaleOptions) string {
	out := "rope"
	for _, f := range []struct {
		name  string
		value float64
	}{
		{"base", o.Base}, {"factor", o.Factor}, {"original-length", float64(o.OriginalLength)}, {"low-freq-factor", o.LowFreqFactor},
		{"high-freq-factor", o.HighFreqFactor}, {"beta-fast", o.BetaFast}, {"beta-slow", o.BetaSlow},
		{"attention-factor", o.AttentionFactor}, {"mscale", o.MScale}, {"mscale-all-dim", o.MScaleAllDim}, {"len", float64(o.Length)},
	} {
		if f.name == "factor" && o.Scaling != "" {
			out += " --scaling " + o.Scaling
		}
		if f.value != 0 {
			out += fmt.Sprintf(" --%s %v", f.name, f.value)
		}
	}
	if o.NoTruncate {
		out += " --truncate=false"
	}
	if o.LongFactors != nil {
		out += " --factors FILE"
	}
	if o.Layers != "" {
		out += " --layers " + o.Layers
	}
	return out
}

// OperatorOptions say in which operators rotations are to be; see position.ToOperators.
type OperatorOptions struct{ Set string }

// ToOperators holds a model's rotations in other operators.
func ToOperators(ctx context.Context, path string, o OperatorOptions, open OpenOptions, w WriteOptions) (Result, error) {
	return lowering(path, o, open, w).run(ctx)
}

func lowering(path string, o OperatorOptions, open OpenOptions, w WriteOptions) *change {
	c := &change{path: path, open: open, w: w, request: request("operators", o), command: "rope --to-ops " + o.Set}
	c.verb = func(m position.Model) (position.Outcome, error) { return position.ToOperators(m, o.Set) }
	return c
}
