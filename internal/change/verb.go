package change

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/modelpatch/modelpatch/report"
)

// Verb makes changes of its options, and makes them again from the request that a plan keeps of them.
type Verb[O any] struct {
	name   string
	change func(O) *Change
}

// replays are all verbs by name: each makes a change of its options as JSON.
var replays = map[string]func(options []byte) (*Change, error){}

// newVerb is a verb that plans call by a name. There is no other way to have one: what is written
// can be made again.
func newVerb[O any](name string, change func(O) *Change) Verb[O] {
	v := Verb[O]{name, change}
	replays[name] = func(options []byte) (*Change, error) {
		var o O
		d := json.NewDecoder(bytes.NewReader(options))
		d.DisallowUnknownFields()
		if err := d.Decode(&o); err != nil {
			return nil, fmt.Errorf("its options are not those of this version: %w", err)
		}
		return v.Of(o), nil
	}
	return v
}

// Of is the change that options ask for.
func (v Verb[O]) Of(o O) *Change {
	c := v.change(o)
	c.request = Request(v.name, o)
	return c
}

// Request says a verb and its options in a plan, so that verify can make the change
// again.
func Request(verb string, options any) *report.Request {
	b, err := json.Marshal(options)
	if err != nil {
		return nil // no number that an option may be, and the verb refuses it
	}
	return &report.Request{Verb: verb, Options: b}
}
