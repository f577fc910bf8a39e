package rotary

import (
	"fmt"

	"github.com/modelpatch/modelpatch/report"
)

// Stray tells of an entry of a cache that is off the formula of all other rows.
func (r *Site) Stray() (says string, at report.Where, ok bool) {
	if r.scheme.Grid != nil {
		return "", at, false
	}
	for _, c := range r.caches {
		d, damaged := c.Damaged()
		if !damaged {
			continue
		}
		table, what := c.Cos.Tensor, "cosine"
		if d.Sine {
			table, what = c.Sin.Tensor, "sine"
		}
		says = fmt.Sprintf("%q: row %d, column %d holds %.7g, and the formula of the other rows gives a %s of %.7g", r.m.TensorName(table), d.Row, d.Column, d.Got, what, d.Want)
		if d.Rows > 1 {
			says += fmt.Sprintf("; %d rows are off", d.Rows)
		}
		return says, r.m.Where(table), true
	}
	return "", at, false
}
