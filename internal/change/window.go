package change

import (
	"fmt"

	"github.com/modelpatch/modelpatch/position"
)

// Window lets a model's attentions see near keys alone; see [position.AddWindow].
var Window = newVerb("window", func(o position.WindowOptions) *Change {
	c := &Change{command: "window", decide: func(m position.Model) (position.Outcome, error) { return position.AddWindow(m, o) }}
	if o.Positions != 0 {
		c.command += fmt.Sprintf(" --len %d", o.Positions)
	}
	if o.Sinks != 0 {
		c.command += fmt.Sprintf(" --sinks %d", o.Sinks)
	}
	return c
})
