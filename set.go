package modelpatch

import (
	"context"
	"strconv"
	"strings"

	"github.com/modelpatch/modelpatch/position"
)

// SetOptions say which keys of positions to set; see position.SetKeys.
type SetOptions = position.SetOptions

// Set stores metadata keys of positions in a GGUF model.
func Set(ctx context.Context, path string, o SetOptions, open OpenOptions, w WriteOptions) (Result, error) {
	return setting(path, o, open, w).run(ctx)
}

func setting(path string, o SetOptions, open OpenOptions, w WriteOptions) *change {
	c := &change{path: path, open: open, w: w, request: request("set", o), command: "set"}
	for _, k := range o.Keys {
		c.command += " " + k.Key + "=" + k.Value
		if n, err := strconv.Atoi(k.Value); err == nil && strings.HasSuffix(k.Key, "context_length") && !strings.Contains(k.Key, "original") {
			c.states = n
		}
	}
	if o.PadSections {
		c.command += " --pad-sections"
	}
	c.verb = func(m position.Model) (position.Outcome, error) { return position.SetKeys(m, o) }
	return c
}
