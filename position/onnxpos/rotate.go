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
		return r.cacheFor(length).rotation(position, cos, sin)
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
		if n := c.cos.Len(); n >= length && (best.cos.Len() < length || n < best.cos.Len()) || best.cos.Len() < length && n > best.cos.Len() {
			best = c
		}
	}
	return best
}

func (c *cache) rotation(position int, cos, sin []float64) error {
	if position >= c.cos.Len() {
		return fmt.Errorf("position %d is beyond the cache's %d rows", position, c.cos.Len())
	}
	row := make([]float64, c.cos.Dim())
	if err := c.cos.Row(position, row); err != nil {
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
	if err := c.sin.Row(position, row); err != nil {
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
