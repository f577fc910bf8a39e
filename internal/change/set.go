package change

import (
	"strconv"
	"strings"

	"github.com/modelpatch/modelpatch/position"
)

// Set stores metadata keys of positions in a GGUF model; see [position.SetKeys].
var Set = newVerb("set", func(o position.SetOptions) *Change {
	c := &Change{command: "set", decide: func(m position.Model) (position.Outcome, error) { return position.SetKeys(m, o) }}
	for _, k := range o.Keys {
		c.command += " " + k.Key + "=" + k.Value
		if n, err := strconv.Atoi(k.Value); err == nil && strings.HasSuffix(k.Key, "context_length") && !strings.Contains(k.Key, "original") {
			c.states = n
		}
	}
	if o.PadSections {
		c.command += " --pad-sections"
	}
	return c
})
