package onnxpos

import (
	"fmt"
	"math"

	"github.com/modelpatch/modelpatch/schemes/fit"
)

// Rotation reads the cosines and sines that the file gives to a position, one
// a pair: from its cache, or computed from its frequencies as the graph does.
func (r *rotarySite) Rotation(position, length int, cos, sin []float64) error {
	if len(r.caches) > 0 {
		c := r.cacheFor(length)
		return c.rotation(c.row(position, length), cos, sin)
	}
	f := r.fileFrequencies()
	if len(f) != len(cos) {
		return fmt.Errorf("%d frequencies for %d pairs", len(f), len(cos))
	}
	a := r.currentAmplitude()
	for i := range f {
		angle := float64(float32(float64(float32(position)) * f[i]))
		cos[i], sin[i] = math.Cos(angle)*a, math.Sin(angle)*a
	}
	return nil
}

// fileFrequencies are the frequencies as the graph multiplies them.
func (r *rotarySite) fileFrequencies() []float64 {
	if r.known == nil {
		r.known, _ = r.frequencies(r.uses[0])
	}
	return r.known
}

// cacheFor is the cache that a graph with several takes for a length: the
// shortest that holds it.
func (r *rotarySite) cacheFor(length int) *cache {
	best := r.caches[0]
	for _, c := range r.caches {
		if n := c.positions(); n >= length && (best.positions() < length || n < best.positions()) || best.positions() < length && n > best.positions() {
			best = c
		}
	}
	return best
}

// row is the row of a position in an input of the given length: of the short
// list up to the length where it ends, else of the long one.
func (c *cache) row(position, length int) int {
	if length <= c.ahead {
		return position
	}
	return position + c.ahead
}

// rotation reads row r of the tables.
func (c *cache) rotation(r int, cos, sin []float64) error {
	if r >= c.cos.Len() {
		return fmt.Errorf("row %d is beyond the cache's %d", r, c.cos.Len())
	}
	row := make([]float64, c.cos.Dim())
	if err := c.cos.Row(r, row); err != nil {
		return err
	}
	n := len(cos)
	if c.sin.tensor == c.cos.tensor {
		if len(row) != 2*n {
			return fmt.Errorf("%d columns for %d pairs", len(row), n)
		}
		for k := range n {
			cos[k] = row[fit.PackedColumn(c.result.Packed, k, n, false)]
			sin[k] = row[fit.PackedColumn(c.result.Packed, k, n, true)]
		}
		return nil
	}
	if err := c.pick(row, cos); err != nil {
		return err
	}
	if err := c.sin.Row(r, row); err != nil {
		return err
	}
	if err := c.pick(row, sin); err != nil {
		return err
	}
	for i := range sin {
		if c.negated {
			sin[i] = -sin[i]
		}
	}
	return nil
}

// pick takes one column a pair out of a row.
func (c *cache) pick(row, out []float64) error {
	step := 1
	if len(row) == 2*len(out) && c.result.Columns == fit.ColumnsInterleavedDuplicated {
		step = 2
	}
	if len(row) != len(out) && len(row) != 2*len(out) {
		return fmt.Errorf("%d columns for %d pairs", len(row), len(out))
	}
	for i := range out {
		out[i] = row[i*step]
	}
	return nil
}
