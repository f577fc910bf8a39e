package change

import (
	"fmt"

	"github.com/modelpatch/modelpatch/position"
)

// ALiBi adds ALiBi's bias to a model's attentions; see [position.AddALiBi].
var ALiBi = newVerb("alibi", func(o position.ALiBiOptions) *Change {
	c := &Change{command: "alibi", decide: func(m position.Model) (position.Outcome, error) { return position.AddALiBi(m, o) }}
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
	return c
})
