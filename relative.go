package modelpatch

import (
	"context"
	"fmt"

	"github.com/modelpatch/modelpatch/position"
)

// RelativeOptions say how a relative bias is to be cut; see position.Relative.
type RelativeOptions = position.RelativeOptions

// Relative changes the buckets of a model's relative bias, or resizes that of an image window.
func Relative(ctx context.Context, path string, o RelativeOptions, open OpenOptions, w WriteOptions) (Result, error) {
	return relating(path, o, open, w).run(ctx)
}

func relating(path string, o RelativeOptions, open OpenOptions, w WriteOptions) *change {
	c := &change{path: path, open: open, w: w, request: request("relative", o), command: "relative"}
	if o.MaxDistance != 0 {
		c.command += fmt.Sprintf(" --max-distance %d", o.MaxDistance)
	}
	if o.Buckets != 0 {
		c.command += fmt.Sprintf(" --buckets %d", o.Buckets)
	}
	if o.Window != [2]int{} {
		c.command += fmt.Sprintf(" --window %dx%d", o.Window[0], o.Window[1])
		c.expect = func(m position.Model) error { return hasGrid(m, GridOptions{Height: o.Window[0], Width: o.Window[1]}) }
	}
	if o.Method != "" {
		c.command += " --method " + o.Method
	}
	c.verb = func(m position.Model) (position.Outcome, error) { return position.Relative(m, o) }
	return c
}
