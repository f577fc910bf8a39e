package change

import (
	"fmt"

	"github.com/modelpatch/modelpatch/position"
)

// Relative changes the buckets of a model's relative bias, or resizes that of an image window; see
// [position.Relative].
var Relative = newVerb("relative", func(o position.RelativeOptions) *Change {
	c := &Change{command: "relative", decide: func(m position.Model) (position.Outcome, error) { return position.Relative(m, o) }}
	if o.MaxDistance != 0 {
		c.command += fmt.Sprintf(" --max-distance %d", o.MaxDistance)
	}
	if o.Buckets != 0 {
		c.command += fmt.Sprintf(" --buckets %d", o.Buckets)
	}
	if o.Window != [2]int{} {
		c.command += fmt.Sprintf(" --window %dx%d", o.Window[0], o.Window[1])
		c.expect = func(m position.Model) error {
			return hasGrid(m, position.GridOptions{Height: o.Window[0], Width: o.Window[1]})
		}
	}
	if o.Method != "" {
		c.command += " --method " + o.Method
	}
	return c
})
