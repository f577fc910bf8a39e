package modelpatch

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/modelpatch/modelpatch/position"
)

// RescaleOptions say how a rotary encoding should turn; see position.Rescale.
type RescaleOptions = position.RescaleOptions

// Rescale changes base and scaling of a model's rotary encodings.
func Rescale(ctx context.Context, path string, o RescaleOptions, open OpenOptions, w WriteOptions) (Result, error) {
	return rescaling(path, o, open, w).run(ctx)
}

// LikeModel sets base and scaling to those of another model, of either format; see
// position.RescaleOptions.Like. The plan keeps the numbers, and the other file's name.
func LikeModel(ctx context.Context, path string, o *RescaleOptions, open OpenOptions) (err error) {
	m, err := OpenContext(ctx, path, open)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	if err := o.Like(m); err != nil {
		if lost := ReadError(m); lost != nil {
			return lost
		}
		if is[*position.Refusal](err) {
			return &refused{path, err}
		}
		return err
	}
	o.From = filepath.Base(ShownPath(path))
	return ReadError(m)
}

func rescaling(path string, o RescaleOptions, open OpenOptions, w WriteOptions) *change {
	c := &change{path: path, open: open, w: w, request: request("rope", o), command: rescaleCommand(o)}
	c.verb = func(m position.Model) (position.Outcome, error) { return position.Rescale(m, o) }
	c.configure = func(length int) {
		o.ConfiguredLength = length
		c.request = request("rope", o)
	}
	c.states = o.Length
	return c
}

// rescaleCommand says the options as flags.
func rescaleCommand(o RescaleOptions) string {
	out := "rope"
	if o.From != "" { // which says the numbers, but for those given beside it
		out += " --like " + o.From
		o = RescaleOptions{Length: o.Length, OriginalLength: o.OriginalLength, Layers: o.Layers, As: o.As}
	}
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
	if o.Use != "" {
		out += " --use " + o.Use
	}
	if o.Layers != "" {
		out += " --layers " + o.Layers
	}
	if o.As != "" {
		out += " --as " + o.As
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
