package rows

import "github.com/modelpatch/modelpatch/schemes/fit"

// Damaged reads all rows of a pair of tables, MaxFitRows at a time, and tells the first
// entry that is off the formula which nearly all rows around it follow. A table that
// holds both cosines and sines is not looked at.
func (c *Cache) Damaged() (d fit.Deviation, ok bool) {
	if c.Sin.Tensor == c.Cos.Tensor {
		return d, false
	}
	n := min(c.Cos.Len(), c.Sin.Len())
	precisions := []fit.Precision{c.Cos.Precision()}
	if c.coarse != "" {
		precisions = []fit.Precision{c.coarse}
	} else if !c.Fitted && precisions[0] == fit.Float32 {
		precisions = append(precisions, fit.BFloat16, fit.Float16)
	}
	for first := c.Before; first < n; first += MaxFitRows {
		end := min(n, first+MaxFitRows)
		if c.Ahead > first && c.Ahead < end { // LongRoPE's lists, one behind the other
			end = c.Ahead
		}
		cos, err := c.Cos.between(first, end)
		if err != nil {
			return d, false
		}
		sin, err := c.Sin.between(first, end)
		if err != nil {
			return d, false
		}
		if stored := sin; c.negated != [2]bool{} {
			sin = fit.Func(stored.Rows(), stored.Cols(), func(r, k int) float64 {
				if c.Negated(k, stored.Cols()) {
					return -stored.At(r, k)
				}
				return stored.At(r, k)
			})
		}
		for _, p := range precisions {
			if d, ok = fit.DamagedCache(cos, sin, p); ok {
				d.Row += first
				return d, true
			}
		}
		first = end - MaxFitRows // the loop adds it
	}
	return d, false
}
