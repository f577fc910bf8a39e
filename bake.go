package modelpatch

import (
	"context"
	"fmt"

	"github.com/modelpatch/modelpatch/position"
)

// BakeOptions say how long tables are to be; see position.Bake.
type BakeOptions = position.BakeOptions

// Bake makes encodings that a model computes when it runs tables of constants.
func Bake(ctx context.Context, path string, o BakeOptions, open OpenOptions, w WriteOptions) (Result, error) {
	return baking(path, o, open, w).run(ctx)
}

func baking(path string, o BakeOptions, open OpenOptions, w WriteOptions) *change {
	c := &change{path: path, open: open, w: w, request: request("bake", o), command: "bake"}
	if o.Length != 0 {
		c.command += fmt.Sprintf(" --len %d", o.Length)
	}
	if o.Dtype != "" {
		c.command += " --dtype " + o.Dtype
	}
	c.verb = func(m position.Model) (position.Outcome, error) { return position.Bake(m, o) }
	return c
}

// Unbake has the model compute what its tables hold, where a formula gives their numbers.
func Unbake(ctx context.Context, path string, open OpenOptions, w WriteOptions) (Result, error) {
	return unbaking(path, open, w).run(ctx)
}

func unbaking(path string, open OpenOptions, w WriteOptions) *change {
	return &change{path: path, open: open, w: w, request: request("unbake", struct{}{}), command: "unbake", verb: position.Unbake}
}
