package modelpatch

import (
	"context"
	"fmt"

	"github.com/modelpatch/modelpatch/position"
)

// ALiBiOptions say which bias to add; see position.AddALiBi.
type ALiBiOptions = position.ALiBiOptions

// AddALiBi adds ALiBi's bias to a model's attentions.
func AddALiBi(ctx context.Context, path string, o ALiBiOptions, open OpenOptions, w WriteOptions) (Result, error) {
	return biasing(path, o, open, w).run(ctx)
}

func biasing(path string, o ALiBiOptions, open OpenOptions, w WriteOptions) *change {
	c := &change{path: path, open: open, w: w, request: request("alibi", o), command: "alibi"}
	if o.Replace {
		c.command += " --replace"
	}
	if o.Remove {
		c.command += " --remove"
	}
	if o.MaxBias != 0 {
		c.command += fmt.Sprintf(" --max-bias %v", o.MaxBias)
	}
	for i, s := range o.Slopes {
		c.command += fmt.Sprintf("%s%v", [...]string{" --slopes ", ","}[min(i, 1)], s)
	}
	c.verb = func(m position.Model) (position.Outcome, error) { return position.AddALiBi(m, o) }
	return c
}
