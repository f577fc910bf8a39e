package change

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/modelpatch/modelpatch/internal/source"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/schemes"
)

// Rescale changes base and scaling of a model's rotary encodings; see [position.Rescale].
var Rescale = newVerb("rope", func(o position.RescaleOptions) *Change {
	c := &Change{command: rescaleCommand(o), states: o.Length}
	c.decide = func(m position.Model) (position.Outcome, error) { return position.Rescale(m, o) }
	c.configure = func(length int) any {
		o.ConfiguredLength = length
		return o
	}
	return c
})

// LikeModel sets base and scaling to those of another model, of either format; see
// position.RescaleOptions.Like. The plan keeps the numbers, and the other file's name.
func LikeModel(ctx context.Context, path string, o *position.RescaleOptions, open source.Options) (err error) {
	m, err := source.Open(ctx, path, open)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	if err := o.Like(m); err != nil {
		if lost := source.ReadError(m); lost != nil {
			return lost
		}
		if is[*position.Refusal](err) {
			return &refused{path, err}
		}
		return err
	}
	o.From = filepath.Base(source.ShownPath(path))
	return source.ReadError(m)
}

// rescaleCommand says the options as flags.
func rescaleCommand(o position.RescaleOptions) string {
	out := "rope"
	if o.From != "" { // which says the numbers, but for those given beside it
		out += " --like " + o.From
		o = position.RescaleOptions{Length: o.Length, OriginalLength: o.OriginalLength, Layers: o.Layers, As: o.As}
	}
	flag := func(name string, value float64) {
		if value != 0 {
			out += fmt.Sprintf(" --%s %v", name, value)
		}
	}
	flag("base", o.Base)
	if o.Scaling != "" {
		out += " --scaling " + o.Scaling
	}
	for _, p := range schemes.ScalingNumbers {
		flag(p.Name, p.Get(o.Parameters()))
	}
	flag("mscale", o.MScale)
	flag("mscale-all-dim", o.MScaleAllDim)
	flag("len", float64(o.Length))
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

// OperatorOptions say in which operators rotations are to be; see [position.ToOperators].
type OperatorOptions struct{ Set string }

// ToOperators holds a model's rotations in other operators; see [position.ToOperators].
var ToOperators = newVerb("operators", func(o OperatorOptions) *Change {
	return &Change{command: "rope --to-ops " + o.Set, decide: func(m position.Model) (position.Outcome, error) { return position.ToOperators(m, o.Set) }}
})
