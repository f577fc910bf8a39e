package change

import (
	"fmt"

	"github.com/modelpatch/modelpatch/position"
)

// Bake makes encodings that a model computes when it runs tables of constants; see [position.Bake].
var Bake = newVerb("bake", func(o position.BakeOptions) *Change {
	c := &Change{command: "bake", decide: func(m position.Model) (position.Outcome, error) { return position.Bake(m, o) }}
	if o.Length != 0 {
		c.command += fmt.Sprintf(" --len %d", o.Length)
	}
	if o.Dtype != "" {
		c.command += " --dtype " + o.Dtype
	}
	return c
})

// Unbake has a model compute what its tables hold, where a formula gives their numbers; see
// [position.Unbake].
var Unbake = newVerb("unbake", func(struct{}) *Change { return &Change{command: "unbake", decide: position.Unbake} })
