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
	c := change{path: path, open: open, w: w, command: fmt.Sprintf("bake --len %d", o.Length)}
	c.verb = func(m position.Model) (position.Outcome, error) { return position.Bake(m, o) }
	return c.rebuild(ctx)
}

// rebuild is run for a change after which other nodes make the same numbers: verify
// compares constants and nodes one by one, and would find them gone.
func (c *change) rebuild(ctx context.Context) (Result, error) {
	if c.w.Check != nil {
		return Result{}, &UsageError{What: "--verify compares a model's constants and nodes one by one, and here others take their place",
			Hint: "without it the new file's numbers are held against the old formula all the same"}
	}
	return c.run(ctx)
}

// Unbake makes tables that a formula explains computations of the model.
func Unbake(ctx context.Context, path string, open OpenOptions, w WriteOptions) (Result, error) {
	c := change{path: path, open: open, w: w, command: "unbake", verb: position.Unbake}
	return c.rebuild(ctx)
}
